"""ExternalRanker: a model of another library as a ranker, and `as_ranker`, which makes it."""

import re
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from pickle import PicklingError
from typing import Annotated, Any, ClassVar, Literal, Self, Unpack

import joblib
import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.explain_pair import Parts
from ...core.given_data import as_ranking_data, refuse_beside
from ...core.keywords import ListKeywords, PairKeywords, shared_keywords
from ...core.labels import MAX_GROUPS
from ...core.pair_explanation import PairExplanation
from ...core.params import Check, Choice, Flag, Optional
from ...core.persistence import SavedFiles
from ...core.ranker import Ranker
from ...core.registry import external_name
from .bridge import Bridge, first_line, last_step, takes, with_texts
from .external_files import read_external, write_external
from .given_scores import are_scores, with_scores
from .model_kinds import bridge_of, is_fitted, is_model, unfrozen

__all__ = ["ExternalRanker", "as_ranker"]


def as_ranker(
    model: Any,
    *,
    lists: Literal["auto", "group", "qid", "group_id"] | None = "auto",
    prefit: bool = False,
) -> Ranker:
    """Return a ranker of any model: of LightGBM, XGBoost, CatBoost, scikit-learn or torch.

    A `Ranker` is returned as it is. `compare`, `Reranked`, `RegressionRanker`, `audit`, saving and
    configuration files call this function on every other model. See `ExternalRanker`.

    Parameters
    ----------
    model : estimator, booster, torch module, function, str or array-like
        What ranks.
    lists : {"auto", "group", "qid", "group_id"} or None
        The argument of the model's ``fit`` that states the lists.
    prefit : bool
        Whether the model is fitted, and taken as it is.

    Returns
    -------
    Ranker

    Raises
    ------
    DataError
        If the model is none of these.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import as_ranker
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> from lightgbm import LGBMRanker
    >>> as_ranker(LGBMRanker(n_estimators=20)).fit(data).score(data) > 0.8
    True
    >>> as_ranker(lambda X: X[:, 0]).rank(data)
    Ranking(1800 rows, 60 queries)
    """
    if isinstance(model, Ranker) and not prefit:
        if lists != "auto":
            raise DataError(f"lists must be 'auto' for a Ranker, got {lists!r}")
        return model
    if are_scores(model) and not isinstance(model, str):
        model = np.asarray(model, dtype=np.float64)
    ranker = ExternalRanker(model, lists=lists, prefit=prefit)
    ranker.check_declared()
    return ranker


class _Needs:
    """The needs of one instance, derived from its model; those of the class as a fallback."""

    def __init__(self, name: str, of_class: frozenset[str]) -> None:
        self.name, self.of_class = name, of_class

    def __get__(self, ranker: Any, kind: type) -> frozenset[str]:
        if ranker is None or not ranker.params["model"].accepts(ranker.model):
            return self.of_class
        found: frozenset[str] = getattr(ranker, f"_{self.name}")()
        return found


class ExternalRanker(Ranker):
    """A model of another library as a ranker.

    Rows are passed to the model grouped by list, and lists as numbers from 0, so that ids may be
    texts or dates; scores return in the caller's order. What a model is decides how it is used:

    - an estimator whose ``fit`` has ``group_id`` (``CatBoostRanker``) or ``qid`` (``XGBRanker``)
      receives list numbers;
    - one whose ``fit`` has ``group`` and ``eval_group`` (``LGBMRanker``) receives list sizes;
    - any other estimator is pointwise and receives no lists;
    - a ``Pipeline`` is used as its last step;
    - ``lightgbm.Booster``, ``xgboost.Booster``, ``CatBoost`` and ``FrozenEstimator`` are taken as
      they are: `fit` checks the number of features and learns nothing;
    - a torch module or a function is called with X and returns one number per row;
    - the name of a column, or an array, is the score itself.

    ``query_weight`` is passed as ``group_weight`` (CatBoost), as one ``sample_weight`` per list
    (rankers of XGBoost) or per row (others); a model without such an argument is an error. The
    score of a classifier is its expected class. Models of LightGBM, XGBoost and CatBoost are
    explained by their SHAP values and saved in their own file formats; scikit-learn models need the
    extra ``save``. Nothing is printed or written to the working folder unless a parameter of the
    model asks for it. Text columns of a data frame become categories for learners that have them; a
    pipeline receives a frame with the texts, so that its first steps can encode them.

    Parameters
    ----------
    model : estimator, booster, torch module, function, str or array-like
        What ranks. An array has one score per input row; it serves parts of the same data as well.
    lists : {"auto", "group", "qid", "group_id"} or None
        The argument of ``fit`` that states the lists; ``"auto"`` decides by its signature, and None
        passes none.
    prefit : bool
        Whether the model is fitted, and taken as it is.

    Attributes
    ----------
    model_ : object
        The fitted copy of the model, or the model itself if it is taken as it is. A loaded model of
        LightGBM is a ``Booster``.
    categories_ : dict of str to list of str
        Categories of the text columns of the data frame in `fit`.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> from equirank.rankers import ExternalRanker
    >>> from sklearn.linear_model import Ridge
    >>> ExternalRanker(Ridge()).fit(data).score(data) > 0.8
    True
    """

    positional: ClassVar[tuple[str, ...]] = ("model",)
    file_attributes: ClassVar[tuple[str, ...]] = ("model_",)
    files_hold_classes: ClassVar[bool] = True
    takes_categories: ClassVar[bool] = True
    fit_needs = _Needs("fit_needs", frozenset({"qid"}))
    fit_takes = _Needs("fit_takes", frozenset({"qid", "query_weight"}))
    predict_needs = _Needs("predict_needs", frozenset())

    model: Annotated[
        Any,
        Check(
            is_model,
            "an estimator, a booster, a torch module, a function, a column name or scores",
        ),
    ]
    lists: Annotated[
        Literal["auto", "group", "qid", "group_id"] | None,
        Optional(Choice("auto", "group", "qid", "group_id")),
    ] = "auto"
    prefit: Annotated[bool, Flag()] = False

    # what the model is

    @property
    def is_prefit(self) -> bool:
        """Whether the model is taken as it is."""
        if self.prefit is True or isinstance(self.model, FrozenEstimator) or are_scores(self.model):
            return True
        return bridge_of(last_step(self.model)[1]).prefit

    def model_digest(self) -> str:
        """Return a hash of the model with all that it learned."""
        try:
            found: str = joblib.hash(unfrozen(self.model))
        except (PicklingError, TypeError, AttributeError):
            raise DataError(
                f"{self._called()} must have a stable form to be stored, and has none; omit store"
            ) from None
        return found

    def _last(self, model: Any) -> tuple[str, Any, Bridge]:
        """Return the name of the last step (empty without a pipeline), the step and its bridge."""
        step, last = last_step(unfrozen(model))
        return step, last, bridge_of(last)

    def _lists(self) -> str | None:
        """Return the argument of ``fit`` that states the lists."""
        _, last, bridge = self._last(self.model)
        if self.lists == "auto":
            return bridge.find_lists(last)
        names = takes(last.fit)
        if self.lists is not None and self.lists not in names and "kwargs" not in names:
            raise DataError(
                f"lists of ExternalRanker must be an argument of {type(last).__name__}.fit, got "
                f"{self.lists!r}"
            )
        return self.lists

    def _fit_needs(self) -> frozenset[str]:
        if self.is_prefit:
            return frozenset()
        _, last, bridge = self._last(self.model)
        named = self._lists() is not None
        return bridge.needs(last) or frozenset({"qid"} if named else ())

    def _fit_takes(self) -> frozenset[str]:
        if self.is_prefit:
            return frozenset({"qid"})
        _, last, bridge = self._last(self.model)
        return bridge.takes(last)

    def _predict_needs(self) -> frozenset[str]:
        if are_scores(self.model):
            return frozenset()
        _, last, bridge = self._last(self.model)
        return bridge.predict_needs(last)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; those of a model that is taken as it is are its own business."""
        return super().get_params(deep=deep and not self.is_prefit)

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that shares a model that is taken as it is."""
        model = self.model
        if self.params["model"].accepts(model) and not self.is_prefit:
            try:
                model = clone(model)
            except RuntimeError:  # CatBoost copies parameters that are lists
                model = deepcopy(model)
        copied = type(self)(model, lists=self.lists, prefit=self.prefit)
        if hasattr(self, "_metadata_request"):
            copied._metadata_request = deepcopy(self._metadata_request)
        return copied

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the ranker can predict."""
        return hasattr(self, "is_fitted_") or self.is_prefit

    def get_metadata_routing(self) -> Any:
        """Return the routing: what the model declares."""
        return self._own_routing()

    # data

    def _training_data(
        self, X: Any, y: Any, qid: Any, sensitive_features: Any, cost: Any, query_weight: Any
    ) -> RankingData:
        if not self.is_prefit:
            return super()._training_data(X, y, qid, sensitive_features, cost, query_weight)
        data = self._prediction_data(X, None, qid, sensitive_features)
        self.n_features_in_ = data.n_features
        return data

    def _prediction_data(
        self, X: Any, y: Any, qid: Any, sensitive_features: Any, unseen: str | None = None
    ) -> RankingData:
        if are_scores(self.model):
            return with_scores(self.model, X, y, qid, sensitive_features)
        if not self.is_prefit:
            return super()._prediction_data(X, y, qid, sensitive_features, unseen)
        if not hasattr(self, "model_"):
            self._take_model()
        if isinstance(self.model_, Ranker):
            return self.model_._prediction_data(X, y, qid, sensitive_features, unseen)
        given = {"qid": qid, "sensitive_features": sensitive_features}
        if not isinstance(X, RankingData):
            data = as_ranking_data(X, y, **given, max_groups=MAX_GROUPS, categorical=None)
        else:
            refuse_beside(given | {"y": y})
            data = X
        self._check_features(data)
        self._check_finite(data)
        return data

    def _take_model(self) -> None:
        """Store a fitted model as it is."""
        self.check_declared()
        model = unfrozen(self.model)
        if not is_fitted(model):
            raise DataError(
                "model of ExternalRanker must be fitted to be taken as it is, and this "
                f"{type(model).__name__} is not"
            )
        self.groups_: dict[str, list[Any]] = {}
        self.model_ = model

    def _check_features(self, data: RankingData) -> None:
        """Raise unless a fitted model has the number of features and their names, if known."""
        if data.X is None:
            raise DataError(f"{self._called()} needs features (X), and the data has none")
        step, last, bridge = self._last(self.model_)
        whole, model = (Bridge(), self.model_) if step else (bridge, last)
        known = whole.n_features(model)
        if known is not None and known != data.n_features:
            raise DataError(
                f"X has {data.n_features} features, but {self._called()} is expecting {known} "
                "features as input"
            )
        names = whole.feature_names(model)
        if names is None or data.feature_names is None:
            return
        for expected, name in zip(names, data.feature_names, strict=False):
            if name not in (expected, re.sub(r"\s", "_", expected)) and (
                re.sub(r"\s", "_", name) != expected  # LightGBM replaces spaces
            ):
                raise DataError(
                    f"X must have the feature names of the fitted {self._called()} "
                    f"({', '.join(names[:10])}) in order, got {name!r}"
                )

    def visible(self, data: RankingData) -> RankingData:
        """Return the data without what the model does not need; given scores are kept."""
        return data if are_scores(self.model) else super().visible(data)

    # fit and predict

    def _fit(self, data: RankingData) -> None:
        if self.is_prefit:
            return
        lists, model = self._lists(), clone(self).model
        step, last, bridge = self._last(model)
        name = type(last).__name__
        columns = list(self._category_places().values())
        if lists is not None:
            bridge.check_relevance(last, data)
        bridge.silence(last)
        arguments = bridge.fit_arguments(last, data, lists)
        if columns and not step:
            arguments |= self._categories(bridge, last, columns)
        X = self._matrix(data, step, bridge, last)
        prefix = f"{step}__" if step else ""
        with config_context(enable_metadata_routing=False):
            try:
                model.fit(X, data.y, **{f"{prefix}{key}": v for key, v in arguments.items()})
            except bridge.errors() as error:
                raise DataError(f"{name}.fit failed: {first_line(error)}") from error
            except ValueError as error:
                if not (step and columns):
                    raise
                words = ", ".join(repr(column) for column in self.categories_)
                raise DataError(
                    f"the pipeline must encode the categories in {words} first, such as with "
                    f"scikit-learn's OneHotEncoder: {first_line(error)}"
                ) from error
        self.model_ = model

    def _categories(self, bridge: Bridge, last: Any, columns: list[int]) -> dict[str, Any]:
        """Return the arguments of ``fit`` that state the categories."""
        try:
            return bridge.categories(last, columns, self.n_features_in_)
        except NotImplementedError:
            words = ", ".join(repr(column) for column in self.categories_)
            raise DataError(
                f"X must have numbers only for {type(last).__name__}, got categories in {words}; "
                "encode them first, such as with scikit-learn's OneHotEncoder"
            ) from None

    def _matrix(self, data: RankingData, step: str, bridge: Bridge, last: Any) -> Any:
        """Return the features as the model reads them; a pipeline reads categories as texts."""
        places = self._category_places()
        if not step:
            return bridge.matrix(last, data.X, list(places.values()))
        return with_texts(data, places, self._encoding()) if places else data.X

    def _scores(self, data: RankingData) -> np.ndarray:
        if are_scores(self.model):
            return np.asarray(data.score)
        step, last, bridge = self._last(self.model_)
        X = self._matrix(data, step, bridge, last)
        with config_context(enable_metadata_routing=False):
            if step:
                for _, part in self.model_.steps[:-1]:
                    X = part.transform(X) if hasattr(part, "transform") else X
                X = bridge.matrix(last, X, [])
            found = bridge.scores(last, X, data)
        return self._one_per_row(found, data)

    def _one_per_row(self, found: Any, data: RankingData) -> np.ndarray:
        """Return the output of a model as one finite number per row."""
        name = self._called()
        try:
            scores = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"{name} must return one number per row, got {type(found).__name__}"
            ) from None
        if scores.shape == (data.n_rows, 1):
            scores = scores[:, 0]
        if scores.shape != (data.n_rows,):
            each = f"{scores[0].size} in row {data.place(0)[1]}"
            several = scores.ndim > 1 and len(scores) == data.n_rows
            got = each if several else f"an output of shape {scores.shape} for {data.n_rows} rows"
            raise DataError(f"{name} must return one number per row, got {got}")
        bad = ~np.isfinite(scores)
        if bad.any():
            stored = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"{name} must return finite scores, got {scores[stored]} in row "
                f"{data.place(stored)[1]}"
            )
        return scores

    def _called(self) -> str:
        """Return the name of the model for messages."""
        last = last_step(unfrozen(self.model))[1]
        return str(getattr(last, "__name__", type(last).__name__))

    # explanations

    @shared_keywords(ListKeywords, PairKeywords)
    def explain_pair(
        self, X: Any, a: int, b: int, **given: Unpack[PairKeywords]
    ) -> PairExplanation:
        """Explain why row a ranks above (or below) row b; see `Ranker.explain_pair`.

        Given scores have no features, so their explanation is an error.
        """
        if are_scores(self.model):
            raise DataError("model must score features to be explained, and these scores are given")
        return super().explain_pair(X, a, b, **given)

    def _parts(self, data: RankingData) -> Parts | None:
        """Return SHAP values of the library, if they sum to the scores."""
        step, last, bridge = self._last(self.model_)
        if step:
            return None
        values = bridge.contributions(last, self._matrix(data, step, bridge, last))
        scores = self._scores(data)
        if values is None or values.ndim != 2:
            return None
        near = 1e-6 * max(1.0, float(np.abs(scores).max()))
        if np.abs(values.sum(axis=1) - scores).max() > near:  # such as probabilities
            return None
        return Parts(values[:, :-1], "shap")

    # files

    @property
    def file_params(self) -> tuple[str, ...]:
        """Parameters that are saved as files instead of as JSON."""
        plain = are_scores(self.model) or (not self.is_prefit and external_name(self.model))
        return () if plain else ("model",)

    def _save_files(self, folder: Path) -> None:
        if not are_scores(self.model):
            if not hasattr(self, "model_"):
                self._take_model()
            _, _, bridge = self._last(self.model_)
            write_external(folder, self.model, self.model_, bridge)

    def _load_files(self, files: SavedFiles, classes: Iterable[type] = ()) -> None:
        if are_scores(self.model):
            return
        self.model, self.model_ = read_external(files, classes, self.model)

    def __sklearn_tags__(self) -> Any:
        """Return what the model accepts; one that is taken as it is needs no relevance."""
        tags = super().__sklearn_tags__()
        if not self.params["model"].accepts(self.model):
            return tags
        if are_scores(self.model):
            tags.input_tags.allow_nan = tags.input_tags.sparse = True
        else:
            _, last, bridge = self._last(self.model)
            model = unfrozen(self.model)
            steps = last is not model  # which refuse missing values themselves, or fill them in
            missing, sparse = (Bridge() if steps else bridge).input_tags(model)
            tags.input_tags.allow_nan, tags.input_tags.sparse = steps or missing, sparse
        tags.target_tags.required = not self.is_prefit
        return tags
