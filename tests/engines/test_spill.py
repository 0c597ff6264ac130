"""Scattered rows are divided among files, brought together by list, and nothing is left behind."""

import errno
import os

import numpy as np
import pyarrow as pa
import pytest

from equirank import DataError
from equirank.engines import spill
from equirank.engines.spill import Spill, n_partitions
from equirank.engines.whole_lists import whole_lists


def rows(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    return pa.record_batch({"q0": rng.integers(0, 37, n), "score": np.arange(float(n))})


def keys(batch):
    return batch.column("q0").to_numpy().astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


@pytest.mark.parametrize("n_parts", [1, 5])
@pytest.mark.parametrize("at_once", [64, 1 << 19])
def test_every_list_is_whole_in_one_file(tmp_path, monkeypatch, n_parts, at_once):
    monkeypatch.setattr(spill, "ROWS", at_once)
    given = rows()
    with Spill(n_parts, keys, str(tmp_path)) as files:
        files.write(given.slice(at, 100) for at in range(0, 1000, 100))
        assert os.listdir(tmp_path) == []  # the files have no name
        found = {}
        for part in files.parts():
            for block in whole_lists([part], rows=10):
                for begin, end in zip(block.offsets, block.offsets[1:], strict=False):
                    label = block.rows["q0"][int(begin)].as_py()
                    assert label not in found
                    found[label] = block.rows["score"].to_numpy()[begin:end].tolist()
    label, score = given["q0"].to_numpy(), given["score"].to_numpy()
    assert found == {q: score[label == q].tolist() for q in np.unique(label).tolist()}
    assert files.n_rows == 1000
    assert files.n_bytes == 16 * 1000


def test_a_full_disk_is_an_error_with_the_bytes_needed(tmp_path, monkeypatch):
    class Full:
        def __init__(self, **_):
            self.written = 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.gone = True

        closed = False

        def write(self, data):
            self.written += len(data)
            if self.written > 3000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return len(data)

        def flush(self):
            pass

    monkeypatch.setattr(spill.tempfile, "TemporaryFile", Full)
    monkeypatch.setattr(spill, "ROWS", 64)
    with (
        pytest.raises(DataError, match=r"needs about 16,000 bytes, and .* TMPDIR"),
        Spill(1, keys, str(tmp_path)) as files,
    ):
        files.write((rows().slice(at, 100) for at in range(0, 1000, 100)), 1000)


def test_a_disk_that_is_too_small_is_noticed_before_writing(tmp_path, monkeypatch):
    monkeypatch.setattr(spill.shutil, "disk_usage", lambda _: type("usage", (), {"free": 12_345})())
    with (
        pytest.raises(DataError, match=r"needs about 16,000 bytes, and .* has 12,345 free"),
        Spill(1, keys, str(tmp_path)) as files,
    ):
        files.write([rows()], 1000)


def test_the_number_of_files_follows_the_memory():
    assert n_partitions(1000, 20, 1 << 30) == 1
    assert n_partitions(10**9, 20, 1 << 30) == 150  # ceil(2 * 2e10 / 2**28)
    assert n_partitions(10**12, 20, 1 << 30) == spill.MOST_FILES
