"""Compiled kernels work where there is no folder to keep them in."""

import os
import subprocess
import sys

import equirank

PROGRAM = """
import sys
from equirank.io import read_letor
print(read_letor(sys.argv[1]).y.tolist())
"""


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
