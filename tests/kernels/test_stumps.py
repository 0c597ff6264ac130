"""Bins, histograms and the best stump, against plain loops."""

import numpy as np
import pytest

from equirank.kernels.stumps import best_stump, histograms, output_hashes

NONE = np.empty((0, 0, 0), dtype=np.bool_)


def plain_best(sums, n_edges, rule, allowed, tie):
    found = []
    for feature in range(len(sums)):
        count = n_edges[feature]
        for cut in range(count):
            above = sums[feature, cut + 1 : count + 1].sum()
            for side in range(2 if rule == 1 else 1):
                extra = {0: 0.0, 1: side, 2: 0.5}[rule] * sums[feature, -1]
                if allowed.size == 0 or allowed[side, feature, cut]:
                    found.append((feature, cut, side, above + extra))
    if not found:
        return -1, 0, 0, 0.0
    most = max(abs(r) for *_, r in found)
    return next(stump for stump in found if abs(stump[3]) >= most - tie)


@pytest.mark.parametrize("rule", [0, 1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_stump_and_its_ties(rule, seed):
    rng = np.random.default_rng(seed)
    n_edges = rng.integers(0, 5, size=4)
    sums = rng.integers(-2, 3, size=(4, 6)).astype(float)
    for feature, count in enumerate(n_edges):
        sums[feature, count + 1 : -1] = 0.0
    allowed = NONE if seed % 2 else rng.random((2, 4, 5)) < 0.6
    found = best_stump(sums, n_edges, rule, allowed, 1e-10)
    expected = plain_best(sums, n_edges, rule, allowed, 1e-10)
    assert found[:3] == expected[:3]
    assert found[3] == pytest.approx(expected[3], abs=1e-12)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 1000])
def test_histograms_are_sums_by_code(kind, n):
    rng = np.random.default_rng(n)
    codes, potential = rng.integers(0, 7, size=(3, n)).astype(kind), rng.normal(size=n)
    out = np.full((3, 8), 9.0)
    histograms(codes, potential, 1, 3, out)
    assert (out[0] == 9.0).all()
    for feature in (1, 2):
        assert np.allclose(out[feature], np.bincount(codes[feature], potential, 8), atol=1e-12)


def test_hashes_tell_outputs_apart():
    rng = np.random.default_rng(0)
    codes = np.array([[0, 1, 2, 3, 3], [1, 0, 0, 3, 1]], dtype=np.uint8)  # 3 is missing
    keys = rng.integers(0, 2**63, size=5, dtype=np.uint64)
    out = np.empty((2, 4), dtype=np.uint64)
    output_hashes(codes, keys, np.array([2, 1]), 3, out)
    xor = np.bitwise_xor.reduce
    assert out[0, 0] == xor(keys[[1, 2]])
    assert out[0, 1] == keys[2]
    assert out[0, 3] == xor(keys[[3, 4]])
    assert out[1, 0] == xor(keys[[0, 4]])
    assert out[1, 3] == keys[3]
