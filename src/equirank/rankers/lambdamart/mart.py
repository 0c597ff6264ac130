"""MART and McRank: boosted trees on the relevance of single items."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.params import Choice
from .additive_tree_ranker import AdditiveTreeRanker
from .fit_inputs import FitInputs
from .lightgbm_params import as_matrix, n_threads
from .tree_ranker import NO_INPUTS, Binned, TreeRanker, Value

__all__ = ["MART", "McRank"]


class ItemTrees(TreeRanker):
    """Base of trees that learn from single items: lists matter by weights and for validation."""

    fit_needs: ClassVar[frozenset[str]] = frozenset()
    fit_takes: ClassVar[frozenset[str]] = frozenset({"qid", "cost", "query_weight"})

    def _weight(
        self, data: RankingData, sample_weight: np.ndarray | None = None
    ) -> np.ndarray | None:
        return row_weights(data, sample_weight)

    def current_needs(self) -> frozenset[str]:
        """Add the lists if a metric is computed on some of them."""
        return super().current_needs() | ({"qid"} if self.validation is not None else frozenset())


class MART(ItemTrees, AdditiveTreeRanker):
    """Boosted regression trees on the relevance of each item, ranked by prediction.

    The pointwise counterpart of `LambdaMART`: least squares on relevance, without regard to lists.
    The weight of a query and the cost of an item, if given to `fit`, weigh its squared error. Equal
    predictions are ties. If all relevances are equal, all scores are equal.

    References
    ----------
    Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 2001.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import MART
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> MART(n_estimators=20, n_jobs=1).fit(data).score(data) > 0.7
    True
    """

    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 10, "n_jobs": 1}

    def objective(self, data: RankingData) -> str:
        """Return LightGBM's name of the squared error."""
        return "regression"


def row_weights(data: RankingData, sample_weight: np.ndarray | None = None) -> np.ndarray | None:
    """Return sample weight times query weight times cost per row, with mean 1; None if none is."""
    if data.query_weight is None and data.cost is None and sample_weight is None:
        return None
    weight = np.ones(data.n_rows) if sample_weight is None else sample_weight
    if data.cost is not None:
        weight = weight * np.asarray(data.cost, dtype=float)
    if data.query_weight is not None:
        weight = weight * np.asarray(data.query_weight)[data.query_of_rows()]
    return weight / weight.mean() if weight.mean() > 0 else weight


#: Maximum number of grades; each takes one tree per round.
MAX_GRADES = 100


class McRank(ItemTrees):
    """Boosted trees that predict the probability of each grade, ranked by expected relevance.

    ``score = sum over grades g of g P(y = g)``. The probabilities come from one classifier of all
    grades, or from one of ``P(y >= g)`` for every grade but the lowest (ordinal). The weight of a
    query and the cost of an item, if given to `fit`, weigh its error. Relevance may have up to 100
    different values of any kind. Equal predictions are ties; with one grade all scores are equal.

    Parameters
    ----------
    method : {"multiclass", "ordinal"}
        One classifier of all grades, or cumulative ones.
    n_estimators : int
        Maximum number of rounds; each grows one tree per grade.

    Attributes
    ----------
    grades_ : ndarray
        The grades, ascending.
    start_ : ndarray
        Log odds of each threshold that the trees add to (of the ordinal method).

    References
    ----------
    Li, Burges and Wu, McRank: learning to rank using multiple classification and gradient boosting,
    NIPS 2007.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import McRank
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> model = McRank(method="ordinal", n_estimators=10, n_jobs=1).fit(data)
    >>> model.score(data) > 0.7, model.grades_
    (True, array([0., 1., 2., 3., 4.]))
    """

    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 5, "n_jobs": 1}

    method: Annotated[Literal["multiclass", "ordinal"], Choice("multiclass", "ordinal")] = (
        "multiclass"
    )

    def _fit(self, data: RankingData, given: FitInputs = NO_INPUTS) -> None:
        self.grades_ = np.unique(np.asarray(data.y, dtype=np.float64))
        if len(self.grades_) > MAX_GRADES:
            raise DataError(
                f"y must have at most {MAX_GRADES} different values for McRank, got "
                f"{len(self.grades_)}; use MART or LambdaMART, or bin it"
            )
        super()._fit(data, given)

    def _label(self, data: RankingData) -> np.ndarray:
        """Return the number of each grade; an unseen validation grade counts as the next higher."""
        codes = np.searchsorted(self.grades_, np.asarray(data.y))
        return np.minimum(codes, len(self.grades_) - 1).astype(np.float64)

    def _objective_of(self, train: RankingData, given: FitInputs) -> Any:
        return self.objective(train, given.sample_weight)

    def objective(
        self, data: RankingData, sample_weight: np.ndarray | None = None
    ) -> str | Callable[..., Any]:
        """Return LightGBM's name of the cross-entropy, or the cumulative logistic loss."""
        if self.method == "multiclass":
            return "multiclass"
        above = self._label(data)[:, None] > np.arange(len(self.grades_) - 1)
        weight = row_weights(data, sample_weight)
        share = np.clip(above.mean(axis=0), 1e-9, 1.0 - 1e-9)
        self.start_ = np.log(share / (1.0 - share))

        def cumulative(score: np.ndarray, dataset: Any) -> tuple[np.ndarray, np.ndarray]:
            p = _sigmoid(self.start_ + score.reshape(above.shape))
            grad, hess = p - above, p * (1.0 - p)
            if weight is not None:
                grad, hess = grad * weight[:, None], hess * weight[:, None]
            return (grad[:, 0], hess[:, 0]) if above.shape[1] == 1 else (grad, hess)

        return cumulative

    def grow(self, binned: Binned, objective: Any, **params: Any) -> None:
        """Grow one tree per grade and round."""
        n_classes = len(self.grades_) - (0 if self.method == "multiclass" else 1)
        if len(self.grades_) == 1:
            objective, n_classes = "regression", 1
        super().grow(binned, objective, num_class=n_classes, **params)

    def _expected(self, output: np.ndarray) -> np.ndarray:
        """Return the expected relevance from the output of the booster."""
        if len(self.grades_) == 1:
            return np.full(len(output), self.grades_[0])
        if self.method == "multiclass":
            return output.reshape(-1, len(self.grades_)) @ self.grades_
        p = _sigmoid(self.start_ + output.reshape(-1, len(self.grades_) - 1))
        return self.grades_[0] + p @ np.diff(self.grades_)

    def _from_raw(self, value: Value) -> Value:
        return lambda data, output: value(data, self._expected(output))

    def _scores(self, data: RankingData) -> np.ndarray:
        output = self.booster_.predict(
            as_matrix(data.X),
            num_iteration=self.best_iteration_,
            num_threads=n_threads(self.n_jobs),
        )
        return self._expected(np.asarray(output))


def _sigmoid(score: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-np.clip(score, -500.0, 500.0)))
