"""Exact chances of two rows' order, when a small list is ordered with a preference function."""

from typing import Any, Literal

import numpy as np

from ..core.errors import DataError
from ..core.params import Choice, check_params

__all__ = ["MOST_ROWS", "consistent_preference", "order_probabilities"]

#: Rows up to which every way quicksort may go is followed.
MOST_ROWS = 12


def order_probabilities(
    preference: Any,
    order: Literal["quicksort", "degree"] = "quicksort",
    pivoting: Literal["probabilistic", "deterministic"] = "probabilistic",
) -> np.ndarray:
    """Work out exactly how likely each row is to stand before each other row.

    Every pivot and every split of quicksort is followed, with its probability. By degree it is 1,
    0, or one half where two rows have equal sums of wins.

    Parameters
    ----------
    preference : array-like of shape (n, n)
        ``preference[u, v]`` in [0, 1]: the chance that u is preferred to v; made consistent, see
        `equirank.rankers.order_by_preference`. At most 12 rows for quicksort.
    order : {"quicksort", "degree"}
        How the list is ordered.
    pivoting : {"probabilistic", "deterministic"}
        Whether a row goes before the pivot with probability h, or where h > 1/2.

    Returns
    -------
    ndarray of shape (n, n)
        ``P[u, v]``, the probability that u stands before v; 0 on the diagonal.

    Examples
    --------
    A circle of three: each pair stands as preferred in two of the three orders.

    >>> from equirank.theory import order_probabilities
    >>> order_probabilities([[0, 1, 0], [0, 0, 1], [1, 0, 0]]).round(3)
    array([[0.   , 0.667, 0.333],
           [0.333, 0.   , 0.667],
           [0.667, 0.333, 0.   ]])
    """
    declared = {
        "order": Choice("quicksort", "degree"),
        "pivoting": Choice("probabilistic", "deterministic"),
    }
    check_params("order_probabilities", {"order": order, "pivoting": pivoting}, declared)
    h = consistent_preference(preference)
    if order == "degree":
        wins = np.round(h.sum(axis=1), 12)
        odds = (np.sign(wins[:, None] - wins) + 1.0) / 2.0
        np.fill_diagonal(odds, 0.0)
        return odds
    if len(h) > MOST_ROWS:
        raise DataError(f"preference must be of {MOST_ROWS} rows at most, got {len(h)}")
    if pivoting == "deterministic":
        h = (np.sign(h - 0.5) + 1.0) / 2.0
    return _quicksort_odds(h)


def consistent_preference(preference: Any) -> np.ndarray:
    """Check a matrix of preferences and make it consistent: h(u, v) + h(v, u) = 1, 0 on itself.

    Examples
    --------
    >>> consistent_preference([[0, 1], [0.5, 0]])
    array([[0.  , 0.75],
           [0.25, 0.  ]])
    """
    h = np.array(preference, dtype=np.float64)
    if h.ndim != 2 or h.shape[0] != h.shape[1] or len(h) == 0:
        raise DataError(f"preference must be a square matrix, got shape {h.shape}")
    np.fill_diagonal(h, 0.5)
    bad = ~((h >= 0.0) & (h <= 1.0))
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise DataError(
            f"preference must hold numbers in [0, 1], got {h[row, column]} in row {row}, column "
            f"{column}"
        )
    h = (h + 1.0 - h.T) / 2.0
    np.fill_diagonal(h, 0.0)
    return h


def _quicksort_odds(h: np.ndarray) -> np.ndarray:
    """Go through all sets of rows, small before large, all pivots, and all splits by a pivot."""
    n = len(h)
    odds = np.zeros((1 << n, n, n))  # by the set of rows, a bit per row
    for whole in range(1, 1 << n):
        rows = [row for row in range(n) if whole >> row & 1]
        for pivot in rows:
            others = [row for row in rows if row != pivot]
            before, chance = np.zeros(1, dtype=np.int64), np.ones(1)
            for row in others:  # each goes before the pivot, or behind it
                before = np.concatenate([before | 1 << row, before])
                chance = np.concatenate([chance * h[row, pivot], chance * h[pivot, row]])
            behind = whole & ~(1 << pivot) & ~before
            one = np.tensordot(chance, odds[before] + odds[behind], 1)
            one += np.outer(h[:, pivot], h[pivot]) * _inside(n, others)
            one[others, pivot], one[pivot, others] = h[others, pivot], h[pivot, others]
            odds[whole] += one / len(rows)
    return odds[-1]


def _inside(n: int, rows: list[int]) -> np.ndarray:
    """Mark the pairs of two different rows of a set."""
    mask = np.zeros((n, n))
    mask[np.ix_(rows, rows)] = 1.0
    np.fill_diagonal(mask, 0.0)
    return mask
