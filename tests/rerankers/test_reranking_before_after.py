"""The table of a re-ranking before and after."""

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.metrics import exposure_gap, ndcg, rnd
from equirank.rerankers import DetGreedy, FAStarIR, Reranking


def table(result):
    rows = result.summary()
    return {row["measure"]: (row["before"], row["after"]) for row in rows}


def test_measures_are_those_of_the_metrics():
    rng = np.random.default_rng(0)
    n, qid = 120, np.repeat(np.arange(4), 30)
    groups = np.where(rng.random(n) < 0.4, "f", "m")
    scores, y = rng.normal(size=n) - 2 * (groups == "f"), rng.integers(0, 4, size=n)
    result = DetGreedy(k=10).rerank(scores, sensitive_features=groups, qid=qid, y_true=y)
    found = table(result)
    assert found["NDCG@10 (relevance)"] == (
        pytest.approx(ndcg(y, scores, qid=qid, k=10)),
        pytest.approx(ndcg(None, result, k=10)),
    )
    assert found["ExposureGap@10"] == (
        pytest.approx(exposure_gap(scores, groups, qid=qid, k=10)),
        pytest.approx(exposure_gap(result, None, k=10)),
    )
    assert found["RND@10"][1] == pytest.approx(rnd(result, None, k=10))
    shares = [np.mean(groups[result.order(query)] == "f") for query in range(4)]
    assert found["share of f in the first 10"][1] == pytest.approx(np.mean(shares))
    means = [scores[result.order(query)].mean() for query in range(4)]
    assert found["mean score of the first 10"][1] == pytest.approx(np.mean(means))
    best = [np.sort(scores[qid == query])[-10:].mean() for query in range(4)]
    assert found["mean score of the first 10"][0] == pytest.approx(np.mean(best))
    assert found["lists that keep the guarantee"] == (0.0, 1.0)


def test_the_guarantee_before_is_that_of_the_places_shown():
    groups = list("mmffmm") + list("fmffmm")
    result = DetGreedy({"f": 0.5, "m": 0.5}, k=2).rerank(
        [6, 5, 4, 3, 2, 1] * 2, sensitive_features=groups, qid=[1] * 6 + [2] * 6
    )
    assert table(result)["lists that keep the guarantee"] == (0.5, 1.0)


def test_what_the_data_does_not_hold_is_left_out():
    data = as_ranking_data(position=[1, 2, 3, 4], sensitive_features=list("mmff"))
    found = table(FAStarIR(protected="f")(data.ranking()))
    assert not any(name.startswith(("NDCG", "mean score")) for name in found)
    bare = as_ranking_data(position=[1, 2])
    assert table(Reranking.from_order(bare.ranking(), np.array([1, 0]), bare.offsets)) == {}


def test_a_list_with_one_group_has_no_gap():
    found = table(DetGreedy().rerank([2, 1], sensitive_features=["f", "f"]))
    assert "ExposureGap" not in found
    assert found["share of f in the first 10"] == (1.0, 1.0)


def test_crossed_groups():
    groups = {"sex": list("mmff"), "race": list("xyxy")}
    result = DetGreedy(by=["sex", "race"]).rerank([4, 3, 2, 1], sensitive_features=groups)
    assert "share of m & x in the first 10" in table(result)
