"""Lists compared with those of a second table: every engine, and the same as in memory."""

from collections import Counter
from dataclasses import replace

import dask
import duckdb
import numpy as np
import pyarrow as pa
import pytest

import equirank
from equirank import DataError, as_ranking_data
from equirank.auditing import source_plans
from equirank.core import list_samples
from equirank.core.list_sums import ListSums
from equirank.core.ranking import Ranking
from equirank.core.summed_lists import Before, sum_data
from equirank.core.sums_plan import SumsPlan, Survey
from equirank.engines import log_sums, spill
from equirank.engines.log_survey import LogSurvey

from .test_engines import assert_same, people, write

COLUMNS = {"query": "qid", "score": "score", "relevance": "y", "sensitive": ["sex", "race"]}
WAYS = {"id": "person", "k": 5, "reference": "race=a", "cross": False}


def in_dask(frame, n, **options):
    from dask.dataframe import from_pandas

    return from_pandas(frame, npartitions=n, **options)


def tables(text=False, n_lists=40):
    """The new and the old ranking of the same people, whose rows have other orders."""
    new = people(n_lists=n_lists, text=text).drop(columns="old")
    new["person"] = np.arange(len(new)) * 3 + 10**15
    if text:
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


def planned(data, changed):
    ways = {"k": 5, "reference": "race=a", "cross": False}
    return SumsPlan.of(Survey.of(data), **ways, changed=changed)


def wanted_sums(new, old):
    """Return the sums as an audit in memory makes them."""
    data, other, aligned = slowly_paired(new, old)
    plan = planned(data, aligned is not None)
    if aligned is None:
        before = Before.of(data, other, plan)
    else:
        before = Before.of(data, aligned, plan, aligned)
    return log_sums.in_canonical_order(sum_data(data, plan, before=before))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(log_sums, "BLOCK_ROWS", 500)
    monkeypatch.setattr(spill, "n_partitions", lambda *_: 4)


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
    frames = [in_dask(each, n, sort=False) for n, each in ((3, new), (2, old))]
    with dask.config.set(scheduler="synchronous"):
        yield equirank.list_sums(frames[0], against=frames[1], **given)


@pytest.mark.gate
def test_every_engine_matches_people_by_list_and_id(tmp_path):
    new, old = tables(text=True)
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


@pytest.mark.slow
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


@pytest.mark.gate
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


def positioned(frame, k):
    """Return the frame with positions instead of scores, of which the first k are shown."""
    rank = frame.groupby("qid")["score"].rank(method="first", ascending=False).astype(int)
    return frame.assign(position=rank.where(rank <= k, 0)).drop(columns="score")


@pytest.mark.gate
@pytest.mark.parametrize(("k", "other"), [(4, 6), pytest.param(100, 4, marks=pytest.mark.gate)])
def test_a_ranking_cut_at_k_is_compared_with_the_first_k(tmp_path, monkeypatch, k, other):
    new, old = positioned(NEW, k), positioned(OLD, other)
    monkeypatch.setitem(COLUMNS, "score", False)
    monkeypatch.setitem(COLUMNS, "position", "position")
    data, theirs = (as_data(each, position=each["position"]) for each in (new, old))
    aligned = theirs.ranking()
    keys = [list(zip(d.qids[d.query_of_rows()], d.ids, strict=True)) for d in (data, theirs)]
    row = {key: at for at, key in enumerate(keys[1])}
    rows = [row[key] for key in keys[0]]
    aligned = Ranking(data, aligned.position[rows], None)
    same = k < other
    plan = replace(planned(data, same), cut=4 if same else None)
    before = Before.of(data, aligned, plan, aligned if same else None)
    wanted = log_sums.in_canonical_order(sum_data(data, plan, before=before))
    for found in by_engine(new, old, tmp_path):
        assert_same(found, wanted)
        shown = "the two rankings show different numbers of people"
        assert found.refused == ("" if same else shown)


def test_the_cut_is_that_of_the_longest_list():
    survey = LogSurvey()
    survey.add_shown(np.array([2, 4]), np.array([2, 9]))
    survey.add_shown(np.array([3]), np.array([3]))
    assert survey.cut == 4
    other = LogSurvey()
    other.add_shown(np.array([3]), np.array([3]))
    assert other.cut is None


@pytest.mark.gate
def test_days_add_up_and_are_stored(tmp_path):
    given = COLUMNS | WAYS
    half = NEW["qid"].unique()[:17]
    days = [(f[f["qid"].isin(half)], f[~f["qid"].isin(half)]) for f in (NEW, OLD)]
    whole = equirank.list_sums(NEW, against=OLD, **given)
    plain = {name: v for name, v in given.items() if name not in ("k", "reference", "cross")}
    parts = [
        equirank.list_sums(new, against=old, **plain, like=whole)
        for new, old in zip(*days, strict=True)
    ]
    parts = [replace(part, against_sources=(f"file {at}",)) for at, part in enumerate(parts)]
    total = parts[1] + parts[0]
    total.save(tmp_path / "total")
    for made in (total, ListSums.load(tmp_path / "total")):
        assert_same(made, whole)
        assert made.refused == ""
        assert made.against_sources == ("file 1", "file 0")
    # a refusal of one day is that of both, whichever is first
    fewer = days[1][1][days[1][1].index != days[1][1].index[3]]
    refused = equirank.list_sums(days[0][1], against=fewer, **plain, like=whole)
    wanted = equirank.list_sums(
        NEW, against=OLD.drop(fewer.index.symmetric_difference(days[1][1].index)), **given
    )
    assert wanted.refused == PEOPLE
    for both in (parts[0] + refused, refused + parts[0]):
        both.save(tmp_path / f"both{len(list(tmp_path.iterdir()))}")
        assert_same(both, wanted)
        assert both.refused == PEOPLE
    assert ListSums.load(tmp_path / "both1").refused == PEOPLE
    # a day can be made like one that is refused, and claims its own changes
    again = equirank.list_sums(days[0][0], against=days[1][0], **plain, like=refused)
    assert again.plan.changed
    assert_same(again + refused, wanted)
    with pytest.raises(DataError, match="must all be compared with another ranking to be added"):
        whole + equirank.list_sums(NEW, **COLUMNS, k=5, reference="race=a", cross=False)


@pytest.fixture
def _sampled(monkeypatch):
    """Samples of 10 lists, so that audits read sums."""
    for module in (list_samples, log_sums, source_plans):
        monkeypatch.setattr(module, "MOST_LISTS", 10)


@pytest.mark.slow
@pytest.mark.usefixtures("_sampled")
@pytest.mark.parametrize(
    "old",
    [
        pytest.param(OLD, id="same"),
        pytest.param(REFUSED["a list less"][0], id="other", marks=pytest.mark.gate),
    ],
)
def test_audits_of_sums_are_those_of_rows(old):
    few = {"n_boot": 20, "n_permutations": 19, "against_title": "before"}
    rows = equirank.audit(NEW, against=old, **COLUMNS | WAYS, **few)
    sums = equirank.audit_sums(equirank.list_sums(NEW, against=old, **COLUMNS | WAYS), **few)
    assert sums.facts["against"] == rows.facts["against"]
    assert sums.facts["against"]["n_queries"] == old["qid"].nunique()
    # p-values of shuffled rows depend on the order of the rows
    names = ("quantity", "group", "scope", "reason", "estimate", "low", "high", "shares", "test")
    mine, theirs = (
        [
            [getattr(c, name) for name in names]
            for c in each.claims
            if c.block == "iii" or not c.group
        ]
        for each in (sums, rows)
    )
    assert len(mine) == (12 if old is OLD else 1)
    assert mine == theirs
    assert sums.tables["comparison"].to_dict() == rows.tables["comparison"].to_dict()
    assert len(sums.tables["comparison"]["value"])


@pytest.mark.gate
def test_few_lists_with_other_people_have_a_comparison_of_gaps():
    old, reason, _ = REFUSED["a person less"]
    few = {"n_boot": 20, "n_permutations": 19}
    rows = equirank.audit(NEW, against=old, **COLUMNS | WAYS, **few)
    sums = equirank.audit_sums(equirank.list_sums(NEW, against=old, **COLUMNS | WAYS), **few)
    said = f"No change is stated: {reason}."
    assert said in sums.verdict
    assert said in rows.verdict
    a, b = sums.tables["comparison"], rows.tables["comparison"]
    assert a["metric"].tolist() == b["metric"].tolist()
    for name in ("value", "other", "difference", "n_queries"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-9, atol=1e-12)


@pytest.mark.gate
@pytest.mark.usefixtures("_sampled")
def test_metrics_of_the_second_table_use_its_own_relevance(tmp_path, monkeypatch):
    """Also in blocks without a list that differs, although another block refuses changes."""
    for old in (OLD.assign(y=OLD["y"] * 2), OLD.assign(y=OLD["y"] * 2)[OLD.index != 7]):
        wanted = equirank.list_sums(NEW, against=old, **COLUMNS | WAYS, metrics="ERR@5")
        assert_same(in_files(NEW, old, tmp_path, metrics="ERR@5"), wanted)
        with duckdb.connect() as connection:
            relations = [connection.from_df(each) for each in (NEW, old)]
            given = COLUMNS | WAYS | {"metrics": "ERR@5"}
            assert_same(equirank.list_sums(relations[0], against=relations[1], **given), wanted)
        sums = equirank.audit_sums(wanted, n_boot=0, n_permutations=0)
        with monkeypatch.context() as context:
            context.setattr(source_plans, "MOST_LISTS", 2048)
            few = {"n_boot": 0, "n_permutations": 0}
            rows = equirank.audit(NEW, against=old, **COLUMNS | WAYS, **few)
        a, b = sums.tables["comparison"], rows.tables["comparison"]
        np.testing.assert_allclose(a["other"], b["other"], rtol=1e-9)


@pytest.mark.slow
def test_databases_with_the_same_table(tmp_path):
    paths = []
    for name, frame in (("new", NEW), ("old", OLD)):
        paths.append(tmp_path / f"{name}.duckdb")
        with duckdb.connect(str(paths[-1])) as connection:
            connection.register("frame", frame)
            connection.sql("CREATE TABLE log AS SELECT * FROM frame")
    given = COLUMNS | WAYS
    wanted = wanted_sums(NEW, OLD)
    assert_same(equirank.list_sums(paths[0], against=paths[1], **given), wanted)
    found = equirank.list_sums(paths[0], against=paths[1], table="log", **given)
    assert_same(found, wanted)
    with pytest.raises(DataError, match="table must be the name of a table that both databases"):
        equirank.list_sums(paths[0], against=paths[1], table="SELECT * FROM log", **given)
    with pytest.raises(DataError, match=r"of the kind of data \(a database\), got DataFrame"):
        equirank.list_sums(paths[0], against=NEW, **given)
    with duckdb.connect() as one, duckdb.connect() as other:
        relations = one.from_df(NEW), other.from_df(OLD)
        with pytest.raises(DataError, match="a relation of the connection of data"):
            equirank.list_sums(relations[0], against=relations[1], **given)


@pytest.mark.slow
def test_decisions_of_the_second_table_are_not_needed(tmp_path):
    new = NEW.assign(hired=np.where(NEW["score"] > 0.5, "yes", "no"))
    more = {"k": None, "selected": "hired"}
    wanted = equirank.list_sums(new, against=OLD, **COLUMNS | WAYS | more)
    assert wanted.plan.changed
    assert_same(in_files(new, OLD, tmp_path, **more), wanted)
    with duckdb.connect() as connection:
        relations = [connection.from_df(each) for each in (new, OLD)]
        found = equirank.list_sums(relations[0], against=relations[1], **COLUMNS | WAYS | more)
        assert_same(found, wanted)


def twice(frame):
    return frame.assign(person=frame["person"].where(frame.index != 7, frame["person"][6]))


@pytest.mark.parametrize(
    ("new", "old", "more", "said"),
    [
        (twice(NEW), OLD, {}, "ids must differ within a list, got .* twice in list"),
        (NEW, twice(OLD), {}, "ids of against must differ within a list, got .* twice in list"),
        (NEW, twice(without(OLD, [9])), {}, "ids of against must differ within a list"),
        (twice(tables(text=True)[0]), tables(text=True)[1], {}, "got 'p1.*' twice in list 'job"),
        (NEW, OLD.drop(columns="person"), {}, "id must be one of the columns"),
        (NEW, OLD.drop(columns="race"), {}, "sensitive must be one of the columns"),
        (NEW, OLD, {"id": None}, "id must name the column of people's ids|against must have ids"),
        (NEW, OLD, {"against_score": "y"}, "against_score must be omitted beside against"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, new, old, more, said):
    with pytest.raises(DataError, match=said):
        equirank.list_sums(new, against=old, **COLUMNS | WAYS | more)
    if old is not None:
        with pytest.raises(DataError, match=said):
            in_files(new, old, tmp_path, **more)


@pytest.mark.slow
def test_errors_name_file_and_row_of_the_second_table(tmp_path):
    blank = OLD.assign(person=OLD["person"].where(OLD.index != OLD.index[705]))
    with pytest.raises(
        DataError, match=r"old/part-1.parquet, row group 0, row \d+: id \('person'\)"
    ):
        in_files(NEW, blank, tmp_path)
    bad = OLD.assign(score=OLD["score"].where(OLD.index != OLD.index[2], np.inf))
    with pytest.raises(DataError, match=r"old/part-0.parquet, row group 0, row 2: score"):
        in_files(NEW, bad, tmp_path)
    texts = OLD.assign(person=OLD["person"].astype(str))
    words = r"id \('person'\) of against must be whole numbers as in data, got text"
    with pytest.raises(DataError, match=words):
        in_files(NEW, texts, tmp_path)
    with duckdb.connect() as connection:
        relations = [connection.from_df(each) for each in (NEW, texts)]
        with pytest.raises(DataError, match=words):
            equirank.list_sums(relations[0], against=relations[1], **COLUMNS | WAYS)
    frames = [in_dask(each, 2) for each in (NEW, texts)]
    with dask.config.set(scheduler="synchronous"), pytest.raises(DataError, match=words):
        equirank.list_sums(frames[0], against=frames[1], **COLUMNS | WAYS)
    frames[1] = in_dask(bad, 2, sort=False)
    with dask.config.set(scheduler="synchronous"), pytest.raises(DataError, match="score"):
        equirank.list_sums(frames[0], against=frames[1], **COLUMNS | WAYS)


def test_earlier_sums_decide_whether_and_how_lists_are_compared():
    plain = COLUMNS | {"id": "person"}
    alone, paired = (
        equirank.list_sums(NEW, **COLUMNS),
        equirank.list_sums(NEW, against=OLD, **plain),
    )
    with pytest.raises(DataError, match="against must be omitted beside like"):
        equirank.list_sums(NEW, against=OLD, **plain, like=alone)
    with pytest.raises(DataError, match="against or against_score must be given beside like"):
        equirank.list_sums(NEW, **COLUMNS, like=paired)
    ranks = {"query": "qid", "position": "position", "score": False, "id": "person", "k": 3}
    ranks |= {"sensitive": "sex", "cross": False}
    cut = equirank.list_sums(positioned(NEW, 4), against=positioned(OLD, 4), **ranks)
    assert cut.plan.cut == 4
    del ranks["k"], ranks["cross"]
    with pytest.raises(DataError, match="must show at most 4 people of a list, as the sums"):
        equirank.list_sums(positioned(NEW, 5), against=positioned(OLD, 5), **ranks, like=cut)
    short = [positioned(each, 4)[lambda f: f["position"] > 0] for each in (NEW, NEW)]
    later = equirank.list_sums(short[0], against=short[1], **ranks, like=cut)
    assert (later.plan.cut, (cut + later).refused) == (4, "")


def test_a_list_that_is_torn_apart_is_an_error():
    sums = equirank.list_sums(NEW, against=OLD, **COLUMNS | WAYS)
    lengths = Counter(NEW.groupby("qid").size())
    survey = LogSurvey(lengths, other=LogSurvey(lengths), shared=40, shared_rows=len(OLD))
    assert_same(survey.checked(sums, "data"), sums)
    for wrong in ({"shared": 41}, {"shared_rows": len(OLD) + 1}):
        with pytest.raises(
            DataError, match="rows in 40 lists were measured; a list was torn apart"
        ):
            replace(survey, **wrong).checked(sums, "data")


@pytest.mark.slow
def test_scores_are_those_of_the_first_table(tmp_path):
    old = OLD.assign(score=OLD["score"] + 100.0)
    more = {"scored": True, "metrics": "NDCG@5"}
    wanted = equirank.list_sums(NEW, against=old, **COLUMNS | WAYS | more)
    assert wanted.plan.median == np.median(NEW["score"])
    assert_same(in_files(NEW, old, tmp_path, **more), wanted)
    with duckdb.connect() as connection:
        relations = [connection.from_df(each) for each in (NEW, old)]
        found = equirank.list_sums(relations[0], against=relations[1], **COLUMNS | WAYS | more)
        assert_same(found, wanted)


@pytest.mark.slow
def test_frames_of_dask_may_have_other_types():
    new = NEW.astype({"qid": "int32", "sex": "category", "race": "category"})
    old = OLD.astype({"qid": "category"})
    frames = [in_dask(each, 2) for each in (new, old)]
    with dask.config.set(scheduler="synchronous"):
        found = equirank.list_sums(frames[0], against=frames[1], **COLUMNS | WAYS)
    assert_same(found, wanted_sums(NEW, OLD))


@pytest.mark.slow
def test_lists_named_by_two_columns(tmp_path):
    new, old = (each.assign(user=each["qid"] // 7, day=each["qid"] % 7) for each in (NEW, OLD))
    found = in_files(new, old, tmp_path, query=["user", "day"])
    assert found.sums["against"].tolist() == [len(OLD), 40, 40]
    assert found.sums["moved"].tolist() == wanted_sums(NEW, OLD).sums["moved"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("most", [2048, 10], ids=["rows", "sums"])
def test_each_ranking_is_measured_by_its_own_largest_grade(tmp_path, most, monkeypatch):
    for module in (list_samples, log_sums, source_plans):
        monkeypatch.setattr(module, "MOST_LISTS", most)
    new = people(60).assign(person=lambda rows: rows.groupby("qid").cumcount())
    old = new.assign(score=new["old"], y=np.minimum(new["y"], 1))
    columns = {"query": "qid", "score": "score", "relevance": "y", "sensitive": "sex"}
    alone = as_ranking_data(
        y=old["y"], qid=old["qid"], score=old["score"], sensitive_features=old["race"]
    )
    wanted = equirank.evaluate(alone, "ERR@5", n_boot=0)["ERR@5"]
    few = {"metrics": "ERR@5", "n_boot": 0, "n_permutations": 0}
    audited = equirank.audit(new, against=old, id="person", **columns, **few)
    row = next(row for row in audited.tables["comparison"] if row["metric"] == "ERR@5")
    assert row["other"] == pytest.approx(wanted)
    paths = [write(each, tmp_path / name) for name, each in (("new", new), ("old", old))]
    for data, against in ((new, old), paths):
        sums = equirank.list_sums(data, against=against, id="person", metrics="ERR@5", **columns)
        _, other, lists, *_ = sums.sums["changes"][:, -1].sum(axis=0)
        assert other / lists == pytest.approx(wanted)


@pytest.mark.slow
def test_a_day_without_the_largest_grade_is_measured_like_the_others(tmp_path):
    new = people(60).assign(person=lambda rows: rows.groupby("qid").cumcount())
    columns = {"query": "qid", "score": "score", "relevance": "y", "sensitive": "sex"}
    columns |= {"id": "person"}
    late = new["qid"] > new["qid"].median()
    new.loc[late, "y"] = np.minimum(new.loc[late, "y"], 1)
    old = new.assign(score=new["old"])
    wanted = equirank.list_sums(new, against=old, metrics="ERR@5", **columns)
    first = equirank.list_sums(new[~late], against=old[~late], metrics="ERR@5", **columns)
    second = equirank.list_sums(new[late], against=old[late], like=first, **columns)
    paths = [write(each[late], tmp_path / name) for name, each in (("new", new), ("old", old))]
    in_stream = equirank.list_sums(paths[0], against=paths[1], like=first, **columns)
    for day in (second, in_stream):
        found = (first + day).sums["changes"]
        np.testing.assert_allclose(found, wanted.sums["changes"], rtol=1e-12, atol=1e-12)
