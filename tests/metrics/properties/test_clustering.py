from itertools import combinations
from math import isnan, sqrt

import numpy as np
import pytest
from scipy import stats

from equirank import DataError
from equirank.metrics.properties import clustering

from .known_lists import MAPPED, SHAPES, mask_of


def all_runs(a, n):
    masks = [mask_of([p + 1 for p in places], n) for places in combinations(range(n), a)]
    return masks, np.array([1 + np.count_nonzero(np.diff(mask.astype(int))) for mask in masks])


@pytest.mark.parametrize(("a", "n"), [(1, 5), (3, 7), (4, 8), (5, 9), (2, 3)])
def test_against_all_arrangements(a, n):
    masks, runs = all_runs(a, n)
    for mask, seen in zip(masks, runs, strict=True):
        found = clustering(mask)
        assert found.runs == seen
        assert found.expected == pytest.approx(runs.mean())
        assert found.z == pytest.approx((seen - runs.mean()) / runs.std())
        far = np.abs(runs - runs.mean()) >= abs(seen - runs.mean()) - 1e-9
        assert found.p_exact == pytest.approx(far.mean())


def test_textbook_formula():
    mask = np.repeat([1, 0, 1, 0, 1], [6, 7, 5, 8, 4])
    a, b = 15, 15
    mean = 2 * a * b / 30 + 1
    spread = sqrt(2 * a * b * (2 * a * b - 30) / (30**2 * 29))
    found = clustering(mask)
    assert found.z == pytest.approx((5 - mean) / spread)
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(found.z)))


def test_normal_nears_exact():
    rng = np.random.default_rng(0)
    mask = rng.permutation(np.repeat([True, False], 400))
    found = clustering(mask)
    assert found.p == pytest.approx(found.p_exact, abs=0.03)
    assert isnan(clustering(np.tile(mask, 2)).p_exact)


def test_clumps_are_below_and_alternation_above():
    assert clustering(mask_of(MAPPED["clustering"])).z < -5
    assert clustering(mask_of(SHAPES["even"])).z > 0
    assert clustering([1, 0] * 10).p_exact < 0.001


def test_one_number_of_runs():
    found = clustering([1, 0])
    assert isnan(found.z)
    assert (found.runs, found.p, found.p_exact) == (2, 1.0, 1.0)


@pytest.mark.parametrize(
    ("mask", "said"),
    [([1, 1], "one group only"), ([0], "one group only"), ([], "True and False"), ([2, 0], "True")],
)
def test_bad_input(mask, said):
    with pytest.raises(DataError, match=said):
        clustering(mask)
