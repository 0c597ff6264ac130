"""Explicit preferences between rows as a booster weighs them."""

from typing import Any

import numpy as np

from ...core.errors import DataError
from ..preferences import checked_pairs

__all__ = ["checked_preferences"]


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
