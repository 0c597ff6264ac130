"""Sorting within compiled loops: the orders of NumPy."""

import numpy as np
import pytest

from equirank.kernels.list_sorting import ascending


@pytest.mark.parametrize("n", [0, 1, 2, 17, 128, 129, 1000])
@pytest.mark.parametrize("n_values", [1, 5, 10**9])
def test_the_order_is_that_of_a_stable_sort(n, n_values):
    values = np.random.default_rng(n).integers(0, n_values, n) - n_values / 3.0
    assert ascending(values).tolist() == np.argsort(values, kind="stable").tolist()
