"""Compiled loops of metrics against plain loops over pairs."""

from itertools import pairwise
from math import dist

import numpy as np
import pytest

from equirank.kernels.metric_loops import broken_pairs, positive_parts


@pytest.mark.parametrize("slope", [0.3, 1.0, 4.0])
def test_agrees_with_all_pairs(slope):
    rng = np.random.default_rng(0)
    sizes = [0, 1, 2, 30, 0, 12]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    points = rng.integers(0, 3, (offsets[-1], 3)) / 4
    score = rng.integers(0, 9, offsets[-1]) / 8
    wanted = [
        sum(
            abs(score[i] - score[j]) > slope * dist(points[i], points[j]) + 1e-12
            for i in range(begin, end)
            for j in range(begin, i)
        )
        for begin, end in pairwise(offsets)
    ]
    assert broken_pairs(points, score, offsets, slope).tolist() == wanted
    assert wanted[3] > 0


def test_the_bound_itself_is_kept():
    points, offsets = np.array([[0.0], [0.5]]), np.array([0, 2])
    assert broken_pairs(points, np.array([0.0, 0.5]), offsets, 1.0).tolist() == [0]
    near = np.array([[0.0], [0.3]])
    assert 0.1 + 0.2 > 0.3
    assert broken_pairs(near, np.array([0.0, 0.1 + 0.2]), offsets, 1.0).tolist() == [0]
    assert broken_pairs(points, np.array([0.0, 0.5 + 1e-9]), offsets, 1.0).tolist() == [1]


def call(ratio, merit, offsets):
    """Rank and order as the kernel wants them, by plain sorting."""
    rank = np.empty(len(ratio), dtype=np.int64)
    by_merit = []
    for begin, end in pairwise(offsets):
        rows = range(begin, end)
        for place, row in enumerate(sorted(rows, key=lambda i: ratio[i])):
            rank[row] = place
        by_merit += sorted(rows, key=lambda i: merit[i])
    order = np.array(by_merit, dtype=np.int64)
    return positive_parts(ratio, rank, merit, order, np.array(offsets, dtype=np.int64))


def brute(ratio, merit, begin, end):
    pairs = [
        max(0.0, ratio[i] - ratio[j])
        for i in range(begin, end)
        for j in range(begin, end)
        if i != j and merit[i] >= merit[j]
    ]
    return sum(pairs), len(pairs)


def test_positive_parts_agree_with_all_pairs():
    rng = np.random.default_rng(0)
    for grades in (1, 2, 5, 1000):
        sizes = [0, 1, 2, 0, 3, 17, 64, 65, 1, 0]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        ratio = rng.random(offsets[-1]) if grades != 2 else rng.integers(0, 4, offsets[-1]) / 4
        merit = rng.integers(1, grades + 1, offsets[-1]).astype(float)
        value, pairs = call(ratio, merit, offsets)
        for q, (begin, end) in enumerate(pairwise(offsets)):
            total, n = brute(ratio, merit, begin, end)
            assert pairs[q] == n
            assert np.isclose(value[q], total, rtol=1e-12, atol=1e-12)


def test_equal_merits_count_both_ways():
    value, pairs = call(np.array([1.0, 3.0]), np.array([2.0, 2.0]), [0, 2])
    assert (value[0], pairs[0]) == (2.0, 2.0)
    value, pairs = call(np.array([1.0, 3.0]), np.array([2.0, 1.0]), [0, 2])
    assert (value[0], pairs[0]) == (0.0, 1.0)


def test_nothing():
    value, pairs = call(np.empty(0), np.empty(0), [0, 0])
    assert value.tolist() == pairs.tolist() == [0.0]
