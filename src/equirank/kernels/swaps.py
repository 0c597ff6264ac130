"""Change in the unfairness of a list when two items are swapped, in constant time per pair.

A swap with a lower item of another group changes the counts of both groups by one at every cut
point between them. Two prefix sums over the cut points, for one more and one fewer, give the change
for every pair. Exposure is a sum over positions, so its change is immediate.
"""

from typing import NamedTuple

import numpy as np

from .compiled import compiled

__all__ = [
    "EXPOSURE",
    "LARGEST",
    "NO_FAIRNESS",
    "PREFIXES",
    "SUMMED",
    "TREATMENT",
    "Fairness",
    "any_group_row",
    "cut_of",
    "cut_position",
    "exposure_distance",
    "sort_rows",
    "swap_changes",
    "swap_effects",
    "target_places",
    "two_group_row",
]


_RUN = 16  # number of rows sorted by insertion before runs are merged


@compiled
def sort_rows(score: np.ndarray, order: np.ndarray, spare: np.ndarray) -> None:
    """Sort rows by score, highest first, ties by row; fast if nearly sorted."""
    n = len(order)
    for begin in range(0, n, _RUN):
        for at in range(begin + 1, min(begin + _RUN, n)):
            row = order[at]
            value = score[row]
            to = at
            while to > begin:
                other = order[to - 1]
                if score[other] > value or (score[other] == value and other < row):
                    break
                order[to] = other
                to -= 1
            order[to] = row
    size = _RUN
    while size < n:
        for begin in range(0, n - size, 2 * size):
            middle, end = begin + size, min(begin + 2 * size, n)
            last, next_ = order[middle - 1], order[middle]
            if score[last] > score[next_] or (score[last] == score[next_] and last < next_):
                continue
            for at in range(begin, middle):
                spare[at] = order[at]
            left, right, to = begin, middle, begin
            while left < middle and right < end:
                a, b = spare[left], order[right]
                if score[a] > score[b] or (score[a] == score[b] and a < b):
                    order[to] = a
                    left += 1
                else:
                    order[to] = b
                    right += 1
                to += 1
            while left < middle:
                order[to] = spare[left]
                left += 1
                to += 1
        size *= 2


NO_FAIRNESS, PREFIXES, EXPOSURE, TREATMENT = 0, 1, 2, 3
SUMMED, LARGEST = 0, 1


class Fairness(NamedTuple):
    """Inputs of the fairness objective: groups, tables of unfairness by count, target blocks."""

    kind: int
    joined: int  # SUMMED or LARGEST over the columns
    bucket: np.ndarray  # per row; rows of one bucket are never compared
    column: np.ndarray  # per bucket: the column that counts it, -1 for none
    first_cut: int
    step: int
    n_cuts: np.ndarray  # per query
    last_cut: np.ndarray  # per query: the last cut if it is not a multiple of the step, else 0
    start: np.ndarray  # query x column: begin of its table, -1 if it does not count
    width: np.ndarray  # query x column: number of counts in the table at each cut
    table: np.ndarray
    attention: np.ndarray  # per position, for exposure and treatment
    slope: np.ndarray  # query x column
    shift: np.ndarray  # query x column
    weight: np.ndarray  # query x column
    targeted: bool
    same_block: bool  # whether the lower of two items of one target block should move up
    target_start: np.ndarray  # per row: begin of its class in target_block
    target_class: np.ndarray  # per row: a number within the query
    target_block: np.ndarray  # per rank within a bucket, best first
    members: np.ndarray  # row x column: memberships, if they replace the buckets; see member_swaps
    divergence: bool  # whether prefixes of memberships are compared by rKL instead of rND


@compiled
def cut_position(t: int, q: int, fair: Fairness) -> int:
    """Return the number of items before the cut point t of a query, counted from 0."""
    if t == fair.n_cuts[q] - 1 and fair.last_cut[q] > 0:
        return fair.last_cut[q]
    return fair.first_cut + t * fair.step


@compiled
def cut_of(position: int, q: int, fair: Fairness) -> int:
    """Return the number of cut points at or before a 0-based position of a query."""
    n_cuts, last = fair.n_cuts[q], fair.last_cut[q]
    if last > 0:
        if position >= last:
            return n_cuts
        n_cuts -= 1
    if position < fair.first_cut:
        return 0
    return min(n_cuts, (position - fair.first_cut) // fair.step + 1)


@compiled
def exposure_distance(kind: int, x: float, slope: float, shift: float) -> float:
    """Return the unfairness of a column with total exposure x."""
    if kind == EXPOSURE:
        return abs(slope * x - shift)
    rest = shift - x
    if x <= 0.0 or rest <= 0.0:
        return 1.0
    ratio = slope * x / rest
    return 1.0 - min(ratio, 1.0 / ratio)


@compiled
def swap_effects(
    q: int,
    n: int,
    order: np.ndarray,
    first: int,
    fair: Fairness,
    more: np.ndarray,
    fewer: np.ndarray,
    exposure: np.ndarray,
    value: np.ndarray,
    grad: np.ndarray,
) -> None:
    """Write prefix sums of the effects of one more and one fewer, and current values, of a query.

    ``grad`` is the desired change of each column: positive if it should rise.
    """
    for c in range(fair.start.shape[1]):
        value[c] = 0.0
        if fair.kind == PREFIXES:
            more[c, 0] = 0.0
            fewer[c, 0] = 0.0
            begin, width = fair.start[q, c], fair.width[q, c]
            count, at = 0, 0
            for t in range(fair.n_cuts[q]):
                cut = cut_position(t, q, fair)
                while at < cut:
                    if fair.column[fair.bucket[first + order[at]]] == c:
                        count += 1
                    at += 1
                up, down = 0.0, 0.0
                if begin >= 0:
                    entry = begin + t * width + count
                    value[c] += fair.table[entry]
                    if count + 1 < width:
                        up = fair.table[entry + 1] - fair.table[entry]
                    if count > 0:
                        down = fair.table[entry - 1] - fair.table[entry]
                more[c, t + 1] = more[c, t] + up
                fewer[c, t + 1] = fewer[c, t] + down
            grad[c] = fewer[c, fair.n_cuts[q]] - more[c, fair.n_cuts[q]]
        else:
            exposure[c] = 0.0
            grad[c] = 0.0
            for at in range(n):
                if fair.column[fair.bucket[first + order[at]]] == c:
                    exposure[c] += fair.attention[at]
            if fair.weight[q, c] > 0.0:
                value[c] = fair.weight[q, c] * exposure_distance(
                    fair.kind, exposure[c], fair.slope[q, c], fair.shift[q, c]
                )
                rest = fair.shift[q, c] - (exposure[c] if fair.kind == TREATMENT else 0.0)
                grad[c] = rest - fair.slope[q, c] * exposure[c]


@compiled
def _change(
    q: int,
    a: int,
    b: int,
    cut_a: int,
    cut_b: int,
    gained: float,
    fair: Fairness,
    more: np.ndarray,
    fewer: np.ndarray,
    exposure: np.ndarray,
    value: np.ndarray,
) -> float:
    """Return the change in unfairness when an item of column a is swapped with a lower one of b.

    Between the cuts ``cut_a`` and ``cut_b`` column a loses one and b gains one; ``gained`` is the
    exposure of the lower position minus that of the higher.
    """
    change_a, change_b = 0.0, 0.0
    if fair.kind == PREFIXES:
        if a >= 0:
            change_a = fewer[a, cut_b] - fewer[a, cut_a]
        if b >= 0:
            change_b = more[b, cut_b] - more[b, cut_a]
    else:
        if a >= 0 and fair.weight[q, a] > 0.0:
            after = exposure_distance(
                fair.kind, exposure[a] + gained, fair.slope[q, a], fair.shift[q, a]
            )
            change_a = fair.weight[q, a] * after - value[a]
        if b >= 0 and fair.weight[q, b] > 0.0:
            after = exposure_distance(
                fair.kind, exposure[b] - gained, fair.slope[q, b], fair.shift[q, b]
            )
            change_b = fair.weight[q, b] * after - value[b]
    if fair.joined == SUMMED:
        return change_a + change_b
    before, after = 0.0, 0.0
    for c in range(len(value)):
        before = max(before, value[c])
        moved = change_a if c == a else change_b if c == b else 0.0
        after = max(after, value[c] + moved)
    return after - before


@compiled
def target_places(
    first: int, order: np.ndarray, fair: Fairness, counter: np.ndarray, block: np.ndarray
) -> None:
    """Write the block of the target list to which the item at each position belongs."""
    n = len(order)
    for at in range(n):
        counter[at] = 0
    for at in range(n):
        row = first + order[at]
        kind = fair.target_class[row]
        block[at] = fair.target_block[fair.target_start[row] + counter[kind]]
        counter[kind] += 1


@compiled(reordered=True)
def two_group_row(
    i: int,
    begin: int,
    n: int,
    share: float,
    targeted: bool,
    same_side: float,
    effect: np.ndarray,
    other: np.ndarray,
    block: np.ndarray,
    weight: np.ndarray,
) -> None:
    """Write the fairness weights of the pairs of position i, for one column counted in prefixes.

    ``same_side`` is the sign of a pair of one target block.
    """
    base = effect[i]
    if targeted:
        own = block[i]
        for j in range(np.uint64(begin), np.uint64(n)):
            side = 1.0 if block[j] > own else -1.0 if block[j] < own else same_side
            weight[j] = share * abs(effect[j] - base) * other[j] * side
    else:
        for j in range(np.uint64(begin), np.uint64(n)):
            weight[j] = share * (effect[j] - base) * other[j]


@compiled
def any_group_row(
    q: int,
    i: int,
    begin: int,
    first: int,
    order: np.ndarray,
    share: float,
    fair: Fairness,
    block: np.ndarray,
    more: np.ndarray,
    fewer: np.ndarray,
    exposure: np.ndarray,
    value: np.ndarray,
    weight: np.ndarray,
) -> None:
    """Write the fairness weights of the pairs of position i, for any metric and groups."""
    bucket = fair.bucket[first + order[i]]
    same_side = -1.0 if fair.same_block else 0.0
    cut = cut_of(i, q, fair)
    for j in range(begin, len(order)):
        other = fair.bucket[first + order[j]]
        if other == bucket:
            weight[j] = 0.0
            continue
        gained = 0.0 if fair.kind == PREFIXES else fair.attention[j] - fair.attention[i]
        columns = fair.column[bucket], fair.column[other]
        change = _change(
            q, *columns, cut, cut_of(j, q, fair), gained, fair, more, fewer, exposure, value
        )
        if fair.targeted:
            side = 1.0 if block[j] > block[i] else -1.0 if block[j] < block[i] else same_side
            weight[j] = share * abs(change) * side
        else:
            weight[j] = share * change


@compiled
def swap_changes(
    q: int, score: np.ndarray, offsets: np.ndarray, fair: Fairness
) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the rows of a query, and the change in unfairness of every swap.

    Entry ``[i, j]`` is for the rows at 0-based positions i < j; 0 for rows of one bucket.
    """
    first, n = offsets[q], offsets[q + 1] - offsets[q]
    order, spare = np.arange(n).astype(np.int32), np.empty(n, dtype=np.int32)
    sort_rows(score[first : first + n], order, spare)
    n_columns, n_cuts = fair.start.shape[1], fair.n_cuts[q]
    more, fewer = np.zeros((n_columns, n_cuts + 1)), np.zeros((n_columns, n_cuts + 1))
    exposure, value = np.zeros(n_columns), np.zeros(n_columns)
    swap_effects(q, n, order, first, fair, more, fewer, exposure, value, np.zeros(n_columns))
    changes = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            a, b = fair.bucket[first + order[i]], fair.bucket[first + order[j]]
            if a != b:
                gained = 0.0 if fair.kind == PREFIXES else fair.attention[j] - fair.attention[i]
                columns = fair.column[a], fair.column[b]
                cuts = cut_of(i, q, fair), cut_of(j, q, fair)
                changes[i, j] = _change(
                    q, *columns, *cuts, gained, fair, more, fewer, exposure, value
                )
    return order, changes
