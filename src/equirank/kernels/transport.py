"""Scores moved towards the barycentre of the score distributions of the groups."""

import numpy as np

from .compiled import compiled

__all__ = ["largest_gaps", "transported"]

_LARGEST = np.finfo(np.float64).max


@compiled
def transported(
    codes: np.ndarray, values: np.ndarray, offsets: np.ndarray, theta: np.ndarray
) -> np.ndarray:
    """Return each value, moved by ``theta`` of its group towards the barycentre at its quantile.

    The quantile of the r-th of n values is ``(r - 1/2) / n``, that of tied values their mean. The
    quantile function of the barycentre is the mean of those of the groups, weighted by size; at a
    jump of one of them, the middle of the jump is used.

    Parameters
    ----------
    codes, values : ndarray
        Group and value of each item, highest first, list after list.
    offsets : ndarray of int64
        Begin of each list.
    theta : ndarray
        One number per group.
    """
    n_groups = len(theta)
    result = np.empty(len(values))
    for q in range(len(offsets) - 1):
        begin, end = offsets[q], offsets[q + 1]
        sizes = np.zeros(n_groups, dtype=np.int64)
        for i in range(begin, end):
            sizes[codes[i]] += 1
        first = np.zeros(n_groups, dtype=np.int64)
        for g in range(1, n_groups):
            first[g] = first[g - 1] + sizes[g - 1]
        at = first.copy()
        items = np.empty(end - begin, dtype=np.int64)
        sorted_values = np.empty(end - begin)
        for i in range(begin, end):
            items[at[codes[i]]] = i
            sorted_values[at[codes[i]]] = values[i]
            at[codes[i]] += 1
        for g in range(n_groups):
            low = 0
            while low < sizes[g]:
                value = sorted_values[first[g] + low]
                high = low + 1
                while high < sizes[g] and sorted_values[first[g] + high] == value:
                    high += 1
                target = 0.0
                for h in range(n_groups):
                    if sizes[h] > 0:
                        inside = _at_quantile(
                            sorted_values[first[h] : first[h] + sizes[h]],
                            (low + high) * sizes[h],
                            2 * sizes[g],
                        )
                        target += sizes[h] / (end - begin) * inside
                target = min(max(target, -_LARGEST), _LARGEST)  # a rounding error beyond it
                for r in range(low, high):
                    result[items[first[g] + r]] = (1.0 - theta[g]) * value + theta[g] * target
                low = high
    return result


@compiled
def _at_quantile(values: np.ndarray, above: int, below: int) -> float:
    """Return the value at index ``above / below``, or the mean of both values at a jump."""
    at = above // below
    if above % below != 0:
        return values[at]
    both = values[at - 1] + values[at]
    return 0.5 * both if np.isfinite(both) else 0.5 * values[at - 1] + 0.5 * values[at]


@compiled
def largest_gaps(
    codes: np.ndarray, values: np.ndarray, offsets: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest Kolmogorov-Smirnov distance of two groups per list, and the largest step.

    Values are sorted, highest first. The step is the largest share of a group that is tied,
    ``1 / n`` without ties. Items with the code ``n_groups`` belong to no group.
    """
    gaps = np.zeros(len(offsets) - 1)
    steps = np.zeros(len(offsets) - 1)
    for q in range(len(offsets) - 1):
        sizes = np.zeros(n_groups + 1)
        for i in range(offsets[q], offsets[q + 1]):
            sizes[codes[i]] += 1.0
        seen = np.zeros(n_groups + 1)
        block = np.zeros(n_groups + 1)
        for i in range(offsets[q], offsets[q + 1]):
            seen[codes[i]] += 1.0
            block[codes[i]] += 1.0
            if i + 1 < offsets[q + 1] and values[i + 1] == values[i]:
                continue
            lowest, highest = 1.0, 0.0
            for g in range(n_groups):
                if sizes[g] > 0:
                    lowest = min(lowest, seen[g] / sizes[g])
                    highest = max(highest, seen[g] / sizes[g])
                    steps[q] = max(steps[q], block[g] / sizes[g])
            gaps[q] = max(gaps[q], highest - lowest)
            block[:] = 0.0
    return gaps, steps
