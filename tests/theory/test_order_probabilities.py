"""Chances of two rows' order, against every order followed one by one."""

from itertools import product

import numpy as np
import pytest

from equirank.core.errors import DataError
from equirank.theory import order_probabilities
from equirank.theory.regret import consistent_preference


def random_preference(rng, n, hard=False):
    h = rng.integers(0, 2, (n, n)).astype(float) if hard else rng.random((n, n))
    h = np.triu(h, 1)
    return h + np.tril(1.0 - h.T, -1)


def orders(rows, h):
    """All orders quicksort may give, with their probabilities, as plainly as can be."""
    if len(rows) < 2:
        yield tuple(rows), 1.0
        return
    for pivot in rows:
        others = [row for row in rows if row != pivot]
        for sides in product([True, False], repeat=len(others)):
            chance = 1.0 / len(rows)
            for row, before in zip(others, sides, strict=True):
                chance *= h[row][pivot] if before else h[pivot][row]
            first = [row for row, before in zip(others, sides, strict=True) if before]
            last = [row for row, before in zip(others, sides, strict=True) if not before]
            for left, p in orders(first, h):
                for right, q in orders(last, h):
                    yield (*left, pivot, *right), chance * p * q


def slow_odds(h):
    odds, total = np.zeros(np.shape(h)), 0.0
    for order, chance in orders(list(range(len(h))), h):
        total += chance
        for at, row in enumerate(order):
            odds[row, list(order[at + 1 :])] += chance
    assert total == pytest.approx(1.0)
    return odds


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_quicksort_is_followed_exactly(n):
    h = random_preference(np.random.default_rng(n), n)
    np.testing.assert_allclose(order_probabilities(h), slow_odds(h), atol=1e-12)


@pytest.mark.slow
def test_deterministic_pivoting_rounds_the_chances():
    h = random_preference(np.random.default_rng(8), 5)
    h[0, 1] = h[1, 0] = 0.5
    hard = np.where(h == 0.5, 0.5, (h > 0.5).astype(float))
    np.testing.assert_allclose(
        order_probabilities(h, pivoting="deterministic"), slow_odds(hard), atol=1e-12
    )


def test_transitive_preferences_give_their_order():
    score = np.array([3.0, 7.0, 1.0, 5.0, 4.0, 9.0])
    wanted = (score[:, None] > score).astype(float)
    np.testing.assert_allclose(order_probabilities(wanted), wanted, atol=1e-12)
    np.testing.assert_array_equal(order_probabilities(wanted, "degree"), wanted)


def test_degree_ties_count_half():
    circle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    np.testing.assert_array_equal(order_probabilities(circle, "degree"), (1 - np.eye(3)) / 2)


def test_preferences_are_made_consistent():
    np.testing.assert_allclose(
        consistent_preference([[9.0, 0.9], [0.3, -1.0]]), [[0.0, 0.8], [0.2, 0.0]]
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0, 2], [0, 0]], r"numbers in \[0, 1\], got 2.0 in row 0, column 1"),
        ([[0, np.nan], [0, 0]], "got nan in row 0, column 1"),
        ([0.5, 0.5], "must be a square matrix"),
        (np.zeros((0, 0)), "must be a square matrix"),
        (np.full((13, 13), 0.5), "at most 12 rows, got 13"),
    ],
)
def test_bad_preferences_are_refused(given, message):
    with pytest.raises(DataError, match=message):
        order_probabilities(given)


def test_bad_words_are_refused():
    with pytest.raises(DataError, match="order of order_probabilities"):
        order_probabilities([[0.5]], "bubble")
