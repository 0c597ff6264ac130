"""Sums over the pairs of a list whose margin is too small, without listing pairs (compiled)."""

import numpy as np

from .compiled import compiled

__all__ = ["active_sums", "listed_sums", "sort_lists"]


#: Number of rows sorted by insertion before runs are merged.
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

    ``order`` starts from the previous sort, and sorted runs are not merged again. ``keys`` become
    the sorted scores. The median of the list is subtracted from both, so that sums stay small.
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
    """Sort runs of rows by insertion, and return whether the whole list is then sorted."""
    size, sorted_ = len(key), True
    for low in range(0, size, RUN):
        for i in range(low + 1, min(low + RUN, size)):
            moved, at, j = key[i], row[i], i
            while j > low and key[j - 1] > moved:
                key[j], row[j] = key[j - 1], row[j - 1]
                j -= 1
            key[j], row[j] = moved, at
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
    """Merge two adjacent sorted runs; runs of equal length are merged from both ends at once."""
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
    grad: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Add sums over pairs (a, b), a preferred, with ``score[a] - score[b] < margin`` and cost c.

    With ``d = value[a] - value[b]``, adds ``c (d - slope)`` to ``grad[a]``, subtracts it from
    ``grad[b]``, and adds the sums of c, c d and c d^2 to ``totals[list]``. The cost of a pair is
    ``p[a] q[b]``. One sweep down and one sweep up the sorted scores sum passed rows by grade. The
    length of ``kind`` selects the grade of row b, so that each case is compiled separately: equal
    (0), lower (1), lower with many grades (2).
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
        j, cost_sum, gap_sum, square_sum = size - 1, 0.0, 0.0, 0.0
        for i in range(size - 1, -1, -1):
            bound = key[i] - margin
            while j >= 0 and key[j] > bound:
                _pass(count, total, level[j], levels, kind, right[j], v[j])
                j -= 1
            weight_met, value_met = _passed(count, total, level[i], kind)
            weight, gap = left[i] * weight_met, left[i] * (weight_met * v[i] - value_met)
            sum_[i] = gap - slope * weight
            cost_sum += weight
            gap_sum += gap
            square_sum += gap * v[i]
        count[: levels + 1] = 0.0
        total[: levels + 1] = 0.0
        j = 0
        for i in range(size):
            bound = key[i] + margin
            while j < size and key[j] < bound:
                _pass(count, total, levels - 1 - level[j], levels, kind, left[j], v[j])
                j += 1
            weight_met, value_met = _passed(count, total, levels - 1 - level[i], kind)
            gap = right[i] * (weight_met * v[i] - value_met)
            grad[rows[i]] += sum_[i] + gap + slope * (right[i] * weight_met)
            square_sum += gap * v[i]
        totals[at, 0] += cost_sum
        totals[at, 1] += gap_sum
        totals[at, 2] += square_sum


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
    """Add a passed row: to its grade, to all higher grades, or to a tree of prefix sums."""
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
    """Return the sums over the passed rows of this grade, or of all lower grades."""
    if len(kind) < 2:
        return count[grade], total[grade]
    weight_sum = value_sum = 0.0
    k = grade
    while k > 0:
        weight_sum += count[k]
        value_sum += total[k]
        k &= k - 1
    return weight_sum, value_sum


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
    grad: np.ndarray,
) -> tuple[float, float, float]:
    """Add the sums of `active_sums` over the listed pairs of some rows, and return the totals."""
    cost_sum = gap_sum = square_sum = 0.0
    for a in range(first, last):
        bound, own, own_grad = score[a] - margin, value[a], 0.0
        for at in range(starts[a], starts[a + 1]):
            b = second[at]
            if score[b] > bound:
                w, d = weight[at], own - value[b]
                own_grad += w * (d - slope)
                grad[b] -= w * (d - slope)
                cost_sum += w
                gap_sum += w * d
                square_sum += w * d * d
        grad[a] += own_grad
    return cost_sum, gap_sum, square_sum
