"""FA*IR for several protected groups: the counts that a prefix may have, exactly corrected.

A prefix of j positions passes if the joint distribution function of its protected counts is above
the level. For one group that is the table of minimum counts. For several groups a count of one may
compensate for another, so a table states how many items of the first group are needed given the
counts of the others: ``need[j - 1, c_2, ..., c_G]``, where ``k + 1`` means that no number suffices.
"""

from typing import Any, NamedTuple

import numpy as np

from .fa_star_ir_minimums import SAME

__all__ = ["Region", "group_fail_probability", "group_region", "group_search", "reachable"]


class Region(NamedTuple):
    """The counts that pass, and the levels ``low <= alpha < high`` that produce them."""

    need: np.ndarray
    low: float
    high: float
    fail: float


def _step(current: np.ndarray, shares: np.ndarray, pool: int) -> np.ndarray:
    """Return the distribution of the counts of the next prefix.

    With a ``pool`` > 0 items are drawn without replacement from that many, and ``shares`` are the
    sizes of the protected groups among them.
    """
    j = len(current)
    after = np.zeros((j + 1,) * current.ndim)
    inner = (slice(0, j),) * current.ndim
    taken: Any = 0
    for group, share in enumerate(shares.tolist()):
        moved = list(inner)
        moved[group] = slice(1, j + 1)
        count = np.arange(j).reshape([-1 if axis == group else 1 for axis in range(current.ndim)])
        probability = np.maximum(share - count, 0.0) / (pool - j + 1) if pool else share
        taken = taken + count
        after[tuple(moved)] += probability * current
    rest: Any = max(0.0, (pool or 1.0) - float(shares.sum()))
    if pool:
        rest = np.maximum(rest - np.maximum(j - 1 - taken, 0), 0.0) / (pool - j + 1)
    after[inner] += rest * current
    return after


def _cumulated(values: np.ndarray) -> np.ndarray:
    for axis in range(values.ndim):
        values = np.cumsum(values, axis=axis)
    return values


def group_region(k: int, shares: np.ndarray, alpha: float, pool: int = 0) -> Region:
    """Return the counts whose distribution function is above alpha, prefix by prefix.

    Parameters
    ----------
    k : int
        Longest prefix.
    shares : ndarray
        Probability of each protected group at every position; the rest is everyone else.
    alpha : float
        Level of one prefix.
    pool : int
        0, or the number of items that are drawn without replacement; then ``shares`` are the sizes
        of the protected groups among them.

    Examples
    --------
    >>> group_region(4, np.array([0.5]), 0.1).need  # one group: the usual table
    array([0, 0, 0, 1], dtype=int32)
    """
    shares = np.asarray(shares, dtype=np.float64)
    need = np.empty((k, *(k + 1,) * (len(shares) - 1)), dtype=np.int32)
    low, high, missed = 0.0, 1.0, 0.0
    alive = probabilities = np.ones((1,) * len(shares))
    for j in range(1, k + 1):
        probabilities = _step(probabilities, shares, pool)
        values = _cumulated(probabilities)
        passes = values > alpha * (1.0 + SAME)
        low = max(low, float(values[~passes].max(initial=0.0)))
        high = min(high, float(values[passes].min(initial=1.0)))
        short = np.asarray(j + 1 - passes.sum(axis=0))
        short = np.where(short > j, k + 1, short)
        # Counts above j are impossible and repeat the entry of j.
        edge = np.minimum(np.arange(k + 1), j)
        need[j - 1] = short[np.ix_(*(edge,) * short.ndim)] if short.ndim else short
        alive = _step(alive, shares, pool)
        missed += float(alive[~passes].sum())
        alive[~passes] = 0.0
    return Region(need, low, high, missed)


def group_fail_probability(need: np.ndarray, shares: np.ndarray, pool: int = 0) -> float:
    """Return the exact probability that some prefix of a fair list is outside the region.

    Examples
    --------
    >>> group_fail_probability(np.array([0, 1]), np.array([0.5]))
    0.25
    """
    shares = np.asarray(shares, dtype=np.float64)
    missed = 0.0
    alive = np.ones((1,) * len(shares))
    for j in range(1, len(need) + 1):
        alive = _step(alive, shares, pool)
        inside = need[j - 1][(slice(0, j + 1),) * (need.ndim - 1)]
        first = np.arange(j + 1).reshape(-1, *(1,) * (need.ndim - 1))
        short = first < inside
        missed += float(alive[short].sum())
        alive[short] = 0.0
    return missed


def group_search(k: int, shares: np.ndarray, alpha: float, pool: int = 0) -> Region:
    """Return the smallest region whose exact fail probability is at most alpha.

    Regions shrink and fail probabilities increase with the level, and change only at values of the
    distribution function, so bisection finds the last valid one.

    Examples
    --------
    >>> found = group_search(20, np.array([0.25]), 0.1)
    >>> found.need
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2], dtype=int32)
    >>> round(found.fail, 6)
    0.089722
    """
    limit = alpha * (1.0 + SAME)
    best = group_region(k, shares, alpha, pool)
    if best.fail <= limit:
        return best
    bad = best.low
    best = group_region(k, shares, 0.0, pool)
    level = min(bad, alpha / k)
    while True:
        tried = group_region(k, shares, level, pool)
        if tried.fail <= limit:
            best = tried
        else:
            bad = min(bad, tried.low)
            if level <= best.high:
                return best
        if best.high >= bad * (1.0 - SAME):
            return best
        level = max(best.high, np.sqrt(best.high * bad))


def reachable(need: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the counts from which all later prefixes can still pass.

    Parameters
    ----------
    need : ndarray
        The region.
    most : ndarray
        Number of items of each protected group.

    Examples
    --------
    >>> reachable(np.array([0, 0, 2]), np.array([5]))  # two are needed by prefix 3
    array([0, 1, 2], dtype=int32)
    """
    k, never = len(need), len(need) + 1
    result = np.minimum(need, never).astype(np.int32)
    sizes = np.minimum(most, k)
    for axis, size in enumerate(sizes[1:].tolist(), start=1):
        gone = [slice(None)] * need.ndim
        gone[axis] = slice(size + 1, None)
        result[tuple(gone)] = never
    result[result > sizes[0]] = never
    for j in range(k - 2, -1, -1):
        after = result[j + 1]
        best = np.where(after == never, never, np.maximum(after - 1, 0))
        for axis in range(after.ndim):
            up = np.full_like(after, never)
            target, source = [slice(None)] * after.ndim, [slice(None)] * after.ndim
            target[axis], source[axis] = slice(0, -1), slice(1, None)
            up[tuple(target)] = after[tuple(source)]
            best = np.minimum(best, up)
        result[j] = np.maximum(result[j], best)
    return result
