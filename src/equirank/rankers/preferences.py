"""Explicit preferences between rows: how all rankers read them."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.data import RankingData, as_ranking_data
from ..core.errors import DataError
from ..core.inputs import numbers
from ..core.params import check_params

__all__ = [
    "checked_pairs",
    "checked_preferences",
    "data_of_pairs",
    "grades_from_pairs",
    "pairs_from_grades",
    "pairs_from_order",
    "without_grades",
]


def checked_pairs(
    pairs: Any, preference: Any, weight: Any, n_rows: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs of row numbers, the preference of each (1 where none) and its weight.

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
        raise DataError("pairs must hold at least one pair, got 0")
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
    """Return the preferred rows, the other rows, and what each pair weighs.

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
        raise DataError("preference and weight must leave at least one pair that weighs something")
    return first[kept], second[kept], cost[kept].astype(np.float64)


def data_of_pairs(
    model: Any, X: Any, pairs: Any, preference: Any, weight: Any, unused: tuple[str, ...]
) -> tuple[RankingData, np.ndarray, np.ndarray, np.ndarray]:
    """Begin a fit to explicit pairs: the data, and preferred and other stored rows with weights.

    Parameters that say nothing about explicit pairs (``unused``) must be None.
    """
    check_params(type(model).__name__, model.get_params(deep=False), model.params)
    if any(getattr(model, name) is not None for name in unused):
        raise DataError(f"{' and '.join(unused)} must be None to fit explicit pairs")
    data = model._training_data(*without_grades(X), None, None, None, None)
    rows = np.arange(data.n_rows) if data.rows is None else np.argsort(data.rows)
    first, second, cost = checked_preferences(pairs, preference, weight, data.n_rows)
    model.groups_, model.data_fingerprint_ = {}, data.fingerprint()
    return data, rows[first], rows[second], cost


def without_grades(X: Any) -> tuple[Any, Any]:
    """Return X with a relevance of 0 for every row, which stands for none."""
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
    """List all pairs of a query with unequal relevance, the better row first.

    Equal grades make no pair. There are up to ``n (n - 1) / 2`` pairs of a query of n rows.

    Parameters
    ----------
    y : array-like
        Relevance, >= 0.
    qid : array-like, optional
        The query of each row.

    Returns
    -------
    ndarray of int of shape (n_pairs, 2)
        Row numbers, for ``fit_pairs``; ordered by the better row, then the other.

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
    place = np.arange(len(order))
    new = np.concatenate([[True], np.diff(query) != 0])
    level = new | np.concatenate([[True], np.diff(grade) != 0])
    begin = np.maximum.accumulate(np.where(new, place, 0))
    end = np.maximum.accumulate(np.where(level, place, 0))
    count = end - begin  # rows of the same list below each row
    first = np.repeat(place, count)
    second = np.arange(len(first)) - np.repeat(np.cumsum(count) - count - begin, count)
    rows = order if data.rows is None else data.rows[order]
    pairs = np.stack([rows[first], rows[second]], axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def pairs_from_order(order: Any, *, adjacent: bool = False) -> np.ndarray:
    """List the pairs of a total order, the better row first.

    Parameters
    ----------
    order : array-like of int
        Row numbers, best first, such as ``ranking.order(query)``; each once.
    adjacent : bool
        Only neighbours, n - 1 pairs; otherwise all ``n (n - 1) / 2``.

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
    """Return each row a grade: how often it was preferred, by weight.

    A pair without a preference counts for nobody. A row that never won, and one that was never
    compared, have 0. Contradictory pairs each count.

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
