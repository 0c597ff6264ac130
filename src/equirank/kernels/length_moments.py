"""Moments under shuffles of lists whose labels are all known, added up by the length of the list.

The covariance of a list is a product: what its labels say of every two groups, times what its
positions say of every two values. Without ties the second depends on its length alone. So the first
is added up by length, and multiplied at the end. `shuffle_moments` has the same moments for any
list, one by one.
"""

import numpy as np

from .compiled import compiled

__all__ = [
    "add_lengths",
    "add_position_terms",
    "add_products",
    "add_whole_terms",
    "fits_tables",
    "length_tables",
    "weigh_groups",
]


#: Most groups and rows of a list, and most numbers in the tables of all lengths.
MOST_GROUPS, MOST_ROWS, MOST_NUMBERS = 16, 512, 1 << 18


def fits_tables(n_groups: int, longest: int, n_designs: int) -> bool:
    """Return whether the moments of lists are added up by length."""
    size = (longest + 1) * (4 + n_designs) * n_groups * n_groups
    return n_groups <= MOST_GROUPS and longest <= MOST_ROWS and size <= MOST_NUMBERS


@compiled(reordered=True)
def length_tables(
    n_groups: int, longest: int, n_designs: int, n_strata: int
) -> tuple[np.ndarray, ...]:
    """Return tables of 0 for `add_whole_terms` and `add_position_terms`.

    By length: products of pairs of groups and of cumulants for one cell, then for each design. Row
    0 is for lists whose values do not depend on their length alone. Then arrays for the work.
    """
    rows, g, v = longest + 1, n_groups, longest
    return (
        np.zeros((rows, 4, g, g)), np.zeros((rows, 6, g)), np.zeros((rows, n_designs, g, g)),
        np.zeros((rows, n_designs, 2, g)), np.zeros((6, g)), np.zeros((g, g)),
        np.zeros((v, 5)), np.zeros((n_strata, 5)), np.zeros((n_strata, v)), np.zeros((n_strata, g)),
    )  # fmt: skip


@compiled(reordered=True)
def weigh_groups(claims: np.ndarray, weight: np.ndarray) -> None:
    """Write the weight of each group's sum, whether it is compared, and its people."""
    for g in range(len(claims)):
        m, rest = claims[g, 1], claims[g, 2]
        here = claims[g, 0] > 0
        weight[0, g] = (m + rest) / (m * rest) if here else 0.0
        weight[1, g] = 1.0 if here else 0.0
        weight[2, g] = m


@compiled(reordered=True)
def _add_both(
    n_vectors: int,
    part: np.ndarray,
    column: int,
    group: np.ndarray,
    n_used: int,
    left_out: int,
    both: np.ndarray,
) -> None:
    """Add a part of each label vector to every two of its groups, the later one first."""
    for v in range(n_vectors):
        for k in range(n_used):
            if k == left_out:
                continue
            g = group[v, k]
            for other in range(k + 1):
                if other != left_out:
                    both[g, group[v, other]] += part[v, column]


@compiled(reordered=True)
def _factors(size: float) -> tuple[float, float, float, float]:
    """Return what `_cumulants` needs of the size of a cell, at least 2."""
    two = 1.0 / (size * (size - 1.0))
    three = two / (size - 2.0) if size > 2 else 0.0
    four = three / (size - 3.0) if size > 3 else 0.0
    return two, three, four, size * (size + 1.0)


@compiled(reordered=True)
def _cumulants(
    size: float, m: float, factors: tuple[float, float, float, float]
) -> tuple[float, float, float]:
    """Return the factors of sums of powers in the cumulants of a sum over m of the cell's numbers.

    Drawn without replacement; of the third power in the third cumulant, of the fourth and of the
    square of the second in the fourth.
    """
    two, three, four, wide = factors
    both = m * (size - m)
    scaled = both * two
    of_fourth = both * four * (wide - 6.0 * both)
    of_square = both * four * 3.0 * (m - 1.0) * (size - m - 1.0)
    if size == 3:  # the mean over the three arrangements
        of_fourth = both / 6.0
    if size == 2:  # the sum has one size
        of_square = scaled * scaled
    return both * (size - 2.0 * m) * three, of_fourth, of_square - 3.0 * scaled * scaled


@compiled(reordered=True)
def add_whole_terms(
    n: int,
    n_vectors: int,
    people: np.ndarray,
    group: np.ndarray,
    tables: tuple[np.ndarray, ...],
    row: int,
) -> None:
    """Add the terms of a list whose labels are all exchanged to a row of the tables.

    Those of two groups with the weights of both, the first, the second, and none; those of the
    third cumulant with weights and without, and of the fourth the same for the two sums of powers.
    """
    pairs, powers = tables[0][row], tables[1][row]
    weight, both, by_vector = tables[4], tables[5], tables[6]
    n_groups = pairs.shape[1]
    for a in range(n_groups):
        for b in range(a + 1):
            both[a, b] = 0.0
    per_pair = 1.0 / max(n - 1.0, 1.0)
    for v in range(n_vectors):
        by_vector[v, 0] = people[v] * per_pair
    _add_both(n_vectors, by_vector, 0, group, group.shape[1], np.int64(-1), both)
    for a in range(n_groups):
        own, part = weight[0, a], weight[2, a] * per_pair / n
        if own == 0:
            continue
        for b in range(a + 1):
            shared = (both[a, b] - part * weight[2, b]) * weight[1, b]
            pairs[0, a, b] += shared * own * weight[0, b]
            pairs[1, a, b] += shared * own
            pairs[2, a, b] += shared * weight[0, b]
            pairs[3, a, b] += shared
    if n < 2:
        return
    factors = _factors(n)
    for g in range(n_groups):
        f, here = weight[0, g], weight[1, g]
        of_third, of_fourth, of_square = _cumulants(n, weight[2, g], factors)
        f3 = f * f * f
        powers[0, g] += of_third * f3
        powers[1, g] += of_third * here
        powers[2, g] += of_fourth * f3 * f
        powers[3, g] += of_fourth * here
        powers[4, g] += of_square * f3 * f
        powers[5, g] += of_square * here


# Long, since one pass over the slots serves the cells of all designs.
@compiled(reordered=True)
def add_position_terms(
    n: int,
    n_vectors: int,
    people: np.ndarray,
    vector: np.ndarray,
    group: np.ndarray,
    labels: np.ndarray,
    position: np.ndarray,
    length: int,
    y: np.ndarray,
    limits: np.ndarray,
    cell: np.ndarray,
    given: np.ndarray,
    used: np.ndarray,
    left_out: np.ndarray,
    width: np.ndarray,
    first: np.ndarray,
    scale: float,
    tables: tuple[np.ndarray, ...],
    adjusted: np.ndarray,
) -> None:
    """Add the terms of positions for each further design, and write the differences less means.

    Sums of powers of positions less the middle of the list are exact, and so are those of a cell
    less its mean: they are computed from whole numbers.
    """
    weight, both, by_vector, by_cell, shared, members = tables[4:10]
    middle = (length + 1) / 2.0
    for v in range(n_vectors):
        for p in range(5):
            by_vector[v, p] = 0.0
    for i in range(n):
        x = position[i] - middle
        v, x2 = vector[i], x * x
        by_vector[v, 1] += x
        by_vector[v, 2] += x2
        by_vector[v, 3] += x2 * x
        by_vector[v, 4] += x2 * x2
    for d in range(len(given)):
        n_cells = len(limits) + 1 if given[d] < 0 else width[given[d]] + 1
        n_groups = first[used[d]]
        for c in range(n_cells):
            for p in range(5):
                by_cell[c, p] = 0.0
            for v in range(n_vectors):
                shared[c, v] = 0.0
            for g in range(n_groups):
                members[c, g] = 0.0
        if given[d] < 0:
            _count_strata(n, y, limits, vector, position, middle, cell, by_cell, shared)
        else:
            for v in range(n_vectors):
                c = labels[v, given[d]]
                shared[c, v] = people[v]
                by_cell[c, 0] += people[v]
                for p in range(1, 5):
                    by_cell[c, p] += by_vector[v, p]
        _add_design(
            n_cells, n_vectors, group, used[d], left_out[d], first, by_vector, by_cell, shared,
            members, weight, both, scale, adjusted[d], tables[2][length, d], tables[3][length, d],
        )  # fmt: skip


@compiled(reordered=True)
def _count_strata(
    n: int,
    y: np.ndarray,
    limits: np.ndarray,
    vector: np.ndarray,
    position: np.ndarray,
    middle: float,
    cell: np.ndarray,
    by_cell: np.ndarray,
    shared: np.ndarray,
) -> None:
    """Add the slots of a list to the strata of their relevance: powers, and label vectors."""
    for i in range(n):
        cell[i] = 0
    for limit in limits:
        for i in range(n):
            cell[i] += 1 if y[i] > limit else 0
    for i in range(n):
        x, c = position[i] - middle, cell[i]
        x2 = x * x
        by_cell[c, 0] += 1.0
        by_cell[c, 1] += x
        by_cell[c, 2] += x2
        by_cell[c, 3] += x2 * x
        by_cell[c, 4] += x2 * x2
        shared[c, vector[i]] += 1.0


@compiled(reordered=True)
def _add_design(
    n_cells: int,
    n_vectors: int,
    group: np.ndarray,
    n_used: int,
    left_out: int,
    first: np.ndarray,
    by_vector: np.ndarray,
    by_cell: np.ndarray,
    shared: np.ndarray,
    members: np.ndarray,
    weight: np.ndarray,
    both: np.ndarray,
    scale: float,
    adjusted: np.ndarray,
    pairs: np.ndarray,
    powers: np.ndarray,
) -> None:
    """Add the terms of one design, from the counts of its cells."""
    n_groups = first[n_used]
    third, fourth = weight[3], weight[4]
    for a in range(n_groups):
        third[a] = fourth[a] = 0.0
        for b in range(a + 1):
            both[a, b] = 0.0
    for c in range(n_cells):
        size, one, two = by_cell[c, 0], by_cell[c, 1], by_cell[c, 2]
        three, four = by_cell[c, 3], by_cell[c, 4]
        per = 1.0 / max(size, 1.0)
        second = (size * two - one * one) * per
        cube = (size * (size * three - 3.0 * one * two) + 2.0 * one * one * one) * per * per
        quartic = size * (size * (size * four - 4.0 * one * three) + 6.0 * one * one * two)
        quartic = (quartic - 3.0 * one * one * one * one) * per * per * per
        per_pair = second / max(size - 1.0, 1.0)
        by_cell[c, 1], by_cell[c, 2] = one * per, per_pair
        for v in range(n_vectors):
            for k in range(n_used):
                members[c, group[v, k]] += shared[c, v]
        if size < 2:
            continue
        factors, square = _factors(size), second * second
        for g in range(n_groups):
            of_third, of_fourth, of_square = _cumulants(size, members[c, g], factors)
            third[g] += of_third * cube
            fourth[g] += of_fourth * quartic + of_square * square
        for a in range(n_groups):
            part = members[c, a] * per_pair * per
            for b in range(a + 1 if part > 0 else 0):
                both[a, b] -= part * members[c, b]
    for v in range(n_vectors):
        total, part = by_vector[v, 1], 0.0
        for c in range(n_cells):
            total -= shared[c, v] * by_cell[c, 1]
            part += shared[c, v] * by_cell[c, 2]
        by_vector[v, 0] = part
        for k in range(n_used):
            if k != left_out:
                g = group[v, k]
                adjusted[g, 0] += weight[0, g] * total
                adjusted[g, 1] += weight[0, g] * scale * total
    _add_both(n_vectors, by_vector, 0, group, n_used, left_out, both)
    if left_out >= 0:
        for g in range(first[left_out], first[left_out + 1]):
            third[g] = fourth[g] = 0.0
            for a in range(n_groups):
                both[max(a, g), min(a, g)] = 0.0
    for a in range(n_groups):
        own = weight[0, a]
        for b in range(a + 1):
            pairs[a, b] += own * weight[0, b] * both[a, b]
        powers[0, a] += own * own * own * third[a]
        powers[1, a] += own * own * own * own * fourth[a]


@compiled(reordered=True)
def add_products(
    tables: tuple[np.ndarray, ...],
    row: int,
    scale: float,
    spread: np.ndarray,
    power3: np.ndarray,
    power4: np.ndarray,
    covariance: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
) -> None:
    """Multiply the terms of a row by the spread of values and clear them.

    The first two of the compared sums are those of positions, the second one times ``scale``.
    """
    pairs, powers = tables[0][row], tables[1][row]
    n_groups, n_compared = covariance.shape[:2]
    for j in range(n_compared):
        u, own = max(j - 1, 0), scale if j == 1 else 1.0
        for i in range(n_compared):
            w = max(i - 1, 0)
            factor = spread[u, w] * own * (scale if i == 1 else 1.0)
            kind = (0 if j < 2 else 2) + (0 if i < 2 else 1)
            for a in range(n_groups):
                for b in range(a + 1):
                    covariance[a, j, b * n_compared + i] += factor * pairs[kind, a, b]
        at, own3 = (0 if j < 2 else 1), own * own * own
        square = spread[u, u] * spread[u, u]
        for g in range(n_groups):
            third[g, j] += own3 * power3[u] * powers[at, g]
            of_fourth = power4[u] * powers[2 + at, g] + square * powers[4 + at, g]
            fourth[g, j] += own3 * own * of_fourth
    pairs[:] = 0.0
    powers[:] = 0.0


@compiled(reordered=True)
def add_lengths(
    tables: tuple[np.ndarray, ...],
    covariance: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
) -> None:
    """Add the terms of positions of all lengths and designs, for positions and for chances."""
    for length in range(1, len(tables[2])):
        for d in range(len(covariance)):
            pairs, powers = tables[2][length, d], tables[3][length, d]
            for a in range(pairs.shape[0]):
                for b in range(a + 1):
                    for j in range(2):
                        own = 1.0 if j == 0 else 1.0 / length
                        covariance[d, a, j, 2 * b] += own * pairs[a, b]
                        covariance[d, a, j, 2 * b + 1] += own / length * pairs[a, b]
                for j in range(2):
                    own = 1.0 if j == 0 else 1.0 / length
                    third[d, a, j] += own * own * own * powers[0, a]
                    fourth[d, a, j] += own * own * own * own * powers[1, a]
