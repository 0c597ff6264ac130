"""MART: boosted regression trees on the relevance, ranked by what they predict."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.params import Choice, Constraint
from .lightgbm_params import n_threads
from .tree_ranker import Explaining, Prepared, TreeRanker, as_matrix

__all__ = ["MART", "McRank"]


class MART(Explaining):
    """Boosted regression trees on the relevance of each item by itself, ranked by prediction.

    The pointwise neighbour of `LambdaMART`: least squares on relevance, blind to lists. A weight of
    a query and the cost of an item, where given to `fit`, weigh its squared error. Equal
    predictions are ties. Data of one relevance gives one score for all.

    Parameters
    ----------
    base : model or array-like, optional
        Where to start from: a model (one that is not fitted yet is fitted first), whose scores are
        added when predicting; or a score for each row of the training data, in which case `predict`
        gives what is to be added to such scores.
    n_estimators : int
        The most trees.
    learning_rate : float
        How much of each tree is taken.
    num_leaves : int
        The most leaves of a tree.
    min_child_samples : int
        The fewest rows of a leaf.
    early_stopping : int, optional
        Stop after so many rounds without a better value on the validation lists.
    validation : float or RankingData, optional
        The share of the queries to hold out and watch, or lists to watch.
    metric : str or Metric
        What is watched there.
    categorical : list of str or int, optional
        Columns of X that hold categories as whole numbers >= 0. Columns of a data frame that hold
        text or categories are found and encoded by themselves.
    n_jobs : int, optional
        Threads; None and -1 take all cores. The number changes no result.
    random_state : int, optional
        Seed, for the validation split and what LightGBM draws where it is told to.
    **lightgbm
        Any other parameter of LightGBM.

    References
    ----------
    Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 2001.

    Examples
    --------
    >>> from equirank import query_train_test_split
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import MART
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> train, test = query_train_test_split(data, random_state=0)
    >>> MART(n_estimators=20, n_jobs=1).fit(train).score(test) > 0.7
    True
    """

    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 10, "n_jobs": 1}

    def __init__(
        self,
        *,
        base: Any = None,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        early_stopping: int | None = None,
        validation: Any = None,
        metric: Any = "NDCG@10",
        categorical: list[str | int] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **lightgbm: Any,
    ) -> None:
        self.base = base
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.early_stopping = early_stopping
        self.validation = validation
        self.metric = metric
        self.categorical = categorical
        self.n_jobs = n_jobs
        self.random_state = random_state
        self._pass_on(lightgbm)

    def _objective(self, data: RankingData) -> str:
        return "regression"

    def _weight(self, data: RankingData) -> np.ndarray | None:
        return row_weights(data)


def row_weights(data: RankingData) -> np.ndarray | None:
    """Return each row the weight of its query times its cost, of mean 1; None without either."""
    if data.query_weight is None and data.cost is None:
        return None
    weight = np.ones(data.n_rows) if data.cost is None else np.asarray(data.cost, dtype=float)
    if data.query_weight is not None:
        weight = weight * np.asarray(data.query_weight)[data.query_of_rows()]
    return weight / weight.mean() if weight.mean() > 0 else weight


#: Each grade takes a tree per round.
MOST_GRADES = 100


class McRank(TreeRanker):
    """Boosted trees that predict the chance of each grade, ranked by expected relevance.

    ``score = sum over grades g of g P(y = g)``; the chances come from one classifier of all grades,
    or from one of ``P(y >= g)`` for every grade but the lowest (ordinal). A weight of a query and
    the cost of an item, where given to `fit`, weigh its error. Relevance may be any numbers, up to
    100 different ones. Equal predictions are ties; data of one grade gives one score for all.

    Parameters
    ----------
    method : {"multiclass", "ordinal"}
        One classifier of all grades, or cumulative ones.
    n_estimators : int
        The most rounds; each grows a tree per grade.
    learning_rate : float
        How much of each tree is taken.
    num_leaves : int
        The most leaves of a tree.
    min_child_samples : int
        The fewest rows of a leaf.
    early_stopping : int, optional
        Stop after so many rounds without a better value on the validation lists.
    validation : float or RankingData, optional
        The share of the queries to hold out and watch, or lists to watch.
    metric : str or Metric
        What is watched there.
    categorical : list of str or int, optional
        Columns of X that hold categories as whole numbers >= 0. Columns of a data frame that hold
        text or categories are found and encoded by themselves.
    n_jobs : int, optional
        Threads; None and -1 take all cores. The number changes no result.
    random_state : int, optional
        Seed, for the validation split and what LightGBM draws where it is told to.
    **lightgbm
        Any other parameter of LightGBM.

    Attributes
    ----------
    grades_ : ndarray
        The grades, ascending.
    start_ : ndarray
        Of the ordinal method: the log odds of each threshold that trees add to.

    References
    ----------
    Li, Burges and Wu, McRank: learning to rank using multiple classification and gradient boosting,
    NIPS 2007.

    Examples
    --------
    >>> from equirank import query_train_test_split
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import McRank
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> train, test = query_train_test_split(data, random_state=0)
    >>> McRank(n_estimators=10, n_jobs=1).fit(train).score(test) > 0.7
    True
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        **{name: rule for name, rule in TreeRanker.params.items() if name != "base"},
        "method": Choice("multiclass", "ordinal"),
    }
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 5, "n_jobs": 1}
    base = None

    def __init__(
        self,
        *,
        method: Literal["multiclass", "ordinal"] = "multiclass",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        early_stopping: int | None = None,
        validation: Any = None,
        metric: Any = "NDCG@10",
        categorical: list[str | int] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **lightgbm: Any,
    ) -> None:
        self.method = method
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.early_stopping = early_stopping
        self.validation = validation
        self.metric = metric
        self.categorical = categorical
        self.n_jobs = n_jobs
        self.random_state = random_state
        self._pass_on(lightgbm)

    def _fit(self, data: RankingData) -> None:
        self.grades_ = np.unique(np.asarray(data.y, dtype=np.float64))
        if len(self.grades_) > MOST_GRADES:
            raise DataError(
                f"y must have at most {MOST_GRADES} different values for McRank, got "
                f"{len(self.grades_)}; use MART or LambdaMART, or bin it"
            )
        super()._fit(data)

    def _label(self, data: RankingData) -> np.ndarray:
        """Number the grades; one of the validation lists that was never seen counts as the next."""
        found = np.searchsorted(self.grades_, np.asarray(data.y))
        return np.minimum(found, len(self.grades_) - 1).astype(np.float64)

    def _weight(self, data: RankingData) -> np.ndarray | None:
        return row_weights(data)

    def _objective(self, data: RankingData) -> str | Callable[..., Any]:
        if self.method == "multiclass":
            return "multiclass"
        above = self._label(data)[:, None] > np.arange(len(self.grades_) - 1)
        weight = row_weights(data)
        share = np.clip(above.mean(axis=0), 1e-9, 1.0 - 1e-9)
        self.start_ = np.log(share / (1.0 - share))

        def cumulative(score: np.ndarray, dataset: Any) -> tuple[np.ndarray, np.ndarray]:
            chance = _sigmoid(self.start_ + score.reshape(above.shape))
            gradient, curvature = chance - above, chance * (1.0 - chance)
            if weight is not None:
                gradient, curvature = gradient * weight[:, None], curvature * weight[:, None]
            one = above.shape[1] == 1
            return (gradient[:, 0], curvature[:, 0]) if one else (gradient, curvature)

        return cumulative

    def _grow(self, prepared: Prepared, objective: Any, **more: Any) -> None:
        n_classes = len(self.grades_) - (0 if self.method == "multiclass" else 1)
        if len(self.grades_) == 1:
            objective, n_classes = "regression", 1
        super()._grow(prepared, objective, num_class=n_classes, **more)

    def _expected(self, output: np.ndarray) -> np.ndarray:
        """Turn what the booster puts out into expected relevance."""
        if len(self.grades_) == 1:
            return np.full(len(output), self.grades_[0])
        if self.method == "multiclass":
            return output.reshape(-1, len(self.grades_)) @ self.grades_
        chance = _sigmoid(self.start_ + output.reshape(-1, len(self.grades_) - 1))
        return self.grades_[0] + chance @ np.diff(self.grades_)

    def _from_raw(
        self, value: Callable[[RankingData, np.ndarray], float]
    ) -> Callable[[RankingData, np.ndarray], float]:
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
