"""The checks of shapes: who is caught, and who is not."""

from dataclasses import replace

import numpy as np
import pytest

from equirank import audit
from equirank.metrics.properties import clustering, scenario_pair, smoothness


def checks(data, **options):
    one = replace(data, sensitive={"group": data.sensitive["group"]})
    result = audit(one, protected="group=protected", n_boot=50, **options)
    return {row["check"]: row for row in result.tables["checks"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "check"),
    [
        ("clustering", "clustering.z"),
        ("bimodality", "bimodality.coefficient"),
        ("tokenisation", "tokenisation_index.index"),
        ("arbitrary treatment", "arbitrary_treatment.difference"),
    ],
)
def test_the_bad_version_is_caught_and_the_fair_one_is_not(scenario, check):
    fair, bad = scenario_pair(scenario, n_lists=8, random_state=0)
    caught, calm = (checks(data, n_permutations=99)[check] for data in (bad, fair))
    assert caught["p_value"] < 0.01
    assert caught["value"] > caught["expected"]
    assert calm["p_value"] >= 0.01


@pytest.mark.slow
def test_one_list_by_hand():
    mask = np.array([1, 1, 0, 1, 0, 0, 0, 1, 0, 0], dtype=bool)
    result = audit(
        score=np.arange(10, 0, -1),
        sensitive={"g": np.where(mask, "a", "b")},
        protected="g=a",
        n_boot=0,
        n_permutations=20,
    )
    rows = {row["check"]: row for row in result.tables["checks"]}
    assert rows["clustering.z"]["value"] == pytest.approx(-clustering(mask).z)
    assert rows["smoothness.ks"]["value"] == pytest.approx(smoothness([1, 2, 4, 8], 10).ks)
    assert "noisy_ranking.ratio" not in rows  # there is no relevance
    assert all(np.isnan(row["low"]) for row in rows.values())


@pytest.mark.slow
def test_long_lists_are_cut_and_ties_broken_alike_for_the_same_seed():
    rng = np.random.default_rng(0)
    given = {"score": rng.integers(0, 5, 3000), "sensitive": rng.choice(list("ab"), 3000)}
    one, two = (
        audit(**given, n_boot=0, n_permutations=5).tables["checks"].to_dict() for _ in range(2)
    )
    assert one["value"] == two["value"]
    assert max(one["value"]) < 5


def test_no_tests_no_checks():
    result = audit(score=[2, 1], sensitive=list("ab"), n_boot=0, n_permutations=0)
    assert len(result.tables["checks"]) == 0
