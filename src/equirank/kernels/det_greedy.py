"""Filling places one by one under floors and ceilings of shares (compiled): DetGreedy and kin."""

import numpy as np

from .compiling import compiled

__all__ = ["CONSERVATIVE", "GREEDY", "RELAXED", "det_greedy"]

#: Among the groups below their ceiling: the best item; the group whose ceiling comes due first; the
#: best item among the groups whose ceilings come due first at the same place.
GREEDY, CONSERVATIVE, RELAXED = 0, 1, 2

#: As in prefix_bounds: products and quotients of shares are rounded.
ROUNDING = 1e-9


@compiled
def queues(codes: np.ndarray, begin: int, size: int, head: np.ndarray, after: np.ndarray) -> None:
    """Chain the slots of each group in order: ``head`` per group, ``after`` per slot; -1 ends."""
    head[:] = -1
    for i in range(size - 1, -1, -1):
        group = codes[begin + i]
        after[i] = head[group]
        head[group] = i


@compiled
def _due(place: int, share: float, mode: int) -> float:
    """Give when a group's ceiling comes due; all the same for the greedy rule."""
    if mode == GREEDY:
        return 0.0
    due = np.ceil(place * share - ROUNDING) / share
    return np.ceil(due - ROUNDING) if mode == RELAXED else due


@compiled
def det_greedy(
    codes: np.ndarray,
    offsets: np.ndarray,
    shown: np.ndarray,
    limit: np.ndarray,
    shares: np.ndarray,
    mode: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Fill the places of every list; give the slots chosen and where a floor was missed first.

    Place j goes to the best item among the groups below ``floor(j p)``; if there are none, to a
    group below ``ceil(j p)`` that the rule picks; if there are none of those, to the best item
    left. A group that has run out is passed over. A missed floor (0: none) is one that a list with
    enough items did not keep.
    """
    n_queries, n_groups = shares.shape
    longest = 0
    for q in range(n_queries):
        longest = max(longest, shown[q])
    after = np.empty(longest, dtype=np.int64)
    head = np.empty(n_groups, dtype=np.int64)
    counts = np.empty(n_groups, dtype=np.int64)
    chosen = np.empty(limit.sum(), dtype=np.int64)
    missed = np.zeros(n_queries, dtype=np.int64)
    filled = 0
    for q in range(n_queries):
        begin = offsets[q]
        queues(codes, begin, shown[q], head, after)
        counts[:] = 0
        for place in range(1, limit[q] + 1):
            below, missing, best, fallback = -1, 0, -1, -1
            soonest = np.inf
            for g in range(n_groups):
                item = head[g]
                if item < 0:
                    continue
                if fallback < 0 or item < head[fallback]:
                    fallback = g
                wanted = place * shares[q, g]
                short = int(wanted + ROUNDING) - counts[g]
                if short > 0:
                    missing += short
                    if below < 0 or item < head[below]:
                        below = g
                elif below < 0 and counts[g] < wanted - ROUNDING:
                    due = _due(place, shares[q, g], mode)
                    same = abs(due - soonest) <= ROUNDING * max(1.0, due)
                    if best < 0 or (item < head[best] if same else due < soonest):
                        best, soonest = g, due
            if missing > 1 and missed[q] == 0:
                missed[q] = place
            group = below if below >= 0 else best if best >= 0 else fallback
            chosen[filled] = begin + head[group]
            filled += 1
            head[group] = after[head[group]]
            counts[group] += 1
    return chosen, missed
