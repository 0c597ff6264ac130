"""RowNormSampler: queries with large features are likelier."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.params import Choice, Constraint
from .query_sampler import QuerySampler

__all__ = ["RowNormSampler"]


class RowNormSampler(QuerySampler):
    """Draw queries in proportion to the squared length of their vectors.

    ``p_i ~ ||x_i||_2^2``, or ``||x_i||_1`` with ``norm="l1"``. Where all vectors are 0 every query
    is as likely.

    Parameters
    ----------
    size : int or float
        How many queries, or which share of them.
    norm : {"l2", "l1"}
        See above.
    replace : bool
        Whether a query may be drawn more than once.
    represent : {"mean", "top"} or callable
        A query's vector: the mean of its rows, its first ``n_top`` rows side by side, or a function
        of the data that gives one vector per query.
    n_top : int
        See above.
    random_state : int, Generator, RandomState or None
        Seed.

    References
    ----------
    Drineas, Kannan and Mahoney, Fast Monte Carlo algorithms for matrices, SIAM J. Computing 2006.

    Examples
    --------
    >>> from equirank import make_ranking
    >>> from equirank.preprocess import RowNormSampler
    >>> drawn = RowNormSampler(5, random_state=0).sample(make_ranking(n_queries=40))
    >>> len(drawn.queries)
    5
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        **QuerySampler.params,
        "norm": Choice("l2", "l1"),
    }

    def __init__(
        self,
        size: int | float = 0.1,
        *,
        norm: str = "l2",
        replace: bool = False,
        represent: Any = "mean",
        n_top: int = 1,
        random_state: Any = None,
    ) -> None:
        self.size = size
        self.norm = norm
        self.replace = replace
        self.represent = represent
        self.n_top = n_top
        self.random_state = random_state

    def _shares(self, data: RankingData) -> np.ndarray:
        vectors = self.represented(data)
        if self.norm == "l1":
            return np.abs(vectors).sum(axis=1)
        return np.einsum("ij,ij->i", vectors, vectors)
