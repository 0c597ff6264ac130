"""Compiled loops of metrics: sums and counts over pairs and tied blocks."""

import numpy as np

from .compiled import compiled

__all__ = [
    "broken_pairs",
    "cascade_blocks",
    "cell_pair_counts",
    "exclusive_sums",
    "exponential_sums",
    "greedy_gains",
    "group_pair_counts",
    "positive_parts",
    "precision_terms",
    "running_sums",
    "separable_sums",
    "weighted_errors",
]


@compiled
def broken_pairs(
    points: np.ndarray, score: np.ndarray, offsets: np.ndarray, slope: float
) -> np.ndarray:
    """Count in each list the pairs with ``|score_i - score_j| > slope * |points_i - points_j|``.

    Score differences up to 1e-12 count as 0. A distance is summed only until it is large enough.
    """
    result = np.zeros(len(offsets) - 1)
    n_features = points.shape[1]
    for q in range(len(offsets) - 1):
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], i):
                reach = (abs(score[i] - score[j]) - 1e-12) / slope
                if reach <= 0.0:
                    continue
                limit = reach * reach
                square = 0.0
                for f in range(n_features):
                    step = points[i, f] - points[j, f]
                    square += step * step
                    if square >= limit:
                        break
                if square < limit:
                    result[q] += 1.0
    return result


@compiled
def greedy_gains(cover: np.ndarray, offsets: np.ndarray, factor: float, depth: int) -> np.ndarray:
    """Return the discounted gain of the greedy order of each list, to a depth.

    An item gains 1 for each aspect it covers, times ``factor`` for each chosen item that covers it
    too. Of gains that differ by rounding only, the first item is chosen.
    """
    result = np.zeros(len(offsets) - 1)
    n_aspects = cover.shape[1]
    for q in range(len(offsets) - 1):
        begin, end = offsets[q], offsets[q + 1]
        left = np.ones(end - begin, dtype=np.bool_)
        worth = np.ones(n_aspects)
        for step in range(min(depth, end - begin)):
            best, most = -1, 0.0
            for i in range(begin, end):
                if left[i - begin]:
                    gain = 0.0
                    for t in range(n_aspects):
                        if cover[i, t]:
                            gain += worth[t]
                    if gain > most * (1.0 + 1e-12):
                        best, most = i, gain
            if best < 0:
                break
            result[q] += most / np.log2(2.0 + step)
            left[best - begin] = False
            for t in range(n_aspects):
                if cover[best, t]:
                    worth[t] *= factor
    return result


@compiled
def cascade_blocks(
    stop: np.ndarray, begin: np.ndarray, size: np.ndarray, position: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected reciprocal stopping position of each block, and its survival probability.

    With ``q_j`` the mean survival probability over the j-subsets of the block, the expectation is
    ``sum_j (q_{j-1} - q_j) / (position + j)``. The q of n + 1 items follow from those of n by
    ``q_j <- (1 - j/(n+1)) q_j + j/(n+1) a q_{j-1}``; depth doubles until q is below 1e-16.
    """
    value = np.zeros(len(begin))
    survive = np.ones(len(begin))
    for b in range(len(begin)):
        m = size[b]
        for i in range(begin[b], begin[b] + m):
            survive[b] *= 1.0 - stop[i]
        depth = min(m, 64)
        while True:
            q = np.zeros(depth + 1)
            q[0] = 1.0
            for n in range(m):
                a = 1.0 - stop[begin[b] + n]
                for j in range(min(n + 1, depth), 0, -1):
                    share = j / (n + 1)
                    q[j] = (1.0 - share) * q[j] + share * a * q[j - 1]
            if depth == m or q[depth] < 1e-16:
                break
            depth = min(m, 2 * depth)
        total = 0.0
        for j in range(1, depth + 1):
            if position[b] + j > limit:
                break
            total += (q[j - 1] - q[j]) / (position[b] + j)
        value[b] = total
    return value, survive


#: Largest number of grades whose prefix sums are stored directly instead of in a Fenwick tree.
FEW = 12


@compiled
def _add(tree: np.ndarray, grade: int, amount: float, size: int) -> None:
    """Add an amount to a grade."""
    if size <= FEW:
        for at in range(grade + 1, size):
            tree[at] += amount
    else:
        at = grade + 1
        while at <= size:
            tree[at] += amount
            at += at & -at


@compiled
def _lower(tree: np.ndarray, grade: int, size: int) -> float:
    """Return the sum over lower grades."""
    if size <= FEW:
        return tree[grade]
    total = tree[0]
    at = grade
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@compiled
def separable_sums(
    u: np.ndarray, v: np.ndarray, grade: np.ndarray, end: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sums of ``u_a v_b`` per list: over pairs with b above a, tied pairs, and all pairs."""
    n_lists = len(offsets) - 1
    above, tied, total = np.zeros(n_lists), np.zeros(n_lists), np.zeros(n_lists)
    tree, block = np.zeros(grade.max() + 2), np.zeros(grade.max() + 2)
    for q in range(n_lists):
        first, last = offsets[q], offsets[q + 1]
        size = grade[first:last].max() + 1
        tree[: size + 1] = 0.0
        i = first
        while i < last:
            j = end[i]
            for a in range(i, j):
                above[q] += u[a] * _lower(tree, grade[a], size)
            if j - i > 1:
                block[: size + 1] = 0.0
                for b in range(i, j):
                    _add(block, grade[b], v[b], size)
                for a in range(i, j):
                    tied[q] += u[a] * _lower(block, grade[a], size)
            for b in range(i, j):
                _add(tree, grade[b], v[b], size)
            i = j
        for a in range(first, last):
            total[q] += u[a] * _lower(tree, grade[a], size)
    return above, tied, total


@compiled
def cell_pair_counts(
    cell: np.ndarray, n_groups: int, n_grades: int, end: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the counts of `group_pair_counts` for a small number of groups times grades.

    Each row adds the current counts of all cells to those of its own cell, without branches or
    trees. ``cell`` is ``group * n_grades + grade``.
    """
    n_lists, n_cells = len(offsets) - 1, n_groups * n_grades
    shape = (n_lists, n_groups, n_groups)
    above = np.zeros(shape, dtype=np.int64)
    tied = np.zeros(shape, dtype=np.int64)
    total = np.zeros(shape, dtype=np.int64)
    seen, in_block = np.zeros(n_cells, dtype=np.int64), np.zeros(n_cells, dtype=np.int64)
    above_counts = np.zeros((n_cells, n_cells), dtype=np.int64)
    tied_counts = np.zeros((n_cells, n_cells), dtype=np.int64)
    for q in range(n_lists):
        seen[:] = 0
        above_counts[:] = 0
        tied_counts[:] = 0
        i = offsets[q]
        while i < offsets[q + 1]:
            j = end[i]
            for a in range(i, j):
                row = cell[a]
                for c in range(n_cells):
                    above_counts[row, c] += seen[c]
            if j - i > 1:
                in_block[:] = 0
                for b in range(i, j):
                    in_block[cell[b]] += 1
                for a in range(i, j):
                    row = cell[a]
                    for c in range(n_cells):
                        tied_counts[row, c] += in_block[c]
            for b in range(i, j):
                seen[cell[b]] += 1
            i = j
        for g in range(n_groups):
            for h in range(n_groups):
                for a in range(n_grades):
                    better = g * n_grades + a
                    for worse in range(h * n_grades, h * n_grades + a):
                        above[q, g, h] += above_counts[better, worse]
                        total[q, g, h] += seen[better] * seen[worse]
                        tied[q, g, h] += tied_counts[better, worse]
    return above, tied, total


@compiled
def group_pair_counts(
    code: np.ndarray, n_groups: int, grade: np.ndarray, end: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return counts of pairs per list, group of a and group of b: with b above a, tied, and all."""
    n_lists = len(offsets) - 1
    shape = (n_lists, n_groups, n_groups)
    above = np.zeros(shape, dtype=np.int64)
    tied = np.zeros(shape, dtype=np.int64)
    total = np.zeros(shape, dtype=np.int64)
    tree = np.zeros((n_groups, grade.max() + 2), dtype=np.int64)
    block = np.zeros((n_groups, grade.max() + 2), dtype=np.int64)
    for q in range(n_lists):
        first, last = offsets[q], offsets[q + 1]
        size = grade[first:last].max() + 1
        tree[:, : size + 1] = 0
        i = first
        while i < last:
            j = end[i]
            for a in range(i, j):
                for h in range(n_groups):
                    above[q, code[a], h] += _lower(tree[h], grade[a], size)
            if j - i > 1:
                block[:, : size + 1] = 0
                for b in range(i, j):
                    _add(block[code[b]], grade[b], 1, size)
                for a in range(i, j):
                    for h in range(n_groups):
                        tied[q, code[a], h] += _lower(block[h], grade[a], size)
            for b in range(i, j):
                _add(tree[code[b]], grade[b], 1, size)
            i = j
        for a in range(first, last):
            for h in range(n_groups):
                total[q, code[a], h] += _lower(tree[h], grade[a], size)
    return above, tied, total


@compiled
def exponential_sums(
    u: np.ndarray, v: np.ndarray, score: np.ndarray, grade: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of ``u_a v_b exp(s_b - s_a)`` and ``u_a v_b`` per list, rows sorted by grade.

    Sums over lower grades are relative to the largest score, so only the result can overflow.
    """
    n_lists = len(offsets) - 1
    value, total = np.zeros(n_lists), np.zeros(n_lists)
    for q in range(n_lists):
        i, last = offsets[q], offsets[q + 1]
        top, mass, weight = -np.inf, 0.0, 0.0
        while i < last:
            j = i
            while j < last and grade[j] == grade[i]:
                j += 1
            for a in range(i, j):
                if mass > 0.0 and u[a] > 0.0:
                    value[q] += np.exp(top - score[a] + np.log(u[a]) + np.log(mass))
                total[q] += u[a] * weight
            for b in range(i, j):
                if v[b] > 0.0:
                    if score[b] > top:
                        mass = mass * np.exp(top - score[b]) + v[b]
                        top = score[b]
                    else:
                        mass += v[b] * np.exp(score[b] - top)
                weight += v[b]
            i = j
    return value, total


@compiled
def running_sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return for each row the sum of the values before it in its list."""
    result = np.zeros(len(values))
    for q in range(len(offsets) - 1):
        total = 0.0
        for i in range(offsets[q], offsets[q + 1]):
            result[i] = total
            total += values[i]
    return result


@compiled
def exclusive_sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return for each row the sum of the other values of its list, without subtraction."""
    result = running_sums(values, offsets)
    for q in range(len(offsets) - 1):
        after = 0.0
        for i in range(offsets[q + 1] - 1, offsets[q] - 1, -1):
            result[i] += after
            after += values[i]
    return result


@compiled
def weighted_errors(
    weights: np.ndarray,
    first_row: int,
    level: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    offsets: np.ndarray,
    result: np.ndarray,
) -> None:
    """Add the weights of misordered pairs of true positions; tied pairs count half.

    Rows are sorted by relevance, best first; ``begin:end`` are those of equal relevance, ``level``
    is the block in the ranking. ``weights`` contains the rows of the weight table from
    ``first_row``. Rows of equal relevance receive the mean error of their block.
    """
    error = np.zeros(weights.shape[1])
    for q in range(len(offsets) - 1):
        start, last = offsets[q], offsets[q + 1]
        known = -1
        for row in range(first_row, min(first_row + len(weights), last - start)):
            low, high = begin[start + row], end[start + row]
            if low != known:
                known = low
                b = high
                while b < last:
                    total = 0.0
                    for j in range(b, end[b]):
                        for a in range(low, high):
                            if level[a] > level[j]:
                                total += 1.0
                            elif level[a] == level[j]:
                                total += 0.5
                    mean = total / ((high - low) * (end[b] - b))
                    error[b - start : end[b] - start] = mean
                    b = end[b]
            for j in range(high - start, last - start):
                result[q] += weights[row - first_row, j] * error[j]


@compiled
def positive_parts(
    ratio: np.ndarray,
    rank: np.ndarray,
    merit: np.ndarray,
    by_merit: np.ndarray,
    offsets: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of ``max(0, ratio_i - ratio_j)`` over pairs, and their number, per list.

    The pairs are ordered pairs with ``merit_i >= merit_j``, so equal merits count both ways.
    ``rank`` is the rank of each ratio in its list, lowest first; ``by_merit`` contains the rows of
    each list sorted by merit, lowest first. A tree over the ranks stores counts and sums of ratios:
    O(n log n).
    """
    n_lists = len(offsets) - 1
    longest = 0
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    count = np.zeros(longest + 1, dtype=np.int64)
    total = np.zeros(longest + 1)
    value = np.zeros(n_lists)
    pairs = np.zeros(n_lists)
    for q in range(n_lists):
        begin, stop = offsets[q], offsets[q + 1]
        n = stop - begin
        count[: n + 1] = 0
        total[: n + 1] = 0.0
        at = begin
        while at < stop:
            end = at
            while end < stop and merit[by_merit[end]] == merit[by_merit[at]]:
                row = by_merit[end]
                node = rank[row] + 1
                while node <= n:
                    count[node] += 1
                    total[node] += ratio[row]
                    node += node & -node
                end += 1
            for index in range(at, end):
                row = by_merit[index]
                node = rank[row]
                lower, amount = 0, 0.0
                while node > 0:
                    lower += count[node]
                    amount += total[node]
                    node -= node & -node
                value[q] += max(0.0, ratio[row] * lower - amount)
            pairs[q] += (end - at) * (at - begin) + (end - at) * (end - at - 1)
            at = end
    return value, pairs


@compiled
def precision_terms(
    relevant: np.ndarray, start: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """Return what `average_precision_terms` returns for slots with tied blocks."""
    found = np.zeros(len(relevant))
    i, hits = 0, 0
    while i < len(relevant):
        if i == start[i]:
            hits = 0
        stop, inside = end[i], 0
        for j in range(i, stop):
            inside += relevant[j]
        size = stop - i
        for j in range(i, stop if inside else i):
            step = (j - i) * (inside - 1) / max(size - 1, 1)
            found[j] = inside / size * (hits + 1 + step) / (j - start[j] + 1)
        hits += inside
        i = stop
    return found
