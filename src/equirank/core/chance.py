"""Values of a metric under random orders, the reference for its values under a ranker."""

from typing import Any

import numpy as np

from .data import RankingData
from .metric import Metric
from .random import generator
from .ranking import Ranking

__all__ = ["N_ORDERS", "chance_by_query", "exceeds"]

#: Number of random orders whose mean is the reference.
N_ORDERS = 20


def chance_by_query(metric: Metric, data: RankingData, random_state: Any = 0) -> np.ndarray:
    """Return the metric of each query in each of 20 random orders (order x query).

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> from equirank.metrics import NDCG
    >>> data = as_ranking_data(None, [1, 1, 0], qid=[1, 1, 2])
    >>> chance_by_query(NDCG(), data)[:2].tolist()
    [[1.0, nan], [1.0, nan]]
    """
    rng = generator(random_state, data.n_rows)
    plain = [rng.random(data.n_rows) for _ in range(N_ORDERS)]
    return np.array([metric.per_query(Ranking.from_scores(data, score)).value for score in plain])


def exceeds(value: np.ndarray, reference: np.ndarray) -> bool:
    """Return whether paired values are two standard errors above a reference on average.

    Pairs with NaN are left out; fewer than two pairs never are.

    Examples
    --------
    >>> exceeds(np.array([0.5, 0.6, 0.7]), np.array([0.2, 0.2, 0.2]))
    True
    >>> exceeds(np.array([0.5, 0.1]), np.array([0.2, 0.2]))
    False
    """
    difference = np.asarray(value) - np.asarray(reference)
    difference = difference[~np.isnan(difference)]
    if len(difference) < 2:
        return False
    error = np.std(difference, ddof=1) / np.sqrt(len(difference))
    return bool(difference.mean() > 2.0 * error)
