"""Selection rates, impact ratios and small cells."""

import numpy as np

from equirank import as_ranking_data, audit
from equirank.auditing.tables.group_tables import small_cells
from equirank.metrics import AdverseImpactRatio


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


def test_small_cells_by_hand():
    # 1000 people of whom 100 are selected: 2 % is 20 people, and 5 selected at 10 % are 50
    people = np.array([881, 50, 49, 20])
    assert small_cells(people, np.array([88, 5, 5, 2])).tolist() == [False, False, True, True]
    # all are selected: only the share counts
    assert small_cells(people, people).tolist() == [False, False, False, False]
    assert small_cells(np.array([981, 19]), np.array([981, 19])).tolist() == [False, True]


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
    assert by["few"]["impact_ratio"] > 1


def test_nobody_selected_has_no_ratio():
    table = audit(
        position=[0, 0, 0, 0], sensitive=list("aabb"), k=1, n_boot=0, n_permutations=0
    ).tables["selection"]
    assert np.isnan(table["impact_ratio"]).all()
    assert (table["rate"] == 0).all()
