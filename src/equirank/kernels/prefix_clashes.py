"""Lists whose lower and upper bounds conflict, improved by cyclic exchanges (compiled)."""

import math

import numpy as np

from .compiled import compiled
from .prefix_lists import (
    arrange_greedily,
    bounds_of_list,
    by_deadline,
    members_of_groups,
    windows,
    with_foresight,
)

__all__ = ["arrange_meeting", "cancel_cycles"]


#: Gains below this share of the largest value are rounding errors.
GAIN = 1e-11


@compiled
def _regroup(
    groups: np.ndarray, members: np.ndarray, first: np.ndarray, order: np.ndarray
) -> np.ndarray:
    """Fill the positions of each group with its items, best first."""
    counts = np.zeros(len(first), dtype=np.int64)
    for j in range(len(order)):
        g = groups[j]
        order[j] = members[first[g] + counts[g]]
        counts[g] += 1
    return counts


@compiled
def _cycle_position(parent: np.ndarray) -> int:
    """Return a position on a cycle of the parents, -1 if there is none."""
    mark = np.zeros(len(parent), dtype=np.int64)
    for node in range(len(parent)):
        at = node
        while at >= 0 and mark[at] == 0:
            mark[at] = node + 1
            at = parent[at]
        if at >= 0 and mark[at] == node + 1:
            return at
    return -1


@compiled
def _gaining_cycle(
    groups: np.ndarray,
    ranks: np.ndarray,
    counts: np.ndarray,
    value: np.ndarray,
    outside: np.ndarray,
    release: np.ndarray,
    deadline: np.ndarray,
    weight: np.ndarray,
    parent: np.ndarray,
) -> int:
    """Return a position on a cycle of moves with a gain, found by shortest paths, or -1.

    Position ``size`` represents all positions below the list: an item that moves there is dropped,
    and the next item of any group may come from there. ``parent`` is the position from which an
    item moves to each position.
    """
    size, n_groups = len(groups), len(counts)
    loss = np.zeros(size + 1)
    fresh = np.ones(size + 1, dtype=np.bool_)
    parent[size] = -1
    largest = 1e-300
    for i in range(size):
        parent[i] = -1
        largest = max(largest, value[i])
    least = GAIN * largest
    for _ in range(size + 2):
        changed = False
        for i in range(size - 1, -1, -1):
            if not fresh[i]:
                continue
            fresh[i] = False
            g, r = groups[i], ranks[i]
            base = loss[i] + value[i] * weight[i]
            for j in range(release[g, r], min(deadline[g, r] + 1, size)):
                if base - value[i] * weight[j] < loss[j] - least:
                    loss[j] = base - value[i] * weight[j]
                    parent[j] = i
                    fresh[j] = changed = True
            if deadline[g, r] >= size and base < loss[size] - least:
                loss[size] = base
                parent[size] = i
                fresh[size] = changed = True
        for g in range(n_groups):
            if np.isnan(outside[g]) or not fresh[size]:
                continue
            for j in range(release[g, counts[g]], size):
                if loss[size] - outside[g] * weight[j] < loss[j] - least:
                    loss[j] = loss[size] - outside[g] * weight[j]
                    parent[j] = size
                    fresh[j] = changed = True
        fresh[size] = False
        if not changed:
            return -1
        at = _cycle_position(parent)
        if at >= 0:
            return at
    return -1


@compiled
def cancel_cycles(
    members: np.ndarray,
    first: np.ndarray,
    release: np.ndarray,
    deadline: np.ndarray,
    codes: np.ndarray,
    values: np.ndarray,
    order: np.ndarray,
) -> int:
    """Improve a list within its bounds until no exchange of positions has a gain.

    Values are sorted, highest first. Item r of a group may have the positions ``release[g, r]`` to
    ``deadline[g, r]``. Returns 1 if the list is proven optimal for ``1 / log2(1 + j)``, 0 if the
    rounds ran out.
    """
    size, n_groups = len(order), len(first)
    weight, value = np.empty(size), np.empty(size)
    groups, ranks = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    parent = np.empty(size + 1, dtype=np.int64)
    outside = np.empty(n_groups)
    for j in range(size):
        weight[j] = 1.0 / math.log2(j + 2.0)
        groups[j] = codes[order[j]]
    lowest = values[len(values) - 1]
    for _ in range(100 + 20 * size):
        counts = _regroup(groups, members, first, order)
        seen = np.zeros(n_groups, dtype=np.int64)
        for j in range(size):
            ranks[j] = seen[groups[j]]
            seen[groups[j]] += 1
            value[j] = values[order[j]] - lowest
        for g in range(n_groups):
            outside[g] = np.nan
            end = first[g + 1] if g + 1 < n_groups else len(members) - 1
            if first[g] + counts[g] < end and release[g, counts[g]] < size:
                outside[g] = values[members[first[g] + counts[g]]] - lowest
        at = _gaining_cycle(
            groups, ranks, counts, value, outside, release, deadline, weight, parent
        )
        if at < 0:
            return 1
        before, node = groups.copy(), at
        while True:
            source = parent[node]
            if node < size:
                groups[node] = (
                    before[source] if source < size else _newcomer(counts, outside, release, node)
                )
            node = source
            if node == at:
                break
    return 0


@compiled
def _newcomer(counts: np.ndarray, outside: np.ndarray, release: np.ndarray, position: int) -> int:
    """Return the group whose next item is the best that may enter at a position."""
    best, chosen = -np.inf, -1
    for g in range(len(counts)):
        if not np.isnan(outside[g]) and release[g, counts[g]] <= position and outside[g] > best:
            best, chosen = outside[g], g
    return chosen


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
    """Arrange one list; return 1 if proven optimal, 0 if not proven, -1 if infeasible."""
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
    """Return the least number of items by which bounds must be widened to be feasible."""
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
    """Arrange lists to maximise the discounted value under the bounds of every prefix.

    If lower and upper bounds conflict, no list may be best in every prefix: the greedy list is
    improved until no exchange of positions helps, which makes it optimal for ``1 / log2(1 + j)``.

    Parameters
    ----------
    codes, values : ndarray
        Group and value of each item, highest first, list after list.
    offsets, shown, cuts, least, most, start : ndarray
        As in `arrange`.
    queries : ndarray of int64
        The lists to arrange.
    closest : bool
        Whether a list with infeasible bounds is arranged under wider ones: no group must have more
        than its members, and then all bounds are widened by the smallest sufficient number.
    order, solved : ndarray
        The results of `arrange`, changed in place; 0 now means a list not proven optimal.

    Returns
    -------
    ndarray of int64
        Number of items by which the bounds of each list were widened; -1 if they were not.
    """
    n_groups = least.shape[1]
    widened = np.full(len(offsets) - 1, -1, dtype=np.int64)
    for q in queries:
        begin, size = offsets[q], cuts[q + 1] - cuts[q]
        list_codes, list_values = codes[begin : begin + shown[q]], values[begin : begin + shown[q]]
        members, first, sizes = members_of_groups(list_codes, n_groups)
        list_order = order[cuts[q] : cuts[q + 1]]
        if solved[q] == 0:
            lo, hi = bounds_of_list(least, most, start[q], size, 0, sizes, False)
            solved[q] = _arrange_one(
                members, first, sizes, lo, hi, list_codes, list_values, list_order
            )
        if solved[q] < 0 and closest:
            widened[q] = _least_widening(members, first, sizes, least, most, start[q], list_order)
            lo, hi = bounds_of_list(least, most, start[q], size, widened[q], sizes, True)
            solved[q] = _arrange_one(
                members, first, sizes, lo, hi, list_codes, list_values, list_order
            )
        for j in range(size):
            list_order[j] += begin
    return widened
