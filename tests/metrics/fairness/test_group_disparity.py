from math import isnan, log2

import pytest

from equirank import EquirankWarning, Ranking, as_ranking_data
from equirank.metrics import GroupDisparity, group_disparity
from equirank.testing import check_metric

from .merit_agreement import agree
from .merit_twins import OPTIONS, excess

V = [1 / log2(1 + place) for place in range(1, 7)]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_agrees_with_twin(options, labels):
    agree(group_disparity, GroupDisparity, excess, max, labels, options)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [GroupDisparity(), GroupDisparity(protected="f") @ 2])
def test_keeps_the_promises(metric):
    check_metric(metric)


def test_the_side_of_more_merit_comes_first():
    y, groups = [4, 2, 1], list("aab")
    # a: merit 3, exposure (v1 + v2) / 2; b: merit 1, exposure v3: b draws more per merit, no excess
    assert group_disparity(y, [3, 2, 1], groups) == 0.0
    # b has more merit and draws less per merit: no excess either
    assert V[2] / 0.5 < (V[0] + V[1]) / 2 / 0.3
    assert group_disparity([0.4, 0.2, 0.5], [3, 2, 1], groups) == 0.0
    # b has more merit and draws more per merit
    wanted = V[0] / 0.5 - (V[1] + V[2]) / 2 / 0.3
    assert group_disparity([0.4, 0.2, 0.5], [2, 1, 3], groups) == pytest.approx(wanted)
    # a has more merit and draws more per merit
    wanted = (V[0] + V[1]) / 2 / 0.3 - V[2] / 0.2
    assert group_disparity([0.4, 0.2, 0.2], [3, 2, 1], groups) == pytest.approx(wanted)
    assert group_disparity([0.4, 0.2, 0.2], [3, 2, 1], groups, protected="b") == pytest.approx(
        wanted
    )


def test_equal_merits_count_either_way():
    for score in ([2, 1], [1, 2]):
        assert group_disparity([2, 2], score, list("ab")) == pytest.approx((V[0] - V[1]) / 2)


def test_merits_that_differ_by_rounding_are_equal():
    y, groups = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], list("aaaaaab")
    assert sum(y[:6]) / 6 != 0.1
    for protected in "ab":
        low = group_disparity(y, [7, 6, 5, 4, 3, 2, 1], groups, protected=protected)
        high = group_disparity(y, [1, 2, 3, 4, 5, 6, 7], groups, protected=protected)
        v = [1 / log2(1 + place) for place in range(1, 8)]
        assert low == pytest.approx((sum(v[:6]) / 6 - v[6]) / 0.1)
        assert high == pytest.approx((v[0] - sum(v[1:]) / 6) / 0.1)


def test_groups_are_exposure_per_merit():
    _, groups = group_disparity([4, 2, 1], [3, 2, 1], list("aab"), return_groups=True)
    assert groups == pytest.approx({"a": (V[0] + V[1]) / 6, "b": V[2]})


def test_a_fair_coin_has_no_disparity():
    data = as_ranking_data(y=[1, 1], sensitive_features=list("ab"))
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    assert GroupDisparity().per_query(fair).value[0] == pytest.approx(0, abs=1e-12)
    once = Ranking.from_positions(data, [1, 2])
    assert GroupDisparity().per_query(once).value[0] == pytest.approx(V[0] - V[1])


@pytest.mark.parametrize(
    ("y", "groups", "why"),
    [([1, 1], "aa", "one group"), ([0, 1], "ab", "merit is 0"), ([1, 0], "ab", "merit is 0")],
)
def test_undefined(y, groups, why):
    with pytest.warns(EquirankWarning, match=f"undefined in every query.*{why}"):
        assert isnan(group_disparity(y, [2, 1], list(groups)))


def test_a_group_without_merit_spoils_only_its_own_comparison():
    # c has no merit: undefined for c; a and b are compared with the rest, c among it
    # merits: a 1.5 against 0.5, b 1 against 0.75, and b stands first
    value = group_disparity([1.5, 1, 0], [2, 3, 1], list("abc"))
    first = V[1] / 1.5 - (V[0] + V[2]) / 2 / 0.5
    second = V[0] / 1 - (V[1] + V[2]) / 2 / 0.75
    assert first < 0 < second
    assert value == pytest.approx(second)


def test_better_and_worse():
    y, groups = [1, 1, 1, 0.9, 0.9, 0.9], list("aaabbb")
    values = [
        group_disparity(y, score, groups)
        for score in (
            [6, 5, 4, 3, 2, 1],
            [6, 5, 3, 4, 2, 1],
            [6, 3, 2, 5, 4, 1],
            [3, 2, 1, 6, 5, 4],
        )
    ]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[1] > values[-1] == 0.0
    assert GroupDisparity.direction == "lower"
