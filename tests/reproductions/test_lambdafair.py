"""LambdaFair, in its quick form."""

import pytest

from .studies import run_quick

pytest.importorskip("lightgbm")


@pytest.mark.gate
def test_quick_run(tmp_path):
    pytest.importorskip("altair")
    results = run_quick("lambdafair", tmp_path, "--seeds", "1", "--part", "german_sex")
    assert {row["verdict"] for row in results["verdicts"]} == {"not testable here"}
    rows = results["parts"]["german_sex"]["tables"]["figures"]
    assert {row["method"] for row in rows} == {
        "random order", "LambdaMART", "LambdaFair", "equirank",
    }  # fmt: skip
    assert len({round(row["rnd"], 6) for row in rows}) == len(rows)  # no two models are the same
    assert "alpha 0.5" in results["verdicts"][0]["ours"]
