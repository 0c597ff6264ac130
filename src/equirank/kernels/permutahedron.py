"""Exposures reachable by random rankings: the convex hull of the permutations of the attention v.

``attention`` falls from place to place. An exposure vector is reachable exactly when its sum is
that of the attention and no set of j items holds more than the first j places (majorisation).
"""

import numpy as np
from scipy.optimize import isotonic_regression

__all__ = ["excess", "nearest_reachable", "peel"]


def excess(target: np.ndarray, attention: np.ndarray) -> float:
    """Return by how much some set of items asks for more than as many first places hold."""
    ranked = np.sort(target)[::-1]
    return float(np.max(np.cumsum(ranked) - np.cumsum(attention[: len(ranked)])))


def nearest_reachable(target: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Project onto the reachable exposures in Euclidean distance: one sort, one isotonic fit."""
    order = np.argsort(-target, kind="stable")
    gap = target[order] - attention[: len(target)]
    result = np.empty(len(target))
    result[order] = target[order] - isotonic_regression(gap, increasing=False).x
    return result


def peel(target: np.ndarray, attention: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write a reachable exposure as a mixture of rankings, at most as many as items.

    From the ranking sorted by what is left of the target one walks through the target to the
    border of the reachable set; there a set of items fills its first places exactly, so that the
    list falls into two that are settled apart. Each walk cuts at least once: n - 1 walks at most.

    Returns
    -------
    weights : ndarray
    positions : ndarray of shape (n_rankings, n)
        0-based place of each item.
    """
    n = len(target)
    left, mass = target.astype(np.float64), 1.0
    cuts = np.zeros(n, dtype=bool)  # cuts[j]: a part ends behind place j
    cuts[-1] = True
    weights, positions = [], []
    part = np.zeros(n, dtype=np.int64)  # part of each item, counted from the first places
    while True:
        order = np.lexsort((-left, part))
        place = np.empty(n, dtype=np.int64)
        place[order] = np.arange(n)
        vertex = attention[place]
        reach, found = _reach(left, vertex, attention, part, cuts)
        positions.append(place)
        if not found.any():
            weights.append(mass)
            break
        share = 1.0 - 1.0 / reach  # left = share * vertex + (1 - share) * border point
        weights.append(mass * share)
        mass *= 1.0 - share
        left = vertex + (left - vertex) * reach
        cuts |= found
        ranked = np.lexsort((-left, part))
        part[ranked] = np.concatenate([[0], np.cumsum(cuts[:-1])])
    kept = np.array(weights) > 0.0
    return np.array(weights)[kept], np.array(positions)[kept]


def _reach(
    left: np.ndarray, vertex: np.ndarray, attention: np.ndarray, part: np.ndarray, cuts: np.ndarray
) -> tuple[float, np.ndarray]:
    """Find how far beyond ``left``, seen from the vertex, one stays reachable, and what binds.

    Newton's method on the worst set of items: start far out, take the set most over its places,
    go back to where it just fits, until none is over.
    """
    scale = float(attention[0]) * len(left)
    tolerance = 1e-13 * scale
    inner = ~cuts
    if not inner.any() or np.abs(left - vertex).max() <= tolerance:
        return 1.0, np.zeros(len(left), dtype=bool)
    prefix = np.cumsum(attention)
    step = left - vertex
    reach = np.inf
    tight = np.zeros(len(left), dtype=bool)
    while True:
        # at an infinite reach only the direction orders the items
        key = step if np.isinf(reach) else vertex + reach * step
        order = np.lexsort((-key, part))
        base, slope = np.cumsum(vertex[order]), np.cumsum(step[order])
        room = prefix - base
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(inner & (slope > tolerance), room / slope, np.inf)
        best = max(float(fits.min()), 1.0)
        if not best < reach * (1.0 - 1e-12):
            return reach, tight
        reach = best
        tight = inner & (fits <= best * (1.0 + 1e-12))
