"""Files that appear complete or not at all."""

import errno
import os
import time

import pytest

from equirank.io import files


def test_a_failure_names_the_file_and_leaves_the_old_one(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("kept")

    def fill():
        with files.replacing(path) as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left") as error:
        fill()
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(path))
    assert os.listdir(tmp_path) == ["out.csv"]
    assert path.read_text() == "kept"


def test_other_failures_pass_unchanged(tmp_path):
    for error in (FileNotFoundError(2, "no such file", "other"), OSError("of a library")):
        with pytest.raises(type(error)) as found, files.replacing(tmp_path / "out.csv"):
            raise error
        assert found.value is error


def age(path, seconds):
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


@pytest.mark.skipif(files.fcntl is None, reason="no locks")
def test_what_a_killed_process_left_is_swept(tmp_path):
    path = tmp_path / "o[u]t.csv"
    dead, young, other = (
        tmp_path / f".{name}.partial" for name in ("o[u]t.csv.1", "o[u]t.csv.2", "x.3")
    )
    for each in (dead, young, other):
        each.write_text("half")
    age(dead, 20)
    age(other, 20)
    with files.replacing(path) as file:
        (live,) = [each for each in tmp_path.iterdir() if each not in (dead, young, other)]
        age(live, 20)
        files.sweep(path)
        assert not dead.exists()
        assert all(each.exists() for each in (live, young, other))
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    age(young, 4000)
    files.sweep(path)
    assert sorted(os.listdir(tmp_path)) == [other.name, path.name]
