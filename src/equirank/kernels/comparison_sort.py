"""Sorting by comparisons, many lists side by side: coins by key, splits at pivots, counted wins."""

from collections.abc import Iterator

import numpy as np

from .compiled import compiled, key_of, uniform

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
    """Return each row of 64-bit words a number made of all of them."""
    marks = np.empty(bits.shape[0], dtype=np.uint64)
    for row in range(bits.shape[0]):
        mark = np.uint64(bits.shape[1])
        for column in range(bits.shape[1]):
            mark = key_of(mark, bits[row, column])
        marks[row] = mark
    return marks


@compiled
def draw_keys(keys: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the keys of all lists in each draw, draw after draw."""
    result = np.empty(len(keys) * len(draws), dtype=np.uint64)
    at = 0
    for draw in draws:
        for key in keys:
            result[at] = key_of(key, draw)
            at += 1
    return result


@compiled
def row_priorities(keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Draw one number per row, from the key of its list and its place in it."""
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
    chance: np.ndarray,
    deterministic: bool,
) -> np.ndarray:
    """Decide for each pair whether ``first`` goes before ``second``.

    With probability ``chance``; deterministically where it is more than one half, by a fair coin
    where it is exactly that. A pair's coin depends on its list's key and the two places only.
    """
    result = np.empty(len(first), dtype=np.bool_)
    for at in range(len(first)):
        if deterministic and chance[at] != 0.5:
            result[at] = chance[at] > 0.5
            continue
        begin = begins[query[at]]
        key = key_of(keys[query[at]], np.uint64(first[at] - begin))
        coin = uniform(key_of(key, np.uint64(second[at] - begin)), np.uint64(1))
        result[at] = coin < chance[at]
    return result


@compiled
def split_parts(
    order: np.ndarray, begins: np.ndarray, ends: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Move the rows of each part before or behind its pivot, which stands first; in place.

    ``before`` holds a truth value for each row behind a pivot, part after part. Rows on one side
    keep their order. Gives the place of each pivot.
    """
    pivots = np.empty(len(begins), dtype=np.int64)
    behind = np.empty(len(before), dtype=order.dtype)
    at = 0
    for part in range(len(begins)):
        pivot, place, waiting = order[begins[part]], begins[part], 0
        for source in range(begins[part] + 1, ends[part]):
            row = order[source]
            if before[at]:
                order[place] = row
                place += 1
            else:
                behind[waiting] = row
                waiting += 1
            at += 1
        order[place] = pivot
        pivots[part] = place
        for row in range(waiting):
            order[place + 1 + row] = behind[row]
    return pivots


@compiled
def finish_parts(
    order: np.ndarray, begins: np.ndarray, ends: np.ndarray, before: np.ndarray
) -> None:
    """Sort small parts of which every pair is decided, as quicksort by first rows would; in place.

    ``before`` says of all pairs (a, b), a < b, of places of each part, in the order of
    `later_pairs`, whether b's row goes before a's. Each row goes down a tree of those before it.
    """
    at = 0
    for part in range(len(begins)):
        begin, size = begins[part], ends[part] - begins[part]
        left, right = np.full(size, -1), np.full(size, -1)
        for row in range(1, size):
            node = 0
            while True:
                # the pair (node, row) follows those of all earlier nodes
                pair = at + node * (2 * size - node - 1) // 2 + row - node - 1
                side = left if before[pair] else right
                if side[node] < 0:
                    side[node] = row
                    break
                node = side[node]
        at += size * (size - 1) // 2
        rows = order[begin : begin + size].copy()
        waiting, n_waiting, node, place = np.empty(size, dtype=np.int64), 0, 0, begin
        while node >= 0 or n_waiting > 0:
            while node >= 0:
                waiting[n_waiting] = node
                n_waiting += 1
                node = left[node]
            n_waiting -= 1
            node = waiting[n_waiting]
            order[place] = rows[node]
            place += 1
            node = right[node]


def later_pairs(offsets: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Go through all pairs (a, b), a < b, of each list, at most ``size`` at a time."""
    sizes = np.diff(offsets)
    partners = np.repeat(offsets[1:], sizes) - np.arange(offsets[-1]) - 1
    done = np.concatenate([[0], np.cumsum(partners)])
    for begin in range(0, int(done[-1]), size):
        pair = np.arange(begin, min(begin + size, int(done[-1])))
        a = np.searchsorted(done, pair, side="right") - 1
        yield a, a + 1 + pair - done[a]


@compiled
def add_wins(wins: np.ndarray, first: np.ndarray, second: np.ndarray, chance: np.ndarray) -> None:
    """Add each pair's chance to the wins of the first row, and the rest of 1 to the second's."""
    for at in range(len(first)):
        wins[first[at]] += chance[at]
        wins[second[at]] += 1.0 - chance[at]
