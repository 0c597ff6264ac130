"""``equirank reproduce``."""

import json

import pytest
from typer.testing import CliRunner

from equirank.cli import reproduce as command
from equirank.cli.app import app


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *words])


def test_list():
    done = run("--list")
    assert (done.exit_code, done.stderr) == (0, "")
    names = [line.split()[0] for line in done.stdout.splitlines()[1:]]
    assert {"cost_boosting", "fair_lambdamart", "measures", "sampling", "theory"} <= set(names)
    rows = json.loads(run("--list", "--json").stdout)
    assert [row["name"] for row in rows] == names
    assert all(row["title"] and row["path"] for row in rows)


@pytest.mark.slow
def test_a_study(tmp_path):
    words = ("theory", "--quick", "--part", "bipartite", "--seeds", "1", "--out", str(tmp_path))
    done = run(*words)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == "1 claims: 1 confirmed"
    assert "theory bipartite:" in done.stderr
    rows = json.loads((tmp_path / "results.json").read_text())["verdicts"]
    assert json.loads(run("theory", "--draw", str(tmp_path), "--json").stdout) == rows


def test_the_stored_run_is_shown(tmp_path):
    done = run("lambdafair", "--stored", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == "9 claims: 9 not testable here"
    assert (tmp_path / "table.md").exists()
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "9 published claims were tested: 9 not testable here." in page


def test_what_is_wrong_is_one_line(monkeypatch):
    done = run("nothing")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("equirank: NAME must be one of cost_boosting, ")
    assert done.stderr.endswith(", got 'nothing'\n")
    assert "NAME must be one of" in run().stderr
    monkeypatch.setattr(command, "find_reproductions", lambda: None)
    done = run("--list")
    assert done.exit_code == 2
    assert "not part of this installation" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("inside", [True, False])
def test_where_the_studies_lie(tmp_path, inside):
    package = tmp_path / "src" / "equirank"
    package.mkdir(parents=True)
    assert command.find_reproductions(package) is None
    folder = (package if inside else tmp_path) / "reproductions"
    folder.mkdir()
    assert command.find_reproductions(package) is None  # some other folder of that name
    (folder / "verdicts.py").touch()
    assert command.find_reproductions(package) == folder


def test_completion():
    assert command._complete_name("fair_l") == ["fair_lambdamart"]
