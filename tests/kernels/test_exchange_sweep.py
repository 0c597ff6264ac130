"""The sweep against every order that exists, found by sorting between all exchange angles."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import sized

from equirank.kernels.exchange_sweep import advance, begin, sweep_counts, sweep_exposure

pytestmark = pytest.mark.slow

RIGHT = np.pi / 2


def all_orders(first, second):
    """Return each sector's angles and its order: angles of all pairs, and a sort in the middle."""
    n = len(first)
    angles = {0.0, RIGHT}
    for i in range(n):
        for j in range(n):
            ahead, behind = first[i] - first[j], second[j] - second[i]
            if ahead > 0 and behind > 0:
                angles.add(float(np.arctan2(ahead, behind)))
    ends = sorted(angles)
    kept = [ends[0]]
    for angle in ends[1:]:
        if angle - kept[-1] > 1e-9:
            kept.append(angle)
    kept[-1] = RIGHT
    for low, high in pairwise(kept):
        middle = (low + high) / 2
        score = np.cos(middle) * first + np.sin(middle) * second
        yield low, high, np.argsort(-score.round(12), kind="stable")


def brute(first, second, fair):
    found = []
    for low, high, order in all_orders(first, second):
        if fair(order):
            if found and found[-1][1] == low:
                found[-1][1] = high
            else:
                found.append([low, high])
    return np.array(found).reshape(-1, 2)


POINTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9)


@pytest.mark.slow
@settings(max_examples=sized(50, 150))
@given(POINTS, st.integers(0, 2**16))
def test_counts_on_grids_with_ties_lines_and_copies(points, seed):
    rng = np.random.default_rng(seed)
    first, second = np.array(points, dtype=float).T.copy()
    n = len(first)
    codes = rng.integers(0, 2, n)
    depth = int(rng.integers(1, n + 1))
    low = rng.integers(0, 2, (2, depth))
    high = low + rng.integers(0, 3, (2, depth))

    def fair(order):
        counts = np.cumsum(codes[order[:depth]] == np.array([[0], [1]]), axis=1)
        return bool(((counts >= low) & (counts <= high)).all())

    found, _ = sweep_counts(first, second, *begin(first, second), codes, low, high)
    wanted = brute(first, second, fair)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=1e-8)


@pytest.mark.slow
@settings(max_examples=sized(50, 100))
@given(POINTS, st.integers(0, 2**16))
def test_exposure_on_grids(points, seed):
    rng = np.random.default_rng(seed)
    first, second = np.array(points, dtype=float).T.copy()
    n = len(first)
    codes, limit = rng.integers(0, 3, n), 0.3 * rng.random()
    exposure = 1 / np.log2(np.arange(2, n + 2))
    watched = np.array([True, False, True])

    def fair(order):
        seen = np.empty(n)
        seen[order] = exposure
        gaps = [
            abs(seen[codes == g].mean() - seen[codes != g].mean())
            for g in (0, 2)
            if 0 < (codes == g).sum() < n
        ]
        return max(gaps, default=0.0) <= limit

    found, _ = sweep_exposure(
        first, second, *begin(first, second), codes, exposure, watched, limit + 1e-12
    )
    wanted = brute(first, second, fair)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_every_order_of_random_points_is_passed_once():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 30))
    order, tree = begin(first, second)
    wanted = list(all_orders(first, second))
    assert order.tolist() == wanted[0][2].tolist()
    for low, _, expected in wanted[1:]:
        angle, passed = advance(first, second, order, tree, 30)
        assert angle == pytest.approx(low, abs=1e-12)
        assert passed == 1
        assert order.tolist() == expected.tolist()
    assert advance(first, second, order, tree, 30) == (RIGHT, 0)
    low, high = np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64)
    found, n_orders = sweep_counts(
        first, second, *begin(first, second), np.zeros(30, dtype=np.int64), low, high
    )
    assert n_orders == len(wanted)
    np.testing.assert_allclose(found, [[0, RIGHT]])


def test_a_shallow_look_stops_only_where_the_top_changes():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 25))
    order, tree = begin(first, second)
    tops = [order[:3].tolist()]
    while True:
        angle, _ = advance(first, second, order, tree, 3)
        if angle >= RIGHT:
            break
        tops.append(order[:3].tolist())
    wanted = [expected[:3].tolist() for _, _, expected in all_orders(first, second)]
    distinct = [wanted[0]]
    for top in wanted[1:]:
        if top != distinct[-1]:
            distinct.append(top)
    assert tops == distinct


def test_two_equal_points_never_exchange():
    first, second = np.ones(2), np.ones(2)
    order, tree = begin(first, second)
    assert advance(first, second, order, tree, 2) == (RIGHT, 0)
    assert order.tolist() == [0, 1]
