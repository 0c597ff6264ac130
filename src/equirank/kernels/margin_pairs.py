"""Sums over the pairs of a list whose margin is too small, without listing them (compiled)."""

import numpy as np

from .compiled import compiled

__all__ = ["active_sums", "listed_sums", "sort_lists"]


#: Runs of so many rows are sorted by insertion before they are merged.
RUN = 8


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
    spare_key, spare_row = np.empty(longest), np.empty(longest, dtype=order.dtype)
    for q in range(first, last):
        size = offsets[q + 1] - offsets[q]
        key, row = keys[offsets[q] : offsets[q + 1]], order[offsets[q] : offsets[q + 1]]
        for i in range(size):
            key[i] = score[row[i]]
        if not _sort_runs(key, row):
            other_key, other_row = spare_key[:size], spare_row[:size]
            width = RUN
            while width < size:
                for low in range(0, size, 2 * width):
                    middle, high = min(low + width, size), min(low + 2 * width, size)
                    _merge(key, row, low, middle, high, other_key, other_row)
                key, other_key = other_key, key
                row, other_row = other_row, row
                width *= 2
        middle_key = key[size // 2]
        for i in range(size):
            centred, at = key[i] - middle_key, row[i]
            keys[offsets[q] + i], order[offsets[q] + i] = centred, at
            score[at] = centred


@compiled
def _sort_runs(key: np.ndarray, row: np.ndarray) -> bool:
    """Sort runs of some rows by insertion; say whether the whole is in order then."""
    size, sorted_ = len(key), True
    for low in range(0, size, RUN):
        for i in range(low + 1, min(low + RUN, size)):
            mine, at, j = key[i], row[i], i
            while j > low and key[j - 1] > mine:
                key[j], row[j] = key[j - 1], row[j - 1]
                j -= 1
            key[j], row[j] = mine, at
        sorted_ &= low == 0 or key[low - 1] <= key[low]
    return sorted_


@compiled
def _merge(
    key: np.ndarray,
    row: np.ndarray,
    low: int,
    middle: int,
    high: int,
    key_out: np.ndarray,
    row_out: np.ndarray,
) -> None:
    """Merge two sorted runs that follow each other, runs of one length from both ends at once."""
    if middle >= high or key[middle - 1] <= key[middle]:
        for at in range(low, high):
            key_out[at], row_out[at] = key[at], row[at]
    elif high - middle == middle - low:
        i, j, x, y = low, middle, middle - 1, high - 1
        for at in range(middle - low):
            right, left = key[j] < key[i], key[y] < key[x]
            key_out[low + at] = key[j] if right else key[i]
            row_out[low + at] = row[j] if right else row[i]
            key_out[high - 1 - at] = key[x] if left else key[y]
            row_out[high - 1 - at] = row[x] if left else row[y]
            j += right
            i += not right
            x -= left
            y -= not left
    else:
        i, j = low, middle
        for at in range(low, high):
            right = i >= middle or (j < high and key[j] < key[i])
            key_out[at], row_out[at] = (key[j], row[j]) if right else (key[i], row[i])
            j += right
            i += not right


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
    slope: float,
    value: np.ndarray,
    first: int,
    last: int,
    pull: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Sum over pairs (a, b), a preferred, with ``score[a] - score[b] < margin``, at their costs c.

    With the gap ``d = value[a] - value[b]`` of a pair, adds ``c (d - slope)`` to ``pull[a]`` and
    takes it off ``pull[b]``, and adds the sums of c, c d and c d^2 to ``totals[list]``. The cost of
    a pair is ``p[a] q[b]``. One sweep down and one up the sorted scores: what was passed is summed
    by grade. ``kind`` says by its length which grade the other row has, so that each way is
    compiled on its own: equal (0), lower (1), lower with many grades (2).
    """
    most = longest = 0
    for at in range(first, last):
        most = max(most, n_grades[at])
        longest = max(longest, offsets[at + 1] - offsets[at])
    count, total = np.empty(most + 1), np.empty(most + 1)
    level, sum_ = np.empty(longest, dtype=np.int64), np.empty(longest)
    v, left, right = np.empty(longest), np.empty(longest), np.empty(longest)
    for at in range(first, last):
        begin, size, levels = offsets[at], offsets[at + 1] - offsets[at], n_grades[at]
        key, rows = keys[begin : begin + size], order[begin : begin + size]
        for i in range(size):
            row = rows[i]
            level[i], v[i], left[i], right[i] = grade[row], value[row], p[row], q[row]
        count[: levels + 1] = 0.0
        total[: levels + 1] = 0.0
        j, mass, line, bend = size - 1, 0.0, 0.0, 0.0
        for i in range(size - 1, -1, -1):
            bound = key[i] - margin
            while j >= 0 and key[j] > bound:
                _pass(count, total, level[j], levels, kind, right[j], v[j])
                j -= 1
            met, over = _passed(count, total, level[i], kind)
            weight, gap = left[i] * met, left[i] * (met * v[i] - over)
            sum_[i] = gap - slope * weight
            mass += weight
            line += gap
            bend += gap * v[i]
        count[: levels + 1] = 0.0
        total[: levels + 1] = 0.0
        j = 0
        for i in range(size):
            bound = key[i] + margin
            while j < size and key[j] < bound:
                _pass(count, total, levels - 1 - level[j], levels, kind, left[j], v[j])
                j += 1
            met, over = _passed(count, total, levels - 1 - level[i], kind)
            gap = right[i] * (met * v[i] - over)
            pull[rows[i]] += sum_[i] + gap + slope * (right[i] * met)
            bend += gap * v[i]
        totals[at, 0] += mass
        totals[at, 1] += line
        totals[at, 2] += bend


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
    """Return the sums over the rows passed: of this grade, or of all lower ones."""
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
    slope: float,
    value: np.ndarray,
    first: int,
    last: int,
    pull: np.ndarray,
) -> tuple[float, float, float]:
    """Add what `active_sums` adds, over the listed pairs of some rows; give the totals."""
    mass = line = bend = 0.0
    for a in range(first, last):
        bound, mine, total = score[a] - margin, value[a], 0.0
        for at in range(starts[a], starts[a + 1]):
            b = second[at]
            if score[b] > bound:
                w, d = weight[at], mine - value[b]
                total += w * (d - slope)
                pull[b] -= w * (d - slope)
                mass += w
                line += w * d
                bend += w * d * d
        pull[a] += total
    return mass, line, bend
