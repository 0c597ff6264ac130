"""UniformSampler: every query is as likely as any other."""

from typing import Any

import numpy as np

from ...core.data import RankingData
from .query_sampler import QuerySampler

__all__ = ["UniformSampler"]


class UniformSampler(QuerySampler):
    """Draw queries all alike: ``p_i = 1 / n``.

    Parameters
    ----------
    size : int or float
        How many queries, or which share of them.
    replace : bool
        Whether a query may be drawn more than once.
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> from equirank import make_ranking
    >>> from equirank.preprocess import UniformSampler
    >>> drawn = UniformSampler(0.25, random_state=0).sample(make_ranking(n_queries=40))
    >>> drawn.weights
    array([4., 4., 4., 4., 4., 4., 4., 4., 4., 4.])
    """

    represent: Any = "mean"
    n_top: int = 1
    params = {name: QuerySampler.params[name] for name in ("size", "replace")}  # noqa: RUF012

    def __init__(
        self, size: int | float = 0.1, *, replace: bool = False, random_state: Any = None
    ) -> None:
        self.size = size
        self.replace = replace
        self.random_state = random_state

    def _shares(self, data: RankingData) -> np.ndarray:
        return np.full(data.n_queries, 1.0 / data.n_queries)
