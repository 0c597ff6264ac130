"""Sums over group members under shuffled labels, one draw after another."""

import numpy as np

from .compiled import compiled
from .counted_random import key_of, uniform

__all__ = ["shuffled_sums"]


@compiled
def shuffled_sums(
    seed: np.uint64,
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

    Parameters
    ----------
    seed : uint64
        Draw ``d`` and cell ``c`` use the random numbers of the key (seed, d, c).
    labels, values : ndarray of shape (n,) and (n, n_values)
        Rows sorted by query and cell.
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
    n_draws, n_groups, n_values = total.shape
    n_labels = len(member_offsets) - 1
    partner, row_of = np.empty_like(labels), np.empty_like(labels)
    by_label = np.empty((n_labels, n_values))
    sums = np.empty((n_groups, n_values))
    for d in range(n_draws):
        draw_key = key_of(seed, np.uint64(d))
        for q in range(len(query_cells) - 1):
            by_label[:] = 0.0
            for c in range(query_cells[q], query_cells[q + 1]):
                begin, end = cell_offsets[c], cell_offsets[c + 1]
                key = key_of(draw_key, np.uint64(c))
                for i in range(end - begin):
                    partner[i] = int(uniform(key, np.uint64(i)) * (i + 1))
                for i in range(end - begin):  # row_of[i] receives the label of row i
                    row_of[i] = row_of[partner[i]]
                    row_of[partner[i]] = i
                for i in range(end - begin):
                    v, row = labels[begin + i], begin + row_of[i]
                    for j in range(n_values):
                        by_label[v, j] += values[row, j]
            sums[:] = 0.0
            for v in range(n_labels):
                for at in range(member_offsets[v], member_offsets[v + 1]):
                    for j in range(n_values):
                        sums[member_of[at], j] += by_label[v, j]
            for g in range(n_groups):
                for j in range(n_values):
                    part = weight[q, g, j] * (sums[g, j] - expected[q, g, j])
                    total[d, g, j] += part
                    square[d, g, j] += part * part
