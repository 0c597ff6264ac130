"""Sorting under deadlines (compiled): DetConstSort."""

import numpy as np

from .compiling import compiled
from .det_greedy import queues

__all__ = ["det_const_sort"]

ROUNDING = 1e-9


@compiled
def _due(count: int, share: float) -> int:
    """Give the smallest j with ``floor(j share) > count``."""
    j = max(1, int((count + 1) / share) - 1)
    while int(j * share + ROUNDING) <= count:
        j += 1
    return j


@compiled
def det_const_sort(
    codes: np.ndarray, offsets: np.ndarray, shown: np.ndarray, limit: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """Fill the places of every list; give the slots chosen.

    Whenever ``floor(j p)`` of groups rises, their next items are put at the end, best first, with
    place j as their deadline; each then climbs past worse items that may still wait. Items of
    groups without a share come last.
    """
    n_queries, n_groups = shares.shape
    longest = 0
    for q in range(n_queries):
        longest = max(longest, shown[q])
    after = np.empty(longest, dtype=np.int64)
    head = np.empty(n_groups, dtype=np.int64)
    due = np.empty(n_groups, dtype=np.int64)
    counts = np.empty(n_groups, dtype=np.int64)
    rising = np.empty(n_groups, dtype=np.int64)
    item = np.empty(longest, dtype=np.int64)
    deadline = np.empty(longest, dtype=np.int64)
    chosen = np.empty(limit.sum(), dtype=np.int64)
    done = 0
    for q in range(n_queries):
        begin = offsets[q]
        queues(codes, begin, shown[q], head, after)
        counts[:] = 0
        for g in range(n_groups):
            due[g] = _due(0, shares[q, g]) if head[g] >= 0 and shares[q, g] > 0.0 else -1
        filled = 0
        while filled < limit[q]:
            now, n_rising = -1, 0
            for g in range(n_groups):
                if due[g] >= 0 and (now < 0 or due[g] < now):
                    now = due[g]
            if now < 0:
                break
            for g in range(n_groups):
                if due[g] == now:
                    at = n_rising
                    while at > 0 and head[rising[at - 1]] > head[g]:
                        rising[at] = rising[at - 1]
                        at -= 1
                    rising[at] = g
                    n_rising += 1
            for r in range(n_rising):
                g = rising[r]
                new = head[g]
                at = filled
                while at > 0 and item[at - 1] > new and deadline[at - 1] > at:
                    item[at], deadline[at] = item[at - 1], deadline[at - 1]
                    at -= 1
                item[at], deadline[at] = new, now
                filled += 1
                counts[g] += 1
                head[g] = after[new]
                due[g] = _due(counts[g], shares[q, g]) if head[g] >= 0 else -1
        while filled < limit[q]:
            best = -1
            for g in range(n_groups):
                if head[g] >= 0 and (best < 0 or head[g] < head[best]):
                    best = g
            item[filled] = head[best]
            head[best] = after[head[best]]
            filled += 1
        for i in range(limit[q]):
            chosen[done] = begin + item[i]
            done += 1
    return chosen
