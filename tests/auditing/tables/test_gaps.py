"""Gaps are those of evaluate, for every attribute; and what could have been seen."""

import numpy as np
import pytest

from equirank import audit, evaluate
from equirank.auditing.tables.gap_tables import detectable_gap
from equirank.datasets import load_hiring


def find(result, attribute, metric):
    return [
        row
        for row in result.tables["gaps"]
        if (row["attribute"], row["metric"]) == (attribute, metric)
    ]


def test_gaps_are_those_of_evaluate(hiring):
    names = 'ExposureGap(by="sex", protected="female"), RND(by="age_group"), NDCG@10'
    expected = evaluate(load_hiring(), names, n_boot=0, n_permutations=0)
    (gap,) = find(hiring, "sex", "ExposureGap")
    assert gap["name"] == 'ExposureGap(by="sex", protected="female")'
    assert gap["group"] == "female"
    assert gap["value"] == expected.results[0].summary[0]
    (rnd,) = find(hiring, "age_group", "RND")
    assert rnd["group"] == ""
    assert rnd["value"] == expected.results[1].summary[0]
    assert rnd["low"] < rnd["value"] < rnd["high"]
    assert rnd["direction"] == "lower"
    ndcg = next(row for row in hiring.tables["metrics"] if row["metric"] == "NDCG@10")
    assert ndcg["value"] == expected["NDCG@10"]


def test_two_groups_have_one_position_difference_and_three_have_three(hiring):
    assert [row["group"] for row in find(hiring, "sex", "PositionDifference")] == ["female"]
    ages = find(hiring, "age_group", "PositionDifference")
    assert [row["group"] for row in ages] == ["35 to 49", "50 and over", "under 35"]
    assert {row["direction"] for row in ages} == {"zero"}


def test_further_metrics_are_measured_for_every_attribute():
    result = audit(
        load_hiring(), metrics=["RND@20", "NDCG@3", 'NDKL(by="sex")'], n_boot=0, n_permutations=0
    )
    assert len(find(result, "sex", "RND@20")) == len(find(result, "age_group", "RND@20")) == 1
    assert len(find(result, "sex", "NDKL")) == 1
    assert find(result, "age_group", "NDKL") == []
    assert find(result, "sex x age_group", "RND@20") == []
    assert "NDCG@3" in result.tables["metrics"]["metric"]


def test_without_relevance_only_places_and_exposure(one_list):
    shorts = set(one_list.tables["gaps"]["metric"])
    assert shorts == {"PositionDifference", "ExposureGap", "RND"}
    assert len(one_list.tables["metrics"]) == 0


class Told:
    """What a test and a bootstrap gave."""

    def __init__(self, direction, null, replicates):
        self.metric = type("Metric", (), {"direction": direction})
        self.null, self.replicates = np.array(null), np.array(replicates)


def test_detectable_gap_by_hand():
    null, replicates = np.arange(101) / 100, [0.4, 0.6]  # the quantile at 0.95 is 0.95
    error = np.std(replicates, ddof=1) * np.sqrt(2)
    found = detectable_gap(Told("lower", null, replicates), 0.95, 2)
    assert found == pytest.approx(0.95 + 0.8416212 * error)
    # a ratio that is better the higher it is: draws are turned, and so is the answer
    found = detectable_gap(Told("higher", -null, replicates), 0.95, 2)
    assert found == pytest.approx(0.05 - 0.8416212 * error)
    assert np.isnan(detectable_gap(Told("lower", [np.nan], replicates), 0.95, 2))
