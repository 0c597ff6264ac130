"""Counts of prefixes held against bounds, beside plain loops."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from equirank.kernels.prefix_lists import shares_hold, tables_hold, worst_drops


def lists(seed, n_groups=3):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 9, size=6)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return rng, offsets, rng.integers(0, n_groups, size=offsets[-1])


@pytest.mark.parametrize("seed", range(20))
def test_tables(seed):
    rng, offsets, codes = lists(seed)
    lengths = rng.integers(0, 9, size=6)
    start = rng.integers(0, 4, size=6)
    rows = int((start + lengths).max())
    lower = np.sort(rng.integers(0, 2, size=(rows, 3)), axis=0)
    upper = np.sort(rng.integers(2, 6, size=(rows, 3)), axis=0)
    none = np.zeros((0, 0), dtype=lower.dtype)
    expected = {"lower": [], "upper": [], "both": []}
    for q in range(6):
        row = codes[offsets[q] : offsets[q + 1]]
        low = high = True
        for j in range(1, min(len(row), lengths[q]) + 1):
            counts = np.bincount(row[:j], minlength=3)
            low &= bool((counts >= lower[start[q] + j - 1]).all())
            high &= bool((counts <= upper[start[q] + j - 1]).all())
        expected["lower"].append(low)
        expected["upper"].append(high)
        expected["both"].append(low and high)
    assert tables_hold(codes, offsets, lower, none, start, lengths).tolist() == expected["lower"]
    assert tables_hold(codes, offsets, none, upper, start, lengths).tolist() == expected["upper"]
    assert tables_hold(codes, offsets, lower, upper, start, lengths).tolist() == expected["both"]


@pytest.mark.parametrize("seed", range(20))
def test_shares(seed):
    rng, offsets, codes = lists(seed)
    parts = rng.integers(0, 4, size=(6, 3)) + np.array([1, 0, 0])
    shares = parts / parts.sum(axis=1, keepdims=True)
    expected = []
    for q in range(6):
        row, good = codes[offsets[q] : offsets[q + 1]], True
        for j in range(1, len(row) + 1):
            for g in range(3):
                exact = Fraction(int(parts[q, g]), int(parts[q].sum()))
                good &= int((row[:j] == g).sum()) >= floor(j * exact)
        expected.append(good)
    assert shares_hold(codes, offsets, shares).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_drops(seed):
    rng, offsets, codes = lists(seed)
    values = rng.normal(size=len(codes))
    shown = np.array([rng.integers(0, n + 1) for n in np.diff(offsets)])
    expected = np.zeros(6)
    for q in range(6):
        row = values[offsets[q] : offsets[q + 1]]
        pairs = [row[j] - row[i] for i in range(shown[q]) for j in range(i + 1, len(row))]
        expected[q] = max([0.0, *pairs])
    assert worst_drops(values, offsets, shown).tolist() == pytest.approx(expected.tolist())
