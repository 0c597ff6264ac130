"""Files that appear complete or not at all."""

import errno
import gzip
import io
import os
import pickle
import time

import numpy as np
import pytest

from equirank import DataError
from equirank.io import files, read_csv, read_file, read_letor, read_parquet
from equirank.io.files import FileInMemory


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
    age(young, -1000)  # however long the test takes
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


PEOPLE = b"list;sex;score\n1;f;0,5\n1;m;1,5\n2;f;2,5\n"


@pytest.mark.parametrize("packed", [False, True])
def test_open_files_are_read_as_paths_are(tmp_path, packed):
    content = gzip.compress(PEOPLE, mtime=0) if packed else PEOPLE
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    roles = {"query": "list", "sensitive": "sex"}
    expected = read_csv(path, **roles)
    with open(path, "rb") as stream:
        given = [stream, io.BytesIO(content), FileInMemory("people.csv", content)]
        for one in given:
            found = read_csv(one, **roles)
            assert np.array_equal(found.score, expected.score)
            assert found.source.sha256 == expected.source.sha256
    with open(path, "rb") as stream:
        assert read_file(stream, **roles).source == expected.source
    assert read_csv(io.BytesIO(content), **roles).source.name == "stream"
    again = pickle.loads(pickle.dumps(FileInMemory("people.csv", content)))
    assert (again, again.content) == ("people.csv", content)


def test_parquet_and_workbooks_are_read_from_memory(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "people.parquet"
    parquet.write_table(pyarrow.table({"score": [2.0, 1.0], "sex": ["f", "m"]}), path)
    expected = read_parquet(path, sensitive="sex")
    found = read_parquet(io.BytesIO(path.read_bytes()), sensitive="sex")
    assert np.array_equal(found.score, expected.score)
    assert found.source.sha256 == expected.source.sha256
    memory = FileInMemory("people.parquet", path.read_bytes())
    assert read_file(memory, sensitive="sex").source == expected.source


def test_what_is_no_file_of_bytes_is_refused(tmp_path):
    for bad in (io.StringIO("a,b\n1,2\n"), 3):
        with pytest.raises(DataError, match="path must be a path or an open file of bytes"):
            read_csv(bad)
    # No folder, so no file beside it is looked for.
    (tmp_path / "x.letor.query").write_bytes(b"2\n")
    lines = b"1 1:2\n0 1:3\n"
    name = str(tmp_path / "x.letor")
    assert read_letor(FileInMemory(name, lines)).n_queries == 1
