"""dask_evaluate and dask_audit give the numbers of the whole, however the rows lie."""

import dask
import numpy as np
import pandas as pd
import pytest

from equirank import (
    DataError,
    RankingData,
    as_ranking_data,
    audit,
    audit_sums,
    evaluate,
    list_sums,
)
from equirank.core import inference, list_samples
from equirank.distributed import dask_audit, dask_evaluate

METRICS = 'NDCG@10, ERR@5, ExposureGap(by="sex"), RND(by=("sex", "age"), step=3)'
SENSITIVE = ["sex", "age"]
FEW = {"n_boot": 40, "n_permutations": 39}


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    """Compute in this process, in blocks of 120 rows."""
    monkeypatch.setattr(RankingData.query_blocks, "__defaults__", (120,))
    with dask.config.set(scheduler="synchronous"):
        yield


def people(n_queries=31, seed=1, missing=False):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 40, n_queries)
    n = int(sizes.sum())
    frame = pd.DataFrame(
        {
            "qid": np.repeat([f"q{q}" for q in range(n_queries)], sizes),
            "y": rng.integers(0, 4, n),
            "score": rng.integers(0, 15, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice(["old", "young"], n, p=[0.2, 0.8]),
        }
    )
    # grades and groups that only one partition holds
    frame.loc[frame.index[-3:], "y"] = 5
    frame.loc[frame.index[:4], "age"] = "baby"
    if missing:
        frame.loc[frame.index[::17], "sex"] = None
    return frame


def parted(frame, n=5):
    from dask.dataframe import from_pandas

    return from_pandas(frame.reset_index(drop=True), npartitions=n, sort=False)


def whole(frame):
    return as_ranking_data(
        None,
        frame["y"],
        qid=frame["qid"],
        score=frame["score"],
        sensitive_features=frame[SENSITIVE],
        missing_sensitive="unknown",
    )


def same(found, frame, metrics, **options):
    """Compare values with those of the rows, which are resampled in another order."""
    wanted = evaluate(whole(frame), metrics, **options, **FEW).summary()
    table = found.summary()
    assert table["metric"].tolist() == wanted["metric"].tolist()
    assert table["group"].tolist() == wanted["group"].tolist()
    for name in ("value", "queries", "skipped"):
        np.testing.assert_allclose(table[name], wanted[name], atol=1e-12)
    assert np.isfinite(table["low"]).all()


@pytest.mark.gate
@pytest.mark.parametrize("kind", ["torn at the edges", "scattered", "one partition"])
def test_evaluate_gives_the_numbers_of_the_whole(kind):
    frame = people()
    if kind == "scattered":
        frame = frame.sample(frac=1.0, random_state=0)
    parts = parted(frame, 1 if kind == "one partition" else 5)
    options = {"by": "sex", "control": "age"}
    found = dask_evaluate(parts, METRICS, sensitive=SENSITIVE, **options, **FEW)
    same(found, frame, METRICS, **options)
    wanted = evaluate(whole(frame), METRICS, **options, **FEW)
    for name in ("by_group", "overall", "difference"):
        one, other = (getattr(each, name) for each in (found, wanted))
        one, other = (table() if callable(table) else table for table in (one, other))
        np.testing.assert_allclose(one["value"], other["value"], atol=1e-12)
    order = [found.qids.tolist().index(label) for label in wanted.qids.tolist()]
    np.testing.assert_allclose(
        found.per_query("ERR@5")[order], wanted.per_query("ERR@5"), atol=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("split", [{}, {"by": ("sex", "age")}])
def test_many_queries_have_the_numbers_of_the_whole(monkeypatch, split):
    monkeypatch.setattr(list_samples, "MOST_LISTS", 20)
    monkeypatch.setattr(inference, "MANY_QUERIES", 20)
    frame = people(missing=True)
    found = dask_evaluate(parted(frame), METRICS, sensitive=SENSITIVE, **split, **FEW)
    wanted = evaluate(whole(frame), METRICS, **split, **FEW).to_dict()
    for name, table in found.to_dict().items():
        if name in ("schema_version", "level", "queries", "notes"):
            assert table == wanted[name]
            continue
        for row, other in zip(table, wanted[name], strict=True):
            for column, value in row.items():
                if isinstance(value, float):
                    np.testing.assert_allclose(value, other[column], atol=1e-12)
                else:
                    assert value == other[column]
    with pytest.raises(DataError, match="not in sums over so many lists"):
        found.per_query("NDCG@10")


@pytest.mark.slow
def test_a_folder_of_parquet_files(tmp_path):
    frame = people()
    for at, rows in enumerate(np.array_split(np.arange(len(frame)), 4)):
        frame.iloc[rows].to_parquet(tmp_path / f"part-{at}.parquet")
    same(dask_evaluate(tmp_path, "NDCG@10", **FEW), frame, "NDCG@10")


def test_one_list():
    frame = people(n_queries=1, seed=3).drop(columns="qid")
    found = dask_evaluate(parted(frame, 3), "NDCG@10, ExposureGap", sensitive="sex", **FEW)
    data = as_ranking_data(
        None, frame["y"], score=frame["score"], sensitive_features=frame[["sex"]]
    )
    wanted = evaluate(data, "NDCG@10, ExposureGap", **FEW).summary()
    np.testing.assert_allclose(found.summary()["value"], wanted["value"], atol=1e-12)


@pytest.mark.slow
def test_positions_and_empty_partitions():
    frame = people()
    frame["position"] = frame.groupby("qid").cumcount() + 1
    gone = [f"q{q}" for q in range(9, 20)]
    parts = parted(frame, 6)
    parts, kept = parts[~parts["qid"].isin(gone)], frame[~frame["qid"].isin(gone)]
    assert min(parts.map_partitions(len).compute()) == 0
    found = dask_evaluate(parts, "NDCG@5", position="position", score=False, **FEW)
    data = as_ranking_data(None, kept["y"], qid=kept["qid"], position=kept["position"])
    assert found["NDCG@5"] == pytest.approx(evaluate(data, "NDCG@5", **FEW)["NDCG@5"], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, pytest.param(True, marks=pytest.mark.gate)])
def test_audit_gives_the_result_of_the_whole(missing):
    frame = people(missing=missing)
    options = {"protected": "sex=f", "metrics": "RND@10"}
    found = dask_audit(parted(frame), sensitive=SENSITIVE, **options, **FEW)
    assert found == audit_sums(list_sums(frame, sensitive=SENSITIVE, **options), **options, **FEW)
    wanted = audit(frame, sensitive=SENSITIVE, **options, **FEW)
    for name, column in (("claims", "estimate"), ("gaps", "value"), ("groups", "exposure")):
        np.testing.assert_allclose(found.tables[name][column], wanted.tables[name][column])
    assert [claim.id for claim in found.claims] == [claim.id for claim in wanted.claims]


@pytest.mark.slow
def test_audit_against_another_ranking():
    frame = people()
    frame["person"] = np.arange(len(frame))
    other = frame.assign(score=np.random.default_rng(0).random(len(frame)))
    options = {"sensitive": "sex", "id": "person", **FEW}
    found = dask_audit(parted(frame), against=parted(other, 3), **options)
    wanted = audit(frame, against=other, **options)
    for name, column in (("claims", "estimate"), ("comparison", "difference")):
        np.testing.assert_allclose(found.tables[name][column], wanted.tables[name][column])
    assert [claim.id for claim in found.claims] == [claim.id for claim in wanted.claims]
    assert len(found.tables["comparison"]) > 0
    assert any(claim.quantity == "change of position" for claim in found.claims)


@pytest.mark.slow
def test_bad_input_is_refused_in_a_clear_sentence():
    frame = people()
    with pytest.raises(DataError, match="Dask DataFrame or a folder of Parquet files"):
        dask_evaluate(frame, "NDCG@10")
    with pytest.raises(DataError, match="folder of Parquet files that exists"):
        dask_evaluate("nowhere", "NDCG@10")
    with pytest.raises(DataError, match="score or position must be given"):
        dask_evaluate(parted(frame), "NDCG@10", score=False)
    with pytest.raises(DataError, match="query must be one of the columns"):
        dask_evaluate(parted(frame), "NDCG@10", query="job")
    with pytest.raises(DataError, match="sensitive must name a column, which ExposureGap needs"):
        dask_evaluate(parted(frame), "ExposureGap")
    with pytest.raises(DataError, match="sensitive must name at least one attribute"):
        dask_audit(parted(frame))
    with pytest.raises(DataError, match="whose rows have no order"):
        dask_audit(parted(frame), sensitive="sex", ties="stable")
    frame.loc[frame.index[-1], "score"] = None
    with pytest.raises(DataError, match=r"partition \d.*score \('score'\) must not be missing"):
        dask_evaluate(parted(frame), "NDCG@10", sensitive="sex")
    with pytest.raises(DataError, match="n_boot of dask_evaluate"):
        dask_evaluate(parted(frame), "NDCG@10", n_boot=-1)


@pytest.mark.slow
def test_a_partition_but_not_the_whole_may_lack_a_column():
    frame = people()
    frame.loc[frame.index[:200], "sex"] = None
    found = dask_audit(parted(frame), sensitive="sex", cross=False, n_boot=0, n_permutations=0)
    sex = found.facts["attributes"][0]
    assert sex["unknown"] == 200
    assert [group["name"] for group in sex["groups"]] == ["f", "m"]
    frame["sex"] = None
    with pytest.raises(DataError, match=r"'sex'.* in at least one row, and all are unknown"):
        dask_audit(parted(frame), sensitive="sex")


@pytest.mark.gate
def test_many_groups_are_refused_unless_allowed():
    frame = people()
    frame["who"] = [f"n{j % 101}" for j in range(len(frame))]
    words = f"'who'.*got 101 different values in {len(frame)} rows.*max_groups=101 of"
    few = {"sensitive": "who", "n_boot": 0, "n_permutations": 0}
    with pytest.raises(DataError, match=words):
        dask_evaluate(parted(frame), "ExposureGap", **few)
    with pytest.raises(DataError, match=words):
        dask_audit(parted(frame), **few)
    assert dask_evaluate(parted(frame), "ExposureGap", max_groups=101, **few).summary() is not None
