"""Optional packages, threads and progress bars."""

import io
import os
import subprocess
import sys
import threading

import pytest
from waiting import LIMIT

from equirank import MissingExtraError
from equirank.core.environment import (
    available_threads,
    in_threads,
    listening,
    progress,
    require,
    stage,
)


def test_an_installed_package_is_given():
    assert require("json", "data").dumps([1]) == "[1]"
    assert require("os.path", "data").join("a", "b")


def test_a_missing_package_names_the_extra():
    with pytest.raises(MissingExtraError, match=r'pip install "equirank\[neural\]"') as caught:
        require("no_such_torch", "neural")
    assert caught.value.name == "no_such_torch"
    assert "no_such_torch is not installed" in str(caught.value)


def test_a_package_that_fails_for_another_reason_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import something_else_entirely\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_else_entirely") as caught:
        require("half_there", "data")
    assert not isinstance(caught.value, MissingExtraError)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def open_terminal(monkeypatch):
    """Put a terminal under the test; no fixture, since pytest's own capture comes after those."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("EQUIRANK_PROGRESS", raising=False)
    return stream


def test_off_a_terminal_steps_pass_in_silence(monkeypatch, capsys):
    monkeypatch.delenv("EQUIRANK_PROGRESS", raising=False)
    assert list(progress(range(3), "working", after=0)) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_a_bar_shows(capsys, monkeypatch):
    terminal = open_terminal(monkeypatch)
    assert list(progress(iter([1, 2, 3]), "working", 3, after=-1)) == [1, 2, 3]
    assert "working" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_short_work_shows_no_bar(monkeypatch):
    terminal = open_terminal(monkeypatch)
    assert list(progress([1, 2, 3], "working")) == [1, 2, 3]
    assert terminal.getvalue() == ""


def test_the_environment_switches_bars_off(monkeypatch):
    terminal = open_terminal(monkeypatch)
    monkeypatch.setenv("EQUIRANK_PROGRESS", "0")
    assert list(progress([1, 2], "working", after=-1)) == [1, 2]
    assert terminal.getvalue() == ""


def test_the_bar_is_taken_down_when_work_fails(monkeypatch):
    terminal = open_terminal(monkeypatch)
    steps = progress([1, 2], "working", after=-1)
    next(steps)
    with pytest.raises(KeyError):
        steps.throw(KeyError())
    assert list(steps) == []
    assert terminal.getvalue().count("\x1b[?25l") == terminal.getvalue().count("\x1b[?25h") == 1


def test_what_is_printed_meanwhile_stays_on_standard_output(capsys, monkeypatch):
    terminal = open_terminal(monkeypatch)
    for step in progress([1, 2], "working", after=-1):
        print("step", step)
    assert capsys.readouterr().out == "step 1\nstep 2\n"
    assert "step" not in terminal.getvalue()


@pytest.mark.slow
def test_importing_the_core_loads_nothing_heavy():
    script = (
        "import sys, equirank; equirank.as_ranking_data, equirank.evaluate, equirank.Ranking;"
        "equirank.metrics.NDCG;"
        "heavy = {'sklearn', 'torch', 'lightgbm', 'dask', 'pandas', 'polars', 'pyarrow', 'altair',"
        " 'scipy.stats', 'numba', 'matplotlib'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_listeners_hear_of_nested_loops_and_can_end_them():
    told = []
    with listening(lambda share, words: told.append((share, words))):
        with stage(0.5, "first"):
            for _ in progress([1, 2], "outer"):
                assert list(progress("abc", "inner")) == list("abc")
        with stage(1.0, "second"):
            assert list(progress(iter("ab"), "of unknown length")) == ["a", "b"]
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert {words for _, words in told} == {"first", "second"}

    def stop(share, words):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), listening(stop):
        list(progress([1, 2], "work"))
    assert list(progress([1, 2], "nobody listens")) == [1, 2]


def test_rows_of_steps_are_shares_of_the_whole():
    told = []
    with listening(lambda share, words: told.append(share)):
        list(progress([1, 3], "rows", 4, rows=lambda step: step))
    assert told == [0.0, 0.125]  # a loop covers half of what is left


@pytest.mark.parametrize(
    ("given", "expected"), [("1", 1), ("2,4", 2), ("0", 1), ("99", 3), ("", 3), ("all", 3)]
)
def test_threads_are_cores_of_the_process_and_at_most_those_asked_for(monkeypatch, given, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert available_threads() == expected


def test_threads_return_results_in_order_and_work_at_once():
    both = threading.Barrier(2, timeout=LIMIT)

    def work(number):
        if number < 2:
            both.wait()  # ends only if two threads are here
        return number * number

    assert list(in_threads(work, range(7), 2)) == [0, 1, 4, 9, 16, 25, 36]


def test_an_error_of_a_thread_ends_the_work():
    done = []

    def work(number):
        if number == 1:
            raise ValueError("one")
        done.append(number)
        return number

    found = in_threads(work, range(1000), 2)
    assert next(found) == 0
    with pytest.raises(ValueError, match="one"):
        list(found)
    assert len(done) < 10
