"""Bernstein bounds of samples of queries: formula, coverage, sizes, nets and bad input."""

import math

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import make_ranking
from equirank.preprocess import KMedoidsSampler, LeverageSampler, RowNormSampler, UniformSampler
from equirank.theory import queries_needed, sampling_error_bound


def test_the_bound_is_bernsteins_by_hand():
    p, f = np.array([0.5, 0.3, 0.2]), np.array([1.0, 0.0, 0.75])
    g = [0.5, -0.5, 0.25]
    z = [g[i] / (3 * p[i]) for i in range(3)]
    mean = sum(g) / 3
    variance = sum(p[i] * (z[i] - mean) ** 2 for i in range(3))
    span, rate = max(abs(each - mean) for each in z), math.log(2 / 0.1)
    expected = math.sqrt(2 * variance * rate / 50) + span * rate / 150
    assert sampling_error_bound(5 * p, 50, values=f, delta=0.1) == pytest.approx(expected)


def test_the_bound_for_any_values_is_above_that_of_every_value():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(20))
    worst = sampling_error_bound(p, 30, bounds=(-1.0, 1.0))
    for _ in range(50):
        f = rng.choice([-1.0, 1.0], size=20) * rng.random(20) ** 0.2
        assert sampling_error_bound(p, 30, values=f, bounds=(-1.0, 1.0)) <= worst


@pytest.mark.parametrize("kind", [UniformSampler, RowNormSampler, LeverageSampler])
@pytest.mark.parametrize("replace", [True, False])
def test_samples_stay_within_the_bound(kind, replace):
    """At delta .5; without replacement and with unequal shares, this is simulated, not proved."""
    data = make_ranking(n_queries=60, n_items=4, random_state=0)
    f = np.random.default_rng(1).random(60) ** 3
    bound = sampling_error_bound(kind(10).shares(data), 20, values=f, delta=0.5)
    errors = []
    for seed in range(100):
        drawn = kind(20, replace=replace, random_state=seed).sample(data)
        errors.append(abs(drawn.weights @ (f[drawn.indices] - 0.5) / 60 - (f - 0.5).mean()))
    above = np.mean(np.array(errors) > bound)
    assert above <= 0.5
    assert np.max(errors) > 0.3 * bound  # not idle: some come near


def test_sizes_that_are_needed_are_the_smallest():
    p = np.random.default_rng(0).dirichlet(np.ones(30))
    for how in ({}, {"bounds": (-1.0, 1.0), "delta": 0.01}, {"dimension": 3, "radius": 2.0}):
        size = queries_needed(p, 0.1, **how)
        assert sampling_error_bound(p, size, **how) <= 0.1
        assert sampling_error_bound(p, size - 1, **how) > 0.1


def test_a_bound_over_a_ball_holds_for_the_worst_policy_of_the_sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)  # a value is Lipschitz 1/2 in the parameters
    angles = np.linspace(0, 2 * np.pi, 90)
    policies = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    f = 0.5 + 0.5 * np.tanh(x @ policies.T)
    how = {"dimension": 2, "radius": 1.0, "lipschitz": 0.5, "delta": 0.5}
    bound = sampling_error_bound(np.ones(200), 100, **how)
    one = sampling_error_bound(np.ones(200), 100, delta=0.5)
    worst = []
    for _ in range(100):
        drawn = rng.integers(0, 200, size=100)
        worst.append(np.abs(f[drawn].mean(axis=0) - f.mean(axis=0)).max())
    assert np.mean(np.array(worst) > bound) <= 0.5
    assert one < bound < sampling_error_bound(np.ones(200), 100, **how | {"dimension": 20})


def test_what_has_no_bound_is_refused():
    data = make_ranking(n_queries=10, n_items=3, random_state=0)
    with pytest.raises(DataError, match="draws nothing at random"):
        KMedoidsSampler(3).shares(data)
    with pytest.raises(DataError, match="shares must be numbers > 0"):
        sampling_error_bound([0.5, 0.0], 10)
    with pytest.raises(DataError, match="values must be one number within bounds"):
        sampling_error_bound([1, 1], 10, values=[0.0, 2.0])
    with pytest.raises(DataError, match="values must be None with dimension"):
        sampling_error_bound([1, 1], 10, values=[0.0, 1.0], dimension=2)
    with pytest.raises(DataError, match="bounds must be two numbers"):
        sampling_error_bound([1, 1], 10, bounds=(1.0, 0.0))
    with pytest.raises(DataError, match="error of queries_needed"):
        queries_needed([1, 1], 0.0)


def test_shares_are_what_is_drawn():
    data = make_ranking(n_queries=8, n_items=3, random_state=0)
    sampler = RowNormSampler(1, replace=True)
    shares = sampler.shares(data)
    assert shares.sum() == pytest.approx(1.0)
    drawn = [
        RowNormSampler(1, replace=True, random_state=seed).sample(data).indices[0]
        for seed in range(600)
    ]
    assert np.allclose(np.bincount(drawn, minlength=8) / 600, shares, atol=0.08)
