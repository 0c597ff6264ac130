"""LeverageSampler: queries that no others can stand in for are likelier."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import BaseEstimator

from ..core import inputs as door
from ..core.data import RankingData, as_ranking_data, refuse_beside
from ..core.errors import DataError
from ..core.params import (
    AnyOf,
    Choice,
    Constraint,
    Flag,
    Instance,
    Integer,
    Number,
    Optional,
    check_params,
)
from ..core.random import generator

__all__ = ["LeverageSampler", "QuerySample", "QuerySampler", "RowNormSampler", "UniformSampler"]


@dataclass(frozen=True, eq=False)
class QuerySample:
    """Which queries were drawn, and how much each stands for.

    Attributes
    ----------
    queries : ndarray
        Labels of the queries, each once, in the order of the data.
    indices : ndarray of int
        The same as numbers into ``data.qids``.
    weights : ndarray
        How many queries of the whole each stands for.
    data : RankingData
        The queries drawn, with ``query_weight`` set: ready to fit a ranker on.

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


class QuerySampler(BaseEstimator):  # type: ignore[misc]
    """Base of the samplers of queries; each writes ``_shares``: how likely each query is.

    Without replacement a fixed number is drawn with inclusion probability ``pi_i = min(1, size
    p_i)``, what lies above 1 spread over the rest (randomised systematic sampling), and a query
    stands for ``1 / pi_i``; with replacement for its number of draws over ``size p_i``. Either way
    sums over queries are estimated without bias.

    Examples
    --------
    >>> from equirank.preprocess import RowNormSampler
    >>> from equirank.preprocess.query_samplers import QuerySampler
    >>> issubclass(RowNormSampler, QuerySampler)
    True
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "size": AnyOf(Integer(1), Number(0.0, 1.0, open_low=True)),
        "replace": Flag(),
        "represent": AnyOf(
            Choice("mean", "top"), Instance(cast(type, Callable), "a function of the data")
        ),
        "n_top": Integer(1),
    }

    size: int | float
    represent: Any
    n_top: int
    random_state: Any

    def sample(self, X: Any, y: Any = None, *, qid: Any = None) -> QuerySample:
        """Draw queries.

        Parameters
        ----------
        X : array-like, sparse array, data frame or RankingData
            Features; a `RankingData` brings everything else with it.
        y, qid : array-like, optional
            Relevance and the list of each row.
        """
        owner = type(self).__name__
        check_params(owner, self.get_params(deep=False), self.params)
        if isinstance(X, RankingData):
            refuse_beside({"y": y, "qid": qid})
            data = X
        else:
            data = as_ranking_data(X, y, qid=qid)
        if data.X is None:
            raise DataError(f"{owner} needs X, and the data lacks it")
        size = self._count(data.n_queries)
        indices, weights = self._draw(data, size)
        order = np.argsort(indices)
        indices, weights = indices[order], weights[order]
        part = data.select(indices)
        before = 1.0 if part.query_weight is None else part.query_weight
        part = replace(part, query_weight=door.frozen(np.asarray(before * weights, dtype=float)))
        return QuerySample(data.qids[indices], indices, weights, part)

    def represented(self, data: RankingData) -> np.ndarray:
        """Return each query as one vector: its mean row, its first rows side by side, or your own."""
        if callable(self.represent):
            vectors = np.asarray(self.represent(data), dtype=np.float64)
            if vectors.ndim != 2 or len(vectors) != data.n_queries:
                raise DataError(
                    f"represent must give one vector per query ({data.n_queries}), got shape "
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
        for place in range(self.n_top):
            there = sizes > place
            vectors[there, place] = X[data.offsets[:-1][there] + place]
        return vectors.reshape(data.n_queries, -1)

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
        shares = self._shares(data)
        total = float(shares.sum())
        shares = shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))
        rng = generator(self.random_state)
        if getattr(self, "replace", False):
            counts = rng.multinomial(size, shares)
            drawn = np.flatnonzero(counts)
            return drawn, counts[drawn] / (size * shares[drawn])
        chances = inclusion_probabilities(shares, size)
        drawn = systematic(chances, rng)
        return drawn, 1.0 / chances[drawn]

    def _shares(self, data: RankingData) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define _shares; QuerySampler is abstract")


def inclusion_probabilities(shares: np.ndarray, size: int) -> np.ndarray:
    """Return ``min(1, size p_i)``, what lies above 1 spread over the rest in proportion.

    Where fewer than ``size`` have a share at all, the others have the same chance each.
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
    """Draw a fixed number with these inclusion probabilities: a comb over a random order."""
    order = rng.permutation(len(chances))
    edges = np.cumsum(chances[order])
    size = round(float(edges[-1]))
    edges[-1] = size  # rounding cannot lose the last one
    teeth = rng.random() + np.arange(size)
    return order[np.searchsorted(edges, teeth, side="right")]


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
    >>> from equirank.datasets import make_ranking
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
        """Return the leverage of each query, in the order of ``data.qids``."""
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
    >>> from equirank.datasets import make_ranking
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
    >>> from equirank.datasets import make_ranking
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
