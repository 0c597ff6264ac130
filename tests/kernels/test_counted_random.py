"""Counter-based random numbers: integers below a number are uniform and keyed."""

import numpy as np

from equirank.kernels.counted_random import below, key_of, random_bits


def drawn(key, n, count=20_000):
    bits = [random_bits(np.uint64(key), np.uint64(i)) for i in range(count)]
    return np.array([below(np.uint64(each), n) for each in bits])


def test_integers_are_uniform_and_keyed():
    found = drawn(key_of(np.uint64(3), np.uint64(4)), 7)
    counts = np.bincount(found, minlength=7)
    assert len(counts) == 7
    assert (np.abs(counts - 20_000 / 7) < 5 * np.sqrt(20_000 / 7)).all()
    other = drawn(key_of(np.uint64(3), np.uint64(5)), 7)
    assert abs((found == other).mean() - 1 / 7) < 0.02
