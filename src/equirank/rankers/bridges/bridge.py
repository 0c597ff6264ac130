"""Bridge: how a model of another library is trained, scored, explained and stored."""

import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from ...core.data import RankingData
from ...core.encoding import Encoding
from ...core.errors import DataError
from ...core.persistence import SavedFiles
from ...core.table import Table
from ..lambdamart.lightgbm_params import as_matrix

__all__ = ["Bridge", "first_line", "last_step", "made_by", "takes", "with_texts"]

#: Arguments of ``fit`` that state the lists, and the arguments that tell each of them.
LISTS = {"group_id": {"group_id"}, "qid": {"qid"}, "group": {"group", "eval_group"}}


def made_by(model: Any, package: str, *names: str) -> bool:
    """Return whether a model is an instance of one of a package's classes, without importing it.

    Examples
    --------
    >>> made_by(3, "lightgbm", "Booster")
    False
    """
    found = sys.modules.get(package)
    kinds = tuple(kind for name in names if (kind := getattr(found, name, None)) is not None)
    return isinstance(model, kinds)


def last_step(model: Any) -> tuple[str, Any]:
    """Return the name and the last step of a pipeline, or an empty name and the model itself."""
    steps = getattr(model, "steps", None)
    return steps[-1] if isinstance(steps, list) and steps else ("", model)


def takes(function: Any) -> frozenset[str]:
    """Return the names of a function's parameters; empty if they are not known."""
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()


def first_line(error: Exception) -> str:
    """Return the first line of a library's message, without the place in its own source."""
    line = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return re.sub(r"^(\[[\d:]+\] )?\S+\.(h|cc|cpp|cu):\d+: ", "", line)


def with_texts(data: RankingData, places: Mapping[str, int], encoding: Encoding) -> Any:
    """Return a data frame of the features with the names of categories instead of codes."""
    columns: dict[str, np.ndarray] = dict(zip(encoding.names or (), data.X.T, strict=True))
    for name, at in places.items():
        labels = np.array([*encoding.categories[name], None], dtype=object)
        codes = np.nan_to_num(data.X[:, at], nan=len(labels) - 1)
        columns[name] = labels[codes.astype(np.int64)]
    return Table(columns, data.backend).to_frame()


def _is_classifier(model: Any) -> bool:
    try:
        return bool(is_classifier(model))
    except (AttributeError, TypeError):  # an estimator without scikit-learn's tags
        return hasattr(model, "predict_proba")


class Bridge:
    """Bridge to an estimator with ``fit`` and ``predict``, and base of those to other libraries.

    A subclass changes what its library does in its own way.

    Attributes
    ----------
    file : str
        Name of the file in the library's own format; empty if there is none.
    prefit : bool
        Whether models of this kind are always taken as they are.
    """

    file: ClassVar[str] = ""
    prefit: ClassVar[bool] = False

    # fit

    def errors(self) -> tuple[type[Exception], ...]:
        """Return the exceptions of the library itself."""
        return ()

    def needs(self, model: Any) -> frozenset[str]:
        """Return what a model needs in `fit` beside the lists."""
        return frozenset()

    def takes(self, model: Any) -> frozenset[str]:
        """Return what a model can use in `fit`."""
        return frozenset({"qid", "query_weight"})

    def predict_needs(self, model: Any) -> frozenset[str]:
        """Return what a model needs to score."""
        return frozenset()

    def find_lists(self, model: Any) -> str | None:
        """Return the argument of ``fit`` that states the lists, by its signature."""
        names = takes(model.fit)
        return next((word for word, telling in LISTS.items() if telling <= names), None)

    def silence(self, model: Any) -> None:
        """Set the parameters of a copy so that it prints nothing and leaves no files."""

    def check_relevance(self, model: Any, data: RankingData) -> None:
        """Raise if the learner does not accept these grades."""

    def fit_arguments(self, model: Any, data: RankingData, lists: str | None) -> dict[str, Any]:
        """Return the arguments of ``fit`` that state the lists and their weights."""
        query = data.query_of_rows().astype(np.int64)
        sizes = np.diff(data.offsets)
        stated = {"group": sizes, "qid": query, "group_id": query}
        arguments = {} if lists is None else {lists: stated[lists]}
        if data.query_weight is not None:
            arguments |= self.weights(model, np.asarray(data.query_weight), query, lists)
        return arguments

    def weights(
        self, model: Any, weight: np.ndarray, query: np.ndarray, lists: str | None
    ) -> dict[str, np.ndarray]:
        """Return the argument of ``fit`` that weighs the lists: one number per row."""
        names = takes(model.fit)
        words = ("group_weight", "query_weight", "sample_weight")
        word = next((each for each in words[lists is None :] if each in names), None)
        if word is None:
            raise DataError(
                f"query_weight must not be given: {type(model).__name__}.fit takes no weights"
            )
        return {word: weight[query]}

    def categories(self, model: Any, columns: Sequence[int], n_features: int) -> dict[str, Any]:
        """Set the columns that contain category codes, and return the arguments of ``fit``."""
        raise NotImplementedError

    def matrix(self, model: Any, X: Any, columns: Sequence[int]) -> Any:
        """Return features in the form that the library reads."""
        return as_matrix(X)

    # use

    def n_features(self, model: Any) -> int | None:
        """Return the number of features of a fitted model, if it is known."""
        try:
            return int(model.n_features_in_)
        except (AttributeError, TypeError):
            return None

    def feature_names(self, model: Any) -> list[str] | None:
        """Return the feature names of a fitted model, None if it was fitted to an array."""
        names = getattr(model, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def scores(self, model: Any, X: Any, data: RankingData) -> Any:
        """Return one score per row; that of a classifier is its expected class."""
        if not _is_classifier(model):
            return model.predict(X)
        if not hasattr(model, "predict_proba"):
            return model.decision_function(X)
        return self.expected_class(model, model.predict_proba(X))

    def expected_class(self, model: Any, probability: Any) -> np.ndarray:
        """Return the mean of the classes, weighted by their probabilities."""
        try:
            classes = np.asarray(model.classes_, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"the classes of {type(model).__name__} must be numbers to be ranked by, got "
                f"{model.classes_[0]!r}"
            ) from None
        return np.asarray(probability, dtype=np.float64) @ classes

    def contributions(self, model: Any, X: Any) -> np.ndarray | None:
        """Return the SHAP values of each row with the mean score last, or None."""
        return None

    def input_tags(self, model: Any) -> tuple[bool, bool]:
        """Return whether a model accepts missing values and sparse features."""
        try:
            tags = get_tags(model).input_tags
        except (AttributeError, TypeError, ValueError):  # an estimator without scikit-learn's tags
            return False, False
        return bool(tags.allow_nan), bool(tags.sparse)

    # files

    def write(self, model: Any, path: Path) -> None:
        """Write a fitted model in the library's own format."""
        raise NotImplementedError

    def read(self, files: SavedFiles, name: str, unfitted: Any) -> Any:
        """Read the file of `write`; ``unfitted`` is the estimator, None if it was a booster."""
        raise NotImplementedError
