"""Lists with lower and upper bounds on the group counts of every prefix (compiled)."""

import numpy as np

from .compiled import compiled

__all__ = [
    "NEVER",
    "ROUNDING",
    "arrange",
    "arrange_greedily",
    "bounds_of_list",
    "by_deadline",
    "members_of_groups",
    "shares_hold",
    "tables_hold",
    "windows",
    "with_foresight",
    "worst_drops",
]


#: Tolerance within which a share times a length counts as an integer.
ROUNDING = 1e-9


@compiled
def tables_hold(
    codes: np.ndarray,
    offsets: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    start: np.ndarray,
    lengths: np.ndarray,
) -> np.ndarray:
    """Return for each list whether the counts of every prefix are within the bounds.

    The bounds of prefix j of list q are in row ``start[q] + j - 1`` (row x group) for prefixes up
    to ``lengths[q]``. For a shorter list only the bounds up to its length apply. Tables without
    columns impose no bounds.
    """
    n_queries = len(offsets) - 1
    holds = np.ones(n_queries, dtype=np.bool_)
    n_groups = max(lower.shape[1], upper.shape[1])
    counts = np.zeros(n_groups, dtype=np.int64)
    for q in range(n_queries):
        counts[:] = 0
        length = min(offsets[q + 1] - offsets[q], lengths[q])
        for j in range(length):
            if codes[offsets[q] + j] >= 0:  # an unknown label counts in no group
                counts[codes[offsets[q] + j]] += 1
            row = start[q] + j
            for g in range(lower.shape[1]):
                if counts[g] < lower[row, g]:
                    holds[q] = False
            for g in range(upper.shape[1]):
                if counts[g] > upper[row, g]:
                    holds[q] = False
            if not holds[q]:
                break
    return holds


@compiled
def shares_hold(codes: np.ndarray, offsets: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return for each list whether prefix j has at least ``floor(j * share)`` of every group."""
    n_queries, n_groups = shares.shape
    holds = np.ones(n_queries, dtype=np.bool_)
    counts = np.zeros(n_groups, dtype=np.int64)
    for q in range(n_queries):
        counts[:] = 0
        for j in range(offsets[q + 1] - offsets[q]):
            if codes[offsets[q] + j] >= 0:
                counts[codes[offsets[q] + j]] += 1
            for g in range(n_groups):
                if counts[g] < int((j + 1) * shares[q, g] + ROUNDING):
                    holds[q] = False
            if not holds[q]:
                break
    return holds


@compiled
def worst_drops(values: np.ndarray, offsets: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Return for each list the largest difference between a value and a smaller one above it.

    Only the first ``shown[q]`` values are ordered; the others are below all of those.
    """
    result = np.zeros(len(offsets) - 1)
    for q in range(len(offsets) - 1):
        lowest = np.inf
        for i in range(offsets[q], offsets[q + 1]):
            result[q] = max(result[q], values[i] - lowest)
            if i - offsets[q] < shown[q]:
                lowest = min(lowest, values[i])
    return result


#: A position below every list.
NEVER = np.int64(1) << 40


@compiled
def windows(lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and last 0-based position of the first, second, ... item of each group."""
    size, n_groups = lo.shape
    release = np.full((n_groups, size + 1), NEVER, dtype=np.int64)
    deadline = np.full((n_groups, size + 1), NEVER, dtype=np.int64)
    for g in range(n_groups):
        released = due = 0
        for j in range(size):
            while released < min(hi[j, g], size + 1):
                release[g, released] = j
                released += 1
            while due < min(lo[j, g], size + 1):
                deadline[g, due] = j
                due += 1
    return release, deadline


@compiled
def by_deadline(
    members: np.ndarray,
    first: np.ndarray,
    release: np.ndarray,
    deadline: np.ndarray,
    order: np.ndarray,
) -> bool:
    """Fill positions from the top, the most urgent group first; False if a deadline passes."""
    n_groups, size = len(release), len(order)
    counts = np.zeros(n_groups, dtype=np.int64)
    for j in range(size):
        urgent, best, chosen = NEVER + 1, NEVER, -1
        for g in range(n_groups):
            at = counts[g]
            if release[g, at] > j:
                continue
            item = members[first[g] + at]
            if deadline[g, at] < urgent or (deadline[g, at] == urgent and item < best):
                urgent, best, chosen = deadline[g, at], item, g
        if chosen < 0 or urgent < j:
            return False
        counts[chosen] += 1
        order[j] = best
    late = 0
    for g in range(n_groups):
        late += deadline[g, counts[g]] < size
    return late == 0


@compiled
def with_foresight(
    members: np.ndarray,
    first: np.ndarray,
    lo: np.ndarray,
    release: np.ndarray,
    deadline: np.ndarray,
    order: np.ndarray,
) -> bool:
    """Fill positions from the top with the best item that keeps all later lower bounds feasible.

    ``slack[t]`` is the number of free positions of prefix t; a position where it is 0 stays so, so
    only positions before the next such one are examined. Returns False if the upper bounds prevent
    it.
    """
    size, n_groups = lo.shape
    slack = np.empty(size, dtype=np.int64)
    for t in range(size):
        slack[t] = t + 1
        for g in range(n_groups):
            slack[t] -= lo[t, g]
    counts = np.zeros(n_groups, dtype=np.int64)
    tight = size
    for j in range(size):
        if tight <= j:
            tight = size
        best, chosen = NEVER, -1
        for g in range(n_groups):
            item = members[first[g] + counts[g]] if release[g, counts[g]] <= j else NEVER
            if item >= best or (tight < size and deadline[g, counts[g]] > tight):
                continue
            end = min(deadline[g, counts[g]], tight)
            allowed = True
            for t in range(j, end):
                if slack[t] < 1:
                    tight = t
                    allowed = False
                    break
            if allowed:
                best, chosen = item, g
        if chosen < 0:
            return False
        for t in range(j, min(deadline[chosen, counts[chosen]], tight)):
            slack[t] -= 1
        counts[chosen] += 1
        order[j] = best
    return True


@compiled
def bounds_of_list(
    least: np.ndarray,
    most: np.ndarray,
    row: int,
    size: int,
    relax: int,
    sizes: np.ndarray,
    capped: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of a list, made monotone along the list.

    ``relax`` widens each; ``capped`` limits lower bounds to the size of the group.
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
            upper = min(max(most[row + j, g], 0) + relax, sizes[g])
            hi[j, g] = min(upper, hi[j + 1, g]) if j < size - 1 else upper
    return lo, hi


@compiled
def _forward(
    members: np.ndarray, first: np.ndarray, hi: np.ndarray, lo: np.ndarray, order: np.ndarray
) -> int:
    """Fill positions from the top with the best item that the upper bounds allow.

    Returns 1 if the lower bounds hold as well, 0 if not, -1 if a position stays empty.
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
    """Remove items from the end of the list, the worst that the lower bounds allow first.

    Returns 1 if the upper bounds hold as well, 0 if not, -1 if the lower bounds are infeasible.
    """
    size, n_groups = lo.shape
    counts = sizes.copy()
    holds = 1
    for position in range(sizes.sum(), 0, -1):
        if position <= size and holds == 1:
            for g in range(n_groups):
                if counts[g] > hi[position - 1, g]:
                    holds = 0
        worst, chosen = np.int64(-1), -1
        for g in range(n_groups):
            spare = 0 if position == 1 else lo[min(position - 1, size) - 1, g]
            if counts[g] > spare and members[first[g] + counts[g] - 1] > worst:
                worst, chosen = members[first[g] + counts[g] - 1], g
        if chosen < 0:
            return -1
        counts[chosen] -= 1
        if position <= size:
            order[position - 1] = worst
    return holds


@compiled
def members_of_groups(
    codes: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the items of a list sorted by group, the begin of each group, and its size."""
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
def arrange_greedily(
    members: np.ndarray,
    first: np.ndarray,
    sizes: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    order: np.ndarray,
) -> int:
    """Arrange one list; return 1 if optimal, 0 if bounds conflict, -1 if infeasible."""
    size = len(order)
    for g in range(len(sizes)):
        if size > 0 and lo[size - 1, g] > sizes[g]:
            return -1
    state = _forward(members, first, hi, lo, order)
    return state if state != 0 else _backward(members, first, sizes, hi, lo, order)


@compiled
def arrange(
    codes: np.ndarray,
    offsets: np.ndarray,
    shown: np.ndarray,
    cuts: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    start: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Arrange each list so that every prefix has the largest value under the bounds.

    With lower bounds only or upper bounds only, the greedy list has the largest value in every
    prefix. The same holds with both if one side holds without being imposed; otherwise the bounds
    conflict, and `arrange_meeting` arranges the list.

    Parameters
    ----------
    codes : ndarray
        Group of each item, best first, list by list.
    offsets, shown, cuts : ndarray of int64
        Begin of each list, number of its candidates, and begin of its positions in the result.
    least, most : ndarray of int64
        Bounds (row x group); those of prefix j of list q are in row ``start[q] + j - 1``.
    start : ndarray of int64
        The first row of each list.

    Returns
    -------
    order : ndarray of int64
        The items of each list in their new order, as indices into ``codes``.
    solved : ndarray of int8
        1: optimal; 0: the bounds conflict; -1: infeasible, and the positions are not filled.
    """
    n_groups = least.shape[1]
    order = np.zeros(cuts[-1], dtype=np.int64)
    solved = np.ones(len(offsets) - 1, dtype=np.int8)
    for q in range(len(offsets) - 1):
        begin, size = offsets[q], cuts[q + 1] - cuts[q]
        members, first, sizes = members_of_groups(codes[begin : begin + shown[q]], n_groups)
        lo, hi = bounds_of_list(least, most, start[q], size, 0, sizes, False)
        list_order = order[cuts[q] : cuts[q + 1]]
        solved[q] = arrange_greedily(members, first, sizes, lo, hi, list_order)
        for j in range(size):
            list_order[j] += begin
    return order, solved
