"""Tables of gaps, metrics, lists and the comparison with another ranking."""

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data, audit, evaluate
from equirank.auditing.tables.gap_tables import detectable_gap
from equirank.core.evaluation import Result
from equirank.datasets import load_hiring


def find(result, attribute, metric):
    return [
        row
        for row in result.tables["gaps"]
        if (row["attribute"], row["metric"]) == (attribute, metric)
    ]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_gap_is_corrected_by_its_mean_over_permutations(hiring):
    wanted = 'RND(by="age_group")'
    found = evaluate(load_hiring(), wanted, n_boot=0, n_permutations=1999, random_state=0)
    (row,) = find(hiring, "age_group", "RND")
    assert row["chance"] == pytest.approx(found.results[0].null.mean())
    assert row["corrected"] == row["value"] - row["chance"]
    assert 0 < row["chance"] < row["value"]
    assert row["low"] < row["bound_low"] < row["value"] < row["bound_high"] < row["high"]


@pytest.mark.slow
def test_a_metric_without_bias_is_not_corrected():
    result = audit(score=[4, 3, 2, 1], sensitive=list("aabb"), n_boot=0, n_permutations=0)
    (gap,) = find(result, "sensitive", "ExposureGap")
    assert np.isnan(gap["chance"])  # biased, and nothing was drawn
    assert "corrected" not in result.tables["metrics"].columns


@pytest.mark.slow
def test_further_metrics_are_measured_for_every_attribute():
    result = audit(
        load_hiring(), metrics=["RND@20", "NDCG@3", 'NDKL(by="sex")'], n_boot=0, n_permutations=0
    )
    assert len(find(result, "sex", "RND@20")) == len(find(result, "age_group", "RND@20")) == 1
    assert len(find(result, "sex", "NDKL")) == 1
    assert find(result, "age_group", "NDKL") == []
    assert find(result, "sex x age_group", "RND@20") == []
    assert "NDCG@3" in result.tables["metrics"]["metric"]


@pytest.mark.gate
def test_without_relevance_only_places_and_exposure(one_list):
    shorts = set(one_list.tables["gaps"]["metric"])
    assert shorts == {"ExposureGap", "RND"}
    assert len(one_list.tables["metrics"]) == 0


def told(direction, null, replicates):
    """What a test and a bootstrap gave."""
    metric = type("Metric", (), {"direction": direction})
    return Result(metric, None, np.array(replicates), None, np.nan, None, np.array(null))


@pytest.mark.slow
def test_detectable_gap_by_hand():
    null, replicates = np.arange(101) / 100, [0.4, 0.6]  # the quantile at 0.95 is 0.95
    error = np.std(replicates, ddof=1) * np.sqrt(2)
    found = detectable_gap(told("lower", null, replicates), 0.95, 2)
    assert found == pytest.approx(0.95 + 0.8416212 * error)
    # a ratio that is better the higher it is: draws are turned, and so is the answer
    found = detectable_gap(told("higher", -null, replicates), 0.95, 2)
    assert found == pytest.approx(0.05 - 0.8416212 * error)
    assert np.isnan(detectable_gap(told("lower", [np.nan], replicates), 0.95, 2))


@pytest.mark.slow
def test_worst_first_with_the_values_of_evaluate(hiring):
    rows = [row for row in hiring.tables["queries"] if row["attribute"] == "sex"]
    size = [abs(row["position_difference"]) / row["size"] for row in rows]
    assert size == sorted(size, reverse=True)
    assert len(rows) == 60
    expected = evaluate(load_hiring(), 'RND(by="sex", protected="female")', n_boot=0)
    values = dict(zip(expected.qids, expected.results[0].values.value, strict=True))
    assert all(row["RND"] == values[row["query"]] for row in rows)


def test_at_most_500_and_it_is_said():
    rng = np.random.default_rng(0)
    result = audit(
        score=rng.random(2400),
        query=np.repeat(range(600), 4),
        sensitive={"g": np.tile(list("aabb"), 600)},
        n_boot=0,
        n_permutations=0,
    )
    assert len(result.tables["queries"]) == 500
    assert (result.facts["drilldown_kept"], result.facts["drilldown_total"]) == (500, 600)
    assert any("500 most unequal of 600 lists" in note["text"] for note in result.notes)
    assert all(type(query) is int for query in result.tables["queries"]["query"])


def test_lists_without_the_group_come_last():
    result = audit(
        score=[2, 1, 2, 1],
        query=["x", "x", "y", "y"],
        sensitive=list("aaab"),
        n_boot=0,
        n_permutations=0,
    )
    table = result.tables["queries"]
    assert table["query"].tolist() == ["y", "x"]
    assert np.isnan(table["position_difference"][1])


QUICK = {"n_boot": 100, "n_permutations": 99}


@pytest.fixture(scope="module")
def changed():
    data = load_hiring().select(slice(0, 8))
    other = Ranking.from_scores(data, data.to_original(data.X[:, 1]))
    return data, other, audit(data, against=other, protected="sex=female", **QUICK)


@pytest.mark.slow
def test_without_resampling_nothing_is_drawn(monkeypatch):
    data = load_hiring().select(slice(0, 3))
    other = Ranking.from_scores(data, data.to_original(data.X[:, 1]))

    def drawn(*args, **options):
        raise AssertionError("nothing is to be drawn")

    for name in ("query_counts", "item_counts", "paired_tests"):
        monkeypatch.setattr(f"equirank.core.inference.{name}", drawn)
    table = audit(data, against=other, n_boot=0, n_permutations=0).tables["comparison"]
    assert len(table)
    assert np.isfinite(table["difference"]).all()
    for column in ("low", "high", "p_value"):
        assert np.isnan(table[column]).all()


@pytest.mark.gate
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
    change = next(claim for claim in result.claims if claim.quantity == "change of position")
    second = audit(other, protected="sex=female", n_boot=0, n_permutations=0)
    chances = [
        next(claim.also["chance"][0] for claim in each.claims if claim.quantity == "position")
        for each in (result, second)
    ]
    assert (change.group, change.unit) == ("female", "chance")
    assert change.shares == pytest.approx(chances)
    assert change.estimate == pytest.approx(chances[0] - chances[1])
    assert result.facts["against"] == {
        "title": "the other ranking",
        "n_rows": data.n_rows,
        "n_queries": 8,
        "shared_queries": 8,
    }


@pytest.mark.slow
def test_the_same_ranking_has_not_changed(changed):
    data, _, _ = changed
    table = audit(data, against=data, **QUICK).tables["comparison"]
    assert (table["difference"] == 0).all()
    assert (table["p_value"] == 1).all()


@pytest.mark.slow
def test_only_shared_lists_count(changed):
    data, _, _ = changed
    result = audit(data, against=data.select(slice(0, 3)), **QUICK)
    assert result.facts["against"]["shared_queries"] == 3
    assert result.tables["comparison"]["n_queries"].max() == 3


def test_frames_share_their_columns():
    given = {"qid": [0, 0, 1, 1], "sex": list("fmfm"), "id": list("abab")}
    after, before = given | {"score": [1, 2, 1, 2]}, given | {"score": [2, 1, 2, 1]}
    result = audit(after, against=before, sensitive="sex", protected="sex=f", id="id", **QUICK)
    row = next(r for r in result.tables["comparison"] if r["metric"] == "ExposureGap")
    assert row["difference"] == 0
    change = next(claim for claim in result.claims if claim.quantity == "change of position")
    assert (change.estimate, change.unit, change.direction) == (2, "positions", "lower")


def test_one_list_has_no_paired_test():
    table = audit(
        score=[1, 2, 3, 4],
        sensitive=list("abab"),
        id=list("wxyz"),
        against=as_ranking_data(
            score=[4, 3, 2, 1],
            sensitive_features={"sensitive": list("abab")},
            ids=list("wxyz"),
        ),
        **QUICK,
    ).tables["comparison"]
    assert np.isnan(table["p_value"]).all()
    assert not np.isnan(table["difference"]).any()


def test_bad_input():
    data = load_hiring().select(slice(0, 3))
    sex = as_ranking_data(score=[2, 1], sensitive_features={"sex": ["female", "male"]})
    with pytest.raises(DataError, match="against must have the attribute 'age_group'"):
        audit(data, against=sex, **QUICK)
    with pytest.raises(DataError, match="against must share at least one list"):
        audit(
            {"qid": [0, 0], "score": [1, 2], "sex": list("fm"), "id": list("ab")},
            against={"qid": [1, 1], "score": [1, 2], "sex": list("fm"), "id": list("ab")},
            sensitive="sex",
            id="id",
            **QUICK,
        )
