"""FA*IR: minimum protected counts, the exact chance to miss one, and the corrected level."""

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


#: Values of the distribution function that differ by less are the same number, rounded apart.
SAME = 1e-10


class Minimum(NamedTuple):
    """A table of minimum counts, and the levels ``low <= alpha < high`` that all give it."""

    counts: np.ndarray
    low: float
    high: float


@compiled
def _walk(k: int, p: float, alpha: float, counts: np.ndarray) -> tuple[float, float]:
    """Fill in the smallest m with F(m; j, p) > alpha for j = 1..k; give the levels around it.

    Keeps F and its last term at the border (m, j). A step right lowers F by p times the term, a
    step up adds the next term, so both stay of the size of alpha and no digits cancel.
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
def _miss(counts: np.ndarray, p: float, floor: float) -> float:
    """Return the chance that a list of independent draws is below the counts somewhere.

    Goes along the prefixes with the distribution of the count among lists that have not failed. A
    count that no later minimum exceeds cannot fail any more and is let go, and so are high counts
    of a chance below ``floor``.
    """
    most = 0
    for j in range(len(counts)):
        most = max(most, counts[j])
    here, after = np.zeros(most + 2), np.zeros(most + 2)
    if most == 0:
        return 0.0
    here[0] = 1.0
    first, last, missed = 0, 0, 0.0
    for j in range(len(counts)):
        top = min(last + 1, most - 1)
        after[first] = here[first] * (1.0 - p)
        for c in range(first + 1, top + 1):
            after[c] = here[c] * (1.0 - p) + here[c - 1] * p
        after[top + 1] = 0.0
        while first < counts[j] and first <= top:
            missed += after[first]
            after[first] = 0.0
            first += 1
        while top > first and after[top] < floor:
            after[top] = 0.0
            top -= 1
        last = top
        if first > last:
            break
        here, after = after, here
    return missed


def fail_probability(counts: np.ndarray, p: float, scale: float = 1e-260) -> float:
    """Return the exact chance that a fair list misses one of these minimum counts.

    A fair list draws a protected item with chance p at every place.

    Parameters
    ----------
    counts : ndarray of int
        The minimum count of each prefix 1, 2, ....
    p : float
        The chance.
    scale : float
        The answer is exact up to rounding where it is not far below this.

    Examples
    --------
    >>> fail_probability(np.array([0, 1]), 0.5)  # only the list without any
    0.25
    """
    return float(_miss(np.asarray(counts, dtype=np.int64), p, max(1e-290, 1e-30 * scale)))


@lru_cache(maxsize=1024)
def adjusted_table(k: int, p: float, alpha: float) -> Minimum:
    """Return the largest table whose exact fail probability is at most alpha.

    Tables and fail probabilities rise together with the level and change only where the level
    passes a value of F, so halving finds the last table that is good: it begins at alpha / k, where
    the sum over prefixes is at most alpha, and jumps over levels that give a table already tried.

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
    """Find the largest table that ``make`` gives for a level and that fails at most at alpha."""
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
    """Do what `_walk` does for draws without replacement from a pool of n with ``size`` protected.

    From one prefix to the next m rises by one at most, since the count does. Both terms at the
    border are kept, because the one at m vanishes when the others have run out.
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
    >>> pool_table(4, 4, 2, 0.1).counts  # two of four: the last places settle themselves
    array([0, 0, 1, 2], dtype=int32)
    """
    counts = np.zeros(k, dtype=np.int32)
    low, high = _walk_pool(k, n, size, alpha, counts)
    return Minimum(counts, low, high)


@compiled
def _miss_pool(counts: np.ndarray, n: int, size: int, floor: float) -> float:
    """Do what `_miss` does for draws without replacement."""
    most = 0
    for j in range(len(counts)):
        most = max(most, counts[j])
    if most == 0:
        return 0.0
    here, after = np.zeros(most + 2), np.zeros(most + 2)
    here[0] = 1.0
    first, last, missed = 0, 0, 0.0
    for j in range(len(counts)):
        left = n - j
        top = min(last + 1, most - 1)
        for c in range(first, top + 1):
            stay = here[c] * max(left - (size - c), 0) if c <= last else 0.0
            rise = here[c - 1] * max(size - c + 1, 0) if c > first else 0.0
            after[c] = (stay + rise) / left
        after[top + 1] = 0.0
        while first < counts[j] and first <= top:
            missed += after[first]
            after[first] = 0.0
            first += 1
        while top > first and after[top] < floor:
            after[top] = 0.0
            top -= 1
        last = top
        if first > last:
            break
        here, after = after, here
    return missed


def pool_fail_probability(counts: np.ndarray, n: int, size: int, scale: float = 1e-260) -> float:
    """Return the exact chance that a list drawn from a pool misses one of these minimum counts.

    Every order of the pool of n with ``size`` protected is as likely as every other.

    Examples
    --------
    >>> round(pool_fail_probability(np.array([0, 1]), 4, 2), 6)  # 2/4 * 1/3: no protected among two
    0.166667
    """
    floor = max(1e-290, 1e-30 * scale)
    return float(_miss_pool(np.asarray(counts, dtype=np.int64), n, size, floor))


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
    """Return the chance that a fair list's smallest prefix F is at most that of these counts.

    Examples
    --------
    >>> p_value(np.array([0, 0, 1]), 0.5)  # lists that begin with two others
    0.25
    """
    level = lowest_cdf(counts, p)
    if level >= 1.0 - SAME:
        return 1.0
    return fail_probability(table(len(counts), p, level).counts, p, level)


@compiled
def _lowest_pool(counts: np.ndarray, n: int, size: int) -> float:
    """Return the smallest H(count_j; j) along the counts of one list, as `_walk_pool` steps."""
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
    """Return the chance that the smallest H of a list drawn from a pool is at most this list's.

    Examples
    --------
    >>> round(pool_p_value(np.array([0, 0, 1]), 4, 2), 6)  # lists that begin with two others
    0.166667
    """
    level = _lowest_pool(np.asarray(counts, dtype=np.int64), n, size)
    if level >= 1.0 - SAME:
        return 1.0
    least = pool_table(len(counts), n, size, level).counts
    return pool_fail_probability(least, n, size, level)
