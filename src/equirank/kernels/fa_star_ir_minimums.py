"""FA*IR: minimum protected counts, their exact fail probability, and the corrected level."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .compiled import compiled

__all__ = [
    "Minimum",
    "adjusted_table",
    "fail_probability",
    "lowest_cdf",
    "p_value",
    "pool_adjusted_table",
    "pool_fail_probability",
    "pool_p_value",
    "pool_table",
    "search_level",
    "table",
]


#: Relative difference below which values of the distribution function count as equal.
SAME = 1e-10


class Minimum(NamedTuple):
    """A table of minimum counts, and the levels ``low <= alpha < high`` that produce it."""

    counts: np.ndarray
    low: float
    high: float


@compiled
def _walk(k: int, p: float, alpha: float, counts: np.ndarray) -> tuple[float, float]:
    """Write the smallest m with F(m; j, p) > alpha for j = 1..k, and return the levels around it.

    Updates F and its last term at the boundary (m, j). An increment of j lowers F by p times the
    term, an increment of m adds the next term, so both stay near alpha and no digits cancel.
    """
    m, cdf, term = 0, 1.0, 1.0
    low, high = 0.0, 1.0
    for j in range(1, k + 1):
        cdf -= p * term
        term *= (1.0 - p) * j / (j - m)
        below = cdf - term if m > 0 else 0.0
        while cdf <= alpha * (1.0 + SAME) and m < j:
            below = cdf
            term *= p / (1.0 - p) * (j - m) / (m + 1.0)
            cdf += term
            m += 1
        counts[j - 1] = m
        low = max(low, below)
        high = min(high, cdf)
    return low, high


def table(k: int, p: float, alpha: float) -> Minimum:
    """Return the smallest m with ``F(m; j, p) > alpha`` for each prefix j = 1..k, F binomial.

    Examples
    --------
    >>> table(10, 0.5, 0.1).counts
    array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3], dtype=int32)
    """
    counts = np.zeros(k, dtype=np.int32)
    low, high = _walk(k, p, alpha, counts)
    return Minimum(counts, low, high)


@compiled
def _drop(
    after: np.ndarray, minimum: int, first: int, last: int, floor: float, missed: float
) -> tuple[int, int, float]:
    """Drop counts below the minimum, whose probability is missed, and improbable high counts."""
    while first < minimum and first <= last:
        missed += after[first]
        after[first] = 0.0
        first += 1
    while last > first and after[last] < floor:
        after[last] = 0.0
        last -= 1
    return first, last, missed


@compiled
def _miss(counts: np.ndarray, p: float, n: int, size: int, floor: float) -> float:
    """Return the probability that a drawn list is below the counts in some prefix.

    The draws are independent, with probability p, if n is 0; else without replacement, from a pool
    of n with ``size`` protected items. Updates the distribution of the count among lists that have
    not failed, prefix by prefix. Counts that no later minimum exceeds are dropped, and so are high
    counts of probability below ``floor``.
    """
    most = 0
    for j in range(len(counts)):
        most = max(most, counts[j])
    if most == 0:
        return 0.0
    current, after = np.zeros(most + 2), np.zeros(most + 2)
    current[0] = 1.0
    first, last, missed = 0, 0, 0.0
    for j in range(len(counts)):
        left = n - j
        top = min(last + 1, most - 1)
        if n == 0:
            after[first] = current[first] * (1.0 - p)
            for c in range(first + 1, top + 1):
                after[c] = current[c] * (1.0 - p) + current[c - 1] * p
        else:
            for c in range(first, top + 1):
                stay = current[c] * max(left - (size - c), 0) if c <= last else 0.0
                rise = current[c - 1] * max(size - c + 1, 0) if c > first else 0.0
                after[c] = (stay + rise) / left
        after[top + 1] = 0.0
        first, last, missed = _drop(after, counts[j], first, top, floor, missed)
        if first > last:
            break
        current, after = after, current
    return missed


def fail_probability(counts: np.ndarray, p: float, scale: float = 1e-260) -> float:
    """Return the exact probability that a fair list misses one of these minimum counts.

    A fair list draws a protected item with probability p at every position.

    Parameters
    ----------
    counts : ndarray of int
        The minimum count of each prefix 1, 2, ....
    p : float
        The probability.
    scale : float
        The result is exact up to rounding unless it is far below this.

    Examples
    --------
    >>> fail_probability(np.array([0, 1]), 0.5)  # only the list without protected items
    0.25
    """
    return float(_miss(np.asarray(counts, dtype=np.int64), p, 0, 0, max(1e-290, 1e-30 * scale)))


@lru_cache(maxsize=1024)
def adjusted_table(k: int, p: float, alpha: float) -> Minimum:
    """Return the largest table whose exact fail probability is at most alpha.

    Tables and fail probabilities increase with the level and change only at values of F, so
    bisection finds the last valid table. It starts at alpha / k, where the sum over prefixes is at
    most alpha, and skips levels of tables that were tried.

    Examples
    --------
    >>> found = adjusted_table(20, 0.25, 0.1)
    >>> found.counts
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2], dtype=int32)
    >>> round(fail_probability(found.counts, 0.25), 6)
    0.089722
    """
    return search_level(
        k,
        alpha,
        lambda level: table(k, p, level),
        lambda counts: fail_probability(counts, p, alpha),
    )


def search_level(
    k: int,
    alpha: float,
    make: Callable[[float], Minimum],
    fail: Callable[[np.ndarray], float],
) -> Minimum:
    """Return the largest table of ``make(level)`` whose fail probability is at most alpha."""
    limit = alpha * (1.0 + SAME)
    best = make(alpha)
    if fail(best.counts) > limit:
        bad = best.low
        best = make(alpha / k * (1.0 - 4.0 * SAME))
        level = best.high
        while level < bad * (1.0 - SAME):
            tried = make(level)
            if fail(tried.counts) <= limit:
                best, level = tried, max(tried.high, np.sqrt(tried.high * bad))
            elif level <= best.high:
                break
            else:
                bad, level = tried.low, best.high
                level = max(level, np.sqrt(level * bad)) if bad > level else level
    best.counts.flags.writeable = False
    return best


@compiled
def _walk_pool(k: int, n: int, size: int, alpha: float, counts: np.ndarray) -> tuple[float, float]:
    """Write the counts of `_walk` for draws without replacement from n with ``size`` protected.

    m increases by at most one per prefix, since the count does. Both terms at the boundary are
    updated, because the one at m becomes 0 when no other items are left.
    """
    m, cdf, term = 0, 1.0, 1.0
    low, high = 0.0, 1.0
    for j in range(k):  # from prefix j to prefix j + 1
        left, others = n - j, n - size - (j - m)
        above = term * (size - m) * (j - m) / ((m + 1.0) * (others + 1.0))
        next_term = (term * (size - m) + above * (others + 1.0)) / left
        cdf -= term * (size - m) / left
        term *= others * (j + 1.0) / ((j + 1.0 - m) * left)
        below = cdf - term if m > 0 else 0.0
        if cdf <= alpha * (1.0 + SAME) and m < min(j + 1, size):
            below = max(cdf, 0.0)
            term = next_term
            cdf += term
            m += 1
        counts[j] = m
        low = max(low, below)
        high = min(high, cdf)
    return low, high


def pool_table(k: int, n: int, size: int, alpha: float) -> Minimum:
    """Return the smallest m with ``H(m; j) > alpha`` for each prefix j = 1..k, H hypergeometric.

    Examples
    --------
    >>> pool_table(4, 4, 2, 0.1).counts  # two of four: the last positions are determined
    array([0, 0, 1, 2], dtype=int32)
    """
    counts = np.zeros(k, dtype=np.int32)
    low, high = _walk_pool(k, n, size, alpha, counts)
    return Minimum(counts, low, high)


def pool_fail_probability(counts: np.ndarray, n: int, size: int, scale: float = 1e-260) -> float:
    """Return the exact probability that a list drawn from a pool misses a minimum count.

    All orders of the pool of n with ``size`` protected items are equally likely.

    Examples
    --------
    >>> round(pool_fail_probability(np.array([0, 1]), 4, 2), 6)  # 2/4 * 1/3: none in the top two
    0.166667
    """
    floor = max(1e-290, 1e-30 * scale)
    return float(_miss(np.asarray(counts, dtype=np.int64), 0.0, n, size, floor))


@lru_cache(maxsize=1024)
def pool_adjusted_table(k: int, n: int, size: int, alpha: float) -> Minimum:
    """Return the largest table whose exact fail probability in a pool is at most alpha.

    Examples
    --------
    >>> pool_adjusted_table(20, 40, 10, 0.1).counts
    array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3], dtype=int32)
    """
    return search_level(
        k,
        alpha,
        lambda level: pool_table(k, n, size, level),
        lambda counts: pool_fail_probability(counts, n, size, alpha),
    )


def lowest_cdf(counts: np.ndarray, p: float) -> float:
    """Return the smallest F(count_j; j, p) over the prefixes j = 1, 2, ... of a list.

    Examples
    --------
    >>> lowest_cdf(np.array([0, 0, 1]), 0.5)
    0.25
    """
    from scipy.special import betainc

    length = np.arange(1, len(counts) + 1)
    short = counts < length
    values = betainc(length[short] - counts[short], counts[short] + 1.0, 1.0 - p)
    return float(values.min()) if len(values) else 1.0


def p_value(counts: np.ndarray, p: float) -> float:
    """Return the probability that the smallest prefix F of a fair list is at most this one's.

    Examples
    --------
    >>> p_value(np.array([0, 0, 1]), 0.5)  # lists that begin with two unprotected items
    0.25
    """
    level = lowest_cdf(counts, p)
    if level >= 1.0 - SAME:
        return 1.0
    return fail_probability(table(len(counts), p, level).counts, p, level)


@compiled
def _lowest_pool(counts: np.ndarray, n: int, size: int) -> float:
    """Return the smallest H(count_j; j) over the prefixes of one list; see `_walk_pool`."""
    m, cdf, term, lowest = 0, 1.0, 1.0, 1.0
    for j in range(len(counts)):
        left, others = n - j, n - size - (j - m)
        above = term * (size - m) * (j - m) / ((m + 1.0) * (others + 1.0))
        next_term = (term * (size - m) + above * (others + 1.0)) / left
        cdf -= term * (size - m) / left
        term *= others * (j + 1.0) / ((j + 1.0 - m) * left)
        if counts[j] > m:
            term = next_term
            cdf += term
            m += 1
        lowest = min(lowest, cdf)
    return lowest


def pool_p_value(counts: np.ndarray, n: int, size: int) -> float:
    """Return the probability that the smallest H of a list from a pool is at most this one's.

    Examples
    --------
    >>> round(pool_p_value(np.array([0, 0, 1]), 4, 2), 6)  # lists that begin with two unprotected
    0.166667
    """
    level = _lowest_pool(np.asarray(counts, dtype=np.int64), n, size)
    if level >= 1.0 - SAME:
        return 1.0
    least = pool_table(len(counts), n, size, level).counts
    return pool_fail_probability(least, n, size, level)
