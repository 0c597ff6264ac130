"""Tables of groups, selection, merit and pairs."""

import numpy as np
import pytest

from equirank import as_ranking_data, audit
from equirank.auditing.tables.group_tables import detectable_difference, small_cells
from equirank.datasets import load_hiring
from equirank.metrics import AdverseImpactRatio, pairwise_accuracy_matrix
from equirank.statistics import selection_ratio

pytestmark = pytest.mark.slow


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
    assert female["p_value"] == pytest.approx(1 / 2000)
    assert female["p_family"] == male["p_family"] == pytest.approx(2 / 2000)  # two kinds of claims
    assert female["status"] == male["status"] == "finding"
    assert female["exposure_low"] < female["exposure"] < female["exposure_high"] < female["share"]
    assert female["merit_share"] + male["merit_share"] == pytest.approx(1)


def test_positions_and_p_values_are_those_of_the_claims(hiring):
    claims = [c for c in hiring.claims if (c.quantity, c.block) == ("position", "i")]
    owned = {(claim.attribute, claim.group): claim for claim in claims}
    assert ("sex", "male") not in owned  # the mirror image of the other
    for row in rows(hiring):
        claim = owned.get((row["attribute"], row["group"]))
        if claim is not None:
            values = claim.also["positions"]
            assert (row["position_difference"], row["p_value"]) == (values[0], values[5])
            ends = ("position_difference_low", "position_difference_high")
            assert tuple(row[end] for end in ends) == values[1:3]
            assert (row["p_family"], row["status"]) == (claim.p_family, claim.status)


def test_the_focus_is_the_group_ranked_lowest(hiring):
    ages = rows(hiring, attribute="age_group")
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


def test_one_list_is_as_the_metric_says():
    rng = np.random.default_rng(0)
    score, sex = rng.random(200), rng.choice(["f", "m"], 200)
    table = audit(score=score, sensitive={"sex": sex}, k=40, n_boot=20, n_permutations=20).tables[
        "selection"
    ]
    data = as_ranking_data(score=score, sensitive_features={"sex": sex})
    expected = AdverseImpactRatio(k=40).selection(data.ranking())
    for ours, theirs in [
        ("selected", "selected"),
        ("size", "people"),
        ("rate", "rate"),
        ("low", "rate_low"),
        ("high", "rate_high"),
        ("impact_ratio", "ratio"),
        ("ratio_low", "ratio_low"),
        ("ratio_high", "ratio_high"),
    ]:
        np.testing.assert_allclose(table[ours], getattr(expected, theirs)[0], err_msg=ours)


@pytest.mark.slow
def test_several_lists_are_pooled_and_ratios_resampled():
    qid = np.repeat(range(30), 10)
    sex = np.tile(list("mmmmmfffff"), 30)
    rng = np.random.default_rng(1)
    score = rng.random(300) + 0.2 * (sex == "m")
    result = audit(score=score, query=qid, sensitive={"sex": sex}, k=[3, 5], n_boot=400)
    table = result.tables["selection"]
    assert table["k"].tolist() == [3, 3, 5, 5]
    data = as_ranking_data(score=score, qid=qid, sensitive_features={"sex": sex})
    pooled = AdverseImpactRatio(k=3).selection(data.ranking(), pooled=True)
    np.testing.assert_allclose(table["rate"][:2], pooled.rate[0])
    np.testing.assert_allclose(table["impact_ratio"][:2], pooled.ratio[0])
    assert table["reference"].tolist() == [False, True, False, True]
    assert table["ratio_low"][0] < table["impact_ratio"][0] < table["ratio_high"][0] < 1
    assert table["ratio_low"][1] == table["ratio_high"][1] == 1


@pytest.mark.parametrize("shift", [-9, 9])
def test_ratios_of_groups_of_which_all_or_none_are_selected_have_a_width(shift):
    """Resampled lists all have the rate 0 or 1 of the group."""
    rng, sex = np.random.default_rng(1), np.tile(list("fmmmmmmm"), 30)
    score = rng.random(240) + shift * (sex == "f")
    result = audit(score=score, query=np.repeat(range(30), 8), sensitive={"sex": sex}, k=3,
                   n_boot=50, n_permutations=19)  # fmt: skip
    rows = {row["group"]: row for row in result.tables["selection"]}
    counts = [rows[each][name] for each in "fm" for name in ("selected", "size")]
    assert counts[0] in (0, 30)
    row = rows["m" if counts[0] else "f"]
    expected = selection_ratio(*(counts[2:] + counts[:2] if counts[0] else counts))
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((expected.low, expected.high))
    assert row["ratio_low"] <= row["impact_ratio"] <= row["ratio_high"] - 0.05


def test_small_cells_by_hand():
    # 1000 people of whom 100 are selected: 2 % is 20 people, and 5 selected at 10 % are 50
    people = np.array([881, 50, 49, 20])
    assert small_cells(people, np.array([88, 5, 5, 2])).tolist() == [False, False, True, True]
    # all are selected: only the share counts
    assert small_cells(people, people).tolist() == [False, False, False, False]
    assert small_cells(np.array([981, 19]), np.array([981, 19])).tolist() == [False, True]


@pytest.mark.slow
def test_a_small_cell_is_never_the_reference():
    groups = np.array(["big"] * 500 + ["other"] * 490 + ["few"] * 10)
    score = np.concatenate([np.arange(500), np.arange(490) - 0.5, np.full(10, 1e6)])
    table = audit(score=score, sensitive=groups, k=100, n_boot=20, n_permutations=20).tables[
        "selection"
    ]
    by = dict(zip(table["group"], table, strict=True))
    assert by["few"]["small_cell"]
    assert by["few"]["rate"] == 1
    assert not by["few"]["reference"]
    assert by["big"]["reference"] or by["other"]["reference"]
    assert np.isnan(by["few"]["impact_ratio"])


def test_nobody_selected_has_no_ratio():
    table = audit(
        position=[0, 0, 0, 0], sensitive=list("aabb"), k=1, n_boot=0, n_permutations=0
    ).tables["selection"]
    assert np.isnan(table["impact_ratio"]).all()
    assert (table["rate"] == 0).all()


def test_equal_merit_and_attention_is_one():
    result = audit(
        score=[1, 1, 1, 1],
        relevance=[1, 1, 1, 1],
        sensitive=list("abab"),
        n_boot=0,
        n_permutations=0,
    )
    table = result.tables["exposure_merit"]
    np.testing.assert_allclose(table["ratio"], 1.0)
    np.testing.assert_allclose(table["merit_share"], 0.5)


def test_by_hand():
    result = audit(
        score=[3, 2, 1], relevance=[1, 0, 2], sensitive=list("abb"), n_boot=0, n_permutations=0
    )
    table = result.tables["exposure_merit"]
    attention = 1 / np.log2([2, 3, 4])
    assert table["exposure_share"][0] == pytest.approx(attention[0] / attention.sum())
    assert table["merit_share"][0] == pytest.approx(1 / 3)
    assert table["ratio"][0] == pytest.approx(3 * attention[0] / attention.sum())


def test_pairs_are_those_of_the_matrix(hiring):
    expected = pairwise_accuracy_matrix(None, load_hiring().ranking(), None, by="sex")
    ours = [row for row in hiring.tables["pairwise"] if row["attribute"] == "sex"]
    assert [row["accuracy"] for row in ours] == expected["accuracy"].tolist()
    assert [row["n_pairs"] for row in ours] == expected["pairs"].tolist()
    assert {row["kind"] for row in ours} == {"intra", "pair", "inter"}


@pytest.mark.slow
def test_nothing_without_relevance(one_list):
    assert len(one_list.tables["exposure_merit"]) == 0
    assert len(one_list.tables["pairwise"]) == 0
    assert "accuracy" in one_list.tables["pairwise"].columns


@pytest.mark.slow
def test_many_groups_are_not_paired():
    rng = np.random.default_rng(0)
    groups = np.array([f"g{i}" for i in range(13)] * 4)
    result = audit(
        score=rng.random(52),
        relevance=rng.integers(0, 2, 52),
        sensitive={"g": groups},
        n_boot=0,
        n_permutations=0,
    )
    assert len(result.tables["pairwise"]) == 0
    assert "GroupPairwiseAccuracy" not in result.tables["gaps"]["metric"]
    assert any("not compared pair by pair" in note["text"] for note in result.notes)
