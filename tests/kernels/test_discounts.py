"""Gains, discounts and ideal exposures against their formulas."""

from itertools import pairwise, permutations
from math import log2

import numpy as np
import pytest

from equirank.kernels.discounts import block_means, browsing, discounts, gains, ideal_exposure


def test_gains():
    y = np.array([0.0, 1.0, 2.0, 0.5])
    assert gains(y, "exp2").tolist() == pytest.approx([0, 1, 3, 2**0.5 - 1])
    assert gains(y, "linear").tolist() == [0, 1, 2, 0.5]


@pytest.mark.parametrize("kind", ["exp2", "linear"])
def test_gains_are_doubles(kind):
    gained = gains(np.array([20, 24], dtype=np.float32), kind)
    assert gained.dtype == np.float64
    assert gained[1] == (2**24 - 1 if kind == "exp2" else 24)


def test_log2():
    wanted = [1 / log2(2), 1 / log2(3), 1 / log2(4), 1 / log2(5)]
    assert discounts(4, "log2").tolist() == pytest.approx(wanted)


def test_zipf_and_flat():
    assert discounts(3, "zipf").tolist() == pytest.approx([1, 1 / 2, 1 / 3])
    assert discounts(3, "flat").tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", ["log2", "zipf", "flat"])
def test_cutoff(kind):
    whole = discounts(4, kind)
    assert discounts(4, kind, 2).tolist() == [*whole[:2], 0, 0]
    assert discounts(4, kind, 9).tolist() == whole.tolist()


def test_vector_is_cut_or_filled_with_zeros():
    assert discounts(4, [0.5, 0.25]).tolist() == [0.5, 0.25, 0, 0]
    assert discounts(1, (0.5, 0.25)).tolist() == [0.5]
    assert discounts(3, [3, 2, 1], 2).tolist() == [3, 2, 0]


def test_vector_of_the_caller_is_not_changed():
    mine = np.array([3.0, 2.0, 1.0])
    discounts(3, mine, 1)
    assert mine.tolist() == [3, 2, 1]


def test_block_means():
    weights = np.array([1.0, 0.5, 0.25, 0.0])
    first, last = np.array([1, 2, 1, 4]), np.array([1, 3, 4, 4])
    wanted = [1, (0.5 + 0.25) / 2, (1 + 0.5 + 0.25) / 4, 0]
    assert block_means(weights, first, last).tolist() == pytest.approx(wanted)


def test_places():
    np.testing.assert_allclose(browsing(4, "rbp", 0.8), [1, 0.8, 0.64, 0.512])
    np.testing.assert_allclose(browsing(4, "rbp", 0.8, 2), [1, 0.8, 0, 0])
    np.testing.assert_allclose(browsing(3, "rbp", 0.0), [1, 0, 0])
    np.testing.assert_allclose(browsing(3, "rbp", 1.0), [1, 1, 1])
    np.testing.assert_allclose(browsing(2, "log2", 0.8), [1, 1 / log2(3)])
    np.testing.assert_allclose(browsing(3, (0.5, 0.2), 0.8), [0.5, 0.2, 0])


def test_ideal_exposure_agrees_with_all_best_orders():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 6, 200)
    sizes[[0, -1]] = 0
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    y = rng.integers(0, 3, offsets[-1]).astype(float)
    weights = np.array([1.0, 0.7, 0.1, 0.4, 0.0])
    got = ideal_exposure(y, offsets, weights)
    for begin, end in pairwise(offsets):
        part = y[begin:end].tolist()
        best = sorted(part, reverse=True)
        orders = [o for o in permutations(range(len(part))) if [part[i] for i in o] == best]
        wanted = np.zeros(len(part))
        for order in orders:
            for place, item in enumerate(order):
                wanted[item] += weights[place] / len(orders)
        np.testing.assert_allclose(got[begin:end], wanted, atol=1e-12)


def test_without_ties_the_weights_come_back_unchanged():
    weights = 1 / np.log2(1 + np.arange(1, 7))
    offsets = np.array([0, 3, 6])
    assert ideal_exposure(np.array([2.0, 3, 1, 1, 2, 3]), offsets, weights).tolist() == [
        weights[1], weights[0], weights[2], weights[2], weights[1], weights[0],
    ]  # fmt: skip
    tied = ideal_exposure(np.array([2.0, 3, 1, 1, 1, 3]), offsets, weights)
    assert tied[:3].tolist() == [weights[1], weights[0], weights[2]]
    assert tied[5] == weights[0]
