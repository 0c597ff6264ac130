"""Plackett-Luce kernels against enumeration of all orders."""

from itertools import permutations

import numpy as np
import pytest

from equirank.kernels.softmax_orders import (
    exact_marginals,
    log_prob_gradient,
    order_entropy,
    order_log_prob,
)


def prefix_prob(score, order, places):
    """The probability of the first places, item by item."""
    strength = np.exp(np.asarray(score) - max(score))
    left, result = list(order), 1.0
    for item in order[:places]:
        result *= strength[item] / sum(strength[other] for other in left)
        left.remove(item)
    return result


def lists(rng, sizes, spread=2.0):
    score = rng.normal(scale=spread, size=sum(sizes))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    order = np.concatenate([b + rng.permutation(n) for b, n in zip(offsets, sizes, strict=False)])
    return score, order.astype(np.int64), offsets.astype(np.int64)


@pytest.mark.parametrize("shown", [1, 2, 5])
def test_log_prob_is_the_product_of_choices(shown):
    rng = np.random.default_rng(shown)
    score, order, offsets = lists(rng, [5, 1, 4])
    count = np.minimum(np.diff(offsets), shown)
    got = order_log_prob(score, order, offsets, count)
    for query in range(3):
        begin, end = offsets[query : query + 2]
        want = prefix_prob(score[begin:end], list(order[begin:end] - begin), count[query])
        assert got[query] == pytest.approx(np.log(want), abs=1e-12)


def test_probabilities_of_all_orders_sum_to_one():
    score = np.array([0.3, -1.0, 2.0, 0.0])
    offsets, shown = np.array([0, 4]), np.array([4])
    total = sum(
        np.exp(order_log_prob(score, np.array(order), offsets, shown)[0])
        for order in permutations(range(4))
    )
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("shown", [1, 3, 6])
def test_gradient_against_finite_differences(shown):
    rng = np.random.default_rng(shown)
    score, order, offsets = lists(rng, [6, 3])
    count = np.minimum(np.diff(offsets), shown)
    gradient = log_prob_gradient(score, order, offsets, count)
    for row in range(len(score)):
        step = np.zeros(len(score))
        step[row] = 1e-6
        up = order_log_prob(score + step, order, offsets, count).sum()
        down = order_log_prob(score - step, order, offsets, count).sum()
        assert gradient[row] == pytest.approx((up - down) / 2e-6, abs=1e-7)


def test_huge_scores_stay_numbers():
    score = np.array([1e4, -1e4, 0.0, 1e4])
    offsets, shown = np.array([0, 4]), np.array([4])
    best = np.array([0, 3, 2, 1])
    assert order_log_prob(score, best, offsets, shown)[0] == pytest.approx(-np.log(2))
    worst = order_log_prob(score, best[::-1].copy(), offsets, shown)[0]
    assert worst == pytest.approx(-3e4 - 3 * np.log(2))
    assert np.isfinite(log_prob_gradient(score, best, offsets, shown)).all()
    assert order_entropy(score, best, offsets, shown)[0] == pytest.approx(np.log(2))


@pytest.mark.parametrize("places", [1, 2, 4])
def test_marginals_and_entropy_against_enumeration(places):
    score = np.random.default_rng(places).normal(size=4)
    marginals, entropy = exact_marginals(score, places)
    want, surprise, seen = np.zeros((4, places)), 0.0, set()
    for order in permutations(range(4)):
        chance = prefix_prob(score, list(order), 4)
        for place in range(places):
            want[order[place], place] += chance
        if order[:places] not in seen:
            seen.add(order[:places])
            prefix = prefix_prob(score, list(order), places)
            surprise -= prefix * np.log(prefix)
    assert marginals == pytest.approx(want, abs=1e-12)
    assert entropy == pytest.approx(surprise, abs=1e-12)


def test_entropy_along_orders_averages_to_the_entropy():
    score = np.random.default_rng(3).normal(size=4)
    offsets = np.array([0, 4])
    for places in (2, 4):
        shown = np.array([places])
        mean = sum(
            prefix_prob(score, list(order), 4)
            * order_entropy(score, np.array(order), offsets, shown)[0]
            for order in permutations(range(4))
        )
        assert mean == pytest.approx(exact_marginals(score, places)[1], abs=1e-12)


def test_score_function_has_mean_zero():
    score = np.random.default_rng(8).normal(size=5)
    offsets, shown = np.array([0, 5]), np.array([3])
    mean = sum(
        prefix_prob(score, list(order), 5)
        * log_prob_gradient(score, np.array(order), offsets, shown)
        for order in permutations(range(5))
    )
    assert mean == pytest.approx(np.zeros(5), abs=1e-12)
