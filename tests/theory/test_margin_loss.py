"""The margin loss: preferences of -1, 0 and 1, its two forms, and what lies between."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank import DataError
from equirank.theory import margin_loss

GAPS = np.array([2.0, 0.25, -0.25, -2.0, 0.0])


def test_every_preference_is_read():
    # preferred first: gaps 2, .25, -.25, -2, 0 at a margin of 1/2
    assert margin_loss(GAPS, np.ones(5), rho=0.5) == 4 / 5
    assert margin_loss(GAPS, -np.ones(5), rho=0.5) == 4 / 5
    assert margin_loss(GAPS, np.zeros(5), rho=0.5) == 0.0
    assert margin_loss(GAPS, [1, 1, -1, -1, 0], rho=0.5) == 2 / 5
    assert margin_loss(GAPS, [-1, 0, 0, 1, 0], rho=0.5) == 2 / 5
    assert margin_loss(GAPS, rho=0.5) == margin_loss(GAPS, np.ones(5), rho=0.5)


def test_the_ramp_is_between():
    # 1 - .25 / .5 each for the two short gaps on the right side, 0 for the long ones
    assert margin_loss(GAPS, [1, 1, -1, -1, 0], rho=0.5, form="ramp") == pytest.approx(2 * 0.5 / 5)
    assert margin_loss([0.5], rho=0.5) == 0.0  # a margin that is just reached is kept


def test_without_a_margin_it_is_the_error_and_ties_are_wrong():
    for form in ("step", "ramp"):
        assert margin_loss(GAPS, rho=0.0, form=form) == 3 / 5
        assert margin_loss(GAPS, [0, -1, -1, -1, -1], rho=0.0, form=form) == 2 / 5


@pytest.mark.slow
@given(
    gaps=st.lists(st.floats(-3, 3), min_size=1, max_size=20),
    seed=st.integers(0, 1000),
    rho=st.floats(0.01, 2.0),
)
def test_error_ramp_and_step_are_ordered_and_grow_with_rho(gaps, seed, rho):
    side = np.random.default_rng(seed).integers(-1, 2, len(gaps))
    error = margin_loss(gaps, side, rho=0.0)
    ramp, step = (margin_loss(gaps, side, rho=rho, form=form) for form in ("ramp", "step"))
    assert 0 <= error <= ramp + 1e-12
    assert ramp <= step + 1e-12 <= 1 + 1e-12
    assert margin_loss(gaps, side, rho=2 * rho) >= step
    assert margin_loss(gaps, side, rho=2 * rho, form="ramp") >= ramp - 1e-12
    assert margin_loss(np.negative(gaps), -side, rho=rho) == step
    used = side != 0
    if used.any():
        alone = margin_loss(np.array(gaps)[used], side[used], rho=rho)
        assert step == pytest.approx(alone * used.mean())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: margin_loss([]), "gap must hold at least one pair"),
        (lambda: margin_loss([1.0], [1, 1]), "preference must have one value per pair"),
        (lambda: margin_loss([1.0, 1.0], [1, 2]), "must be -1, 0 or 1, got 2.0 in pair 1"),
        (lambda: margin_loss([1.0], rho=-1.0), "rho of margin_loss must be"),
        (lambda: margin_loss([1.0], form="soft"), "form"),
        (lambda: margin_loss([np.nan]), "gap"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(DataError, match=message):
        call()
