"""Samplers of queries: uniform, by row norm, and by leverage."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from sklearn.base import BaseEstimator

from ..core import inputs
from ..core.data import RankingData
from ..core.declared import Declared, OnlyWith
from ..core.errors import DataError
from ..core.given_data import as_ranking_data, refuse_beside
from ..core.params import (
    AnyOf,
    Choice,
    Flag,
    Instance,
    Integer,
    Number,
    Optional,
)
from ..core.random import generator

__all__ = [
    "LeverageSampler",
    "QuerySample",
    "QuerySampler",
    "RowNormSampler",
    "UniformSampler",
    "VectorSampler",
]


@dataclass(frozen=True, eq=False)
class QuerySample:
    """A sample of queries with their weights.

    A query that is drawn several times occurs once, with a larger weight.

    Attributes
    ----------
    queries : ndarray
        Labels of the queries, each once, in the order of the data.
    indices : ndarray of int
        The same as indices into ``data.qids``.
    weights : ndarray
        Number of queries of the data that each represents.
    data : RankingData
        The sampled queries, with ``query_weight`` set.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.preprocess import UniformSampler
    >>> drawn = UniformSampler(10, random_state=0).sample(make_ranking(n_queries=40))
    >>> len(drawn.queries), float(drawn.weights.sum())
    (10, 40.0)
    """

    queries: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    data: RankingData


class QuerySampler(Declared, BaseEstimator):  # type: ignore[misc]
    """Base of the samplers of queries; a subclass writes ``_shares``, the share of each query.

    Without replacement a fixed number is drawn with inclusion probability ``pi_i = min(1, size
    p_i)``, with the excess over 1 spread over the rest (randomised systematic sampling), and a
    query has the weight ``1 / pi_i``; with replacement its number of draws over ``size p_i``.
    Weighted sums over queries are unbiased either way.

    Parameters
    ----------
    size : int or float
        Number of queries, or their share.
    replace : bool
        Whether a query may be drawn more than once.
    represent : {"mean", "top"} or callable
        Vector of a query: the mean of its rows, its first ``n_top`` rows concatenated, or a
        function of the data that returns one vector per query.
    n_top : int
        Number of rows for ``represent="top"``.

    Examples
    --------
    >>> from equirank.preprocess import RowNormSampler
    >>> from equirank.preprocess.query_samplers import QuerySampler
    >>> issubclass(RowNormSampler, QuerySampler)
    True
    """

    positional = ("size",)
    size: Annotated[int | float, AnyOf(Integer(1), Number(0.0, 1.0, open_low=True))] = 0.1
    random_state: Any = None

    def sample(self, X: Any, y: Any = None, *, qid: Any = None) -> QuerySample:
        """Draw queries.

        Parameters
        ----------
        X : array-like, sparse array, data frame or RankingData
            Features; a `RankingData` includes everything else.
        y, qid : array-like, optional
            Relevance and the query of each row.

        Returns
        -------
        QuerySample
            ``queries`` are the labels of the sampled queries, ``indices`` their indices in the
            data, ``weights`` the number of queries that each represents, and ``data`` the sampled
            queries with ``query_weight`` set.
        """
        owner = type(self).__name__
        self.check_declared()
        if isinstance(X, RankingData):
            refuse_beside({"y": y, "qid": qid})
            data = X
        else:
            data = as_ranking_data(X, y, qid=qid)
        if data.X is None:
            raise DataError(f"{owner} needs X, and the data lacks it")
        data.refuse_categories(owner)
        if data.n_queries == 1:
            how = "it was not given" if qid is None and data is not X else "there is one list"
            raise DataError(f"qid must name at least two lists for {owner} to draw from: {how}")
        size = self._count(data.n_queries)
        indices, weights = self._draw(data, size)
        order = np.argsort(indices)
        indices, weights = indices[order], weights[order]
        part = data.select(indices)
        before = 1.0 if part.query_weight is None else part.query_weight
        part = replace(part, query_weight=inputs.frozen(np.asarray(before * weights, dtype=float)))
        return QuerySample(data.qids[indices], indices, weights, part)

    def _count(self, n_queries: int) -> int:
        share = isinstance(self.size, float)
        size = max(1, round(self.size * n_queries)) if share else int(self.size)
        if size > n_queries and not getattr(self, "replace", False):
            raise DataError(
                f"size of {type(self).__name__} must be at most the number of queries "
                f"({n_queries}), got {self.size}"
            )
        return size

    def _draw(self, data: RankingData, size: int) -> tuple[np.ndarray, np.ndarray]:
        shares = self.shares(data)
        rng = generator(self.random_state)
        if getattr(self, "replace", False):
            counts = rng.multinomial(size, shares)
            drawn = np.flatnonzero(counts)
            return drawn, counts[drawn] / (size * shares[drawn])
        chances = inclusion_probabilities(shares, size)
        drawn = systematic(chances, rng)
        return drawn, 1.0 / chances[drawn]

    def shares(self, data: RankingData) -> np.ndarray:
        """Return the share of each query in the draws, in the order of ``data.qids``; sum 1.

        `equirank.theory.sampling_error_bound` bounds the error of a sample from them.
        """
        shares = self._shares(data)
        total = float(shares.sum())
        return shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))

    def _shares(self, data: RankingData) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define _shares; QuerySampler is abstract")


def inclusion_probabilities(shares: np.ndarray, size: int) -> np.ndarray:
    """Return ``min(1, size p_i)``, with the excess over 1 spread over the rest in proportion.

    If fewer than ``size`` have a positive share, all others are equally likely.
    """
    chances = np.zeros(len(shares))
    certain = np.zeros(len(shares), dtype=bool)
    if np.count_nonzero(shares) < size:
        certain = shares > 0.0
        shares = np.where(certain, shares, 1.0)
    while True:
        left = size - int(certain.sum())
        rest = np.where(certain, 0.0, shares)
        total = float(rest.sum())
        chances = np.where(certain, 1.0, left * rest / total if total > 0.0 else 0.0)
        over = ~certain & (chances >= 1.0 - 1e-12)
        if not over.any():
            return chances
        certain |= over


def systematic(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a fixed number with these inclusion probabilities, systematically in random order."""
    order = rng.permutation(len(chances))
    edges = np.cumsum(chances[order])
    size = round(float(edges[-1]))
    edges[-1] = size  # rounding must not drop the last one
    teeth = rng.random() + np.arange(size)
    return order[np.searchsorted(edges, teeth, side="right")]


class VectorSampler(QuerySampler):
    """Base of the samplers that represent each query by a vector."""

    represent: Annotated[
        Any,
        AnyOf(Choice("mean", "top"), Instance(cast(type, Callable), "a function of the data")),
    ] = "mean"
    n_top: Annotated[int, Integer(1)] = 1
    only_with: ClassVar[OnlyWith] = {"n_top": ("represent", ("top",))}

    def represented(self, data: RankingData) -> np.ndarray:
        """Return one vector per query: its mean row, its first rows, or those of a function."""
        if callable(self.represent):
            vectors = np.asarray(self.represent(data), dtype=np.float64)
            if vectors.ndim != 2 or len(vectors) != data.n_queries:
                raise DataError(
                    f"represent must return one vector per query ({data.n_queries}), got shape "
                    f"{vectors.shape}"
                )
            return vectors
        sizes = np.diff(data.offsets)
        if self.represent == "mean":
            X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
            total = np.add.reduceat(X, data.offsets[:-1], axis=0, dtype=np.float64)
            return np.asarray(total / sizes[:, None])
        X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
        vectors = np.zeros((data.n_queries, self.n_top, X.shape[1]))
        for at in range(self.n_top):
            longer = sizes > at
            vectors[longer, at] = X[data.offsets[:-1][longer] + at]
        return vectors.reshape(data.n_queries, -1)


class LeverageSampler(VectorSampler):
    """Draw queries in proportion to the leverage of their vectors.

    ``l_i = x_i' G^+ x_i`` with ``G = X'X``: the squared length of row i of U in the thin singular
    value decomposition of the queries' vectors. Eigenvalues below ``tol`` times the largest count
    as 0. With ``sketch`` G is estimated from that many random mixtures of the rows.

    Parameters
    ----------
    sketch : int, optional
        Number of mixtures; a few times the number of features.
    tol : float
        See above.

    References
    ----------
    Drineas, Magdon-Ismail, Mahoney and Woodruff, Fast approximation of matrix coherence and
    statistical leverage, JMLR 2012.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.preprocess import LeverageSampler
    >>> drawn = LeverageSampler(5, random_state=0).sample(make_ranking(n_queries=40))
    >>> len(drawn.queries)
    5
    """

    sketch: Annotated[int | None, Optional(Integer(1))] = None
    tol: Annotated[float, Number(0.0, 1.0)] = 1e-10
    replace: Annotated[bool, Flag()] = False

    def leverages(self, data: RankingData) -> np.ndarray:
        """Return the leverage of each query, in the order of ``data.qids``."""
        vectors = self.represented(data)
        rows = vectors
        if self.sketch is not None:
            rng = generator(self.random_state, 1)
            # each row is added to one mixture with a random sign
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


class RowNormSampler(VectorSampler):
    """Draw queries in proportion to the squared length of their vectors.

    ``p_i ~ ||x_i||_2^2``, or ``||x_i||_1`` with ``norm="l1"``. If all vectors are 0, all queries
    are equally likely.

    Parameters
    ----------
    norm : {"l2", "l1"}
        See above.

    References
    ----------
    Drineas, Kannan and Mahoney, Fast Monte Carlo algorithms for matrices, SIAM J. Computing 2006.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.preprocess import RowNormSampler
    >>> drawn = RowNormSampler(5, random_state=0).sample(make_ranking(n_queries=40))
    >>> len(drawn.queries)
    5
    """

    norm: Annotated[str, Choice("l2", "l1")] = "l2"
    replace: Annotated[bool, Flag()] = False

    def _shares(self, data: RankingData) -> np.ndarray:
        vectors = self.represented(data)
        if self.norm == "l1":
            return np.abs(vectors).sum(axis=1)
        return np.einsum("ij,ij->i", vectors, vectors)


class UniformSampler(QuerySampler):
    """Draw queries with equal probability: ``p_i = 1 / n``.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.preprocess import UniformSampler
    >>> drawn = UniformSampler(0.25, random_state=0).sample(make_ranking(n_queries=40))
    >>> drawn.weights
    array([4., 4., 4., 4., 4., 4., 4., 4., 4., 4.])
    """

    replace: Annotated[bool, Flag()] = False

    def _shares(self, data: RankingData) -> np.ndarray:
        return np.full(data.n_queries, 1.0 / data.n_queries)
