"""The command as a whole: help, version, completion, and that it starts quickly."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import equirank
from equirank.cli.app import app

START = [sys.executable, "-W", "error", "-c", "from equirank.cli.app import main; main()"]


def run(*words, **environment):
    return subprocess.run(
        [*START, *words],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )


@pytest.mark.slow
def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"equirank {equirank.__version__}\n",
        "",
    )


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help(words):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert done.stderr == ""
    for word in ("evaluate", "metrics", "--version", "--install-completion"):
        assert word in done.stdout


@pytest.mark.parametrize(
    "command", ["evaluate", "metrics", "rerank", "train", "predict", "compare"]
)
def test_help_of_commands(command):
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert "--json" in done.stdout
    assert "Traceback" not in done.output


@pytest.mark.slow
def test_help_imports_nothing_heavy():
    program = (
        "import sys, json\n"
        "from equirank.cli.app import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    assert not loaded & {"numpy", "scipy", "pandas", "pyarrow", "numba", "sklearn", "rich.table"}
    assert not {name for name in loaded if name.startswith(("equirank.core", "equirank.metrics"))}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evalute"], "No such command"),
        (["evaluate"], "Missing argument"),
        (["evaluate", "a.csv", "--nboot", "3"], "No such option"),
        (["evaluate", "a.csv", "--n-boot", "-3"], "--n-boot"),
        (["evaluate", "a.csv", "--seed", "x"], "--seed"),
        (["evaluate", "a.csv", "--format", "xls"], "--format"),
        (["metrics", "more"], "unexpected extra argument"),
    ],
)
def test_wrong_usage(words, said):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert said in done.stderr.splitlines()[-1]


def complete(words, index):
    return run(
        _EQUIRANK_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(index)
    ).stdout.split()


@pytest.mark.slow
def test_completion():
    commands = {"audit", "conformance", "datasets", "evaluate", "metrics", "properties", "rerank"}
    commands |= {"init", "train", "predict", "compare", "reproduce", "explain", "profiles"}
    commands |= {"alternatives", "remedy", "run", "studio", "sums"}
    assert set(complete("equirank ", 1)) == commands
    assert "--relevance" in complete("equirank evaluate --rel", 2)
    assert complete("equirank profiles n", 2) == ["nj-13-16", "nyc-ll144"]
    assert complete("equirank evaluate a.csv --metrics RN", 4) == ["RND"]
    assert complete("equirank evaluate a.csv --metrics NDCG@10,RK", 4) == ["NDCG@10,RKL"]
    assert complete("equirank evaluate a.csv --ties s", 4) == ["stable"]
    assert complete("equirank rerank a.csv --method DetCons", 4) == ["DetCons", "DetConstSort"]


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_fault():
    done = subprocess.run(
        ["sh", "-c", '"$@" metrics | head -1', "sh", *START],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith("name")
    assert "Traceback" not in done.stderr


def test_an_interrupt_during_the_imports_is_one_line():
    program = (
        "import builtins, sys\n"
        "load = builtins.__import__\n"
        "def interrupted(name, *more):\n"
        "    if name == 'typer': raise KeyboardInterrupt\n"
        "    return load(name, *more)\n"
        "builtins.__import__ = interrupted\n"
        "from equirank.__main__ import main; main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "equirank: interrupted\n")
