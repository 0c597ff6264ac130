"""Smallest and largest pairwise accuracy of a group over all completions of unknown labels."""

import numpy as np

from .pair_counts import count_group_pairs
from .segments import divide

__all__ = ["accuracy_ranges", "exact_range", "gap_ranges"]

#: Codes of sides as groups of pairs: everyone else, the group, unknown, neither.
N_SIDES = 4
#: Most unknown people, and most operations, of a list whose completions are enumerated.
MOST_UNKNOWN, MOST_STEPS = 12, 5e7


def accuracy_ranges(
    side: np.ndarray, y: np.ndarray, end: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return outer bounds of the two accuracies of each list, and whether they are always defined.

    The first accuracy is the share of pairs with the better item in the group and the worse one in
    everyone else that are in the right order, ties half; the second that of pairs the other way
    round. Every pair with an unknown person counts or not by itself: for the lower bound the wrong
    ones count, and tied ones if that lowers it. So the bounds hold, but some may not be attained.

    Parameters
    ----------
    side : ndarray of int
        1 for the group, 0 for everyone else, -1 for unknown, 2 for neither, in order of rank.
    y : ndarray
        Relevance.
    end : ndarray of int
        End of the tied block of each row.
    offsets : ndarray of int
        Begin of each list, and the number of rows.

    Returns
    -------
    ranges : ndarray of shape (lists, 2, 2)
        Low and high of both accuracies; NaN where no labels make a pair.
    certain : ndarray of bool, of shape (lists, 2)
        Whether known labels alone make a pair.

    Examples
    --------
    >>> side, y = np.array([1, -1, 0, 1]), np.array([0, 2, 1, 2])
    >>> accuracy_ranges(side, y, np.arange(1, 5), np.array([0, 4]))[0].tolist()
    [[[0.0, 0.5], [0.0, 0.0]]]
    """
    codes = np.where(side < 0, 2, np.where(side > 1, 3, side)).astype(np.int64)
    above, tied, total = count_group_pairs(codes, N_SIDES, y, end, offsets)
    ranges, certain = [], []
    for group, other in ((1, 0), (0, 1)):
        cells = [(group, 2), (2, other), (2, 2)]
        sure = [part[:, group, other].astype(np.float64) for part in (above, tied, total)]
        free = [
            np.stack([part[:, a, b] for a, b in cells]).sum(axis=0) for part in (above, tied, total)
        ]
        right = [whole - wrong - half for wrong, half, whole in (sure, free)]
        base, nothing, ends = right[0] + sure[1] / 2.0, np.zeros(len(sure[0])), []
        for number, gained, least in ((free[0], nothing, np.fmin), (right[1], right[1], np.fmax)):
            alone = divide(base + gained, sure[2] + number)
            half = divide(base + gained + free[1] / 2.0, sure[2] + number + free[1])
            best = least(alone, half)
            # If all pairs that could count are right, the smallest is 1; if all are wrong, 0.
            ends.append(np.where(np.isnan(best), divide(right[1], free[2]), best))
        ranges.append(np.stack(ends, axis=1))
        certain.append(sure[2] > 0)
    return np.stack(ranges, axis=1), np.stack(certain, axis=1)


def gap_ranges(ranges: np.ndarray) -> np.ndarray:
    """Return outer bounds of the absolute difference of two accuracies, of shape (lists, 2).

    Examples
    --------
    >>> gap_ranges(np.array([[[0.5, 1.0], [0.0, 0.25]], [[0.5, 1.0], [0.0, 0.75]]])).tolist()
    [[0.25, 1.0], [0.0, 1.0]]
    """
    low, high = ranges[:, 0, 0] - ranges[:, 1, 1], ranges[:, 0, 1] - ranges[:, 1, 0]
    least = np.maximum(np.maximum(low, -high), 0.0)
    return np.stack([least, np.maximum(high, -low)], axis=1)


def exact_range(
    side: np.ndarray, y: np.ndarray, end: np.ndarray, *, gap: bool
) -> tuple[float, float, bool, bool] | None:
    """Return the range of a list over all of its completions, each tried; None if there are many.

    The range is that of the first accuracy of `accuracy_ranges`, or of the gap between the two:
    low, high, True for sharp, and whether some labels leave it undefined.

    Examples
    --------
    >>> side, y = np.array([1, -1, 0, 1]), np.array([0, 2, 1, 2])
    >>> exact_range(side, y, np.arange(1, 5), gap=False)
    (0.0, 0.5, True, False)
    """
    free = np.flatnonzero(side < 0)
    if len(free) > MOST_UNKNOWN or 2.0 ** len(free) * len(side) ** 2 > MOST_STEPS:
        return None
    inside = np.repeat((side == 1)[None].astype(np.float64), 2 ** len(free), axis=0)
    inside[:, free] = (np.arange(2 ** len(free))[:, None] >> np.arange(len(free))) & 1
    better = (y[:, None] > y[None]).astype(np.float64)
    right = better * ((end[:, None] < end[None]) + (end[:, None] == end[None]) / 2.0)
    found = []
    for first, second in ((inside, 1.0 - inside), (1.0 - inside, inside)):
        top, pairs = (((first @ part) * second).sum(axis=1) for part in (right, better))
        found.append(divide(top, pairs))
    values = np.abs(found[0] - found[1]) if gap else found[0]
    defined = values[~np.isnan(values)]
    if len(defined) == 0:
        return np.nan, np.nan, True, True
    return float(defined.min()), float(defined.max()), True, len(defined) < len(values)
