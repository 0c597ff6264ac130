"""The study of training on samples, in its quick form."""

import pytest

from .studies import run_quick


@pytest.mark.gate
def test_every_sample_teaches(tmp_path, capsys):
    pytest.importorskip("altair")
    results = run_quick("sampling", tmp_path, "--seeds", "1", "--part", "yahoo_like")
    rows = results["parts"]["yahoo_like"]["tables"]["results"]
    assert {row["sampler"] for row in rows} == {
        *("full", "uniform", "row_norm", "leverage", "k_medoids")
    }
    assert len({row["ndcg"] for row in rows if row["epoch"] == 0}) == 1  # the same start for all
    assert all(row["verdict"] == "not testable here" for row in results["verdicts"])
    samples = [row for row in results["verdicts"] if " of 300 lists" in row["claim"]]
    assert len(samples) == 8
    assert all("it learns" in row["note"] for row in samples)
    assert "| claim |" in capsys.readouterr().out
