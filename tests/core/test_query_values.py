"""Values by group of many queries: tests by relabellings agree with those by permutations."""

import numpy as np
import pytest

from equirank import as_ranking_data, evaluate
from equirank.core import inference
from equirank.core.query_values import ByGroup, split_twins
from equirank.core.registry import parse_metrics


def people(seed=5, lists=120, effect=0.0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 30, lists)
    n = int(sizes.sum())
    sex = rng.choice(["f", "m", "x"], n).astype(object)
    score = rng.integers(0, 12, n) + effect * (sex == "f")
    sex[rng.random(n) < 0.05] = None
    return as_ranking_data(
        None, rng.integers(0, 4, n), qid=np.repeat(np.arange(lists), sizes), score=score,
        sensitive_features={"sex": sex, "age": rng.choice(["o", "y"], n)},
        missing_sensitive="unknown",
    )  # fmt: skip


@pytest.mark.parametrize("control", [None, "age"])
def test_relabellings_have_the_mean_of_all_permutations(control):
    ranking = people(lists=12).ranking()
    metric = ByGroup(metric=parse_metrics("Precision@5")[0], by="sex", control=control)
    found = split_twins([metric], ranking, 400, 1)[0]
    strata = None if control is None else ranking.data.attribute(control).codes
    codes = ranking.data.attribute("sex").codes
    plan = inference.PermutationPlan(ranking.data, codes, strata, 400)
    plan.pool_size = 400
    from equirank.core.metric import permuted

    parts = []
    for queries, labels in plan.draws(7):
        parts.append((queries, permuted(metric, ranking, queries, "sex", labels).groups))
    pool = plan.pool(parts)
    absent = np.isnan(pool)
    assert (absent.all(axis=0) == np.isnan(found)).all()
    pool = np.where(absent, 0.0, pool)
    error = pool.std(axis=0) * np.sqrt(2 / 400)
    assert (np.abs(np.nan_to_num(found) - pool.mean(axis=0)) <= 5 * error + 1e-12).all()
    # the sum over everybody of a stratum does not depend on labels
    groups = np.nan_to_num(found).reshape(12, -1, 4)
    np.testing.assert_allclose(groups[..., :3].sum(axis=-1), groups[..., 3], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("split", [{"by": "sex"}, {"by": "sex", "control": "age"}])
@pytest.mark.parametrize("effect", [0.0, 2.0])
def test_many_queries_have_the_p_values_of_permutations(monkeypatch, split, effect):
    data = people(effect=effect)
    metrics, options = "NDCG@10, Precision@3, AverageRank", {"n_boot": 0, "n_permutations": 999}
    few = evaluate(data, metrics, **split, **options).difference()
    monkeypatch.setattr(inference, "MANY_QUERIES", 100)
    many = evaluate(data, metrics, **split, **options).difference()
    np.testing.assert_array_equal(few["value"], many["value"])
    assert (
        np.abs(few["p_value"] - many["p_value"]).max() < 0.2
    )  # other statistics: spread, and its change by relabelling
    if effect:
        assert many["p_value"][1] <= 0.02


def test_one_column_of_a_group_that_never_occurs_is_undefined():
    values = np.array([[1.0, 2.0, np.nan]] * 50) + np.linspace(0, 1, 50)[:, None]
    twins = values + np.random.default_rng(0).normal(size=(50, 3))
    sums = inference.TwinSums.of(values, twins)
    p = sums.p_value(lambda means: means, lambda v: v, np.random.default_rng(0), 99)
    assert np.isnan(p).tolist() == [False, False, True]
