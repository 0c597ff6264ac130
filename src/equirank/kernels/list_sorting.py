"""Sorting the rows of many lists, each by itself."""

import numpy as np

from .compiled import compiled

__all__ = ["ascending", "largest_of_lists", "sort_lists"]


#: Rows that are sorted by insertion before they are merged.
RUN = 16
#: Most rows of a list whose places are counted: all pairs are compared, without branches.
MOST_COUNTED = 128


@compiled
def _count_places(keys: np.ndarray, first: int, taken: np.ndarray, order: np.ndarray) -> bool:
    """Write the rows of a list in their places, and return whether no key is NaN.

    The place of a row is the number of higher keys, and of earlier rows with the same key, which
    ``taken`` counts.
    """
    n = len(keys)
    for i in range(n):
        if keys[i] != keys[i]:
            return False
        taken[i] = 0
    for i in range(n):
        key, place = keys[i], 0
        for j in range(n):
            place += 1 if keys[j] > key else 0
        order[place + taken[place]] = first + i
        taken[place] += 1
    return True


@compiled
def sort_lists(keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the rows of each list sorted by key, highest first and NaN last; the sort is stable.

    In short lists places are counted. In others runs of rows are sorted by insertion, then merged.
    """
    longest = 0
    for q in range(len(offsets) - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    order = np.empty(len(keys), dtype=np.int64)
    key, other_key = np.empty(longest, dtype=keys.dtype), np.empty(longest, dtype=keys.dtype)
    row, other_row = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    for q in range(len(offsets) - 1):
        s, n = offsets[q], offsets[q + 1] - offsets[q]
        if n <= MOST_COUNTED and _count_places(keys[s : s + n], s, row, order[s : s + n]):
            continue
        for begin in range(0, n, RUN):
            for i in range(begin, min(begin + RUN, n)):
                value = keys[s + i]
                at = i
                while at > begin and (
                    key[at - 1] < value or (key[at - 1] != key[at - 1] and value == value)
                ):
                    key[at], row[at] = key[at - 1], row[at - 1]
                    at -= 1
                key[at], row[at] = value, s + i
        width = RUN
        while width < n:
            for begin in range(0, n, 2 * width):
                middle, stop = min(begin + width, n), min(begin + 2 * width, n)
                a, b = begin, middle
                for at in range(begin, stop):
                    first = a < middle
                    if first and b < stop:
                        first = not (key[a] < key[b] or (key[a] != key[a] and key[b] == key[b]))
                    if first:
                        other_key[at], other_row[at] = key[a], row[a]
                        a += 1
                    else:
                        other_key[at], other_row[at] = key[b], row[b]
                        b += 1
            key, other_key = other_key, key
            row, other_row = other_row, row
            width *= 2
        for i in range(n):
            order[s + i] = row[i]
    return order


@compiled
def ascending(values: np.ndarray) -> np.ndarray:
    """Return the order of values, lowest first; the sort is stable.

    It is that of `numpy.argsort`, which numba compiles anew for each function that calls it.
    """
    return sort_lists(-values, np.array([0, len(values)]))


@compiled
def largest_of_lists(values: np.ndarray, offsets: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return the largest values of each list, highest first, as many as ``cuts`` can hold."""
    found = np.empty(cuts[-1], dtype=values.dtype)
    for q in range(len(offsets) - 1):
        first, most = cuts[q], cuts[q + 1] - cuts[q]
        count = 0
        for i in range(offsets[q], offsets[q + 1]):
            value = values[i]
            if count == most:
                if not value > found[first + count - 1]:
                    continue
                count -= 1
            at = first + count
            while at > first and found[at - 1] < value:
                found[at] = found[at - 1]
                at -= 1
            found[at] = value
            count += 1
    return found
