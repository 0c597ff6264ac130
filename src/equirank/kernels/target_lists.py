"""Target lists: how many of each group should stand before each cut point.

Two groups: dynamic programming over (cut, count), smallest unfairness first, then, where asked for,
the largest discounted gain. More groups: at each cut the largest-remainder apportionment, kept
monotone; good, not claimed optimal.
"""

import numpy as np

from .compiled import compiled

__all__ = ["apportioned_counts", "best_counts", "blocks_of_ranks"]


_SLACK = 1e-12  # unfairness that differs by less is equal


@compiled
def _class_ends(k: int, grade: np.ndarray, relevance_first: bool) -> tuple[int, int]:
    """Return the first and one behind the last place that the item at place k may take."""
    n = len(grade)
    if not relevance_first:
        return 0, n
    begin, end = k - 1, k
    while begin > 0 and grade[begin - 1] == grade[k - 1]:
        begin -= 1
    while end < n and grade[end] == grade[k - 1]:
        end += 1
    return begin, end


@compiled
def _merged_gain(
    begin: int,
    one: int,
    one_end: int,
    two: int,
    two_end: int,
    gain_one: np.ndarray,
    gain_two: np.ndarray,
    discount: np.ndarray,
) -> float:
    """Return the discounted gain of a stretch filled from two sorted lists, best first."""
    total, place = 0.0, begin
    while one < one_end or two < two_end:
        if two >= two_end or (one < one_end and gain_one[one] >= gain_two[two]):
            total += gain_one[one] * discount[place]
            one += 1
        else:
            total += gain_two[two] * discount[place]
            two += 1
        place += 1
    return total


@compiled
def _least_unfair(
    n_cuts: int,
    width: int,
    gap: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    linked: np.ndarray,
    table: np.ndarray,
    ahead: np.ndarray,
    behind: np.ndarray,
) -> float:
    """Fill the least unfairness up to each (cut, count) and from there on; give the least of all.

    ``gap[t]`` is the number of places between the cuts t - 1 and t. Where the cuts are not linked,
    every count at one goes with every count at the other.
    """
    for t in range(n_cuts):
        for c in range(width):
            ahead[t, c] = np.inf
            if c < low[t] or c > high[t]:
                continue
            best = 0.0
            if t > 0:
                best = np.inf
                first = max(low[t - 1], c - gap[t]) if linked[t] else low[t - 1]
                last = min(high[t - 1], c) if linked[t] else high[t - 1]
                for p in range(first, last + 1):
                    best = min(best, ahead[t - 1, p])
            ahead[t, c] = best + table[t * width + c]
    for t in range(n_cuts - 1, -1, -1):
        for c in range(low[t], high[t] + 1):
            behind[t, c] = 0.0
            if t + 1 < n_cuts:
                best = np.inf
                first = max(low[t + 1], c) if linked[t + 1] else low[t + 1]
                last = min(high[t + 1], c + gap[t + 1]) if linked[t + 1] else high[t + 1]
                for p in range(first, last + 1):
                    best = min(best, behind[t + 1, p] + table[(t + 1) * width + p])
                behind[t, c] = best
    least = np.inf
    for c in range(low[n_cuts - 1], high[n_cuts - 1] + 1):
        least = min(least, ahead[n_cuts - 1, c])
    return least


@compiled
def _best_path(
    n_cuts: int,
    width: int,
    cuts: np.ndarray,
    gap: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    linked: np.ndarray,
    table: np.ndarray,
    ahead: np.ndarray,
    behind: np.ndarray,
    gained: np.ndarray,
    parent: np.ndarray,
    gain_one: np.ndarray,
    gain_two: np.ndarray,
    discount: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Write the counts of the least unfair path with the largest discounted gain."""
    least = _least_unfair(n_cuts, width, gap, low, high, linked, table, ahead, behind)
    slack = _SLACK * max(1.0, least)
    size, n = len(gain_one), len(gain_one) + len(gain_two)
    for t in range(n_cuts):
        for c in range(low[t], high[t] + 1):
            gained[t, c] = -np.inf
            if ahead[t, c] + behind[t, c] > least + slack:
                continue
            if t == 0:
                gained[t, c] = _merged_gain(0, 0, c, 0, cuts[0] - c, gain_one, gain_two, discount)
                continue
            rest = table[t * width + c] + behind[t, c]
            first = max(low[t - 1], c - gap[t]) if linked[t] else low[t - 1]
            last = min(high[t - 1], c) if linked[t] else high[t - 1]
            for p in range(first, last + 1):
                if gained[t - 1, p] == -np.inf or ahead[t - 1, p] + rest > least + slack:
                    continue
                value = gained[t - 1, p]
                if linked[t]:
                    value += _merged_gain(
                        cuts[t - 1], p, c, cuts[t - 1] - p, cuts[t] - c,
                        gain_one, gain_two, discount,
                    )  # fmt: skip
                if value > gained[t, c]:
                    gained[t, c] = value
                    parent[t, c] = p
    best, at = -np.inf, low[n_cuts - 1]
    for c in range(low[n_cuts - 1], high[n_cuts - 1] + 1):
        if gained[n_cuts - 1, c] == -np.inf:
            continue
        k = cuts[n_cuts - 1]
        value = gained[n_cuts - 1, c] + _merged_gain(
            k, c, size, k - c, n - size, gain_one, gain_two, discount
        )
        if value > best:
            best, at = value, c
    for t in range(n_cuts - 1, -1, -1):
        counts[t] = at
        if t > 0:
            at = parent[t, at]


@compiled
def best_counts(
    offsets: np.ndarray,
    gain: np.ndarray,
    counted: np.ndarray,
    discount: np.ndarray,
    relevance_first: bool,
    first_cut: int,
    step: int,
    n_cuts: np.ndarray,
    start: np.ndarray,
    width: np.ndarray,
    table: np.ndarray,
    cut_offsets: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Write, for each query and cut, how many counted items should stand before it.

    Rows stand by relevance within each query, best first. The table of query q holds the unfairness
    of ``width[q]`` counts at each of its cuts, from ``start[q]``; queries with a negative start are
    left as they are. With ``relevance_first`` only items of equal gain may change places; else all
    may, and among the fairest lists the one with the largest discounted gain is taken.
    """
    longest, widest = 1, 1
    for q in range(len(offsets) - 1):
        if start[q] >= 0:
            longest, widest = max(longest, n_cuts[q]), max(widest, width[q])
    ahead, behind = np.empty((longest, widest)), np.empty((longest, widest))
    gained = np.empty((longest, widest))
    parent = np.zeros((longest, widest), dtype=np.int32)
    cuts, gap = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    low, high = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    linked = np.empty(longest, dtype=np.bool_)
    for q in range(len(offsets) - 1):
        if start[q] < 0:
            continue
        rows = slice(offsets[q], offsets[q + 1])
        inside, grade = counted[rows], gain[rows]
        begin, end, before, within, last = -1, 0, 0, 0, -1
        for t in range(n_cuts[q]):
            k = first_cut + t * step
            cuts[t], gap[t] = k, k - (cuts[t - 1] if t > 0 else 0)
            if k > end or begin < 0:
                begin, end = _class_ends(k, grade, relevance_first)
                before, within = inside[:begin].sum(), inside[begin:end].sum()
            low[t] = before + max(0, within - (end - k))
            high[t] = before + min(within, k - begin)
            linked[t] = begin == last
            last = begin
        _best_path(
            n_cuts[q], width[q], cuts, gap, low, high, linked, table[start[q] :],
            ahead, behind, gained, parent, grade[inside], grade[~inside], discount,
            counts[cut_offsets[q] : cut_offsets[q + 1]],
        )  # fmt: skip


@compiled
def apportioned_counts(
    offsets: np.ndarray,
    gain: np.ndarray,
    bucket: np.ndarray,
    n_buckets: int,
    relevance_first: bool,
    first_cut: int,
    step: int,
    n_cuts: np.ndarray,
    cut_offsets: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Write, for each cut (row) and bucket, the largest-remainder share of the cut, kept monotone.

    Rows stand by relevance within each query, best first; with ``relevance_first`` only items of
    equal gain may change places.
    """
    total, before = np.zeros(n_buckets), np.zeros(n_buckets, dtype=np.int64)
    within, now = np.zeros(n_buckets, dtype=np.int64), np.zeros(n_buckets, dtype=np.int64)
    most = np.zeros(n_buckets, dtype=np.int64)
    for q in range(len(offsets) - 1):
        rows = slice(offsets[q], offsets[q + 1])
        kind, grade = bucket[rows], gain[rows]
        n = len(kind)
        total[:] = 0.0
        for code in kind:
            total[code] += 1.0
        now[:] = 0
        for t in range(n_cuts[q]):
            k = first_cut + t * step
            begin, end = _class_ends(k, grade, relevance_first)
            before[:] = 0
            within[:] = 0
            for at in range(end):
                if at < begin:
                    before[kind[at]] += 1
                else:
                    within[kind[at]] += 1
            left = k
            for b in range(n_buckets):
                least = before[b] + max(0, within[b] - (end - k))
                most[b] = before[b] + min(within[b], k - begin)
                now[b] = max(now[b], least)
                left -= now[b]
            for _ in range(left):
                best, pick = -np.inf, -1
                for b in range(n_buckets):
                    short = total[b] * k / n - now[b]
                    if now[b] < most[b] and short > best + _SLACK:
                        best, pick = short, b
                now[pick] += 1
            counts[cut_offsets[q] + t] = now


@compiled
def blocks_of_ranks(
    offsets: np.ndarray,
    sizes: np.ndarray,
    n_cuts: np.ndarray,
    cut_offsets: np.ndarray,
    counts: np.ndarray,
    block: np.ndarray,
) -> None:
    """Write the block of each rank within a bucket: how many cuts it stands behind.

    Ranks of a query follow each other bucket by bucket; ``counts`` holds, for each cut (row), how
    many of each bucket stand before it.
    """
    for q in range(len(offsets) - 1):
        at = offsets[q]
        for b in range(sizes.shape[1]):
            t = 0
            for rank in range(sizes[q, b]):
                while t < n_cuts[q] and counts[cut_offsets[q] + t, b] <= rank:
                    t += 1
                block[at] = t
                at += 1
