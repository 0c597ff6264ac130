"""``equirank properties``."""

import json

import pytest
from typer.testing import CliRunner

from equirank.cli.app import app
from equirank.metrics.properties import bench, scenario_names

MODULE = """
from dataclasses import dataclass

from equirank.metrics import ExposureGap, NDCG

metric = ExposureGap() @ 5
kind = NDCG
number = 3
"""


def run(*words):
    return CliRunner().invoke(app, ["properties", *words])


@pytest.mark.slow
def test_table():
    done = run("--metric", "RankParityError", "--metric", "clustering.z", "--repetitions", "12")
    assert (done.exit_code, done.stderr) == (0, "")
    head, *lines, last = done.stdout.splitlines()
    assert head.split() == ["metric", *" ".join(scenario_names()).split()]
    assert last.startswith("effect sizes; * detected")
    cells = {line.split()[0]: line.split()[1:] for line in lines}
    assert list(cells) == ["RankParityError", "clustering.z"]
    expected = bench(["RankParityError", "clustering.z"], 12)
    for name, row in cells.items():
        rows = [r for r in expected if r["metric"] == name]
        assert row == [f"{r['effect'] + 0.0:.2f}{'*' * r['detected']}" for r in rows]
    assert cells["RankParityError"][3] == "0.00"
    assert cells["clustering.z"][3].endswith("*")


def test_json(tmp_path):
    done = run("--metric", "NDCG", "--repetitions", "3", "--seed", "4", "--json")
    rows = json.loads(done.stdout)
    assert rows == json.loads(bench("NDCG", 3, 4).to_json())
    target = tmp_path / "found.json"
    done = run("--metric", "NDCG", "--repetitions", "3", "--seed", "4", "--json", str(target))
    assert json.loads(target.read_text()) == rows
    assert "tokenisation" in done.stdout


@pytest.mark.parametrize(("name", "shown"), [("metric", "ExposureGap@5"), ("kind", "NDCG")])
def test_a_metric_of_the_users(tmp_path, monkeypatch, name, shown):
    (tmp_path / "their_metrics.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    done = run("--metric", f"their_metrics:{name}", "--repetitions", "2")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[1].split()[0] == shown


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("NDGC", "did you mean 'NDCG'"),
        ("no_such_module_here:metric", "cannot be imported"),
        ("their_metrics:metrc", "their_metrics has no metrc"),
        ("their_metrics:number", "must be metrics or their names, got 3"),
        ("Consistency", "needs features"),
    ],
)
def test_wrong_metric(tmp_path, monkeypatch, name, said):
    (tmp_path / "their_metrics.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    done = run("--metric", name, "--repetitions", "2")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("equirank: ")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


@pytest.mark.parametrize("words", [["--repetitions", "1"], ["--seed", "-1"]])
def test_wrong_numbers(words):
    done = run(*words)
    assert done.exit_code == 2
    assert words[0] in done.stderr


def test_completion():
    from equirank.cli.properties import _complete_metric

    assert _complete_metric("RN") == ["RND"]
    assert _complete_metric("smooth") == ["smoothness.ks", "smoothness.wasserstein"]
