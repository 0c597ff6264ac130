"""Lists filled from one queue of items per group (compiled)."""

import numpy as np

from .compiled import compiled

__all__ = [
    "CONSERVATIVE",
    "GREEDY",
    "RELAXED",
    "det_const_sort",
    "det_greedy",
    "merge_by_floors",
    "merge_in_region",
]


#: Choice among groups below their upper bound: the best item; the group whose bound is due first;
#: the best item among the groups whose bounds are due first at the same position.
GREEDY, CONSERVATIVE, RELAXED = 0, 1, 2

#: Tolerance for products and quotients of shares, which are rounded.
ROUNDING = 1e-9


@compiled
def queues(codes: np.ndarray, begin: int, size: int, head: np.ndarray, after: np.ndarray) -> None:
    """Write linked lists of the slots of each group: ``head`` per group, ``after`` per slot."""
    head[:] = -1
    for i in range(size - 1, -1, -1):
        group = codes[begin + i]
        after[i] = head[group]
        head[group] = i


@compiled
def _longest(shown: np.ndarray) -> int:
    longest = 0
    for q in range(len(shown)):
        longest = max(longest, shown[q])
    return longest


@compiled
def _due(position: int, share: float, mode: int) -> float:
    """Return when the upper bound of a group is due; 0 for the greedy rule."""
    if mode == GREEDY:
        return 0.0
    due = np.ceil(position * share - ROUNDING) / share
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
    """Return the slots chosen for every list, and the first position with a missed lower bound.

    Position j is filled by the best item among the groups below ``floor(j p)``; if there are none,
    by a group below ``ceil(j p)`` that the rule chooses; otherwise by the best remaining item.
    Groups without remaining items are skipped. A missed bound (0: none) is one that a list with
    enough items did not satisfy.
    """
    n_queries, n_groups = shares.shape
    after = np.empty(_longest(shown), dtype=np.int64)
    head = np.empty(n_groups, dtype=np.int64)
    counts = np.empty(n_groups, dtype=np.int64)
    chosen = np.empty(limit.sum(), dtype=np.int64)
    missed = np.zeros(n_queries, dtype=np.int64)
    filled = 0
    for q in range(n_queries):
        begin = offsets[q]
        queues(codes, begin, shown[q], head, after)
        counts[:] = 0
        for position in range(1, limit[q] + 1):
            below, missing, best, fallback = -1, 0, -1, -1
            soonest = np.inf
            for g in range(n_groups):
                item = head[g]
                if item < 0:
                    continue
                if fallback < 0 or item < head[fallback]:
                    fallback = g
                wanted = position * shares[q, g]
                short = int(wanted + ROUNDING) - counts[g]
                if short > 0:
                    missing += short
                    if below < 0 or item < head[below]:
                        below = g
                elif below < 0 and counts[g] < wanted - ROUNDING:
                    due = _due(position, shares[q, g], mode)
                    same = abs(due - soonest) <= ROUNDING * max(1.0, due)
                    if best < 0 or (item < head[best] if same else due < soonest):
                        best, soonest = g, due
            if missing > 1 and missed[q] == 0:
                missed[q] = position
            group = below if below >= 0 else best if best >= 0 else fallback
            chosen[filled] = begin + head[group]
            filled += 1
            head[group] = after[head[group]]
            counts[group] += 1
    return chosen, missed


@compiled
def _next_due(count: int, share: float) -> int:
    """Return the smallest j with ``floor(j share) > count``."""
    j = max(1, int((count + 1) / share) - 1)
    while int(j * share + ROUNDING) <= count:
        j += 1
    return j


@compiled
def det_const_sort(
    codes: np.ndarray, offsets: np.ndarray, shown: np.ndarray, limit: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """Return the slots chosen for every list.

    When ``floor(j p)`` of groups increases, their next items are appended, best first, with
    position j as their deadline; each then moves up past worse items whose deadlines allow it.
    Items of groups without a share come last.
    """
    n_queries, n_groups = shares.shape
    after = np.empty(_longest(shown), dtype=np.int64)
    head = np.empty(n_groups, dtype=np.int64)
    due = np.empty(n_groups, dtype=np.int64)
    counts = np.empty(n_groups, dtype=np.int64)
    rising = np.empty(n_groups, dtype=np.int64)
    item = np.empty(len(after), dtype=np.int64)
    deadline = np.empty(len(after), dtype=np.int64)
    chosen = np.empty(limit.sum(), dtype=np.int64)
    done = 0
    for q in range(n_queries):
        begin = offsets[q]
        queues(codes, begin, shown[q], head, after)
        counts[:] = 0
        for g in range(n_groups):
            due[g] = _next_due(0, shares[q, g]) if head[g] >= 0 and shares[q, g] > 0.0 else -1
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
                due[g] = _next_due(counts[g], shares[q, g]) if head[g] >= 0 else -1
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


@compiled
def merge_by_floors(
    codes: np.ndarray,
    offsets: np.ndarray,
    shown: np.ndarray,
    limit: np.ndarray,
    floors: np.ndarray,
    start: np.ndarray,
    group: int,
) -> np.ndarray:
    """Return the slots of each list in a new order: best first, but one group has minimums.

    The minimum count of the group in prefix j of list q is ``floors[start[q] + j - 1]``. If the
    group has no items left, the best other item is chosen.
    """
    chosen = np.empty(limit.sum(), dtype=np.int64)
    filled = 0
    for q in range(len(limit)):
        begin, end = offsets[q], offsets[q] + shown[q]
        inside, outside, count = begin, begin, 0
        while inside < end and codes[inside] != group:
            inside += 1
        while outside < end and codes[outside] == group:
            outside += 1
        for j in range(limit[q]):
            due = count < floors[start[q] + j]
            if inside < end and (due or inside < outside):
                chosen[filled] = inside
                count += 1
                inside += 1
                while inside < end and codes[inside] != group:
                    inside += 1
            else:
                chosen[filled] = outside
                outside += 1
                while outside < end and codes[outside] == group:
                    outside += 1
            filled += 1
    return chosen


@compiled
def merge_in_region(
    codes: np.ndarray,
    begin: int,
    shown: int,
    limit: int,
    kind: np.ndarray,
    n_protected: int,
    reach: np.ndarray,
) -> tuple[np.ndarray, int]:
    """Return the slots of one list in a new order: the best item whose counts can still pass.

    ``kind[code]`` is the index of a group among the protected, -1 for others. ``reach`` is the
    flat region of `fa_star_ir_regions.reachable`. Also returns the first prefix that fails (0:
    none); from there on the best protected items come first.
    """
    n_groups = len(kind)
    head = np.empty(n_groups, dtype=np.int64)
    after = np.empty(shown, dtype=np.int64)
    queues(codes, begin, shown, head, after)
    width = 1
    for _ in range(n_protected - 1):
        width *= limit + 1
    counts = np.zeros(n_protected, dtype=np.int64)
    chosen = np.empty(limit, dtype=np.int64)
    missed = 0
    for j in range(limit):
        best, fallback = -1, -1
        for g in range(n_groups):
            item = head[g]
            if item < 0:
                continue
            better = fallback < 0 or (kind[g] >= 0 and kind[fallback] < 0)
            same = fallback >= 0 and (kind[g] >= 0) == (kind[fallback] >= 0)
            if better or (same and item < head[fallback]):
                fallback = g
            if best >= 0 and head[best] < item:
                continue
            if kind[g] >= 0:
                counts[kind[g]] += 1
            at = 0
            for protected in range(1, n_protected):
                at = at * (limit + 1) + counts[protected]
            if reach[j * width + at] <= counts[0]:
                best = g
            if kind[g] >= 0:
                counts[kind[g]] -= 1
        if best < 0:
            best = fallback
            if missed == 0:
                missed = j + 1
        if kind[best] >= 0:
            counts[kind[best]] += 1
        chosen[j] = begin + head[best]
        head[best] = after[head[best]]
    return chosen, missed
