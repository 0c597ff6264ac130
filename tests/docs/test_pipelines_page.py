"""The files for pipelines are what the page says: their commands run, and their names exist."""

import importlib.util
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equirank.cli.app import app
from equirank.datasets import hiring_path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "pipelines"


def audits():
    """Return the command of each file that audits."""
    yaml = pytest.importorskip("yaml")
    flow = yaml.safe_load((FOLDER / "github_actions.yml").read_text())
    yield next(
        step["run"] for step in flow["jobs"]["audit"]["steps"] if "audit" in step.get("run", "")
    )
    (hook,) = yaml.safe_load((FOLDER / "pre-commit.yaml").read_text())["repos"][0]["hooks"]
    yield hook["entry"]


@pytest.mark.gate
@pytest.mark.parametrize("at", [0, 1])
def test_the_commands_refuse_a_ranking_that_breaks_the_rule(at, tmp_path, monkeypatch):
    name, *words = shlex.split(list(audits())[at])
    assert name == "equirank"
    shutil.copy(hiring_path(), tmp_path / "ranking.csv")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*words, "--n-boot", "200"])
    assert done.exit_code == 1, done.output


def test_the_container_installs_extras_that_exist():
    text = (FOLDER / "Dockerfile").read_text()
    (extras,) = re.findall(r"/source\[([\w,]+)\]", text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert (ROOT / "constraints.txt").exists()


@pytest.mark.slow
def test_the_search_with_optuna_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("optuna")
    pytest.importorskip("lightgbm")
    monkeypatch.chdir(tmp_path)
    text = (FOLDER / "optuna_search.py").read_text(encoding="utf-8")
    exec(compile(text.replace("n_trials=5", "n_trials=2"), "optuna_search.py", "exec"), {})
    assert "'alpha'" in capsys.readouterr().out


def test_broken_links_are_found(tmp_path):
    spec = importlib.util.spec_from_file_location("links", ROOT / ".ci" / "links.py")
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    (tmp_path / "b.html").write_text("<h1 id='top'>b</h1>")
    (tmp_path / "a.html").write_text(
        "<a href='b.html#top'>1</a><a href='b.html#end'>2</a><a href='c.html'>3</a>"
        "<a href='https://example.org/x'>4</a><script src='https://example.org/x.js'></script>"
    )
    assert list(links.faults(tmp_path)) == [
        "a.html loads https://example.org/x.js",
        "a.html links to b.html#end, which has no such anchor",
        "a.html links to c.html, which does not exist",
    ]
