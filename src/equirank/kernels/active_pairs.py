"""Sums over the pairs of a list whose margin is too small, without listing them (compiled)."""

import numpy as np

from .compiling import compiled

__all__ = ["active_sums", "listed_sums", "sort_lists"]

#: Runs of so many rows are sorted by insertion before they are merged.
RUN = 16


@compiled
def sort_lists(
    score: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    order: np.ndarray,
    keys: np.ndarray,
) -> None:
    """Sort the rows of the lists ``first`` to ``last`` by score, lowest first.

    ``order`` is where the last sort left it: what is in order already is not merged again. ``keys``
    become the scores in that order. Both lose the list's median, so that sums of them stay small.
    """
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    left_key, left_row = np.empty(longest), np.empty(longest, dtype=order.dtype)
    for q in range(first, last):
        begin, end = offsets[q], offsets[q + 1]
        for i in range(begin, end):
            keys[i] = score[order[i]]
        for low in range(begin, end, RUN):
            for i in range(low + 1, min(low + RUN, end)):
                key, row, j = keys[i], order[i], i
                while j > low and keys[j - 1] > key:
                    keys[j], order[j] = keys[j - 1], order[j - 1]
                    j -= 1
                keys[j], order[j] = key, row
        width = RUN
        while width < end - begin:
            for low in range(begin, end - width, 2 * width):
                _merge(keys, order, low, low + width, min(low + 2 * width, end), left_key, left_row)
            width *= 2
        middle = keys[(begin + end) // 2]
        for i in range(begin, end):
            keys[i] -= middle
            score[order[i]] = keys[i]


@compiled
def _merge(
    keys: np.ndarray,
    order: np.ndarray,
    low: int,
    middle: int,
    high: int,
    left_key: np.ndarray,
    left_row: np.ndarray,
) -> None:
    """Merge two sorted runs that follow each other, equal runs from both ends at once."""
    if keys[middle - 1] <= keys[middle]:
        return
    size = middle - low
    if high - middle == size:
        i, j, x, y = low, middle, middle - 1, high - 1
        for out in range(size):
            right, left = keys[j] < keys[i], keys[y] < keys[x]
            left_key[out] = keys[j] if right else keys[i]
            left_row[out] = order[j] if right else order[i]
            left_key[2 * size - 1 - out] = keys[x] if left else keys[y]
            left_row[2 * size - 1 - out] = order[x] if left else order[y]
            j += right
            i += not right
            x -= left
            y -= not left
        for out in range(2 * size):
            keys[low + out], order[low + out] = left_key[out], left_row[out]
        return
    for out in range(size):
        left_key[out], left_row[out] = keys[low + out], order[low + out]
    i, j, out = 0, middle, low
    while i < size and j < high:
        right = keys[j] < left_key[i]
        keys[out] = keys[j] if right else left_key[i]
        order[out] = order[j] if right else left_row[i]
        j += right
        i += not right
        out += 1
    while i < size:
        keys[out], order[out] = left_key[i], left_row[i]
        i += 1
        out += 1


@compiled
def active_sums(
    order: np.ndarray,
    keys: np.ndarray,
    offsets: np.ndarray,
    grade: np.ndarray,
    n_grades: np.ndarray,
    kind: tuple[int, ...],
    p: np.ndarray,
    q: np.ndarray,
    margin: float,
    value: np.ndarray,
    first: int,
    last: int,
    product: np.ndarray,
    lean: np.ndarray,
    mass: np.ndarray,
) -> None:
    """Sum over pairs (a, b), a preferred, with ``score[a] - score[b] < margin``, at their costs c.

    Adds to ``product[i]`` the sum of ``c (value[i] - value[other])`` over the active pairs of row
    i, to ``lean[i]`` that of c where i is the other row less that where it is preferred, and to
    ``mass[list]`` that of c. The cost of a pair is ``p[a] q[b]``. One sweep down and one up the
    sorted scores: what was passed is summed by grade. ``kind`` says by its length which grade the
    other row has, so that each way is compiled on its own: equal (0), lower (1), lower with many
    grades (2).
    """
    most = 0
    for at in range(first, last):
        most = max(most, n_grades[at])
    count, total = np.empty(most + 1), np.empty(most + 1)
    for at in range(first, last):
        begin, end, levels = offsets[at], offsets[at + 1], n_grades[at]
        count[: levels + 1] = 0.0
        total[: levels + 1] = 0.0
        j, all_ = end - 1, 0.0
        for i in range(end - 1, begin - 1, -1):
            bound = keys[i] - margin
            while j >= begin and keys[j] > bound:
                b = order[j]
                _pass(count, total, grade[b], levels, kind, q[b], value[b])
                j -= 1
            a = order[i]
            met, sum_ = _passed(count, total, grade[a], kind)
            w = p[a]
            product[a] += w * (met * value[a] - sum_)
            lean[a] -= w * met
            all_ += w * met
        count[: levels + 1] = 0.0
        total[: levels + 1] = 0.0
        mass[at] += all_
        j = begin
        for i in range(begin, end):
            bound = keys[i] + margin
            while j < end and keys[j] < bound:
                a = order[j]
                _pass(count, total, levels - 1 - grade[a], levels, kind, p[a], value[a])
                j += 1
            b = order[i]
            met, sum_ = _passed(count, total, levels - 1 - grade[b], kind)
            w = q[b]
            product[b] += w * (met * value[b] - sum_)
            lean[b] += w * met


@compiled
def _pass(
    count: np.ndarray,
    total: np.ndarray,
    grade: int,
    levels: int,
    kind: tuple[int, ...],
    weight: float,
    value: float,
) -> None:
    """Note a row that was passed: by its grade, below each grade, or in a tree of prefix sums."""
    if len(kind) == 0:
        count[grade] += weight
        total[grade] += weight * value
    elif len(kind) == 1:
        for g in range(levels):
            part = weight if g > grade else 0.0
            count[g] += part
            total[g] += part * value
    else:
        k = grade + 1
        while k <= levels:
            count[k] += weight
            total[k] += weight * value
            k += k & -k


@compiled
def _passed(
    count: np.ndarray, total: np.ndarray, grade: int, kind: tuple[int, ...]
) -> tuple[float, float]:
    """Give the sums over the rows passed: of this grade, or of all lower ones."""
    if len(kind) < 2:
        return count[grade], total[grade]
    mass = sum_ = 0.0
    k = grade
    while k > 0:
        mass += count[k]
        sum_ += total[k]
        k &= k - 1
    return mass, sum_


@compiled
def listed_sums(
    starts: np.ndarray,
    second: np.ndarray,
    weight: np.ndarray,
    score: np.ndarray,
    margin: float,
    value: np.ndarray,
    first: int,
    last: int,
    product: np.ndarray,
    lean: np.ndarray,
) -> float:
    """Add what `active_sums` adds, over the listed pairs of some preferred rows; give the mass."""
    mass = 0.0
    for a in range(first, last):
        bound, mine = score[a] - margin, value[a]
        count = total = 0.0
        for at in range(starts[a], starts[a + 1]):
            b = second[at]
            if score[b] > bound:
                w = weight[at]
                gap = w * (mine - value[b])
                count += w
                total += gap
                product[b] -= gap
                lean[b] += w
        product[a] += total
        lean[a] -= count
        mass += count
    return mass
