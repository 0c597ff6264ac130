"""Sums over resampled units against loops."""

import numpy as np
import pytest

from equirank.kernels.resampled_sums import resampled_sums


@pytest.mark.parametrize("shape", [(3, 7, 2), (1, 1, 1), (5, 1, 3), (0, 4, 2), (2, 3, 0)])
def test_sums_are_those_of_repeated_rows(shape):
    n_resamples, n_units, n_columns = shape
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, (n_resamples, n_units)).astype(float)
    columns = rng.normal(size=(n_units, n_columns))
    found = resampled_sums(counts, columns)
    assert found.shape == (n_resamples, n_columns)
    for row, count in zip(found, counts, strict=True):
        np.testing.assert_allclose(row, np.repeat(columns, count.astype(int), axis=0).sum(axis=0))
