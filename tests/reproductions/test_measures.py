"""How the prefix measures behave, in its quick form."""

import pytest

from .studies import load, run_quick


def test_all_claims_hold(tmp_path):
    pytest.importorskip("altair")
    results = run_quick("measures", tmp_path)
    assert len(results["verdicts"]) == 10
    assert {row["verdict"] for row in results["verdicts"]} == {"confirmed"}


def test_shape_of_a_curve():
    shape = load("measures").shape
    curve = [0.5, 0.2, 0.1, 0.3, 0.25, 0.8]
    rows = [{"metric": "rnd", "share": 0.3, "f": i / 10, "mean": m, "interval": 0.01}
            for i, m in enumerate(curve)]  # fmt: skip
    assert shape(rows, "rnd", 0.3, 1.0) == (0.2, 1, pytest.approx(0.5 / 0.8))
    assert shape(rows, "rnd", 0.3, 0.35) == (0.2, 0, 1.0)
