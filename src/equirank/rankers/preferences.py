"""Explicit preferences between rows: how all rankers read them."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.columns import numbers
from ..core.data import RankingData
from ..core.errors import DataError
from ..core.params import check_params

__all__ = ["checked_pairs", "checked_preferences", "data_of_pairs", "without_grades"]


def checked_pairs(
    pairs: Any, preference: Any, weight: Any, n_rows: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the pairs of row numbers, the preference of each (1 where none) and its weight.

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
    """Give the preferred rows, the other rows, and what each pair weighs.

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
    """Give X with a relevance of 0 for every row, which stands for none."""
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
