"""MART: boosted regression trees on the relevance, ranked by what they predict."""

from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from .explaining import Explaining

__all__ = ["MART"]


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
    >>> from equirank import make_ranking, query_train_test_split
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
    """Give each row the weight of its query times its cost, of mean 1; None without either."""
    if data.query_weight is None and data.cost is None:
        return None
    weight = np.ones(data.n_rows) if data.cost is None else np.asarray(data.cost, dtype=float)
    if data.query_weight is not None:
        weight = weight * np.asarray(data.query_weight)[data.query_of_rows()]
    return weight / weight.mean() if weight.mean() > 0 else weight
