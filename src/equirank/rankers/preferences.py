"""Explicit preferences between rows, and the base class of rankers that learn from them."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.inputs import numbers
from ..core.pair_cost import PairCost
from ..core.params import Choice, Instance, Optional
from ..core.ranker import Ranker

__all__ = [
    "PairRanker",
    "checked_pairs",
    "checked_preferences",
    "grades_from_pairs",
    "pairs_from_grades",
    "pairs_from_order",
    "without_grades",
]


class PairRanker(Ranker):
    """Base of rankers that learn from pairs: those of unequal relevance, or explicit ones.

    ``unused_with_pairs`` names the parameters that must be None in `fit_pairs`.
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"cost", "query_weight"})
    unused_with_pairs: ClassVar[tuple[str, ...]] = ("pair_cost",)

    cost_combination: Annotated[str, Choice("product", "sum", "mean")] = "product"
    pair_cost: Annotated[
        PairCost | None, Optional(Instance(PairCost, "a pair cost (equirank.costs.PairCost)"))
    ] = None

    def fit_pairs(self, X: Any, pairs: Any, preference: Any = None, weight: Any = None) -> Self:
        """Learn from explicit preferences between rows, which may be intransitive.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features, sparse if `fit` accepts sparse features. Of a `RankingData` only they are
            used.
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers; the first of each pair is preferred, unless ``preference`` says otherwise.
        preference : array-like, optional
            Per pair: > 0 if the first row is preferred, < 0 if the second is; pairs with 0 are
            ignored. The absolute value weights the pair.
        weight : array-like, optional
            Further weight per pair, >= 0: the cost of misordering it.
        """
        self.check_declared()
        if any(getattr(self, name) is not None for name in self.unused_with_pairs):
            unused = " and ".join(self.unused_with_pairs)
            raise DataError(f"{unused} must be None to fit explicit pairs")
        data = self._training_data(*without_grades(X), None, None, None, None)
        rows = np.arange(data.n_rows) if data.rows is None else np.argsort(data.rows)
        first, second, cost = checked_preferences(pairs, preference, weight, data.n_rows)
        self.groups_, self.data_fingerprint_ = {}, data.fingerprint()
        self._fit_preferences(data, rows[first], rows[second], cost)
        self.is_fitted_ = True
        return self

    def _fit_preferences(
        self, data: RankingData, first: np.ndarray, second: np.ndarray, cost: np.ndarray
    ) -> None:
        """Learn that the stored rows ``first`` are preferred to ``second``, at these costs."""
        raise TypeError(f"{type(self).__name__} must define _fit_preferences")


def checked_pairs(
    pairs: Any, preference: Any, weight: Any, n_rows: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs of row numbers, the preference of each (1 by default) and its weight.

    Examples
    --------
    >>> checked_pairs([[0, 1], [2, 1]], [1, -1], None, 3)
    (array([[0, 1],
           [2, 1]]), array([ 1., -1.]), array([1., 1.]))
    """
    table = np.asarray(pairs)
    if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu":
        raise DataError(
            f"pairs must be row numbers of shape (n_pairs, 2), got {table.dtype} of shape "
            f"{table.shape}"
        )
    if len(table) == 0:
        raise DataError("pairs must contain at least one pair, got 0")
    bad = ((table < 0) | (table >= n_rows)).any(axis=1) | (table[:, 0] == table[:, 1])
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"pairs must name two different rows from 0 to {n_rows - 1}, got {table[at].tolist()} "
            f"in pair {at}"
        )
    sign = _per_pair("preference", preference, len(table))
    extra = _per_pair("weight", weight, len(table))
    if (extra < 0).any():
        at = int(np.flatnonzero(extra < 0)[0])
        raise DataError(f"weight must be a number >= 0, got {float(extra[at])} in pair {at}")
    return table, sign, extra


def checked_preferences(
    pairs: Any, preference: Any, weight: Any, n_rows: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the preferred rows, the rows they are preferred to, and the weight of each pair.

    Examples
    --------
    >>> checked_preferences([[0, 1], [2, 1]], [1, -2], None, 3)
    (array([0, 1]), array([1, 2]), array([1., 2.]))
    """
    table, sign, extra = checked_pairs(pairs, preference, weight, n_rows)
    first = np.where(sign >= 0, table[:, 0], table[:, 1])
    second = np.where(sign >= 0, table[:, 1], table[:, 0])
    cost = np.abs(sign) * extra
    kept = cost > 0
    if not kept.any():
        raise DataError("preference and weight must leave at least one pair of weight > 0")
    return first[kept], second[kept], cost[kept].astype(np.float64)


def without_grades(X: Any) -> tuple[Any, Any]:
    """Return X and a relevance of 0 for every row."""
    if isinstance(X, RankingData):
        return replace(X, y=np.zeros(X.n_rows), query_weight=None), None
    n_rows = X.shape[0] if hasattr(X, "shape") and len(X.shape) else len(X)
    return X, np.zeros(n_rows)


def _per_pair(name: str, values: Any, n_pairs: int) -> np.ndarray:
    array = numbers(name, values)
    if array is None:
        return np.ones(n_pairs)
    if len(array) != n_pairs:
        raise DataError(f"{name} must have one value per pair ({n_pairs}), got {len(array)}")
    return array


def pairs_from_grades(y: Any, *, qid: Any = None) -> np.ndarray:
    """List all pairs of a query with unequal relevance, the more relevant row first.

    Rows of equal relevance form no pair. A query of n rows has up to ``n (n - 1) / 2`` pairs.

    Parameters
    ----------
    y : array-like
        Relevance, >= 0.
    qid : array-like, optional
        The query of each row.

    Returns
    -------
    ndarray of int of shape (n_pairs, 2)
        Row numbers, for ``fit_pairs``; sorted by the more relevant row, then the less relevant.

    Examples
    --------
    >>> from equirank.rankers import pairs_from_grades
    >>> pairs_from_grades([2, 0, 1, 1], qid=[7, 7, 7, 8]).tolist()
    [[0, 1], [0, 2], [2, 1]]
    """
    data = as_ranking_data(None, y, qid=qid)
    grade, query = np.asarray(data.y), data.query_of_rows()
    order = np.lexsort((grade, query))
    grade, query = grade[order], query[order]
    position = np.arange(len(order))
    new = np.concatenate([[True], np.diff(query) != 0])
    level = new | np.concatenate([[True], np.diff(grade) != 0])
    begin = np.maximum.accumulate(np.where(new, position, 0))
    end = np.maximum.accumulate(np.where(level, position, 0))
    count = end - begin  # rows of the same query with lower relevance
    first = np.repeat(position, count)
    second = np.arange(len(first)) - np.repeat(np.cumsum(count) - count - begin, count)
    rows = order if data.rows is None else data.rows[order]
    pairs = np.stack([rows[first], rows[second]], axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def pairs_from_order(order: Any, *, adjacent: bool = False) -> np.ndarray:
    """List the pairs of a total order, the higher ranked row first.

    Parameters
    ----------
    order : array-like of int
        Row numbers, best first, such as ``ranking.order(query)``; each once.
    adjacent : bool
        List only neighbours, n - 1 pairs, instead of all ``n (n - 1) / 2``.

    Returns
    -------
    ndarray of int of shape (n_pairs, 2)
        Row numbers, for ``fit_pairs``; no pair for fewer than two rows.

    Examples
    --------
    >>> from equirank.rankers import pairs_from_order
    >>> pairs_from_order([2, 0, 1]).tolist()
    [[2, 0], [2, 1], [0, 1]]
    >>> pairs_from_order([2, 0, 1], adjacent=True).tolist()
    [[2, 0], [0, 1]]
    """
    rows = np.asarray(order)
    if rows.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows < 0).any():
        raise DataError(f"order must be row numbers from 0, best first, got {order!r}")
    if len(np.unique(rows)) < len(rows):
        values, counts = np.unique(rows, return_counts=True)
        raise DataError(f"order must name each row once, got {values[counts > 1][0]} again")
    if adjacent:
        return np.stack([rows[:-1], rows[1:]], axis=1)
    first, second = np.triu_indices(len(rows), 1)
    return np.stack([rows[first], rows[second]], axis=1)


def grades_from_pairs(
    pairs: Any, preference: Any = None, weight: Any = None, *, n_rows: int
) -> np.ndarray:
    """Return the grade of each row: the total weight of the pairs in which it was preferred.

    A pair with preference 0 does not count. A row that was never preferred, or never compared, has
    grade 0. Contradictory pairs all count.

    Parameters
    ----------
    pairs : array-like of int of shape (n_pairs, 2)
        Row numbers.
    preference, weight : array-like, optional
        As in ``fit_pairs``.
    n_rows : int
        The number of rows.

    Returns
    -------
    ndarray of float
        Grades >= 0, for ``fit``.

    Examples
    --------
    >>> from equirank.rankers import grades_from_pairs
    >>> grades_from_pairs([[0, 1], [1, 2], [0, 2], [2, 0]], [1, 1, 1, 0], n_rows=4)
    array([2., 1., 0., 0.])
    """
    table, sign, extra = checked_pairs(pairs, preference, weight, n_rows)
    winner = np.where(sign >= 0, table[:, 0], table[:, 1])
    return np.bincount(winner, weights=np.abs(sign) * extra, minlength=n_rows)
