"""Boosting with costs, in its quick form."""

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.metrics import pair_loss

from .studies import load, run_quick


@pytest.mark.gate
def test_quick_run(tmp_path):
    pytest.importorskip("altair")
    results = run_quick("cost_boosting", tmp_path, "--seeds", "1")
    assert set(results["parts"]) == {"ternary", "continuous", "libras", "compas"}
    assert {row["verdict"] for row in results["verdicts"]} == {"not testable here"}
    models = {"RankBoost", "RankBoost+", "CS-RankBoost", "CS-RankBoost+"}
    for part in results["parts"].values():
        figures = part["tables"]["figures"]
        assert {row["model"] for row in figures} == models
        assert all(0 <= row["train_r2"] < 0.3 for row in figures)  # they learn
    by = {row["model"]: row for row in results["parts"]["ternary"]["tables"]["figures"]}
    assert by["RankBoost"]["train_cost_r2"] != by["CS-RankBoost"]["train_cost_r2"]


def test_pairs_are_weighed_like_the_metric():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 4, 30), rng.integers(0, 9, 30).astype(float)
    cost = rng.integers(1, 4, 30) / 2
    data = as_ranking_data(rng.normal(size=(30, 2)), y, cost=cost)
    losses = load("cost_boosting").Pairs(data).losses(score)
    assert losses["r2"] == pytest.approx(pair_loss(y, score, kind="R2"))
    assert losses["cost_r2"] == pytest.approx(pair_loss(y, score, kind="R2", cost=cost))


def test_libras_has_one_verdict_per_value_over_both_readings():
    load("cost_boosting")
    from cost_boosting.cost_verdicts import MODELS, further_claims, verdicts

    near = {"test_r2": 0.3, "one_vs_rest_r2": 0.08, "accuracy": 0.5, "one_vs_rest_accuracy": 0.5}
    near |= {f"{side}_{loss}": 0.3 for side in ("test", "train") for loss in ("r2", "cost_r2")}
    rows = [{"model": model, "seed": seed, **near} for model in MODELS for seed in (0, 1, 2)]
    found = {"libras": {"figures": rows}}
    table = {row["claim"]: row for row in verdicts(found, load("cost_boosting").STUDY.expected)}
    r2 = table["LIBRAS, RankBoost: r2"]
    assert r2["verdict"] == "confirmed"  # by the second reading
    assert r2["note"] == "two readings: contradicted and confirmed"
    assert table["LIBRAS, RankBoost: accuracy"]["verdict"] == "contradicted"  # by both
    costs = [row for row in further_claims(found) if "costs lower" in row["claim"]]
    assert [row["verdict"] for row in costs] == ["not confirmed"]
