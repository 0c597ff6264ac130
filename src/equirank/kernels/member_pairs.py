"""Sums over pairs of items, weighted by the memberships of both: O(n log n) per list."""

from itertools import pairwise

import numpy as np

from .compiled import compiled

__all__ = ["weighted_above", "weighted_pairs"]


@compiled
def _insert(tree: np.ndarray, at: int, amount: np.ndarray) -> None:
    """Add amounts at a rank of a binary indexed tree."""
    while at < len(tree):
        for g in range(len(amount)):
            tree[at, g] += amount[g]
        at += at & -at


@compiled
def _below(tree: np.ndarray, at: int, out: np.ndarray) -> None:
    """Write the sums of all ranks up to ``at``."""
    out[:] = 0.0
    while at > 0:
        for g in range(len(out)):
            out[g] += tree[at, g]
        at -= at & -at


@compiled
def weighted_pairs(
    y: np.ndarray, rank: np.ndarray, members: np.ndarray, offsets: np.ndarray, by_y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over misordered pairs, ties half, and over all pairs of unequal relevance.

    Entry ``[g, h]`` adds ``a_i(g) a_j(h)`` over the pairs whose better item is i and whose worse
    item is j. ``rank`` is 1 for the lowest score of a list and equal for ties; ``by_y`` are the
    rows of each list by relevance, the lowest first.
    """
    n_groups = members.shape[1]
    wrong, total = np.zeros((n_groups, n_groups)), np.zeros((n_groups, n_groups))
    under, level, all_worse = np.zeros(n_groups), np.zeros(n_groups), np.zeros(n_groups)
    for q in range(len(offsets) - 1):
        begin, end = offsets[q], offsets[q + 1]
        tree = np.zeros((end - begin + 1, n_groups))
        all_worse[:] = 0.0
        at = begin
        while at < end:
            last = at
            while last < end and y[by_y[last]] == y[by_y[at]]:
                last += 1
            for i in range(at, last):
                row = by_y[i]
                _below(tree, rank[row] - 1, under)
                _below(tree, rank[row], level)
                for g in range(n_groups):
                    for h in range(n_groups):
                        above = all_worse[h] - level[h] + 0.5 * (level[h] - under[h])
                        wrong[g, h] += members[row, g] * above
                        total[g, h] += members[row, g] * all_worse[h]
            for i in range(at, last):
                row = by_y[i]
                _insert(tree, rank[row], members[row])
                all_worse += members[row]
            at = last
    return wrong, total


def weighted_above(rank: np.ndarray, members: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the sums of ``a_i(g) a_j(h)`` over pairs with j ranked above i, ties half.

    Of two groups g and h only; an item is no pair with itself, and the diagonal is 0.
    """
    n_groups = members.shape[1]
    found = np.zeros((n_groups, n_groups))
    for begin, end in pairwise(offsets.tolist()):
        mine, levels = members[begin:end], rank[begin:end]
        sums = np.zeros((int(levels.max()) + 1, n_groups))
        np.add.at(sums, levels, mine)
        upto = np.cumsum(sums, axis=0)
        higher = upto[-1] - upto[levels] + 0.5 * sums[levels]
        found += mine.T @ higher - 0.5 * mine.T @ mine  # without the item itself
    np.fill_diagonal(found, 0.0)
    return found
