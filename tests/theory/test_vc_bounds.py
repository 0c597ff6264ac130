"""VC bounds: their arithmetic, with and without costs, and that they hold."""

import math

import numpy as np
import pytest

from equirank.theory import cost_sensitive_vc_bound, vc_bound


def test_vc_bound_is_its_formula():
    m, n, d, rounds, delta = 40_000, 90_000, 3, 5, 0.1
    dimension = 2 * (d + 1) * (rounds + 1) * math.log2(math.e * (rounds + 1))

    def part(size):
        inside = dimension * (math.log(2 * size / dimension) + 1) + math.log(18 / delta)
        return 2 * math.sqrt(inside / size)

    bound = vc_bound(0.05, m, n, vc_dimension=d, n_rounds=rounds, delta=delta)
    assert bound.value == pytest.approx(0.05 + part(m) + part(n))
    few = vc_bound(0.05, int(dimension / 2), n, vc_dimension=d, n_rounds=rounds, delta=delta)
    assert few.value == math.inf
    assert few.vacuous


def test_cost_sensitive_vc_bound_weights_the_deviations():
    given = {"vc_dimension": 2, "n_rounds": 3}
    m, n, cost, deltas = [10**6, 2 * 10**6], [10**6, 10**5], [1.0, 3.0], [0.02, 0.03]
    bound = cost_sensitive_vc_bound(0.1, m, n, cost=cost, delta=deltas, **given)
    weight = np.array(cost) * m * n
    weight /= weight.sum()
    parts = [
        w * vc_bound(0.0, a, b, delta=d, **given).value
        for w, a, b, d in zip(weight, m, n, deltas, strict=True)
    ]
    assert bound.value == pytest.approx(0.1 + sum(parts))
    even = cost_sensitive_vc_bound(0.1, m, n, cost=cost, delta=0.05, share=[1, 0], **given)
    alone = vc_bound(0.1, m[0], n[0], delta=0.025, **given)
    assert even.value == pytest.approx(alone.value)


def test_the_printed_form_is_too_small_for_costs_above_one():
    given = {"vc_dimension": 2, "n_rounds": 3, "delta": 0.05}
    one = vc_bound(0.0, 10**7, 10**7, **given).value
    for cost in (4.0, 9.0):
        printed = cost_sensitive_vc_bound(
            0.0, [10**7], [10**7], cost=[cost], form="printed", **given
        ).value
        assert one < printed < cost * one  # it grows like the root of the cost


def test_the_printed_form_is_the_sum_over_classes_with_the_dimension_scaled():
    m, n, cost, rounds, delta = [10**6, 2 * 10**6], [10**6, 10**5], [1.0, 3.0], 3, 0.05
    dimension = 2 * 3 * (rounds + 1) * math.log2(math.e * (rounds + 1))

    def part(size, d):
        return 2 * math.sqrt((d * (math.log(2 * size / d) + 1) + math.log(18 / (delta / 2))) / size)

    wanted = sum(
        part(a, q * dimension) + part(b, q * dimension) for a, b, q in zip(m, n, cost, strict=True)
    )
    bound = cost_sensitive_vc_bound(
        0.1, m, n, cost=cost, vc_dimension=2, n_rounds=rounds, delta=delta, form="printed"
    )
    assert bound.value == pytest.approx(0.1 + wanted)


def test_the_vc_bound_covers_where_it_says_anything():
    """Samples of items, not of pairs; the best of a few stumps stays within its deviation."""
    delta, trials, failures = 0.2, 20, 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        better, worse = rng.random((4000, 30)) > 0.5, rng.random((4000, 30)) > 0.5
        high, low = better.mean(axis=0), worse.mean(axis=0)
        wrong = (1 - high) * low + 0.5 * (high * low + (1 - high) * (1 - low))
        best = wrong.min()
        bound = vc_bound(float(best), 4000, 4000, vc_dimension=6, n_rounds=1, delta=delta)
        failures += bound.value < 0.5
    assert failures <= delta * trials
