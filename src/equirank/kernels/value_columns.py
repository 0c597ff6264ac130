"""Given values of people to columns per list: scores, gains, and changes between two rankings.

Where `list_columns` computes positions and exposure itself, the values are given here. Rows of a
list that exchange labels are a cell; rows are sorted by list and cell.
"""

import numpy as np

from .compiled import compiled
from .shuffle_moments import add_moments, find_compared

__all__ = ["measure_values"]


@compiled(reordered=True)
def _compare(
    n: int,
    group: np.ndarray,
    values: np.ndarray,
    column: np.ndarray,
    n_averaged: int,
    first: np.ndarray,
    sums: np.ndarray,
    whole: np.ndarray,
    claims: np.ndarray,
    spread: np.ndarray,
) -> None:
    """Write the comparisons of a list, and add to the spread of its ratios."""
    n_compared = column.shape[1]
    people = n_compared
    sums[:] = 0.0
    for k in range(len(first) - 1):
        whole[:] = 0.0
        for i in range(n):
            g = group[i, k]
            if g < 0:
                continue
            for j in range(n_compared):
                sums[g, j] += values[column[k, j], i]
                whole[j] += values[column[k, j], i]
            sums[g, people] += 1.0
            whole[people] += 1.0
        size = whole[people]
        for g in range(first[k], first[k + 1]):
            m, rest = sums[g, people], size - sums[g, people]
            if m == 0 or rest == 0:
                continue
            claims[g, 0], claims[g, 1], claims[g, 2] = 1.0, m, rest
            for j in range(n_compared):
                a, b = sums[g, j], whole[j] - sums[g, j]
                part = (a * rest - b * m) / size
                at = 3 + 4 * j
                claims[g, at] = part * size / (m * rest) if j < n_averaged else part
                claims[g, at + 1] = a * rest / size
                claims[g, at + 2], claims[g, at + 3] = a, b
                spread[g, j] += (whole[j] * m * rest - a * b * size) / (size * size)


@compiled(reordered=True)
def measure_values(
    offsets: np.ndarray,
    cell: np.ndarray,
    group: np.ndarray,
    values: np.ndarray,
    column: np.ndarray,
    n_averaged: int,
    first: np.ndarray,
    claims: np.ndarray,
    adjusted: np.ndarray,
    covariance: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
    spread: np.ndarray,
) -> None:
    """Compare groups by given values in every list, with the moments under shuffled labels.

    Parameters
    ----------
    offsets, cell : ndarray
        Rows of each list, and the cell of each row, ascending within a list.
    group : ndarray of shape (n_rows, n_keys)
        Group of each row in each key, or -1.
    values : ndarray of shape (n_values, n_rows)
        The values.
    column : ndarray of shape (n_keys, n_compared)
        Which values are compared in each key.
    n_averaged : int
        The first ones are differences of means, the others sums less their expectation.
    first : ndarray
        Number of the first group of each key.
    claims : ndarray of shape (n_lists, n_groups, 3 + 4 n_compared)
        Receives whether both sides are there, people and others; then for each value the part of
        the statistic, ``a n2 / N``, and the sums a and b of both sides.
    adjusted : ndarray of shape (n_lists, n_groups, n_compared)
        Receives the parts less their means over shuffles.
    covariance, third, fourth : ndarray
        Receive the moments, as in `measure_lists`.
    spread : ndarray of shape (n_groups, n_compared)
        Receives ``sum((m n1 n2 - a b N) / N^2)``, m = a + b.
    """
    n_keys, n_groups, n_lists = group.shape[1], first[-1], len(offsets) - 1
    n_values, n_compared = len(values), column.shape[1]
    longest = 1
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    mine, here_group = np.zeros((n_values, longest)), np.zeros((longest, n_keys), dtype=np.int64)
    ends, every = np.zeros(longest, dtype=np.int64), np.arange(n_values)
    vector, order = np.arange(longest), np.arange(longest)
    sums, whole = np.zeros((n_groups, n_compared + 1)), np.zeros(n_compared + 1)
    here, key_of = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    place_of = np.zeros(n_groups, dtype=np.int64)
    weight = np.zeros((n_groups, max(n_compared, 2)))
    work = (
        np.zeros((n_values, longest)), np.zeros((n_values, n_values)), np.zeros(n_values),
        np.zeros(n_values), np.zeros(longest, dtype=np.int64), np.zeros(n_groups * n_compared),
        np.zeros((n_compared, n_groups * n_compared)), np.zeros(longest),
        np.zeros((longest, n_values)), np.zeros((1, n_groups)), np.zeros((n_groups, n_groups)),
        np.zeros((n_groups, n_compared)), np.zeros((n_groups, n_compared)), np.zeros((5, 1)),
    )  # fmt: skip
    for q in range(n_lists):
        s, n = offsets[q], offsets[q + 1] - offsets[q]
        n_cells = 0
        for i in range(n):
            for j in range(n_values):
                mine[j, i] = values[j, s + i]
            for k in range(n_keys):
                here_group[i, k] = group[s + i, k]
            if i + 1 == n or cell[s + i + 1] != cell[s + i]:
                ends[n_cells] = i + 1
                n_cells += 1
        if n == 0:
            continue
        _compare(n, here_group, mine, column, n_averaged, first, sums, whole, claims[q], spread)
        count = find_compared(claims[q], first, 1.0, here, key_of, place_of, weight)
        for a in range(count):
            f = weight[a, 0]
            for j in range(n_compared):
                weight[a, j] = f if j < n_averaged else (1.0 if f > 0 else 0.0)
        add_moments(
            np.bool_(False), order[:n], ends[:n_cells], vector, here_group, mine, every, column,
            np.bool_(False), n_keys, np.int64(-1), n_compared, here[:count], key_of, place_of,
            weight, work, adjusted[q], covariance, third, fourth,
        )  # fmt: skip
