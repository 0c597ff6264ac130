"""Scores moved towards the barycentre against exact fractions; distances against sets of values."""

from fractions import Fraction

import numpy as np
import pytest

from equirank.core.inputs import frozen
from equirank.kernels import transport


def transported(codes, values, offsets, theta):
    return transport.transported(codes.astype(np.int32), values, frozen(np.array(offsets)), theta)


def largest_gaps(codes, values, offsets, n_groups):
    found = codes.astype(np.int32), values, frozen(np.array(offsets))
    return transport.largest_gaps(*found, n_groups)


def quantile(values, u):
    """The quantile function of a list of values, lowest first, the middle of a jump at a jump."""
    place = u * len(values)
    if place.denominator != 1:
        return values[int(place)]
    return (values[int(place) - 1] + values[int(place)]) / 2


def plain(codes, values, theta):
    """Move scores one by one, by exact fractions."""
    groups = {
        g: sorted(Fraction(v) for v, c in zip(values, codes, strict=True) if c == g)
        for g in set(codes)
    }
    moved = []
    for value, code in zip(values, codes, strict=True):
        mine = groups[code]
        below = sum(other < value for other in mine)
        upto = sum(other <= value for other in mine)
        u = Fraction(below + upto, 2 * len(mine))
        target = sum(
            Fraction(len(other), len(values)) * quantile(other, u) for other in groups.values()
        )
        step = Fraction(theta[code])
        moved.append(float((1 - step) * Fraction(value) + step * target))
    return moved


def test_the_largest_numbers_stay_finite():
    large = np.finfo(float).max
    values, codes = np.array([large, large, 1.0, large]), np.array([0, 0, 0, 1])
    moved = transported(codes, values, [0, 4], np.array([0.0, 1.0]))
    assert moved[:3].tolist() == [large, large, 1.0]
    assert np.isfinite(moved).all()


def test_against_exact_fractions():
    rng = np.random.default_rng(0)
    for _ in range(150):
        n, n_groups = int(rng.integers(1, 12)), int(rng.integers(1, 5))
        codes = rng.integers(0, n_groups, n)
        values = np.sort(rng.integers(0, 9, n).astype(float))[::-1].copy()
        theta = rng.choice([0.0, 0.25, 0.5, 1.0], n_groups)
        moved = transported(codes, values, [0, n], theta)
        expected = plain(codes.tolist(), values.tolist(), theta.tolist())
        assert moved == pytest.approx(expected, abs=1e-12)


def test_lists_are_moved_by_themselves():
    codes, values = np.array([0, 1, 1, 0]), np.array([4.0, 2.0, 9.0, 5.0])
    moved = transported(codes, values, [0, 2, 4], np.ones(2))
    assert moved.tolist() == [3.0, 3.0, 7.0, 7.0]


def test_distances_and_steps():
    codes = np.array([0, 0, 1, 1, 1, 0])
    values = np.array([6.0, 5.0, 5.0, 5.0, 2.0, 1.0])
    gap, step = largest_gaps(codes, values, [0, 6], 2)
    assert gap[0] == pytest.approx(1 / 3)  # after 6: 1/3 against 0; after 2: 2/3 against 1
    assert step[0] == pytest.approx(2 / 3)  # two of the second group are tied at 5
    gap, _ = largest_gaps(np.where(codes == 1, 2, codes), values, [0, 6], 2)
    assert gap[0] == 0.0  # one group is left, the other counts as none
