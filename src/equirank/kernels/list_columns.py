"""Whole lists to columns per list: sums by group and differences between groups.

A list has slots in ranked order; tied slots form a block and share the means of its positions. A
key is an attribute or two crossed ones, and its groups have consecutive numbers. The columns of a
list depend on its own slots alone, and not on their order within tied blocks.

People with the same labels are measured together: slots are added up by label vector, and label
vectors by group, so that a further key costs little.
"""

import numpy as np

from .column_names import CLAIM_COLUMNS, TOTAL_COLUMNS
from .compiled import compiled
from .length_moments import (
    add_lengths,
    add_position_terms,
    add_products,
    add_whole_terms,
    length_tables,
    weigh_groups,
)
from .list_sorting import ascending
from .shuffle_moments import add_means, add_moments, add_position_moments, centre, find_compared

__all__ = [
    "MOST_VECTORS",
    "add_to_buckets",
    "canonical_order",
    "count_vectors",
    "measure_lists",
    "sort_cells",
]


#: Most label vectors that are looked up in a table; beyond, every slot counts as one of its own.
MOST_VECTORS = 1 << 14
#: Most tied rows that are sorted by insertion.
FEW_TIED = 16
#: A number of people below this is that of none; the least is 1 over the length of a prefix.
ROUNDING = 1e-7


@compiled(reordered=True)
def canonical_order(order: np.ndarray, end: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return slots with tied blocks sorted by relevance, highest first; ``y`` is that of rows."""
    found = order.copy()
    i = 0
    while i < len(order):
        stop = end[i]
        if 1 < stop - i <= FEW_TIED:
            for j in range(i + 1, stop):
                at, row = j, order[j]
                while at > i and y[found[at - 1]] < y[row]:
                    found[at] = found[at - 1]
                    at -= 1
                found[at] = row
        elif stop - i > 1:
            by = ascending(-y[order[i:stop]])
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
    extra: np.ndarray,
    discount_sums: np.ndarray,
    ks: np.ndarray,
    values: np.ndarray,
) -> bool:
    """Fill position, exposure (mean 1) and decisions of a list; return whether slots are tied."""
    n_ks = len(ks)
    tied = False
    whole = 0.0
    for i in range(n):
        b, e = begin[first_slot + i] - first_slot, end[first_slot + i] - first_slot
        values[0, i] = (b + e + 1) / 2.0
        value = discount_sums[e] - discount_sums[b]
        if e - b > 1:
            tied = True
            value /= e - b
        value = value if i < shown else 0.0
        values[1, i] = value
        whole += value
    scale = n / whole if whole > 0 else 0.0
    for i in range(n):
        values[1, i] *= scale
    for j in range(n_ks):
        k = min(ks[j], shown)
        for i in range(n):
            values[2 + j, i] = 1.0 if i < k else 0.0
        if tied and ks[j] < n:
            b = begin[first_slot + ks[j] - 1] - first_slot
            e = end[first_slot + ks[j] - 1] - first_slot
            for i in range(b, min(e, shown)):
                values[2 + j, i] = (min(ks[j], e) - b) / (e - b)
    for j in range(extra.shape[1]):
        for i in range(n):
            values[2 + n_ks + j, i] = extra[first_slot + i, j]
    return tied


@compiled(reordered=True)
def _find_vectors(
    n: int,
    codes: np.ndarray,
    parts: np.ndarray,
    width: np.ndarray,
    first: np.ndarray,
    table: np.ndarray,
    mixed: np.ndarray,
    vector: np.ndarray,
    people: np.ndarray,
    pattern: np.ndarray,
    labels: np.ndarray,
    group: np.ndarray,
) -> int:
    """Assign numbers to the label vectors of a list, and return how many there are.

    ``vector`` receives that of each slot. Of each vector, ``people`` receives their number,
    ``pattern`` which attributes are unknown, ``labels`` the labels from 1 on, ``group`` the group
    of each key or -1. ``table`` has -1 for every vector, before and after.
    """
    n_single, n_vectors = codes.shape[1], 0
    for i in range(n):
        code = 0
        v = -1
        if len(table):
            for a in range(n_single):
                code = code * (width[a] + 1) + codes[i, a] + 1
            v = table[code]
        if v < 0:
            v = n_vectors
            n_vectors += 1
            if len(table):
                table[code] = v
            mixed[v], people[v], mask = code, 0.0, 0
            for a in range(n_single):
                mask = 2 * mask + (1 if codes[i, a] < 0 else 0)
                labels[v, a] = codes[i, a] + 1
            pattern[v] = mask
            for k in range(len(parts)):
                one, other = codes[i, parts[k, 0]], 0
                if parts[k, 1] >= 0:
                    other = codes[i, parts[k, 1]]
                    found = one * width[parts[k, 1]] + other
                else:
                    found = one
                group[v, k] = -1 if one < 0 or other < 0 else first[k] + found
        vector[i] = v
        people[v] += 1.0
    for v in range(n_vectors if len(table) else 0):
        table[mixed[v]] = -1
    return n_vectors


@compiled(reordered=True)
def _fill_chances(
    end: np.ndarray,
    first_slot: int,
    n: int,
    vector: np.ndarray,
    group: np.ndarray,
    n_plain: int,
    values: np.ndarray,
) -> None:
    """Fill per key the position among people with a known label, divided by their number."""
    for k in range(group.shape[1]):
        before, i = 0, 0
        while i < n:
            last = end[first_slot + i] - first_slot
            inside = 0
            for j in range(i, last):
                inside += 1 if group[vector[j], k] >= 0 else 0
            for j in range(i, last):
                values[n_plain + k, j] = (2 * before + inside + 1) / 2.0
            before += inside
            i = last
        scale = 1.0 / before if before > 0 else 0.0
        for i in range(n):
            values[n_plain + k, i] *= scale


@compiled(reordered=True)
def _sum_vectors(
    n: int,
    n_vectors: int,
    vector: np.ndarray,
    values: np.ndarray,
    n_used: int,
    y: np.ndarray,
    vector_sums: np.ndarray,
) -> None:
    """Add up the values of the slots of each label vector, and last their relevance."""
    for v in range(n_vectors):
        vector_sums[v] = 0.0
    for j in range(n_used):
        for i in range(n):
            vector_sums[vector[i], j] += values[j, i]
    last = vector_sums.shape[1] - 1
    for i in range(n if len(y) else 0):
        vector_sums[vector[i], last] += y[i]


# Long, since the sums of a list share its one pass over the groups.
@compiled(reordered=True)
def _add_totals(
    n: int,
    n_vectors: int,
    vector_sums: np.ndarray,
    vector_people: np.ndarray,
    group: np.ndarray,
    scale: float,
    first: np.ndarray,
    sums: np.ndarray,
    whole: np.ndarray,
    lost: np.ndarray,
    totals: np.ndarray,
    claims: np.ndarray,
    decided: np.ndarray,
    unknown: np.ndarray,
) -> None:
    """Write totals and comparisons of a list; ``sums`` are those of each group (then people, y).

    ``scale`` turns positions into chances; 0 if chances have values of their own.
    """
    n_keys = len(first) - 1
    n_decisions = totals.shape[1] - len(TOTAL_COLUMNS)
    n_values = 2 + n_decisions
    chance, people, relevance = n_values, n_values + 1, n_values + 2
    last = vector_sums.shape[1] - 1
    sums[:] = 0.0
    for k in range(n_keys):
        whole[:] = 0.0
        lost[:] = 0.0
        for v in range(n_vectors):
            g = group[v, k]
            if g < 0:
                for j in range(n_values):
                    lost[j] += vector_sums[v, j]
                lost[n_values] += vector_people[v]
                continue
            for j in range(n_values):
                sums[g, j] += vector_sums[v, j]
            if scale == 0:
                sums[g, chance] += vector_sums[v, n_values + k]
            sums[g, people] += vector_people[v]
            sums[g, relevance] += vector_sums[v, last]
        if lost[n_values] > 0:
            unknown[k, 0] += lost[n_values]
            unknown[k, 1] += 1.0
            unknown[k, 2] += lost[0] / lost[n_values]
            unknown[k, 3] += lost[1] / n
            for j in range(n_decisions):
                unknown[k, 4 + j] += lost[2 + j]
        for g in range(first[k], first[k + 1]):
            if scale > 0:
                sums[g, chance] = sums[g, 0] * scale
            for j in range(n_values + 3):
                whole[j] += sums[g, j]
        size = whole[people]
        per_size = 1.0 / size
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
            share = m * per_size
            f = size / (m * rest)
            claims[g, 0], claims[g, 1], claims[g, 2] = 1.0, m, rest
            claims[g, 3] = f * (sums[g, 0] - share * whole[0])
            claims[g, 4] = f * (sums[g, chance] - share * whole[chance])
            claims[g, 5], claims[g, 6] = sums[g, 1], share * whole[1]
            for j in range(n_decisions):
                a, both = sums[g, 2 + j], whole[2 + j]
                b = max(both - a, 0.0)
                at = len(CLAIM_COLUMNS) + 4 * j
                claims[g, at], claims[g, at + 1] = a * rest * per_size, b * share
                claims[g, at + 2], claims[g, at + 3] = a, b
                decided[j, g, 0] += (both * m * rest - a * b * size) * per_size * per_size
                decided[j, g, 1] += a * (rest - b) * per_size
                decided[j, g, 2] += b * (m - a) * per_size
                decided[j, g, 3] += share * both
                decided[j, g, 5] += m * b / rest
                if size > 1:
                    decided[j, g, 4] += (
                        share * rest * both * (size - both) * per_size / (size - 1.0)
                    )


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
def _without_trend(
    n: int, y: np.ndarray, active: np.ndarray, values: np.ndarray, changed: np.ndarray
) -> None:
    """Write some values of a list without their linear trend on the ranks of the relevance."""
    order = ascending(y)
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
    for u in active:
        product = 0.0
        for i in range(n):
            product += rank[i] * values[u, i]
        slope = product / square if square > 0 else 0.0
        for i in range(n):
            changed[u, i] = values[u, i] - slope * rank[i]


@compiled(reordered=True)
def _add_prefixes(
    end: np.ndarray,
    first_slot: int,
    shown: int,
    vector: np.ndarray,
    group: np.ndarray,
    totals: np.ndarray,
    first: np.ndarray,
    grid: np.ndarray,
    before: np.ndarray,
    inside: np.ndarray,
    by_group: np.ndarray,
    by_key: np.ndarray,
) -> None:
    """Add the share of each group in each prefix, its share of the list, and who is known."""
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
                g = group[vector[j], k]
                if g >= 0:
                    inside[g] += 1.0
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
def _count_places(
    end: np.ndarray,
    first_slot: int,
    n: int,
    tied: bool,
    vector: np.ndarray,
    group: np.ndarray,
    totals: np.ndarray,
    first: np.ndarray,
    inside: np.ndarray,
    places: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Count the group at each position of a list whose labels are known, ties in equal shares.

    The counts of a list are taken back at its end, where ``ends`` receives the share of each group
    in the list.
    """
    for k in range(group.shape[1]):
        if not tied:
            for i in range(n):
                places[group[vector[i], k], i] += 1.0
            continue
        i = 0
        while i < n:
            last = end[first_slot + i] - first_slot
            if last == i + 1:
                places[group[vector[i], k], i] += 1.0
                i = last
                continue
            for g in range(first[k], first[k + 1]):
                inside[g] = 0.0
            for j in range(i, last):
                inside[group[vector[j], k]] += 1.0 / (last - i)
            for g in range(first[k], first[k + 1]):
                for j in range(i, last if inside[g] > 0 else i):
                    places[g, j] += inside[g]
            i = last
    for g in range(len(totals)):
        places[g, n] -= totals[g, 2]
        ends[g, n] += totals[g, 2] / n
    ends[len(totals), n] += 1.0


@compiled(reordered=True)
def _prefixes_of_places(
    places: np.ndarray,
    ends: np.ndarray,
    first: np.ndarray,
    grid: np.ndarray,
    by_group: np.ndarray,
    by_key: np.ndarray,
) -> None:
    """Add the prefixes of the lists that `_count_places` counted."""
    n_groups, longest = len(places), places.shape[1] - 1
    for g in range(n_groups):
        for i in range(longest):
            places[g, i + 1] += places[g, i]
    for g in range(n_groups + 1):
        for i in range(longest, 0, -1):
            ends[g, i - 1] += ends[g, i]
    for at in range(len(grid)):
        length = grid[at]
        if length > longest:
            break
        for g in range(n_groups):
            if places[g, length - 1] > ROUNDING:
                by_group[g, at, 0] += places[g, length - 1] / length
            by_group[g, at, 1] += ends[g, length]
        for k in range(len(first) - 1):
            by_key[k, at, 0] += ends[n_groups, length]
            by_key[k, at, 1] += ends[n_groups, length] * length


@compiled(reordered=True)
def _add_ties(
    begin: np.ndarray,
    end: np.ndarray,
    first_slot: int,
    n: int,
    shown: int,
    tied: bool,
    ks: np.ndarray,
    ties: np.ndarray,
) -> None:
    """Add tied and shown rows, and per cutoff the share of it that ties across it fill."""
    ties[0, 1] += shown
    for i in range(shown if tied else 0):
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
    vector: np.ndarray,
    people: np.ndarray,
    relevance: np.ndarray,
) -> int:
    """Move the slots inside to the front of the arrays of a list, and return their number."""
    m = 0
    for i in range(n):
        if not inside[i]:
            people[vector[i]] -= 1.0
            continue
        for u in range(len(values)):
            values[u, m] = values[u, i]
            changed[u, m] = changed[u, i]
        vector[m] = vector[i]
        relevance[m] = y[i] if len(y) else 0.0
        m += 1
    return m


@compiled(reordered=True)
def _fill_cells(
    n: int,
    vector: np.ndarray,
    pattern: np.ndarray,
    labels: np.ndarray,
    y: np.ndarray,
    limits: np.ndarray,
    given: int,
    n_strata: int,
    cell: np.ndarray,
) -> None:
    """Fill the cells of a list, whose slots exchange labels, given relevance or an attribute."""
    if given >= 0:
        for i in range(n):
            v = vector[i]
            cell[i] = pattern[v] * n_strata + labels[v, given]
        return
    for i in range(n):
        cell[i] = pattern[vector[i]] * n_strata
    for limit in limits:
        for i in range(n):
            cell[i] += 1 if y[i] > limit else 0


@compiled(reordered=True)
def _columns_of_keys(n_keys: int, n_plain: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which values are compared in each key: all of them, and positions alone.

    The second array is the first if chances are positions, divided by the number of people.
    """
    columns = np.zeros((n_keys, n_plain + 1), dtype=np.int64)
    chances = np.zeros(1 + n_keys, dtype=np.int64)
    for k in range(n_keys):
        chances[1 + k] = columns[k, 1] = n_plain + k
        columns[k, 2] = 1
        for j in range(n_plain - 2):
            columns[k, 3 + j] = 2 + j
    known = columns.copy()
    known[:, 1] = 0
    return columns, known, chances


# Two functions when compiled, of which most data needs the first alone: numba leaves out what
# depends on `chosen` being None or not.
@compiled(reordered=True)
def measure_lists(
    chosen: np.ndarray | None,
    others: np.ndarray,
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
    chosen : ndarray of bool, optional
        The lists to measure, in any way. None: those whose moments are added up by length.
    others : ndarray of bool
        Receives the lists that are not measured if ``chosen`` is None.
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
        itself and with those before it; the last two axes, group and column, in one) and cumulants.
    decided, unknown, prefix_groups, prefix_keys, ties : ndarray
        Receive the other sums.
    """
    n_keys, n_groups, n_lists = len(parts), first[-1], len(offsets) - 1
    n_plain = 2 + len(ks) + extra.shape[1]
    n_values, n_single = n_plain + n_keys, codes.shape[1]
    longest, n_table, n_strata = np.int64(0), 1, len(limits) + 1
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    for a in range(n_single):
        n_table = min(n_table * (width[a] + 1), MOST_VECTORS + 1)
        n_strata = max(n_strata, width[a] + 1)
    table = np.full(n_table if n_table <= MOST_VECTORS else 0, -1)
    values, changed = np.zeros((n_values, longest)), np.zeros((n_values, longest))
    mixed, vector = np.zeros(longest, dtype=np.int64), np.zeros(longest, dtype=np.int64)
    people, pattern = np.zeros(longest), np.zeros(longest, dtype=np.int64)
    labels = np.zeros((longest, n_single), dtype=np.int64)
    group = np.zeros((longest, n_keys), dtype=np.int64)
    cell, order = np.zeros(longest, dtype=np.int64), np.arange(longest)
    ends, relevance = np.zeros(n_strata << n_single, dtype=np.int64), np.zeros(longest)
    one_end = np.zeros(1, dtype=np.int64)
    vector_sums = np.zeros((longest, n_values + 1))
    sums, whole, lost = (
        np.zeros((n_groups, n_plain + 3)),
        np.zeros(n_plain + 3),
        np.zeros(n_plain + 1),
    )
    here, key_of = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    place_of, weight = np.zeros(n_groups, dtype=np.int64), np.zeros((n_groups, n_plain + 1))
    before, inside_block = np.zeros(n_groups), np.zeros(n_groups)
    work = (
        np.zeros((n_values, longest)), np.zeros((n_values, n_values)), np.zeros(n_values),
        np.zeros(n_values), np.zeros(longest, dtype=np.int64), np.zeros(n_groups * (n_plain + 1)),
        np.zeros((n_plain + 1, n_groups * (n_plain + 1))), np.zeros(longest),
        np.zeros((longest, n_values)), np.zeros((n_strata, n_groups)),
        np.zeros((n_groups, n_groups)), np.zeros((n_groups, n_plain + 1)),
        np.zeros((n_groups, n_plain + 1)), np.zeros((5, n_strata)),
    )  # fmt: skip
    scratch, every = np.zeros((n_groups, n_plain + 1)), np.arange(n_values)
    columns, known_columns, chances = _columns_of_keys(n_keys, n_plain)
    pairs, known_pairs = columns[:, :2].copy(), known_columns[:, :2].copy()
    n_places = min(longest, grid[-1]) if len(grid) else 0
    places, place_ends = np.zeros((n_groups, n_places + 1)), np.zeros((n_groups + 1, n_places + 1))
    if chosen is None:
        tables = length_tables(n_groups, longest, len(given), n_strata)
        lists_of = np.zeros(longest + 1, dtype=np.int64)
    for q in range(n_lists):
        if chosen is not None and not chosen[q]:
            continue
        s, n = offsets[q], offsets[q + 1] - offsets[q]
        length = n
        n_vectors = _find_vectors(
            n, codes[s : s + n], parts, width, first, table, mixed, vector, people, pattern, labels,
            group,
        )  # fmt: skip
        known = np.bool_(True)
        for v in range(n_vectors):
            known = known and pattern[v] == 0
        if chosen is None:
            others[q] = not known
            if not known:
                continue
        tied = _fill(begin, end, s, n, shown[q], extra, discount_sums, ks, values)
        scale = 1.0 / n
        mine = y[s : s + n] if len(y) else y
        if chosen is not None:
            if not known:
                _fill_chances(end, s, n, vector, group, n_plain, values)
            if trend:
                _without_trend(n, mine, chances[:1] if known else chances, values, changed)
        if len(inside):
            n = _keep(n, inside[s : s + n], mine, values, changed, vector, people, relevance)
            mine = relevance[:n] if len(y) else y
            if n == 0:
                continue
        _sum_vectors(
            n, n_vectors, vector, values, n_plain if known else n_values, mine, vector_sums
        )
        _add_totals(
            n, n_vectors, vector_sums, people, group, scale if known else 0.0, first, sums, whole,
            lost, totals[q], claims[q], decided, unknown,
        )  # fmt: skip
        if len(grid):
            if known and shown[q] == length and length <= n_places:
                _count_places(
                    end, s, length, tied, vector, group, totals[q], first, inside_block, places,
                    place_ends,
                )  # fmt: skip
            else:
                _add_prefixes(
                    end, s, shown[q], vector, group, totals[q], first, grid, before, inside_block,
                    prefix_groups, prefix_keys,
                )  # fmt: skip
            _add_ties(begin, end, s, length, shown[q], tied, ks, ties)
        if chosen is None:
            usual = not tied and shown[q] == length and len(inside) == 0 and extra.shape[1] == 0
            lists_of[length] += 1 if usual else 0
            weigh_groups(claims[q], tables[4])
            add_whole_terms(n, n_vectors, people, group, tables, length if usual else 0)
            if not usual:
                centre(known, order[:n], values, every[:n_plain], *work[:4])
                add_products(tables, 0, scale, *work[1:4], covariance, third[0], fourth[0])
            if len(given):
                add_position_terms(
                    n, n_vectors, people, vector, group, labels, values[0], length, mine, limits,
                    cell, given, used, left_out, width, first, scale, tables, adjusted[q],
                )  # fmt: skip
            continue
        count = find_compared(
            claims[q], first, scale if known else 1.0, here, key_of, place_of, weight
        )
        n_cells = 1
        one_end[0] = n
        if not known:
            for i in range(n):
                cell[i] = pattern[vector[i]]
            n_cells = sort_cells(cell, n, ends[: 1 << n_single], order)
        add_moments(
            known, order[:n], one_end if known else ends[:n_cells], vector, group, values,
            every[:n_plain] if known else every, known_columns if known else columns, known, n_keys,
            np.int64(-1), 0 if known else n_plain + 1, here[:count], key_of, place_of, weight, work,
            scratch, covariance, third[0], fourth[0],
        )  # fmt: skip
        if not known:
            add_means(claims[q], scratch, mean)
        for d in range(len(given)):
            strata = len(limits) + 1 if given[d] < 0 else width[given[d]] + 1
            _fill_cells(n, vector, pattern, labels, mine, limits, given[d], strata, cell)
            if known:
                add_position_moments(
                    n, n_vectors, cell, strata, vector, group,
                    changed[0] if trend and given[d] < 0 else values[0], known_pairs, used[d],
                    left_out[d], here[:count], key_of, place_of, weight, work, adjusted[q, d],
                    given_covariance[d], third[1 + d], fourth[1 + d],
                )  # fmt: skip
                continue
            n_cells = sort_cells(cell, n, ends[: strata << n_single], order)
            add_moments(
                known, order[:n], ends[:n_cells], vector, group,
                changed if trend and given[d] < 0 else values, chances, pairs, known, used[d],
                left_out[d], np.int64(2), here[:count], key_of, place_of, weight, work,
                adjusted[q, d], given_covariance[d], third[1 + d], fourth[1 + d],
            )  # fmt: skip
    if chosen is None:
        for length in range(1, longest + 1):
            if lists_of[length]:
                _fill(
                    np.arange(length), np.arange(1, length + 1), np.int64(0), length, length,
                    np.zeros((length, 0)), discount_sums, ks, values,
                )  # fmt: skip
                centre(np.bool_(True), order[:length], values, every[:n_plain], *work[:4])
                add_products(
                    tables, length, 1.0 / length, *work[1:4], covariance, third[0], fourth[0]
                )
        add_lengths(tables, given_covariance, third[1:], fourth[1:])
    if len(grid):
        _prefixes_of_places(places, place_ends, first, grid, prefix_groups, prefix_keys)


@compiled(reordered=True)
def count_vectors(codes: np.ndarray, widths: np.ndarray, counts: np.ndarray) -> None:
    """Count the label vectors of rows; labels of an attribute are -1 up to its width less 2."""
    for i in range(len(codes)):
        mixed = 0
        for a in range(codes.shape[1]):
            mixed = mixed * widths[a] + codes[i, a] + 1
        counts[mixed] += 1


@compiled(reordered=True)
def add_to_buckets(columns: np.ndarray, bucket: np.ndarray, found: np.ndarray) -> None:
    """Add the columns of each list to those of its bucket."""
    for q in range(len(columns)):
        at = bucket[q]
        for j in range(columns.shape[1]):
            found[at, j] += columns[q, j]
