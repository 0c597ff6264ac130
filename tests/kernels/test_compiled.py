"""Compilation without a writable cache, and random numbers by key and counter."""

import os
import subprocess
import sys

import numpy as np
import pytest

import equirank
from equirank.kernels.compiled import key_of, uniform

PROGRAM = """
import sys
from equirank.io import read_letor
print(read_letor(sys.argv[1]).y.tolist())
"""


@pytest.mark.slow
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
