"""NDCG, precision and average precision of every list, in one pass over its slots."""

import numpy as np

from .compiled import compiled
from .list_sorting import ascending

__all__ = ["measure_relevance"]


#: Grades below this that are whole numbers are counted one by one.
MOST_COUNTED = 64


@compiled(reordered=True)
def _best_gain(
    y: np.ndarray,
    k: int,
    discount_sums: np.ndarray,
    gain_of: np.ndarray,
    counts: np.ndarray,
) -> float:
    """Return the largest discounted gain of the first k positions of a list."""
    largest = 0.0
    whole = True
    for i in range(len(y)):
        whole = whole and y[i] == np.floor(y[i])
        largest = max(largest, y[i])
    best, before = 0.0, 0
    if whole and largest < MOST_COUNTED:
        top = int(largest)
        for r in range(top + 1):
            counts[r] = 0
        for i in range(len(y)):
            counts[int(y[i])] += 1
        for r in range(top, 0, -1):
            after = min(before + counts[r], k)
            best += gain_of[r] * (discount_sums[after] - discount_sums[before])
            before = after
        return best
    order = ascending(-y)
    for i in range(min(k, len(y))):
        gain = 2.0 ** y[order[i]] - 1.0
        best += gain * (discount_sums[i + 1] - discount_sums[i])
    return best


@compiled(reordered=True)
def _gain(
    end: np.ndarray, first: int, shown: int, y: np.ndarray, k: int, discount_sums: np.ndarray
) -> float:
    """Return the discounted gain of the first k positions, of a tied block with their mean."""
    total, i = 0.0, 0
    while i < min(shown, k):
        stop = end[first + i] - first
        gain = 0.0
        for j in range(i, stop):
            gain += 2.0 ** y[j] - 1.0 if y[j] > 0 else 0.0
        total += gain * (discount_sums[min(stop, k)] - discount_sums[i]) / (stop - i)
        i = stop
    return total


@compiled(reordered=True)
def _hits(end: np.ndarray, first: int, shown: int, y: np.ndarray, k: int, averaged: bool) -> float:
    """Return the expected number of relevant items, or the sum of precisions at them.

    Among the first k positions; relevant are those of relevance 1 and more.
    """
    total, hits, i = 0.0, 0, 0
    while i < min(shown, k):
        stop, inside = end[first + i] - first, 0
        for j in range(i, stop):
            inside += 1 if y[j] >= 1.0 else 0
        size, last = stop - i, min(stop, k)
        if not averaged:
            total += inside * (last - i) / size
        elif size == 1:
            total += (hits + 1) / (i + 1) if inside else 0.0
        else:
            for j in range(i, last if inside else i):
                step = (j - i) * (inside - 1) / (size - 1)
                total += inside / size * (hits + 1 + step) / (j + 1)
        hits += inside
        i = stop
    return total


@compiled(reordered=True)
def measure_relevance(
    offsets: np.ndarray,
    end: np.ndarray,
    shown: np.ndarray,
    y: np.ndarray,
    kinds: np.ndarray,
    ks: np.ndarray,
    discount_sums: np.ndarray,
    found: np.ndarray,
) -> None:
    """Write the value of every metric in every list, NaN if undefined.

    Parameters
    ----------
    offsets, end, shown, y : ndarray
        Slots of each list, the end of the tied block of each slot, number of shown slots of each
        list, and relevance of each slot, at most 512.
    kinds, ks : ndarray
        Of each metric: 0 NDCG (exponential gain), 1 precision, 2 average precision; its cutoff, or
        0 for none.
    discount_sums : ndarray
        As in `measure_lists`.
    found : ndarray of shape (n_lists, n_metrics)
        Receives the values.
    """
    gain_of, counts = np.zeros(MOST_COUNTED), np.zeros(MOST_COUNTED, dtype=np.int64)
    for r in range(MOST_COUNTED):
        gain_of[r] = 2.0**r - 1.0
    for q in range(len(offsets) - 1):
        s, n = offsets[q], offsets[q + 1] - offsets[q]
        mine = y[s : s + n]
        relevant = 0
        for i in range(n):
            relevant += 1 if mine[i] >= 1.0 else 0
        for at in range(len(kinds)):
            k = min(ks[at], n) if ks[at] else n
            if kinds[at] == 0:
                best = _best_gain(mine, k, discount_sums, gain_of, counts)
                gained = _gain(end, s, shown[q], mine, k, discount_sums)
                found[q, at] = gained / best if best > 0 else np.nan
            elif kinds[at] == 1:
                total = _hits(end, s, shown[q], mine, k, kinds[at] == 2)
                found[q, at] = total / (ks[at] if ks[at] else max(shown[q], 1))
            else:
                total = _hits(end, s, shown[q], mine, k, kinds[at] == 2)
                found[q, at] = total / relevant if relevant else np.nan
