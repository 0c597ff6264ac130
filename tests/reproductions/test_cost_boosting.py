"""Boosting with costs, in its quick form."""

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.metrics import pair_loss

from .studies import load, run_quick


@pytest.mark.slow
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
