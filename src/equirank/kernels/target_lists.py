"""Target lists: the number of items of each group before each cut point.

Two groups: dynamic programming over (cut, count), for the smallest unfairness first, then the
largest discounted gain. More groups: the largest-remainder apportionment at each cut, kept
monotone, which is not claimed to be optimal.
"""

from typing import NamedTuple

import numpy as np

from .compiled import compiled

__all__ = ["apportioned_counts", "best_counts", "blocks_of_ranks", "greedy_blocks"]


_SLACK = 1e-12  # smaller differences in unfairness are ignored


@compiled
def _class_ends(k: int, grade: np.ndarray, relevance_first: bool) -> tuple[int, int]:
    """Return the first position and the end of the range that the item at position k may take."""
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
    a: int,
    a_end: int,
    b: int,
    b_end: int,
    gain_a: np.ndarray,
    gain_b: np.ndarray,
    discount: np.ndarray,
) -> float:
    """Return the discounted gain from position ``begin`` of two merged sorted lists."""
    total, position = 0.0, begin
    while a < a_end or b < b_end:
        if b >= b_end or (a < a_end and gain_a[a] >= gain_b[b]):
            total += gain_a[a] * discount[position]
            a += 1
        else:
            total += gain_b[b] * discount[position]
            b += 1
        position += 1
    return total


class _Counts(NamedTuple):
    """The counts that each cut of a list may have, and what they cost."""

    n_cuts: int
    width: int  # counts in a row of the table
    gap: np.ndarray  # of each cut: the number of positions behind the cut before it
    low: np.ndarray  # of each cut: the smallest count
    high: np.ndarray  # of each cut: the largest count
    linked: np.ndarray  # of each cut: whether its count depends on that of the cut before it
    table: np.ndarray  # unfairness by cut and count
    prefix_cost: np.ndarray  # cut x count: the least unfairness up to there
    suffix_cost: np.ndarray  # cut x count: the least unfairness after it


@compiled
def _least_unfair(grid: _Counts) -> float:
    """Write the least unfairness up to and after each (cut, count); return the overall least.

    If two cuts are not linked, every count at one is compatible with every count at the other.
    """
    n_cuts, width, gap, low, high, linked, table, prefix_cost, suffix_cost = grid
    for t in range(n_cuts):
        for c in range(width):
            prefix_cost[t, c] = np.inf
            if c < low[t] or c > high[t]:
                continue
            best = 0.0
            if t > 0:
                best = np.inf
                first = max(low[t - 1], c - gap[t]) if linked[t] else low[t - 1]
                last = min(high[t - 1], c) if linked[t] else high[t - 1]
                for p in range(first, last + 1):
                    best = min(best, prefix_cost[t - 1, p])
            prefix_cost[t, c] = best + table[t * width + c]
    for t in range(n_cuts - 1, -1, -1):
        for c in range(low[t], high[t] + 1):
            suffix_cost[t, c] = 0.0
            if t + 1 < n_cuts:
                best = np.inf
                first = max(low[t + 1], c) if linked[t + 1] else low[t + 1]
                last = min(high[t + 1], c + gap[t + 1]) if linked[t + 1] else high[t + 1]
                for p in range(first, last + 1):
                    best = min(best, suffix_cost[t + 1, p] + table[(t + 1) * width + p])
                suffix_cost[t, c] = best
    least = np.inf
    for c in range(low[n_cuts - 1], high[n_cuts - 1] + 1):
        least = min(least, prefix_cost[n_cuts - 1, c])
    return least


@compiled
def _best_path(
    grid: _Counts,
    cuts: np.ndarray,
    gained: np.ndarray,
    parent: np.ndarray,
    gain_a: np.ndarray,
    gain_b: np.ndarray,
    discount: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Write the counts of the path of least unfairness with the largest discounted gain."""
    least = _least_unfair(grid)
    n_cuts, width, gap, low, high, linked, table, prefix_cost, suffix_cost = grid
    slack = _SLACK * max(1.0, least)
    size, n = len(gain_a), len(gain_a) + len(gain_b)
    for t in range(n_cuts):
        for c in range(low[t], high[t] + 1):
            gained[t, c] = -np.inf
            if prefix_cost[t, c] + suffix_cost[t, c] > least + slack:
                continue
            if t == 0:
                gained[t, c] = _merged_gain(0, 0, c, 0, cuts[0] - c, gain_a, gain_b, discount)
                continue
            rest = table[t * width + c] + suffix_cost[t, c]
            first = max(low[t - 1], c - gap[t]) if linked[t] else low[t - 1]
            last = min(high[t - 1], c) if linked[t] else high[t - 1]
            for p in range(first, last + 1):
                if gained[t - 1, p] == -np.inf or prefix_cost[t - 1, p] + rest > least + slack:
                    continue
                value = gained[t - 1, p]
                if linked[t]:
                    value += _merged_gain(
                        cuts[t - 1], p, c, cuts[t - 1] - p, cuts[t] - c,
                        gain_a, gain_b, discount,
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
            k, c, size, k - c, n - size, gain_a, gain_b, discount
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
    last_cut: np.ndarray,
    start: np.ndarray,
    width: np.ndarray,
    table: np.ndarray,
    cut_offsets: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Write, for each query and cut, the target number of counted items before the cut.

    Rows are sorted by relevance within each query, best first. The table of query q holds the
    unfairness of ``width[q]`` counts at each of its cuts, from ``start[q]``; queries with a
    negative start are skipped. With ``relevance_first`` only items of equal gain may be exchanged.
    Otherwise all may, and the result is the fairest list with the largest discounted gain.
    """
    longest, widest = 1, 1
    for q in range(len(offsets) - 1):
        if start[q] >= 0:
            longest, widest = max(longest, n_cuts[q]), max(widest, width[q])
    prefix_cost, suffix_cost = np.empty((longest, widest)), np.empty((longest, widest))
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
            if t == n_cuts[q] - 1 and last_cut[q] > 0:
                k = last_cut[q]
            cuts[t], gap[t] = k, k - (cuts[t - 1] if t > 0 else 0)
            if k > end or begin < 0:
                begin, end = _class_ends(k, grade, relevance_first)
                before, within = inside[:begin].sum(), inside[begin:end].sum()
            low[t] = before + max(0, within - (end - k))
            high[t] = before + min(within, k - begin)
            linked[t] = begin == last
            last = begin
        grid = _Counts(
            n_cuts[q], width[q], gap, low, high, linked, table[start[q] :], prefix_cost, suffix_cost
        )
        found = counts[cut_offsets[q] : cut_offsets[q + 1]]
        _best_path(grid, cuts, gained, parent, grade[inside], grade[~inside], discount, found)


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
    last_cut: np.ndarray,
    cut_offsets: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Write, for each cut (row) and bucket, the largest-remainder share of the cut, kept monotone.

    Rows are sorted by relevance within each query, best first; with ``relevance_first`` only items
    of equal gain may be exchanged.
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
            if t == n_cuts[q] - 1 and last_cut[q] > 0:
                k = last_cut[q]
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
    """Write the block of each rank within a bucket: the number of cuts before it.

    The ranks of a query are stored bucket by bucket; ``counts`` holds, for each cut (row), the
    number of items of each bucket before it.
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


@compiled
def _greedy_ends(inside: np.ndarray, step: int, ends: np.ndarray) -> None:
    """Write the number of counted items before the end of each block, as LambdaFair's code does.

    Counted items are added to a block while their share of the prefix comes strictly nearer to
    their share of the list.
    """
    n, size = len(inside), inside.sum()
    placed = 0
    for b in range(len(ends)):
        k = min(n, step * (b + 1))
        while placed < size and abs((placed + 1) / k - size / n) < abs(placed / k - size / n):
            placed += 1
        ends[b] = placed


@compiled
def greedy_blocks(
    offsets: np.ndarray,
    grade: np.ndarray,
    counted: np.ndarray,
    relevance_first: bool,
    step: int,
    block: np.ndarray,
) -> None:
    """Write the block of each rank within a group, counted items first, as LambdaFair's code does.

    Rows are sorted by relevance within each query, best first, and counted items first among equal
    ones. Blocks of ``step`` items cover the whole list. Without ``relevance_first`` (rND+) each
    group fills its share of the blocks in order of relevance. With it (NDCG+) rows keep their
    order, except that a row whose group has filled its share up to this block is exchanged with the
    next row of the other group and of equal relevance.
    """
    for q in range(len(offsets) - 1):
        first, n = offsets[q], offsets[q + 1] - offsets[q]
        inside = counted[first : first + n].copy()
        size = inside.sum()
        n_blocks = (n + step - 1) // step
        ends = np.empty(n_blocks, dtype=np.int64)
        _greedy_ends(inside, step, ends)
        if not relevance_first:
            at, other = 0, size
            for b in range(n_blocks):
                k = min(n, step * (b + 1))
                while at < ends[b]:
                    block[first + at] = b
                    at += 1
                while other < size + k - ends[b]:
                    block[first + other] = b
                    other += 1
            continue
        in_rank, out_rank, following = 0, 0, 1
        for i in range(n):
            b = i // step
            k = min(n, step * (b + 1))
            takes = inside[i]
            is_full = in_rank >= ends[b] if takes else out_rank >= k - ends[b]
            if is_full:
                following = max(i + 1, following)
                while following < n and grade[first + following] == grade[first + i]:
                    following += 1
                    if inside[following - 1] != takes:
                        inside[following - 1] = takes
                        takes = not takes
                        break
            if takes:
                block[first + in_rank] = b
                in_rank += 1
            else:
                block[first + size + out_rank] = b
                out_rank += 1
