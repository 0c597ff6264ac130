"""Random numbers by key and counter: spread evenly, and each by itself."""

import numpy as np

from equirank.kernels.compiled import key_of, uniform


def numbers(key, count):
    return np.array([uniform(np.uint64(key), np.uint64(i)) for i in range(count)])


def test_numbers_are_spread_evenly_and_uncorrelated():
    drawn = numbers(key_of(np.uint64(1), np.uint64(2)), 20_000)
    assert 0 <= drawn.min() < drawn.max() < 1
    counts = np.histogram(drawn, bins=20, range=(0, 1))[0]
    assert np.sum((counts - 1000) ** 2 / 1000) < 45  # chi-square with 19 degrees, p about 0.001
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.03


def test_keys_give_different_numbers():
    firsts = [
        uniform(np.uint64(key_of(np.uint64(seed), np.uint64(part))), np.uint64(0))
        for seed in range(40)
        for part in range(40)
    ]
    assert len(set(firsts)) == 1600
    assert abs(np.mean(firsts) - 0.5) < 0.03
