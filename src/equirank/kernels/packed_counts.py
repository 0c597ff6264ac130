"""Counts of people by label vector, eight vectors in the bytes of one word of 64 bits.

Adding the word of a slot counts it. A group is a set of label vectors, so a mask of bytes, and its
count is the sum of the bytes under the mask. One pass over the slots of a list so replaces a pass
for every attribute.
"""

import numpy as np

from .compiled import compiled

__all__ = [
    "MOST_PACKED",
    "MOST_PACKED_GRADES",
    "MOST_PACKED_ROWS",
    "count_slots",
    "group_sums_of_vectors",
    "mask_groups",
    "number_vectors",
    "pairs_of_vectors",
    "prefix_gaps_of_counts",
    "prefix_limits_of_counts",
]


#: Most label vectors of a list, its grades of relevance, and its rows: a byte counts to 255.
MOST_PACKED, MOST_PACKED_GRADES, MOST_PACKED_ROWS = 8, 8, 255
ONE, EIGHT, TOP, TOP_PAIR = np.uint64(1), np.uint64(8), np.uint64(56), np.uint64(48)
BYTE = np.uint64(0xFF)
#: Factors that add up bytes, and pairs of bytes, in the highest; every second byte.
BYTES = np.uint64(0x0101010101010101)
PAIRS = np.uint64(0x0001000100010001)
EVEN = np.uint64(0x00FF00FF00FF00FF)


@compiled(reordered=True)
def _under(word: np.uint64, mask: np.uint64) -> float:
    """Return the sum of the bytes of a word under a mask."""
    return float(((word & mask) * BYTES) >> TOP)


@compiled(reordered=True)
def number_vectors(
    n: int,
    mixed: np.ndarray,
    tally: np.ndarray,
    number: np.ndarray,
    code_of: np.ndarray,
    people: np.ndarray,
) -> int:
    """Assign numbers to the label vectors of a list by code, and return how many there are.

    ``number`` receives that of each code that occurs; ``code_of`` and ``people`` receive the code
    and the slots of the first eight. ``tally`` is 0 before and after.
    """
    for i in range(n):
        tally[mixed[i]] += 1
    count = 0
    for code in range(len(tally)):
        if tally[code] > 0:
            if count < MOST_PACKED:
                code_of[count], people[count] = code, tally[code]
            number[code] = count
            count += 1
            tally[code] = 0
    return count


@compiled(reordered=True)
def mask_groups(
    n_vectors: int,
    code_of: np.ndarray,
    people: np.ndarray,
    table: np.ndarray,
    sizes: np.ndarray,
    group: np.ndarray,
    masks: np.ndarray,
    size: np.ndarray,
) -> None:
    """Write the group of each label vector in each key, the mask of each group, and its people.

    Group 0 is unknown.
    """
    for k in range(len(table)):
        for g in range(sizes[k] + 1):
            masks[k, g] = np.uint64(0)
            size[k, g] = 0.0
        for v in range(n_vectors):
            g = table[k, code_of[v]]
            group[k, v] = g
            masks[k, g] |= BYTE << (EIGHT * np.uint64(v))
            size[k, g] += people[v]


@compiled(reordered=True)
def _clear(exposures: np.ndarray, lower: np.ndarray, wrong: np.ndarray) -> None:
    for v in range(MOST_PACKED):
        exposures[0, v] = exposures[1, v] = 0.0
        wrong[0, v] = wrong[1, v] = wrong[2, v] = wrong[3, v] = np.uint64(0)
    for r in range(MOST_PACKED_GRADES + 1):
        lower[r] = np.uint64(0)


@compiled(reordered=True)
def count_slots(
    n: int,
    ends: np.ndarray,
    tied: bool,
    vector: np.ndarray,
    grade: np.ndarray,
    with_grades: bool,
    exposure: np.ndarray,
    first_cut: int,
    step: int,
    n_cuts: int,
    exposures: np.ndarray,
    lower: np.ndarray,
    wrong: np.ndarray,
    prefixes: np.ndarray,
    parts: np.ndarray,
) -> None:
    """Count the slots of a list by label vector, at each cut, below each grade, and in pairs.

    Parameters
    ----------
    n, ends, tied, vector, grade, exposure
        Slots, the end of the tied block of each, whether any are tied, their label vectors, grades
        (used if ``with_grades``) and exposures.
    first_cut, step, n_cuts : int
        Lengths of prefixes.
    exposures : ndarray of shape (2, 8)
        Receives the exposure of each vector, in two parts, so that an addition need not wait for
        the one before.
    lower : ndarray of uint64
        Receives the counts of all slots below each grade.
    wrong : ndarray of uint64 of shape (4, 8)
        Receives for the better item's vector the counts of worse items above it, of vectors of even
        and odd number in pairs of bytes; then halves of the same for tied blocks.
    prefixes, parts : ndarray
        Receive for each cut the counts before its tied block, those in it, and the part of it.
    """
    _clear(exposures, lower, wrong)
    before, start = np.uint64(0), 0
    if tied:
        _count_tied(
            n, ends, vector, grade, with_grades, exposure, first_cut, step, n_cuts, exposures,
            lower, wrong, prefixes, parts,
        )  # fmt: skip
        return
    for c in range(n_cuts + 1):
        stop = first_cut + c * step if c < n_cuts else n
        for i in range(start, stop):
            v = vector[i]
            word = ONE << (EIGHT * np.uint64(v))
            before += word
            exposures[i & 1, v] += exposure[i]
            if with_grades:
                r = grade[i]
                worse = lower[r]
                wrong[0, v] += worse & EVEN
                wrong[1, v] += (worse >> EIGHT) & EVEN
                for at in range(MOST_PACKED_GRADES):
                    lower[at + 1] += word if at >= r else np.uint64(0)
        prefixes[0, c], prefixes[1, c], parts[c] = before, np.uint64(0), 0.0
        start = stop


@compiled(reordered=True)
def _count_tied(
    n: int,
    ends: np.ndarray,
    vector: np.ndarray,
    grade: np.ndarray,
    with_grades: bool,
    exposure: np.ndarray,
    first_cut: int,
    step: int,
    n_cuts: int,
    exposures: np.ndarray,
    lower: np.ndarray,
    wrong: np.ndarray,
    prefixes: np.ndarray,
    parts: np.ndarray,
) -> None:
    """Do what `count_slots` does, block by block; a tied block counts half before it is added."""
    before, c, i = np.uint64(0), 0, 0
    while i < n:
        stop = ends[i]
        kind = 0 if stop == i + 1 else 2
        block = np.uint64(0)
        for half in range(2 if kind else 1):
            for j in range(i, stop if with_grades else i):
                v, worse = vector[j], lower[grade[j]]
                wrong[kind, v] += worse & EVEN
                wrong[kind + 1, v] += (worse >> EIGHT) & EVEN
            for j in range(i, stop if half == 0 else i):
                v = vector[j]
                word = ONE << (EIGHT * np.uint64(v))
                block += word
                exposures[j & 1, v] += exposure[j]
                if with_grades:
                    r = grade[j]
                    for at in range(MOST_PACKED_GRADES):
                        lower[at + 1] += word if at >= r else np.uint64(0)
        while c < n_cuts and first_cut + c * step <= stop:
            prefixes[0, c], prefixes[1, c] = before, block
            parts[c] = (first_cut + c * step - i) / (stop - i)
            c += 1
        before += block
        i = stop


@compiled(reordered=True)
def group_sums_of_vectors(
    n_vectors: int,
    n_groups: int,
    group: np.ndarray,
    exposures: np.ndarray,
    masks: np.ndarray,
    lower: np.ndarray,
    grades: np.ndarray,
    n_grades: int,
    counts: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Write the exposure and merit of each group, and its counts below each grade."""
    for g in range(n_groups + 1):
        sums[0, g] = 0.0
    for v in range(n_vectors):
        sums[0, group[v]] += exposures[0, v] + exposures[1, v]
    for g in range(1, n_groups + 1 if n_grades else 1):
        counts[g, 0] = merit = 0.0
        for r in range(n_grades):
            counts[g, r + 1] = _under(lower[r + 1], masks[g])
            merit += grades[r] * (counts[g, r + 1] - counts[g, r])
        sums[1, g] = merit


@compiled(reordered=True)
def pairs_of_vectors(
    n_vectors: int,
    n_groups: int,
    group: np.ndarray,
    masks: np.ndarray,
    tied: bool,
    packed: np.ndarray,
    n_grades: int,
    counts: np.ndarray,
    rows: np.ndarray,
    wrong: np.ndarray,
    total: np.ndarray,
) -> None:
    """Write the pairs of better and worse items by group, and those in wrong order, ties half."""
    kinds = 4 if tied else 2
    for at in range(kinds):
        for g in range(n_groups + 1):
            rows[at, g] = np.uint64(0)
        for v in range(n_vectors):
            rows[at, group[v]] += packed[at, v]
    for h in range(1, n_groups + 1):
        even, odd = masks[h] & EVEN, (masks[h] >> EIGHT) & EVEN
        even, odd = even | (even << EIGHT), odd | (odd << EIGHT)
        for g in range(1, n_groups + 1):
            found = ((rows[0, g] & even) * PAIRS >> TOP_PAIR) + (
                (rows[1, g] & odd) * PAIRS >> TOP_PAIR
            )
            wrong[g, h] = float(found)
            if tied:
                half = ((rows[2, g] & even) * PAIRS >> TOP_PAIR) + (
                    (rows[3, g] & odd) * PAIRS >> TOP_PAIR
                )
                wrong[g, h] += 0.5 * float(half)
            pairs = 0.0
            for r in range(1, n_grades):
                pairs += (counts[g, r + 1] - counts[g, r]) * counts[h, r]
            total[g, h] = pairs


@compiled(reordered=True)
def prefix_limits_of_counts(
    n_groups: int,
    masks: np.ndarray,
    prefixes: np.ndarray,
    parts: np.ndarray,
    n_cuts: int,
    first_cut: int,
    step: int,
    weights: np.ndarray,
    rounding: float,
    size: np.ndarray,
    known: np.ndarray,
    worst: np.ndarray,
    high: np.ndarray,
) -> float:
    """Write the inverse of the known people of each cut, and normalisers; return all known."""
    n_known = 0.0
    for g in range(1, n_groups + 1):
        n_known += size[g]
        worst[g] = high[g] = 0.0
    per_known = 1.0 / max(n_known, 1.0)
    for c in range(n_cuts):
        people = _under(prefixes[0, c], ~masks[0]) + _under(prefixes[1, c], ~masks[0]) * parts[c]
        known[c] = per = 1.0 / people if people > 0 else 0.0
        weight = weights[first_cut + c * step] if people > 0 else 0.0
        for g in range(1, n_groups + 1):
            share = size[g] * per_known
            least = max(0.0, people - (n_known - size[g]))
            worst[g] += weight * abs(least * per - share)
            high[g] += weight * abs(min(people, size[g]) * per - share)
    for g in range(1, n_groups + 1):
        largest = max(worst[g], high[g])
        worst[g] = largest if 0 < size[g] < n_known and largest > rounding else 0.0
    return n_known


@compiled(reordered=True)
def prefix_gaps_of_counts(
    n_groups: int,
    masks: np.ndarray,
    prefixes: np.ndarray,
    parts: np.ndarray,
    n_cuts: int,
    first_cut: int,
    step: int,
    weights: np.ndarray,
    known: np.ndarray,
    worst: np.ndarray,
    size: np.ndarray,
    n_known: float,
    out: np.ndarray,
) -> None:
    """Write the largest normalised sum of differences of shares, then each group's (rND)."""
    share = 1.0 / max(n_known, 1.0)
    out[0] = np.nan
    for g in range(1, n_groups + 1):
        out[g] = np.nan
        if not worst[g] > 0:
            continue
        value = 0.0
        for c in range(n_cuts):
            if known[c] > 0:
                count = _under(prefixes[0, c], masks[g])
                if parts[c] > 0:
                    count += _under(prefixes[1, c], masks[g]) * parts[c]
                value += weights[first_cut + c * step] * abs(count * known[c] - size[g] * share)
        value /= worst[g]
        out[g] = value
        if not value <= out[0]:
            out[0] = value
