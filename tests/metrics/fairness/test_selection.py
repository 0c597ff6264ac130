from math import nan, sqrt

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.metrics import AdverseImpactRatio, adverse_impact_ratio
from equirank.statistics import selection_ratio
from equirank.testing import check_metric

from .comparing import agree_on_chances

Z = 1.959963984540054  # the normal quantile of 0.975


def twin(chances, y, groups, labels, protected, *, k=None):
    inside = chances(k, (1.0,) * len(groups))
    rates = {
        label: sum(c for c, g in zip(inside, groups, strict=True) if g == label)
        / groups.count(label)
        for label in labels
        if label in groups
    }
    highest = max(rates.values())
    if len(rates) < 2 or highest == 0:
        return nan, dict.fromkeys(labels, nan)
    ratios = {label: rates[label] / highest if label in rates else nan for label in labels}
    known = [ratio for ratio in ratios.values() if ratio == ratio]
    return min(known) if protected is None else ratios[protected], ratios


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"k": 1}, {"k": 2}, {"k": 9}], ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "b"])
def test_agrees_with_twin(options, labels, protected):
    metric = AdverseImpactRatio(protected=protected, **options)
    agree_on_chances(adverse_impact_ratio, metric, twin, labels, **options)


def test_single_list():
    value, groups = adverse_impact_ratio(
        [8, 7, 6, 5, 4, 3, 2, 1], list("aabacbbc"), k=4, return_groups=True
    )
    rates = {"a": 3 / 3, "b": 1 / 3, "c": 0 / 2}
    assert groups == pytest.approx(rates)
    assert value == 0
    value = adverse_impact_ratio([4, 3, 2, 1], list("abba"), k=3, protected="a")
    assert value == pytest.approx((1 / 2) / (2 / 2))


def test_nobody_selected_is_undefined():
    data = as_ranking_data(y=[0, 0], sensitive_features=list("ab"))
    nobody = Ranking.from_positions(data, [0, 0])
    assert np.isnan(AdverseImpactRatio().per_query(nobody).value[0])
    rates = AdverseImpactRatio().selection(nobody)
    assert np.isnan(rates.ratio).all()
    assert np.isnan(rates.ratio_low).all()
    assert np.isnan(rates.ratio_high).all()
    assert (rates.rate == 0).all()
    assert not rates.under_four_fifths.any()


def test_direction():
    scores = [6, 5, 4, 3, 2, 1]
    rows = ("aaabbb", "aabbab", "ababab")
    values = [adverse_impact_ratio(scores, list(row), k=4) for row in rows]
    assert AdverseImpactRatio.direction == "higher"
    assert values == pytest.approx([(1 / 3) / (3 / 3), 1, 1])
    values = [adverse_impact_ratio(scores, list(row), k=2) for row in rows]
    assert values == pytest.approx([0, 0, 1])


# Rates and intervals


def rates_of(groups, selected, **options):
    """Select the first so many of a list given in order."""
    data = as_ranking_data(score=-np.arange(len(groups)), sensitive_features=list(groups))
    return (AdverseImpactRatio @ selected).selection(data.ranking(), **options)


def wilson(hits, n, z=Z):
    middle = (hits + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * sqrt(hits * (n - hits) / n + z * z / 4)
    return middle - half, middle + half


def test_rates_and_ratios_with_their_intervals():
    groups = "a" * 6 + "b" * 3 + "a" * 4 + "b" * 7
    rates = rates_of(groups, 9)
    assert rates.groups == ("a", "b")
    assert rates.people.tolist() == [[10, 10]]
    assert rates.selected.tolist() == [[6, 3]]
    assert rates.rate.tolist() == [[0.6, 0.3]]
    for column, hits in enumerate((6, 3)):
        low, high = wilson(hits, 10)
        assert rates.rate_low[0, column] == pytest.approx(low)
        assert rates.rate_high[0, column] == pytest.approx(high)
    assert rates.ratio.tolist() == [[1.0, 0.5]]
    ratio = selection_ratio(3, 10, 6, 10)
    assert (rates.ratio_low[0, 1], rates.ratio_high[0, 1]) == (ratio.low, ratio.high)
    assert rates.ratio_low[0, 0] == rates.ratio_high[0, 0] == 1
    assert rates.under_four_fifths.tolist() == [[False, True]]
    assert rates.level == 0.95


def test_another_level():
    rates = rates_of("a" * 6 + "b" * 3 + "a" * 4 + "b" * 7, 9, level=0.9)
    z = 1.6448536269514722
    assert (rates.rate_low[0, 0], rates.rate_high[0, 0]) == pytest.approx(wilson(6, 10, z))
    assert rates.level == 0.9
    with pytest.raises(DataError, match=r"level of selection of AdverseImpactRatio@9"):
        rates_of("ab", 9, level=1)


def test_exactly_four_fifths_is_not_under_it():
    # 5 of 5 against 4 of 5
    rates = rates_of("aaaaabbbbb", 9)
    assert rates.ratio.tolist() == [[1.0, 0.8]]
    assert not rates.under_four_fifths.any()
    # 10 of 100 against 8 of 100, where 0.08 / 0.1 falls short of 0.8 by rounding
    rates = rates_of("a" * 10 + "b" * 8 + "a" * 90 + "b" * 92, 18)
    assert not rates.under_four_fifths.any()


def test_a_group_that_is_shut_out_has_an_upper_end():
    rates = rates_of("aaaabbbb", 3)
    assert rates.rate_low[0, 1] == 0
    assert rates.rate_high[0, 1] == pytest.approx(wilson(0, 4)[1])
    assert rates.ratio[0, 1] == rates.ratio_low[0, 1] == 0
    assert rates.ratio_high[0, 1] == selection_ratio(0, 4, 3, 4).high < 2


def test_a_group_of_which_all_are_selected_has_an_interval_with_a_width():
    rates = rates_of("aaabbb", 6)
    assert rates.ratio.tolist() == [[1.0, 1.0]]
    assert rates.ratio_low[0, 1] < 0.5
    assert rates.ratio_high[0, 1] > 2


def test_everybody_selected_has_a_rate_of_one_to_its_upper_end():
    rates = rates_of("aabb", 4)
    assert (rates.rate == 1).all()
    assert (rates.rate_high == 1).all()
    assert rates.rate_low[0, 0] == pytest.approx(wilson(2, 2)[0])
    assert (rates.ratio == 1).all()


def test_lists_stand_apart_or_are_pooled():
    data = as_ranking_data(
        score=[4, 3, 2, 1, 2, 1], qid=list("xxxxyy"), sensitive_features=list("aabbab")
    )
    metric = AdverseImpactRatio @ 1
    rates = metric.selection(data.ranking())
    assert rates.queries.tolist() == ["x", "y"]
    assert rates.people.tolist() == [[2, 2], [1, 1]]
    assert rates.selected.tolist() == [[1, 0], [1, 0]]
    pooled = metric.selection(data.ranking(), pooled=True)
    assert pooled.queries.tolist() == [None]
    assert pooled.people.tolist() == [[3, 3]]
    assert pooled.selected.tolist() == [[2, 0]]
    assert pooled.rate[0, 0] == pytest.approx(2 / 3)


def test_a_group_without_people_has_no_rate():
    data = as_ranking_data(score=[3, 2, 1], qid=[1, 1, 2], sensitive_features=list("aba"))
    rates = (AdverseImpactRatio @ 1).selection(data.ranking())
    for name in ("rate", "rate_low", "rate_high", "ratio", "ratio_low", "ratio_high"):
        assert np.isnan(getattr(rates, name)[1, 1]), name
    assert np.isnan(rates.ratio[1, 0])
    assert rates.rate[1, 0] == 1


def test_draws_and_ties_count_by_chance():
    data = as_ranking_data(y=[0, 0], sensitive_features=list("ab"))
    policy = Ranking.from_positions(data, [[1, 2], [2, 1]], weights=[3, 1])
    rates = (AdverseImpactRatio @ 1).selection(policy)
    assert rates.selected.tolist() == [[0.75, 0.25]]
    assert rates.ratio[0, 1] == pytest.approx(1 / 3)
    assert rates_of("ab", 1).selected.tolist() == [[1, 0]]


def test_table_has_a_row_per_list_and_group():
    table = rates_of("aaaabbbb", 3).to_table()
    assert len(table) == 2
    assert list(table["group"]) == ["a", "b"]
    assert list(table["rate"]) == [0.75, 0.0]
    assert list(table["under_four_fifths"]) == [False, True]
    assert list(table["people"]) == [4, 4]


@pytest.mark.gate
def test_intervals_cover_about_as_often_as_they_say():
    # selection of 30 % in both groups: the ratio of rates to a fixed other group
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(400):
        hits = rng.binomial(80, 0.3)
        row = ["a"] * hits + ["b"] * 80 + ["a"] * (80 - hits)
        rates = rates_of(row, int(hits) or 1)
        covered += rates.rate_low[0, 0] <= 0.3 <= rates.rate_high[0, 0]
    assert 0.92 <= covered / 400 <= 0.98


def test_protected_group_must_be_there():
    data = as_ranking_data(score=[2, 1], sensitive_features=list("ab"))
    with pytest.raises(DataError, match="'z'"):
        AdverseImpactRatio(protected="z").selection(data.ranking())


@pytest.mark.parametrize("metric", [AdverseImpactRatio(), AdverseImpactRatio @ 2])
def test_keeps_its_promises(metric):
    check_metric(metric)
