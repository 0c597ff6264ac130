"""One row per list: the values of the metrics, from data in memory and from files."""

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

import equirank
from equirank import DataError, as_ranking_data, evaluate


def frame(lists=40):
    rng = np.random.default_rng(2)
    query = np.repeat(np.arange(lists), rng.integers(2, 9, lists))
    n = len(query)
    return pd.DataFrame(
        {"qid": query, "score": np.round(rng.normal(size=n), 1), "y": rng.integers(0, 3, n),
         "sex": rng.choice(["f", "m"], n)}
    )  # fmt: skip


def read(folder):
    return pyarrow.parquet.read_table(folder).to_pandas().sort_values("list", ignore_index=True)


def test_values_of_lists_are_those_of_evaluate(tmp_path):
    rows = frame()
    columns = {"query": "qid", "score": "score", "relevance": "y", "sensitive": "sex"}
    rows.to_parquet(tmp_path / "log.parquet", row_group_size=60)
    sums = equirank.list_sums(rows, **columns, per_list=tmp_path / "memory")
    equirank.list_sums(
        tmp_path / "log.parquet", **columns, per_list=tmp_path / "file", memory="16MB"
    )
    found, other = read(tmp_path / "memory"), read(tmp_path / "file")
    assert found["list"].tolist() == list(range(40))
    assert found["rows"].sum() == len(rows)
    pd.testing.assert_frame_equal(found, other, rtol=1e-12)
    data = as_ranking_data(
        y=rows["y"], qid=rows["qid"], score=rows["score"], sensitive_features=rows[["sex"]]
    )
    names = ["NDCG@10", f"RND(by='sex', step={sums.plan.step})", "ExposureGap(by='sex')"]
    wanted = evaluate(data, names, n_boot=0, n_permutations=0)
    for name in wanted.metrics:
        np.testing.assert_allclose(found[name], wanted.per_query(name), atol=1e-12)
    assert 'ExposureGap(by="sex", protected="f")' in found


def test_nothing_is_left_after_an_error(tmp_path):
    rows = frame()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.txt").write_text("")
    with pytest.raises(DataError, match="per_list must be a new or empty folder"):
        equirank.list_sums(rows, sensitive="sex", per_list=tmp_path / "old")
    with pytest.raises(DataError, match="score or position"):
        equirank.list_sums(rows[["qid", "sex"]], sensitive="sex", per_list=tmp_path / "new")
    assert not (tmp_path / "new").exists()
