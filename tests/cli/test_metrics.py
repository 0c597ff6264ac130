"""``equirank metrics``."""

import json

import pytest
from typer.testing import CliRunner

from equirank.cli.app import app
from equirank.core.registry import metric_names, parse_metric

KEYS = {"name", "direction", "bounds", "needs", "options", "by_group", "summary"}


def run(*words):
    return CliRunner().invoke(app, ["metrics", *words])


def test_table_names_every_metric_in_one_line():
    done = run()
    assert (done.exit_code, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["name", "better", "needs", "options", "summary"]
    assert [line.split()[0] for line in lines] == metric_names()
    assert all(line.split()[1] in ("higher", "lower") for line in lines)


def test_json():
    done = run("--json")
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows] == metric_names()
    assert all(set(row) == KEYS for row in rows)
    ndcg = next(row for row in rows if row["name"] == "NDCG")
    assert ndcg["direction"] == "higher"
    assert ndcg["needs"] == ["relevance"]
    assert ndcg["bounds"] == [0, 1]
    assert ndcg["options"]["gain"] == "exp2"
    assert ndcg["by_group"] is True
    dcg = next(row for row in rows if row["name"] == "DCG")
    assert dcg["bounds"][1] is None


def test_json_options_are_those_the_metric_has():
    for row in json.loads(run("--json").stdout):
        metric = parse_metric(row["name"])
        assert {name: getattr(metric, name) for name in row["options"]} == row["options"]


def test_json_to_a_file_leaves_the_table(tmp_path):
    target = tmp_path / "metrics.json"
    done = run("--json", str(target))
    assert json.loads(target.read_text()) == json.loads(run("--json", "-").stdout)
    assert done.stdout == run().stdout
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.json"]


@pytest.mark.parametrize("target", ["no/such/folder.json", "folder.json"])
def test_json_that_cannot_be_written(tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    done = run("--json", target)
    assert done.exit_code == 2
    assert done.stderr.startswith("equirank: --json must be ")
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["folder.json"]
