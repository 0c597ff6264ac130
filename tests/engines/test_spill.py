"""Scattered rows are divided among files, brought together by list, and nothing is left behind."""

import errno
import os

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from equirank import DataError, list_sums
from equirank.engines import log_sums, spill
from equirank.engines.spill import Spill, n_partitions
from equirank.engines.whole_lists import whole_lists

MEMORY = 1 << 30


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
    with Spill(MEMORY, keys, str(tmp_path), n_parts) as files:
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


class Full:
    """A file on a disk that has become full."""

    closed, gone = False, False

    def __init__(self, **_):
        self.written = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gone = True

    def write(self, data):
        self.written += len(data)
        if self.written > 3000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(data)

    def flush(self):
        pass


@pytest.mark.parametrize("while_sorting", [False, True])
def test_a_full_disk_is_an_error_with_the_bytes_needed(tmp_path, monkeypatch, while_sorting):
    monkeypatch.setattr(spill, "ROWS", 64)
    full, given = Full(), [rows().slice(at, 100) for at in range(0, 1000, 100)]
    with Spill(MEMORY, keys, str(tmp_path)) as files:
        if while_sorting:
            files.write(given, 1000)
        monkeypatch.setattr(spill.tempfile, "TemporaryFile", lambda dir: full)
        with pytest.raises(DataError, match=r"needs about 16,000 bytes, and .* TMPDIR"):
            list(files.parts()) if while_sorting else files.write(given, 1000)
    assert full.gone


def test_a_disk_that_is_too_small_is_noticed_before_writing(tmp_path, monkeypatch):
    monkeypatch.setattr(spill.shutil, "disk_usage", lambda _: type("usage", (), {"free": 12_345})())
    with (
        pytest.raises(DataError, match=r"needs about 16,000 bytes, and .* has 12,345 free"),
        Spill(MEMORY, keys, str(tmp_path)) as files,
    ):
        files.write([rows()], 1000)


def test_the_number_of_files_follows_the_memory():
    assert n_partitions(1000, 20, 1 << 30) == 1
    assert n_partitions(10**9, 20, 1 << 30) == 150  # ceil(2 * 2e10 / 2**28)
    assert n_partitions(10**12, 20, 1 << 30) == spill.MOST_FILES
    assert n_partitions(None, 20, 1 << 30) == spill.MOST_FILES // 2


#: Least memory, and what each row of `wide_log` takes in labels of lists and people.
LITTLE, WIDE = 16_000_000, 300


def wide_log(path, n=60_000, order=None, **more):
    """Write a log whose lists, and people if they are given, have long texts as labels."""
    columns = {"list": np.arange(n) // 20, **more}
    table = {name: pa.array([f"{v:0{WIDE}d}" for v in values]) for name, values in columns.items()}
    rng = np.random.default_rng(0)
    table |= {"score": rng.normal(size=n), "sex": pa.array(rng.choice(["f", "m"], n))}
    rows = pa.table(table) if order is None else pa.table(table).take(pa.array(order))
    pa.parquet.write_table(rows, path, row_group_size=30_000)
    return path


def largest(monkeypatch):
    """Watch the partitions that are sorted, and the blocks that are measured."""
    parts, blocks = [], []
    in_order, measured = spill.sorted_rows, log_sums.LogMeasure.sums
    monkeypatch.setattr(
        spill, "sorted_rows", lambda rows: [parts.append(rows.nbytes), in_order(rows)][1]
    )
    monkeypatch.setattr(
        log_sums.LogMeasure,
        "sums",
        lambda self, block, *given: [blocks.append(block.n_rows), measured(self, block, *given)][1],
    )
    return parts, blocks


COLUMNS = {"query": "list", "score": "score", "sensitive": "sex", "memory": LITTLE, "n_jobs": 1}


@pytest.mark.slow
def test_partitions_of_long_texts_fit_the_memory(tmp_path, monkeypatch):
    parts, blocks = largest(monkeypatch)
    order = np.random.default_rng(1).permutation(60_000)
    sums = list_sums(wide_log(tmp_path / "log.parquet", order=order), **COLUMNS)
    assert (sums.n_rows, sums.n_lists) == (60_000, 3_000)
    assert sum(parts) == pytest.approx(60_000 * (WIDE + 20), rel=0.01)
    assert len(parts) >= 60_000 * WIDE / (LITTLE / 8)
    assert max(parts) < LITTLE / 4
    assert max(blocks) * 2 * (log_sums.ROW_BYTES + 2 * WIDE) < 1.1 * LITTLE


@pytest.mark.gate
def test_partitions_of_two_logs_with_long_ids_fit_the_memory(tmp_path, monkeypatch):
    parts, _ = largest(monkeypatch)
    paths = [
        wide_log(tmp_path / f"{side}.parquet", 30_000, person=np.arange(30_000)) for side in "ab"
    ]
    sums = list_sums(paths[0], against=paths[1], id="person", **COLUMNS)
    assert sums.sums["against"].tolist() == [30_000, 1_500, 1_500]
    assert sum(parts) == pytest.approx(60_000 * (2 * WIDE + 29), rel=0.01)
    assert max(parts) < LITTLE / 4


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["stream", "duckdb"])
def test_blocks_of_sorted_lists_with_long_labels_are_small(tmp_path, monkeypatch, engine):
    parts, blocks = largest(monkeypatch)
    path = wide_log(tmp_path / "log.parquet")
    source = duckdb.connect().read_parquet(str(path)) if engine == "duckdb" else path
    assert list_sums(source, **COLUMNS).n_lists == 3_000
    assert not parts
    assert sum(blocks) == 60_000
    assert max(blocks) * 2 * (log_sums.ROW_BYTES + 2 * WIDE) < 1.1 * LITTLE


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_a_file_that_is_too_large_is_divided_again_except_for_a_list(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(spill, "ROWS", 64)
    label = np.random.default_rng(0).integers(0, 1 if whole else 500, 20_000)
    sizes = np.where(np.arange(20_000) < 100, 1, 1_000)  # the first rows are short
    text = pa.array(["x" * size for size in sizes], pa.large_string())
    given = pa.record_batch({"q0": label, "text": text, "row": np.arange(20_000)})
    sorted_parts, _ = largest(monkeypatch)
    with Spill(LITTLE, keys, str(tmp_path)) as files:
        files.write((given.slice(at, 50) for at in range(0, 20_000, 50)), 150_000)
        for _ in range(3):  # every pass has the same rows
            found = [(part.nbytes, part["q0"].to_pylist(), part["row"]) for part in files.parts()]
            assert sorted(row.as_py() for *_, rows in found for row in rows) == list(range(20_000))
            lists = [set(labels) for _, labels, _ in found]
            assert sum(map(len, lists)) == len(set(label.tolist()))
            if not whole:
                assert len(found) == 2 * 6  # two files, each divided into six
                assert max(n_bytes for n_bytes, *_ in found) < LITTLE / 4
            assert len(sorted_parts) == len(found)  # in the first pass alone
    assert os.listdir(tmp_path) == []
