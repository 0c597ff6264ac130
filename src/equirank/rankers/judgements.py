"""Judgements in other forms: grades or an order as pairs, and pairs as grades."""

from typing import Any

import numpy as np

from ..core.data import as_ranking_data
from ..core.errors import DataError
from .preferences import checked_pairs

__all__ = ["grades_from_pairs", "pairs_from_grades", "pairs_from_order"]


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
    """Give each row a grade: how often it was preferred, by weight.

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
