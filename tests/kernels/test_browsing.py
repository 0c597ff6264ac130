from itertools import pairwise, permutations
from math import log2

import numpy as np

from equirank.kernels.discounts import browsing, ideal_exposure


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
