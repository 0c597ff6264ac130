"""Exposures reachable by random rankings: the convex hull of the permutations of the attention.

``attention`` decreases with the position. An exposure vector is reachable if and only if its sum is
that of the attention and no set of j items has more than the top j positions (majorisation).
"""

import numpy as np
from scipy.optimize import isotonic_regression

__all__ = ["excess", "nearest_reachable", "peel"]


def excess(target: np.ndarray, attention: np.ndarray) -> float:
    """Return the largest excess of a set of items over the attention of as many top positions."""
    ranked = np.sort(target)[::-1]
    return float(np.max(np.cumsum(ranked) - np.cumsum(attention[: len(ranked)])))


def nearest_reachable(target: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Return the Euclidean projection onto the reachable exposures: a sort and an isotonic fit."""
    order = np.argsort(-target, kind="stable")
    gap = target[order] - attention[: len(target)]
    result = np.empty(len(target))
    result[order] = target[order] - isotonic_regression(gap, increasing=False).x
    return result


def peel(target: np.ndarray, attention: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Decompose a reachable exposure into a mixture of at most n rankings of n items.

    Each step follows the line from the ranking sorted by the remaining target through the target to
    the boundary of the reachable set. There a set of items fills its top positions exactly, so the
    list splits into two independent parts. Each step splits at least once: at most n - 1 steps.

    Returns
    -------
    weights : ndarray
    positions : ndarray of shape (n_rankings, n)
        0-based position of each item.
    """
    n = len(target)
    left, mass = target.astype(np.float64), 1.0
    cuts = np.zeros(n, dtype=bool)  # cuts[j]: a part ends after position j
    cuts[-1] = True
    weights, positions = [], []
    part = np.zeros(n, dtype=np.int64)  # part of each item, counted from the top
    while True:
        order = np.lexsort((-left, part))
        position = np.empty(n, dtype=np.int64)
        position[order] = np.arange(n)
        vertex = attention[position]
        reach, found = _reach(left, vertex, attention, part, cuts)
        positions.append(position)
        if not found.any():
            weights.append(mass)
            break
        share = 1.0 - 1.0 / reach  # left = share * vertex + (1 - share) * boundary point
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
    """Return how far the line from the vertex through ``left`` stays reachable, and what binds.

    Newton's method on the worst set of items: start far out, take the set with the largest excess
    and go back to where it just fits, until no set has an excess.
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
        # at an infinite reach, only the direction determines the order
        key = step if np.isinf(reach) else vertex + reach * step
        order = np.lexsort((-key, part))
        base, slope = np.cumsum(vertex[order]), np.cumsum(step[order])
        slack = prefix - base
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(inner & (slope > tolerance), slack / slope, np.inf)
        best = max(float(fits.min()), 1.0)
        if not best < reach * (1.0 - 1e-12):
            return reach, tight
        reach = best
        tight = inner & (fits <= best * (1.0 + 1e-12))
