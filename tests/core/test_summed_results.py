"""evaluate of sums over lists: the numbers of the rows, in the same buckets."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data, evaluate
from equirank.core import inference, list_samples
from equirank.core.summed_lists import sum_data

METRICS = ["NDCG@10", "RND(by='sex', step=2)", "ExposureGap(by='sex', protected='f')",
           "RKL(by='sex')", "Precision@3"]  # fmt: skip


def made(lists=90, unknown=0.1):
    rng = np.random.default_rng(3)
    sizes = rng.integers(4, 16, lists)
    n = int(sizes.sum())
    sex = rng.choice(["f", "m"], n).astype(object)
    sex[rng.random(n) < unknown] = None
    return as_ranking_data(
        y=rng.integers(0, 3, n), qid=np.repeat(np.arange(lists), sizes),
        score=np.round(rng.normal(size=n), 1), sensitive_features={"sex": sex},
        missing_sensitive="unknown",
    )  # fmt: skip


@pytest.fixture
def few(monkeypatch):
    """Keep the rows of few lists only."""
    monkeypatch.setattr(list_samples, "MOST_LISTS", 40)
    monkeypatch.setattr(inference, "MANY_QUERIES", 40)


def test_evaluation_of_sums_is_that_of_the_rows(few):
    data = made()
    sums = sum_data(data, metrics=["RKL", "Precision@3"])
    assert not sums.complete
    found, rows = (evaluate(each, METRICS, n_boot=200) for each in (sums, data))
    expected = [row for row in rows.summary() if row["group"] is None]
    for row, other in zip(found.summary(), expected, strict=True):
        assert row["metric"] == other["metric"]
        for name in ("value", "low", "high", "p_value", "queries", "skipped"):
            np.testing.assert_allclose(row[name], other[name], rtol=0, atol=1e-12, err_msg=name)
    assert found.notes == rows.notes
    assert any("sex unknown" in note for note in found.notes)
    assert found.to_dict()["queries"] == 90


def test_sums_with_every_row_are_evaluated_as_rows():
    data = made(30, 0.0)
    found = evaluate(sum_data(data), "NDCG@5, RND(step=2)", by="sex", n_boot=20, n_permutations=99)
    rows = evaluate(data, "NDCG@5, RND(step=2)", by="sex", n_boot=20, n_permutations=99)
    assert found["NDCG@5"] == pytest.approx(rows["NDCG@5"], abs=1e-12)
    np.testing.assert_allclose(found.by_group["value"], rows.by_group["value"], atol=1e-12)


def test_what_sums_do_not_contain(few):
    data = made()
    sums = sum_data(data)
    found = evaluate(sums, "NDCG@10", n_boot=0)
    for use in (found.to_table, lambda: found.per_query("NDCG@10"), lambda: found.versus(found)):
        with pytest.raises(DataError, match="NDCG@10 for single lists are not in sums"):
            use()
    with pytest.raises(DataError, match=r"measured by the sums .*RND\(step=2\).*got NDCG@5"):
        evaluate(sums, "NDCG@5")
    with pytest.raises(DataError, match="by and control need the rows"):
        evaluate(sums, "NDCG@10", by="sex")
    with pytest.raises(DataError, match="score must be None beside a ListSums"):
        evaluate(sums, "NDCG@10", score="score")
    with pytest.raises(DataError, match="by must be one of the attributes 'sex'"):
        evaluate(sums, "RND(by='race')")


def test_few_long_lists_have_t_intervals(monkeypatch):
    monkeypatch.setattr(list_samples, "MOST_ROWS", 50)
    data = made(8, 0.0)
    sums = sum_data(data)
    assert not sums.complete
    row, other = (next(iter(evaluate(each, "NDCG@10").summary())) for each in (sums, data))
    assert row["low"] == pytest.approx(other["low"], abs=1e-12)
    assert row["high"] == pytest.approx(other["high"], abs=1e-12)
