from math import inf, isnan

import numpy as np
import pytest

from equirank import DataError
from equirank.metrics.properties import noisy_ranking

from .known_lists import mapped_list


def test_ratio():
    position, truth, protected = mapped_list("noise")
    size = np.abs(position - truth)
    expected = size[protected].mean() / size[~protected].mean()
    found = noisy_ranking(position, truth, protected)
    assert found.ratio == pytest.approx(expected)
    assert size[protected].mean() == pytest.approx(10.6)
    assert 1 < found.low < found.ratio < found.high


@pytest.mark.slow
def test_interval_holds_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    mask = np.arange(80) < 30
    held = 0
    for at in range(200):
        moved = rng.normal(size=80) * np.where(mask, 2.0, 1.0)
        found = noisy_ranking(moved, np.zeros(80), mask, n_boot=300, random_state=at)
        held += found.low <= 2.0 <= found.high
    assert 0.90 <= held / 200 <= 0.985


def test_seed_and_level():
    arguments = mapped_list("noise")
    a, b = (noisy_ranking(*arguments, random_state=3) for _ in range(2))
    assert a == b
    assert a != noisy_ranking(*arguments, random_state=4)
    narrow = noisy_ranking(*arguments, level=0.5)
    wide = noisy_ranking(*arguments, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_nobody_displaced():
    assert noisy_ranking([1, 2], [1, 2], [1, 0], n_boot=0).ratio == 1.0
    assert noisy_ranking([1, 3], [2, 3], [1, 0], n_boot=0).ratio == inf
    assert isnan(noisy_ranking([1, 3], [2, 3], [1, 0]).low)


@pytest.mark.parametrize("options", [{"n_boot": -1}, {"level": 1.0}])
def test_bad_options(options):
    with pytest.raises(DataError, match=f"{next(iter(options))} of noisy_ranking"):
        noisy_ranking([1, 2], [1, 2], [1, 0], **options)
