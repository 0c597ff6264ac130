"""Histograms of scores and strips of places."""

import numpy as np

from equirank import audit
from equirank.datasets import load_hiring


def test_histograms_sum_to_one_over_shared_bins(hiring):
    table = hiring.tables["scores"]
    for attribute in ("sex", "age_group", "sex x age_group"):
        groups = {row["group"] for row in table if row["attribute"] == attribute}
        for group in groups:
            mine = [r for r in table if (r["attribute"], r["group"]) == (attribute, group)]
            assert len(mine) == 40
            assert abs(sum(row["share"] for row in mine) - 1) < 1e-9
            assert [row["left"] for row in mine] == sorted(set(table["left"]))


def test_outliers_fall_into_the_last_bins_and_equal_scores_into_one():
    score = np.concatenate([np.linspace(0, 1, 5000), [1e9]])
    quick = {"n_boot": 0, "n_permutations": 0}
    table = audit(score=score, sensitive=np.tile(["a", "b", "c"], 1667), **quick).tables["scores"]
    assert table["right"].max() < 2
    same = audit(score=[1, 1, 1], sensitive=list("aab"), **quick).tables["scores"]
    assert same["share"].tolist() == [1, 1]


def test_no_scores_no_histogram():
    quick = {"n_boot": 0, "n_permutations": 0}
    assert len(audit(position=[1, 2], sensitive=list("ab"), **quick).tables["scores"]) == 0


def test_the_strip_shows_places_of_the_focus(hiring):
    data = load_hiring()
    ranking = data.ranking()
    strip = [row for row in hiring.tables["strip"] if row["attribute"] == "sex"]
    queries = list(dict.fromkeys(row["query"] for row in strip))
    assert len(queries) == 12
    assert {row["group"] for row in strip} == {"female"}
    for query in queries:
        at = data.query_index(query)
        rows = slice(*data.offsets[at : at + 2])
        mine = data.sensitive["sex"].codes[rows] == 0
        places = (ranking.position[rows] + ranking.last[rows])[mine] / 2
        shown = [row["position"] for row in strip if row["query"] == query]
        assert sorted(places.tolist()) == sorted(shown)
        assert {row["length"] for row in strip if row["query"] == query} == {mine.size}


def test_long_strips_are_thinned():
    groups = np.tile(["a", "b"], 4000)
    table = audit(score=np.arange(8000.0), sensitive=groups, n_boot=0, n_permutations=0).tables[
        "strip"
    ]
    assert len(table) == 1500
    assert table["position"].min() <= 2
    assert table["position"].max() >= 7999
