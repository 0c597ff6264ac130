"""The compiled logistic loss against a plain double loop."""

from math import exp, log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.kernels.logistic_pairs import logistic_pairs


def twin(score, label, sigma):
    """One list: mean loss over pairs of unequal label, and slopes."""
    n, total, count, slope = len(score), 0.0, 0, np.zeros(len(score))
    for i in range(n):
        for j in range(n):
            if label[i] > label[j]:
                gap = sigma * (score[i] - score[j])
                total += max(-gap, 0.0) + log1p(exp(-abs(gap)))
                pull = exp(-max(gap, 0.0)) / (exp(-max(gap, 0.0)) + exp(min(gap, 0.0)))
                slope[i] -= sigma * pull
                slope[j] += sigma * pull
                count += 1
    return (total / count, slope / count) if count else (0.0, slope)


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), spread=st.sampled_from([1.0, 40.0, 400.0]))
@settings(max_examples=40)
def test_it_is_its_twin(seed, spread):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, size=4)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    score, label = spread * rng.normal(size=offsets[-1]), rng.integers(0, 3, offsets[-1]) / 1.0
    loss, slope = logistic_pairs(score, label, offsets, 0.8)
    for q in range(4):
        rows = slice(offsets[q], offsets[q + 1])
        value, wanted = twin(score[rows], label[rows], 0.8)
        assert loss[q] == pytest.approx(value, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(slope[rows], wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_a_long_list_does_not_overflow():
    """The product of the ratios of many bad pairs is far beyond the largest number."""
    score, label = np.linspace(0.0, 250.0, 400), np.arange(400.0)[::-1].copy()
    loss, _ = logistic_pairs(score, label, np.array([0, 400]), 1.0)
    assert loss[0] == pytest.approx(twin(score, label, 1.0)[0], rel=1e-9)
