"""Every engine returns the same sums of one data set, however its rows are divided."""

import os
import shutil
import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import equirank
from equirank import DataError, as_ranking_data
from equirank.core import list_samples, list_sums
from equirank.core.list_keys import list_keys
from equirank.core.list_sums import BUCKETED
from equirank.engines import log_sums, spill
from equirank.engines.log_survey import MedianSearch

COLUMNS = {"query": "qid", "score": "score", "relevance": "y", "sensitive": ["sex", "race"]}


def people(n_lists=70, seed=1, text=False):
    """Lists of 2 to 40 with ties, unknown labels and a rare group."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 41, n_lists)
    n = int(sizes.sum())
    label = np.repeat(rng.permutation(10 * n_lists)[:n_lists] - 5, sizes)
    frame = pd.DataFrame(
        {
            "qid": [f"job {each}" for each in label] if text else label,
            "score": np.round(rng.normal(size=n), 1),
            "y": rng.integers(0, 4, n),
            "sex": rng.choice(["f", "m", None], n, p=[0.4, 0.5, 0.1]),
            "race": rng.choice(["a", "b", "c"], n, p=[0.6, 0.35, 0.05]),
        }
    )
    frame.loc[[5, 77], "race"] = "d"
    # another score, by which a third of the people have other positions
    moved = rng.normal(size=n) * (rng.random(n) < 0.3)
    frame["old"] = np.round(frame["score"] + moved, 1)
    return frame


def whole(frame):
    data = as_ranking_data(
        None,
        frame["y"],
        qid=frame["qid"],
        score=frame["score"],
        sensitive_features=frame[["sex", "race"]],
        missing_sensitive="unknown",
    )
    return equirank.list_sums(data)


def assert_same(found, wanted):
    assert (found.n_rows, found.n_lists) == (wanted.n_rows, wanted.n_lists)
    assert found.plan.to_json() == wanted.plan.to_json()
    assert found.people == wanted.people
    np.testing.assert_array_equal(found.lengths, wanted.lengths)
    for name, values in wanted.sums.items():
        # Of a column's largest bucket; totals such as covariances may cancel to 0.
        largest = np.abs(values).max(axis=0) if name in BUCKETED else np.abs(values).max(initial=0)
        assert (np.abs(found.sums[name] - values) <= 1e-12 * largest + 1e-300).all(), name
    assert found.views.keys() == wanted.views.keys()
    for view, sums in wanted.views.items():
        for name, values in sums.sums.items():
            apart = np.abs(found.views[view].sums[name] - values)
            assert (apart <= 1e-11 * np.abs(values).max(initial=0) + 1e-300).all(), (view, name)
    for name in ("kept", "rare", "moved"):
        one, other = getattr(found, name), getattr(wanted, name)
        assert one.labels.tolist() == other.labels.tolist()
        for column in ("keys", "offsets", "codes"):
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
        for column, values in other.columns.items():
            np.testing.assert_array_equal(one.columns[column], values)
    for one, other in zip(found.extremes, wanted.extremes, strict=True):
        np.testing.assert_array_equal(one.keys, other.keys)
        assert one.labels.tolist() == other.labels.tolist()
        np.testing.assert_allclose(one.differences, other.differences, rtol=1e-12)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of 500 rows, as if memory were small."""
    monkeypatch.setattr(log_sums, "BLOCK_ROWS", 500)


def write(frame, folder, n_files=1):
    folder.mkdir(exist_ok=True)
    for at, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[rows].to_parquet(folder / f"part-{at}.parquet", row_group_size=700)
    return folder


FRAME = people()
SORTED = FRAME.sort_values("qid", kind="stable")
SHUFFLED = FRAME.sample(frac=1.0, random_state=0)


@pytest.fixture(scope="module")
def wanted():
    return whole(FRAME)


def test_seven_parts_of_shuffled_rows_merged_backwards(wanted):
    parts = list_keys(SHUFFLED["qid"].to_numpy()) % np.uint64(7)
    sums = [
        equirank.list_sums(SHUFFLED[parts == part], **COLUMNS, like=wanted)
        for part in reversed(range(7))
    ]
    assert_same(sum(sums[1:], sums[0]), wanted)


@pytest.mark.gate
def test_audits_of_sums_do_not_depend_on_the_order_of_rows(wanted):
    shuffled, few = equirank.list_sums(SHUFFLED, **COLUMNS), {"n_boot": 20, "n_permutations": 19}
    assert equirank.audit_sums(shuffled, **few) == equirank.audit_sums(wanted, **few)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [SORTED, SORTED[::-1]], ids=["rising", "falling"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_stream_of_sorted_files(tmp_path, wanted, frame, n_jobs, monkeypatch):
    monkeypatch.setattr(log_sums, "Spill", None)
    folder = write(frame, tmp_path / "log", 3)
    assert_same(equirank.list_sums(folder, **COLUMNS, n_jobs=n_jobs), wanted)
    assert_same(equirank.list_sums(f"{folder}/*.parquet", **COLUMNS), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_keep_no_list_that_the_sum_would_drop(tmp_path, n_jobs, monkeypatch):
    for module in (log_sums, list_samples):
        monkeypatch.setattr(module, "MOST_LISTS", 12)
    monkeypatch.setattr(list_sums, "JOINED_AT_ONCE", 3)
    monkeypatch.setattr(log_sums, "BLOCK_ROWS", 100)
    measured, kept = log_sums.LogMeasure.sums, []

    def watched(self, *given):
        kept.append(measured(self, *given))
        return kept[-1]

    monkeypatch.setattr(log_sums.LogMeasure, "sums", watched)
    found = equirank.list_sums(write(SORTED, tmp_path / "log"), **COLUMNS, n_jobs=n_jobs)
    assert_same(found, whole(FRAME))
    later = kept[len(kept) // 2 :]
    assert len(later) > 4
    assert max(part.n_lists for part in kept) < 12  # so that a part alone would keep all of them
    assert sum(part.kept.n_lists for part in later) < 0.5 * sum(part.n_lists for part in later)


@pytest.mark.slow
@pytest.mark.parametrize("text", [False, True])
def test_scattered_rows_are_spilled(tmp_path, text, monkeypatch):
    monkeypatch.setattr(spill, "n_partitions", lambda *_: 5)
    frame = people(text=text)
    folder = write(frame.sample(frac=1.0, random_state=1), tmp_path / "log", 2)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = equirank.list_sums(folder, **COLUMNS)
    assert_same(found, whole(frame))
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert len(found.sources) == 2


@pytest.mark.gate
@pytest.mark.parametrize("kind", ["large_string", "string_view", "dictionary"])
def test_texts_of_every_type(tmp_path, kind):
    frame = people(text=True)
    table = pa.Table.from_pandas(frame.sample(frac=1.0, random_state=1), preserve_index=False)
    for name in ("qid", "sex", "race"):
        column = table[name].dictionary_encode() if kind == "dictionary" else table[name].cast(kind)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    pyarrow.parquet.write_table(table, tmp_path / "log.parquet", row_group_size=700)
    assert_same(equirank.list_sums(tmp_path / "log.parquet", **COLUMNS), whole(frame))
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(300))
    assert_same(equirank.list_sums(reader, **COLUMNS), whole(frame))


@pytest.mark.slow
def test_arrow_files_data_sets_and_readers(tmp_path, wanted):
    table = pa.Table.from_pandas(SORTED, preserve_index=False)
    with pa.ipc.new_file(str(tmp_path / "log.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    assert_same(equirank.list_sums(tmp_path / "log.arrow", **COLUMNS), wanted)
    with pa.ipc.new_stream(str(tmp_path / "stream.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    assert_same(equirank.list_sums(tmp_path / "stream.arrow", **COLUMNS), wanted)
    dataset = pyarrow.dataset.dataset(tmp_path / "log.arrow", format="arrow")
    assert_same(equirank.list_sums(dataset, **COLUMNS), wanted)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(300))
    assert_same(equirank.list_sums(reader, **COLUMNS), wanted)


def test_frames_in_memory(wanted):
    assert_same(equirank.list_sums(SHUFFLED, **COLUMNS), wanted)


@pytest.mark.slow
def test_lists_named_by_two_columns(tmp_path):
    frame = SHUFFLED.assign(user=SHUFFLED["qid"] // 7, day=[f"d{q % 7}" for q in SHUFFLED["qid"]])
    folder = write(frame, tmp_path / "log", 2)
    found = equirank.list_sums(folder, **COLUMNS | {"query": ["user", "day"]})
    wanted = whole(FRAME)
    assert found.n_lists == wanted.n_lists
    for name in ("people", "n_rows"):
        assert getattr(found, name) == getattr(wanted, name)
    np.testing.assert_allclose(
        found.sums["totals"].sum(axis=0), wanted.sums["totals"].sum(axis=0), rtol=1e-12
    )
    assert found.kept.labels[0] in set(zip(frame["user"], frame["day"], strict=True))


@pytest.mark.slow
def test_duckdb(tmp_path, wanted):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(str(tmp_path / "log.duckdb"))
    connection.register("frame", SHUFFLED)
    connection.sql("CREATE TABLE impressions AS SELECT * FROM frame")
    assert_same(equirank.list_sums(connection.table("impressions"), **COLUMNS), wanted)
    query = connection.sql("SELECT * FROM impressions WHERE score > -100")
    assert_same(equirank.list_sums(query, **COLUMNS), wanted)
    connection.close()
    path = tmp_path / "log.duckdb"
    assert_same(equirank.list_sums(path, **COLUMNS, memory="200MB"), wanted)
    assert_same(equirank.list_sums(path, table="impressions", **COLUMNS), wanted)
    text = "SELECT * FROM impressions"
    assert_same(equirank.list_sums(path, table=text, **COLUMNS), wanted)
    with pytest.raises(DataError, match=r"table must be one of its tables \('impressions'\)"):
        equirank.list_sums(path, table="clicks", **COLUMNS)
    with pytest.raises(DataError, match="whose rows have no order"):
        equirank.list_sums(path, ties="stable", **COLUMNS)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["log.duckdb"]


#: Scores and a second ranking, beside positions.
MORE = {"scored": True, "against_score": "old", "metrics": "NDCG@5", "reference": "race=a"}


@pytest.fixture(scope="module")
def changed():
    return equirank.list_sums(FRAME, **COLUMNS, **MORE)


@pytest.mark.gate
def test_scores_and_changes_in_every_engine(tmp_path, changed, monkeypatch):
    assert changed.plan.median == np.median(FRAME["score"])
    assert changed.sums["moved"][1] > 40
    assert {view.values for view in changed.views} == {"", "score", "NDCG@5", "change"}
    given = COLUMNS | MORE
    assert_same(equirank.list_sums(SHUFFLED, **given), changed)
    assert_same(equirank.list_sums(write(SORTED, tmp_path / "a", 3), **given), changed)
    monkeypatch.setattr(spill, "n_partitions", lambda *_: 5)
    assert_same(equirank.list_sums(write(SHUFFLED, tmp_path / "b", 2), **given), changed)
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().from_df(SHUFFLED)
    assert_same(equirank.list_sums(relation, **given), changed)
    dask = pytest.importorskip("dask")
    frame = pytest.importorskip("dask.dataframe").from_pandas(SHUFFLED, npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        assert_same(equirank.list_sums(frame, **given), changed)
    half = np.isin(FRAME["qid"], FRAME["qid"].unique()[:30])
    parts = [FRAME[half], FRAME[~half]]
    days = [equirank.list_sums(day, **COLUMNS, against_score="old", like=changed) for day in parts]
    assert_same(days[1] + days[0], changed)


#: What an evaluation reads beside an audit: costs, features, and metrics by group.
METRICS = ['AWRF(by="sex")', 'RKL(by="race", protected="d")', "CostNDCG", "Consistency"]
METRICS += ["Precision@3", "ERR@5"]
EVALUATED = {"metrics": METRICS, "by": "sex", "control": "race", "cross": False}
EVALUATED |= {"cost": "cost", "features": ["old", "cost"]}


def costly(frame):
    # the largest grade is in the last list alone
    last = frame["qid"] == FRAME["qid"].max()
    return frame.assign(cost=1.0 + frame["old"].abs(), y=frame["y"] + 3 * last)


@pytest.mark.gate
def test_what_metrics_read_in_every_engine(tmp_path, monkeypatch):
    wanted = equirank.list_sums(costly(FRAME), **COLUMNS, **EVALUATED)
    assert wanted.plan.max_grade == 6
    assert wanted.complete
    assert wanted.kept.columns.keys() == {"score", "y", "cost", "feature old", "feature cost"}
    # the file has a group that most of its blocks lack
    given = COLUMNS | EVALUATED
    assert_same(equirank.list_sums(write(costly(SORTED), tmp_path / "a"), **given), wanted)
    monkeypatch.setattr(spill, "n_partitions", lambda *_: 5)
    assert_same(equirank.list_sums(write(costly(SHUFFLED), tmp_path / "b", 2), **given), wanted)
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().from_df(costly(SHUFFLED))
    assert_same(equirank.list_sums(relation, **given), wanted)
    dask = pytest.importorskip("dask")
    frame = pytest.importorskip("dask.dataframe").from_pandas(costly(SHUFFLED), npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        assert_same(equirank.list_sums(frame, **given), wanted)
    wanted.save(tmp_path / "sums")
    found = equirank.evaluate(equirank.ListSums.load(tmp_path / "sums"), METRICS, by="sex")
    rows = as_ranking_data(
        costly(FRAME)[["old", "cost"]], costly(FRAME)["y"], qid=FRAME["qid"], score=FRAME["score"],
        sensitive_features=FRAME[["sex", "race"]], missing_sensitive="unknown",
        cost=costly(FRAME)["cost"],
    )  # fmt: skip
    for name in METRICS:
        assert found[name] == pytest.approx(equirank.evaluate(rows, name, n_boot=0)[name])


@pytest.mark.slow
def test_sums_of_metrics_alone_in_every_engine(tmp_path):
    plain = {"query": "qid", "score": "score", "relevance": "y", "metrics": "ERR@5"}
    wanted = equirank.list_sums(FRAME, **plain)
    assert (wanted.plan.groups, wanted.people) == ({}, {(): len(FRAME)})
    assert_same(equirank.list_sums(write(SORTED, tmp_path / "a"), **plain), wanted)
    assert_same(equirank.list_sums(write(SHUFFLED, tmp_path / "b", 2), **plain), wanted)
    relation = pytest.importorskip("duckdb").connect().from_df(SHUFFLED)
    assert_same(equirank.list_sums(relation, **plain), wanted)
    dask = pytest.importorskip("dask")
    frame = pytest.importorskip("dask.dataframe").from_pandas(SHUFFLED, npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        assert_same(equirank.list_sums(frame, **plain), wanted)
    for source in (FRAME, tmp_path / "a"):
        with pytest.raises(DataError, match=r"sensitive must name at least one .* no metrics"):
            equirank.list_sums(source, **plain | {"metrics": None})
        with pytest.raises(DataError, match="cost must be omitted without a metric that reads it"):
            equirank.list_sums(source, **plain, cost="old")
    bad = write(costly(SORTED).assign(cost=0.0), tmp_path / "c")
    with pytest.raises(DataError, match=r"row 0: cost \('cost'\) must be a finite number > 0"):
        equirank.list_sums(bad, **plain | {"metrics": "CostNDCG", "cost": "cost"})


@pytest.mark.slow
def test_a_second_score_is_checked_and_belongs_to_a_plan(tmp_path, changed):
    bad = SORTED.assign(old=SORTED["old"].where(SORTED.index != 7))
    path = tmp_path / "bad.parquet"
    bad.to_parquet(path)
    with pytest.raises(DataError, match=r"against_score \('old'\) must not be missing"):
        equirank.list_sums(path, **COLUMNS, against_score="old")
    with pytest.raises(DataError, match="against_score must not be missing, got a blank in row"):
        equirank.list_sums(bad, **COLUMNS, against_score="old")
    with pytest.raises(DataError, match="against_score must be given beside like"):
        equirank.list_sums(FRAME, **COLUMNS, like=changed)
    with pytest.raises(DataError, match="against_score must be omitted beside like"):
        equirank.list_sums(FRAME, **COLUMNS, against_score="old", like=whole(FRAME))
    ranks = FRAME.assign(rank=FRAME.groupby("qid")["score"].rank(method="first"))
    with pytest.raises(DataError, match="scored must be False for data without scores"):
        equirank.list_sums(ranks, **COLUMNS | {"score": False, "position": "rank"}, scored=True)


@pytest.mark.parametrize("n", [1, 2, 5, 1000])
def test_the_median_is_exact(n):
    rng = np.random.default_rng(n)
    for values in (
        rng.normal(size=n), rng.integers(-3, 4, n) / 2.0, rng.normal(size=n) * 1e300,
        np.concatenate([np.zeros(n // 2), -np.zeros(n - n // 2)]), rng.random(n) * 1e-310,
    ):  # fmt: skip
        search = MedianSearch(n)
        while not search.done:
            search.narrow(sum(search.count(part) for part in np.array_split(values, 3)))
        assert search.median == np.median(values)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 4])
def test_dask(wanted, n):
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    parts = dd.from_pandas(SHUFFLED.reset_index(drop=True), npartitions=n, sort=False)
    with dask.config.set(scheduler="synchronous"):
        assert_same(equirank.list_sums(parts, **COLUMNS), wanted)


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "3")
        session = builder.config("spark.log.level", "ERROR").getOrCreate()
        yield session
        session.stop()


@pytest.mark.gate
@pytest.mark.filterwarnings("ignore")
def test_spark(spark, tmp_path, wanted, changed):
    frame = spark.read.parquet(str(write(SHUFFLED, tmp_path / "log", 2)))
    assert_same(equirank.list_sums(frame, **COLUMNS), wanted)
    assert_same(equirank.list_sums(frame, **COLUMNS, **MORE), changed)
    split = {"metrics": "ERR@5", "by": "sex", "control": "race"}
    alone = equirank.list_sums(FRAME, **COLUMNS, **split)
    assert_same(equirank.list_sums(frame, **COLUMNS, **split), alone)
    new = SHUFFLED.assign(person=SHUFFLED.groupby("qid").cumcount())
    old = new.assign(score=new["old"])[new["qid"] != new["qid"].iloc[0]]
    frames = [
        spark.read.parquet(str(write(each, tmp_path / name, 2)))
        for name, each in (("new", new), ("again", new.assign(score=new["old"])), ("old", old))
    ]
    for other, rows in zip(frames[1:], (new.assign(score=new["old"]), old), strict=True):
        found = equirank.list_sums(frames[0], against=other, id="person", **COLUMNS)
        wanted = equirank.list_sums(new, against=rows, id="person", **COLUMNS)
        assert_same(found, wanted)
        assert found.refused == wanted.refused
