"""Randomness: one seed in, generators per key out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank.core.errors import DataError
from equirank.core.random import as_seed, generator, label_keys


@pytest.mark.slow
@given(st.integers(0, 2**63 - 2), st.lists(st.integers(0, 1000), max_size=3))
def test_the_same_seed_and_key_give_the_same_numbers(seed, key):
    assert generator(seed, *key).random() == generator(seed, *key).random()
    assert generator(seed, *key, 1).random() != generator(seed, *key, 2).random()
    assert generator(seed, *key).random() != generator(seed + 1, *key).random()


def test_keys_are_told_apart():
    keys = [(), (0,), (1,), (0, 1), (1, 0), (1, 1), (0, 0)]
    drawn = {generator(0, *key).integers(2**62).item() for key in keys[1:]}
    assert len(drawn) == len(keys) - 1


def test_keys_do_not_depend_on_what_was_drawn_before():
    generator(0, 1).random(100)
    first = generator(0, 2).random()
    assert generator(0, 2).random() == first


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_asked_for_a_seed(make):
    assert as_seed(make(3)) == as_seed(make(3))
    assert as_seed(make(3)) != as_seed(make(4))
    moving = make(3)
    assert as_seed(moving) != as_seed(moving)


def test_integers_are_the_seed_itself_and_none_is_fresh():
    assert as_seed(7) == as_seed(np.int64(7)) == 7
    assert as_seed(None) != as_seed(None)
    assert as_seed(None) >= 0


@pytest.mark.parametrize("bad", [-1, 1.5, "7", True, [1]])
def test_anything_else_is_refused(bad):
    with pytest.raises(DataError, match="random_state must be"):
        as_seed(bad)


def test_the_global_state_is_not_touched():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    generator(0, 1).random()
    as_seed(None)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_keys_of_labels_depend_on_the_label_and_the_seed_only():
    keys = label_keys(3, ["b", 1, "1", 2.5])
    assert keys.dtype == np.uint64
    assert len(set(keys.tolist())) == 4
    np.testing.assert_array_equal(label_keys(3, [2.5, "1", 1, "b"]), keys[::-1])
    assert not (label_keys(4, ["b", 1, "1", 2.5]) == keys).any()


@pytest.mark.parametrize("seed", [-1, 2**64, 10**23])
def test_seeds_have_bounds(seed):
    with pytest.raises(DataError, match=f"random_state must be .* 0 to {2**64 - 1}, got {seed}"):
        as_seed(seed)
    assert as_seed(2**64 - 1) == as_seed(np.uint64(2**64 - 1)) == 2**64 - 1
