"""Bounds: their arithmetic, and that they hold in repeated simulation."""

import math

import numpy as np
import pytest

from equirank import DataError
from equirank.theory import (
    cost_sensitive_vc_bound,
    kernel_bound,
    margin_bound,
    rademacher_complexity,
    rank_svm_bound,
    training_error_bound,
    vc_bound,
)
from equirank.theory.bounds import Bound

# arithmetic


def test_margin_bound_is_its_formula():
    plain = margin_bound(0.1, 0.02, 5000, rho=0.25, delta=0.1, data_dependent=False)
    assert plain.empirical == 0.1
    assert plain.complexity == pytest.approx(2 / 0.25 * 0.02)
    assert plain.confidence == pytest.approx(math.sqrt(math.log(1 / 0.1) / (2 * 5000)))
    seen = margin_bound(0.1, 0.02, 5000, rho=0.25, delta=0.1)
    assert seen.confidence == pytest.approx(3 * math.sqrt(math.log(2 / 0.1) / (2 * 5000)))
    assert seen.value == pytest.approx(0.1 + seen.complexity + seen.confidence)


def test_margin_bound_uniform_in_rho_pays_for_the_choice():
    choice = math.sqrt(math.log(math.log2(2 / 0.25)) / 5000)
    plain = margin_bound(0.1, 0.02, 5000, rho=0.25, delta=0.1, data_dependent=False, uniform=True)
    assert plain.complexity == pytest.approx(4 / 0.25 * 0.02 + choice)
    assert plain.confidence == pytest.approx(math.sqrt(math.log(2 / 0.1) / (2 * 5000)))
    seen = margin_bound(0.1, 0.02, 5000, rho=0.25, delta=0.1, uniform=True)
    assert seen.confidence == pytest.approx(3 * math.sqrt(math.log(4 / 0.1) / (2 * 5000)))
    at_one = margin_bound(0.1, 0.0, 5000, rho=1.0, uniform=True)
    assert at_one.complexity == 0.0
    with pytest.raises(DataError, match=r"rho of margin_bound must be a number in \(0, 1\]"):
        margin_bound(0.1, 0.0, 5000, rho=1.5, uniform=True)


def test_kernel_and_rank_svm_bounds_are_their_formulas():
    bound = kernel_bound(0.2, 900, norm=3.0, radius=2.0, rho=0.5, delta=0.05)
    assert bound.complexity == pytest.approx(4 * math.sqrt(2**2 * 3**2 / (0.5**2 * 900)))
    assert bound.confidence == pytest.approx(math.sqrt(math.log(20) / 1800))
    uniform = kernel_bound(0.2, 900, norm=3.0, radius=2.0, rho=0.5, uniform=True)
    extra = math.sqrt(math.log(math.log2(4)) / 900)
    assert uniform.complexity == pytest.approx(2 * bound.complexity + extra)
    svm = rank_svm_bound(1.7, 900, norm=3.0, radius=2.0, delta=0.05)
    assert svm.empirical == 1.7
    assert svm.complexity == pytest.approx(4 * math.sqrt(2**2 * 3**2 / 900))
    assert svm.vacuous


def test_training_error_bound_is_the_product():
    assert training_error_bound([0.9, 0.8, 0.5]).value == pytest.approx(0.36)
    assert training_error_bound([]).value == 1.0
    assert training_error_bound([0.5, 0.0]).value == 0.0
    assert training_error_bound(np.full(3000, 0.5)).value == 0.0


# nothing silent


def test_a_bound_is_flagged_from_one_on():
    assert Bound(0.5, 0.5, 0.0).vacuous
    assert not Bound(0.5, 0.4, 0.0).vacuous
    assert float(Bound(0.5, 0.25)) == 0.75
    with pytest.raises(ValueError, match="complexity of a bound must be a number, got nan"):
        Bound(0.5, math.nan)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: margin_bound(math.nan, 0.1, 10), "loss of margin_bound must be"),
        (lambda: margin_bound(0.1, 0.1, 0), "n_pairs of margin_bound must be"),
        (lambda: margin_bound(0.1, 0.1, 10, delta=0.0), "delta of margin_bound must be"),
        (lambda: kernel_bound(0.1, 10, norm=-1.0, radius=1.0), "norm of kernel_bound must be"),
        (lambda: rank_svm_bound(-0.1, 10, norm=1.0, radius=1.0), "slack of rank_svm_bound"),
        (lambda: vc_bound(1.1, 9, 9, vc_dimension=1, n_rounds=1), "error of vc_bound must be"),
        (lambda: training_error_bound([-1.0]), "normalizers must be a sequence of numbers >= 0"),
        (
            lambda: cost_sensitive_vc_bound(
                0.1, [9, 9], [9], cost=[1.0], vc_dimension=1, n_rounds=1
            ),
            "must have one value per class",
        ),
        (
            lambda: cost_sensitive_vc_bound(
                0.1, [9], [9], cost=[1.0], vc_dimension=1, n_rounds=1, delta=[0.5, 0.6]
            ),
            "delta",
        ),
        (
            lambda: cost_sensitive_vc_bound(
                0.1, [9], [9], cost=[1.0], vc_dimension=1, n_rounds=1, share=[-1.0]
            ),
            "share must hold a number >= 0 per cost class",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(DataError, match=message):
        call()


# they hold: the best of many stumps is picked on few pairs, its true error is known


def simulate(seed, m=60, n_features=400):
    """Pick the stump with the fewest mistakes on m pairs of pure noise; its true error is 1/2.

    A pair is tied with probability 1/2 and tied pairs are half wrong, so that h and its complement
    are both right as often as wrong.
    """
    rng = np.random.default_rng(seed)
    better, worse = rng.random((m, n_features)), rng.random((m, n_features))
    margin = (better > 0.5).astype(float) - (worse > 0.5)
    wrong = (margin < 0).mean(axis=0) + 0.5 * (margin == 0).mean(axis=0)
    flipped = 1.0 - wrong
    best = int(np.argmin(np.minimum(wrong, flipped)))
    sign = 1.0 if wrong[best] <= flipped[best] else -1.0
    # the loss of a margin at rho = 1: min(1, max(0, 1 - margin)), at least the error
    loss = float(np.clip(1.0 - sign * margin[:, best], 0.0, 1.0).mean())
    return better, worse, min(wrong[best], flipped[best]), loss


@pytest.mark.gate
def test_the_margin_bound_covers_at_its_confidence():
    delta, trials, failures, naive = 0.2, 60, 0, 0
    for seed in range(trials):
        better, worse, error, loss = simulate(seed)
        complexity = sum(
            rademacher_complexity(part, n_draws=20, random_state=seed)[0]
            for part in (better, worse)
        )
        failures += margin_bound(loss, complexity, len(better), delta=delta).value < 0.5
        # without the complexity the promise would be broken: the simulation can tell
        naive += (
            margin_bound(error, 0.0, len(better), delta=delta, data_dependent=False).value < 0.5
        )
    assert failures <= delta * trials
    assert naive > delta * trials


def test_the_margin_bound_of_one_fixed_ranker_is_not_wildly_loose():
    """One function fixed beforehand has no complexity: the bound fails sometimes, as it may."""
    rng = np.random.default_rng(0)
    delta, trials, failures = 0.3, 400, 0
    for _ in range(trials):
        wrong = rng.random(200) < 0.3
        bound = margin_bound(float(wrong.mean()), 0.0, 200, delta=delta, data_dependent=False)
        failures += bound.value < 0.3
    assert 0 < failures <= delta * trials


def test_the_kernel_bound_covers_at_its_confidence():
    delta, trials, failures, naive = 0.2, 100, 0, 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        m, d = 100, 60
        items = rng.normal(size=(2, m, d))
        items /= np.linalg.norm(items, axis=2, keepdims=True)
        difference = items[0] - items[1]  # pure noise: every w is wrong half of the time
        w = difference.mean(axis=0)
        w /= np.linalg.norm(w)
        margin = difference @ w
        slack = float(np.maximum(0.0, 1.0 - 4 * margin).mean())
        failures += rank_svm_bound(slack, m, norm=4.0, radius=1.0, delta=delta).value < 0.5
        loss = float((margin < 0.05).mean())
        failures += kernel_bound(loss, m, norm=1.0, radius=1.0, rho=0.05, delta=delta).value < 0.5
        naive += kernel_bound(loss, m, norm=0.0, radius=1.0, rho=0.05, delta=delta).value < 0.5
    assert failures <= delta * trials
    assert naive > delta * trials
