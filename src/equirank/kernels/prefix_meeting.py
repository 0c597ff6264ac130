"""Lists whose floors meet ceilings, or whose bounds clash (compiled: apart from the quick case)."""

import numpy as np

from .compiling import compiled
from .exchange_cycles import cancel_cycles
from .prefix_arranging import arrange_greedily, bounds_of_list, members_of_groups
from .prefix_windows import by_deadline, windows, with_foresight

__all__ = ["arrange_meeting"]


@compiled
def _arrange_one(
    members: np.ndarray,
    first: np.ndarray,
    sizes: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    codes: np.ndarray,
    values: np.ndarray,
    order: np.ndarray,
) -> int:
    """Arrange one list: 1 where it is the best, 0 where that is not proven, -1 where none is."""
    state = arrange_greedily(members, first, sizes, lo, hi, order)
    if state != 0:
        return state
    release, deadline = windows(lo, hi)
    found = with_foresight(members, first, lo, release, deadline, order)
    if not found and not by_deadline(members, first, release, deadline, order):
        return -1
    return cancel_cycles(members, first, release, deadline, codes, values, order)


@compiled
def _least_widening(
    members: np.ndarray,
    first: np.ndarray,
    sizes: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    row: int,
    order: np.ndarray,
) -> int:
    """Give by how many items the bounds of a list must be widened at least to be met."""
    low, high, step = 0, -1, 0
    while high < 0 or low < high:
        middle = step if high < 0 else (low + high) // 2
        lo, hi = bounds_of_list(least, most, row, len(order), middle, sizes, True)
        release, deadline = windows(lo, hi)
        if by_deadline(members, first, release, deadline, order):
            high = middle
        else:
            low = middle + 1
        step = max(1, 2 * step)
    return low


@compiled
def arrange_meeting(
    codes: np.ndarray,
    values: np.ndarray,
    offsets: np.ndarray,
    shown: np.ndarray,
    cuts: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    start: np.ndarray,
    queries: np.ndarray,
    closest: bool,
    order: np.ndarray,
    solved: np.ndarray,
) -> np.ndarray:
    """Arrange some lists so that discounted value is largest under the bounds of every prefix.

    Where floors meet ceilings there may be no list that is best in every prefix: the greedy one is
    improved until no exchange of places helps, which makes it best for ``1 / log2(1 + j)``.

    Parameters
    ----------
    codes, values : ndarray
        Group and value of each item, highest first, list after list.
    offsets, shown, cuts, least, most, start : ndarray
        As in `arrange`.
    queries : ndarray of int64
        Which lists.
    closest : bool
        Whether a list whose bounds cannot be met is arranged under wider ones: no group is asked
        for more than its members, and then all are widened by the smallest number that is enough.
    order, solved : ndarray
        What `arrange` gave, changed in place; 0 now stands for a list not proven to be the best.

    Returns
    -------
    ndarray of int64
        By how many items the bounds of each list were widened; -1 where they stand as given.
    """
    n_groups = least.shape[1]
    widened = np.full(len(offsets) - 1, -1, dtype=np.int64)
    for q in queries:
        begin, size = offsets[q], cuts[q + 1] - cuts[q]
        mine, worth = codes[begin : begin + shown[q]], values[begin : begin + shown[q]]
        members, first, sizes = members_of_groups(mine, n_groups)
        places = order[cuts[q] : cuts[q + 1]]
        if solved[q] == 0:
            lo, hi = bounds_of_list(least, most, start[q], size, 0, sizes, False)
            solved[q] = _arrange_one(members, first, sizes, lo, hi, mine, worth, places)
        if solved[q] < 0 and closest:
            widened[q] = _least_widening(members, first, sizes, least, most, start[q], places)
            lo, hi = bounds_of_list(least, most, start[q], size, widened[q], sizes, True)
            solved[q] = _arrange_one(members, first, sizes, lo, hi, mine, worth, places)
        for j in range(size):
            places[j] += begin
    return widened
