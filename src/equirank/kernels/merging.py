"""Merging groups by score where every prefix has minimum counts (compiled)."""

import numpy as np

from .compiling import compiled
from .det_greedy import queues

__all__ = ["merge_by_floors", "merge_in_region"]


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
    """Give the slots of each list in their new order, the best next unless one group falls short.

    The minimum count of the group in prefix j of list q is ``floors[start[q] + j - 1]``. Where the
    group has run out the best of the others is taken.
    """
    chosen = np.empty(limit.sum(), dtype=np.int64)
    filled = 0
    for q in range(len(limit)):
        begin, end = offsets[q], offsets[q] + shown[q]
        mine, other, count = begin, begin, 0
        while mine < end and codes[mine] != group:
            mine += 1
        while other < end and codes[other] == group:
            other += 1
        for j in range(limit[q]):
            due = count < floors[start[q] + j]
            if mine < end and (due or mine < other):
                chosen[filled] = mine
                count += 1
                mine += 1
                while mine < end and codes[mine] != group:
                    mine += 1
            else:
                chosen[filled] = other
                other += 1
                while other < end and codes[other] == group:
                    other += 1
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
    """Give the slots of one list in their new order, the best next whose counts can still pass.

    ``kind[code]`` is the place of a group among the protected, -1 for the others. ``reach`` is the
    flat region of `fa_star_ir_groups.reachable`. Also gives the first prefix that could not be kept
    (0: none); from there on the best of the protected are taken first.
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
