"""Sums over group members under shuffled labels, one draw after another."""

import numpy as np

from .compiled import compiled
from .counted_random import key_of, uniform

__all__ = ["shuffled_sums"]


# Indices are unsigned: numba tests signed ones for a negative number at every access.
ONE, TWO = np.uint64(1), np.uint64(2)


@compiled
def shuffled_sums(
    seed: np.uint64,
    first: np.uint64,
    labels: np.ndarray,
    values: np.ndarray,
    cell_offsets: np.ndarray,
    query_cells: np.ndarray,
    member_offsets: np.ndarray,
    member_of: np.ndarray,
    weight: np.ndarray,
    expected: np.ndarray,
    total: np.ndarray,
    square: np.ndarray,
) -> None:
    """Shuffle labels within cells and add up ``weight * (sum over members - expected)``.

    Labels, offsets and members are uint64.

    Parameters
    ----------
    seed, first : uint64
        Draw ``d`` and cell ``c`` use the random numbers of the key (seed, first + d, c).
    labels, values : ndarray of shape (n,) and (n, width)
        Rows sorted by query and cell. The width is ``n_values``, or one more if that is odd.
    cell_offsets, query_cells : ndarray
        Cell ``c`` has the rows ``cell_offsets[c]:cell_offsets[c + 1]``, query ``q`` the cells
        ``query_cells[q]:query_cells[q + 1]``.
    member_offsets, member_of : ndarray
        A row with label ``v`` is in the groups ``member_of[member_offsets[v]:...]``.
    weight, expected : ndarray of shape (n_queries, n_groups, n_values)
        Of each query.
    total, square : ndarray of shape (n_draws, n_groups, n_values)
        Receive the sums over queries, and the sums of squares.
    """
    n_groups, n_values = np.uint64(total.shape[1]), np.uint64(total.shape[2])
    n_labels, width = np.uint64(len(member_offsets) - 1), np.uint64(values.shape[1])
    row_of = np.empty(len(labels), dtype=np.uint64)
    by_label, sums = np.empty((n_labels, width)), np.empty((n_groups, width))
    for d in range(np.uint64(len(total))):
        draw_key = key_of(seed, first + d)
        for q in range(np.uint64(len(query_cells) - 1)):
            by_label[:] = 0.0
            for c in range(query_cells[q], query_cells[q + ONE]):
                begin, end = cell_offsets[c], cell_offsets[c + ONE]
                key = key_of(draw_key, c)
                for i in range(end - begin):  # row_of[i] receives the label of row i
                    partner = np.uint64(np.int64(uniform(key, i) * np.int64(i + ONE)))
                    row_of[i] = row_of[partner]
                    row_of[partner] = i
                for i in range(end - begin):
                    v, row = labels[begin + i], begin + row_of[i]
                    for j in range(np.uint64(0), width, TWO):
                        by_label[v, j] += values[row, j]
                        by_label[v, j + ONE] += values[row, j + ONE]
            sums[:] = 0.0
            for v in range(n_labels):
                for at in range(member_offsets[v], member_offsets[v + ONE]):
                    g = member_of[at]
                    for j in range(np.uint64(0), width, TWO):
                        sums[g, j] += by_label[v, j]
                        sums[g, j + ONE] += by_label[v, j + ONE]
            for g in range(n_groups):
                for j in range(n_values):
                    part = weight[q, g, j] * (sums[g, j] - expected[q, g, j])
                    total[d, g, j] += part
                    square[d, g, j] += part * part
