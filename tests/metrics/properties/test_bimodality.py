from math import isnan

import numpy as np
import pytest
from scipy import stats

from equirank.metrics.properties import bimodality

from .known_lists import SHAPES


@pytest.mark.parametrize("places", SHAPES.values(), ids=SHAPES)
def test_against_scipys_moments(places):
    m = len(places)
    g = stats.skew(places, bias=False)
    k = stats.kurtosis(places, bias=False)
    expected = (g**2 + 1) / (k + 3 * (m - 1) ** 2 / ((m - 2) * (m - 3)))
    assert bimodality(places, 100).coefficient == pytest.approx(expected)


def test_two_heaps_stand_out():
    found = {name: bimodality(places, 100) for name, places in SHAPES.items()}
    for name in ("two ends", "top and heap"):  # both are two heaps
        assert found[name].coefficient > found[name].even + 0.2
    # its middle place is left out, so the one heap is a little bimodal too
    assert 0 < found["one heap"].coefficient - found["one heap"].even < 0.05


@pytest.mark.parametrize("m", [4, 5, 10, 50])
def test_even_is_that_of_evenly_spaced_places(m):
    found = bimodality(3 * np.arange(1, m + 1), 3 * m)
    assert found.coefficient == pytest.approx(found.even)


def test_limits():
    assert bimodality(np.arange(1, 5001), 5000).even == pytest.approx(5 / 9, abs=1e-3)
    ends = [*range(1, 401), *range(10**8, 10**8 + 400)]
    assert bimodality(ends, 10**9).coefficient == pytest.approx(1, abs=0.01)


def test_too_few():
    assert isnan(bimodality([1, 2, 3], 9).coefficient)
    assert isnan(bimodality([1, 2, 3], 9).even)
    assert not isnan(bimodality([1, 2, 3, 9], 9).coefficient)
