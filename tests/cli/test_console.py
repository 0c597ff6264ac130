"""The one check of paths for all commands, and what is printed if a command ends early."""

import ctypes
import errno
import inspect
import io
import itertools
import os
import signal
import subprocess
import sys
import time
import typing

import pytest
import typer
from command_notes import without_notes
from typer.testing import CliRunner
from waiting import LIMIT

from equirank.cli import console
from equirank.cli.app import app, main
from equirank.cli.console import Command, Read, Written, marked
from equirank.io import files

COMMANDS = typer.main.get_command(app).commands
#: What stands in the help for a value that is no path.
NO_PATHS = {"COLUMN", "COLUMN=GROUP", "GROUP", "GROUP=NUMBER,...", "ID", "ITEM", "K,K", "LIST"}
NO_PATHS |= {"METRICS", "NAME", "NAME=VALUE", "NUMBER", "PART", "RULE", "TEXT", "YYYY-MM-DD"}
NO_PATHS |= {"COLUMN,COLUMN", "WORD,WORD", "COMPARISON", "COLUMN=GROUP:NAME"}
NO_PATHS |= {"COLUMN=GROUP:COLUMN,...", "COLUMN=COLUMN", "SIZE", "TABLE", "MINUTES"}
NO_PATHS |= {"NAME,NAME,...", "SIGN", "WORD,WORD,...", "comma|point"}
OUTPUTS = [
    (name, output)
    for name, command in COMMANDS.items()
    for output, mark in marked(command).items()
    if isinstance(mark, Written)
]
PAIRS = [
    (name, output, source)
    for name, output in OUTPUTS
    for source, mark in marked(COMMANDS[name]).items()
    if isinstance(mark, Read)
]


def written(name, output):
    return marked(COMMANDS[name])[output]


def option(name, parameter):
    (param,) = [each for each in COMMANDS[name].params if each.name == parameter]
    return param.opts[0] if param.opts[0].startswith("-") else param.metavar


def words_of(name, values, folder):
    """Return a command line with the given values, and some value for what is required."""
    words = []
    for param in COMMANDS[name].params:
        value = values.get(param.name, folder / f"new-{param.name}" if param.required else None)
        if value is not None:
            flag = param.opts[0].startswith("-")
            words += [f"{param.opts[0]}={value}"] if flag else [value]
    return [name, *map(str, words)]


def fails(name, values, folder):
    done = CliRunner().invoke(app, words_of(name, values, folder))
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    (line,) = without_notes(done.stderr).splitlines()
    return line.removeprefix("equirank: ")


def test_every_command_checks_its_paths():
    for name, command in COMMANDS.items():
        assert isinstance(command, Command), f"{name} must be registered with cls=Command"


def test_every_parameter_that_may_be_a_path_is_marked():
    for name, command in COMMANDS.items():
        hints = typing.get_type_hints(inspect.unwrap(command.callback))
        for param in command.params:
            words = str(hints.get(param.name, ""))
            if ("str" in words or "Path" in words) and param.name not in marked(command):
                named = param.metavar in NO_PATHS or (name, param.name) == ("reproduce", "name")
                assert named, f"{name}: mark {param.name} as Read or Written, or add its metavar"
    assert {"json", "out", "report", "store", "draw", "config"} <= {each for _, each in OUTPUTS}


def links(path):
    """Yield other names of a file."""
    yield path
    yield path.parent / "." / ".." / path.parent.name / path.name
    symbolic, hard = path.with_name("symbolic"), path.with_name("hard")
    symbolic.symlink_to(path)
    yield symbolic
    os.link(path, hard)
    yield hard
    symbolic.unlink()
    hard.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "output", "source"), PAIRS)
def test_an_output_is_never_an_input(tmp_path, name, output, source):
    mark, place = written(name, output), tmp_path / "place"
    place.mkdir()
    if mark.whole:
        targets = [(place, place / "within")]
    elif mark.folder:
        targets = [(place, place / os.path.basename(each)) for each in mark.files("", {})]
    else:
        targets = [(None, place / "data.csv")]
    for folder, path in targets:
        path.write_text("kept")
        for other in [path] if folder else links(path):
            target = folder or other
            for values in ({source: path, output: target}, {source: other, output: target}):
                said = fails(name, values, tmp_path)
                assert said.startswith(f"{option(name, output)} must not be ")
                assert option(name, source) in said
        assert path.read_text() == "kept"
        path.unlink()


@pytest.mark.parametrize("name", ["train", "compare"])
def test_the_data_of_a_configuration_are_an_input(tmp_path, name):
    data, config = tmp_path / "data.json", tmp_path / "config.toml"
    data.write_text("kept")
    config.write_text('[data]\npath = "data.json"\n')
    said = fails(name, {"config": config, "json": data}, tmp_path)
    assert said == f"--json must not be an input, got {data}, which CONFIG.toml reads"
    assert data.read_text() == "kept"


def test_an_output_is_not_within_an_input_folder(tmp_path):
    model, data = tmp_path / "model", tmp_path / "data.csv"
    model.mkdir()
    for name in ("model.json", "new.json"):
        values = {"model": model, "file": data, "json": model / name}
        assert "--json must not be in a folder of inputs" in fails("predict", values, tmp_path)
    assert not list(model.iterdir())


@pytest.mark.parametrize("name", list(COMMANDS))
def test_two_outputs_are_two_files(tmp_path, name):
    outputs = [output for each, output in OUTPUTS if each == name]
    files = [each for each in outputs if not written(name, each).folder]
    for first, second in itertools.pairwise(files):
        path = tmp_path / "both.json"
        inside = path / "x.json" if written(name, first).whole else path
        said = fails(name, {first: path, second: inside}, tmp_path)
        assert said.startswith(f"{option(name, second)} must be ")
        assert not path.exists()


@pytest.mark.parametrize(("name", "output"), OUTPUTS)
def test_an_output_that_cannot_be_written_is_refused_at_once(tmp_path, name, output):
    mark, path, folder = written(name, output), tmp_path / "kept", tmp_path / "folder"
    path.write_text("kept")
    path.chmod(0o444)
    folder.mkdir()
    folder.chmod(0o555)
    try:
        bad = {path: "must be a folder" if mark.folder or mark.whole else "must be writable"}
        bad[folder / "new"] = "must be writable"
        if not (mark.folder or mark.whole):
            bad[tmp_path / "none" / "new"] = "must be in an existing folder"
            bad["/dev/null"] = "must be a file"
        for target, said in bad.items():
            assert f"{option(name, output)} {said}" in fails(name, {output: target}, tmp_path)
    finally:
        folder.chmod(0o755)
    assert path.read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == ["folder", "kept"]


def test_results_may_be_beside_the_configuration(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("")
    values = {"config": config, "out": tmp_path, "json": tmp_path / "more.json"}
    assert "config.toml" in fails("compare", values, tmp_path)
    values["out"], values["json"] = tmp_path / "new", tmp_path / "new" / "more.json"
    assert "config.toml" in fails("compare", values, tmp_path)


MESSAGES = [
    ("y must be 1, got 'y must be 2'", "--relevance must be 1, got 'y must be 2'"),
    ("a.csv, line 3: score ('s') must be 1", "a.csv, line 3: --score ('s') must be 1"),
    ("score or position must be given", "--score or --position must be given"),
    ("the first position needs 1 of it", "the first position needs 1 of it"),
    ("sensitive_features['dept'] must be 1", "--sensitive ('dept') must be 1"),
    ("M needs groups (sensitive_features), which it's", "M needs groups (--sensitive), which it's"),
    ("M needs sensitive_features", "M needs --sensitive"),
    ("protected of 'sex' must be 1", "--protected of 'sex' must be 1"),
    ("k of FAStarIR must be 1, got 0", "--k of FAStarIR must be 1, got 0"),
    ("law of FAStarIR must be 1", "--set law of FAStarIR must be 1"),
    (
        "in query 1; lower p or alpha, or a smaller k",
        "in query 1; lower --p or --alpha, or a smaller --k",
    ),
    ("lower it, or pass on_infeasible='best' for", "lower it, or pass --on-infeasible best for"),
    ('it is missing; missing_relevance="irrelevant" keeps it', "it is missing"),
    (
        'it is missing; missing_sensitive="unknown" keeps it',
        "it is missing; --missing-sensitive unknown keeps it",
    ),
    ("score must be named; score=False for none", "--score must be named"),
    ("item must be an id", "--explain must be an id"),
    ("is read; encoding can name another", "is read; --encoding can name another"),
    ("a group; if so, labels can join them", "a group; if so, --labels can join them"),
    ("pass k= (--k), or p (--p)", "pass --k, or --p"),
    (
        "k must fit; none of RND(k='a'), RND(k='b') is",
        "--k must fit; none of RND(k='a'), RND(k='b') is",
    ),
]


@pytest.mark.parametrize(("said", "shown"), MESSAGES)
def test_messages_name_options(said, shown):
    token = console._RUNNING.set(COMMANDS["rerank"])
    try:
        assert console.in_options(said) == shown
    finally:
        console._RUNNING.reset(token)
    assert console.in_options(said) == said  # of the library


def test_a_target_is_that_of_the_option_and_columns_are_named(people):
    def invoke(*words):
        return CliRunner().invoke(app, list(map(str, words)))

    done = invoke("remedy", people, "--sensitive", "sex", "--target", "x exposure >= 0.8")
    assert done.stderr.startswith("equirank: --target 'x exposure >= 0.8' must name a group")
    for command in ("audit", "remedy"):
        assert "groups; the file has 'query', " in invoke(command, people).stderr


def test_messages_name_keys_of_a_configuration():
    token = console._RUNNING.set(COMMANDS["compare"])
    try:
        said = "sensitive_features must be given: n_draws must be 1; missing_sensitive='x' keeps it"
        shown = (
            "[data] sensitive must be given: --n-draws must be 1; missing_sensitive='x' keeps it"
        )
        assert console.in_options(said) == shown
        assert console.in_options("level of compare must be 1") == "--level must be 1"
    finally:
        console._RUNNING.reset(token)


def test_a_rule_that_cannot_be_read_is_that_of_the_option(people):
    words = ["audit", str(people), "--sensitive", "sex", "--fail-on", "RND"]
    done = CliRunner().invoke(app, words)
    assert done.stderr.startswith("equirank: --fail-on 'RND' cannot be read; it looks like ")


GOOD = "query,sex,score,relevance,cost,place\n1,f,1,1,1,1\n\n1,m,2,0,1,2\n"


@pytest.mark.parametrize("command", ["audit", "evaluate", "rerank"])
@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("1,f,inf,1,1,3", "--score ('score') must be a finite number, got inf"),
        ("1,f,1,-2,1,3", "--relevance ('relevance') must be a finite number >= 0, got -2"),
        ("1,f,1,-inf,1,3", "--relevance ('relevance') must be a finite number >= 0, got -inf"),
        ("1,f,1,1,0,3", "--cost ('cost') must be a finite number > 0, got 0"),
        ("1,f,1,1,1,2.5", "--position ('place') must be a whole number >= 1 (or 0: not shown)"),
        ("1,f,1,1,1,3000000000", "--position ('place') must be a whole number >= 1"),
    ],
)
def test_bad_numbers_are_found_by_file_line_and_column(tmp_path, command, cells, said):
    if "cost" in said and command != "evaluate":
        pytest.skip("the command reads no costs")
    path = tmp_path / "people.csv"
    path.write_text(GOOD + cells + "\n")
    words = [command, path, "--sensitive", "sex", "--position" if "place" in said else "--score"]
    words.append("place" if "place" in said else "score")
    words += ["--relevance", "relevance"] if command == "audit" else []
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"equirank: {path}, line 5: {said}")


def test_bad_numbers_of_other_formats(tmp_path):
    path = tmp_path / "people.letor"
    path.write_text("# a comment\n1 qid:1 1:1\n\n0 qid:1 1:inf # b\n")
    done = CliRunner().invoke(app, ["evaluate", str(path), "--score", "1"])
    assert done.stderr == (
        f"equirank: {path}, line 4: --score ('1') must be a finite number, got inf\n"
    )
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    parquet.write_table(pyarrow.table({"score": [1, 2], "relevance": [1, -3]}), path)
    done = CliRunner().invoke(app, ["evaluate", str(path)])
    said = "--relevance ('relevance') must be a finite number >= 0, got -3"
    assert done.stderr == f"equirank: {path}, row 1: {said}\n"


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("query,sex,score\n1,m,4\n1,m,3\n1,f,2\n1,f,1\n")
    return path


RERANK = ["--method", "DetGreedy", "--sensitive", "sex"]


def runs(people):
    """Yield command lines that write files, and the files."""
    folder = people.parent
    csv, json = folder / "out.csv", folder / "out.json"
    yield ["rerank", people, *RERANK, "--out", csv, f"--json={json}"], [csv, json]
    yield ["audit", people, *RERANK[2:], "--n-boot", "0", f"--json={json}"], [json]
    yield ["evaluate", people, *RERANK[2:], "--n-boot", "0", f"--json={json}"], [json]


@pytest.fixture
def interruptible():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class FullDisk(io.BytesIO):
    def write(self, _):
        raise OSError(errno.ENOSPC, "No space left on device")

    def fileno(self):
        raise OSError(errno.EBADF, "no lock")


@pytest.mark.parametrize("at", range(3))
def test_a_full_disk_is_named_and_nothing_is_lost(people, monkeypatch, at):
    words, targets = list(runs(people))[at]
    for target in targets:
        target.write_text("kept")
    there = sorted(os.listdir(people.parent))

    def full(path, mode):
        return FullDisk() if "x" in mode else io.BufferedReader(io.FileIO(path))

    monkeypatch.setattr(files, "open", full, raising=False)
    done = CliRunner().invoke(app, list(map(str, words)))
    said = f"equirank: {targets[0]}: cannot be written: No space left on device\n"
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", said)
    assert sorted(os.listdir(people.parent)) == there
    assert all(target.read_text() == "kept" for target in targets)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("becomes", ["itself", "nothing", "a SystemError"])
@pytest.mark.parametrize("at", range(3))
def test_an_interrupt_writes_nothing(people, monkeypatch, interruptible, at, becomes):
    """Interrupt while the file is read; a callback may lose it, and compiled code replaces it."""
    from equirank.io import table_file

    words, _ = list(runs(people))[at]
    gather = table_file.gather_csv

    def interrupted(*given, **more):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt as error:
            if becomes == "itself":
                raise
            if becomes == "a SystemError":
                raise SystemError("returned a result with an exception set") from error
        return gather(*given, **more)

    monkeypatch.setattr(table_file, "gather_csv", interrupted)
    done = CliRunner().invoke(app, list(map(str, words)))
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "equirank: interrupted\n")
    assert os.listdir(people.parent) == ["people.csv"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.undo()
    assert CliRunner().invoke(app, list(map(str, words))).exit_code == 0


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("at", range(3))
def test_an_interrupt_while_writing_leaves_no_half(people, monkeypatch, interruptible, at):
    words, _ = list(runs(people))[at]
    replace = os.replace

    def interrupted(source, target):
        os.kill(os.getpid(), signal.SIGINT)
        replace(source, target)

    monkeypatch.setattr("os.replace", interrupted)
    done = CliRunner().invoke(app, list(map(str, words)))
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "equirank: interrupted\n")
    assert os.listdir(people.parent) == ["people.csv"]


def test_an_interrupt_in_a_callback_from_c_is_raised_after_it(capfd, interruptible):
    """A compiler calls back from C, where no exception passes: nothing is printed, none is lost."""
    lost = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
    before = sys.unraisablehook
    with console._noting_interrupts():
        lost()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(LIMIT)
    assert capfd.readouterr() == ("", "")
    assert sys.unraisablehook is before


@pytest.mark.gate
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("freed", ["while the command runs", "after its last line"])
def test_what_an_interrupt_leaves_half_made_is_freed_in_silence(freed):
    """An object of a compiler that was interrupted in its constructor fails when it is freed."""
    program = (
        "import os, signal\n"
        "import equirank.cli.metrics as command\n"
        "class Half:\n"
        "    def __init__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        self.pointer = 1\n"
        "    def __del__(self):\n"
        "        self.pointer\n"
        "def interrupted(*given, **more):\n"
        "    try: Half()\n"
        f"    except KeyboardInterrupt: {'pass' if freed.startswith('while') else 'raise'}\n"
        "    return rows(*given, **more)\n"
        "rows, command._rows = command._rows, interrupted\n"
        "from equirank.cli.app import main; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "metrics"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (130, "equirank: interrupted\n")


def test_an_interrupt_before_the_command_is_one_line_too(monkeypatch, capsys, interruptible):
    other = typer.Typer()

    @other.command()
    def start() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("equirank.cli.app.app", other)
    monkeypatch.setattr("sys.argv", ["equirank"])
    monkeypatch.setattr("sys.unraisablehook", sys.unraisablehook)  # silenced by main
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "equirank: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # nothing is left to interrupt


@pytest.mark.gate
@pytest.mark.skipif(os.name != "posix", reason="signal 9")
@pytest.mark.parametrize(("at", "step"), [(0, 1), (0, 2), (1, 1)])
def test_a_killed_command_leaves_whole_files_and_the_next_one_sweeps(people, at, step):
    words, targets = list(runs(people))[at]
    for target in targets:
        target.write_text("kept")
    program = (
        "import os\n"
        "replace, calls = os.replace, []\n"
        "def killed(source, target):\n"
        "    if str(target).startswith(os.environ['WHERE']):\n"
        "        calls.append(target)\n"
        "        len(calls) == int(os.environ['STEP']) and os.kill(os.getpid(), 9)\n"
        "    replace(source, target)\n"
        "os.replace = killed\n"
        "from equirank.cli.app import main; main()\n"
    )
    more = {"WHERE": os.path.realpath(people.parent), "STEP": str(step)}
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        env=os.environ | more,
        capture_output=True,
        timeout=LIMIT,
    )
    assert done.returncode == -9, done.stderr
    assert all(target.read_text() != "kept" for target in targets[: step - 1])
    assert all(target.read_text() == "kept" for target in targets[step - 1 :])
    (left,) = people.parent.glob(".*.partial")
    os.utime(left, (0, 0))
    assert CliRunner().invoke(app, list(map(str, words))).exit_code == 0
    assert sorted(os.listdir(people.parent)) == sorted([people.name, *(t.name for t in targets)])
