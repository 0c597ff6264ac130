from math import isnan, log2

import numpy as np
import pytest
from hypothesis import given, settings
from thorough import sized

from equirank import DataError, EquirankWarning, Ranking, as_ranking_data, evaluate
from equirank.metrics import DisparateTreatment, disparate_treatment
from equirank.testing import check_metric
from equirank.testing.strategies import policies

from ..cases import same
from .merit_agreement import agree
from .merit_twins import OPTIONS, ratio

V = [1 / log2(1 + place) for place in range(1, 7)]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_agrees_with_twin(options, labels):
    agree(disparate_treatment, DisparateTreatment, ratio, min, labels, options)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [DisparateTreatment(), DisparateTreatment(protected="f") @ 2])
def test_keeps_the_promises(metric):
    check_metric(metric)


def test_by_hand():
    # f has merit 1 at place 2, m has merit 3 and 1 (mean 2) at places 1 and 3
    value = disparate_treatment([3, 1, 1], [3, 2, 1], list("mfm"), protected="f")
    assert value == pytest.approx((V[1] / 1) / ((V[0] + V[2]) / 2 / 2))
    assert value > 1
    assert disparate_treatment([3, 1, 1], [3, 2, 1], list("mfm")) == pytest.approx(1 / value)


def test_groups_are_exposure_per_merit():
    _, groups = disparate_treatment([3, 1, 0], [3, 2, 1], list("mfx"), return_groups=True)
    assert groups["m"] == pytest.approx(V[0] / 3)
    assert groups["f"] == pytest.approx(V[1])
    assert isnan(groups["x"])


def test_the_job_seekers():
    """Three of relevance .80 .79 .78 before three of .77 .76 .75: 45 % less exposure."""
    y = [0.80, 0.79, 0.78, 0.77, 0.76, 0.75]
    value = disparate_treatment(y, y, list("aaabbb"), protected="b")
    assert value == pytest.approx((sum(V[3:]) / sum(V[:3])) * (0.79 / 0.76))
    assert round(sum(V[:3]) / 3, 3) == 0.710
    assert round(sum(V[3:6]) / 3, 3) == 0.391


def test_a_fair_coin_treats_equals_equally():
    data = as_ranking_data(y=[1, 1], sensitive_features=list("ab"))
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    assert DisparateTreatment().per_query(fair).value[0] == pytest.approx(1)
    biased = Ranking.from_positions(data, [[1, 2], [2, 1]], weights=[3, 1])
    got = DisparateTreatment(protected="b").per_query(biased).value[0]
    assert got == pytest.approx((0.25 + 0.75 * V[1]) / (0.75 + 0.25 * V[1]))


@pytest.mark.parametrize(
    ("y", "groups", "why"),
    [([1, 1], "aa", "one group"), ([0, 1], "ab", "merit"), ([1, 0], "ab", "merit")],
)
def test_undefined(y, groups, why):
    with pytest.warns(EquirankWarning, match=f"undefined in every query.*{why}"):
        assert isnan(disparate_treatment(y, [2, 1], list(groups)))


def test_undefined_where_the_rest_draws_nothing():
    with pytest.warns(EquirankWarning, match="everyone else has no exposure"):
        assert isnan(disparate_treatment([1, 1], [2, 1], list("ab"), k=1, protected="a"))
    assert disparate_treatment([1, 1], [2, 1], list("ab"), k=1, protected="b") == 0.0
    assert disparate_treatment([1, 1], [2, 1], list("ab"), k=1) == 0.0


def test_a_tiny_rest_is_not_lost_in_rounding():
    value = disparate_treatment([1e18, 1e-3], [2, 1], list("ab"), protected="a")
    assert value == pytest.approx((1 / 1e18) / (V[1] / 1e-3), rel=1e-12)


def test_better_and_worse():
    """Moving a group up raises its ratio; the worst ratio is highest where treatment is equal."""
    y, groups = [1] * 6, list("aaabbb")
    values = [
        disparate_treatment(y, score, groups, protected="b")
        for score in (
            [6, 5, 4, 3, 2, 1],
            [6, 5, 3, 4, 2, 1],
            [6, 3, 2, 5, 4, 1],
            [3, 2, 1, 6, 5, 4],
        )
    ]
    assert values == sorted(values)
    assert DisparateTreatment.direction == "higher"
    assert values[0] < 1 < values[-1]
    fair = disparate_treatment(y, [1] * 6, groups)
    assert fair == pytest.approx(1)
    assert disparate_treatment(y, [6, 5, 4, 3, 2, 1], groups) < fair


@pytest.mark.slow
@settings(max_examples=sized(25, 60))
@given(policies(groups=("a", "b", "c"), grades=(0, 0.1, 1, 3)))
def test_the_worst_ratio_is_at_most_one(ranking):
    value = DisparateTreatment().per_query(ranking).value
    value = value[~np.isnan(value)]
    assert ((value >= 0) & (value <= 1 + 1e-9)).all()


def test_several_queries_and_undefined_ones():
    call = {"qid": list("xxyy"), "protected": "b"}
    rows = ([1, 1, 1, 0], [2, 1, 2, 1], list("abab"))
    same(disparate_treatment(*rows, per_query=True, **call), [V[1], np.nan])
    assert disparate_treatment(*rows, **call) == pytest.approx(V[1])
    assert disparate_treatment(*rows, undefined="one", **call) == pytest.approx((V[1] + 1) / 2)
    with pytest.raises(DataError, match=r"undefined for query 'y'.*merit is 0"):
        disparate_treatment(*rows, undefined="raise", **call)


def test_evaluates_with_interval_and_test():
    rng = np.random.default_rng(0)
    data = as_ranking_data(
        y=rng.integers(1, 4, 60),
        score=rng.random(60),
        sensitive_features=rng.choice(list("ab"), 60),
    )
    result = evaluate(data, [DisparateTreatment(protected="a")], n_boot=50, n_permutations=50)
    row = result.summary().to_dict()
    assert row["low"][0] < row["value"][0] < row["high"][0]
    assert 0 < row["p_value"][0] <= 1


def test_bad_input():
    with pytest.raises(DataError, match="needs relevance"):
        disparate_treatment(None, [1, 2], list("ab"))
    with pytest.raises(DataError, match="needs groups"):
        disparate_treatment([1, 2], [1, 2], None)
    with pytest.raises(DataError, match="discount of DisparateTreatment"):
        DisparateTreatment(discount="no")


def test_merit_of_any_size():
    # a merit of 1 beside one of 1e300 is not what is left of their sum
    _, per_merit = disparate_treatment(
        [1e300, 1, 1], [3, 2, 1], list("abc"), protected="b", return_groups=True
    )
    value = disparate_treatment([1, 1, 1e300], [1, 1, 1], list("abc"), protected="c")
    assert value == pytest.approx(1e-300)
    assert per_merit["b"] == pytest.approx(1 / np.log2(3))
    most = 1.7e308
    value = disparate_treatment([most] * 4, [1] * 4, list("aabb"), protected="a")
    assert value == pytest.approx(1)
    with pytest.raises(DataError, match=r"exceeds 1\.8e308"):
        disparate_treatment([5e-324, 1], [1, 1], list("ab"))
