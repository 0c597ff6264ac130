"""Lists compared with those of a second table: every engine, and the same as in memory."""

import dask
import dask.dataframe
import duckdb
import numpy as np
import pyarrow as pa
import pytest

import equirank
from equirank import DataError, as_ranking_data
from equirank.core.ranking import Ranking
from equirank.core.summed_lists import Before, sum_data
from equirank.core.sums_plan import SumsPlan, Survey
from equirank.engines import log_sums

from .test_engines import assert_same, people, write

COLUMNS = {"query": "qid", "score": "score", "relevance": "y", "sensitive": ["sex", "race"]}
WAYS = {"id": "person", "k": 5, "reference": "race=a"}


def tables(text=False, text_ids=False, n_lists=40):
    """The new and the old ranking of the same people, whose rows have other orders."""
    new = people(n_lists=n_lists, text=text).drop(columns="old")
    new["person"] = new.groupby("qid").cumcount() * 3 + 10**15
    if text_ids:
        new["person"] = [f"p{each}" for each in new["person"]]
    rng = np.random.default_rng(4)
    old = new.sample(frac=1.0, random_state=2)
    moved = rng.normal(size=len(old)) * (rng.random(len(old)) < 0.3)
    return new, old.assign(score=np.round(old["score"] + moved, 1))


NEW, OLD = tables()


def as_data(frame, **more):
    order = {"score": frame["score"]} if "position" not in more else {}
    return as_ranking_data(
        None, frame["y"], qid=frame["qid"], sensitive_features=frame[["sex", "race"]],
        ids=frame["person"], missing_sensitive="unknown", **order, **more,
    )  # fmt: skip


def slowly_paired(new, old):
    """Return the other ranking over the rows of the first, matched row by row; None if not all."""
    data, other = as_data(new), as_data(old).ranking()
    keys = [
        list(zip(each.qids[each.query_of_rows()].tolist(), each.ids.tolist(), strict=True))
        for each in (data, other.data)
    ]
    assert len(set(keys[1])) == len(keys[1])
    row = {key: at for at, key in enumerate(keys[1])}
    rows = [row.get(key, -1) for key in keys[0]]
    same = len(keys[0]) == len(keys[1]) and min(rows) >= 0
    same = same and all(
        (data.attribute(n).labels() == other.data.attribute(n).labels()[rows]).all()
        for n in data.sensitive
    )
    return data, other, Ranking(data, other.position[rows], other.last[rows]) if same else None


def wanted_sums(new, old):
    """Return the sums as an audit in memory makes them."""
    data, other, aligned = slowly_paired(new, old)
    plan = SumsPlan.of(Survey.of(data), k=5, reference="race=a", changed=aligned is not None)
    if aligned is None:
        before = Before.of(data, other, plan)
    else:
        before = Before.of(data, aligned, plan, aligned)
    return log_sums.in_canonical_order(sum_data(data, plan, before=before))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(log_sums, "BLOCK_ROWS", 500)
    monkeypatch.setattr(log_sums, "n_partitions", lambda *_: 4)


def in_files(new, old, folder, **more):
    paths = [write(each, folder / name, 2) for name, each in (("new", new), ("old", old))]
    return equirank.list_sums(paths[0], against=f"{paths[1]}/*.parquet", **COLUMNS | WAYS | more)


def by_engine(new, old, folder):
    """Yield the sums of two tables by each engine."""
    given = COLUMNS | WAYS
    yield equirank.list_sums(new, against=old, **given)
    yield in_files(new, old, folder)
    both = [pa.Table.from_pandas(each, preserve_index=False) for each in (new, old)]
    readers = [pa.RecordBatchReader.from_batches(t.schema, t.to_batches(300)) for t in both]
    yield equirank.list_sums(readers[0], against=readers[1], **given, n_jobs=2)
    with duckdb.connect() as connection:
        relations = [connection.from_df(each) for each in (new, old)]
        yield equirank.list_sums(relations[0], against=relations[1], **given)
    frames = [
        dask.dataframe.from_pandas(each, npartitions=n, sort=False)
        for n, each in ((3, new), (2, old))
    ]
    with dask.config.set(scheduler="synchronous"):
        yield equirank.list_sums(frames[0], against=frames[1], **given)


@pytest.mark.parametrize("text", [False, True])
def test_every_engine_matches_people_by_list_and_id(tmp_path, text):
    new, old = tables(text, text)
    wanted = wanted_sums(new, old)
    assert wanted.sums["moved"][1] > 30
    assert wanted.sums["against"].tolist() == [len(old), 40, 40]
    for found in by_engine(new, old, tmp_path):
        assert found.refused == ""
        assert_same(found, wanted)


def without(frame, lists):
    return frame[~frame["qid"].isin(NEW["qid"].unique()[lists])]


def relabelled(frame, column, value):
    return frame.assign(**{column: frame[column].where(frame.index != 7, value)})


LISTS, PEOPLE = "the two rankings have different lists", "the two rankings have different people"
LABELS = "the two rankings have different labels of {}"
#: The second table, the reason, and its lists that both have.
REFUSED = {
    "a list less": (without(OLD, [3]), LISTS, 39),
    "another person": (relabelled(OLD, "person", 8), PEOPLE, 40),
    "a person less": (OLD[OLD.index != 7], PEOPLE, 40),
    "another label": (relabelled(OLD, "sex", "x"), LABELS.format("sex"), 40),
    "an unknown label": (relabelled(OLD, "race", None), LABELS.format("race"), 40),
    "several": (relabelled(relabelled(OLD, "race", None), "person", 8), PEOPLE, 40),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_people_have_no_changes_but_their_gaps_are_compared(tmp_path, kind):
    old, reason, shared = REFUSED[kind]
    wanted = wanted_sums(NEW, old)
    assert not wanted.plan.changed
    for found in (
        equirank.list_sums(NEW, against=old, **COLUMNS | WAYS),
        in_files(NEW, old, tmp_path),
    ):
        assert_same(found, wanted)
        assert found.refused == reason
        assert found.sums["against"].tolist() == [len(old), old["qid"].nunique(), shared]
    assert found.sums["changes"][:, 0, 2].sum() > 30


def test_lists_of_one_table_are_counted_by_every_engine(tmp_path):
    new, old = without(NEW, [1, 2]), without(OLD, [5])
    wanted = wanted_sums(new, old)
    for found in by_engine(new, old, tmp_path):
        assert_same(found, wanted)
        assert found.refused == LISTS
        assert found.sums["against"].tolist() == [len(old), 39, 37]
    nothing = old.assign(qid=old["qid"] + 1_000_000)
    engines = by_engine(new, nothing, tmp_path)
    with pytest.raises(DataError, match="against must share at least one list with data, got none"):
        next(engines)
    with pytest.raises(DataError, match="against must share at least one list"):
        in_files(new, nothing, tmp_path)
