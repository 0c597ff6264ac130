"""The study of fair pairwise ranking, in its quick form, and how it judges."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

RUN = Path(__file__).parents[2] / "reproductions" / "fair_pairwise" / "run.py"


@pytest.fixture(scope="module")
def study():
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("fair_pairwise_run", RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_of(distances):
    """Make rows of figures with these trade-off distances by model, one per seed."""
    return [
        {"seed": seed, "model": model, "validation": -distance, "ndcg": 1.0 - distance, "rnd": 0.0}
        for model, values in distances.items()
        for seed, distance in enumerate(values)
    ]


@pytest.mark.slow
def test_quick_run_judges_nothing_and_draws(study, tmp_path, capsys):
    pytest.importorskip("altair")
    results = study.main(["--quick", "--seeds", "1", "--part", "wiki", "--out", str(tmp_path)])
    rows = results["parts"]["wiki"]["tables"]["figures"]
    assert [row["model"] for row in rows] == [*study.MODELS, "constrained_pairwise"]
    assert all(np.isfinite(list(row.values())[2:]).all() for row in rows)
    assert {row["verdict"] for row in results["verdicts"]} == {"not testable here"}
    stored = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert stored["verdicts"] == results["verdicts"]
    for name in ("rnd_wiki", "gpa_wiki", "auc_wiki"):
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "fair members with ADRG" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("family", "verdict"), [(0.1, "confirmed"), (0.3, "not confirmed"), (0.5, "contradicted")]
)
def test_family_must_be_nearer_than_each_rival(study, family, verdict):
    from fair_pairwise.judging import tradeoffs

    wobble = np.array([0.0, 0.01, -0.01])
    rivals = {"deltr": 0.4, "debias_classifier+noise": 0.3, "plain": 0.45}
    rows = rows_of({name: value + wobble for name, value in rivals.items()})
    rows += rows_of({"both": family + wobble[::-1], "flipped+noise": 0.9 + wobble})
    tables = {"figures": rows, "chance": rows_of({"random": [0.6, 0.6]})}
    (row,) = tradeoffs(tables, "compas", "COMPAS", {})
    assert row["verdict"] == verdict
    assert "taken: both;" in row["note"]
    assert row["note"].endswith("a random order: 0.600 ± 0.000")


@pytest.mark.parametrize(
    ("adrg", "verdict"), [(0.02, "confirmed"), (0.05, "not confirmed"), (0.2, "contradicted")]
)
def test_groups_must_be_hidden_where_they_were_published_as_hidden(study, adrg, verdict):
    from fair_pairwise.judging import hidden_groups

    expected = {"hidden": 0.05, "compas": {"both": [0.01], "flipped": [0.07], "deltr": [0.01]}}
    rows = [
        {"model": model, "on_adrg": value + shift}
        for model, value in (("both", adrg), ("flipped", 0.2))
        for shift in (0.0, 0.01, -0.01)
    ]
    (row,) = hidden_groups({"figures": rows}, "compas", "COMPAS", expected)
    assert (row["published"], row["verdict"]) == ("both", verdict)


def test_member_is_taken_on_validation_not_on_test(study):
    from fair_pairwise.judging import of_best

    rows = rows_of({"both": [0.1], "flipped": [0.2]})
    rows[1]["validation"] = 1.0
    assert of_best(rows, ("both", "flipped"))[1] == ["flipped"]


def test_all_gammas_start_and_widths_are_alike_for_all_models(study):
    from fair_pairwise.training import GAMMAS, grid

    for seed in range(3):
        points = grid("both+noise", seed, quick=False)
        assert [point.gamma for point in points] == list(GAMMAS)
        assert points == grid("deltr", seed, quick=False)
    assert [point.width for point in grid("plain", 0, quick=False)] == [10, 20, 50]
