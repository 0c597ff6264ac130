"""Cuts of ordered classes against every set of cuts there is."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from equirank.rankers.ranking_classifier import ordered_cuts


def price(score, truth, cost, cuts):
    return cost[truth, np.searchsorted(cuts, score, side="left")].sum()


@pytest.mark.parametrize("seed", range(20))
def test_no_cuts_are_cheaper(seed):
    rng = np.random.default_rng(seed)
    n, classes = 12, int(rng.integers(2, 5))
    score = np.round(rng.normal(size=n), 0 if seed % 2 else 3)
    truth = rng.integers(0, classes, size=n)
    cost = rng.random((classes, classes)) * (1 - np.eye(classes))
    if seed % 3 == 0:
        cost = 1 - np.eye(classes)
    cuts = ordered_cuts(score, truth, cost)
    assert (cuts[1:] >= cuts[:-1]).all()
    values = np.unique(score)
    edges = [-np.inf, *(values[1:] + values[:-1]) / 2, np.inf]
    cheapest = min(
        price(score, truth, cost, np.array(tried))
        for tried in combinations_with_replacement(edges, classes - 1)
    )
    assert price(score, truth, cost, cuts) == pytest.approx(cheapest)


def test_separable_classes_are_separated():
    cuts = ordered_cuts(np.array([5.0, 1.0, 3.0]), np.array([2, 0, 1]), 1 - np.eye(3))
    assert cuts.tolist() == [2.0, 4.0]


def test_an_absent_class_gets_no_room():
    cuts = ordered_cuts(np.array([1.0, 2.0]), np.array([0, 2]), 1 - np.eye(3))
    assert np.searchsorted(cuts, [1.0, 2.0]).tolist() == [0, 2]
    same = ordered_cuts(np.zeros(4), np.array([0, 1, 1, 1]), 1 - np.eye(2))
    assert np.searchsorted(same, [0.0]).tolist() == [1]
