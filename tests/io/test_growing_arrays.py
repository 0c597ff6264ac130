"""Arrays that grow hold what was put in, with little to spare."""

import numpy as np

from equirank.io.growing_arrays import GrowingArray


def test_grows_and_casts():
    array, rng = GrowingArray(np.float32), np.random.default_rng(0)
    parts = [rng.random(n) for n in [0, 1, 7, 1000, 3, 50_000]]
    for part in parts:
        array.append(part)
    expected = np.concatenate(parts).astype(np.float32)
    assert array.view().tolist() == expected.tolist()
    result = array.finish()
    assert result.base is None
    assert result.tolist() == expected.tolist()


def test_what_is_added_is_zero():
    array = GrowingArray(np.int64)
    for _ in range(50):
        view = array.extend(1000)
        assert not view.any()
        view[:] = 7
    assert array.size == 50_000


def test_little_to_spare():
    array = GrowingArray(np.int8)
    for _ in range(200):
        array.extend(1000)
    assert len(array._array) <= 1.125 * array.size
