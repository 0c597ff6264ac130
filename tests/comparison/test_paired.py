"""Means, intervals and paired tests, held against independent arithmetic."""

import numpy as np
import pytest
from scipy import stats

from equirank.comparison.cell import Cell
from equirank.comparison.folds import Fold
from equirank.comparison.paired import Sample, means_and_intervals, paired_tests, samples
from equirank.core.evaluate import evaluate
from equirank.core.registry import parse_metric
from equirank.datasets.synthetic import make_ranking


def mean_and_interval(sample, level, _):
    row = means_and_intervals([sample], level)[0]
    return row["value"], row["low"], row["high"], row["n"]


def paired_test(a, b, level, _):
    return paired_tests([(a, b)], level)[0]


def by_query(values, owner, ratio=0.25):
    return Sample(np.array(values, dtype=float), np.array(owner), ratio, "queries")


def by_fold(values, ratio=0.25):
    return Sample(np.array(values, dtype=float), np.arange(len(values)), ratio, "folds")


def test_a_query_is_averaged_over_the_seeds_where_it_is_defined():
    sample = by_query([1.0, 2.0, np.nan, 3.0, 4.0, np.nan], [0, 1, 2, 1, 0, 3])
    assert sample.per_unit()[:2].tolist() == [2.5, 2.5]
    assert np.isnan(sample.per_unit()[2:]).all()
    assert mean_and_interval(sample, 0.95, (0, 0))[0] == 2.5
    assert mean_and_interval(sample, 0.95, (0, 0))[3] == 2


def test_intervals_over_folds_are_students_with_the_corrected_variance():
    values, ratio = np.array([0.3, 0.5, 0.4, 0.7]), 1 / 3
    mean, low, high, n = mean_and_interval(by_fold(values, ratio), 0.9, (0,))
    error = np.sqrt((1 / 4 + ratio) * values.var(ddof=1))
    wanted = stats.t.interval(0.9, 3, loc=values.mean(), scale=error)
    assert (mean, n) == (pytest.approx(0.475), 4)
    assert (low, high) == pytest.approx(wanted)


def test_intervals_over_queries_bootstrap_few_and_are_students_for_many():
    rng = np.random.default_rng(0)
    values = rng.random(60)
    _, low, high, _ = mean_and_interval(by_query(values, np.arange(60)), 0.95, (0,))
    wanted = stats.t.interval(0.95, 59, loc=values.mean(), scale=stats.sem(values))
    assert (low, high) == pytest.approx(wanted, abs=0.01)
    assert (low, high) != pytest.approx(wanted, abs=1e-9)
    values = rng.random(3000)
    _, low, high, _ = mean_and_interval(by_query(values, np.arange(3000)), 0.95, (0,))
    wanted = stats.t.interval(0.95, 2999, loc=values.mean(), scale=stats.sem(values))
    assert (low, high) == pytest.approx(wanted)


def test_paired_by_queries_as_scipy_and_by_all_flips():
    a, b = np.array([0.9, 0.4, 0.7, 0.8, 0.6]), np.array([0.5, 0.5, 0.3, 0.7, 0.1])
    found = paired_test(by_query(a, range(5)), by_query(b, range(5)), 0.95, (0,))
    assert found["p_t"] == pytest.approx(stats.ttest_rel(a, b).pvalue)
    flips = np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1).T @ (a - b)
    assert found["p_random"] == (np.abs(flips) >= (a - b).sum() - 1e-9).mean()
    assert found["difference"] == pytest.approx((a - b).mean())
    assert (found["value"], found["other"]) == (pytest.approx(a.mean()), pytest.approx(b.mean()))


def test_paired_by_queries_uses_only_what_both_have():
    a = by_query([0.9, np.nan, 0.7, 0.8], [0, 1, 2, 3])
    b = by_query([0.5, 0.5, np.nan, 0.2], [0, 1, 2, 3])
    found = paired_test(a, b, 0.95, (0,))
    assert found["n"] == 2
    assert found["value"] == pytest.approx(0.85)
    assert found["other"] == pytest.approx(0.35)


def test_paired_by_folds_is_the_corrected_resampled_t_test():
    a, b, ratio = np.array([0.9, 0.4, 0.7, 0.8]), np.array([0.5, 0.3, 0.6, 0.1]), 0.5
    found = paired_test(by_fold(a, ratio), by_fold(b, ratio), 0.95, (0,))
    d = a - b
    t = d.mean() / np.sqrt((1 / 4 + ratio) * d.var(ddof=1))
    assert found["p_t"] == pytest.approx(2 * stats.t.sf(t, 3))
    assert found["p_t"] > stats.ttest_rel(a, b).pvalue
    assert np.isnan(found["p_random"])


def test_no_difference_and_a_constant_one():
    same = [0.1, 0.2, 0.3]
    for kind in (by_fold, lambda values: by_query(values, range(3))):
        assert paired_test(kind(same), kind(same), 0.95, (0,))["p_t"] == 1.0
        up = paired_test(kind([1.0, 2.0, 3.0]), kind([0.0, 1.0, 2.0]), 0.95, (0,))
        assert up["p_t"] == 0.0
        one = paired_test(kind([1.0, np.nan, np.nan]), kind(same), 0.95, (0,))
        assert one["n"] == 1
        assert np.isnan(one["p_t"])
        none = paired_test(kind([np.nan] * 3), kind(same), 0.95, (0,))
        assert none["n"] == 0
        assert np.isnan(none["difference"])


def test_metrics_that_are_no_mean_are_counted_by_folds():
    folds = [Fold(0, 0, np.arange(6), np.arange(6, 9)), Fold(1, 0, np.arange(3, 9), np.arange(3))]
    found = [Cell({"IndividualAmortisedAttention": np.array([1.0])},
                  {"IndividualAmortisedAttention": 0.5}, {}, 0.0, 0.0)] * 2  # fmt: skip
    queries = [np.array([1]), np.array([0])]
    metric = parse_metric("IndividualAmortisedAttention")
    sample = samples(found, folds, queries, metric, "queries")
    assert sample.unit == "folds"
    assert sample.values.tolist() == [0.5, 0.5]
    assert sample.ratio == 0.5


def test_equals_the_evaluations_own_test():
    data = make_ranking(n_queries=30, random_state=0)
    rng = np.random.default_rng(0)
    scores = [data.X[:, 0] + rng.normal(size=data.n_rows) * noise for noise in (0.1, 2.0)]
    from equirank import Ranking

    one, other = (evaluate(Ranking.from_scores(data, each), "NDCG@10", n_boot=0) for each in scores)
    wanted = next(iter(one.versus(other)))
    owner = np.arange(30)
    a, b = (by_query(each.per_query("NDCG@10"), owner) for each in (one, other))
    found = paired_test(a, b, 0.95, (0,))
    for key in ("value", "other", "difference", "p_t"):
        assert found[key] == pytest.approx(wanted[key])
    assert found["p_random"] == pytest.approx(wanted["p_random"], abs=0.02)
