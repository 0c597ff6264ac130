"""The command as a whole: help, version, completion, and that it starts quickly."""

import json
import os
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner
from waiting import LIMIT

import equirank
from equirank.cli.app import app

START = [sys.executable, "-W", "error", "-c", "from equirank.cli.app import main; main()"]


def run(*words, **environment):
    return subprocess.run(
        [*START, *words],
        capture_output=True,
        text=True,
        timeout=LIMIT,
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
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=LIMIT
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


def asked(words, index):
    """Return the variables by which a shell asks for the words that may follow."""
    mark = {"_EQUIRANK_COMPLETE": "complete_bash"}
    return mark | {"COMP_WORDS": words, "COMP_CWORD": str(index)}


def complete(words, index):
    done = CliRunner().invoke(app, env=asked(words, index), prog_name="equirank")
    return done.stdout.split()


@pytest.mark.slow
def test_completion():
    commands = {"audit", "conformance", "datasets", "evaluate", "metrics", "properties", "rerank"}
    commands |= {"init", "train", "predict", "compare", "reproduce", "explain", "profiles"}
    commands |= {"alternatives", "remedy", "run", "studio", "sums"}
    assert set(complete("equirank ", 1)) == commands
    assert set(run(**asked("equirank ", 1)).stdout.split()) == commands
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
        timeout=LIMIT,
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


# closed streams, readers that go away, and faults

COMMANDS = {
    "audit": ["--n-boot", "0", "--fail-on", "sex=f positions > 3 observed"],
    "evaluate": ["--relevance", "rel", "--n-boot", "0"],
    "remedy": ["--k", "2", "--target", "sex=f selected at 2 >= 0.5"],
    "metrics": [],
}


def each_command(*names):
    """Return parameters; the commands that read a file import much, and are for the gate."""
    return [
        pytest.param(name, marks=pytest.mark.gate) if COMMANDS.get(name) else name for name in names
    ]


@pytest.fixture
def line(tmp_path):
    """Return the function that makes the command line of a shell, with what follows it."""
    path = tmp_path / "people.csv"
    rows = [f"{q},{'mf'[i % 2]},{9 - i},{i % 2}" for q in (1, 2) for i in range(8)]
    path.write_text("\n".join(["query,sex,score,rel", *rows]) + "\n")

    def made(command, after, *more):
        data = [] if command in ("metrics", "--help") else [path, "--query", "query"]
        data += ["--sensitive", "sex"] if data else []
        words = shlex.join(map(str, [command, *data, *COMMANDS.get(command, []), *more]))
        return shell(f'"$@" {words} {after}')

    return made


def shell(script, **environment):
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script, "bash", *START],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=os.environ | environment,
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a shell")
@pytest.mark.parametrize("command", each_command(*COMMANDS))
def test_a_closed_stream_changes_no_exit_code(line, command):
    printed = set()
    for after in (">&-", "2>&-", ">&- 2>&-", "<&-"):
        done = line(command, after)
        assert done.returncode == 0, done.stderr
        assert (done.stdout == "") == (">&-" in after.split())
        assert "Traceback" not in done.stderr
        printed.add(done.stdout)
    assert len(printed) == 2  # nothing, or all


@pytest.mark.gate
@pytest.mark.skipif(os.name != "posix", reason="a shell")
@pytest.mark.parametrize("command", each_command(*COMMANDS, "--help"))
def test_a_reader_that_went_away_has_a_code_of_its_own(line, command):
    done = line(command, "| true")
    assert (done.returncode, done.stderr) == (141, "")
    done = line(command, "2>&1 | true")
    assert (done.returncode, done.stdout, done.stderr) == (141, "", "")


@pytest.mark.gate
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux")
def test_a_full_disk_is_no_gate(line):
    for command in ("metrics", "--help"):
        done = line(command, ">/dev/full")
        said = "equirank: No space left on device\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
    assert line("audit", "2>/dev/full", "--seed", "x").returncode == 2
    assert line("evaluate", "2>/dev/full", "--metrics", "Nope").returncode == 2


@pytest.mark.gate
@pytest.mark.skipif(os.name != "posix", reason="a shell")
def test_a_gate_that_holds_has_exit_code_1_whatever_is_closed(line):
    for after in ("", ">&-", "2>&-"):
        assert line("audit", after, "--fail-on", "sex=f positions > 0.5 observed").returncode == 1


FAULTY = """
import os, sys
import equirank.cli.metrics as command
def broken(*given, **more):
    raise {error}
command._rows = broken
from equirank.__main__ import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("IndexError('of\\n3')", r"IndexError: of\n3 (<string>:5)"),
        ("EOFError('cut')", "RuntimeError: EOFError: cut"),
        ("BrokenPipeError(32, 'of a worker')", "BrokenPipeError: [Errno 32] of a worker"),
        ("__import__('concurrent.futures.process').futures.process.BrokenProcessPool('w')", "w"),
    ],
)
def test_a_fault_has_exit_code_70_and_says_so(error, said):
    words = [sys.executable, "-c", FAULTY.format(error=error), "metrics"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout) == (70, "")
    (only,) = done.stderr.splitlines()
    assert said in only
    assert f"this is a fault of equirank {equirank.__version__}: please report it" in only


@pytest.mark.slow
def test_the_traceback_of_a_fault_is_shown_if_asked():
    words = [sys.executable, "-c", FAULTY.format(error="IndexError('of')"), "metrics"]
    asked = os.environ | {"EQUIRANK_TRACEBACK": "1"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, env=asked)
    assert done.returncode == 70
    assert done.stderr.startswith("Traceback")
    assert "IndexError: of (<string>:5)" in done.stderr.splitlines()[-1]


def test_a_command_line_that_cannot_be_imported_is_a_fault():
    program = "import sys; sys.modules['typer'] = None; from equirank.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 70
    assert "typer" in done.stderr


@pytest.mark.parametrize(
    "command", ["audit", "evaluate", "explain", "properties", "remedy", "sums"]
)
@pytest.mark.parametrize("seed", ["-1", str(2**63), "9" * 23])
def test_seeds_have_bounds(people_file, command, seed):
    out = ["--out", "x.sums"] if command == "sums" else []
    file = [] if command == "properties" else [people_file]
    done = CliRunner().invoke(app, [command, *file, *out, "--seed", seed])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "'--seed'" in done.stderr.splitlines()[-1]


@pytest.fixture
def people_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("query,sex,score\n1,m,2\n1,f,1\n")
    return str(path)


def test_the_largest_seed_is_one(people_file):
    words = ["audit", people_file, "--query", "query", "--sensitive", "sex", "--seed", "9" * 18]
    assert CliRunner().invoke(app, words).exit_code == 0
    words[-1] = str(2**63 - 1)
    assert CliRunner().invoke(app, words).exit_code == 0
