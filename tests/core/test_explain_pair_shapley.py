"""Shapley values against the definition: the mean over all orders of joining."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.core.explain_pair import coalitions_of_masks, first_players, marginals, shapley_values


def by_all_orders(worth, n_players):
    """Let the players join in every order; a slow twin."""
    gains = np.zeros(n_players)
    orders = list(permutations(range(n_players)))
    for order in orders:
        mask = 0
        for player in order:
            gains[player] += worth[mask | 1 << player] - worth[mask]
            mask |= 1 << player
    return gains / len(orders)


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_it_is_the_mean_over_all_orders(n_players, seed):
    worth = np.random.default_rng(seed).normal(size=2**n_players)
    np.testing.assert_allclose(
        shapley_values(worth), by_all_orders(worth, n_players), rtol=0, atol=1e-12
    )


def test_a_known_game():
    # a left glove, and two right ones: a pair is worth 1
    worth = np.array([0, 0, 0, 1, 0, 1, 0, 1], dtype=float)  # bit 0 is the left glove
    np.testing.assert_allclose(shapley_values(worth), [4 / 6, 1 / 6, 1 / 6])


def test_masks_are_coalitions():
    assert coalitions_of_masks(np.array([0, 5]), 3).tolist() == [[0, 0, 0], [1, 0, 1]]


def test_orders_give_coalitions_and_gains():
    order = np.array([[2, 0, 1], [1, 2, 0]])
    place = np.argsort(order, axis=1)
    inside = first_players(place[[0, 0, 1]], np.array([1, 2, 2]))
    assert inside.tolist() == [[0, 0, 1], [1, 0, 1], [0, 1, 1]]
    worth = np.array([[0.0, 1.0, 3.0, 7.0], [0.0, 5.0, 6.0, 7.0]])
    assert marginals(order, worth).tolist() == [[2.0, 4.0, 1.0], [1.0, 5.0, 1.0]]
    assert marginals(order, worth).sum(axis=1) == pytest.approx([7.0, 7.0])
