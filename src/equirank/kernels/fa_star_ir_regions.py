"""FA*IR for several protected groups: the counts that a prefix may have, exactly corrected.

A prefix of j positions passes if the joint distribution function of its protected counts is above
the level. For one group that is the table of minimum counts. For several groups a count of one may
compensate for another, so a table states how many items of the first group are needed given the
counts of the others: ``need[j - 1, c_2, ..., c_G]``, where ``k + 1`` means that no number suffices.
"""

from typing import Any, NamedTuple

import numpy as np

from .compiled import compiled
from .fa_star_ir_minimums import SAME

__all__ = ["Region", "group_fail_probability", "group_region", "group_search", "reachable"]


#: A search first reads levels from alpha / k divided by this number on, which rarely lacks.
DEPTH = 20.0


class Region(NamedTuple):
    """The counts that pass, and the levels ``low <= alpha < high`` that produce them."""

    need: np.ndarray
    low: float
    high: float
    fail: float


class _Law(NamedTuple):
    """The draws of a fair list, and the columns of counts: those of all groups but the first.

    ``counts`` (columns x groups - 1) are the counts of a column, ``total`` and ``most`` their sum
    and maximum, ``strides`` the distance of the column with one item less of a group. With a
    ``pool`` > 0 items are drawn without replacement from that many, and ``shares`` are the sizes of
    the protected groups among them.
    """

    k: int
    shares: np.ndarray
    pool: int
    counts: np.ndarray
    total: np.ndarray
    most: np.ndarray
    strides: np.ndarray


def _law(k: int, shares: np.ndarray, pool: int) -> _Law:
    shares = np.asarray(shares, dtype=np.float64)
    others = len(shares) - 1
    strides = (k + 1) ** np.arange(others - 1, -1, -1, dtype=np.int64)
    columns = np.arange((k + 1) ** others, dtype=np.int64)
    counts = columns[:, None] // strides % (k + 1)
    most = counts.max(axis=1, initial=0)
    return _Law(k, shares, int(pool), counts, counts.sum(axis=1), most, strides)


@compiled
def _advance(mass: np.ndarray, j: int, law: Any) -> None:
    """Replace the distribution of the counts of prefix j - 1 by that of prefix j.

    Both are (columns x counts of the first group). Columns are visited from the last on, so that
    an entry is replaced after all that depend on it.
    """
    _, shares, pool, counts, totals, _, strides = law
    n_others = len(strides)
    left = float(pool - j + 1) if pool else 1.0
    everyone_else = max(0.0, (float(pool) if pool else 1.0) - shares.sum())
    gain, rest = np.empty(n_others), everyone_else
    for column in range(len(mass) - 1, -1, -1):
        total = totals[column]
        if total > j:
            continue
        for g in range(n_others):
            gain[g] = shares[g + 1]
            if pool:
                gain[g] = max(shares[g + 1] - (counts[column, g] - 1), 0.0) / left
        for first in range(j - total, -1, -1):
            value = 0.0
            if first > 0:
                own = max(shares[0] - (first - 1), 0.0) / left if pool else shares[0]
                value += own * mass[column, first - 1]
            for g in range(n_others):
                if counts[column, g] > 0:
                    value += gain[g] * mass[column - strides[g], first]
            if pool:
                rest = max(everyone_else - max(j - 1 - total - first, 0), 0.0) / left
            mass[column, first] = value + rest * mass[column, first]


@compiled
def _cumulate(mass: np.ndarray, cdf: np.ndarray, j: int, law: Any) -> None:
    """Write the distribution function of the counts of prefix j, for counts up to j."""
    _, _, _, counts, _, most, strides = law
    for column in range(len(mass)):
        if most[column] > j:
            continue
        value = 0.0
        for first in range(j + 1):
            value += mass[column, first]
            cdf[column, first] = value
    for g in range(len(strides)):
        for column in range(len(mass)):
            if most[column] <= j and counts[column, g] > 0:
                for first in range(j + 1):
                    cdf[column, first] += cdf[column - strides[g], first]


@compiled
def _survey(
    floor: float, cap: float, law: Any, begins: np.ndarray, sizes: np.ndarray, kept: np.ndarray
) -> tuple[int, float, float]:
    """Read the values of the distribution functions in (floor, cap], prefix by prefix.

    ``begins`` and ``sizes`` (k x columns) receive the first such count of the first group in each
    column, and their number; ``kept`` the values, as far as it is long enough. Returns how many
    there are, the largest value up to floor and the smallest above cap.
    """
    k, most = law[0], law[5]
    mass, cdf = np.zeros((len(most), k + 1)), np.empty((len(most), k + 1))
    mass[0, 0] = 1.0
    n, below, above = 0, 0.0, 1.0
    for j in range(1, k + 1):
        _advance(mass, j, law)
        _cumulate(mass, cdf, j, law)
        for column in range(len(most)):
            if most[column] > j:
                continue
            first = 0
            while first <= j and cdf[column, first] <= floor:
                first += 1
            begins[j - 1, column] = first
            if first > 0:
                below = max(below, cdf[column, first - 1])
            while first <= j and cdf[column, first] <= cap:
                if n < len(kept):
                    kept[n] = cdf[column, first]
                n += 1
                first += 1
            sizes[j - 1, column] = first - begins[j - 1, column]
            if first <= j:
                above = min(above, cdf[column, first])
    return n, below, above


@compiled
def _needed(
    level: float, law: Any, begins: np.ndarray, sizes: np.ndarray, kept: np.ndarray,
    need: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """Write the smallest passing counts at a level; return the kept values around the level."""
    k, most = law[0], law[5]
    at, low, high = 0, 0.0, 1.0
    for j in range(1, k + 1):
        for column in range(len(most)):
            if most[column] > j:
                continue
            end = at + sizes[j - 1, column]
            passing = at + np.searchsorted(kept[at:end], level, side="right")
            if passing > at:
                low = max(low, kept[passing - 1])
            if passing < end:
                high = min(high, kept[passing])
            need[j - 1, column] = begins[j - 1, column] + passing - at
            at = end
    return low, high


@compiled
def _missed(need: np.ndarray, law: Any, limit: float) -> float:
    """Return the probability that a prefix lacks a needed count; stop above the limit."""
    k, totals = law[0], law[4]
    alive = np.zeros((len(totals), k + 1))
    alive[0, 0] = 1.0
    missed = 0.0
    for j in range(1, k + 1):
        _advance(alive, j, law)
        for column in range(len(totals)):
            short = min(need[j - 1, column], j + 1 - totals[column])
            for first in range(short):
                missed += alive[column, first]
                alive[column, first] = 0.0
        if missed > limit:
            return missed
    return missed


class _Levels:
    """The regions of all levels from ``floor`` to ``cap``."""

    def __init__(self, law: _Law, floor: float, cap: float) -> None:
        self.law, self.floor = law, floor
        shape = law.k, len(law.counts)
        self._begins, self._sizes = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        self._kept = np.empty(0)
        limits = floor * (1.0 + SAME), cap * (1.0 + SAME)
        while True:
            found = _survey(*limits, law, self._begins, self._sizes, self._kept)
            n, self._below, self._above = found
            if n <= len(self._kept):
                break
            self._kept = np.empty(n)

    def region(self, level: float, limit: float = 2.0) -> Region:
        """Return the region of a level; its need is (k x columns), without impossible counts.

        A fail probability above the limit may be only a part of it.
        """
        need = np.zeros(self._begins.shape, dtype=np.int32)
        arrays = self._begins, self._sizes, self._kept
        low, high = _needed(level * (1.0 + SAME), self.law, *arrays, need)
        fail = _missed(need, self.law, limit)
        return Region(need, max(low, self._below), min(high, self._above), fail)

    def whole(self, region: Region) -> Region:
        """Return a region in the shape of its documentation."""
        k, counts, strides = self.law.k, self.law.counts, self.law.strides
        # Counts above j are impossible and repeat the entry of j.
        prefix = np.arange(1, k + 1)
        need = np.empty_like(region.need)
        for j in prefix.tolist():
            need[j - 1] = region.need[j - 1][np.minimum(counts, j) @ strides]
        need = np.where(need > prefix[:, None], np.int32(k + 1), need)
        return region._replace(need=need.reshape(k, *(k + 1,) * len(strides)))


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
    levels = _Levels(_law(k, shares, pool), alpha, alpha)
    return levels.whole(levels.region(alpha))


def group_fail_probability(need: np.ndarray, shares: np.ndarray, pool: int = 0) -> float:
    """Return the exact probability that some prefix of a fair list is outside the region.

    Examples
    --------
    >>> group_fail_probability(np.array([0, 1]), np.array([0.5]))
    0.25
    """
    k = len(need)
    flat = np.ascontiguousarray(need, dtype=np.int32).reshape(k, -1)
    return float(_missed(flat, _law(k, shares, pool), 2.0))


def group_search(k: int, shares: np.ndarray, alpha: float, pool: int = 0) -> Region:
    """Return the smallest region whose exact fail probability is at most alpha.

    Regions shrink and fail probabilities increase with the level, and change only at values of the
    distribution function, so bisection finds the last valid one. Those values do not depend on the
    level: they are read once, from a floor on, which is lowered until its region is valid.

    Examples
    --------
    >>> found = group_search(20, np.array([0.25]), 0.1)
    >>> found.need
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2], dtype=int32)
    >>> round(found.fail, 6)
    0.089722
    """
    law, limit = _law(k, shares, pool), alpha * (1.0 + SAME)
    cap, floor = alpha, alpha / (k * DEPTH)
    levels = _Levels(law, floor, cap)
    best = levels.region(cap, limit)
    if best.fail <= limit:
        return levels.whole(best)
    bad = best.low
    while (best := levels.region(floor, limit)).fail > limit:
        bad, cap = best.low, floor
        floor = floor / 1e6 if floor > 1e-30 else 0.0
        levels = _Levels(law, floor, cap)
    while best.high < bad * (1.0 - SAME):
        level = max(best.high, np.sqrt(best.high * bad))
        tried = levels.region(level, limit)
        if tried.fail <= limit:
            best = tried
        else:
            bad = min(bad, tried.low)
            if level <= best.high:
                break
    return levels.whole(best)


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
