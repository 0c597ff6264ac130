"""Weights of listed pairs, against NumPy on the same pairs."""

import numpy as np
import pytest

from equirank.kernels.pair_lists import (
    fill_pairs,
    known_potentials,
    many_side_weights,
    pair_potentials,
    scale_pairs,
    side_weights,
)


@pytest.fixture
def listed():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, size=12)
    starts = np.concatenate([[0], np.cumsum(counts)])
    second = rng.integers(0, 12, size=starts[-1]).astype(np.int32)
    return starts, second, rng.random(starts[-1]), np.repeat(np.arange(12), counts), rng


def potentials(first, second, weight):
    return np.bincount(first, weight, 12) - np.bincount(second, weight, 12)


def test_all_pairs_of_a_range(listed):
    begins, ends = np.array([0, 0, 1]), np.array([0, 1, 3])
    out = np.empty(3, dtype=np.int32)
    fill_pairs(begins, ends, np.array([0, 0, 1, 3]), 0, 3, out)
    assert out.tolist() == [0, 1, 2]


def test_potentials_and_total(listed):
    starts, second, weight, first, _ = listed
    out = np.zeros(12)
    total = pair_potentials(starts, second, weight, 0, 5, out)
    total += pair_potentials(starts, second, weight, 5, 12, out)
    assert total == pytest.approx(weight.sum())
    assert np.allclose(out, potentials(first, second, weight))


def test_potentials_of_known_rows(listed):
    starts, second, weight, first, rng = listed
    known = rng.random(12) < 0.6
    out = np.zeros(12)
    known_potentials(starts, second, weight, known, 0, 12, out)
    both = known[first] & known[second]
    assert np.allclose(out, potentials(first[both], second[both], weight[both]))


@pytest.mark.parametrize("whole", [False, True])
def test_sides_and_new_weights(listed, whole):
    starts, second, weight, first, rng = listed
    output = rng.choice([0.0, 0.5, 1.0], size=12)
    gain = output[first] - output[second]
    gain = np.where(np.abs(gain) < 1, 0.0, gain) if whole else gain
    plus, minus = side_weights(starts, second, weight, output, whole, 0, 12)
    assert plus == pytest.approx((weight * np.maximum(gain, 0)).sum())
    assert minus == pytest.approx((weight * np.maximum(-gain, 0)).sum())
    new, out = weight.copy(), np.zeros(12)
    total = scale_pairs(starts, second, new, output, 0.7, 1.3, whole, 2.0, 0, 12, out)
    expected = 2.0 * weight * np.where(gain == 0, 1.3, np.exp(-0.7 * gain))
    assert np.allclose(new, expected)
    assert total == pytest.approx(expected.sum())
    assert np.allclose(out, potentials(first, second, expected))


@pytest.mark.parametrize("abstaining", [False, True])
def test_many_stumps_in_one_pass(listed, abstaining):
    starts, second, weight, first, rng = listed
    output = rng.choice([0, 1, 2] if abstaining else [0, 1], size=(12, 9))
    ones = (output == 1).astype(np.uint8)
    zeros = (output == 0).astype(np.uint8) if abstaining else np.zeros((0, 9), dtype=np.uint8)
    plus, minus = np.zeros(9), np.zeros(9)
    for cut in (0, 7):
        many_side_weights(starts, second, weight, ones, zeros, cut, 7 + cut * 5 // 7, plus, minus)
    right = (output[first] == 1) & (output[second] == 0)
    wrong = (output[first] == 0) & (output[second] == 1)
    assert np.allclose(plus, weight @ right)
    assert np.allclose(minus, weight @ wrong)
