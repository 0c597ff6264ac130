"""Statistical and conditional independence, and what the literature says they cannot see."""

from math import isnan

import numpy as np
import pytest

from equirank import DataError
from equirank.metrics.properties import conditional_independence, statistical_independence

from .known_lists import MAPPED, SHAPES, TRUE_PLACES, mapped_list, mask_of


@pytest.mark.parametrize("places", SHAPES.values(), ids=SHAPES)
def test_statistical_independence_cannot_tell_the_shapes_apart(places):
    assert np.mean(places) == 50
    found = statistical_independence(np.arange(1, 101), mask_of(places))
    assert found.protected == pytest.approx(0.495)
    assert found.difference == pytest.approx(0.495 - (5050 - 500) / 9000 + 0.005)


def test_statistical_independence_sees_a_shift():
    assert statistical_independence([1, 2, 3, 4], [1, 1, 0, 0]).difference == -0.5
    assert statistical_independence([1, 2, 3, 4], [1, 0, 0, 1]).difference == 0.0
    with pytest.raises(DataError, match="one length"):
        statistical_independence([1, 2, 3], [1, 0])


@pytest.mark.parametrize(
    ("name", "mean"), [("clustering", 0.2), ("noise", 0.0), ("tokenisation", 0.4)]
)
def test_mapped_lists_keep_conditional_independence_nearly(name, mean):
    assert np.mean(MAPPED[name] - TRUE_PLACES) == pytest.approx(mean)
    found = conditional_independence(*mapped_list(name))
    # the others make up for it: 90 of them move by -10 mean / 90
    assert found.difference == pytest.approx(mean + 10 * mean / 90)
    assert found.absolute == pytest.approx(abs(found.difference))
    assert found.by_bin == (found.difference,)


def test_finer_bins_see_tokenisation():
    position, truth, protected = mapped_list("tokenisation")
    moved = position - truth
    upper = truth <= 50
    found = conditional_independence(position, truth, protected, bins=2)
    halves = [moved[protected & half].mean() for half in (upper, ~upper)]
    assert halves == pytest.approx([-9.4, 10.2])
    expected = [
        mean - moved[~protected & half].mean()
        for mean, half in zip(halves, (upper, ~upper), strict=True)
    ]
    assert found.by_bin == pytest.approx(expected)
    assert found.absolute > 9
    assert abs(found.difference) < 1
    others = [conditional_independence(*mapped_list(n), bins=2) for n in ("noise", "clustering")]
    assert all(other.absolute < 3 for other in others)


def test_bins_count_by_their_protected_and_empty_ones_are_left_out():
    position = [2, 4, 1, 3, 5, 6]
    truth = [1, 2, 3, 4, 5, 6]
    # bins 1-3 and 4-6: protected 1, 2 (+1, +2) against 3 (-2); no protected below
    found = conditional_independence(position, truth, [1, 1, 0, 0, 0, 0], bins=2)
    assert found.by_bin[0] == 3.5
    assert isnan(found.by_bin[1])
    assert found.difference == 3.5
    weighted = conditional_independence(position, truth, [1, 1, 0, 1, 0, 0], bins=2)
    assert weighted.by_bin == (3.5, -1.0)
    assert weighted.difference == pytest.approx((2 * 3.5 - 1) / 3)
    assert weighted.absolute == pytest.approx((2 * 3.5 + 1) / 3)


def test_edges():
    assert isnan(conditional_independence([1, 2], [1, 2], [1, 0], bins=2).difference)
    assert conditional_independence([2, 1], [1, 1], [1, 0], bins=3).by_bin[0] == 1.0
    with pytest.raises(DataError, match="bins of conditional_independence"):
        conditional_independence([1, 2], [1, 2], [1, 0], bins=0)
