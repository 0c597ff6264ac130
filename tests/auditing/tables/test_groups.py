"""The table of groups: its numbers, and that the detectable difference is what it says."""

import numpy as np
import pytest

from equirank import as_ranking_data, evaluate
from equirank.auditing.measures import PositionDifference
from equirank.auditing.tables.group_tables import detectable_difference
from equirank.core.inference import holm


def rows(result, **where):
    return [
        row
        for row in result.tables["groups"]
        if all(row[name] == value for name, value in where.items())
    ]


def test_the_hiring_data(hiring):
    female, male = rows(hiring, attribute="sex")
    assert (female["group"], male["group"]) == ("female", "male")
    assert female["protected"]
    assert female["focus"]
    assert not male["protected"]
    assert female["size"] + male["size"] == 3213
    assert female["position_difference"] == -male["position_difference"] > 5
    assert female["position_difference_low"] == pytest.approx(-male["position_difference_high"])
    assert female["p_value"] == female["p_holm"] == pytest.approx(1 / 1001)
    assert 0 < female["detectable"] < female["position_difference"]
    assert female["exposure_low"] < female["exposure"] < female["exposure_high"] < female["share"]
    assert female["merit_share"] + male["merit_share"] == pytest.approx(1)


def test_several_groups_are_corrected_by_holm(hiring):
    ages = rows(hiring, attribute="age_group")
    corrected = holm([row["p_value"] for row in ages])
    assert [row["p_holm"] for row in ages] == pytest.approx(corrected)
    assert [row["group"] for row in ages if row["focus"]] == ["under 35"]


def test_one_focus_in_each_attribute(hiring):
    for each in hiring.facts["attributes"]:
        focus = [row["group"] for row in rows(hiring, attribute=each["name"]) if row["focus"]]
        assert focus == [each["focus"]]


def test_detectable_by_hand():
    replicates = np.array([[1.0], [3.0]])  # their standard deviation is sqrt(2)
    found = detectable_difference(replicates, 0.95, 4, (1,))
    # (1.96 + 0.84) sqrt(2) sqrt(4/3)
    assert found == pytest.approx([(1.959964 + 0.8416212) * np.sqrt(2) * np.sqrt(4 / 3)], rel=1e-6)
    assert np.isnan(detectable_difference(None, 0.95, 4, (2,))).all()


def test_power_at_the_detectable_difference():
    """A difference as large as the detectable one is seen in about four of five samples."""
    trials, seen, able = 100, 0, []
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        group = np.tile(list("aaaaaabbbbbb"), 40)
        # 0.267 standard deviations: P(a below b) = 0.575, so 12/2 (0.575 - 0.425) = 0.9 places
        data = as_ranking_data(
            qid=np.repeat(range(40), 12),
            score=rng.normal(size=480) - 0.267 * (group == "a"),
            sensitive_features=group,
        )
        result = evaluate(data, PositionDifference(), n_boot=100, n_permutations=99).results[0]
        able.append(detectable_difference(result.group_replicates, 0.95, 40, (2,))[0])
        seen += result.p_value < 0.05
    # places of a list of 12 have the variance 13; means of 6 and 6 in 40 lists
    assert np.median(able) == pytest.approx(2.8 * np.sqrt(13 * (1 / 6 + 1 / 6) / 40), rel=0.1)
    assert 0.68 <= seen / trials <= 0.92
