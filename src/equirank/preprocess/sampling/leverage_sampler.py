"""LeverageSampler: queries that no others can stand in for are likelier."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.params import Constraint, Integer, Number, Optional
from ...core.random import generator
from .query_sampler import QuerySampler

__all__ = ["LeverageSampler"]


class LeverageSampler(QuerySampler):
    """Draw queries in proportion to the leverage of their vectors.

    ``l_i = x_i' G^+ x_i`` with ``G = X'X``: the squared length of row i of U in the thin singular
    value decomposition of the queries' vectors. Directions whose eigenvalue is under ``tol`` of the
    largest count as none. With ``sketch`` G comes from so many random mixtures of the rows.

    Parameters
    ----------
    size : int or float
        How many queries, or which share of them.
    sketch : int, optional
        Number of mixtures, for many features; a few times their number.
    tol : float
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
    Drineas, Magdon-Ismail, Mahoney and Woodruff, Fast approximation of matrix coherence and
    statistical leverage, JMLR 2012.

    Examples
    --------
    >>> from equirank import make_ranking
    >>> from equirank.preprocess import LeverageSampler
    >>> drawn = LeverageSampler(5, random_state=0).sample(make_ranking(n_queries=40))
    >>> len(drawn.queries)
    5
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        **QuerySampler.params,
        "sketch": Optional(Integer(1)),
        "tol": Number(0.0, 1.0),
    }

    def __init__(
        self,
        size: int | float = 0.1,
        *,
        sketch: int | None = None,
        tol: float = 1e-10,
        replace: bool = False,
        represent: Any = "mean",
        n_top: int = 1,
        random_state: Any = None,
    ) -> None:
        self.size = size
        self.sketch = sketch
        self.tol = tol
        self.replace = replace
        self.represent = represent
        self.n_top = n_top
        self.random_state = random_state

    def leverages(self, data: RankingData) -> np.ndarray:
        """Give the leverage of each query, in the order of ``data.qids``."""
        vectors = self.represented(data)
        rows = vectors
        if self.sketch is not None:
            rng = generator(self.random_state, 1)
            # each row goes to one mixture with a random sign
            to = rng.integers(self.sketch, size=len(vectors))
            sign = rng.choice([-1.0, 1.0], size=len(vectors))
            rows = np.zeros((self.sketch, vectors.shape[1]))
            np.add.at(rows, to, sign[:, None] * vectors)
        values, axes = np.linalg.eigh(rows.T @ rows)
        kept = values > self.tol * max(float(values[-1]), 0.0)
        inside = vectors @ (axes[:, kept] / np.sqrt(values[kept]))
        return np.einsum("ij,ij->i", inside, inside)

    def _shares(self, data: RankingData) -> np.ndarray:
        return self.leverages(data)
