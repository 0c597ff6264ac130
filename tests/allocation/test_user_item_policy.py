"""UserItemPolicy: sums over users and places, against the full array of probabilities."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import equirank
from equirank import DataError
from equirank.allocation import UserItemPolicy, item_impact, user_utility


def policy(uniform=0.2):
    rng = np.random.default_rng(0)
    lists = np.array([[rng.permutation(5)[:3] for _ in range(4)] for _ in range(2)])
    weights = np.array([0.25, 0.75]) * (1 - uniform)
    return UserItemPolicy(lists, weights, [1.0, 0.6, 0.5], n_items=5, uniform=uniform)


@pytest.mark.parametrize("uniform", [0.0, 0.2])
def test_sums_are_those_of_the_array(uniform):
    made, relevance = policy(uniform), np.random.default_rng(1).random((4, 5))
    table = made.to_array()
    assert table.sum(axis=1) == pytest.approx(np.ones((4, 3)))
    given = {"attention": made.attention}
    assert made.impact(relevance) == pytest.approx(item_impact(relevance, table, **given))
    assert made.impact(csr_array(relevance)) == pytest.approx(made.impact(relevance))
    total = user_utility(relevance, table, **given)
    assert made.user_utility(relevance).mean() == pytest.approx(np.mean(total))
    assert made.exposure() == pytest.approx((table * made.attention).sum(axis=(0, 2)))


def test_samples_are_lists_of_the_mixture():
    made = policy()
    drawn = np.array([made.sample(seed) for seed in range(400)])
    assert all(len(set(shown)) == 3 for shown in drawn[:50].reshape(-1, 3))
    share = (drawn[:, 0] == made.lists[1, 0]).all(axis=1).mean()
    assert share == pytest.approx(0.6, abs=0.1)


def test_saved_and_read_back(tmp_path):
    made = policy()
    made.save(tmp_path / "policy")
    again = equirank.load(tmp_path / "policy")
    assert (again.to_array() == made.to_array()).all()
    assert len(made.to_table(1)) == 6


@pytest.mark.parametrize(
    ("lists", "weights", "words"),
    [
        ([[0, 1]], [1.0], "lists, users, 1"),
        ([[[0], [1]]], [0.5], "add up to 1"),
        ([[[0], [1]]], [0.5, 0.5], "one number >= 0 per list"),
    ],
)
def test_bad_input(lists, weights, words):
    with pytest.raises(DataError, match=words):
        UserItemPolicy(lists, weights, [1.0], n_items=2)
