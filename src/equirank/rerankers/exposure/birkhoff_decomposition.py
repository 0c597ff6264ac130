"""Birkhoff decomposition: a doubly stochastic matrix as a mixture of permutations."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from ...core.errors import DataError

__all__ = ["birkhoff_decomposition"]


def birkhoff_decomposition(P: Any) -> tuple[np.ndarray, np.ndarray]:
    """Write a doubly stochastic matrix as a weighted sum of permutations.

    ``P = sum_t w_t Pi_t``. Each step takes a perfect matching on the positive entries whose
    smallest entry is as large as possible, and subtracts it that many times; at least one entry
    vanishes, so there are at most ``(n - 1)^2 + 1`` permutations. Of equal matchings one is taken;
    a matrix of size 0 is refused.

    Parameters
    ----------
    P : array-like of shape (n, n)
        ``P[i, j]`` is the probability that item i stands at place j; rows and columns sum to 1
        within 1e-6.

    Returns
    -------
    weights : ndarray of shape (n_permutations,)
        Positive, with sum 1.
    permutations : ndarray of int of shape (n_permutations, n)
        ``permutations[t][i]`` is the 0-based position of item i.

    References
    ----------
    Birkhoff, Tres observaciones sobre el algebra lineal, 1946.

    Examples
    --------
    >>> from equirank.rerankers import birkhoff_decomposition
    >>> weights, permutations = birkhoff_decomposition([[0.25, 0.75], [0.75, 0.25]])
    >>> weights
    array([0.75, 0.25])
    >>> permutations
    array([[1, 0],
           [0, 1]])
    """
    left = _checked(P)
    n = len(left)
    weights, permutations = [], []
    while True:
        mass = float(left.sum()) / n
        if mass <= 1e-13:
            break
        place = _widest_matching(left)
        if place is None:
            break  # what is left is rounding
        weight = float(left[np.arange(n), place].min())
        left[np.arange(n), place] -= weight
        left[left < 1e-15] = 0.0
        weights.append(weight)
        permutations.append(place)
    share = np.array(weights)
    return share / share.sum(), np.array(permutations, dtype=np.int64)


def _checked(P: Any) -> np.ndarray:
    table = np.array(P, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.size == 0:
        raise DataError(f"P must be a square matrix, got shape {table.shape}")
    if not np.isfinite(table).all() or (table < -1e-9).any():
        row, column = np.argwhere(~np.isfinite(table) | (table < -1e-9))[0]
        value = table[row, column]
        raise DataError(f"P must hold numbers >= 0, got {value} in row {row}, column {column}")
    for axis, word in ((1, "row"), (0, "column")):
        sums = table.sum(axis=axis)
        if np.abs(sums - 1.0).max() > 1e-6:
            at = int(np.argmax(np.abs(sums - 1.0)))
            raise DataError(f"P must be doubly stochastic: {word} {at} sums to {sums[at]:.6g}")
    return np.maximum(table, 0.0)


def _widest_matching(left: np.ndarray) -> np.ndarray | None:
    """Find a perfect matching whose smallest entry is as large as can be, by bisection."""
    values = np.unique(left[left > 0.0])
    low, high, best = 0, len(values) - 1, None
    while low <= high:
        middle = (low + high) // 2
        allowed = csr_array((left >= values[middle]).astype(np.int8))
        place = maximum_bipartite_matching(allowed, perm_type="column")
        if (place >= 0).all():
            best, low = place, middle + 1
        else:
            high = middle - 1
    return best
