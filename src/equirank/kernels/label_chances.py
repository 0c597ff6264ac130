"""Lists that keep minimum counts, in expectation or with a probability, of uncertain groups.

``share`` is the probability that each item counts. The count of a prefix is a sum of independent
draws (Poisson-binomial); its distribution follows from one step per item, on the counts from 0 to
the largest minimum, which stands for all larger ones. What a prefix reaches depends on the mode:

- `EXPECTED`: 1 if the expected count is at least the minimum, else 0;
- `PREFIX`: the probability that this prefix holds the minimum;
- `JOINT`: the probability that this and all earlier prefixes hold it; counts below the minimum are
  removed after each step.

Several conditions (columns of ``share`` and ``floors``) each have their own level. Minimums must
not decrease from one prefix to the next. Items are sorted by value, best first.
"""

from typing import NamedTuple

import numpy as np

from .compiled import compiled

__all__ = [
    "EXPECTED",
    "JOINT",
    "PREFIX",
    "Minimums",
    "blend",
    "chances",
    "exchange",
    "greedy_list",
    "lack",
    "reached",
    "repair",
    "worth",
]

EXPECTED, PREFIX, JOINT = 0, 1, 2
#: Largest amount by which an expected count may miss its minimum: the tolerance of HiGHS.
TOLERANCE = 1e-6

#: Largest rounding error of a probability that still counts as reached.
ROUNDING = 1e-12
#: Halvings of the interval of the weight in `blend`.
HALVINGS = 50
#: Largest number of passes of `exchange`; every pass but the last one raises the value.
PASSES = 100


class Minimums(NamedTuple):
    """What the prefixes of a list must reach, by condition."""

    share: np.ndarray  # item x condition: the probability that the item counts
    floors: np.ndarray  # prefix x condition
    level: np.ndarray  # prefix x condition: what each prefix must reach
    mode: int


@compiled
def _add(state: np.ndarray, p: float, top: int) -> None:
    """Add one item to the distribution of the count; ``top`` stands for all larger counts."""
    state[top] += state[top - 1] * p if top > 0 else 0.0
    for c in range(top - 1, 0, -1):
        state[c] = state[c] * (1.0 - p) + state[c - 1] * p
    if top > 0:
        state[0] *= 1.0 - p


@compiled
def _tail(state: np.ndarray, floor: int) -> float:
    """Return the probability of at least ``floor``."""
    total = 0.0
    for c in range(len(state) - 1, floor - 1, -1):
        total += state[c]
    return total


@compiled
def _advance(state: np.ndarray, p: float, floor: int, mode: int) -> float:
    """Add one item and return what the prefix reaches; see the module."""
    if mode == EXPECTED:
        state[0] += p
        return 1.0 if state[0] >= floor - TOLERANCE else 0.0
    _add(state, p, len(state) - 1)
    if mode == JOINT:
        state[:floor] = 0.0
    return _tail(state, floor)


@compiled
def _empty(state: np.ndarray, mode: int) -> None:
    """Write the state of an empty list."""
    state[:] = 0.0
    if mode != EXPECTED:
        state[0] = 1.0


@compiled
def chances(share: np.ndarray, floors: np.ndarray, mode: int) -> np.ndarray:
    """Return what the first 1, 2, ... items reach, for one condition; see the module."""
    state = np.zeros(floors[-1] + 1 if len(floors) else 1)
    _empty(state, mode)
    found = np.ones(len(floors))
    for j in range(len(floors)):
        found[j] = _advance(state, share[j], floors[j], mode)
    return found


@compiled
def reached(order: np.ndarray, need: Minimums) -> bool:
    """Return whether a list reaches the probability of every prefix and condition."""
    share, floors, level, mode = need
    for g in range(share.shape[1]):
        state = np.zeros(floors[-1, g] + 1)
        _empty(state, mode)
        for j in range(len(order)):
            found = _advance(state, share[order[j], g], floors[j, g], mode)
            if found < level[j, g] - ROUNDING:
                return False
    return True


@compiled
def lack(order: np.ndarray, need: Minimums) -> float:
    """Return how much a list misses in all: of counts if expected, else of probability."""
    share, floors, level, mode = need
    total = 0.0
    for g in range(share.shape[1]):
        state = np.zeros(floors[-1, g] + 1)
        _empty(state, mode)
        for j in range(len(order)):
            found = _advance(state, share[order[j], g], floors[j, g], mode)
            if mode == EXPECTED:
                total += max(0.0, floors[j, g] - TOLERANCE - state[0])
            elif mode == PREFIX or j + 1 == len(order):
                total += max(0.0, level[j, g] - ROUNDING - found)
    return total


@compiled
def repair(order: np.ndarray, need: Minimums) -> float:
    """Change a list in place until it holds or no swap of two items helps; return what it misses.

    At each position, the swap with another position or with an item that is left out is made that
    misses least. With one condition this is not needed: `blend` finds a list if there is one.
    """
    k, n = len(order), len(need.share)
    full = np.empty(n, dtype=np.int64)
    full[:k] = order
    used = np.zeros(n, dtype=np.bool_)
    used[order] = True
    at = k
    for item in range(n):
        if not used[item]:
            full[at] = item
            at += 1
    now = lack(full[:k], need)
    for _ in range(PASSES):
        before = now
        for i in range(k):
            best, chosen = now, -1
            for j in range(i + 1, n):
                full[i], full[j] = full[j], full[i]
                found = lack(full[:k], need)
                full[i], full[j] = full[j], full[i]
                if found < best - ROUNDING:
                    best, chosen = found, j
            if chosen >= 0:
                full[i], full[chosen] = full[chosen], full[i]
                now = best
            if now <= 0.0:
                break
        if now <= 0.0 or now >= before:
            break
    order[:] = full[:k]
    return now


@compiled
def worth(order: np.ndarray, value: np.ndarray) -> float:
    """Return the discounted value of a list, ``sum of value / log2(1 + position)``."""
    total = 0.0
    for j in range(len(order)):
        total += value[order[j]] / np.log2(j + 2.0)
    return total


@compiled
def _copied(states: np.ndarray, g: int, need: Minimums) -> np.ndarray:
    """Return a copy of the state of a condition, in the last row of the states."""
    width = need.floors[-1, g] + 1
    state = states[-1, :width]
    state[:] = states[g, :width]
    return state


@compiled
def _finishes(
    first: int,
    at: int,
    used: np.ndarray,
    finish: np.ndarray,
    states: np.ndarray,
    need: Minimums,
) -> bool:
    """Return whether a list with ``first`` at position ``at`` can be finished in a given order."""
    share, floors, level, mode = need
    for g in range(share.shape[1]):
        state = _copied(states, g, need)
        item, following, top = first, 0, floors[-1, g]
        for j in range(at, len(floors)):
            if _advance(state, share[item, g], floors[j, g], mode) < level[j, g] - ROUNDING:
                return False
            if j + 1 == len(floors) or (mode != PREFIX and floors[j, g] == top):
                break
            while used[finish[following]] or finish[following] == first:
                following += 1
            item = finish[following]
            following += 1
    return True


@compiled
def greedy_list(
    finish: np.ndarray,
    key: np.ndarray,
    need: Minimums,
) -> np.ndarray:
    """Return the list that takes at each position the best item with which it can be finished.

    ``finish`` is the order in which lists are finished, which itself must reach the probability;
    ``key`` is what it is sorted by. An item with at most the key of one that failed is not tried.
    """
    share, floors, _, mode = need
    k, n, n_conditions = len(floors), len(share), share.shape[1]
    width = floors[-1].max() + 1
    states = np.zeros((n_conditions + 1, width))  # the last row is spare
    for g in range(n_conditions):
        _empty(states[g], mode)
    used = np.zeros(n, dtype=np.bool_)
    order = np.empty(k, dtype=np.int64)
    begin = 0
    for at in range(k):
        while used[begin]:
            begin += 1
        failed, chosen = -np.inf, -1
        for item in range(begin, n):
            if used[item] or key[item] <= failed:
                continue
            if _finishes(item, at, used, finish, states, need):
                chosen = item
                break
            failed = key[item]
        if chosen < 0:  # rounding: the rest of the finishing order
            for item in finish:
                if not used[item]:
                    chosen = item
                    break
        order[at] = chosen
        used[chosen] = True
        for g in range(n_conditions):
            state = states[g, : floors[-1, g] + 1]
            _advance(state, share[chosen, g], floors[at, g], mode)
    return order


@compiled
def blend(
    value: np.ndarray,
    gain: np.ndarray,
    need: Minimums,
) -> tuple[np.ndarray, float]:
    """Return the list sorted by ``value + weight gain`` of the least weight, by bisection.

    The weight is NaN if no weight reaches the probability. If only an infinite one does, the list
    is sorted by ``gain``, then by value.
    """
    k = len(need.floors)
    order = np.arange(k)
    if reached(order, need):
        return order, 0.0
    last = np.argsort(-gain, kind="mergesort")[:k]
    span = max(value[0] - value[-1], 1e-300)
    low, high, found = 0.0, span, False
    for _ in range(60):
        order = np.argsort(-(value + high * gain), kind="mergesort")[:k]
        if reached(order, need):
            found = True
            break
        low, high = high, 2.0 * high
    if not found:
        good = reached(last, need)
        return last, np.inf if good else np.nan
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        tried = np.argsort(-(value + middle * gain), kind="mergesort")[:k]
        if reached(tried, need):
            order, high = tried, middle
        else:
            low = middle
    return order, high


@compiled
def _chances_behind(order: np.ndarray, need: Minimums, behind: np.ndarray) -> None:
    """Write the probability that all later prefixes hold, by condition, position and count."""
    share, floors, _, _ = need
    k = len(order)
    for g in range(share.shape[1]):
        top = floors[-1, g]
        behind[g, k, :] = 1.0
        for j in range(k - 1, -1, -1):
            p = share[order[j], g]
            for c in range(top + 1):
                more, same = min(c + 1, top), c
                hit = behind[g, j + 1, more] if more >= floors[j, g] else 0.0
                miss = behind[g, j + 1, same] if same >= floors[j, g] else 0.0
                behind[g, j, c] = p * hit + (1.0 - p) * miss


@compiled
def _holds_jointly(
    items: np.ndarray,
    at: int,
    states: np.ndarray,
    need: Minimums,
    behind: np.ndarray,
) -> bool:
    """Return whether the list holds jointly with other items at the positions from ``at`` on."""
    share, floors, level, _ = need
    for g in range(share.shape[1]):
        state = _copied(states, g, need)
        for j in range(len(items)):
            _advance(state, share[items[j], g], floors[at + j, g], JOINT)
        total = 0.0
        for c in range(len(state)):
            total += state[c] * behind[g, at + len(items), c]
        if total < level[-1, g] - ROUNDING:
            return False
    return True


@compiled
def _holds_each(
    items: np.ndarray,
    at: int,
    order: np.ndarray,
    states: np.ndarray,
    need: Minimums,
    last: int,
) -> bool:
    """Return whether prefixes up to ``last`` hold with other items from ``at`` on."""
    share, floors, level, mode = need
    for g in range(share.shape[1]):
        state = _copied(states, g, need)
        for j in range(at, last):
            item = items[j - at] if j - at < len(items) else order[j]
            if _advance(state, share[item, g], floors[j, g], mode) < level[j, g] - ROUNDING:
                return False
    return True


@compiled
def exchange(
    order: np.ndarray,
    value: np.ndarray,
    need: Minimums,
) -> None:
    """Improve a list in place: swap in better items and exchange neighbours while it holds.

    Each pass goes from the first position to the last. Every change raises the discounted value.
    """
    share, floors, _, mode = need
    k, n, n_conditions = len(order), len(value), share.shape[1]
    width = floors[-1].max() + 1
    behind = np.ones((n_conditions, k + 1, width)) if mode == JOINT else np.ones((0, 0, 0))
    states = np.zeros((n_conditions + 1, width))  # the last row is spare
    used = np.zeros(n, dtype=np.bool_)
    used[order] = True
    one, two = np.empty(1, dtype=np.int64), np.empty(2, dtype=np.int64)
    for _ in range(PASSES):
        changed = False
        if mode == JOINT:
            _chances_behind(order, need, behind)
        for g in range(n_conditions):
            _empty(states[g], mode)
        for at in range(k):
            failed = -1.0
            for item in range(n):
                if value[item] <= value[order[at]]:
                    break
                if used[item] or (n_conditions == 1 and share[item, 0] <= failed):
                    continue
                one[0] = item
                if mode == JOINT:
                    good = _holds_jointly(one, at, states, need, behind)
                else:
                    good = _holds_each(one, at, order, states, need, k)
                if good:
                    used[order[at]], used[item] = False, True
                    order[at] = item
                    changed = True
                    break
                failed = max(failed, share[item, 0])
            if at + 1 < k and value[order[at + 1]] > value[order[at]]:
                two[0], two[1] = order[at + 1], order[at]
                if mode == JOINT:
                    good = _holds_jointly(two, at, states, need, behind)
                else:
                    good = _holds_each(two, at, order, states, need, at + 1)
                if good:
                    order[at], order[at + 1] = two[0], two[1]
                    changed = True
            for g in range(n_conditions):
                state = states[g, : floors[-1, g] + 1]
                _advance(state, share[order[at], g], floors[at, g], mode)
        if not changed:
            break
