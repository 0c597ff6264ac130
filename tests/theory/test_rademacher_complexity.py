"""Rademacher complexity against all coins and all stumps."""

from itertools import product

import numpy as np
import pytest

from equirank import DataError
from equirank.theory import rademacher_complexity


def stumps(X):
    """All functions 1[x > theta] on the rows, a missing value on either side."""
    outputs = []
    for column in X.T:
        known = ~np.isnan(column)
        for theta in [-np.inf, *np.unique(column[known])]:
            inside = known & (np.where(known, column, 0.0) > theta)
            outputs += [inside, inside | ~known]
    return np.array(outputs, dtype=float)


def exact(outputs):
    """The expectation over all 2^m coins."""
    signs = np.array(list(product([-1, 1], repeat=outputs.shape[1])))
    return np.abs(signs @ outputs.T).max(axis=1).mean() / outputs.shape[1]


@pytest.mark.parametrize("seed", range(6))
def test_stumps_agree_with_all_coins(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(8, 3)).astype(float)
    if seed % 2:
        X[rng.random(X.shape) < 0.3] = np.nan
    value, error = rademacher_complexity(X, n_draws=8000, random_state=seed)
    assert abs(value - exact(stumps(X))) < 4 * error


def test_features_agree_with_all_coins():
    X = np.random.default_rng(1).normal(size=(9, 2))
    scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    value, error = rademacher_complexity(X, weak_ranker="feature", n_draws=8000, random_state=0)
    assert abs(value - exact(scaled.T)) < 4 * error
    gap = np.where(np.arange(9)[:, None] == 0, np.nan, X)
    assert np.isfinite(rademacher_complexity(gap, weak_ranker="feature", random_state=0)).all()


def test_a_column_without_values_is_a_constant():
    X = np.full((6, 1), np.nan)
    value, error = rademacher_complexity(X, n_draws=8000, random_state=0)
    assert abs(value - exact(np.ones((1, 6)))) < 4 * error


@pytest.mark.slow
def test_it_shrinks_with_the_root_of_the_rows_and_repeats():
    rng = np.random.default_rng(0)
    few = rademacher_complexity(rng.random((400, 5)), random_state=1)[0]
    many = rademacher_complexity(rng.random((40_000, 5)), n_draws=30, random_state=1)[0]
    assert 8 < few / many < 12
    X = rng.random((50, 2))
    assert rademacher_complexity(X, random_state=3) == rademacher_complexity(X, random_state=3)


def test_bad_tables_are_refused():
    for bad in (np.empty((0, 2)), np.zeros(3), np.array([[np.inf]])):
        with pytest.raises(DataError, match="X must be a table"):
            rademacher_complexity(bad)
    with pytest.raises(DataError, match="weak_ranker must be one of"):
        rademacher_complexity([[0.0]], weak_ranker="tree")
