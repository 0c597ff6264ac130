"""Completions of unknown labels that make a comparison of two sides smallest or largest.

Sides are 1 for the group, 0 for those it is compared with, 2 for neither, -1 for unknown.
"""

import numpy as np

from .segments import divide, segment_cumsum, segment_index, sort_within

__all__ = [
    "MEASURES",
    "can_be_undefined",
    "extreme_completion",
    "extreme_lists",
    "measure_sums",
    "side_sums",
]


#: What is computed from the sums and counts of two sides.
MEASURES = ("share", "mean", "difference", "ratio")


def side_sums(values: np.ndarray, side: np.ndarray, lists: np.ndarray, n_lists: int) -> np.ndarray:
    """Return per list the sum and number of the group's values, then those of the other side.

    Examples
    --------
    >>> import numpy as np
    >>> side_sums(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 0, 1, -1]), np.zeros(4, int), 1)
    array([[4., 2., 2., 1.]])
    """
    cell = 4 * lists + (side & 3)  # an unknown side is the last of the four
    total = np.bincount(cell, values, 4 * n_lists).reshape(-1, 4)
    number = np.bincount(cell, minlength=4 * n_lists).reshape(-1, 4)
    return np.stack([total[:, 1], number[:, 1], total[:, 0], number[:, 0]], axis=1)


def measure_sums(sums: np.ndarray, measure: str) -> np.ndarray:
    """Return the measure of sums and numbers of two sides, along the last axis.

    With sums s and t and numbers n and m, ``share`` is s / (s + t), ``mean`` s / n, ``difference``
    s / n - t / m, and ``ratio`` (s / n) / (t / m). ``excess`` is s less what n of all people would
    have, s - n (s + t) / (n + m). NaN without people of a side that it needs, and for 0 / 0. A
    ratio to 0 is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> sums = np.array([[4.0, 2.0, 2.0, 1.0], [1.0, 1.0, 0.0, 2.0], [1.0, 1.0, 0.0, 0.0]])
    >>> measure_sums(sums, "ratio")
    array([ 1., inf, nan])
    """
    s, n, t, m = np.moveaxis(sums, -1, 0)
    if measure == "share":
        return divide(s, s + t)
    if measure == "excess":
        return s - n * divide(s + t, n + m)
    mean = divide(s, n)
    if measure == "mean":
        return mean
    other = divide(t, m)
    if measure == "difference":
        return mean - other
    ratio = divide(mean, other)
    return np.where((other == 0) & (mean > 0), np.inf, ratio)


def can_be_undefined(sums: np.ndarray, totals: np.ndarray, measure: str, third: bool) -> np.ndarray:
    """Return for which lists some completion leaves the measure undefined.

    ``sums`` are those of the known people, ``totals`` the sums of all values of the lists.
    """
    s, n, t, m = sums.T
    if measure == "excess":
        return np.zeros(len(n), dtype=bool)
    if measure == "share":
        return np.asarray(totals == 0)
    if measure == "mean":
        return np.asarray(n == 0)
    empty = (n == 0) | (m == 0)
    if measure == "difference":
        return np.asarray(empty)
    return np.asarray(empty | ((s + t == 0) if third else (totals == 0)))


def extreme_completion(
    values: np.ndarray,
    side: np.ndarray,
    offsets: np.ndarray,
    measure: str,
    *,
    highest: bool,
    third: bool = False,
) -> np.ndarray:
    """Return the sides of all people with the smallest, or largest, measure of each list.

    Given how many unknown people are in the group, the measure is monotone in the sum of their
    values: they are those with the smallest values, or the largest. All numbers are tried, with
    sums of sorted values, in O(U log U) for U unknown people. With ``third``, unknown people may
    also be on neither side: the other side then takes those at the opposite end as long as its own
    mean moves the right way. Completions that leave the measure undefined are not considered.

    Parameters
    ----------
    values : ndarray of float
        One per row; at least 0 for ``share`` and ``ratio``.
    side : ndarray of int
        1, 0, 2 or -1 per row.
    offsets : ndarray of int
        Begin of each list, and the number of rows.
    measure : str
        One of `MEASURES`.
    highest : bool
        Whether to make the measure largest.
    third : bool
        Whether unknown people may be on neither side.

    Returns
    -------
    ndarray of int
        1, 0 or 2 per row.

    Examples
    --------
    >>> import numpy as np
    >>> positions, side = np.arange(1.0, 6.0), np.array([1, -1, 0, -1, 0])
    >>> extreme_completion(positions, side, np.array([0, 5]), "mean", highest=True)
    array([1, 0, 0, 1, 0])
    """
    completed = np.array(side)
    rows = np.flatnonzero(side < 0)
    if len(rows) == 0:
        return completed
    lists, n_lists = segment_index(offsets), len(offsets) - 1
    cuts = np.searchsorted(rows, offsets)
    number = np.diff(cuts)
    keys = values[rows] if highest else -values[rows]
    rows = rows[sort_within(keys, cuts)]  # in the order in which the group takes them
    of = lists[rows]
    first = cuts + np.arange(n_lists + 1)  # of each list's candidates: 0, 1, ..., number
    at = np.repeat(np.arange(n_lists), number + 1)
    taken = np.arange(first[-1]) - first[at]
    sums = side_sums(values, side, lists, n_lists)[at]
    before, after = np.zeros((2, first[-1]))
    before[np.arange(len(rows)) + of + 1] = segment_cumsum(values[rows], cuts)
    backwards = segment_cumsum(values[rows][::-1], len(rows) - cuts[::-1])
    after[np.arange(len(rows)) + of] = backwards[::-1]
    sums[:, 2] += after
    sums[:, 3] += number[at] - taken
    rest = taken  # the other side takes the people from this one on
    if third:
        means = measure_sums(sums[:, [2, 3, 0, 1]], "mean")
        best = _last_extreme(means, first, highest=not highest) - first[:-1]
        rest = np.maximum(taken, best[at])
        sums[:, 2:] = sums[rest + first[at], 2:]
    sums[:, 0] += before
    sums[:, 1] += taken
    chosen = _last_extreme(measure_sums(sums, measure), first, highest=highest)
    rank = np.arange(len(rows)) - cuts[of]
    inside, other = rank < taken[chosen][of], rank >= rest[chosen][of]
    completed[rows] = np.where(inside, 1, np.where(other, 0, 2))
    return completed


def _last_extreme(values: np.ndarray, offsets: np.ndarray, *, highest: bool) -> np.ndarray:
    """Return the index of the last smallest, or largest, value of each segment; NaN is neither."""
    clean = np.where(np.isnan(values), np.inf, -values if highest else values)
    # An infinite value is an extreme where nothing else is defined, and preferred to NaN.
    best = np.minimum.reduceat(clean, offsets[:-1])
    at = segment_index(offsets)
    score = 2 * (clean == best[at]) + (~np.isnan(values))
    top = np.maximum.reduceat(score, offsets[:-1])
    found = np.flatnonzero(score == top[at])
    last = np.empty(len(best), dtype=np.int64)
    last[at[found]] = found
    return last


def extreme_lists(values: np.ndarray, optional: np.ndarray, *, highest: bool) -> np.ndarray:
    """Return which lists count when the mean over lists is smallest, or largest.

    Lists that can become undefined are added while the mean moves the right way; NaN never counts.

    Examples
    --------
    >>> import numpy as np
    >>> values, optional = np.array([3.0, 1.0, 2.5, np.nan]), np.array([False, True, True, True])
    >>> extreme_lists(values, optional, highest=False)
    array([ True,  True, False, False])
    """
    counted = ~optional & ~np.isnan(values)
    free = np.flatnonzero(optional & ~np.isnan(values))
    free = free[np.argsort(-values[free] if highest else values[free], kind="stable")]
    start = values[counted].sum()
    total = start + np.concatenate([[0.0], np.cumsum(values[free])])
    means = divide(total, counted.sum() + np.arange(len(free) + 1.0))
    if np.isnan(means).all():
        return counted
    counted[free[: int(np.nanargmax(means) if highest else np.nanargmin(means))]] = True
    return counted
