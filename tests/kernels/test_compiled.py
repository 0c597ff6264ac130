"""Compilation without a writable cache, and random numbers by key and counter."""

import importlib
import importlib.util
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import equirank
from equirank.kernels import compiled
from equirank.kernels.compiled import DiskCache
from equirank.kernels.counted_random import key_of, uniform

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from equirank.io import read_letor
print(read_letor(sys.argv[1]).y.tolist())
"""


@pytest.mark.gate
def test_a_place_that_cannot_be_written(tmp_path):
    """A file stands where numba would make its folders."""
    import shutil

    shutil.copytree(
        os.path.dirname(equirank.__file__), tmp_path / "equirank",
        ignore=shutil.ignore_patterns("__pycache__"),
    )  # fmt: skip
    (tmp_path / "equirank" / "kernels" / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    (tmp_path / "data.txt").write_text("2 qid:1 1:0.5\n")
    hidden = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment |= {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM, str(tmp_path / "data.txt")],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "[2.0]\n", done.stderr


def fresh(path):
    """Import a module of one compiled function, as a new process would."""
    spec = importlib.util.spec_from_file_location("one_function", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.thrice


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_truncated_files_of_the_cache_are_removed_with_one_warning(tmp_path, monkeypatch, ending):
    path = tmp_path / "one_function.py"
    source = "from equirank.kernels.compiled import compiled\n@compiled\ndef thrice(x):\n"
    path.write_text(source + "    return 3 * x\n")
    first = fresh(path)
    assert first(2) == 6
    (kept,) = Path(first._cache.cache_path).glob(f"one_function.thrice*.{ending}")
    whole = kept.read_bytes()
    monkeypatch.setattr(DiskCache, "warned", False)
    kept.write_bytes(whole[: len(whole) // 2])
    with pytest.warns(RuntimeWarning, match=r"is damaged .*; it is removed, and the code is"):
        assert fresh(path)(2) == 6
    assert len(kept.read_bytes()) == len(whole)
    for length in (0, 1, 10, len(whole) - 1):  # the second time without a warning
        kept.write_bytes(whole[:length])
        assert fresh(path)(2) == 6
    again = fresh(path)
    again(2)
    assert sum(again.stats.cache_hits.values()) == 1
    kept.write_bytes(whole[:10])
    monkeypatch.setattr(os, "unlink", lambda path: (_ for _ in ()).throw(PermissionError))
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(PermissionError))
    assert fresh(path)(2) == 6  # also where the damaged file cannot be removed


CALLED = """from equirank.kernels.compiled import compiled
STEP = {step}
@compiled
def add_step(x):
    return x + {plus}
"""
CALLER = """from equirank.kernels.compiled import compiled
from called import STEP, add_step
@compiled
def outermost(x):
    return inner(x)
@compiled
def inner(x):  # defined after the function that calls it
    return add_step(x) * STEP
"""


def test_code_is_compiled_again_after_a_change_of_another_file(tmp_path, monkeypatch):
    """A call in another file, and a constant of another file, are part of compiled code."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "caller.py").write_text(CALLER)

    def run(step, plus, note=""):
        (tmp_path / "called.py").write_text(CALLED.format(step=step, plus=plus) + note)
        for name in ("called", "caller"):
            sys.modules.pop(name, None)
        outermost = importlib.import_module("caller").outermost
        return outermost(1), sum(outermost.stats.cache_hits.values())

    assert run(step=1, plus=1) == (2, 0)
    assert run(step=1, plus=1) == (2, 1)  # from the cache
    assert run(step=1, plus=2) == (3, 0)
    assert run(step=5, plus=2) == (15, 0)
    assert run(step=5, plus=2, note="# a note changes no code") == (15, 1)


def numbers(key, count):
    return np.array([uniform(np.uint64(key), np.uint64(i)) for i in range(count)])


def test_numbers_are_spread_evenly_and_uncorrelated():
    drawn = numbers(key_of(np.uint64(1), np.uint64(2)), 20_000)
    assert 0 <= drawn.min() < drawn.max() < 1
    counts = np.histogram(drawn, bins=20, range=(0, 1))[0]
    assert np.sum((counts - 1000) ** 2 / 1000) < 45  # chi-square with 19 degrees, p about 0.001
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.03


def test_keys_give_different_numbers():
    firsts = [
        uniform(np.uint64(key_of(np.uint64(seed), np.uint64(part))), np.uint64(0))
        for seed in range(40)
        for part in range(40)
    ]
    assert len(set(firsts)) == 1600
    assert abs(np.mean(firsts) - 0.5) < 0.03


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("kind", "patience", "progress", "lines"),
    [
        (Terminal, 0, "1", 1),
        (Terminal, 0, "0", 0),  # progress is not wanted
        (io.StringIO, 0, "1", 0),  # no terminal
        (Terminal, 100, "1", 0),  # soon done
    ],
)
def test_who_waits_for_compilation_is_told_once(
    tmp_path, monkeypatch, kind, patience, progress, lines
):
    path = tmp_path / "one_function.py"
    source = "from equirank.kernels.compiled import compiled\n@compiled\ndef twice(x):\n"
    source += "    return 2 * x\n@compiled\ndef thrice(x):\n    return twice(x) + x\n"
    path.write_text(source)
    monkeypatch.setattr(compiled, "PATIENCE", patience)
    monkeypatch.setattr(DiskCache, "told", False)
    monkeypatch.setenv("EQUIRANK_PROGRESS", progress)
    for n_lines in (lines, 0):  # the second time all is stored
        monkeypatch.setattr(sys, "stderr", kind())
        assert fresh(path)(2) == 6
        said = sys.stderr.getvalue()
        assert said == compiled.WORDS * n_lines
        assert DiskCache.depth == 0
        monkeypatch.setattr(DiskCache, "told", False)
