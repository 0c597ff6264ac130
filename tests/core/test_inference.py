"""Intervals and tests against slow twins and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from equirank import as_ranking_data
from equirank.core import inference
from equirank.kernels import resampling


def test_weighted_means_leave_out_nan_and_follow_counts():
    values = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0]])
    assert resampling.weighted_means(values).tolist() == [2.0, 6.0]
    counts = np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
    drawn = resampling.weighted_means(values, counts)
    assert drawn[0].tolist() == [(1 + 1 + 3) / 3, 4.0]
    assert np.isnan(drawn[1, 0])
    assert drawn[1, 1] == 8.0


def test_bootstrap_counts_draw_n_of_n_with_replacement():
    counts = resampling.bootstrap_counts(np.random.default_rng(0), 4000, 5)
    assert (counts.sum(axis=1) == 5).all()
    assert abs(counts.mean() - 1) < 1e-12
    # each count is binomial(5, 1/5): variance 5 * 1/5 * 4/5
    assert counts.var() == pytest.approx(0.8, abs=0.03)


def test_stratified_counts_keep_every_stratum():
    strata = np.array([0, 1, 0, 2, 1, 0])
    counts = resampling.stratified_counts(np.random.default_rng(0), 50, strata)
    for stratum, size in ((0, 3), (1, 2), (2, 1)):
        assert (counts[:, strata == stratum].sum(axis=1) == size).all()
    assert counts[:, 0].std() > 0


def test_shuffle_within_keeps_cells_and_is_uniform():
    cells = np.array([1, 0, 1, 0, 1])
    values = np.array([10, 20, 11, 21, 12])
    drawn = resampling.shuffle_within(np.random.default_rng(0), 6000, cells, values)
    assert (np.sort(drawn[:, cells == 1], axis=1) == [10, 11, 12]).all()
    assert (np.sort(drawn[:, cells == 0], axis=1) == [20, 21]).all()
    orders, counts = np.unique(drawn[:, cells == 1], axis=0, return_counts=True)
    assert len(orders) == 6
    assert stats.chisquare(counts).pvalue > 1e-4


def test_distinct_orders_are_all_distinct_permutations():
    orders = {tuple(order) for order in resampling.distinct_orders(np.array([0, 0, 1, 2]))}
    assert orders == set(itertools.permutations([0, 0, 1, 2]))


@pytest.mark.parametrize("df", [4, 9, 30, 200])
@pytest.mark.parametrize("tail", [0.005, 0.025, 0.1])
def test_t_quantile_is_close_to_scipy(df, tail):
    assert inference._t_quantile(tail, df) == pytest.approx(stats.t.ppf(tail, df), rel=0.02)


def test_interval_is_the_expanded_percentile():
    replicates = np.random.default_rng(0).normal(size=20_000)
    n = 10
    low, high = inference.interval(replicates, 0.95, n)
    half = -stats.t.ppf(0.025, n - 1) * math.sqrt(n / (n - 1))
    assert low == pytest.approx(-half, rel=0.05)
    assert high == pytest.approx(half, rel=0.05)
    big = inference.interval(replicates, 0.95, 10**6)
    assert big[0] == pytest.approx(-1.96, abs=0.05)


def test_interval_leaves_out_undefined_replicates():
    replicates = np.array([[np.nan, 1.0], [2.0, np.nan], [4.0, 3.0]])
    low, high = inference.interval(replicates, 0.5, 1)
    assert low.tolist() == [2.5, 1.5]
    assert high.tolist() == [3.5, 2.5]
    empty = inference.interval(np.full((3, 1), np.nan), 0.95, 5)
    assert np.isnan(empty[0]).all()


@pytest.mark.slow
def test_intervals_cover_the_mean_of_queries():
    """Of 95 % intervals for the mean over 30 skewed per-query values, 93 to 97 % hold the truth."""
    rng, hits, trials = np.random.default_rng(1), 0, 1500
    for _ in range(trials):
        values = rng.beta(2, 5, size=30)[:, None]
        counts = np.concatenate(list(inference.query_counts(rng, 400, 30)))
        drawn = resampling.weighted_means(values, counts)[:, 0]
        low, high = inference.interval(drawn, 0.95, 30)
        hits += low <= 2 / 7 <= high
    assert 0.93 <= hits / trials <= 0.97


def _spread(means):
    return means[..., 0]


def test_exact_permutation_p_counts_all_arrangements():
    codes = np.array([0, 0, 1, 1, 1])
    data = as_ranking_data(None, score=np.arange(5))
    height = np.array([5.0, 4.0, 3.0, 2.0, 1.0])

    def gap(labels):
        return abs(height[labels == 0].mean() - height[labels == 1].mean())

    plan = inference.PermutationPlan(data, codes, None, 1000)
    assert plan.exact
    [(_, labels)] = plan.draws(0)
    assert len(labels) == math.comb(5, 2)
    pool = np.array([gap(row) for row in labels])[:, None, None]
    observed = np.array([[gap(codes)]])
    p, _ = inference.permutation_p(observed, pool, True, _spread, np.random.default_rng(0), 1000)
    # the two highest against the rest, and by symmetry the two lowest: 2 of 10
    assert p == pytest.approx(2 / 10)


def test_exact_arrangements_multiply_over_queries():
    codes = np.array([0, 1, 0, 0, 1])
    data = as_ranking_data(None, qid=[0, 0, 1, 1, 1])
    plan = inference.PermutationPlan(data, codes, None, 1000)
    [(_, labels)] = plan.draws(0)
    assert plan.exact
    assert len({tuple(row) for row in labels}) == 2 * 3
    within = inference.PermutationPlan(data, codes, np.array([0, 1, 0, 0, 1]), 1000)
    [(_, labels)] = within.draws(0)
    assert {tuple(row) for row in labels} == {tuple(codes)}


def test_permutation_test_keeps_its_level_with_small_pools():
    """Under the hypothesis p-values are uniform, also with a pool of 19 per query."""
    rng, p_values = np.random.default_rng(3), []
    for _ in range(400):
        values = rng.exponential(size=(20, 12))
        observed, pool = values[:1].T, values[1:, :, None]
        p_values.append(float(inference.permutation_p(observed, pool, False, _spread, rng, 199)[0]))
    p = np.array(p_values)
    assert abs((p <= 0.05).mean() - 0.05) < 0.035
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_permutation_test_sees_a_strong_effect():
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(50, 30, 1))
    observed = np.full((30, 1), 1.5)
    assert inference.permutation_p(observed, pool, False, _spread, rng, 999)[0] == 1 / 1000


def test_paired_tests_against_enumeration_and_scipy():
    difference = np.array([0.3, -0.1, 0.4, 0.2, 0.05, 0.6])
    p_random, p_t = inference.paired_tests(difference, np.random.default_rng(0))
    flips = [
        abs(sum(s * d for s, d in zip(signs, difference, strict=True)))
        for signs in itertools.product((-1, 1), repeat=6)
    ]
    assert p_random == pytest.approx(np.mean(np.array(flips) >= abs(difference.sum()) - 1e-12))
    assert p_t == pytest.approx(stats.ttest_1samp(difference, 0).pvalue)


def test_paired_randomisation_of_many_queries_agrees_with_t():
    difference = np.random.default_rng(5).normal(0.1, 1.0, size=400)
    p_random, p_t = inference.paired_tests(difference, np.random.default_rng(0), 20_000)
    assert p_random == pytest.approx(p_t, abs=0.02)


def test_paired_randomisation_does_not_depend_on_the_size_of_blocks(monkeypatch):
    """Draws of 16 signs use whole words of random bits, so blocks draw the same ones."""
    difference = np.random.default_rng(5).normal(0.3, 1.0, size=16)
    whole = inference.paired_tests(difference, np.random.default_rng(0), 999)
    for block in (8, 16, 160):  # fewer signs than one draw has; one draw; ten draws
        monkeypatch.setattr(inference, "BLOCK", block)
        assert inference.paired_tests(difference, np.random.default_rng(0), 999) == whole


@pytest.mark.parametrize(("values", "expected"), [([0.2], (math.nan,) * 2), ([0.0] * 5, (1, 1))])
def test_paired_tests_of_nothing(values, expected):
    result = inference.paired_tests(np.array(values), np.random.default_rng(0))
    assert np.allclose(result, expected, equal_nan=True)


def test_holm_against_its_definition():
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.5])
    corrected = inference.holm(p)
    assert np.isnan(corrected[1])
    assert corrected[[0, 3, 2, 4]].tolist() == pytest.approx([0.04, 0.09, 0.09, 0.5])


def test_the_observed_value_is_one_of_its_pool():
    """Two queries, one weaker permutation each: all picks are the observed in 1 draw of 4."""
    observed, pool = np.ones((2, 1)), np.zeros((1, 2, 1))
    p, _ = inference.permutation_p(observed, pool, False, _spread, np.random.default_rng(0), 4000)
    assert p == pytest.approx(0.25, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_queries", "n_items", "size"), [(1, 300, 1000), (3, 100, 99), (40, 100, 99), (4, 20_000, 19)]
)
def test_pools_shrink_with_the_data(n_queries, n_items, size):
    data = as_ranking_data(None, qid=np.repeat(np.arange(n_queries), n_items))
    codes = np.arange(data.n_rows) % 2
    plan = inference.PermutationPlan(data, codes, None, 1000)
    assert plan.pool_size == (size if data.n_rows < 80_000 else max(19, 4 * 2**18 // data.n_rows))
    drawn = sum(len(labels) for queries, labels in plan.draws(0) if queries.start == 0)
    assert drawn == plan.pool_size
