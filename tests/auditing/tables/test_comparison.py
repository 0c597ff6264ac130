"""Two rankings of the same lists, compared list by list."""

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data, audit, evaluate
from equirank.datasets import load_hiring

QUICK = {"n_boot": 100, "n_permutations": 99}


@pytest.fixture(scope="module")
def changed():
    data = load_hiring().select(slice(0, 8))
    other = Ranking.from_scores(data, data.to_original(data.X[:, 1]))
    return data, other, audit(data, against=other, protected="sex=female", **QUICK)


def test_differences_are_those_of_versus(changed):
    data, other, result = changed
    names = 'NDCG@10, RND(by="sex", protected="female")'
    a, b = (evaluate(r, names, n_boot=0, n_permutations=0) for r in (data.ranking(), other))
    expected = {row["metric"]: row for row in a.versus(b)}
    table = {(row["attribute"], row["metric"]): row for row in result.tables["comparison"]}
    for key, name in [
        (("", "NDCG@10"), "NDCG@10"),
        (("sex", "RND"), 'RND(by="sex", protected="female")'),
    ]:
        for column in ("value", "other", "difference"):
            assert table[key][column] == pytest.approx(expected[name][column])
        assert table[key]["low"] < table[key]["difference"] < table[key]["high"]
        assert table[key]["p_value"] < table[key]["p_holm"] or table[key]["p_holm"] == 1
    places = table["sex", "PositionDifference"]
    assert places["group"] == "female"
    groups = next(row for row in result.tables["groups"] if row["group"] == "female")
    assert places["value"] == pytest.approx(groups["position_difference"])
    assert places["difference"] == pytest.approx(places["value"] - places["other"])
    assert result.facts["against"] == {
        "title": "the other ranking",
        "n_rows": data.n_rows,
        "n_queries": 8,
        "shared_queries": 8,
    }


def test_the_same_ranking_has_not_changed(changed):
    data, _, _ = changed
    table = audit(data, against=data, **QUICK).tables["comparison"]
    assert (table["difference"] == 0).all()
    assert (table["p_holm"] == 1).all()


def test_only_shared_lists_count(changed):
    data, _, _ = changed
    result = audit(data, against=data.select(slice(0, 3)), **QUICK)
    assert result.facts["against"]["shared_queries"] == 3
    assert result.tables["comparison"]["n_queries"].max() == 3


def test_frames_share_their_columns():
    given = {"qid": [0, 0, 1, 1], "sex": list("fmfm")}
    after, before = given | {"score": [1, 2, 1, 2]}, given | {"score": [2, 1, 2, 1]}
    result = audit(after, against=before, sensitive="sex", protected="sex=f", **QUICK)
    row = next(r for r in result.tables["comparison"] if r["metric"] == "PositionDifference")
    assert (row["value"], row["other"], row["difference"]) == (1, -1, 2)


def test_one_list_has_no_paired_test():
    table = audit(
        score=[1, 2, 3, 4],
        sensitive=list("abab"),
        against=as_ranking_data(score=[4, 3, 2, 1], sensitive_features={"sensitive": list("abab")}),
        **QUICK,
    ).tables["comparison"]
    assert np.isnan(table["p_value"]).all()
    assert not np.isnan(table["difference"]).any()


def test_bad_input():
    data = load_hiring().select(slice(0, 3))
    sex = as_ranking_data(score=[2, 1], sensitive_features={"sex": ["female", "male"]})
    with pytest.raises(DataError, match="against must have the attribute 'age_group'"):
        audit(data, against=sex, **QUICK)
    with pytest.raises(DataError, match="shares none of them"):
        audit(
            {"qid": [0, 0], "score": [1, 2], "sex": list("fm")},
            against={"qid": [1, 1], "score": [1, 2], "sex": list("fm")},
            sensitive="sex",
            **QUICK,
        )
