"""evaluate of sums over lists: the numbers of the rows, in the same buckets."""

from dataclasses import replace

import numpy as np
import pytest

from equirank import DataError, ListSums, as_ranking_data, audit_sums, evaluate
from equirank.core import inference, list_samples
from equirank.core.summed_lists import sum_data, sum_lists

METRICS = ["NDCG@10", "RND(by='sex', step=2)", "ExposureGap(by='sex', protected='f')",
           "RKL(by='sex')", "Precision@3", "AWRF(by=('sex', 'age'))", "ERR@5", "CostNDCG@5",
           "Consistency", "AverageRank"]  # fmt: skip
SPLITS = [{}, {"by": "sex"}, {"by": ("sex", "age")}, {"by": "sex", "control": "age"}]


def made(lists=90, unknown=0.1, seed=3, groups=("f", "m")):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 16, lists)
    n = int(sizes.sum())
    sex, age = rng.choice(groups, n).astype(object), rng.choice(["old", "young"], n)
    sex[rng.random(n) < unknown] = None
    sex[age == "old"] = "m"  # no old women
    return as_ranking_data(
        rng.random((n, 2)), rng.integers(0, 3, n), qid=np.repeat(np.arange(lists), sizes),
        score=np.round(rng.normal(size=n), 1), sensitive_features={"sex": sex, "age": age},
        missing_sensitive="unknown", cost=rng.random(n) + 0.5,
    )  # fmt: skip


@pytest.fixture
def few(monkeypatch):
    """Keep the rows of few lists only."""
    monkeypatch.setattr(list_samples, "MOST_LISTS", 40)
    monkeypatch.setattr(inference, "MANY_QUERIES", 40)


def close(found, rows):
    """Compare two evaluations, number by number."""
    assert found.keys() == rows.keys()
    for name, table in rows.items():
        if not isinstance(table, list):
            assert found[name] == table, name
            continue
        for row, other in zip(found[name], table, strict=True):
            if not isinstance(other, dict):
                assert row == other
                continue
            for column, value in other.items():
                if isinstance(value, float):
                    np.testing.assert_allclose(row[column], value, rtol=0, atol=1e-12)
                else:
                    assert row[column] == value, (name, column)


def test_results_of_sums_have_the_exact_digits_of_the_rows(few):
    """Sums of quarters are exact in any order, so nothing may differ, not the last digit."""
    data = made(lists=90, unknown=0.0)
    data = replace(data, score=np.arange(data.n_rows, dtype=float))  # ties would give thirds
    sums = sum_data(data, metrics=["Precision@4"])
    found, rows = (evaluate(each, "Precision@4", n_boot=200) for each in (sums, data))
    assert not sums.complete
    values = rows.per_query("Precision@4")
    assert len(values) == 90
    assert found["Precision@4"] == sum(values) / 90 == rows["Precision@4"]
    row, other = (next(iter(each.summary())) for each in (found, rows))
    assert (row["low"], row["high"]) == (other["low"], other["high"])
    assert np.array_equal(found.results[0].replicates, rows.results[0].replicates)


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_evaluation_of_sums_is_that_of_the_rows(few, split):
    data = made()
    sums = sum_data(data, metrics=METRICS, **split)
    assert not sums.complete
    found, rows = (evaluate(each, METRICS, n_boot=200, **split) for each in (sums, data))
    close(found.to_dict(), rows.to_dict())
    assert any("sex unknown" in note for note in found.notes)
    assert found.to_dict()["queries"] == 90
    assert ("f & old" in found.groups) is False if split.get("by") == ("sex", "age") else True


@pytest.mark.slow
def test_sums_of_blocks_are_those_of_the_whole(few):
    data = made(unknown=0.0)
    grades = data.y.copy()
    grades[: data.offsets[40]] = np.minimum(grades[: data.offsets[40]], 1.0)
    data = replace(data, y=grades, max_grade=2.0)
    whole = sum_data(data, metrics=METRICS, by="sex", control="age")
    lists = np.arange(90)
    # the first lists have neither the largest grade nor women
    women = data.attribute("sex").codes == 0
    men = np.flatnonzero(np.add.reduceat(women, data.offsets[:-1])[:40] == 0)
    parts = [np.isin(lists, men), (lists < 40) & ~np.isin(lists, men), lists >= 40]
    assert len(men)
    blocks = [data.select(part) for part in parts]
    blocks = [replace(block, max_grade=float(block.y.max())) for block in blocks]
    total = ListSums.total(sum_lists(block, whole.plan) for block in blocks)
    for name, values in whole.sums.items():
        largest = np.abs(values).max(initial=1.0)
        np.testing.assert_allclose(total.sums[name], values, rtol=0, atol=1e-12 * largest)


@pytest.mark.slow
def test_groups_of_a_later_day(few, tmp_path):
    first, second = made(50, 0.0), made(60, 0.0, seed=4, groups=("d", "m", "x"))
    second = replace(second, qids=second.qids + 1000)
    one = sum_data(first, metrics=METRICS, by="sex", control="age")
    one.save(tmp_path / "one.sums")
    both = ListSums.load(tmp_path / "one.sums") + sum_data(second, like=one)
    joined = joined_days(first, second)
    whole = sum_data(joined, replace(both.plan, n_twins=one.plan.n_twins))
    assert both.plan.groups["sex"] == ("d", "f", "m", "x")
    for name in ("group_values", "metrics", "lists"):
        values = [each.sums[name][..., 0] for each in (both, whole)]
        np.testing.assert_allclose(*values, atol=1e-12)
    found = evaluate(both, METRICS, by="sex", control="age", n_boot=50)
    rows = evaluate(joined, METRICS, by="sex", control="age", n_boot=50)
    np.testing.assert_allclose(found.by_group["value"], rows.by_group["value"], atol=1e-12)
    assert np.nanmin(found.difference()["p_value"]) > 0


def joined_days(first, second):
    """Return the rows of two data sets as one."""
    parts = (first, second)
    return as_ranking_data(
        np.concatenate([d.X for d in parts]), np.concatenate([d.y for d in parts]),
        qid=np.concatenate([d.qids[d.query_of_rows()] for d in parts]),
        score=np.concatenate([d.score for d in parts]),
        cost=np.concatenate([d.cost for d in parts]),
        sensitive_features={
            name: np.concatenate([d.sensitive[name].labels() for d in parts])
            for name in ("sex", "age")
        },
    )  # fmt: skip


def test_sums_of_metrics_alone(few, tmp_path):
    data = replace(made(), sensitive={})
    sums = sum_data(data, metrics=["NDCG@5"])
    assert repr(sums) == f"ListSums({data.n_rows} rows, 90 lists)"
    sums.save(tmp_path / "plain.sums")
    parts = [sum_lists(data.select(slice(*ends)), sums.plan) for ends in ((0, 30), (30, 90))]
    for each in (sums, ListSums.load(tmp_path / "plain.sums"), parts[0] + parts[1]):
        close(evaluate(each, "NDCG@5").to_dict(), evaluate(data, "NDCG@5").to_dict())
    with pytest.raises(DataError, match="sums must have an attribute"):
        audit_sums(sums)


def twin_shares(level, n_twins, runs=400):
    """Return how often a split without a difference has a p-value up to the level."""
    hits = 0
    for run in range(runs):
        rng = np.random.default_rng([run, n_twins])
        values, twins = rng.exponential(size=(2, 1500, 3)), 0.0
        for _ in range(n_twins):
            twins = twins + rng.exponential(size=(1500, 3)) / n_twins
        shift = np.array([0.0, 1.0, -0.5])  # composition of lists, in values and relabellings
        sums = inference.TwinSums.of(values[0] + shift, twins + shift)
        p = sums.p_value(lambda means: means, lambda v: np.ptp(v, axis=-1), rng, 99)
        hits += p <= level
    return hits / runs


@pytest.mark.slow
@pytest.mark.parametrize("n_twins", [1, pytest.param(20, marks=pytest.mark.gate)])
def test_the_level_of_splits(n_twins):
    for level in (0.05, 0.2):
        error = np.sqrt(level * (1 - level) / 400)
        assert abs(twin_shares(level, n_twins) - level) < 3.2 * error


def test_sums_with_every_row_are_evaluated_as_rows():
    data = made(30, 0.0)
    found = evaluate(
        sum_data(data), "NDCG@5, RND(by='sex', step=2)", by="sex", n_boot=20, n_permutations=99
    )
    rows = evaluate(data, "NDCG@5, RND(by='sex', step=2)", by="sex", n_boot=20, n_permutations=99)
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
    with pytest.raises(DataError, match=r"by must be that of list_sums, .*: none, got 'sex'"):
        evaluate(sums, "NDCG@10", by="sex")
    with pytest.raises(DataError, match="by must be one of the attributes 'sex', 'age'"):
        sum_data(data, by="job")
    with pytest.raises(DataError, match="by must be given where control is"):
        sum_data(data, control="age")
    with pytest.raises(DataError, match="by needs a metric that is a sum over items"):
        sum_data(replace(data, y=None), metrics=["RKL"], by="sex")
    with pytest.raises(DataError, match="score must be None beside a ListSums"):
        evaluate(sums, "NDCG@10", score="score")
    with pytest.raises(DataError, match="by must be one of the attributes 'sex', 'age'"):
        evaluate(sums, "RND(by='race')")


def test_few_long_lists_have_t_intervals(monkeypatch):
    monkeypatch.setattr(list_samples, "MOST_ROWS", 50)
    data = made(8, 0.0)
    sums = sum_data(data)
    assert not sums.complete
    row, other = (next(iter(evaluate(each, "NDCG@10").summary())) for each in (sums, data))
    assert row["low"] == pytest.approx(other["low"], abs=1e-12)
    assert row["high"] == pytest.approx(other["high"], abs=1e-12)
