"""Change in the unfairness of a list when two items are swapped, with fractional memberships.

The count of a group in a prefix is the sum of its memberships, numbers in [0, 1]. A swap of an item
with a lower one changes it by the difference d of their memberships at every cut between them. For
rND, ``|count - p k| / k``, the change is the slope times d wherever ``|d| <= |count - p k|``: one
prefix sum of slopes, and single cuts for the few others. For rKL every cut is computed.
"""

from typing import NamedTuple

import numpy as np

from .compiled import compiled
from .swaps import (
    PREFIXES,
    SUMMED,
    TREATMENT,
    Fairness,
    cut_of,
    cut_position,
    exposure_distance,
    sort_rows,
)

__all__ = ["MemberState", "member_changes", "member_effects", "member_row", "prefix_distance"]


class MemberState(NamedTuple):
    """State of a query in its current order; arrays per column, and per cut where noted."""

    counts: np.ndarray  # column x cut: the sum of memberships in the prefix
    slope: np.ndarray  # column x cut: prefix sums of the slopes of rND
    near: np.ndarray  # column x cut: the next cut whose count is less than 1 from its target
    exposure: np.ndarray
    value: np.ndarray


@compiled
def prefix_distance(count: float, cut: float, p: float, divergence: bool) -> float:
    """Return ``|count/cut - p|``, or the divergence in bits of two groups, at a cut."""
    share = min(max(count / cut, 0.0), 1.0)
    if not divergence:
        return abs(share - p)
    total = 0.0
    if share > 0.0 and p > 0.0:
        total += share * np.log2(share / p)
    if share < 1.0 and p < 1.0:
        total += (1.0 - share) * np.log2((1.0 - share) / (1.0 - p))
    return total


@compiled
def member_effects(
    q: int,
    n: int,
    order: np.ndarray,
    first: int,
    fair: Fairness,
    state: MemberState,
    grad: np.ndarray,
) -> None:
    """Write the state of a query.

    ``grad`` is the desired change of each column: positive if it should rise.
    """
    count, slope, near, exposure, value = state
    for c in range(fair.members.shape[1]):
        value[c], grad[c], exposure[c] = 0.0, 0.0, 0.0
        if fair.kind != PREFIXES:
            for at in range(n):
                exposure[c] += fair.members[first + order[at], c] * fair.attention[at]
            if fair.weight[q, c] > 0.0:
                value[c] = fair.weight[q, c] * exposure_distance(
                    fair.kind, exposure[c], fair.slope[q, c], fair.shift[q, c]
                )
                rest = fair.shift[q, c] - (exposure[c] if fair.kind == TREATMENT else 0.0)
                grad[c] = rest - fair.slope[q, c] * exposure[c]
            continue
        p, scale = fair.slope[q, c], fair.weight[q, c]
        total, at, before = 0.0, 0, 0.0
        slope[c, 0] = 0.0
        for t in range(fair.n_cuts[q]):
            cut = cut_position(t, q, fair)
            while at < cut:
                total += fair.members[first + order[at], c]
                at += 1
            weight = scale * fair.attention[cut - 1]
            value[c] += weight * prefix_distance(total, cut, p, fair.divergence)
            lack = p * cut - total
            side = 1.0 if lack < 0.0 else -1.0 if lack > 0.0 else 0.0
            before += weight * side / cut
            count[c, t] = total
            slope[c, t + 1] = before
            more = prefix_distance(total + 1.0, cut, p, fair.divergence)
            fewer = prefix_distance(total - 1.0, cut, p, fair.divergence)
            grad[c] += weight * (fewer - more)
        near[c, fair.n_cuts[q]] = fair.n_cuts[q]
        for t in range(fair.n_cuts[q] - 1, -1, -1):
            away = abs(count[c, t] - p * cut_position(t, q, fair))
            near[c, t] = t if away < 1.0 or fair.divergence else near[c, t + 1]


class Swap(NamedTuple):
    """Two positions whose rows are exchanged."""

    cut_a: int  # number of cuts at or before the upper position
    cut_b: int  # number of cuts at or before the lower position
    gained: float  # the attention of the lower position minus that of the upper one


@compiled
def _column_change(
    q: int,
    c: int,
    d: float,
    swap: Swap,
    fair: Fairness,
    state: MemberState,
) -> float:
    """Return the change of a column whose count rises by d at the cuts between two positions."""
    count, slope, near, exposure, value = state
    cut_a, cut_b, gained = swap
    scale = fair.weight[q, c]
    if scale <= 0.0 or d == 0.0:
        return 0.0
    if fair.kind != PREFIXES:
        after = exposure_distance(
            fair.kind, exposure[c] - d * gained, fair.slope[q, c], fair.shift[q, c]
        )
        return scale * after - value[c]
    p = fair.slope[q, c]
    change = 0.0 if fair.divergence else d * (slope[c, cut_b] - slope[c, cut_a])
    t = near[c, cut_a]
    while t < cut_b:
        cut = cut_position(t, q, fair)
        away = count[c, t] - p * cut
        weight = scale * fair.attention[cut - 1]
        if fair.divergence:
            after = prefix_distance(count[c, t] + d, cut, p, True)
            change += weight * (after - prefix_distance(count[c, t], cut, p, True))
        elif abs(d) > abs(away):
            side = 1.0 if away > 0.0 else -1.0 if away < 0.0 else 0.0
            change += weight / cut * (abs(away + d) - abs(away) - side * d)
        t = near[c, t + 1]
    return change


@compiled
def _change(
    q: int, higher: int, lower: int, swap: Swap, fair: Fairness, state: MemberState
) -> float:
    """Return the change in unfairness when a row is swapped with a lower one."""
    total, before, after = 0.0, 0.0, 0.0
    for c in range(fair.members.shape[1]):
        d = fair.members[lower, c] - fair.members[higher, c]
        moved = _column_change(q, c, d, swap, fair, state)
        total += moved
        value = state.value[c]
        before, after = max(before, value), max(after, value + moved)
    return total if fair.joined == SUMMED else after - before


@compiled
def member_row(
    q: int,
    i: int,
    begin: int,
    first: int,
    order: np.ndarray,
    share: float,
    fair: Fairness,
    state: MemberState,
    weight: np.ndarray,
) -> None:
    """Write the fairness weights of the pairs of position i."""
    cut, higher = cut_of(i, q, fair), first + order[i]
    for j in range(begin, len(order)):
        gained = 0.0 if fair.kind == PREFIXES else fair.attention[j] - fair.attention[i]
        swap = Swap(cut, cut_of(j, q, fair), gained)
        weight[j] = share * _change(q, higher, first + order[j], swap, fair, state)


@compiled
def member_changes(
    q: int, score: np.ndarray, offsets: np.ndarray, fair: Fairness
) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the rows of a query, and the change in unfairness of every swap."""
    first, n = offsets[q], offsets[q + 1] - offsets[q]
    order, spare = np.arange(n).astype(np.int32), np.empty(n, dtype=np.int32)
    sort_rows(score[first : first + n], order, spare)
    n_columns, n_cuts = fair.members.shape[1], fair.n_cuts[q]
    count, slope = np.zeros((n_columns, n_cuts + 1)), np.zeros((n_columns, n_cuts + 1))
    near = np.zeros((n_columns, n_cuts + 1), dtype=np.int64)
    state = MemberState(count, slope, near, np.zeros(n_columns), np.zeros(n_columns))
    member_effects(q, n, order, first, fair, state, np.zeros(n_columns))
    changes = np.zeros((n, n))
    for i in range(n):
        member_row(q, i, i + 1, first, order, 1.0, fair, state, changes[i])
    return order, changes
