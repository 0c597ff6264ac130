"""Counts of pairs by grade and group, and enumeration of pairs, without numba."""

from collections.abc import Iterator

import numpy as np

from .segments import sort_within, tie_blocks

__all__ = [
    "count_group_pairs",
    "grade_codes",
    "largest_with_others",
    "match_pairs",
    "ordered_pairs",
    "truth_order",
]


#: Largest integer grade that is used as a code; otherwise the code is the rank in the list.
MOST_GRADES = 32
#: Largest number of groups times grades that is counted by cell.
MOST_CELLS = 32
#: Number of pairs in one block of `ordered_pairs`.
PAIRS = 1 << 20


def grade_codes(y: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return integers >= 0 that have the order of the relevance within each list."""
    if y.max() <= MOST_GRADES:
        codes = y.astype(np.int64)
        if (codes == y).all():
            return codes
    order, _, end = truth_order(y, offsets)
    codes = np.empty(len(y), dtype=np.int64)
    codes[order] = np.repeat(offsets[1:], np.diff(offsets)) - end
    return codes


def count_group_pairs(
    code: np.ndarray, n_groups: int, y: np.ndarray, end: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count pairs of unequal relevance per list, group of the better and group of the worse item.

    Returns the counts of pairs with the worse item above, of tied pairs, and of all pairs
    (list x group x group).
    """
    from .metric_loops import cell_pair_counts, group_pair_counts

    grade = grade_codes(y, offsets)
    n_grades = int(grade.max()) + 1
    if n_groups * n_grades <= MOST_CELLS:
        cell = code * np.int64(n_grades) + grade
        return cell_pair_counts(cell, n_groups, n_grades, end, offsets)
    return group_pair_counts(code, n_groups, grade, end, offsets)


def truth_order(y: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of each list sorted by relevance, best first, and the block of each tie."""
    order = sort_within(y, offsets)
    begin, end = tie_blocks(y[order], offsets)
    if begin is None or end is None:
        slots = np.arange(len(y))
        return order, slots, slots + 1
    return order, begin, end


def ordered_pairs(offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield all pairs (a, b), a != b, of each list, about a million at a time."""
    sizes = np.diff(offsets)
    partners = np.repeat(sizes, sizes) - 1
    first = np.repeat(offsets[:-1], sizes)
    done = np.concatenate([[0], np.cumsum(partners)])
    begin = 0
    while begin < len(partners):
        end = int(np.searchsorted(done, done[begin] + PAIRS, side="right")) - 1
        end = min(max(end, begin + 1), len(partners))
        count = partners[begin:end]
        a = np.repeat(np.arange(begin, end), count)
        b = np.arange(len(a)) - np.repeat(done[begin:end] - done[begin] - first[begin:end], count)
        yield a, b + (b >= a)
        begin = end


def match_pairs(
    row: np.ndarray, query: np.ndarray, a: np.ndarray, b: np.ndarray, cost: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the slots and costs of listed pairs of rows; a row may be in several slots, or none.

    ``row`` and ``query`` describe the slots; ``a``, ``b`` (rows) and ``cost`` are the listed pairs,
    sorted by a.
    """
    low, high = np.searchsorted(a, row), np.searchsorted(a, row, side="right")
    slot, entry = _expand(low, high)
    base = int(max(row.max(), b.max(initial=0))) + 1
    key = query * base + row
    by_key = np.argsort(key, kind="stable")
    wanted = query[slot] * base + b[entry]
    low = np.searchsorted(key, wanted, sorter=by_key)
    high = np.searchsorted(key, wanted, side="right", sorter=by_key)
    found, at = _expand(low, high)
    slot, other, entry = slot[found], by_key[at], entry[found]
    distinct = slot != other
    return slot[distinct], other[distinct], cost[entry[distinct]]


def _expand(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Enumerate ``range(low, high)`` of every element: the elements, and the numbers."""
    count = high - low
    element = np.repeat(np.arange(len(count)), count)
    begin = np.cumsum(count) - count
    return element, np.arange(len(element)) - np.repeat(begin - low, count)


def largest_with_others(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return for each row the sum of max(its value, other value) over the others of its list."""
    from .metric_loops import running_sums

    order = sort_within(values, offsets)
    ranked = values[order]
    n_after = np.repeat(offsets[1:], np.diff(offsets)) - 1 - np.arange(len(values))
    result = np.empty(len(values))
    result[order] = running_sums(ranked, offsets) + ranked * n_after
    return result
