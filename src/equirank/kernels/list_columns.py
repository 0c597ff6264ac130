"""Whole lists to columns per list: sums by group, differences between groups, and their moments.

A list has slots in ranked order; tied slots form a block and share the means of its positions. A
key is an attribute or two crossed ones, and its groups have consecutive numbers. The columns of a
list depend on its own slots alone, and not on their order within tied blocks.
"""

import numpy as np

from .column_names import CLAIM_COLUMNS, TOTAL_COLUMNS
from .compiled import compiled

__all__ = ["canonical_order", "measure_lists", "sort_cells"]


@compiled(reordered=True)
def canonical_order(order: np.ndarray, end: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return slots with tied blocks sorted by relevance, highest first; ``y`` is that of rows."""
    found = order.copy()
    i = 0
    while i < len(order):
        stop = end[i]
        if stop - i > 1:
            by = np.argsort(-y[order[i:stop]], kind="mergesort")
            for j in range(stop - i):
                found[i + j] = order[i + by[j]]
        i = stop
    return found


@compiled(reordered=True)
def _fill(
    begin: np.ndarray,
    end: np.ndarray,
    first_slot: int,
    n: int,
    shown: int,
    codes: np.ndarray,
    extra: np.ndarray,
    parts: np.ndarray,
    width: np.ndarray,
    first: np.ndarray,
    discount_sums: np.ndarray,
    ks: np.ndarray,
    values: np.ndarray,
    group: np.ndarray,
    pattern: np.ndarray,
) -> bool:
    """Fill values, groups and patterns of a list; return whether every label is known.

    The values are position, exposure (mean 1), decisions, and per key the position among people
    with a known label, divided by their number.
    """
    n_ks, n_keys = len(ks), len(parts)
    n_decisions = n_ks + extra.shape[1]
    all_known = True
    whole = 0.0
    for i in range(n):
        slot = first_slot + i
        b, e = begin[slot] - first_slot, end[slot] - first_slot
        values[i, 0] = (b + e + 1) / 2.0
        visible = i < shown
        values[i, 1] = (discount_sums[e] - discount_sums[b]) / (e - b) if visible else 0.0
        whole += values[i, 1]
        for j in range(n_ks):
            inside = min(ks[j], e) - min(ks[j], b)
            values[i, 2 + j] = inside / (e - b) if visible else 0.0
        for j in range(extra.shape[1]):
            values[i, 2 + n_ks + j] = extra[slot, j]
        mask = 0
        for a in range(codes.shape[1]):
            mask = 2 * mask + (1 if codes[slot, a] < 0 else 0)
        pattern[i] = mask
        all_known = all_known and mask == 0
        for k in range(n_keys):
            one, other = codes[slot, parts[k, 0]], 0
            if parts[k, 1] >= 0:
                other = codes[slot, parts[k, 1]]
                code = one * width[parts[k, 1]] + other
            else:
                code = one
            group[i, k] = -1 if one < 0 or other < 0 else first[k] + code
    for i in range(n):
        values[i, 1] = values[i, 1] * n / whole if whole > 0 else 0.0
    for k in range(n_keys):
        column = 2 + n_decisions + k
        if all_known:
            for i in range(n):
                values[i, column] = values[i, 0] / n
            continue
        before, i = 0, 0
        while i < n:
            last = end[first_slot + i] - first_slot
            inside = 0
            for j in range(i, last):
                inside += 1 if group[j, k] >= 0 else 0
            for j in range(i, last):
                values[j, column] = (2 * before + inside + 1) / 2.0
            before += inside
            i = last
        for i in range(n):
            values[i, column] = values[i, column] / before if before > 0 else 0.0
    return all_known


# Long, since the sums of a list share its one pass over the rows.
@compiled(reordered=True)
def _add_totals(
    n: int,
    values: np.ndarray,
    group: np.ndarray,
    y: np.ndarray,
    first: np.ndarray,
    sums: np.ndarray,
    totals: np.ndarray,
    claims: np.ndarray,
    decided: np.ndarray,
    unknown: np.ndarray,
) -> None:
    """Write totals and comparisons of a list; ``sums`` are those of each group (then people, y)."""
    n_keys = len(first) - 1
    n_decisions = totals.shape[1] - len(TOTAL_COLUMNS)
    n_values = 2 + n_decisions
    chance, people, relevance = n_values, n_values + 1, n_values + 2
    whole = np.zeros(n_values + 3)
    for k in range(n_keys):
        whole[:] = 0.0
        lost = np.zeros(n_values + 1)
        for i in range(n):
            g = group[i, k]
            if g < 0:
                for j in range(n_values):
                    lost[j] += values[i, j]
                lost[n_values] += 1.0
                continue
            for j in range(n_values):
                sums[g, j] += values[i, j]
            sums[g, chance] += values[i, n_values + k]
            sums[g, people] += 1.0
            if len(y):
                sums[g, relevance] += y[i]
        if lost[n_values] > 0:
            unknown[k, 0] += lost[n_values]
            unknown[k, 1] += 1.0
            unknown[k, 2] += lost[0] / lost[n_values]
            unknown[k, 3] += lost[1] / n
            for j in range(n_decisions):
                unknown[k, 4 + j] += lost[2 + j]
        for g in range(first[k], first[k + 1]):
            for j in range(n_values + 3):
                whole[j] += sums[g, j]
        size = whole[people]
        for g in range(first[k], first[k + 1]):
            m = sums[g, people]
            if m == 0:
                continue
            totals[g, 0], totals[g, 1], totals[g, 2] = sums[g, 0] / m, 1.0, m
            totals[g, 3] = sums[g, 1] * size / whole[1] if whole[1] > 0 else 0.0
            totals[g, 6] = sums[g, relevance]
            if whole[relevance] > 0:
                totals[g, 4] = totals[g, 3]
                totals[g, 5] = sums[g, relevance] * size / whole[relevance]
            for j in range(n_decisions):
                totals[g, len(TOTAL_COLUMNS) + j] = sums[g, 2 + j]
            rest = size - m
            if rest == 0:
                continue
            share = m / size
            f = size / (m * rest)
            claims[g, 0], claims[g, 1], claims[g, 2] = 1.0, m, rest
            claims[g, 3] = f * (sums[g, 0] - share * whole[0])
            claims[g, 4] = f * (sums[g, chance] - share * whole[chance])
            claims[g, 5], claims[g, 6] = sums[g, 1], share * whole[1]
            for j in range(n_decisions):
                a, both = sums[g, 2 + j], whole[2 + j]
                b = max(both - a, 0.0)
                at = len(CLAIM_COLUMNS) + 4 * j
                claims[g, at], claims[g, at + 1] = a * rest / size, b * m / size
                claims[g, at + 2], claims[g, at + 3] = a, b
                decided[j, g, 0] += (both * m * rest - a * b * size) / size**2
                decided[j, g, 1] += a * (rest - b) / size
                decided[j, g, 2] += b * (m - a) / size
                decided[j, g, 3] += share * both
                decided[j, g, 5] += m * b / rest
                if size > 1:
                    decided[j, g, 4] += m * rest * both * (size - both) / (size**2 * (size - 1))


@compiled(reordered=True)
def sort_cells(cell: np.ndarray, n: int, counts: np.ndarray, order: np.ndarray) -> int:
    """Sort slots by cell into ``order`` (stable), and return the number of cells.

    ``counts`` has one entry per possible cell and receives the end of each present one, in order.
    """
    for c in range(len(counts)):
        counts[c] = 0
    for i in range(n):
        counts[cell[i]] += 1
    end, present = 0, 0
    for c in range(len(counts)):
        size = counts[c]
        counts[c] = end
        end += size
    for i in range(n):
        order[counts[cell[i]]] = i
        counts[cell[i]] += 1
    before = 0
    for c in range(len(counts)):
        if counts[c] > before:
            before = counts[c]
            counts[present] = before
            present += 1
    return present


@compiled(reordered=True)
def _fourth_moment(n: float, m: float, s2: float, s4: float) -> float:
    """Return the fourth central moment of a sum over m of n numbers, drawn without replacement."""
    second = m * (n - m) / (n * (n - 1.0)) * s2
    if n == 2:
        return second * second
    if n == 3:
        return s4 / 3.0
    inner = (n * (n + 1.0) - 6.0 * m * (n - m)) * s4 + 3.0 * (m - 1.0) * (n - m - 1.0) * s2 * s2
    return m * (n - m) / (n * (n - 1.0) * (n - 2.0) * (n - 3.0)) * inner


@compiled(reordered=True)
def _add_cumulants(
    size: int,
    here: np.ndarray,
    here_key: np.ndarray,
    column: np.ndarray,
    collinear: bool,
    scale: float,
    claims: np.ndarray,
    member: np.ndarray,
    spread: np.ndarray,
    power3: np.ndarray,
    power4: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
) -> None:
    """Add the third and fourth cumulants of the differences of the groups of a cell."""
    for a in range(len(here)):
        g, k = here[a], here_key[a]
        m = member[g]
        if m == size:
            continue
        f = (claims[g, 1] + claims[g, 2]) / (claims[g, 1] * claims[g, 2])
        for j in range(column.shape[1]):
            u = column[k, j]
            weight = f if j < 2 else 1.0
            if collinear and j == 1:
                u, weight = 0, weight * scale
            s2 = spread[u, u]
            second = m * (size - m) / (size * (size - 1.0)) * s2
            if size > 2:
                factor = m * (size - m) * (size - 2.0 * m)
                factor /= size * (size - 1.0) * (size - 2.0)
                third[g, j] += weight**3 * factor * power3[u]
            moment = _fourth_moment(float(size), m, s2, power4[u])
            fourth[g, j] += weight**4 * (moment - 3.0 * second * second)


@compiled(reordered=True)
def _add_covariance(
    size: int,
    here: np.ndarray,
    here_key: np.ndarray,
    column: np.ndarray,
    collinear: bool,
    scale: float,
    claims: np.ndarray,
    member: np.ndarray,
    joint: np.ndarray,
    spread: np.ndarray,
    covariance: np.ndarray,
) -> None:
    """Add the covariance of the differences of the groups of a cell."""
    n_compared = column.shape[1]
    for a in range(len(here)):
        g, k = here[a], here_key[a]
        m = member[g]
        f = (claims[g, 1] + claims[g, 2]) / (claims[g, 1] * claims[g, 2])
        for b in range(a + 1):
            h, other = here[b], here_key[b]
            f_other = (claims[h, 1] + claims[h, 2]) / (claims[h, 1] * claims[h, 2])
            both = m if g == h else 0.0
            if k > other:
                both = joint[g, h]
            elif k < other:
                both = joint[h, g]
            overlap = (both - m * member[h] / size) / (size - 1.0)
            for j in range(n_compared):
                u = column[k, j]
                weight = overlap * (f if j < 2 else 1.0)
                if collinear and j == 1:
                    u, weight = 0, weight * scale
                for i in range(n_compared):
                    v = column[other, i]
                    second_weight = f_other if i < 2 else 1.0
                    if collinear and i == 1:
                        v, second_weight = 0, second_weight * scale
                    term = weight * second_weight * spread[u, v]
                    if g >= h:
                        covariance[g, j, h, i] += term
                    else:
                        covariance[h, i, g, j] += term


# Long, since the moments of all cells of a list are sums over the same loops.
@compiled(reordered=True)
def _add_moments(
    n: int,
    cell: np.ndarray,
    values: np.ndarray,
    group: np.ndarray,
    active: np.ndarray,
    column: np.ndarray,
    collinear: bool,
    n_used: int,
    left_out: int,
    n_adjusted: int,
    claims: np.ndarray,
    order: np.ndarray,
    ends: np.ndarray,
    joint: np.ndarray,
    member: np.ndarray,
    adjusted: np.ndarray,
    covariance: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
) -> None:
    """Add the covariance and cumulants of differences under shuffles within cells.

    Parameters
    ----------
    cell : ndarray
        Slots with the same number exchange their labels.
    active : ndarray
        The columns of ``values`` with moments.
    column : ndarray of shape (n_keys, n_compared)
        The columns that are compared in each key; the first two are differences of means.
    collinear : bool
        Whether the values beyond the active ones are positions divided by n.
    n_used, left_out : int
        The first keys are compared, without the one left out.
    n_adjusted : int
        How many of the compared sums less their means are wanted.
    claims : ndarray
        The comparisons of the list, whose first columns are lists, people and others.
    adjusted : ndarray of shape (n_groups, at least n_adjusted)
        Receives the compared sums minus their means over shuffles.
    """
    n_keys = column.shape[0]
    n_values, n_active = values.shape[1], len(active)
    mean, power3, power4 = np.zeros(n_values), np.zeros(n_values), np.zeros(n_values)
    spread = np.zeros((n_values, n_values))
    here = np.zeros(n * n_keys, dtype=np.int64)
    here_key = np.zeros(n * n_keys, dtype=np.int64)
    centred = np.zeros(n_values)
    scale = 1.0 / n
    n_cells = sort_cells(cell, n, ends, order)
    start = 0
    for c in range(n_cells):
        stop = ends[c]
        size = stop - start
        for a in range(n_active):
            u = active[a]
            total = 0.0
            for at in range(start, stop):
                total += values[order[at], u]
            mean[u] = total / size
            power3[u] = power4[u] = 0.0
            for b in range(n_active):
                spread[u, active[b]] = 0.0
        count = 0
        for at in range(start, stop):
            i = order[at]
            for a in range(n_active):
                u = active[a]
                x = values[i, u] - mean[u]
                centred[u] = x
                power3[u] += x * x * x
                power4[u] += x * x * x * x
                for b in range(a + 1):
                    spread[u, active[b]] += x * centred[active[b]]
            for k in range(n_keys):
                g = group[i, k]
                if g < 0 or claims[g, 0] == 0 or k >= n_used or k == left_out:
                    continue
                if member[g] == 0:
                    here[count], here_key[count] = g, k
                    count += 1
                member[g] += 1.0
                for other in range(k):
                    h = group[i, other]
                    if h >= 0 and claims[h, 0] > 0 and other != left_out:
                        joint[g, h] += 1.0
                f = (claims[g, 1] + claims[g, 2]) / (claims[g, 1] * claims[g, 2])
                for j in range(n_adjusted):
                    if collinear and j == 1:
                        adjusted[g, 1] += f * centred[0] * scale
                    else:
                        adjusted[g, j] += (f if j < 2 else 1.0) * centred[column[k, j]]
        for a in range(n_active):
            for b in range(a):
                spread[active[b], active[a]] = spread[active[a], active[b]]
        if size > 1:
            _add_cumulants(
                size, here[:count], here_key, column, collinear, scale, claims, member, spread,
                power3, power4, third, fourth,
            )  # fmt: skip
            _add_covariance(
                size, here[:count], here_key, column, collinear, scale, claims, member, joint,
                spread, covariance,
            )  # fmt: skip
        for a in range(count):
            for b in range(count):
                joint[here[a], here[b]] = 0.0
        for a in range(count):
            member[here[a]] = 0.0
        start = stop


@compiled(reordered=True)
def _add_means(claims: np.ndarray, adjusted: np.ndarray, mean: np.ndarray) -> None:
    """Add the means of the compared sums over shuffles, and clear the sums less their means."""
    for g in range(len(claims)):
        if claims[g, 0] == 0:
            continue
        share = claims[g, 1] / (claims[g, 1] + claims[g, 2])
        for j in range(adjusted.shape[1]):
            if j < 2:
                part = claims[g, 3 + j]
            elif j == 2:
                part = claims[g, 5] - claims[g, 6]
            else:
                a, b = claims[g, 9 + 4 * (j - 3)], claims[g, 10 + 4 * (j - 3)]
                part = a - share * (a + b)
            mean[g, j] += part - adjusted[g, j]
            adjusted[g, j] = 0.0


@compiled(reordered=True)
def _without_trend(n: int, y: np.ndarray, active: np.ndarray, values: np.ndarray) -> None:
    """Remove from some values of a list their linear trend on the ranks of the relevance."""
    order = np.argsort(y, kind="mergesort")
    rank = np.zeros(n)
    i = 0
    while i < n:
        j = i
        while j < n and y[order[j]] == y[order[i]]:
            j += 1
        for at in range(i, j):
            rank[order[at]] = (i + j - 1) / 2.0 - (n - 1) / 2.0
        i = j
    square = 0.0
    for i in range(n):
        square += rank[i] * rank[i]
    if square == 0:
        return
    for u in active:
        product = 0.0
        for i in range(n):
            product += rank[i] * values[i, u]
        for i in range(n):
            values[i, u] -= product / square * rank[i]


@compiled(reordered=True)
def _add_prefixes(
    begin: np.ndarray,
    end: np.ndarray,
    first_slot: int,
    shown: int,
    group: np.ndarray,
    totals: np.ndarray,
    first: np.ndarray,
    grid: np.ndarray,
    by_group: np.ndarray,
    by_key: np.ndarray,
) -> None:
    """Add the share of each group in each prefix, its share of the list, and who is known."""
    before, inside = np.zeros(first[-1]), np.zeros(first[-1])
    for k in range(len(first) - 1):
        size = 0.0
        for g in range(first[k], first[k + 1]):
            before[g] = 0.0
            size += totals[g, 2]
        at, i = 0, 0
        while i < shown and at < len(grid) and grid[at] <= shown:
            last = end[first_slot + i] - first_slot
            for g in range(first[k], first[k + 1]):
                inside[g] = 0.0
            for j in range(i, last):
                if group[j, k] >= 0:
                    inside[group[j, k]] += 1.0
            while at < len(grid) and grid[at] <= min(last, shown):
                part = (grid[at] - i) / (last - i)
                known = 0.0
                for g in range(first[k], first[k + 1]):
                    known += before[g] + inside[g] * part
                if known > 0:
                    by_key[k, at, 0] += 1.0
                    by_key[k, at, 1] += known
                    for g in range(first[k], first[k + 1]):
                        if totals[g, 2] > 0:
                            by_group[g, at, 0] += (before[g] + inside[g] * part) / known
                            by_group[g, at, 1] += totals[g, 2] / size
                at += 1
            for g in range(first[k], first[k + 1]):
                before[g] += inside[g]
            i = last


@compiled(reordered=True)
def _add_ties(
    begin: np.ndarray,
    end: np.ndarray,
    first_slot: int,
    n: int,
    shown: int,
    ks: np.ndarray,
    ties: np.ndarray,
) -> None:
    """Add tied and shown rows, and per cutoff the share of it that ties across it fill."""
    ties[0, 1] += shown
    for i in range(shown):
        ties[0, 0] += 1.0 if end[first_slot + i] - begin[first_slot + i] > 1 else 0.0
    for j in range(len(ks)):
        k = ks[j]
        if n > k:
            b, e = begin[first_slot + k - 1] - first_slot, end[first_slot + k - 1] - first_slot
            ties[1 + j, 0] += (k - b) / k if e > k else 0.0
            ties[1 + j, 1] += 1.0


@compiled(reordered=True)
def _keep(
    n: int,
    inside: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    changed: np.ndarray,
    group: np.ndarray,
    pattern: np.ndarray,
    relevance: np.ndarray,
    place: np.ndarray,
) -> int:
    """Move the slots inside to the front of the arrays of a list, and return their number."""
    m = 0
    for i in range(n):
        if inside[i]:
            values[m] = values[i]
            changed[m] = changed[i]
            group[m] = group[i]
            pattern[m] = pattern[i]
            relevance[m] = y[i] if len(y) else 0.0
            place[m] = i
            m += 1
    return m


@compiled(reordered=True)
def _fill_cells(
    n: int,
    pattern: np.ndarray,
    y: np.ndarray,
    limits: np.ndarray,
    codes: np.ndarray,
    place: np.ndarray,
    given: int,
    width: np.ndarray,
    cell: np.ndarray,
) -> None:
    """Fill the cells of a list, whose slots exchange labels, given relevance or an attribute."""
    for i in range(n):
        if given < 0:
            cell[i] = pattern[i] * (len(limits) + 1) + np.searchsorted(limits, y[i])
        else:
            cell[i] = pattern[i] * (width[given] + 1) + codes[place[i], given] + 1


@compiled(reordered=True)
def _n_cells(codes: np.ndarray, limits: np.ndarray, given: np.ndarray, width: np.ndarray) -> int:
    """Return the most cells that a list can have."""
    strata = len(limits) + 1
    for d in range(len(given)):
        if given[d] >= 0:
            strata = max(strata, width[given[d]] + 1)
    return strata << codes.shape[1]


@compiled(reordered=True)
def _columns_of_keys(n_keys: int, n_plain: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which values are compared in each key: all of them, and positions alone."""
    columns = np.zeros((n_keys, n_plain + 1), dtype=np.int64)
    chances = np.zeros(1 + n_keys, dtype=np.int64)
    for k in range(n_keys):
        chances[1 + k] = columns[k, 1] = n_plain + k
        columns[k, 2] = 1
        for j in range(n_plain - 2):
            columns[k, 3 + j] = 2 + j
    return columns, chances


@compiled(reordered=True)
def measure_lists(
    offsets: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    shown: np.ndarray,
    y: np.ndarray,
    codes: np.ndarray,
    inside: np.ndarray,
    extra: np.ndarray,
    parts: np.ndarray,
    width: np.ndarray,
    first: np.ndarray,
    discount_sums: np.ndarray,
    ks: np.ndarray,
    limits: np.ndarray,
    trend: bool,
    given: np.ndarray,
    used: np.ndarray,
    left_out: np.ndarray,
    grid: np.ndarray,
    totals: np.ndarray,
    claims: np.ndarray,
    adjusted: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    given_covariance: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
    decided: np.ndarray,
    unknown: np.ndarray,
    prefix_groups: np.ndarray,
    prefix_keys: np.ndarray,
    ties: np.ndarray,
) -> None:
    """Measure every list: write its columns, and add to the sums that have no columns.

    Parameters
    ----------
    offsets, begin, end, shown : ndarray
        Slots of each list, the tied block of each slot, and number of shown slots of each list.
    y, codes, extra : ndarray
        Of each slot: relevance (or empty), labels of the attributes (-1 if unknown), decisions.
    inside : ndarray of bool
        The slots that are compared and exchange labels, at their positions in the whole list;
        empty for all.
    parts, width, first : ndarray
        The one or two attributes of each key (-1 for none), number of groups of each attribute,
        number of the first group of each key.
    discount_sums : ndarray
        Sums of the exposure of the first positions, from 0 positions on.
    ks, limits, trend
        Cutoffs; upper ends of the strata of relevance and whether they are bands.
    given, used, left_out : ndarray
        What each further design is given (-1 relevance, else an attribute), and its keys: the first
        ones, without the one left out (-1 for none).
    grid : ndarray
        Lengths of prefixes; without any, neither prefixes nor ties are counted.
    totals, claims, adjusted : ndarray
        Receive the columns of each list, by group: `TOTAL_COLUMNS`, `CLAIM_COLUMNS`, and the
        differences less their means for each further design.
    mean, covariance, given_covariance, third, fourth : ndarray
        Receive the mean of the compared sums under shuffles, their covariance (of a group with
        itself and with those before it) and cumulants.
    decided, unknown, prefix_groups, prefix_keys, ties : ndarray
        Receive the other sums.
    """
    n_keys, n_groups = len(parts), first[-1]
    n_plain = 2 + len(ks) + extra.shape[1]
    longest = 0
    for q in range(len(offsets) - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    values = np.zeros((longest, n_plain + n_keys))
    changed = np.zeros((longest, n_plain + n_keys))
    group = np.zeros((longest, n_keys), dtype=np.int64)
    pattern, cell = np.zeros(longest, dtype=np.int64), np.zeros(longest, dtype=np.int64)
    order, place = np.zeros(longest, dtype=np.int64), np.arange(longest)
    ends = np.zeros(_n_cells(codes, limits, given, width), dtype=np.int64)
    sums, relevance = np.zeros((n_groups, n_plain + 3)), np.zeros(longest)
    joint, member = np.zeros((n_groups, n_groups)), np.zeros(n_groups)
    scratch, every = np.zeros((n_groups, n_plain + 1)), np.arange(n_plain + n_keys)
    columns, chances = _columns_of_keys(n_keys, n_plain)
    pairs = columns[:, :2].copy()
    n_patterns = 1 << codes.shape[1]
    for q in range(len(offsets) - 1):
        s, n = offsets[q], offsets[q + 1] - offsets[q]
        known = _fill(
            begin, end, s, n, shown[q], codes, extra, parts, width, first, discount_sums, ks,
            values, group, pattern,
        )  # fmt: skip
        mine = y[s : s + n] if len(y) else y
        if trend:
            changed[:n] = values[:n]
            _without_trend(n, mine, chances, changed)
        if len(inside):
            n = _keep(n, inside[s : s + n], mine, values, changed, group, pattern, relevance, place)
            mine = relevance[:n] if len(y) else y
            if n == 0:
                continue
        sums[:] = 0.0
        _add_totals(n, values, group, mine, first, sums, totals[q], claims[q], decided, unknown)
        _add_moments(
            n, pattern, values, group, every[:n_plain] if known else every, columns, known, n_keys,
            -1, 0 if known else n_plain + 1, claims[q], order, ends[:n_patterns], joint, member,
            scratch, covariance, third[0], fourth[0],
        )  # fmt: skip
        if not known:
            _add_means(claims[q], scratch, mean)
        for d in range(len(given)):
            _fill_cells(n, pattern, mine, limits, codes[s:], place, given[d], width, cell)
            _add_moments(
                n, cell, changed if trend and given[d] < 0 else values, group,
                chances[:1] if known else chances, pairs, known, used[d], left_out[d], 2,
                claims[q], order, ends, joint, member, adjusted[q, d], given_covariance[d],
                third[1 + d], fourth[1 + d],
            )  # fmt: skip
        if len(grid):
            n = offsets[q + 1] - s
            _add_prefixes(
                begin, end, s, shown[q], group, totals[q], first, grid, prefix_groups, prefix_keys
            )
            _add_ties(begin, end, s, n, shown[q], ks, ties)
