"""``equirank conformance``."""

import json

from typer.testing import CliRunner

import equirank.metrics
from equirank.cli.app import app
from equirank.testing.conformance import load_vectors


def run(*words):
    return CliRunner().invoke(app, ["conformance", *words])


def test_table():
    done = run("--metric", "ndcg", "--metric", "recall")
    assert (done.exit_code, done.stderr) == (0, "")
    head, *lines, last = done.stdout.splitlines()
    assert head.split() == ["metric", "cases", "passed", "deviation"]
    cases = [len(load_vectors(name)["cases"]) for name in ("ndcg", "recall")]
    assert [line.split()[:3] for line in lines] == [
        ["ndcg", str(cases[0]), str(cases[0])],
        ["recall", str(cases[1]), str(cases[1])],
    ]
    assert last == f"{sum(cases)} of {sum(cases)} cases passed"


def test_json(tmp_path):
    done = run("--metric", "recall", "--json")
    assert done.exit_code == 0
    (row,) = json.loads(done.stdout)
    assert set(row) == {"metric", "cases", "passed", "deviation", "first failure"}
    assert row["metric"] == "recall"
    assert row["passed"] == row["cases"]
    target = tmp_path / "found.json"
    done = run("--metric", "recall", "--json", str(target))
    assert json.loads(target.read_text()) == [row]
    assert "cases passed" in done.stdout


def test_deviation_fails(monkeypatch):
    real = equirank.metrics.recall
    monkeypatch.setattr(
        equirank.metrics, "recall", lambda **options: real(**{**options, "ties": "stable"})
    )
    done = run("--metric", "recall")
    assert done.exit_code == 1
    assert "first failure" in done.stdout
    assert "tied across the cutoff: the value must be 2/3" in done.stdout
    assert run("--metric", "recall", "--json").exit_code == 1


def test_unknown_metric():
    done = run("--metric", "ndgc")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr == "equirank: metric 'ndgc' has no vectors; did you mean 'ndcg'?\n"
