from math import isnan, log2

import numpy as np
import pytest
from hypothesis import given, settings
from thorough import sized

from equirank import EquirankWarning, Ranking, as_ranking_data
from equirank.metrics import DisparateImpact, disparate_impact, disparate_treatment
from equirank.testing import check_metric
from equirank.testing.strategies import policies

from .merit_agreement import agree
from .merit_twins import OPTIONS, ratio

V = [1 / log2(1 + place) for place in range(1, 7)]


def clicks(seen, y):
    return [e * relevance for e, relevance in zip(seen, y, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_agrees_with_twin(options, labels):
    agree(disparate_impact, DisparateImpact, ratio, min, labels, options, clicks)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [DisparateImpact(), DisparateImpact(protected="f") @ 2])
def test_keeps_the_promises(metric):
    check_metric(metric)


def test_by_hand():
    # f: relevance 1 at place 2; m: 3 at place 1 and 1 at place 3
    value = disparate_impact([3, 1, 1], [3, 2, 1], list("mfm"), protected="f")
    assert value == pytest.approx((V[1] * 1 / 1) / ((3 * V[0] + 1 * V[2]) / (3 + 1)))


def test_with_one_grade_it_is_disparate_treatment():
    rng = np.random.default_rng(1)
    score, groups = rng.random(50), rng.choice(list("abc"), 50)
    got = disparate_impact([2] * 50, score, groups, protected="a")
    # impact per merit is exposure, exposure per merit is exposure / 2: the ratio is the same
    assert got == pytest.approx(disparate_treatment([2] * 50, score, groups, protected="a"))


def test_groups_are_impact_per_merit():
    _, groups = disparate_impact([3, 1, 2], [3, 2, 1], list("mfm"), return_groups=True)
    assert groups["m"] == pytest.approx((3 * V[0] + 2 * V[2]) / 5)
    assert groups["f"] == pytest.approx(V[1])


def test_a_fair_coin_has_equal_impact():
    data = as_ranking_data(y=[2, 2], sensitive_features=list("ab"))
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    assert DisparateImpact().per_query(fair).value[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("y", "groups", "options", "why"),
    [
        ([1, 1], "aa", {}, "one group"),
        ([0, 1], "ab", {}, "merit is 0"),
        ([1, 1], "ab", {"k": 1, "protected": "a"}, "everyone else has no impact"),
    ],
)
def test_undefined(y, groups, options, why):
    with pytest.warns(EquirankWarning, match=f"undefined in every query.*{why}"):
        assert isnan(disparate_impact(y, [2, 1], list(groups), **options))


def test_better_and_worse():
    y, groups = [2, 1, 1, 2, 1, 1], list("aaabbb")
    values = [
        disparate_impact(y, score, groups, protected="b")
        for score in ([6, 5, 4, 1, 2, 3], [6, 5, 4, 3, 2, 1], [3, 2, 1, 6, 5, 4])
    ]
    assert values == sorted(values)
    assert len(set(values)) == 3
    assert DisparateImpact.direction == "higher"


@pytest.mark.slow
@settings(max_examples=sized(25, 60))
@given(policies(groups=("a", "b", "c"), grades=(0, 0.1, 1, 3)))
def test_the_worst_ratio_is_at_most_one(ranking):
    value = DisparateImpact().per_query(ranking).value
    value = value[~np.isnan(value)]
    assert ((value >= 0) & (value <= 1 + 1e-9)).all()
