"""Extreme completions equal brute force over all completions, list by list and over lists."""

from itertools import product
from math import inf, isnan, nan

import numpy as np
import pytest

from equirank.kernels.label_bounds import (
    MEASURES,
    can_be_undefined,
    extreme_completion,
    extreme_lists,
    measure_sums,
    side_sums,
)


def slow_value(values, side, measure):
    """The measure by its definition; NaN if it is undefined."""
    group = [v for v, s in zip(values, side, strict=True) if s == 1]
    other = [v for v, s in zip(values, side, strict=True) if s == 0]
    if measure == "share":
        return sum(group) / sum(values) if sum(values) else nan
    if not group:
        return nan
    mean = sum(group) / len(group)
    if measure == "mean":
        return mean
    if not other:
        return nan
    if measure == "difference":
        return mean - sum(other) / len(other)
    if sum(other) == 0:
        return inf if mean > 0 else nan
    return mean / (sum(other) / len(other))


def slow_range(values, side, measure, third=False):
    """The smallest and largest value over all completions, and whether one is undefined."""
    unknown = [row for row, s in enumerate(side) if s < 0]
    found = []
    for labels in product((0, 1, 2) if third else (0, 1), repeat=len(unknown)):
        completed = list(side)
        for row, label in zip(unknown, labels, strict=True):
            completed[row] = label
        found.append(slow_value(values, completed, measure))
    defined = [value for value in found if not isnan(value)]
    ends = (min(defined), max(defined)) if defined else (nan, nan)
    return *ends, len(defined) < len(found)


def drawn_list(rng, most, third):
    """A list of up to 12 people: positions with ties, exposure, selections or chances."""
    n = int(rng.integers(1, 13))
    kind = rng.integers(4)
    values = np.arange(1.0, n + 1)
    if kind == 1:
        values = rng.integers(1, 4, n).astype(float)
    elif kind == 2:
        values = 1 / np.log2(values + 1) * rng.choice([1.0, 1.0, 0.5], n)
    elif kind == 3:
        values = rng.choice([0.0, 0.0, 0.5, 1.0][: int(rng.integers(2, 5))], n)
    rng.shuffle(values)
    side = rng.choice([0, 1, 2] if third else [0, 1], n)
    if rng.random() < 0.25:
        side[side == rng.integers(2)] = 2 if third else rng.integers(2)  # a group without members
    hidden = rng.permutation(n)[: min(n, int(rng.integers(most + 1)))]
    side[hidden] = -1
    return values, side


def ranges(lists, measure, third):
    """The bounds of several lists at once, and which can become undefined."""
    values = np.concatenate([v for v, _ in lists])
    side = np.concatenate([s for _, s in lists])
    offsets = np.cumsum([0, *(len(s) for _, s in lists)])
    at = np.repeat(np.arange(len(lists)), np.diff(offsets))
    ends = []
    for highest in (False, True):
        done = extreme_completion(values, side, offsets, measure, highest=highest, third=third)
        assert np.array_equal(done[side >= 0], side[side >= 0])
        assert set(done) <= ({0, 1, 2} if third else {0, 1} | set(side) - {-1})
        ends.append(measure_sums(side_sums(values, done, at, len(lists)), measure))
    totals = np.bincount(at, values)
    known = side_sums(values, side, at, len(lists))
    return *ends, can_be_undefined(known, totals, measure, third)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("third", "most", "number"),
    [(False, 6, 500), (True, 4, 300), (False, 12, 8), (True, 7, 8)],
)
def test_extremes_equal_brute_force(third, most, number):
    rng = np.random.default_rng(most)
    lists = [drawn_list(rng, most, third) for _ in range(number)]
    for measure in ("difference", "ratio") if third else MEASURES:
        low, high, optional = ranges(lists, measure, third)
        slow = [slow_range(v.tolist(), s.tolist(), measure, third) for v, s in lists]
        np.testing.assert_allclose(low, [each[0] for each in slow], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(high, [each[1] for each in slow], rtol=1e-12, atol=1e-12)
        assert optional.tolist() == [each[2] for each in slow]


@pytest.mark.parametrize("measure", MEASURES)
def test_all_unknown_and_nobody_unknown(measure):
    values = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5, 1.0, 1.0, 0.0, 0.0])
    for side in (np.full(12, -1), np.array([1, 0] * 6), np.ones(12, int), np.zeros(12, int)):
        low, high, optional = ranges([(values, side)], measure, False)
        slow = slow_range(values.tolist(), side.tolist(), measure)
        np.testing.assert_allclose([low[0], high[0]], slow[:2], rtol=1e-12)
        assert optional[0] == slow[2]
        if (side >= 0).all():
            np.testing.assert_equal(low, high)


@pytest.mark.slow
def test_rates_and_ratios_are_the_closed_forms():
    """a of n, b of m selected; x unknown selected and y not, as in Horowitz and Manski."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        a, p, b, q = rng.integers(1, 9, 4)
        x, y = rng.integers(0, 6, 2)
        n, m = a + p, b + q
        values = np.repeat([1.0, 0, 1, 0, 1, 0], [a, p, b, q, x, y])
        side = np.repeat([1, 1, 0, 0, -1, -1], [a, p, b, q, x, y])
        low, high, _ = ranges([(values, side)], "mean", False)
        assert (low[0], high[0]) == pytest.approx((a / (n + y), (a + x) / (n + x)), rel=1e-12)
        ends = (a / (n + y)) / ((b + x) / (m + x)), ((a + x) / (n + x)) / (b / (m + y))
        for third in (False, True):
            low, high, _ = ranges([(values, side)], "ratio", third)
            assert (low[0], high[0]) == pytest.approx(ends, rel=1e-12)


def slow_mean_range(choices):
    """The extremes of the mean of the defined lists, over all choices of one value per list."""
    means = []
    for picked in product(*choices):
        defined = [value for value in picked if not isnan(value)]
        if defined:
            means.append(sum(defined) / len(defined))
    return (min(means), max(means)) if means else (nan, nan)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["mean", "difference", "ratio"])
def test_means_over_lists_equal_brute_force(measure):
    rng = np.random.default_rng(3)
    for _ in range(150):
        lists = [drawn_list(rng, 2, False) for _ in range(int(rng.integers(1, 5)))]
        low, high, optional = ranges(lists, measure, False)
        choices = []
        for values, side in lists:
            unknown = np.flatnonzero(side < 0)
            found = []
            for labels in product((0, 1), repeat=len(unknown)):
                side[unknown] = labels
                found.append(slow_value(values.tolist(), side.tolist(), measure))
            choices.append(found)
        ends = []
        for values, highest in ((low, False), (high, True)):
            counted = extreme_lists(values, optional, highest=highest)
            ends.append(values[counted].mean() if counted.any() else nan)
        np.testing.assert_allclose(ends, slow_mean_range(choices), rtol=1e-12, atol=1e-12)


def test_one_list_does_not_change_another():
    rng = np.random.default_rng(0)
    lists = [drawn_list(rng, 12, False) for _ in range(30)]
    huge = (np.array([1e15, 1.0, 3.0]), np.array([-1, 1, 0]))
    low, high, _ = ranges(lists, "difference", False)
    with_huge = ranges([huge, *lists], "difference", False)
    assert np.array_equal(with_huge[0][1:], low, equal_nan=True)
    assert np.array_equal(with_huge[1][1:], high, equal_nan=True)


def test_nobody_of_either_side_known_to_be_selected():
    """A ratio of 0 and 0 is undefined unless an unknown person joins one of the sides."""
    values, side = np.array([0.0, 0.0, 1.0, 0.0]), np.array([1, 0, -1, 2])
    for third in (False, True):
        low, high, optional = ranges([(values, side)], "ratio", third)
        assert (low[0], high[0], optional[0]) == (0.0, inf, third)
        assert slow_range(values.tolist(), side.tolist(), "ratio", third) == (0.0, inf, third)
