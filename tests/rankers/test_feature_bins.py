"""Bins: exact thresholds where there are few values, quantiles where there are many, any values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.rankers import feature_bins as binning
from equirank.rankers.feature_bins import Workers, bin_features

ONE = Workers(1)
NUMBERS = st.one_of(
    st.floats(-1e300, 1e300), st.floats(-1, 1), st.sampled_from([0.0, 1.0, 5e-324, np.nan])
)


@pytest.mark.slow
@given(st.lists(NUMBERS, min_size=1, max_size=40), st.sampled_from([None, 2, 5, 255]))
@settings(max_examples=150)
def test_a_code_counts_the_thresholds_below_a_value(values, max_bins):
    X = np.array(values)[:, None]
    bins = bin_features(X, np.arange(len(X)), max_bins, 0, ONE)
    edges = bins.edges[0, : bins.n_edges[0]]
    assert (np.diff(edges) > 0).all()
    expected = np.where(np.isnan(X[:, 0]), bins.missing, (edges[None] < X).sum(axis=1))
    assert np.array_equal(bins.codes[0], expected)
    assert bins.has_missing[0] == np.isnan(X).any()
    distinct = np.unique(X[~np.isnan(X)])
    if max_bins is None or len(distinct) <= max_bins:
        assert len(edges) == max(0, len(distinct) - 1)
        assert all(np.unique(bins.codes[0][~np.isnan(X[:, 0])]) == np.arange(len(distinct)))
    else:
        assert len(edges) < max_bins
    present = np.unique(bins.codes[0][~np.isnan(X[:, 0])])
    assert len(present) in (0, len(edges) + 1)  # no stump is constant


def test_quantiles_hold_even_shares():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(5000, 2)).astype(np.float32)
    bins = bin_features(X, rng.permutation(5000), 20, 0, ONE)
    assert bins.codes.dtype == np.uint8
    assert bins.n_edges.tolist() == [19, 19]
    assert (np.bincount(bins.codes[0], minlength=20)[:20] == 250).all()


def test_all_thresholds_of_many_values():
    X = np.arange(70_000, dtype=np.float64)[:, None]
    bins = bin_features(X, np.arange(70_000), None, 0, ONE)
    assert bins.codes.dtype == np.int32
    assert np.array_equal(bins.codes[0], np.arange(70_000))


def test_a_sample_gives_quantiles_but_never_hides_a_rare_value(monkeypatch):
    monkeypatch.setattr(binning, "SAMPLE", 100)
    X = np.zeros((1000, 2))
    X[7, 0] = 1.0
    X[:, 1] = np.arange(1000)
    bins = bin_features(X, np.arange(1000), 10, 3, ONE)
    assert bins.n_edges[0] == 1
    assert bins.codes[0].sum() == bins.codes[0][7] == 1
    with Workers(2) as two:
        again = bin_features(X, np.arange(1000), 10, 3, two)
    assert np.array_equal(bins.edges, again.edges)
    assert (np.bincount(bins.codes[1], minlength=10)[:10] > 30).all()


def test_neighbouring_numbers_are_told_apart():
    low = 1.0
    high = np.nextafter(low, 2.0)
    bins = bin_features(np.array([[low], [high]]), np.arange(2), None, 0, ONE)
    assert bins.codes[0].tolist() == [0, 1]
    assert low <= bins.edges[0, 0] < high
