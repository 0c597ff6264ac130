import numpy as np
import pytest
from scipy import stats

from equirank import DataError
from equirank.metrics.properties import smoothness

from .known_lists import SHAPES


def test_by_hand():
    # shares 0, 1/2, 1/2, 1/2, 1 against 1/5 .. 1
    found = smoothness([2, 5], n=5)
    assert found.ks == pytest.approx(0.3)
    assert found.wasserstein == pytest.approx((0.2 + 0.1 + 0.1 + 0.3) / 5)


@pytest.mark.parametrize("seed", range(5))
def test_wasserstein_is_scipys_for_the_places_that_exist(seed):
    rng = np.random.default_rng(seed)
    places = rng.choice(np.arange(1, 41), 7, replace=False)
    ours = smoothness(places, n=40).wasserstein
    assert ours == pytest.approx(stats.wasserstein_distance(places, np.arange(1, 41)) / 40)


def test_ks_becomes_the_continuous_distance():
    rng = np.random.default_rng(1)
    share = np.sort(rng.random(30)) ** 1.5
    expected = stats.ks_1samp(share, stats.uniform.cdf).statistic
    errors = []
    for n in (1_000, 10_000, 100_000):
        places = np.unique(np.ceil(share * n).astype(int))
        assert len(places) == 30
        errors.append(abs(smoothness(places, n).ks - expected))
        assert errors[-1] <= 1 / n
    assert errors[-1] < 1e-5


def test_shapes_with_one_mean_are_told_apart():
    found = {name: smoothness(places, 100) for name, places in SHAPES.items()}
    ks = {name: distances.ks for name, distances in found.items()}
    assert min(ks, key=ks.get) == "even"
    # a heap in the middle is as far from even as two at the ends: bimodality tells them apart
    assert found["one heap"].wasserstein == pytest.approx(found["two ends"].wasserstein)
    assert len({round(value, 6) for value in ks.values()}) == 3
    assert ks["even"] < 0.1 < 0.3 < min(v for k, v in ks.items() if k != "even")


def test_order_does_not_matter():
    assert smoothness([5, 1, 3], 6) == smoothness([1, 3, 5], 6)


@pytest.mark.parametrize(
    ("positions", "n", "said"),
    [
        ([], 3, "finite numbers"),
        ([0], 3, "from 1 to n = 3"),
        ([4], 3, "from 1 to n = 3"),
        ([1.5], 3, "whole numbers"),
        ([1, 1], 3, "must differ"),
        ([float("nan")], 3, "finite numbers"),
        (["a"], 3, "sequence of numbers"),
        ([1], 0, "n of smoothness must be an integer >= 1"),
    ],
)
def test_bad_input(positions, n, said):
    with pytest.raises(DataError, match=said):
        smoothness(positions, n)
