"""Edges: bins of about equal numbers of rows, frequent values alone, few values one by one."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank.distributed.bin_edges import Ranges, column_edges, make_bins, write_edges
from equirank.distributed.survey import balanced_homes


def counts(values, edges):
    return np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)


@pytest.mark.slow
@given(
    st.lists(st.integers(-30, 30), min_size=1, max_size=200),
    st.integers(2, 40),
)
def test_no_more_bins_than_asked_for_and_none_empty(values, n_bins):
    column = np.array(values, dtype=float)
    edges = column_edges(column, n_bins)
    assert len(edges) + 1 <= n_bins
    assert (np.diff(edges) > 0).all()
    assert counts(column, edges).min() > 0


def test_bins_are_about_equal():
    column = np.random.default_rng(0).normal(size=10_000)
    sizes = counts(column, column_edges(column, 50))
    assert len(sizes) == 50
    assert sizes.min() >= 190
    assert sizes.max() <= 210


def test_a_frequent_value_has_a_bin_of_its_own():
    rng = np.random.default_rng(0)
    column = np.concatenate([np.zeros(5000), rng.normal(size=5000)])
    edges = column_edges(column, 20)
    sizes = counts(column, edges)
    assert 5000 in sizes
    assert len(sizes) == 20
    assert np.sort(sizes)[-2] < 300


def test_missing_values_have_no_part():
    column = np.array([np.nan, 1.0, 2.0, np.nan, 3.0])
    assert column_edges(column, 10).tolist() == [1.5, 2.5]
    assert column_edges(np.full(3, np.nan), 10).tolist() == []


def test_lightgbm_adds_no_bin_of_its_own():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=500), rng.integers(0, 4, 500), rng.random(500)])
    X[::9, 2] = np.nan
    low, high, missing = np.nanmin(X, axis=0), np.nanmax(X, axis=0), np.isnan(X).any(axis=0)
    ranges = Ranges(low, high, missing, ())
    bins = make_bins([X[:200], X[200:]], ranges, {"max_bin": 31}, None, None, True)
    lightgbm = pytest.importorskip("lightgbm")
    own = {"max_bin": 31, "verbosity": -1, **bins.params}
    data = lightgbm.Dataset(X, params=own).construct()
    assert bins.params["max_bin_by_feature"] == [31, 5, 31]
    assert [len(edges) for edges in bins.edges] == [28, 3, 28]
    assert data.feature_num_bin(0) == 31


def test_edges_are_written_without_loss(tmp_path):
    edges = [np.array([0.1, 1 / 3]), np.zeros(0), np.array([1e-300, 2.0])]
    write_edges(tmp_path / "bins.json", edges)
    found = json.loads((tmp_path / "bins.json").read_text())
    assert [part["feature"] for part in found] == [0, 2]
    assert found[0]["bin_upper_bound"] == edges[0].tolist()
    assert found[1]["bin_upper_bound"] == edges[2].tolist()


@pytest.mark.gate
@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 5))
def test_homes_are_in_order_and_balanced(sizes, n_homes):
    home = balanced_homes(np.array(sizes), n_homes)
    assert (np.diff(home) >= 0).all()
    rows = np.bincount(home, weights=sizes, minlength=n_homes)
    assert len(rows) == n_homes
    assert np.abs(rows - sum(sizes) / n_homes).max() <= max(sizes)
