"""Gaps between the groups of every list, and the same gaps under random relabellings (twins)."""

import numpy as np

from .compiled import compiled
from .counted_random import below, key_of, random_bits
from .list_columns import MOST_VECTORS, sort_cells
from .list_sorting import ascending
from .packed_counts import (
    MOST_PACKED,
    MOST_PACKED_GRADES,
    MOST_PACKED_ROWS,
    count_slots,
    group_sums_of_vectors,
    mask_groups,
    number_vectors,
    pairs_of_vectors,
    prefix_gaps_of_counts,
    prefix_limits_of_counts,
)

__all__ = ["deal_labels", "measure_gaps", "write_tested"]


#: Most grades of relevance that are counted one by one; more are counted by sorted trees.
MOST_GRADES = 64
#: A normaliser below this is that of a cut through the whole list, which is 0.
ROUNDING = 1e-14
#: Most label vectors that are sorted by counting.
MOST_TALLIED = 256


@compiled(reordered=True)
def _grades(y: np.ndarray, n: int, grade: np.ndarray) -> int:
    """Write a number of each relevance that has its order, and return one more than the largest.

    Small whole numbers are their own; otherwise it is the rank among the distinct ones.
    """
    largest = 0.0
    whole = True
    for i in range(n):
        whole = whole and y[i] < MOST_GRADES and y[i] == np.floor(y[i])
        if not whole:
            break
        grade[i] = int(y[i])
        largest = max(largest, y[i])
    if whole:
        return int(largest) + 1 if n else 0
    order = ascending(y[:n])
    count = 0
    for i in range(n):
        if i > 0 and y[order[i]] != y[order[i - 1]]:
            count += 1
        grade[order[i]] = count
    return count + 1 if n else 0


@compiled(reordered=True)
def _lower(seen: np.ndarray, grade: int, tree: bool) -> float:
    """Return the number of items of a lower grade."""
    if not tree:
        return seen[grade]
    count = 0.0
    while grade > 0:
        count += seen[grade]
        grade -= grade & -grade
    return count


@compiled(reordered=True)
def _count_pairs(
    n: int,
    ends: np.ndarray,
    code: np.ndarray,
    n_groups: int,
    grade: np.ndarray,
    n_grades: int,
    seen: np.ndarray,
    wrong: np.ndarray,
    total: np.ndarray,
) -> None:
    """Count the pairs of better and worse items by group, and those in wrong order, ties half."""
    tree = n_grades > MOST_GRADES
    for g in range(n_groups + 1):
        for h in range(n_groups + 1):
            wrong[g, h] = total[g, h] = 0.0
        for r in range(n_grades + 1):
            seen[g, r] = 0.0
    i = 0
    while i < n:
        stop = ends[i]
        if stop == i + 1 and not tree:  # the usual case, written out for speed
            c, r = code[i], grade[i]
            for h in range(1, n_groups + 1):
                wrong[c, h] += seen[h, r]
            for at in range(r + 1, n_grades + 1):
                seen[c, at] += 1.0
            i = stop
            continue
        share = 1.0 if stop - i == 1 else 0.5  # a block counts half before it is added, half after
        for half in range(2):
            for j in range(i, stop if half == 0 or share < 1.0 else i):
                for h in range(1, n_groups + 1):
                    wrong[code[j], h] += share * _lower(seen[h], grade[j], tree)
            for j in range(i, stop if half == 0 else i):
                if tree:
                    at = grade[j] + 1
                    while at <= n_grades:
                        seen[code[j], at] += 1.0
                        at += at & -at
                else:
                    for r in range(grade[j] + 1, n_grades + 1):
                        seen[code[j], r] += 1.0
        i = stop
    if not tree:
        for g in range(1, n_groups + 1):
            for r in range(1, n_grades):
                count = seen[g, r + 1] - seen[g, r]
                if count > 0:
                    for h in range(1, n_groups + 1):
                        total[g, h] += count * seen[h, r]
        return
    for j in range(n):
        for h in range(1, n_groups + 1):
            total[code[j], h] += _lower(seen[h], grade[j], tree)


@compiled(reordered=True)
def _quotient(above: float, below_: float) -> float:
    return above / below_ if below_ > 0 else np.nan


@compiled(reordered=True)
def _pair_gaps(n_groups: int, wrong: np.ndarray, total: np.ndarray, out: np.ndarray) -> None:
    """Write the largest gap of accuracies between two groups, then each group's to all others."""
    largest = np.nan
    for g in range(1, n_groups + 1):
        mine = others = mine_wrong = others_wrong = 0.0
        for h in range(1, n_groups + 1):
            if h == g:
                continue
            mine += total[g, h]
            mine_wrong += wrong[g, h]
            others += total[h, g]
            others_wrong += wrong[h, g]
            if h > g:
                one = _quotient(total[g, h] - wrong[g, h], total[g, h])
                other = _quotient(total[h, g] - wrong[h, g], total[h, g])
                gap = abs(one - other)
                if not np.isnan(gap) and not gap <= largest:
                    largest = gap
        out[g] = abs(_quotient(mine - mine_wrong, mine) - _quotient(others - others_wrong, others))
    out[0] = largest


@compiled(reordered=True)
def _group_sums(
    n: int,
    code: np.ndarray,
    n_groups: int,
    exposure: np.ndarray,
    y: np.ndarray,
    with_merit: bool,
    sums: np.ndarray,
) -> None:
    """Write the exposure of each group, and its merit if wanted.

    Slots alternate between two sums, so that an addition need not wait for the one before.
    """
    for g in range(n_groups + 1):
        sums[0, g] = sums[1, g] = sums[2, g] = sums[3, g] = 0.0
    if with_merit:
        for i in range(0, n - 1, 2):
            one, other = code[i], code[i + 1]
            sums[0, one] += exposure[i]
            sums[2, other] += exposure[i + 1]
            sums[1, one] += y[i]
            sums[3, other] += y[i + 1]
    else:
        for i in range(0, n - 1, 2):
            sums[0, code[i]] += exposure[i]
            sums[2, code[i + 1]] += exposure[i + 1]
    if n % 2:
        sums[0, code[n - 1]] += exposure[n - 1]
        sums[1, code[n - 1]] += y[n - 1]
    for g in range(n_groups + 1):
        sums[0, g] += sums[2, g]
        sums[1, g] += sums[3, g]


@compiled(reordered=True)
def _exposure_gaps(n_groups: int, sums: np.ndarray, size: np.ndarray, out: np.ndarray) -> None:
    """Write the largest gap of mean exposure of a group and everyone else, then each group's."""
    whole = people = 0.0
    for g in range(1, n_groups + 1):
        whole += sums[0, g]
        people += size[g]
    out[0] = np.nan
    for g in range(1, n_groups + 1):
        rest = _quotient(whole - sums[0, g], people - size[g])
        gap = abs(_quotient(sums[0, g], size[g]) - rest)
        out[g] = gap
        if not np.isnan(gap) and not gap <= out[0]:
            out[0] = gap


@compiled(reordered=True)
def _merit_ratios(n_groups: int, sums: np.ndarray, out: np.ndarray) -> None:
    """Write the smallest ratio of exposure per merit to everyone else, then each group's."""
    out[0] = np.nan
    for g in range(1, n_groups + 1):
        rest = rest_merit = 0.0
        for h in range(1, n_groups + 1):
            if h != g:
                rest += sums[0, h]
                rest_merit += sums[1, h]
        ratio = _quotient(_quotient(sums[0, g], sums[1, g]), _quotient(rest, rest_merit))
        out[g] = ratio
        if not np.isnan(ratio) and not ratio >= out[0]:
            out[0] = ratio


@compiled(reordered=True)
def _prefix_gaps(
    ends: np.ndarray,
    tied: bool,
    code: np.ndarray,
    n_groups: int,
    limit: int,
    step: int,
    known: np.ndarray,
    worst: np.ndarray,
    size: np.ndarray,
    n_known: float,
    weights: np.ndarray,
    work: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the largest normalised sum of differences of shares, then each group's (rND).

    ``known`` has the inverse of the expected number of people with a known label at each cut (0 if
    there are none), ``worst`` the normaliser of each group, ``size`` its number of people.
    """
    for g in range(n_groups + 1):
        work[0, g] = work[2, g] = work[3, g] = 0.0
    share = 1.0 / max(n_known, 1.0)
    cut, at, i = (2 if step == 1 else step), 0, 0
    while i < limit and cut <= limit:
        last = ends[i]
        if last - i == 1:  # slots without ties up to the next cut
            last = i + 1 if tied else cut
            while last < cut and ends[last] == last + 1:
                last += 1
            for j in range(i, last - 1, 2):  # two sums, as in `_group_sums`
                work[0, code[j]] += 1.0
                work[3, code[j + 1]] += 1.0
            if (last - i) % 2:
                work[0, code[last - 1]] += 1.0
            if last == cut:
                weight = weights[cut] if known[at] > 0 else 0.0
                for g in range(1, n_groups + 1):
                    gap = abs((work[0, g] + work[3, g]) * known[at] - size[g] * share)
                    work[2, g] += weight * gap
                at += 1
                cut += step
            i = last
            continue
        for g in range(n_groups + 1):
            work[0, g] += work[3, g]
            work[1, g] = work[3, g] = 0.0
        for j in range(i, last):
            work[1, code[j]] += 1.0
        while cut <= limit and cut <= last:
            if known[at] > 0:
                part = (cut - i) / (last - i)
                for g in range(1, n_groups + 1):
                    count = work[0, g] + work[1, g] * part
                    work[2, g] += weights[cut] * abs(count * known[at] - size[g] * share)
            at += 1
            cut += step
        for g in range(n_groups + 1):
            work[0, g] += work[1, g]
        i = last
    out[0] = np.nan
    for g in range(1, n_groups + 1):
        value = work[2, g] / worst[g] if worst[g] > 0 else np.nan
        out[g] = value
        if not np.isnan(value) and not value <= out[0]:
            out[0] = value


@compiled(reordered=True)
def _prefix_limits(
    ends: np.ndarray,
    code: np.ndarray,
    n_groups: int,
    limit: int,
    step: int,
    size: np.ndarray,
    known: np.ndarray,
    worst: np.ndarray,
) -> float:
    """Write the inverse of the known people of each cut, and normalisers; return all known."""
    n_known = 0.0
    for g in range(1, n_groups + 1):
        worst[g] = 0.0
        n_known += size[g]
    cut, at, i, before = (2 if step == 1 else step), 0, 0, 0.0
    while i < limit and cut <= limit:
        last = ends[i]
        inside = 0.0
        for j in range(i, last):
            inside += 1.0 if code[j] > 0 else 0.0
        while cut <= limit and cut <= last:
            known[at] = before + inside * (cut - i) / (last - i)
            at += 1
            cut += step
        before += inside
        i = last
    for g in range(1, n_groups + 1):
        if not 0 < size[g] < n_known:
            continue
        low = high = 0.0
        cut = 2 if step == 1 else step
        for c in range(at):
            if known[c] > 0:
                weight, share = 1.0 / np.log2(cut), size[g] / n_known
                least = max(0.0, known[c] - (n_known - size[g]))
                low += weight * abs(least / known[c] - share)
                high += weight * abs(min(known[c], size[g]) / known[c] - share)
            cut += step
        worst[g] = max(low, high) if max(low, high) > ROUNDING else 0.0
    for c in range(at):
        known[c] = 1.0 / known[c] if known[c] > 0 else 0.0
    return n_known


@compiled(reordered=True)
def _sort_numbers(numbers: np.ndarray) -> None:
    """Sort whole numbers in place."""
    before, order = numbers.copy(), ascending(numbers.astype(np.float64))
    for i in range(len(numbers)):
        numbers[i] = before[order[i]]


@compiled(reordered=True)
def _sorted_vectors(
    n: int,
    vector: np.ndarray,
    n_single: int,
    width: np.ndarray,
    unknown: bool,
    tally: np.ndarray,
    cell: np.ndarray,
    order: np.ndarray,
    ends: np.ndarray,
    dealt: np.ndarray,
) -> int:
    """Sort the label vectors among people with the same attributes known; return their number.

    ``order`` receives the slots by pattern, ``ends`` the ends of the patterns. ``tally`` has a
    place for every label vector, or none if there are many.
    """
    if not unknown:
        for i in range(n):
            order[i] = i
        ends[0] = n
        if len(tally) == 0:
            for i in range(n):
                dealt[i] = vector[i]
            _sort_numbers(dealt[:n])
            return 1
        for i in range(n):
            tally[vector[i]] += 1
        at = 0
        for v in range(len(tally)):
            for _ in range(tally[v]):
                dealt[at] = v
                at += 1
            tally[v] = 0
        return 1
    for i in range(n):
        mask, rest = 0, vector[i]
        for a in range(n_single - 1, -1, -1):
            mask = 2 * mask + (1 if rest % (width[a] + 1) == 0 else 0)
            rest //= width[a] + 1
        cell[i] = mask
    n_cells = sort_cells(cell, n, ends[: 1 << n_single], order)
    for i in range(n):
        dealt[i] = vector[order[i]]
    start = 0
    for c in range(n_cells):
        _sort_numbers(dealt[start : ends[c]])
        start = ends[c]
    return n_cells


@compiled(reordered=True)
def _relabel(vector: np.ndarray, ends: np.ndarray, n_cells: int, key: np.uint64) -> None:
    """Shuffle label vectors within each cell."""
    start = 0
    for c in range(n_cells):
        stop = ends[c]
        i = stop - 1
        while i > start:  # one number gives two places
            bits = random_bits(key, np.uint64(i))
            other = start + below(bits, i - start + 1)
            vector[i], vector[other] = vector[other], vector[i]
            i -= 1
            if i > start:
                other = start + below(bits << np.uint64(32), i - start + 1)
                vector[i], vector[other] = vector[other], vector[i]
                i -= 1
        start = stop


@compiled(reordered=True)
def _code(
    vector: int, k: int, n_single: int, width: np.ndarray, parts: np.ndarray, single: np.ndarray
) -> int:
    """Return the group of a label vector in a key, from 1 on; 0 if unknown."""
    rest = vector
    for a in range(n_single - 1, -1, -1):
        single[a] = rest % (width[a] + 1) - 1
        rest //= width[a] + 1
    one, other = single[parts[k, 0]], 0
    if parts[k, 1] >= 0:
        other = single[parts[k, 1]]
        one = one * width[parts[k, 1]] + other if one >= 0 else -1
    return 0 if one < 0 or other < 0 else one + 1


@compiled(reordered=True)
def _codes(
    n: int,
    vector: np.ndarray,
    order: np.ndarray,
    n_single: int,
    width: np.ndarray,
    parts: np.ndarray,
    table: np.ndarray,
    code: np.ndarray,
) -> None:
    """Write the group of each slot in each key, by a table of all label vectors if there is one.

    Label vector i is that of slot ``order[i]``; without an order, that of slot i.
    """
    single = np.zeros(n_single, dtype=np.int64)
    for k in range(len(parts)):
        if table.shape[1] == 0:
            for i in range(n):
                slot = order[i] if len(order) else i
                code[k, slot] = _code(vector[i], k, n_single, width, parts, single)
        elif len(order):
            for i in range(n):
                code[k, order[i]] = table[k, vector[i]]
        else:
            for i in range(n):
                code[k, i] = table[k, vector[i]]


@compiled(reordered=True)
def _code_table(n_single: int, width: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the group of every label vector in every key (`_code`); no entries if many."""
    size = 1
    for a in range(n_single):
        size *= width[a] + 1
    table = np.zeros((len(parts), size if size <= MOST_VECTORS else 0), dtype=np.uint32)
    single = np.zeros(n_single, dtype=np.int64)
    for k in range(len(parts)):
        for vector in range(table.shape[1]):
            table[k, vector] = _code(vector, k, n_single, width, parts, single)
    return table


# Long, since one pass over the rows of a list fills every gap from the same work arrays. Two
# functions when compiled, as `measure_lists`.
@compiled(reordered=True)
def measure_gaps(
    chosen: np.ndarray | None,
    others: np.ndarray,
    offsets: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    shown: np.ndarray,
    y: np.ndarray,
    codes: np.ndarray,
    keys: np.ndarray,
    parts: np.ndarray,
    width: np.ndarray,
    sizes: np.ndarray,
    discount_sums: np.ndarray,
    kinds: np.ndarray,
    gap_keys: np.ndarray,
    first_target: np.ndarray,
    step: int,
    n_twins: int,
    seed: np.uint64,
    values: np.ndarray,
    twins: np.ndarray,
    pairs: np.ndarray,
    pairs_with_others: np.ndarray,
    first: np.ndarray,
    most_packed: int,
) -> None:
    """Measure the gaps of every list, and their means over random relabellings of it.

    Parameters
    ----------
    chosen : ndarray of bool, optional
        The lists to measure slot by slot. None: those whose label vectors fit packed words.
    others : ndarray of bool
        Receives the lists that are not measured if ``chosen`` is None.
    offsets, begin, end, shown, y, codes, parts, width, discount_sums
        As in `measure_lists`.
    keys : ndarray of uint64
        Key of each list; the random numbers of a list depend on it, the seed and the draw.
    sizes : ndarray
        Number of groups of each key.
    kinds, gap_keys, first_target : ndarray
        Of each gap: 0 exposure, 1 prefixes, 2 merit, 3 pairs (4: only ``pairs``); its key; its
        first column, the worst of all groups, which the groups follow.
    step, n_twins, seed
        Step between prefixes, number of relabellings, seed.
    values, twins : ndarray of shape (n_lists, n_targets)
        Receive the gaps and the means of the defined gaps of relabellings; NaN if undefined.
    pairs, pairs_with_others : ndarray
        Receive for each two groups of a key the sum of accuracies over lists, the number of lists
        where it is defined, and the number of pairs.
    first : ndarray
        Number of the first group of each key.
    most_packed : int
        Most label vectors of a list that are counted in packed words (`MOST_PACKED` at most).
    """
    longest, most = 1, 1
    for q in range(len(offsets) - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    for k in range(len(sizes)):
        most = max(most, sizes[k])
    n_single, n_keys, n_gaps = codes.shape[1], len(parts), len(kinds)
    mine, exposure = np.zeros(longest), np.zeros(longest)
    vector, dealt = np.zeros(longest, dtype=np.int64), np.zeros(longest, dtype=np.int64)
    cell, order = np.zeros(longest, dtype=np.int64), np.zeros(longest, dtype=np.int64)
    grade, block = np.zeros(longest, dtype=np.int64), np.zeros(longest, dtype=np.int64)
    ends, same = np.zeros(1 << n_single, dtype=np.int64), np.zeros(0, dtype=np.int64)
    code = np.zeros((n_keys, longest), dtype=np.uint32)
    known, n_known = np.zeros((n_gaps, longest + 1)), np.zeros(n_gaps)
    worst, size = np.zeros((n_gaps, most + 1)), np.zeros((n_keys, most + 1))
    work, out = np.zeros((4, most + 1)), np.zeros(most + 1)
    wrong, total = np.zeros((most + 1, most + 1)), np.zeros((most + 1, most + 1))
    sums, with_sums = np.zeros((n_keys, 4, most + 1)), np.zeros(n_keys, dtype=np.bool_)
    with_merit, with_pairs = np.zeros(n_keys, dtype=np.bool_), False
    with_counts, with_grades = np.zeros(n_keys, dtype=np.bool_), np.bool_(False)
    for j in range(n_gaps):
        with_pairs = with_pairs or kinds[j] >= 3
        with_grades = with_grades or kinds[j] >= 2
        with_sums[gap_keys[j]] |= kinds[j] == 0 or kinds[j] == 2
        with_merit[gap_keys[j]] |= kinds[j] == 2
        with_counts[gap_keys[j]] |= kinds[j] == 2 or kinds[j] == 3
    seen = np.zeros((most + 1 if with_pairs else 1, max(longest, most, MOST_GRADES) + 2))
    counts = np.zeros(values.shape[1])
    table = _code_table(n_single, width, parts)
    tally = np.zeros(table.shape[1] if table.shape[1] <= MOST_TALLIED else 0, dtype=np.int64)
    weights, first_cut = np.zeros(longest + 1), 2 if step == 1 else step
    for cut in range(2, longest + 1):
        weights[cut] = 1.0 / np.log2(cut)
    alone = discount_sums[1:] - discount_sums[:-1]
    # of label vectors in packed words
    number, few = np.zeros(len(tally), dtype=np.uint8), np.zeros(longest, dtype=np.uint8)
    small, hand = np.zeros(longest, dtype=np.uint8), np.zeros(longest, dtype=np.uint8)
    code_of, people = np.zeros(MOST_PACKED, dtype=np.int64), np.zeros(MOST_PACKED)
    group, exposures = np.zeros((n_keys, MOST_PACKED), dtype=np.uint32), np.zeros((2, MOST_PACKED))
    masks, rows = np.zeros((n_keys, most + 1), np.uint64), np.zeros((4, most + 1), np.uint64)
    lower = np.zeros(MOST_PACKED_GRADES + 1, dtype=np.uint64)
    better, merits = np.zeros((4, MOST_PACKED), np.uint64), np.zeros(MOST_PACKED_GRADES)
    prefixes, in_block = np.zeros((2, longest + 1), dtype=np.uint64), np.zeros(longest + 1)
    below_grade = np.zeros((n_keys, most + 1, MOST_PACKED_GRADES + 1))
    for q in range(len(offsets) - 1):
        if chosen is not None and not chosen[q]:
            continue
        s, n = offsets[q], offsets[q + 1] - offsets[q]
        unknown = tied = n < 0  # false, and no literal, which would be a type of its own
        for i in range(n):
            b, e = begin[s + i] - s, end[s + i] - s
            block[i] = e
            tied = tied or e - b > 1
            exposure[i] = alone[b]
            if e - b > 1:
                exposure[i] = (discount_sums[e] - discount_sums[b]) / (e - b)
            if i >= shown[q]:
                exposure[i] = 0.0
            mine[i] = y[s + i] if len(y) else 0.0
            mixed, mask = 0, 0
            for a in range(n_single):
                mixed = mixed * (width[a] + 1) + codes[s + i, a] + 1
                mask = 2 * mask + (1 if codes[s + i, a] < 0 else 0)
            vector[i] = mixed
            unknown = unknown or mask > 0
        n_grades = _grades(mine, n, grade) if with_grades else 0
        if chosen is None:
            others[q] = n > MOST_PACKED_ROWS or len(tally) == 0 or n_grades > MOST_PACKED_GRADES
            if others[q]:
                continue
            n_vectors = number_vectors(n, vector, tally, number, code_of, people)
            if n_vectors > most_packed:
                others[q] = True
                continue
            mask_groups(n_vectors, code_of, people, table, sizes, group, masks, size)
            n_cuts = max(0, (shown[q] - first_cut) // step + 1)
            for i in range(n):
                few[i] = number[vector[i]]
            for i in range(n if with_grades else 0):
                small[i] = grade[i]
                merits[grade[i]] = mine[i]
        drawn = few
        for draw in range(n_twins + 1):
            if draw == 0:
                if chosen is not None:
                    _codes(n, vector, same, n_single, width, parts, table, code)
                    for k in range(n_keys):
                        size[k] = 0.0
                        for i in range(n):
                            size[k, code[k, i]] += 1.0
            else:
                if draw == 1:
                    n_cells = _sorted_vectors(
                        n, vector, n_single, width, unknown, tally, cell, order, ends, dealt
                    )
                    if chosen is None:
                        for i in range(n):
                            hand[i] = number[dealt[i]]
                key = key_of(key_of(seed, keys[q]), np.uint64(draw))
                if chosen is None:
                    _relabel(hand, ends, n_cells, key)
                    drawn = hand
                    for i in range(n if unknown else 0):
                        few[order[i]] = hand[i]
                    if unknown:
                        drawn = few
                else:
                    _relabel(dealt, ends, n_cells, key)
                    here_order = order if unknown else same
                    _codes(n, dealt, here_order, n_single, width, parts, table, code)
            if chosen is None:
                count_slots(
                    n, block, tied, drawn, small, with_grades, exposure, first_cut, step, n_cuts,
                    exposures, lower, better, prefixes, in_block,
                )  # fmt: skip
            for k in range(n_keys):
                if chosen is None:
                    group_sums_of_vectors(
                        n_vectors, sizes[k], group[k], exposures, masks[k], lower, merits,
                        n_grades if with_counts[k] or draw == 0 else 0, below_grade[k], sums[k],
                    )  # fmt: skip
                elif with_sums[k]:
                    _group_sums(n, code[k], sizes[k], exposure, mine, with_merit[k], sums[k])
            for j in range(n_gaps):
                k, at = gap_keys[j], first_target[j]
                here = sizes[k]
                if kinds[j] >= 3 and (kinds[j] == 3 or draw == 0):
                    if chosen is None:
                        pairs_of_vectors(
                            n_vectors, here, group[k], masks[k], tied, better, n_grades,
                            below_grade[k], rows, wrong, total,
                        )  # fmt: skip
                    else:
                        _count_pairs(n, block, code[k], here, grade, n_grades, seen, wrong, total)
                    if draw == 0:
                        _add_pairs(here, wrong, total, first[k], pairs, pairs_with_others)
                if kinds[j] == 4:
                    continue
                if kinds[j] == 0:
                    _exposure_gaps(here, sums[k], size[k], out)
                elif kinds[j] == 1:
                    if chosen is None:
                        if draw == 0:
                            n_known[j] = prefix_limits_of_counts(
                                here, masks[k], prefixes, in_block, n_cuts, first_cut, step,
                                weights, ROUNDING, size[k], known[j], worst[j], work[0],
                            )  # fmt: skip
                        prefix_gaps_of_counts(
                            here, masks[k], prefixes, in_block, n_cuts, first_cut, step, weights,
                            known[j], worst[j], size[k], n_known[j], out,
                        )  # fmt: skip
                    else:
                        if draw == 0:
                            n_known[j] = _prefix_limits(
                                block, code[k], here, shown[q], step, size[k], known[j], worst[j]
                            )
                        _prefix_gaps(
                            block, tied, code[k], here, shown[q], step, known[j], worst[j], size[k],
                            n_known[j], weights, work, out,
                        )  # fmt: skip
                elif kinds[j] == 2:
                    _merit_ratios(here, sums[k], out)
                else:
                    _pair_gaps(here, wrong, total, out)
                for t in range(here + 1):
                    if draw == 0:
                        values[q, at + t] = out[t]
                        twins[q, at + t] = counts[at + t] = 0.0
                    elif not np.isnan(out[t]):
                        twins[q, at + t] += out[t]
                        counts[at + t] += 1.0
        for t in range(values.shape[1]):
            twins[q, t] = twins[q, t] / counts[t] if counts[t] > 0 else np.nan


@compiled(reordered=True)
def _add_pairs(
    n_groups: int,
    wrong: np.ndarray,
    total: np.ndarray,
    first: int,
    pairs: np.ndarray,
    with_others: np.ndarray,
) -> None:
    """Add the accuracies of every two groups of a list, and of each group with all others."""
    for g in range(n_groups):
        others = others_wrong = 0.0
        for h in range(n_groups):
            all_pairs, wrong_pairs = total[1 + g, 1 + h], wrong[1 + g, 1 + h]
            if all_pairs > 0:
                pairs[first + g, first + h, 0] += (all_pairs - wrong_pairs) / all_pairs
                pairs[first + g, first + h, 1] += 1.0
                pairs[first + g, first + h, 2] += all_pairs
            if h != g:
                others += all_pairs
                others_wrong += wrong_pairs
        if others > 0:
            with_others[first + g, 0] += (others - others_wrong) / others
            with_others[first + g, 1] += 1.0
            with_others[first + g, 2] += others


@compiled(reordered=True)
def deal_labels(
    offsets: np.ndarray,
    codes: np.ndarray,
    keys: np.ndarray,
    width: np.ndarray,
    n_twins: int,
    seed: np.uint64,
) -> np.ndarray:
    """Return the labels of every slot in each relabelling of `measure_gaps` (draw x slot x label).

    The slots of ties must be sorted by relevance, as there.
    """
    n_slots, n_single = codes.shape
    found = np.empty((n_twins, n_slots, n_single), dtype=np.int64)
    vector, dealt = np.zeros(n_slots, dtype=np.int64), np.zeros(n_slots, dtype=np.int64)
    cell, tally = np.zeros(n_slots, dtype=np.int64), np.zeros(0, dtype=np.int64)
    ends, order = np.zeros(1 << n_single, dtype=np.int64), np.zeros(n_slots, dtype=np.int64)
    for q in range(len(offsets) - 1):
        s, n = offsets[q], offsets[q + 1] - offsets[q]
        unknown = np.bool_(False)
        for i in range(n):
            vector[i] = 0
            for a in range(n_single):
                vector[i] = vector[i] * (width[a] + 1) + codes[s + i, a] + 1
                unknown = unknown or codes[s + i, a] < 0
        n_cells = _sorted_vectors(
            n, vector, n_single, width, unknown, tally, cell, order, ends, dealt
        )
        for draw in range(1, n_twins + 1):
            key = key_of(key_of(seed, keys[q]), np.uint64(draw))
            _relabel(dealt, ends, n_cells, key)
            for i in range(n):
                rest = dealt[i]
                for a in range(n_single - 1, -1, -1):
                    found[draw - 1, s + order[i], a] = rest % (width[a] + 1) - 1
                    rest //= width[a] + 1
    return found


@compiled(reordered=True)
def write_tested(values: np.ndarray, twins: np.ndarray, found: np.ndarray) -> None:
    """Write value, defined, d = value - mean of twins, its square, and whether d is defined."""
    for q in range(values.shape[0]):
        for t in range(values.shape[1]):
            value, d = values[q, t], values[q, t] - twins[q, t]
            if not np.isnan(value):
                found[q, t, 0], found[q, t, 1] = value, 1.0
            if not np.isnan(d):
                found[q, t, 2], found[q, t, 3], found[q, t, 4] = d, d * d, 1.0
