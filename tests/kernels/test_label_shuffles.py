"""Shuffled sums against a slow twin that swaps labels one by one."""

import numpy as np
import pytest

from equirank.kernels.counted_random import key_of, uniform
from equirank.kernels.label_shuffles import shuffled_sums


def shuffled(labels, seed, draw, cell):
    """Return the labels of a cell after the shuffle of Fisher and Yates, from the end."""
    drawn, key = list(labels), np.uint64(seed)
    for part in (draw, cell):
        key = np.uint64(key_of(key, np.uint64(part)))
    for i in range(len(drawn) - 1, 0, -1):
        other = int(uniform(key, np.uint64(i)) * (i + 1))
        drawn[i], drawn[other] = drawn[other], drawn[i]
    return drawn


@pytest.mark.parametrize("n_values", [2, 3])
def test_sums_are_those_of_labels_swapped_one_by_one(n_values):
    rng = np.random.default_rng(2)
    cells, query_cells = (
        np.array([0, 1, 6, 6, 14, 17], np.uint64),
        np.array([0, 2, 2, 5], np.uint64),
    )
    labels, values = rng.integers(0, 3, 17).astype(np.uint64), np.zeros((17, 4))
    values[:, :n_values] = rng.normal(size=(17, n_values))
    values = np.ascontiguousarray(values[:, : n_values + n_values % 2])
    groups = [[0], [0, 2], [2]]  # label 1 is in no group
    members = [np.array([0, 2, 2, 4], np.uint64), np.array([0, 1, 1, 2], np.uint64)]
    weight, expected = rng.random((2, 3, 3, n_values))
    total, square = np.zeros((2, 6, 3, n_values))
    for part in (slice(0, 4), slice(4, 6)):  # as threads share them
        shuffled_sums(np.uint64(9), np.uint64(part.start), labels, values, cells, query_cells,
                      *members, weight, expected, total[part], square[part])  # fmt: skip
    values = values[:, :n_values]
    cells, query_cells = cells.astype(int), query_cells.astype(int)
    twin, twin_square = np.zeros((2, 6, 3, n_values))
    for d in range(6):
        parts = [shuffled(labels[cells[c] : cells[c + 1]], 9, d, c) for c in range(5)]
        drawn = np.concatenate(parts)
        for q in range(3):
            rows = np.arange(cells[query_cells[q]], cells[query_cells[q + 1]])
            for g, members in enumerate(groups):
                inside = rows[np.isin(drawn[rows], members)]
                part = weight[q, g] * (values[inside].sum(axis=0) - expected[q, g])
                twin[d, g] += part
                twin_square[d, g] += part**2
    np.testing.assert_allclose(total, twin, rtol=1e-12)
    np.testing.assert_allclose(square, twin_square, rtol=1e-12)
    assert len(np.unique(total.round(9), axis=0)) == 6
