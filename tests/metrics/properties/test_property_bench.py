from dataclasses import dataclass
from math import inf, isnan
from typing import ClassVar

import numpy as np
import pytest

from equirank import DataError, Metric
from equirank.core.metric import Values
from equirank.core.registry import metric_names
from equirank.metrics import NDCG, RND, ExposureGap
from equirank.metrics.properties import bench, scenario_names
from equirank.metrics.properties.property_bench import CHECKS, CheckMetric, _tested, true_positions

pytestmark = pytest.mark.slow

CROSSED = 'ExposureGap(by=("group", "part"))'
SHOWN = [
    "RankParityError",
    "RankEqualityError",
    "NDCG",
    CROSSED,
    *CHECKS,
]


@pytest.fixture(scope="module")
def found():
    table = bench(SHOWN, n_repetitions=30)
    return {(row["metric"], row["property"]): row for row in table}


def sees(found, metric):
    return {name for name in scenario_names() if found[metric, name]["detected"]}


@dataclass(frozen=True, repr=False, kw_only=True)
class Upside(Metric):
    """A user's metric that is worse the less the first is worth, or turned round."""

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    takes_k: ClassVar[bool] = False
    sign: int = 1

    def values(self, slots):
        position = np.arange(len(slots.y)) - slots.start
        worth = np.add.reduceat(slots.y / (1.0 + position), slots.offsets[:-1])
        return Values(self.sign * worth)


@pytest.mark.gate
def test_one_row_per_metric_and_property(found):
    assert len(found) == len(SHOWN) * 9
    row = found["NDCG", "tokenisation"]
    assert set(row) == {"metric", "property", "effect", "p", "detected", "repetitions"}
    assert row["repetitions"] == 30


@pytest.mark.parametrize(
    ("check", "made_for"),
    [
        ("smoothness.ks", "smooth distribution"),
        ("smoothness.wasserstein", "smooth distribution"),
        ("bimodality.coefficient", "bimodality"),
        ("clustering.z", "clustering"),
        ("tokenisation_index.index", "tokenisation"),
        ("noisy_ranking.ratio", "noisy ranking"),
        ("arbitrary_treatment.difference", "arbitrary treatment"),
        ("statistical_independence.difference", "biased ground truth"),
        ("conditional_independence.difference", "class asymmetry"),
        ("conditional_independence(bins=2).absolute", "tokenisation"),
        (CROSSED, "gerrymandering"),
    ],
)
@pytest.mark.gate
def test_every_check_sees_what_it_was_made_for(found, check, made_for):
    assert made_for in sees(found, check)
    assert found[check, made_for]["effect"] > 1


def test_the_tokenisation_index_sees_nothing_else(found):
    assert sees(found, "tokenisation_index.index") == {"tokenisation"}


@pytest.mark.parametrize("metric", ["RankParityError", "statistical_independence.difference"])
@pytest.mark.parametrize(
    "name", ["smooth distribution", "bimodality", "clustering", "arbitrary treatment"]
)
def test_means_are_blind_to_shapes(found, metric, name):
    row = found[metric, name]
    assert (row["effect"], row["p"], row["detected"]) == (0.0, 1.0, False)


def test_one_bin_is_blind_to_tokens_and_merit_to_biased_truth(found):
    assert "tokenisation" not in sees(found, "conditional_independence.difference")
    assert "biased ground truth" not in sees(found, "conditional_independence.difference")
    assert "biased ground truth" not in sees(found, "RankEqualityError")
    assert "biased ground truth" in sees(found, "RankParityError")


def test_relevance_cannot_see_labels(found):
    moved = {"tokenisation", "noisy ranking", "arbitrary treatment"}
    assert sees(found, "NDCG") == moved
    assert all(found["NDCG", n]["effect"] == 0 for n in scenario_names() if n not in moved)


def test_the_wrong_direction_is_no_detection():
    right, wrong = (list(bench(Upside(sign=sign), n_repetitions=20)) for sign in (1, -1))
    seen = [row["property"] for row in right if row["detected"]]
    assert "arbitrary treatment" in seen
    for good, bad in zip(right, wrong, strict=True):
        assert bad["effect"] == pytest.approx(-good["effect"])
        assert not (good["detected"] and bad["detected"])


def test_rows_do_not_depend_on_the_other_metrics(found):
    for row in bench("RankParityError", n_repetitions=30):
        assert row == found["RankParityError", row["property"]]


def test_objects_classes_strings_and_seeds():
    table = bench([NDCG, RND(step=5), "ExposureGap@10"], n_repetitions=3)
    assert list(dict.fromkeys(table["metric"])) == ["NDCG", "RND(step=5)", "ExposureGap@10"]
    assert not table["detected"].any()  # three repetitions cannot
    a, b, c = (bench(ExposureGap, 3, seed).to_dict() for seed in (7, 7, 8))
    assert a == b
    assert a != c
    two = bench("NDCG, ExposureGap", n_repetitions=2)
    assert len(two) == 18


def test_eleven_repetitions_are_the_fewest():
    assert not bench("KendallLoss", n_repetitions=10)["detected"].any()
    assert bench("KendallLoss", n_repetitions=11)["detected"].any()


def test_default_holds_all_that_can_run():
    names = set(bench(n_repetitions=2)["metric"])
    assert set(CHECKS) <= names
    bare = {name.split("(")[0].split("@")[0] for name in names}
    lacking = set(metric_names()) - bare
    assert lacking == {"AlphaNDCG", "CSDCG", "Consistency", "CostNDCG", "LipschitzViolations"}


def test_p_values_are_corrected_over_the_properties():
    rows = list(bench("KendallLoss", n_repetitions=11))
    least = [row["p"] for row in rows if row["property"] == "tokenisation"]
    # all 2^11 flips, two of them as strong; nine properties
    assert least == [pytest.approx(9 * 2 / 2**11)]


def test_effects():
    rng = np.random.default_rng(0)
    assert _tested(np.array([1.0, 3.0]), rng)["effect"] == pytest.approx(2 / np.sqrt(2))
    assert _tested(np.array([2.0, 2.0]), rng)["effect"] == inf
    assert _tested(np.array([-2.0, -2.0]), rng)["effect"] == -inf
    assert _tested(np.zeros(3), rng)["effect"] == 0.0
    assert isnan(_tested(np.array([1.0]), rng)["effect"])


def test_bad_input():
    with pytest.raises(DataError, match="needs features"):
        bench("Consistency(n_neighbors=2)")
    with pytest.raises(DataError, match="n_repetitions of bench"):
        bench(n_repetitions=1)
    with pytest.raises(DataError, match=r"did you mean 'smoothness\.ks'"):
        bench("smoothnes.ks")
    with pytest.raises(DataError, match="did you mean 'NDCG'"):
        bench("ndgc@10")
    with pytest.raises(DataError, match="must be metrics"):
        bench([3])


def test_names_of_metrics_have_any_case():
    assert set(bench("rnd@50", n_repetitions=2)["metric"]) == {"RND@50"}


def test_checks_are_metrics_by_place_and_merit():
    from equirank import as_ranking_data

    data = as_ranking_data(
        None,
        [2, 1, 1, 0],
        score=[4, 3, 2, 1],
        sensitive_features={"group": ["protected", "other", "other", "protected"]},
    )
    metric = CheckMetric(check_name="statistical_independence.difference")
    assert metric.per_query(data.ranking()).value.tolist() == [0.0]
    # true places 1, 2.5, 2.5, 4: the others are displaced by a half, the protected not at all
    ratio = CheckMetric(check_name="noisy_ranking.ratio")
    assert ratio.per_query(data.ranking()).value.tolist() == [0.0]
    assert str(ratio) == "noisy_ranking.ratio"


def test_tied_relevance_shares_its_mean_place():
    assert true_positions(np.array([0.0, 1.0, 2.0, 1.0])).tolist() == [4.0, 2.5, 1.0, 2.5]
    assert true_positions(np.array([1.0, 1.0, 1.0])).tolist() == [2.0, 2.0, 2.0]
