"""Sorting of many lists by comparisons: keyed coin flips, splits at pivots, counted wins."""

from collections.abc import Iterator

import numpy as np

from .compiled import compiled
from .counted_random import key_of, uniform

__all__ = [
    "add_wins",
    "draw_keys",
    "drawn_before",
    "finish_parts",
    "later_pairs",
    "row_marks",
    "row_priorities",
    "split_parts",
]


@compiled
def row_marks(bits: np.ndarray) -> np.ndarray:
    """Return a hash of each row of 64-bit words."""
    marks = np.empty(bits.shape[0], dtype=np.uint64)
    for row in range(bits.shape[0]):
        mark = np.uint64(bits.shape[1])
        for column in range(bits.shape[1]):
            mark = key_of(mark, bits[row, column])
        marks[row] = mark
    return marks


@compiled
def draw_keys(keys: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the keys of all lists for each draw, draw by draw."""
    result = np.empty(len(keys) * len(draws), dtype=np.uint64)
    at = 0
    for draw in draws:
        for key in keys:
            result[at] = key_of(key, draw)
            at += 1
    return result


@compiled
def row_priorities(keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Draw one number per row, from the key of its list and its index in it."""
    result = np.empty(offsets[-1])
    for query in range(len(keys)):
        for row in range(offsets[query], offsets[query + 1]):
            key = key_of(keys[query], np.uint64(row - offsets[query]))
            result[row] = uniform(key, np.uint64(0))
    return result


@compiled
def drawn_before(
    keys: np.ndarray,
    begins: np.ndarray,
    query: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    probability: np.ndarray,
    deterministic: bool,
) -> np.ndarray:
    """Return for each pair whether ``first`` is ranked before ``second``.

    This happens with the given probability; deterministically if it is above 1/2, with a fair coin
    at 1/2. The coin of a pair depends only on the key of its list and the two indices.
    """
    result = np.empty(len(first), dtype=np.bool_)
    for at in range(len(first)):
        if deterministic and probability[at] != 0.5:
            result[at] = probability[at] > 0.5
            continue
        begin = begins[query[at]]
        key = key_of(keys[query[at]], np.uint64(first[at] - begin))
        coin = uniform(key_of(key, np.uint64(second[at] - begin)), np.uint64(1))
        result[at] = coin < probability[at]
    return result


@compiled
def split_parts(
    order: np.ndarray, begins: np.ndarray, ends: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Move the rows of each part before or after its pivot, the first row; in place.

    ``before`` has one value per row that follows a pivot, part by part. Rows on one side keep their
    order. Returns the index of each pivot.
    """
    pivots = np.empty(len(begins), dtype=np.int64)
    after = np.empty(len(before), dtype=order.dtype)
    at = 0
    for part in range(len(begins)):
        pivot, to, n_after = order[begins[part]], begins[part], 0
        for source in range(begins[part] + 1, ends[part]):
            row = order[source]
            if before[at]:
                order[to] = row
                to += 1
            else:
                after[n_after] = row
                n_after += 1
            at += 1
        order[to] = pivot
        pivots[part] = to
        for row in range(n_after):
            order[to + 1 + row] = after[row]
    return pivots


@compiled
def finish_parts(
    order: np.ndarray, begins: np.ndarray, ends: np.ndarray, before: np.ndarray
) -> None:
    """Sort small parts whose pairs are all decided, as quicksort by first rows does; in place.

    ``before`` states for all pairs of indices (a, b), a < b, of each part, in the order of
    `later_pairs`, whether row b is ranked before row a. Each row descends a binary tree.
    """
    at = 0
    for part in range(len(begins)):
        begin, size = begins[part], ends[part] - begins[part]
        left, right = np.full(size, -1), np.full(size, -1)
        for row in range(1, size):
            node = 0
            while True:
                # the pair (node, row) follows the pairs of all earlier nodes
                pair = at + node * (2 * size - node - 1) // 2 + row - node - 1
                side = left if before[pair] else right
                if side[node] < 0:
                    side[node] = row
                    break
                node = side[node]
        at += size * (size - 1) // 2
        rows = order[begin : begin + size].copy()
        stack, n_stack, node, to = np.empty(size, dtype=np.int64), 0, 0, begin
        while node >= 0 or n_stack > 0:
            while node >= 0:
                stack[n_stack] = node
                n_stack += 1
                node = left[node]
            n_stack -= 1
            node = stack[n_stack]
            order[to] = rows[node]
            to += 1
            node = right[node]


def later_pairs(offsets: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield all pairs (a, b), a < b, of each list, at most ``size`` at a time."""
    sizes = np.diff(offsets)
    partners = np.repeat(offsets[1:], sizes) - np.arange(offsets[-1]) - 1
    done = np.concatenate([[0], np.cumsum(partners)])
    for begin in range(0, int(done[-1]), size):
        pair = np.arange(begin, min(begin + size, int(done[-1])))
        a = np.searchsorted(done, pair, side="right") - 1
        yield a, a + 1 + pair - done[a]


@compiled
def add_wins(
    wins: np.ndarray, first: np.ndarray, second: np.ndarray, probability: np.ndarray
) -> None:
    """Add the probability p of each pair to the wins of its first row, and 1 - p to the second."""
    for at in range(len(first)):
        wins[first[at]] += probability[at]
        wins[second[at]] += 1.0 - probability[at]
