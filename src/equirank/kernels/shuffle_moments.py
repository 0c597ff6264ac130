"""Moments of the differences of a list between groups if its labels were shuffled within cells.

A cell is a set of slots that exchange labels: all of a list, those with the same labels known, or
those of one stratum. Sums of groups then have a mean, a covariance and cumulants in closed form.
"""

import numpy as np

from .compiled import compiled

__all__ = ["add_means", "add_moments", "add_position_moments", "centre", "find_compared"]


@compiled(reordered=True)
def find_compared(
    claims: np.ndarray,
    first: np.ndarray,
    scale: float,
    here: np.ndarray,
    key_of: np.ndarray,
    place_of: np.ndarray,
    weight: np.ndarray,
) -> int:
    """Assign numbers to the compared groups of a list, and return how many there are.

    If most groups are, each keeps its number. ``here`` and ``key_of`` receive group and key of
    each number, ``place_of`` the number of each group (-1 if it is not compared), and ``weight``
    the factor of each compared sum.
    """
    n_groups = len(claims)
    count = 0
    for g in range(n_groups):
        count += 1 if claims[g, 0] > 0 else 0
    dense = 2 * count >= n_groups
    count = 0
    for k in range(len(first) - 1):
        for g in range(first[k], first[k + 1]):
            place_of[g] = -1
            if claims[g, 0] > 0:
                place_of[g] = count
            elif not dense:
                continue
            f = 0.0
            if claims[g, 0] > 0:
                f = (claims[g, 1] + claims[g, 2]) / (claims[g, 1] * claims[g, 2])
            here[count], key_of[count] = g, k
            weight[count] = 1.0 if f > 0 else 0.0
            weight[count, 0] = f
            weight[count, 1] = f * scale
            count += 1
    return count


@compiled(reordered=True)
def centre(
    plain: bool,
    order: np.ndarray,
    values: np.ndarray,
    active: np.ndarray,
    centred: np.ndarray,
    spread: np.ndarray,
    power3: np.ndarray,
    power4: np.ndarray,
) -> None:
    """Write the values of the slots of a cell less their means, and sums of their powers."""
    size = len(order)
    for a in range(len(active)):
        u = active[a]
        total = 0.0
        if plain:
            for at in range(size):
                total += values[u, at]
                centred[u, at] = values[u, at]
        else:
            for at in range(size):
                centred[u, at] = values[u, order[at]]
                total += centred[u, at]
        mean = total / size
        second = third = fourth = 0.0
        for at in range(size):
            x = centred[u, at] - mean
            centred[u, at] = x
            second += x * x
            third += x * x * x
            fourth += x * x * x * x
        spread[u, u], power3[u], power4[u] = second, third, fourth
        for b in range(a):
            w = active[b]
            product = 0.0
            for at in range(size):
                product += centred[u, at] * centred[w, at]
            spread[u, w] = spread[w, u] = product


@compiled(reordered=True)
def _add_cumulants(
    size: int,
    n_here: int,
    member: np.ndarray,
    key_of: np.ndarray,
    column: np.ndarray,
    n_columns: int,
    spread: np.ndarray,
    power3: np.ndarray,
    power4: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
) -> None:
    """Add the third and fourth cumulants of the sums over the groups of a cell.

    These are sums over m of n numbers that are drawn without replacement.
    """
    if size == 1:
        return
    n = float(size)
    two = 1.0 / (n * (n - 1.0))
    three = two / (n - 2.0) if size > 2 else 0.0
    four = three / (n - 3.0) if size > 3 else 0.0
    for a in range(n_here):
        m = member[a]
        if m == 0 or m == size:
            continue
        both = m * (n - m)
        second = both * two
        of_third = both * (n - 2.0 * m) * three
        if size > 3:
            of_fourth = both * four * (n * (n + 1.0) - 6.0 * both)
            of_square = both * four * 3.0 * (m - 1.0) * (n - m - 1.0)
        elif size == 3:
            of_fourth, of_square = 1.0 / 3.0, 0.0
        else:
            of_fourth, of_square = 0.0, second * second
        of_square -= 3.0 * second * second
        for j in range(n_columns):
            u = column[key_of[a], j]
            third[a, j] += of_third * power3[u]
            fourth[a, j] += of_fourth * power4[u] + of_square * spread[u, u] * spread[u, u]


@compiled(reordered=True)
def _add_covariance(
    n_here: int,
    overlap: np.ndarray,
    weight: np.ndarray,
    spread: np.ndarray,
    column: np.ndarray,
    same: bool,
    here: np.ndarray,
    key_of: np.ndarray,
    terms: np.ndarray,
    tile: np.ndarray,
    covariance: np.ndarray,
) -> None:
    """Add ``overlap * weight * weight * spread`` of the compared sums, and clear ``overlap``.

    ``covariance`` has the last two axes, group and column, in one. ``same`` says that every key
    compares the same columns.
    """
    n_compared = column.shape[1]
    built = -1
    for a in range(n_here):
        k = key_of[a]
        if overlap[a, a] == 0:
            overlap[a, : a + 1] = 0.0
            continue
        if built < 0 or (k != built and not same):
            for j in range(n_compared):
                for b in range(n_here):
                    for i in range(n_compared):
                        u, w = column[k, j], column[key_of[b], i]
                        tile[j, b * n_compared + i] = spread[u, w]
            built = k
        for b in range(a + 1):
            for i in range(n_compared):
                terms[b * n_compared + i] = overlap[a, b] * weight[b, i]
            overlap[a, b] = 0.0
        g = here[a]
        for j in range(n_compared):
            own = weight[a, j]
            if here[n_here - 1] == n_here - 1:  # no group is left out up to here
                for t in range((a + 1) * n_compared):
                    covariance[g, j, t] += own * tile[j, t] * terms[t]
            else:
                for b in range(a + 1):
                    at = here[b] * n_compared
                    for i in range(n_compared):
                        t = b * n_compared + i
                        covariance[g, j, at + i] += own * tile[j, t] * terms[t]


# Long, since the moments of all cells of a list are sums over the same loops.
@compiled(reordered=True)
def add_moments(
    plain: bool,
    order: np.ndarray,
    ends: np.ndarray,
    vector: np.ndarray,
    group: np.ndarray,
    values: np.ndarray,
    active: np.ndarray,
    column: np.ndarray,
    same: bool,
    n_used: int,
    left_out: int,
    n_adjusted: int,
    here: np.ndarray,
    key_of: np.ndarray,
    place_of: np.ndarray,
    weight: np.ndarray,
    work: tuple[np.ndarray, ...],
    adjusted: np.ndarray,
    covariance: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
) -> None:
    """Add the covariance and cumulants of differences under shuffles within cells.

    Parameters
    ----------
    plain : bool
        Whether there is one cell, of all slots in their order.
    order, ends : ndarray
        Slots by cell, whose labels are exchanged, and the end of each cell.
    vector, group : ndarray
        Label vector of each slot; group of each vector in each key.
    active : ndarray
        The columns of ``values`` with moments.
    column : ndarray of shape (n_keys, n_compared)
        The columns that are compared in each key; the first two are differences of means.
    same : bool
        Whether every key compares the same columns.
    n_used, left_out : int
        The first keys are compared, without the one left out.
    n_adjusted : int
        How many of the compared sums less their means are wanted.
    here, key_of, place_of, weight : ndarray
        The compared groups, as `find_compared` numbers them.
    work : tuple of ndarray
        Arrays for the work; those of numbers 7 to 12 are 0 before and after.
    adjusted : ndarray of shape (n_groups, at least n_adjusted)
        Receives the compared sums minus their means over shuffles.
    """
    centred, spread, power3, power4, touched, terms, tile = work[:7]
    count, by_vector, members, overlap, cubes, fourths = work[7:13]
    n_compared, member = column.shape[1], members[0]
    n_here = _n_used(here, key_of, n_used)
    start = 0
    for c in range(len(ends)):
        stop = ends[c]
        size = stop - start
        centre(plain, order[start:stop], values, active, centred, spread, power3, power4)
        n_touched = 0
        for at in range(start, stop):
            v = vector[at if plain else order[at]]
            if count[v] == 0:
                touched[n_touched] = v
                n_touched += 1
            count[v] += 1.0
        for a in range(len(active) if n_adjusted else 0):
            u = active[a]
            for at in range(size):
                by_vector[vector[at if plain else order[start + at]], u] += centred[u, at]
        per_pair = 1.0 / max(size - 1.0, 1.0)
        for t in range(n_touched):
            v = touched[t]
            for k in range(n_used):
                g = group[v, k]
                a = place_of[g] if g >= 0 else -1
                if a < 0 or k == left_out:
                    continue
                member[a] += count[v]
                for j in range(n_adjusted):
                    adjusted[g, j] += weight[a, j] * by_vector[v, column[k, j]]
            _add_overlap(v, count[v] * per_pair, group, n_used, left_out, place_of, overlap)
            count[v] = 0.0
            for a in range(len(active) if n_adjusted else 0):
                by_vector[v, active[a]] = 0.0
        _take_overlap(size, per_pair, n_here, member, overlap)
        _add_cumulants(
            size, n_here, member, key_of, column, n_compared, spread, power3, power4, cubes, fourths
        )
        _add_covariance(
            n_here, overlap, weight, spread, column, same, here, key_of, terms, tile, covariance
        )
        member[:n_here] = 0.0
        start = stop
    _add_weighted(n_here, n_compared, here, weight, cubes, fourths, third, fourth)


@compiled(reordered=True)
def _n_used(here: np.ndarray, key_of: np.ndarray, n_used: int) -> int:
    """Return how many of the compared groups are those of the first keys."""
    n_here = len(here)
    while n_here > 0 and key_of[n_here - 1] >= n_used:
        n_here -= 1
    return n_here


@compiled(reordered=True)
def _add_overlap(
    v: int,
    part: float,
    group: np.ndarray,
    n_used: int,
    left_out: int,
    place_of: np.ndarray,
    overlap: np.ndarray,
) -> None:
    """Add a part to the overlap of every two compared groups of a label vector."""
    for k in range(n_used):
        g = group[v, k]
        a = place_of[g] if g >= 0 else -1
        if a < 0 or k == left_out:
            continue
        overlap[a, a] += part
        for other in range(k):
            h = group[v, other]
            b = place_of[h] if h >= 0 else -1
            if b >= 0 and other != left_out:
                overlap[a, b] += part


@compiled(reordered=True)
def _take_overlap(
    size: int, per_pair: float, n_here: int, member: np.ndarray, overlap: np.ndarray
) -> None:
    """Subtract the overlap of every two groups of a cell that chance alone would make."""
    for a in range(n_here):
        part = member[a] * per_pair / size
        for b in range(a + 1 if part > 0 else 0):
            overlap[a, b] -= part * member[b]


@compiled(reordered=True)
def _add_weighted(
    n_here: int,
    n_compared: int,
    here: np.ndarray,
    weight: np.ndarray,
    cubes: np.ndarray,
    fourths: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
) -> None:
    """Add the cumulants of weighted sums, and clear those of the sums."""
    for a in range(n_here):
        for j in range(n_compared):
            w = weight[a, j]
            third[here[a], j] += w * w * w * cubes[a, j]
            fourth[here[a], j] += w * w * w * w * fourths[a, j]
            cubes[a, j] = fourths[a, j] = 0.0


# Long, since the moments of all cells of a list are sums over the same loops.
@compiled(reordered=True)
def add_position_moments(
    n: int,
    n_vectors: int,
    cell: np.ndarray,
    n_cells: int,
    vector: np.ndarray,
    group: np.ndarray,
    position: np.ndarray,
    column: np.ndarray,
    n_used: int,
    left_out: int,
    here: np.ndarray,
    key_of: np.ndarray,
    place_of: np.ndarray,
    weight: np.ndarray,
    work: tuple[np.ndarray, ...],
    adjusted: np.ndarray,
    covariance: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
) -> None:
    """Do what `add_moments` does for positions alone, whose overlaps of cells can be added.

    ``cell`` has a number below ``n_cells`` for every slot.
    """
    spread, power3, power4, terms, tile = work[1], work[2], work[3], work[5], work[6]
    count, by_vector, members, overlap, cubes, fourths = work[7:13]
    n_here = _n_used(here, key_of, n_used)
    cells = work[13]
    cells[:] = 0.0
    mean, size, second, cube, quartic = cells[0], cells[1], cells[2], cells[3], cells[4]
    for i in range(n):
        mean[cell[i]] += position[i]
        size[cell[i]] += 1.0
    for c in range(n_cells):
        mean[c] /= max(size[c], 1.0)
    for i in range(n):
        c = cell[i]
        x = position[i] - mean[c]
        by_vector[vector[i], 0] += x
        x2 = x * x
        second[c] += x2
        cube[c] += x2 * x
        quartic[c] += x2 * x2
    for c in range(n_cells):
        mean[c] = second[c] / max(size[c] - 1.0, 1.0)  # the part of a pair from here on
    for i in range(n):
        count[vector[i]] += mean[cell[i]]
    for k in range(n_used):
        if k != left_out:
            for i in range(n):
                a = place_of[group[vector[i], k]]
                if a >= 0:
                    members[cell[i], a] += 1.0
    for v in range(n_vectors):
        for k in range(n_used):
            g = group[v, k]
            a = place_of[g]
            if a >= 0 and k != left_out:
                adjusted[g, 0] += weight[a, 0] * by_vector[v, 0]
                adjusted[g, 1] += weight[a, 1] * by_vector[v, 0]
        _add_overlap(v, count[v], group, n_used, left_out, place_of, overlap)
        count[v] = by_vector[v, 0] = 0.0
    for c in range(n_cells):
        if size[c] == 0:
            continue
        spread[0, 0], power3[0], power4[0] = second[c], cube[c], quartic[c]
        _take_overlap(int(size[c]), mean[c], n_here, members[c], overlap)
        _add_cumulants(
            int(size[c]), n_here, members[c], key_of, column, np.int64(1), spread, power3, power4,
            cubes, fourths,
        )  # fmt: skip
        members[c, :n_here] = 0.0
    spread[0, 0] = 1.0
    _add_covariance(
        n_here,
        overlap,
        weight,
        spread,
        column,
        np.bool_(True),
        here,
        key_of,
        terms,
        tile,
        covariance,
    )
    for a in range(n_here):
        cubes[a, 1], fourths[a, 1] = cubes[a, 0], fourths[a, 0]
    _add_weighted(n_here, np.int64(2), here, weight, cubes, fourths, third, fourth)


@compiled(reordered=True)
def add_means(claims: np.ndarray, adjusted: np.ndarray, mean: np.ndarray) -> None:
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
