"""Better lists by exchanging places round in a circle (compiled: shortest paths over places)."""

import math

import numpy as np

from .compiling import compiled

__all__ = ["cancel_cycles"]

#: A gain below this share of the largest value is rounding.
GAIN = 1e-11


@compiled
def _regroup(
    groups: np.ndarray, members: np.ndarray, first: np.ndarray, order: np.ndarray
) -> np.ndarray:
    """Fill the places of each group with its items, best first."""
    counts = np.zeros(len(first), dtype=np.int64)
    for j in range(len(order)):
        g = groups[j]
        order[j] = members[first[g] + counts[g]]
        counts[g] += 1
    return counts


@compiled
def _circle(parent: np.ndarray) -> int:
    """Find a place on a circle of the parents; -1 where there is none."""
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
def _better_circle(
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
    """Search for a circle of moves that gains, by paths that grow until none gets shorter.

    Place ``size`` stands for all places behind the list: who moves there is left out, and the next
    of any group may come from there. ``parent`` says who moves to each place.
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
        at = _circle(parent)
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
    """Improve a list that keeps its bounds until no exchange of places gains.

    Values are given highest first. Item r of a group may stand at places ``release[g, r]`` to
    ``deadline[g, r]``. Gives 1 where the list is proven to be the best for ``1 / log2(1 + j)``, 0
    where the rounds ran out.
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
        at = _better_circle(
            groups, ranks, counts, value, outside, release, deadline, weight, parent
        )
        if at < 0:
            return 1
        before, node = groups.copy(), at
        while True:
            giver = parent[node]
            if node < size:
                groups[node] = (
                    before[giver] if giver < size else _newcomer(counts, outside, release, node)
                )
            node = giver
            if node == at:
                break
    return 0


@compiled
def _newcomer(counts: np.ndarray, outside: np.ndarray, release: np.ndarray, place: int) -> int:
    """Give the group whose next item is the best that may come to a place."""
    best, chosen = -np.inf, -1
    for g in range(len(counts)):
        if not np.isnan(outside[g]) and release[g, counts[g]] <= place and outside[g] > best:
            best, chosen = outside[g], g
    return chosen
