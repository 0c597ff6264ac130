"""Random lists: swaps with later positions, and online selection with quotas (compiled)."""

import numpy as np

from .compiled import compiled
from .counted_random import key_of, uniform

__all__ = ["epsilon_swaps", "select_online"]


@compiled
def epsilon_swaps(
    offsets: np.ndarray,
    shown: np.ndarray,
    limit: np.ndarray,
    keys: np.ndarray,
    eps: float,
    n_draws: int,
) -> np.ndarray:
    """Return the new position of each slot (slot x draw), 0 below the limit.

    From the top, position j is swapped with probability ``eps`` with a later position of its list,
    drawn uniformly.
    """
    positions = np.zeros((offsets[-1], n_draws), dtype=np.int32)
    longest = 0
    for q in range(len(shown)):
        longest = max(longest, shown[q])
    at = np.empty(longest, dtype=np.int64)
    for q in range(len(shown)):
        size = shown[q]
        for draw in range(n_draws):
            key = key_of(keys[q], np.uint64(draw))
            for i in range(size):
                at[i] = i
            for j in range(limit[q]):
                if j + 1 < size and uniform(key, np.uint64(2 * j)) < eps:
                    later = j + 1 + int(uniform(key, np.uint64(2 * j + 1)) * (size - 1 - j))
                    at[j], at[later] = at[later], at[j]
                positions[offsets[q] + at[j], draw] = j + 1
    return positions


#: A rank below every item.
NOBODY = np.int64(1) << 40


@compiled
def _arrivals(size: int, key: np.uint64, given: np.ndarray) -> np.ndarray:
    """Return the given order of arrival, or a random one."""
    if len(given) > 0:
        return given
    order = np.arange(size)
    for i in range(size - 1, 0, -1):
        j = int(uniform(key, np.uint64(i)) * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


@compiled
def _keep_best(best: np.ndarray, size: int, rank: int) -> None:
    """Insert a rank into a sorted array of the lowest ranks, in place."""
    if size == 0 or rank >= best[size - 1]:
        return
    at = size - 1
    while at > 0 and best[at - 1] > rank:
        best[at] = best[at - 1]
        at -= 1
    best[at] = rank


@compiled
def _wait(
    rank: int,
    g: int,
    codes: np.ndarray,
    listed: np.ndarray,
    held: np.ndarray,
    free_slots: np.ndarray,
) -> int:
    """Add a candidate to the waiting list of the best that fit, and return its new length.

    ``listed`` contains ranks, -1 beyond its end; ``held`` the count of each group, at most
    ``free_slots``.
    """
    length = held.sum()
    if free_slots[g] == 0 or len(listed) == 0:
        return length
    full_group = held[g] >= free_slots[g]
    if not full_group and length < len(listed):
        listed[length] = rank
        held[g] += 1
        return length + 1
    worst, at = -1, -1
    for i in range(length):
        if listed[i] > worst and (not full_group or codes[listed[i]] == g):
            worst, at = listed[i], i
    if rank < worst:
        held[codes[worst]] -= 1
        held[g] += 1
        listed[at] = rank
    return length


@compiled
def _possible(left: np.ndarray, due: np.ndarray, free_slots: np.ndarray, held: np.ndarray) -> int:
    """Return how many candidates still to arrive could fill a free slot."""
    total = 0
    for g in range(len(left)):
        total += max(0, min(free_slots[g] - held[g], left[g] - due[g]))
    return total


@compiled
def _select_one(
    codes: np.ndarray,
    arrival: np.ndarray,
    floor: np.ndarray,
    ceiling: np.ndarray,
    k: int,
    warm_up: float,
    deferred: bool,
    taken: np.ndarray,
) -> None:
    """Select k items of one list; ``taken`` marks their ranks.

    ``floor[g]`` items of each group are selected by a secretary rule: the first part of the group
    is only observed, then an item that beats the worst of the best observed is selected, and that
    worst is removed. The remaining items come from a waiting list of the best, or from the same
    rule over all groups.
    """
    n, n_groups = len(codes), len(floor)
    left = np.zeros(n_groups, dtype=np.int64)
    for code in codes:
        left[code] += 1
    observed = np.empty(n_groups, dtype=np.int64)
    for g in range(n_groups):
        observed[g] = int(left[g] * warm_up)
    free = k - floor.sum()
    due = floor.copy()
    free_slots = ceiling - floor
    best = np.full((n_groups, floor.max() + 1), NOBODY, dtype=np.int64)
    best_of_all = np.full(free + 1, NOBODY, dtype=np.int64)
    listed = np.full(free, -1, dtype=np.int64)
    held = np.zeros(n_groups, dtype=np.int64)
    for step in range(n):
        rank = arrival[step]
        g = codes[rank]
        left[g] -= 1
        if observed[g] > 0:
            observed[g] -= 1
            wanted = False
            _keep_best(best[g], floor[g], rank)
        else:
            wanted = due[g] > 0 and rank < best[g, due[g] - 1]
        if due[g] > 0 and (wanted or left[g] < due[g]):
            taken[rank] = True
            due[g] -= 1
        elif deferred:
            _wait(rank, g, codes, listed, held, free_slots)
        elif free > 0:
            if step < int(n * warm_up):
                wanted = False
                _keep_best(best_of_all, k - floor.sum(), rank)
            else:
                wanted = rank < best_of_all[free - 1]
            forced = _possible(left, due, free_slots, held) < free
            if held[g] < free_slots[g] and (wanted or forced):
                taken[rank] = True
                held[g] += 1
                free -= 1
    for i in range(len(listed)):
        if listed[i] >= 0:
            taken[listed[i]] = True


@compiled
def select_online(
    codes: np.ndarray,
    offsets: np.ndarray,
    shown: np.ndarray,
    limit: np.ndarray,
    floors: np.ndarray,
    ceilings: np.ndarray,
    given: np.ndarray,
    keys: np.ndarray,
    warm_up: float,
    deferred: bool,
    n_draws: int,
) -> np.ndarray:
    """Return the position of each slot among the selected (slot x draw), 0 if not selected.

    Parameters
    ----------
    codes : ndarray
        Group of each item, best first, list after list.
    offsets, shown, limit : ndarray of int64
        Begin of each list, number of candidates, and number to select.
    floors, ceilings : ndarray of int64
        Per list and group; floors at most ceilings, ceilings at most the size of the group, and the
        limit between their sums.
    given : ndarray of int64
        Order of arrival as slots within each list, list by list; empty for random orders.
    keys : ndarray of uint64
        The seed of each list.
    warm_up : float
        The share that is only observed.
    deferred : bool
        Whether the free slots are filled at the end.
    n_draws : int
        Number of orders of arrival.
    """
    positions = np.zeros((offsets[-1], n_draws), dtype=np.int32)
    for q in range(len(shown)):
        begin, size = offsets[q], shown[q]
        list_codes = codes[begin : begin + size]
        order = given[begin : begin + size] if len(given) > 0 else given
        for draw in range(n_draws):
            arrival = _arrivals(size, key_of(keys[q], np.uint64(draw)), order)
            taken = np.zeros(size, dtype=np.bool_)
            _select_one(
                list_codes, arrival, floors[q], ceilings[q], limit[q], warm_up, deferred, taken
            )
            position = 0
            for i in range(size):
                if taken[i]:
                    position += 1
                    positions[begin + i, draw] = position
    return positions
