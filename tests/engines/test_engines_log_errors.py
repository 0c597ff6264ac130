"""Bad logs end in one clear error, and leave nothing behind."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equirank import DataError, list_sums
from equirank.engines import dask_frames, log_sums
from equirank.engines.sources import memory_bytes

COLUMNS = {"query": "qid", "score": "score", "relevance": "y", "sensitive": "sex"}


def log(n=40):
    return pd.DataFrame(
        {
            "qid": np.arange(n) // 4,
            "score": np.arange(n) % 7 / 2,
            "y": np.arange(n) % 3,
            "sex": np.where(np.arange(n) % 2, "f", "m"),
        }
    )


def write(folder, *frames):
    for at, frame in enumerate(frames):
        frame.to_parquet(folder / f"part-{at}.parquet", row_group_size=10, index=False)
    return folder


BAD = {
    "score": (np.nan, "score ('score') must not be missing"),
    "score ": (np.inf, "score ('score') must be a finite number, got inf"),
    "y": (-1, "relevance ('y') must be a finite number >= 0, got -1"),
    "y ": (np.nan, "relevance ('y') must not be missing; missing_relevance=\"irrelevant\""),
    "qid": (np.nan, "query ('qid') must not be missing"),
    "qid ": (2.5, "query ('qid') must be a whole number or text, got 2.5"),
}


@pytest.mark.parametrize("column", BAD)
def test_the_first_bad_row_is_named_with_file_and_row_group(tmp_path, column):
    value, words = BAD[column]
    good, bad = log(), log().assign(qid=lambda f: f["qid"] + 10)
    bad[column.strip()] = bad[column.strip()].astype(float)
    good[column.strip()] = good[column.strip()].astype(float)
    bad.loc[[13, 17], column.strip()] = value
    where = f"part-1.parquet, row group 1, row 3: {words}"
    with pytest.raises(DataError, match=re.escape(where)):
        list_sums(write(tmp_path, good, bad), **COLUMNS)


def test_columns_that_hold_no_numbers_or_labels(tmp_path):
    with pytest.raises(DataError, match=r"row group 0, row 0: score \('sex'\) must be a number"):
        list_sums(
            write(tmp_path, log()),
            **COLUMNS | {"score": "sex", "relevance": None, "sensitive": "y"},
        )
    nested = pa.table({"qid": [[1], [2]], "score": [1.0, 2.0], "sex": ["f", "m"]})
    pq.write_table(nested, tmp_path / "part-0.parquet")
    with pytest.raises(DataError, match="must be a whole number or text, got the type list"):
        list_sums(tmp_path, query="qid", score="score", sensitive="sex")
    ids = log().assign(sex=[f"n{at}" for at in range(40)])
    with pytest.raises(DataError, match=r"'sex'.* must be a category, got 40 different values"):
        list_sums(write(tmp_path, ids), **COLUMNS)


@pytest.mark.parametrize(
    ("metric", "need"),
    [("NDCG@5", "relevance"), ("CSDCG", "cost"), ("ExposureGap", "sensitive"),
     ("AlphaNDCG", "features"), ("GroupBenefit", "score")],
)  # fmt: skip
def test_columns_that_metrics_need_are_missed_before_rows_are_read(
    tmp_path, monkeypatch, metric, need
):
    given = COLUMNS | {"metrics": metric, need: None}
    if need == "score":
        given |= {"score": False, "position": "position"}
    frame = log().assign(position=np.arange(40) % 4 + 1)
    monkeypatch.setattr("equirank.engines.sources.sum_stream", None)
    with pytest.raises(DataError, match=f"{need} must name a column, which {metric} needs"):
        list_sums(write(tmp_path, frame), **given)


def test_rows_are_needed_but_not_in_every_file(tmp_path):
    empty = log()[:0]
    with pytest.raises(DataError, match="must contain at least one row, got none"):
        list_sums(write(tmp_path, empty.astype({"sex": "string"})), **COLUMNS)
    some = log().astype({"sex": "string"})
    found = list_sums(write(tmp_path, empty.astype({"sex": "string"}), some), **COLUMNS)
    assert found.n_rows == 40


def test_a_list_that_is_too_long(tmp_path):
    frame = log().assign(qid=np.repeat([1, 2, 3], [10, 25, 5]))
    with pytest.raises(DataError, match=r"at most 20 rows .* in list 2;"):
        list_sums(write(tmp_path, frame), **COLUMNS, max_list_rows=20)


@pytest.mark.parametrize("scattered", [False, True])
def test_a_file_that_changes_is_noticed(tmp_path, monkeypatch, scattered):
    frame = log().sample(frac=1, random_state=0) if scattered else log()
    write(tmp_path, frame)
    checked = log_sums.LogColumns.checked

    def changed(self, piece, **given):
        if not given.get("survey"):
            write(tmp_path, frame)  # again, as a job that rewrites its output does
        return checked(self, piece, **given)

    monkeypatch.setattr(log_sums.LogColumns, "checked", changed)
    with pytest.raises(DataError, match=r"part-0\.parquet: must not change while it is read"):
        list_sums(tmp_path, **COLUMNS)


def test_a_label_that_the_survey_did_not_see(tmp_path, monkeypatch):
    write(tmp_path, log())
    measure = log_sums.LogOptions.measure

    def changed(self, *given):
        write(tmp_path, log().assign(sex=["x", *log()["sex"][1:]]))
        return measure(self, *given)

    monkeypatch.setattr(log_sums.LogOptions, "measure", changed)
    with pytest.raises(DataError, match=r"row group 0, row 0: sensitive \('sex'\) must be one of"):
        list_sums(tmp_path, **COLUMNS)


def test_an_interrupt_leaves_nothing_behind(tmp_path, monkeypatch):
    folder = tmp_path / "log"
    folder.mkdir()
    write(folder, log().sample(frac=1, random_state=0))
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def interrupted(self, block, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr(log_sums.LogMeasure, "sums", interrupted)
    for n_jobs in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            list_sums(folder, **COLUMNS, n_jobs=n_jobs)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_reading_ahead_keeps_order_and_errors():
    """The next piece is read while one is used, and no further."""
    read = []

    def pieces(n):
        for at in range(n):
            read.append(at)
            yield at
        raise DataError("piece 5 is bad")

    found = log_sums.read_ahead(pieces(5))
    assert next(found) == 0
    assert next(found) == 1
    assert max(read) <= 2
    with pytest.raises(DataError, match="piece 5 is bad"):
        list(found)
    assert read == [0, 1, 2, 3, 4]


def test_a_torn_list_is_noticed(monkeypatch):
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    parts = dd.from_pandas(log(42).assign(qid=np.arange(42) // 4), npartitions=4, sort=False)
    monkeypatch.setattr(dd.DataFrame, "shuffle", lambda self, **_: self)
    words = r"42 rows in 11 lists that the survey found, and 42 rows in 13 lists were measured"
    with dask.config.set(scheduler="synchronous"), pytest.raises(DataError, match=words):
        list_sums(parts, **COLUMNS)


@pytest.mark.slow
def test_partitions_of_dask_may_be_empty_and_errors_name_them():
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    parts = dd.from_pandas(log(), npartitions=4, sort=False)
    with dask.config.set(scheduler="synchronous"):
        some = parts[(parts["qid"] < 3) | (parts["qid"] > 6)]
        assert list_sums(some, **COLUMNS).n_lists == 6
        with pytest.raises(DataError, match="must contain at least one row"):
            list_sums(parts[parts["qid"] > 99], **COLUMNS)
        bad = dd.from_pandas(log().assign(qid=[*range(39), 2.5]), npartitions=4, sort=False)
        with pytest.raises(DataError, match=r"partition 3, row 9: query \('qid'\)"):
            list_sums(bad, **COLUMNS)
    assert dask_frames.BRANCHES > 1


def test_paths(tmp_path):
    with pytest.raises(DataError, match="must match at least one file"):
        list_sums(tmp_path / "*.parquet", **COLUMNS)
    with pytest.raises(FileNotFoundError):
        list_sums(tmp_path / "no.parquet", **COLUMNS)
    with pytest.raises(DataError, match=r"must contain files named \*\.parquet, got none"):
        list_sums(tmp_path, **COLUMNS)
    path = write(tmp_path, log()) / "part-0.parquet"
    with pytest.raises(DataError, match="each file must be named once, got it twice"):
        list_sums([path, path], **COLUMNS)
    (tmp_path / "more.csv").write_text("qid,score,y,sex\n1,2,0,f\n1,1,0,m\n")
    with pytest.raises(DataError, match=r"more\.csv: several files must all be Parquet or Arrow"):
        list_sums([path, tmp_path / "more.csv"], **COLUMNS)
    assert list_sums(tmp_path / "more.csv", **COLUMNS).n_rows == 2
    (tmp_path / "part-1.parquet").write_bytes(b"no Parquet at all")
    with pytest.raises(DataError, match=r"part-1\.parquet: must be a Parquet file"):
        list_sums(tmp_path, **COLUMNS)
    (tmp_path / "x.arrow").write_bytes(b"no Arrow at all")
    with pytest.raises(DataError, match=r"x\.arrow: must be an Arrow file or stream"):
        list_sums(tmp_path / "x.arrow", **COLUMNS)


def test_files_must_have_the_same_columns(tmp_path):
    other = log().assign(qid=lambda f: f["qid"] + 10, score=[f"s{at}" for at in range(40)])
    with pytest.raises(DataError, match=r"part-1\.parquet: column 'score' must have one type"):
        list_sums(write(tmp_path, log(), other), **COLUMNS)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"table": "t"}, "table must be omitted for these data; it is for a database of DuckDB"),
        ({"client": 1}, "client must be omitted for these data; it is for a frame of Dask"),
        ({"memory": "1GB"}, "memory must be omitted for these data; it is for files and tables"),
        ({"unknown": ["?"]}, "unknown must be omitted for data that no file contains"),
        ({"memory": "1 B"}, "memory must be at least 16 MB"),
        ({"max_list_rows": 0}, "max_list_rows of list_sums must be"),
        ({"n_jobs": 0}, "n_jobs of list_sums must be"),
        ({"like": 3}, "like must be a ListSums, got int"),
        ({"ties": "random"}, "ties must be one of"),
        ({"sensitive": None}, "sensitive must name at least one attribute"),
        ({"score": False}, "score or position must be given"),
    ],
)
def test_arguments(given, words):
    with pytest.raises(DataError, match=words):
        list_sums(log(), **COLUMNS | given)


def test_the_plan_of_earlier_sums_is_taken_over_or_refused(tmp_path):
    first = list_sums(log(), **COLUMNS, k=3)
    later = log().assign(qid=lambda f: f["qid"] + 10, sex=["x", *log()["sex"][1:]])
    found = list_sums(write(tmp_path, later), **COLUMNS, like=first)
    assert found.plan.ks == (3,)
    both = first + found
    assert both.n_lists == 20
    assert both.plan.groups["sex"] == ("f", "m", "x")
    with pytest.raises(DataError, match="k must be omitted beside like, whose plan is used"):
        list_sums(log(), **COLUMNS, like=first, k=2)
    with pytest.raises(DataError, match="relevance differs: True and False"):
        list_sums(tmp_path, **COLUMNS | {"relevance": None}, like=first)
    with pytest.raises(DataError, match="same file"):
        found + list_sums(tmp_path, **COLUMNS, like=first)


def test_memory_in_words():
    assert memory_bytes("1.5GB") == 1_500_000_000
    assert memory_bytes("64 MiB") == 64 << 20
    for bad in ("much", "5", True, -1, "1TB"):
        with pytest.raises(DataError, match="memory must be at least 16 MB"):
            memory_bytes(bad)
