"""Keys of lists: the same for the same label, whatever its type and company."""

import numpy as np
import pytest

from equirank import DataError
from equirank.core.list_keys import list_keys


def test_keys_depend_on_the_label_alone():
    numbers = np.array([3, -1, 2**40])
    assert (list_keys(numbers) == list_keys(numbers.astype(object))).all()
    assert (list_keys(numbers) == list_keys(numbers.astype(np.float64))).all()
    assert list_keys(np.array([3], dtype=np.int8))[0] == list_keys(numbers)[0]
    texts = np.array(["a", "Ä", "3"])
    assert (list_keys(texts) == list_keys(texts.astype(object))).all()
    assert list_keys([("a", 3)])[0] != list_keys([("a", "3")])[0]
    assert list_keys([("a", 3)])[0] != list_keys([(3, "a")])[0]
    # fixed for ever: stored sums are merged by them
    assert list_keys([7])[0] == np.uint64(list_keys(np.array([7]))[0])


def test_keys_spread_over_buckets():
    counts = np.bincount((list_keys(np.arange(102_400)) % np.uint64(1024)).astype(int))
    assert abs(counts - 100).max() < 60


def test_a_fraction_is_no_label():
    with pytest.raises(DataError, match=r"whole number or a text, got 1\.5"):
        list_keys([1.5, 2])


def test_numbers_beyond_64_bits_have_keys():
    several = [2**63 + 5, 2**70, -(2**70), int(1e300), -3]
    keys = list_keys(np.array(several, dtype=object))
    assert len(set(keys.tolist())) == len(several)
    assert keys[0] == list_keys(np.array([2**63 + 5], dtype=np.uint64))[0]
    assert keys[3] == list_keys(np.array([1e300]))[0]
    assert keys[4] == list_keys(np.array([-3], dtype=np.int8))[0]
