"""Shuffles of labels within lists: moments, draws, p-values and intervals, each by brute force."""

from itertools import permutations, product

import numpy as np
import pytest

from equirank.core import shuffles
from equirank.core.shuffles import bootstrap_t, critical_value, family_p, own_p, shuffle_labels


def statistic(query, labels, side, values, averaged):
    """The slow twin: the statistic of one group and one value, list by list."""
    parts = []
    for q in np.unique(query):
        rows = query == q
        group, other = rows & (side[labels] == 1), rows & (side[labels] == 0)
        if not group.any() or not other.any():
            continue
        if averaged:
            parts.append(values[group].mean() - values[other].mean())
        else:
            both = group | other
            parts.append(values[group].sum() - group.sum() / both.sum() * values[both].sum())
    return np.mean(parts) if averaged else np.sum(parts)


def arrangements(query, cells, labels):
    """All label arrays that shuffling within cells can produce, each as often as it occurs."""
    keys = sorted(set(zip(query.tolist(), cells.tolist(), strict=True)))
    rows = [np.flatnonzero((query == q) & (cells == c)) for q, c in keys]
    for orders in product(*(permutations(r.tolist()) for r in rows)):
        drawn = labels.copy()
        for r, order in zip(rows, orders, strict=True):
            drawn[r] = labels[list(order)]
        yield drawn


@pytest.fixture
def small():
    rng = np.random.default_rng(3)
    query = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    cells = np.array([0, 0, 0, 1, 0, 0, 0, 2, 2])
    labels = np.array([0, 1, 2, 1, 0, 1, 1, 0, 2])
    sides = np.array([[1, 0, 0], [0, 1, 0], [-1, 1, 0]], dtype=np.int8)
    # Whether a label is known must not change within a cell, as in an audit.
    cells = cells * 2 + (labels == 0)
    return query, cells, labels, sides, rng.normal(size=(9, 2))


def test_moments_and_draws_agree_with_all_arrangements(small):
    query, cells, labels, sides, values = small
    averaged = np.array([True, False])
    found = shuffle_labels(query, cells, labels, sides, values, averaged, 4000, 1)
    every = [*arrangements(query, cells, labels)]
    for g, j in product(range(3), range(2)):
        side, column = sides[g], values[:, j]
        exact = np.array([statistic(query, each, side, column, averaged[j]) for each in every])
        observed = statistic(query, labels, side, column, averaged[j])
        assert found.total[g, j] == pytest.approx(observed, abs=1e-12)
        assert found.mean[g, j] == pytest.approx(exact.mean(), abs=1e-12)
        assert found.deviation[g, j] == pytest.approx(exact.std(), abs=1e-9)
        if exact.std() > 1e-9:
            z = (exact - exact.mean()) / exact.std()
            assert found.draws[:, g, j].std() == pytest.approx(1.0, abs=0.05)
            drawn = np.unique(found.draws[:, g, j].round(8))
            assert np.isin(drawn.round(6), z.round(6)).all()


@pytest.mark.parametrize("n_threads", [2, 3, 50])
def test_draws_do_not_depend_on_threads(small, monkeypatch, n_threads):
    *labelled, values = small
    given = *labelled, values[:, [0, 1, 0]], np.array([True, False, False]), 20, 5
    alone = shuffle_labels(*given)
    monkeypatch.setattr(shuffles, "LITTLE_DRAWN", 0)
    monkeypatch.setattr(shuffles, "available_threads", lambda: n_threads)
    assert np.array_equal(shuffle_labels(*given).draws, alone.draws, equal_nan=True)
    assert len(np.unique(alone.draws[:, 1, 1])) > 1


def test_a_statistic_that_no_shuffle_changes_is_undefined():
    query, zero = np.zeros(4, dtype=int), np.zeros(4, dtype=int)
    sides, values = np.array([[1, 0]]), np.full((4, 1), 3.0)
    labels = np.array([0, 1, 0, 1])
    found = shuffle_labels(query, zero, labels, sides, values, np.array([True]), 9, 0)
    assert np.isnan(found.z).all()
    assert np.isnan(family_p(found.z[:, 0], found.draws[:, :, 0])).all()


def test_the_normal_draws_have_the_covariance_of_the_shuffles(monkeypatch):
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(6), 10)
    cells = rng.integers(0, 2, 60)
    labels = rng.integers(0, 3, 60)
    sides = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.int8)
    values = rng.normal(size=(60, 2))
    arguments = (query, cells, labels, sides, values, np.array([True, False]))
    drawn = shuffle_labels(*arguments, 6000, 1)
    monkeypatch.setattr(shuffles, "MOST_DRAWN", 1)
    normal = shuffle_labels(*arguments, 6000, 1)
    assert normal.normal
    assert not drawn.normal
    np.testing.assert_allclose(normal.z, drawn.z)
    both = [np.cov(each.draws.reshape(6000, -1).T) for each in (normal, drawn)]
    np.testing.assert_allclose(both[0], both[1], atol=0.07)


def test_studentized_statistics_divide_by_the_root_of_the_squares():
    query = np.repeat(np.arange(3), 4)
    labels = np.tile([0, 1, 0, 1], 3)
    values = np.random.default_rng(1).normal(size=(12, 1))
    sides = np.array([[1, 0]])
    found = shuffle_labels(
        query, np.zeros(12, dtype=int), labels, sides, values, np.array([True]), 50, 0,
        studentized=True,
    )  # fmt: skip
    parts = found.parts[:, 0, 0]
    assert found.z[0, 0] == pytest.approx(parts.sum() / np.sqrt((parts**2).sum()))
    assert np.abs(found.draws).max() <= np.sqrt(3) + 1e-9


def slow_family(z, draws):
    """Westfall and Young's step-down maxT, from its definition."""
    order = np.argsort(-np.abs(z), kind="stable")
    p, running = np.empty(len(z)), 0.0
    for at, j in enumerate(order):
        rest = np.abs(draws[:, order[at:]]).max(axis=1)
        running = max(running, (1 + (rest >= abs(z[j]) - 1e-9).sum()) / (1 + len(draws)))
        p[j] = running
    return p


def test_family_p_is_step_down_max_t():
    rng = np.random.default_rng(4)
    for _ in range(20):
        z, draws = rng.normal(size=5) * 1.5, rng.normal(size=(99, 5))
        np.testing.assert_allclose(family_p(z, draws), slow_family(z, draws))
        assert (family_p(z, draws) >= own_p(z, draws) - 1e-12).all()


def test_undefined_statistics_are_left_out_of_the_family():
    draws = np.random.default_rng(0).normal(size=(99, 3))
    draws[:, 1] = np.nan
    z = np.array([2.5, np.nan, 0.3])
    found = family_p(z, draws)
    assert np.isnan(found[1])
    np.testing.assert_allclose(found[[0, 2]], family_p(z[[0, 2]], draws[:, [0, 2]]))


def test_the_critical_value_is_the_smallest_statistic_within_the_share():
    draws = np.random.default_rng(0).normal(size=(199, 3))
    z = np.zeros(3)
    critical = critical_value(z, draws, 0.05)
    assert family_p(np.array([critical + 1e-6, 0, 0]), draws)[0] <= 0.05
    assert family_p(np.array([critical - 1e-6, 0, 0]), draws)[0] > 0.05
    assert critical_value(z, draws[:9], 0.05) == np.inf


def test_the_family_error_holds_for_correlated_statistics():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        common = rng.normal(size=(200, 1))
        sample = 0.7 * common + 0.7 * rng.normal(size=(200, 6))
        hits += family_p(sample[0], sample[1:]).min() <= 0.05
    assert hits / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.slow
@pytest.mark.parametrize("logarithm", [False, True])
def test_bootstrap_t_covers(logarithm):
    rng = np.random.default_rng(6)
    covered = 0
    for run in range(200):
        x = rng.gamma(2.0, size=25)
        y = np.ones(25) if not logarithm else rng.gamma(3.0, size=25)
        [(low, high)] = bootstrap_t(x, y, [0.95], 200, run, logarithm=logarithm)
        covered += low <= (2.0 if not logarithm else 2 / 3) <= high
    assert 0.9 <= covered / 200 <= 0.995


def test_bootstrap_t_nests_levels_and_is_undefined_without_resamples():
    x = np.random.default_rng(7).normal(size=30)
    wide, narrow = bootstrap_t(x, np.ones(30), [0.95, 0.9], 500, 0)
    assert wide[0] <= narrow[0] < x.mean() < narrow[1] <= wide[1]
    assert np.isnan(bootstrap_t(x, np.ones(30), [0.95], 0, 0)).all()
    assert np.isnan(bootstrap_t(np.zeros(30), np.ones(30), [0.95], 50, 0, logarithm=True)).all()


def test_many_lists_use_normal_quantiles():
    x = np.random.default_rng(8).normal(size=3000)
    [(low, high)] = bootstrap_t(x, np.ones(3000), [0.95], 10, 0)
    width = 1.96 * x.std() / np.sqrt(3000)
    assert (low, high) == pytest.approx((x.mean() - width, x.mean() + width), abs=1e-5)


def test_infinite_statistics_are_compared():
    """Lists without any spread have them; some draws deal the same lists together."""
    z, draws = np.array([np.inf, 1.0]), np.array([[np.inf, 1.0], [2.0, -3.0], [-np.inf, 0.0]])
    assert own_p(z, draws).tolist() == [3 / 4, 3 / 4]
    assert family_p(z, draws).tolist() == [3 / 4, 3 / 4]
