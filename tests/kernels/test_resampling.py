from itertools import permutations

import numpy as np
import pytest

from equirank.kernels.resampling import (
    bootstrap_counts,
    distinct_orders,
    picked_means,
    shuffle_within,
    stratified_counts,
    weighted_means,
)


def test_weighted_means_leave_out_nan():
    values = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    means = weighted_means(values)
    assert means[0] == 2.0
    assert np.isnan(means[1])


@pytest.mark.parametrize("with_nan", [False, True])
def test_weighted_means_of_replicates_are_means_of_repeated_rows(with_nan):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(7, 3))
    if with_nan:
        values[rng.random(values.shape) < 0.4] = np.nan
    counts = rng.integers(0, 4, size=(20, 7))
    counts[0] = 0
    got = weighted_means(values, counts)
    assert got.shape == (20, 3)
    for replicate, row in enumerate(counts):
        for column in range(3):
            drawn = np.repeat(values[:, column], row)
            drawn = drawn[~np.isnan(drawn)]
            if len(drawn):
                assert got[replicate, column] == pytest.approx(drawn.mean())
            else:
                assert np.isnan(got[replicate, column])


def test_bootstrap_counts():
    counts = bootstrap_counts(np.random.default_rng(0), 4000, 5)
    assert counts.shape == (4000, 5)
    assert (counts.sum(axis=1) == 5).all()
    # binomial: mean 1, variance 4/5; six standard errors
    assert abs(counts.mean(axis=0) - 1).max() < 6 * (0.8 / 4000) ** 0.5
    assert counts.var(axis=0) == pytest.approx(0.8, abs=0.12)
    assert abs(np.corrcoef(counts[1:, 0], counts[:-1, 0])[0, 1]) < 0.1


def test_same_seed_same_counts():
    draws = [bootstrap_counts(np.random.default_rng(3), 10, 6) for _ in range(2)]
    assert (draws[0] == draws[1]).all()


def test_stratified_counts_keep_the_size_of_each_stratum():
    strata = np.array([2, 0, 2, 2, 0, 1])
    counts = stratified_counts(np.random.default_rng(0), 500, strata)
    for stratum, size in [(0, 2), (1, 1), (2, 3)]:
        assert (counts[:, strata == stratum].sum(axis=1) == size).all()
    assert counts[:, 0].std() > 0


def test_shuffle_within_permutes_each_cell():
    cells = np.array([1, 0, 1, 1, 0, 3])
    values = np.array([10, 20, 11, 12, 21, 30])
    drawn = shuffle_within(np.random.default_rng(0), 6000, cells, values)
    assert drawn.shape == (6000, 6)
    for cell in (0, 1, 3):
        wanted = sorted(values[cells == cell].tolist())
        assert (np.sort(drawn[:, cells == cell], axis=1) == wanted).all()
    # every order equally often: six orders of three, 1000 each
    seen = [tuple(row) for row in drawn[:, cells == 1].tolist()]
    for order in permutations([10, 11, 12]):
        assert 850 < seen.count(order) < 1150
    # cells are shuffled independently of each other
    first = drawn[:, 1] == 20
    assert 0.4 < (drawn[first, 0] == 10).mean() * 3 / 2 < 0.6


def test_shuffle_within_keeps_the_type():
    drawn = shuffle_within(
        np.random.default_rng(0), 2, np.array([0, 0]), np.array([1, 2], dtype=np.int32)
    )
    assert drawn.dtype == np.int32


def test_shuffle_within_draws_anew_in_each_replicate():
    drawn = shuffle_within(np.random.default_rng(0), 200, np.zeros(5, int), np.arange(5))
    assert len({tuple(row) for row in drawn.tolist()}) > 60


def test_picked_means_average_one_value_of_each_row():
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(3, 2, 1))
    got = picked_means(np.random.default_rng(1), 5000, pool)
    assert got.shape == (5000, 1)
    possible = [(pool[a, 0, 0] + pool[b, 1, 0]) / 2 for a in range(3) for b in range(3)]
    near = np.isclose(got, np.array(possible)[None, :]).sum(axis=0)
    assert near.sum() == 5000
    assert (abs(near / 5000 - 1 / 9) < 0.03).all()


def test_picked_means_leave_out_nan():
    pool = np.array([[[1.0], [np.nan], [3.0]]])
    assert (picked_means(np.random.default_rng(0), 4, pool) == 2.0).all()
    assert np.isnan(picked_means(np.random.default_rng(0), 4, np.full((2, 3, 1), np.nan))).all()


@pytest.mark.parametrize("values", [[0], [0, 1], [1, 1], [0, 1, 1], [2, 0, 1, 1], [1, 1, 0, 0]])
def test_distinct_orders(values):
    got = [tuple(order.tolist()) for order in distinct_orders(np.array(values))]
    assert len(got) == len(set(got))
    assert set(got) == set(permutations(values))
