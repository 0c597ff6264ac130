"""Fair LambdaMART, in its quick form."""

import pytest

from .studies import load, run_quick

pytest.importorskip("lightgbm")


@pytest.mark.gate
def test_quick_run(tmp_path):
    pytest.importorskip("altair")
    results = run_quick("fair_lambdamart", tmp_path, "--seeds", "1", "--part", "german_sex")
    assert {row["verdict"] for row in results["verdicts"]} == {"not testable here"}
    rows = results["parts"]["german_sex"]["tables"]["figures"]
    assert {row["protocol"] for row in rows} == {"as published", "people split"}
    assert {row["strategy"] for row in rows} == {"none", "swap", "fair_first", "relevance_first"}
    curves = results["parts"]["german_sex"]["tables"]["curves"]
    last = {(r["strategy"], r["metric"]): r["value"] for r in curves if r["trees"] == 20}
    plain = next(r for r in rows if r["strategy"] == "none" and r["protocol"] == "as published")
    assert last["none, alpha 1", "ndcg50"] == pytest.approx(plain["ndcg50"])


def made_up(ndcg, rnd):
    """Figures of three seeds for every strategy at alpha .5, moved by a little noise."""
    return [
        {"protocol": "as published", "seed": seed, "strategy": strategy, "alpha": alpha,
         "ndcg15": ndcg[strategy] + seed / 1000, "ndcg50": ndcg[strategy] + seed / 1000,
         "rnd15": rnd[strategy] + seed / 1000, "rnd50": rnd[strategy] + seed / 1000}
        for seed in range(3)
        for strategy, alpha in
        (("none", 1.0), ("swap", 0.5), ("fair_first", 0.5), ("relevance_first", 0.5))
    ]  # fmt: skip


def test_orderings():
    study = load("fair_lambdamart")
    ndcg = {"none": 100, "swap": 100, "fair_first": 99, "relevance_first": 100}
    rnd = {"none": 20, "swap": 19, "fair_first": 18, "relevance_first": 21}
    found = list(study.orderings(made_up(ndcg, rnd), study.STUDY.expected, "german_sex"))
    assert [row["verdict"] for row in found] == [
        "confirmed", "confirmed", "contradicted", "confirmed", "confirmed",
    ]  # fmt: skip
    found = list(study.orderings(made_up(ndcg, rnd), study.STUDY.expected, "mslr"))
    assert [row["verdict"] for row in found][3:] == ["contradicted", "not confirmed"]
