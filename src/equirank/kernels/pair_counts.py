"""Pairs of one list: grades to count by, and blocks of pairs where a cost must see each."""

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


#: Whole grades up to here are counted as they are; others by their rank in the list.
MOST_GRADES = 32
#: Groups times grades up to here are counted cell by cell.
MOST_CELLS = 32
PAIRS = 1 << 20


def grade_codes(y: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return whole numbers >= 0 that compare within each list as the relevance does."""
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

    Gives those with the worse item above, those tied, and all (each list x group x group).
    """
    from .metric_loops import cell_pair_counts, group_pair_counts

    grade = grade_codes(y, offsets)
    n_grades = int(grade.max()) + 1
    if n_groups * n_grades <= MOST_CELLS:
        cell = code * np.int64(n_grades) + grade
        return cell_pair_counts(cell, n_groups, n_grades, end, offsets)
    return group_pair_counts(code, n_groups, grade, end, offsets)


def truth_order(y: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order each list by relevance, best first: the rows, and each place's block of equals."""
    order = sort_within(y, offsets)
    begin, end = tie_blocks(y[order], offsets)
    if begin is None or end is None:
        places = np.arange(len(y))
        return order, places, places + 1
    return order, begin, end


def ordered_pairs(offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Go through all pairs (a, b), a != b, of each list, about a million at a time."""
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
    """Find the slots of listed pairs of rows; a row may stand in several slots, or in none.

    ``row`` and ``query`` belong to the slots; ``a``, ``b`` (rows) and ``cost`` are the list, sorted
    by a.
    """
    low, high = np.searchsorted(a, row), np.searchsorted(a, row, side="right")
    slot, entry = _expand(low, high)
    base = int(max(row.max(), b.max(initial=0))) + 1
    key = query * base + row
    place = np.argsort(key, kind="stable")
    wanted = query[slot] * base + b[entry]
    low = np.searchsorted(key, wanted, sorter=place)
    high = np.searchsorted(key, wanted, side="right", sorter=place)
    found, at = _expand(low, high)
    slot, other, entry = slot[found], place[at], entry[found]
    apart = slot != other
    return slot[apart], other[apart], cost[entry[apart]]


def _expand(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List low..high of every element: the element, and the number."""
    count = high - low
    element = np.repeat(np.arange(len(count)), count)
    begin = np.cumsum(count) - count
    return element, np.arange(len(element)) - np.repeat(begin - low, count)


def largest_with_others(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sum, for each row, the larger of its value and each other row's of its list."""
    from .metric_loops import running_sums

    order = sort_within(values, offsets)
    ranked = values[order]
    behind = np.repeat(offsets[1:], np.diff(offsets)) - 1 - np.arange(len(values))
    result = np.empty(len(values))
    result[order] = running_sums(ranked, offsets) + ranked * behind
    return result
