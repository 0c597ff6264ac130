"""Pointwise rankers: a scikit-learn classifier or regressor that scores each row."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.params import Check, Choice, Instance, Optional, accepted_by
from ...core.persistence import SavedFiles, save
from ...core.ranker import Ranker
from ..bridges.external_ranker import ExternalRanker, as_ranker
from ..lambdamart.mart import row_weights
from ..sklearn_models import read_models, write_models

__all__ = ["ClassifierRanker", "Pointwise", "RegressionRanker"]


class Pointwise(Ranker):
    """Base of rankers that fit a scikit-learn model to rows; lists matter only by their weights.

    Learned attribute: ``estimators_``, the fitted models.
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset()
    fit_takes: ClassVar[frozenset[str]] = frozenset({"qid", "cost", "query_weight"})
    file_params: ClassVar[tuple[str, ...]] = ("estimator",)
    file_attributes: ClassVar[tuple[str, ...]] = ("estimators_",)
    files_hold_classes: ClassVar[bool] = True
    positional: ClassVar[tuple[str, ...]] = ("estimator",)

    estimator: Any = None
    estimators_: list[Any]

    def _base(self) -> BaseEstimator:
        """Return the model to fit: ``estimator`` or the default."""
        raise TypeError(f"{type(self).__name__} must define _base; Pointwise is abstract")

    def _fit_one(self, data: RankingData, target: np.ndarray) -> Any:
        """Fit a copy of the model, with sample weights from item costs and list weights."""
        model, weight = clone(self._base()), row_weights(data)
        if weight is None:
            return model.fit(data.X, target)
        last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
        if not has_fit_parameter(last[1], "sample_weight"):
            raise DataError(
                f"cost and query_weight must not be given: {type(last[1]).__name__} accepts no "
                "sample weights"
            )
        name = f"{last[0]}__sample_weight" if last[0] else "sample_weight"
        return model.fit(data.X, target, **{name: weight})

    def _save_files(self, folder: Path) -> None:
        write_models(folder, {"estimator": self.estimator, "estimators": self.estimators_})

    def _load_files(self, files: SavedFiles, classes: Iterable[type] = ()) -> None:
        found = read_models(files, classes)
        self.estimator, self.estimators_ = found["estimator"], found["estimators"]

    def __sklearn_tags__(self) -> Any:
        """Allow missing values and sparse features if the model does."""
        tags = super().__sklearn_tags__()
        inner = get_tags(as_ranker(self._base())).input_tags
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.sparse = inner.sparse
        return tags


def _is_pointwise(model: Any) -> bool:
    """Return whether a model is fitted to rows by scikit-learn's interface alone."""
    if isinstance(model, Ranker) or not isinstance(model, BaseEstimator):
        return False
    ranker = as_ranker(model)
    return isinstance(ranker, ExternalRanker) and not (ranker.is_prefit or ranker.fit_needs)


class ClassifierRanker(Pointwise):
    """Pointwise ranking by a classifier of the grades: its expected grade or its decision value.

    ``"multiclass"`` fits one classifier of all grades; its score is ``sum_g P(g) g``.
    ``"ordinal"`` fits one classifier per threshold between neighbouring grades, which separates the
    rows above from those below; its score is the lowest grade plus the sum of ``P(above)``, or the
    sum of the decision values, each multiplied by the step between the two grades. Decision values
    need two grades, or ``"ordinal"``. With a single grade every score is that grade. Item costs and
    list weights become sample weights (their product, of mean 1). `save` needs the extra ``save``.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        May be a Pipeline; by default ``LogisticRegression(max_iter=1000)``.
    scheme : {"multiclass", "ordinal"}
        See above.
    output : {"auto", "expected", "decision"}
        The score: expected relevance by ``predict_proba``, or ``decision_function`` (such as the
        distance from the boundary of an SVM). ``"auto"`` uses probabilities if the model has them.

    Attributes
    ----------
    grades_ : ndarray
        The grades, ascending.
    estimators_ : list
        The fitted classifiers: one, or one per threshold.
    coef_ : ndarray of shape (n_features,)
        The weights of the score, if it is a decision value of linear models.

    References
    ----------
    Frank and Hall, A simple approach to ordinal classification, ECML 2001.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import ClassifierRanker
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> ClassifierRanker().fit(data).score(data) > 0.8
    True
    >>> svm = ClassifierRanker(LinearSVC(random_state=0), scheme="ordinal").fit(data)
    >>> svm.score(data) > 0.8, svm.coef_.shape == (data.n_features,)
    (True, True)
    """

    estimator: Annotated[Any, Optional(Instance(BaseEstimator, "a scikit-learn classifier"))] = None
    scheme: Annotated[Literal["multiclass", "ordinal"], Choice("multiclass", "ordinal")] = (
        "multiclass"
    )
    output: Annotated[
        Literal["auto", "expected", "decision"], Choice("auto", "expected", "decision")
    ] = "auto"

    def _base(self) -> BaseEstimator:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)

    def _fit(self, data: RankingData) -> None:
        self.grades_, grade = np.unique(np.asarray(data.y, dtype=np.float64), return_inverse=True)
        several = len(self.grades_) > 2
        if several and self.scheme == "multiclass" and self._output(self._base()) == "decision":
            raise DataError(
                f"scheme of ClassifierRanker must be 'ordinal' to rank {len(self.grades_)} grades "
                f"by decision values, got {self.scheme!r}"
            )
        if len(self.grades_) == 1:
            targets = []
        elif self.scheme == "multiclass":
            targets = [grade.ravel()]
        else:
            targets = [(grade.ravel() > at).astype(int) for at in range(len(self.grades_) - 1)]
        self.estimators_ = [self._fit_one(data, target) for target in targets]

    def _output(self, model: Any) -> str:
        """Return which output of a model is the score."""
        kinds = {"expected": "predict_proba", "decision": "decision_function"}
        wanted = list(kinds) if self.output == "auto" else [self.output]
        for kind in wanted:
            if hasattr(model, kinds[kind]):
                return kind
        raise DataError(
            f"estimator of ClassifierRanker must have {' or '.join(kinds[k] for k in wanted)}, "
            f"got {type(model).__name__}, which has not"
        )

    def _scores(self, data: RankingData) -> np.ndarray:
        if not self.estimators_:
            return np.full(data.n_rows, self.grades_[0])
        if self._output(self.estimators_[0]) == "decision":
            found = [np.asarray(m.decision_function(data.X)).ravel() for m in self.estimators_]
            return self._steps() @ np.stack(found)
        probabilities = [np.asarray(m.predict_proba(data.X)) for m in self.estimators_]
        if self.scheme == "multiclass":
            return probabilities[0] @ self.grades_
        above = np.stack([each[:, 1] for each in probabilities])
        return self.grades_[0] + np.diff(self.grades_) @ above

    def _steps(self) -> np.ndarray:
        """Return the factor of each decision value: 1 for one, else the step between two grades."""
        return np.ones(1) if len(self.estimators_) == 1 else np.diff(self.grades_)

    @property
    def coef_(self) -> np.ndarray:
        """The weights of a score that is a decision value of linear models."""
        if not self.estimators_ or self._output(self.estimators_[0]) != "decision":
            raise AttributeError("coef_: the score is not linear in the features")
        found = [np.asarray(m.coef_, dtype=np.float64).ravel() for m in self.estimators_]
        return self._steps() @ np.stack(found)


class RegressionRanker(Pointwise):
    """Pointwise ranking: the score is the relevance that a regressor predicts for each row.

    Item costs and list weights become sample weights (their product, of mean 1); they are an error
    for a model that accepts none. `save` needs the extra ``save``.

    Parameters
    ----------
    estimator : scikit-learn regressor or other model, optional
        A model with ``fit`` and ``predict``, such as a Pipeline; by default ``Ridge()``. Any other
        model that `as_ranker` takes ranks as it does there; it takes no costs.

    Attributes
    ----------
    estimators_ : list
        The fitted model.
    coef_ : ndarray of shape (n_features,)
        The weights, if the model is linear.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RegressionRanker
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> RegressionRanker().fit(data).coef_.shape == (data.n_features,)
    True
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> forest = RandomForestRegressor(20, min_samples_leaf=5, random_state=0)
    >>> RegressionRanker(forest).fit(data).score(data) > 0.8
    True
    """

    takes_categories: ClassVar[bool] = True  # as_ranker decides
    estimator: Annotated[
        Any,
        Optional(
            Check(accepted_by(as_ranker), "a scikit-learn regressor, or a model for as_ranker")
        ),
    ] = None

    def _base(self) -> BaseEstimator:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import Ridge

        return Ridge()

    def _fit(self, data: RankingData) -> None:
        if _is_pointwise(self._base()) and not data.categories:
            self.estimators_ = [self._fit_one(data, np.asarray(data.y, dtype=np.float64))]
            return
        ranker = clone(as_ranker(self._base()))
        if data.cost is not None:
            raise DataError(
                f"cost must not be given: {type(self.estimator).__name__} accepts no costs"
            )
        self.estimators_ = [ranker.fit(data)]

    def _scores(self, data: RankingData) -> np.ndarray:
        if isinstance(self.estimators_[0], Ranker):
            found = self.estimators_[0].predict(data)
            return np.asarray(found)[data.caller_rank]
        return np.asarray(self.estimators_[0].predict(data.X), dtype=np.float64).ravel()

    def _save_files(self, folder: Path) -> None:
        if isinstance(self.estimators_[0], Ranker):
            save(self.estimators_[0], folder / "estimator")
        else:
            super()._save_files(folder)

    def _load_files(self, files: SavedFiles, classes: Iterable[type] = ()) -> None:
        if not files.has("estimator"):
            super()._load_files(files, classes)
            return
        ranker = files.load("estimator", classes)
        self.estimators_ = [ranker]
        self.estimator = ranker.model if isinstance(ranker, ExternalRanker) else clone(ranker)

    @property
    def coef_(self) -> np.ndarray:
        """The weights of a linear model."""
        return np.asarray(self.estimators_[0].coef_, dtype=np.float64).ravel()
