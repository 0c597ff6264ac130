"""Sums over ordered pairs without listing them (compiled: a Fenwick tree per list)."""

import numpy as np

from .compiling import compiled

__all__ = ["positive_parts"]


@compiled
def positive_parts(
    ratio: np.ndarray,
    rank: np.ndarray,
    merit: np.ndarray,
    by_merit: np.ndarray,
    offsets: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Give per list the sum of ``max(0, ratio_i - ratio_j)`` over pairs, and how many pairs.

    The pairs are the ordered ones with ``merit_i >= merit_j``, so equal merits count both ways.
    ``rank`` is each row's place among its list's ratios, lowest first, and ``by_merit`` lists the
    rows of each list by merit, lowest first. A tree over the ranks holds the count and the sum of
    the ratios seen so far: O(n log n).
    """
    n_lists = len(offsets) - 1
    longest = 0
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    count = np.zeros(longest + 1, dtype=np.int64)
    total = np.zeros(longest + 1)
    value = np.zeros(n_lists)
    pairs = np.zeros(n_lists)
    for q in range(n_lists):
        begin, stop = offsets[q], offsets[q + 1]
        n = stop - begin
        count[: n + 1] = 0
        total[: n + 1] = 0.0
        at = begin
        while at < stop:
            end = at
            while end < stop and merit[by_merit[end]] == merit[by_merit[at]]:
                row = by_merit[end]
                node = rank[row] + 1
                while node <= n:
                    count[node] += 1
                    total[node] += ratio[row]
                    node += node & -node
                end += 1
            for place in range(at, end):
                row = by_merit[place]
                node = rank[row]
                lower, amount = 0, 0.0
                while node > 0:
                    lower += count[node]
                    amount += total[node]
                    node -= node & -node
                value[q] += max(0.0, ratio[row] * lower - amount)
            pairs[q] += (end - at) * (at - begin) + (end - at) * (end - at - 1)
            at = end
    return value, pairs
