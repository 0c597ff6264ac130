"""Lists under least and largest group counts of every prefix (compiled: greedy along each list)."""

import numpy as np

from .compiling import compiled
from .exchange_cycles import cancel_cycles
from .prefix_windows import NEVER, by_deadline, windows, with_foresight

__all__ = ["arrange"]


@compiled
def _effective(
    least: np.ndarray,
    most: np.ndarray,
    row: int,
    size: int,
    relax: int,
    sizes: np.ndarray,
    capped: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Give the bounds a list is held to, such that they rise along the list.

    ``relax`` widens each; ``capped`` asks of no group more than its members.
    """
    n_groups = len(sizes)
    lo = np.zeros((size, n_groups), dtype=np.int64)
    hi = np.zeros((size, n_groups), dtype=np.int64)
    for j in range(size):
        for g in range(n_groups):
            need = least[row + j, g]
            if capped:
                need = min(need, sizes[g])
            need = max(need - relax, 0)
            lo[j, g] = max(need, lo[j - 1, g]) if j > 0 else need
    for j in range(size - 1, -1, -1):
        for g in range(n_groups):
            room = min(max(most[row + j, g], 0) + relax, sizes[g])
            hi[j, g] = min(room, hi[j + 1, g]) if j < size - 1 else room
    return lo, hi


@compiled
def _forward(
    members: np.ndarray, first: np.ndarray, hi: np.ndarray, lo: np.ndarray, order: np.ndarray
) -> int:
    """Fill places from the top with the best item the ceilings allow.

    Gives 1 where the floors hold as well, 0 where they do not, -1 where a place stays empty.
    """
    size, n_groups = hi.shape
    counts = np.zeros(n_groups, dtype=np.int64)
    holds = 1
    for j in range(size):
        best, chosen = NEVER, -1
        for g in range(n_groups):
            if counts[g] < hi[j, g] and members[first[g] + counts[g]] < best:
                best, chosen = members[first[g] + counts[g]], g
        if chosen < 0:
            return -1
        counts[chosen] += 1
        order[j] = best
        if holds == 1:
            for g in range(n_groups):
                if counts[g] < lo[j, g]:
                    holds = 0
    return holds


@compiled
def _backward(
    members: np.ndarray,
    first: np.ndarray,
    sizes: np.ndarray,
    hi: np.ndarray,
    lo: np.ndarray,
    order: np.ndarray,
) -> int:
    """Empty places from the end of the list, the worst item the floors spare first.

    Gives 1 where the ceilings hold as well, 0 where they do not, -1 where the floors are too many.
    """
    size, n_groups = lo.shape
    counts = sizes.copy()
    holds = 1
    for place in range(sizes.sum(), 0, -1):
        if place <= size and holds == 1:
            for g in range(n_groups):
                if counts[g] > hi[place - 1, g]:
                    holds = 0
        worst, chosen = np.int64(-1), -1
        for g in range(n_groups):
            spare = 0 if place == 1 else lo[min(place - 1, size) - 1, g]
            if counts[g] > spare and members[first[g] + counts[g] - 1] > worst:
                worst, chosen = members[first[g] + counts[g] - 1], g
        if chosen < 0:
            return -1
        counts[chosen] -= 1
        if place <= size:
            order[place - 1] = worst
    return holds


@compiled
def _members(codes: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort the places of a list by group: the places, where each group begins, its size."""
    sizes = np.zeros(n_groups, dtype=np.int64)
    for code in codes:
        sizes[code] += 1
    first = np.zeros(n_groups, dtype=np.int64)
    for g in range(1, n_groups):
        first[g] = first[g - 1] + sizes[g - 1]
    members = np.empty(len(codes) + 1, dtype=np.int64)
    at = first.copy()
    for i in range(len(codes)):
        members[at[codes[i]]] = i
        at[codes[i]] += 1
    return members, first, sizes


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
    size = len(order)
    for g in range(len(sizes)):
        if size > 0 and lo[size - 1, g] > sizes[g]:
            return -1
    state = _forward(members, first, hi, lo, order)
    if state != 0:
        return state
    state = _backward(members, first, sizes, hi, lo, order)
    if state != 0:
        return state
    release, deadline = windows(lo, hi)
    found = with_foresight(members, first, lo, release, deadline, order)
    if not found and not by_deadline(members, first, release, deadline, order):
        return -1
    return cancel_cycles(members, first, release, deadline, codes, values, order)


@compiled
def _least_relaxation(
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
        lo, hi = _effective(least, most, row, len(order), middle, sizes, True)
        release, deadline = windows(lo, hi)
        if by_deadline(members, first, release, deadline, order):
            high = middle
        else:
            low = middle + 1
        step = max(1, 2 * step)
    return low


@compiled
def arrange(
    codes: np.ndarray,
    values: np.ndarray,
    offsets: np.ndarray,
    shown: np.ndarray,
    cuts: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    start: np.ndarray,
    closest: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrange each list so that discounted value is largest under the bounds of every prefix.

    With floors only or ceilings only the greedy list has the largest value in every prefix at
    once, so it is best for any discount. With both there may be no such list: then the greedy one
    is improved until no exchange of places helps, which makes it best for ``1 / log2(1 + j)``.

    Parameters
    ----------
    codes, values : ndarray
        Group and value of each item, best first, list after list.
    offsets, shown, cuts : ndarray of int64
        Where each list begins, how many of its items are candidates, and where its places begin
        in the result.
    least, most : ndarray of int64
        Bounds (row x group); prefix j of list q stands in row ``start[q] + j - 1``.
    start : ndarray of int64
        The first row of each list.
    closest : bool
        Whether a list whose bounds cannot be met is arranged under wider ones: no group is asked
        for more than its members, and then all are widened by the smallest number that is enough.

    Returns
    -------
    order : ndarray of int64
        The items of each list in their new places, as indices into ``codes``.
    solved : ndarray of int8
        1 solved, 0 not proven to be the best, -1 the bounds cannot be met (places undefined).
    widened : ndarray of int64
        By how many items the bounds of each list were widened; -1 where they stand as given.
    """
    n_groups = least.shape[1]
    order = np.zeros(cuts[-1], dtype=np.int64)
    solved = np.ones(len(offsets) - 1, dtype=np.int8)
    widened = np.full(len(offsets) - 1, -1, dtype=np.int64)
    for q in range(len(offsets) - 1):
        begin, size = offsets[q], cuts[q + 1] - cuts[q]
        mine, worth = codes[begin : begin + shown[q]], values[begin : begin + shown[q]]
        members, first, sizes = _members(mine, n_groups)
        lo, hi = _effective(least, most, start[q], size, 0, sizes, False)
        places = order[cuts[q] : cuts[q + 1]]
        solved[q] = _arrange_one(members, first, sizes, lo, hi, mine, worth, places)
        if solved[q] < 0 and closest:
            widened[q] = _least_relaxation(members, first, sizes, least, most, start[q], places)
            lo, hi = _effective(least, most, start[q], size, widened[q], sizes, True)
            solved[q] = _arrange_one(members, first, sizes, lo, hi, mine, worth, places)
        places += begin
    return order, solved, widened
