from itertools import pairwise

import numpy as np
import pytest

from equirank.core.inputs import frozen
from equirank.kernels.metric_loops import (
    cell_pair_counts,
    exclusive_sums,
    exponential_sums,
    group_pair_counts,
    running_sums,
    separable_sums,
)
from equirank.kernels.pair_counts import (
    count_group_pairs,
    grade_codes,
    largest_with_others,
    match_pairs,
    ordered_pairs,
    truth_order,
)

OFFSETS = frozen(np.array([0, 1, 4, 9, 11, 30]))


def listed(offsets):
    """All ordered pairs of each list."""
    return [
        (a, b)
        for first, last in pairwise(offsets)
        for a in range(first, last)
        for b in range(first, last)
        if a != b
    ]


@pytest.mark.parametrize("most", [1, 3, 50, 10**6])
def test_ordered_pairs_lists_each_once(most, monkeypatch):
    monkeypatch.setattr("equirank.kernels.pair_counts.PAIRS", most)
    parts = list(ordered_pairs(OFFSETS))
    found = [pair for a, b in parts for pair in zip(a.tolist(), b.tolist(), strict=True)]
    assert found == listed(OFFSETS)
    # a row's pairs stay together, so a part may be as long as the longest list
    assert all(len(a) <= max(most, 18) for a, _ in parts)


def test_ordered_pairs_of_single_rows():
    assert [
        pair for a, b in ordered_pairs(np.array([0, 1, 2])) for pair in zip(a, b, strict=True)
    ] == []


@pytest.mark.parametrize(
    "y",
    [
        [0.0, 1.0, 0.0, 2.0, 2.0],
        [0.5, 0.1, 0.1, 7.0, 0.0],
        [100.0, 1.0, 100.0, 0.0, 3.0],
        [32.0, 0.0, 1.0, 0.0, 33.0],
    ],
)
def test_grade_codes_compare_as_relevance_does(y):
    y, offsets = np.array(y), np.array([0, 3, 5])
    codes = grade_codes(y, offsets)
    assert codes.dtype == np.int64
    assert codes.min() >= 0
    for first, last in ((0, 3), (3, 5)):
        part, grade = y[first:last], codes[first:last]
        assert ((part[:, None] > part) == (grade[:, None] > grade)).all()
    assert codes.max() <= max(32, len(y))


def test_truth_order():
    order, begin, end = truth_order(np.array([1.0, 2.0, 2.0, 0.0]), np.array([0, 3, 4]))
    assert order.tolist() == [1, 2, 0, 3]
    assert begin.tolist() == [0, 0, 2, 3]
    assert end.tolist() == [2, 2, 3, 4]
    order, begin, end = truth_order(np.array([1.0, 2.0, 0.5]), np.array([0, 3]))
    assert (order.tolist(), begin.tolist(), end.tolist()) == ([1, 0, 2], [0, 1, 2], [1, 2, 3])


def test_match_pairs_with_rows_repeated_and_absent():
    row = np.array([7, 3, 7, 5, 3])
    query = np.array([0, 0, 0, 1, 1])
    a, b = np.array([3, 3, 5, 7, 7, 9]), np.array([5, 7, 3, 3, 7, 3])
    cost = np.arange(6.0)
    slots = {
        (int(x), int(y)): c for x, y, c in zip(*match_pairs(row, query, a, b, cost), strict=True)
    }
    # query 0: 3 over 7 (two copies), 7 over 3, a row over its copy; query 1: 3 over 5, 5 over 3
    wanted = {
        (1, 0): 1,
        (1, 2): 1,
        (0, 1): 3,
        (2, 1): 3,
        (0, 2): 4,
        (2, 0): 4,
        (4, 3): 0,
        (3, 4): 2,
    }
    assert slots == wanted


def test_match_pairs_of_an_empty_list():
    empty = np.array([], dtype=np.int64)
    found = match_pairs(np.array([0, 1]), np.array([0, 0]), empty, empty, np.array([]))
    assert [len(part) for part in found] == [0, 0, 0]


def test_sums_over_the_other_rows():
    rng = np.random.default_rng(0)
    values = rng.random(30)
    pairs = listed(OFFSETS)
    others, larger, before = np.zeros(30), np.zeros(30), np.zeros(30)
    for a, b in pairs:
        others[a] += values[b]
        larger[a] += max(values[a], values[b])
        before[a] += values[b] * (b < a)
    np.testing.assert_allclose(exclusive_sums(values, OFFSETS), others)
    np.testing.assert_allclose(largest_with_others(values, OFFSETS), larger)
    np.testing.assert_allclose(running_sums(values, OFFSETS), before)


def test_nothing_is_subtracted():
    values = np.array([1e20, 1.0, 2.0])
    assert exclusive_sums(values, np.array([0, 3])).tolist() == [3.0, 1e20 + 2, 1e20 + 1]


def random_case(seed, n_grades, n_groups=3, tied=True):
    rng = np.random.default_rng([seed, n_grades])
    grade = rng.integers(0, n_grades, 30)
    begin = np.arange(30)
    if tied:
        for at in range(1, 30):
            if at not in OFFSETS and rng.random() < 0.4:
                begin[at] = begin[at - 1]
    end = np.array([int((begin == b).nonzero()[0][-1]) + 1 for b in begin])
    return grade, begin, end, rng.integers(0, n_groups, 30), rng


@pytest.mark.slow
@pytest.mark.parametrize("n_grades", [1, 2, 5, 11, 12, 13, 30])
@pytest.mark.parametrize("tied", [True, False])
def test_separable_sums(n_grades, tied):
    for seed in range(20):
        grade, begin, end, _, rng = random_case(seed, n_grades, tied=tied)
        u, v = rng.random(30), rng.random(30)
        query = np.repeat(np.arange(5), np.diff(OFFSETS))
        above, beside, total = np.zeros(5), np.zeros(5), np.zeros(5)
        for a, b in listed(OFFSETS):
            if grade[a] > grade[b]:
                term = u[a] * v[b]
                total[query[a]] += term
                above[query[a]] += term * (begin[b] < begin[a])
                beside[query[a]] += term * (begin[b] == begin[a])
        got = separable_sums(u, v, grade, end, OFFSETS)
        np.testing.assert_allclose(got, [above, beside, total])


@pytest.mark.slow
@pytest.mark.parametrize("n_grades", [1, 2, 5, 11, 12, 13, 30])
@pytest.mark.parametrize("tied", [True, False])
def test_group_pair_counts_both_ways(n_grades, tied):
    for seed in range(20):
        grade, begin, end, code, _ = random_case(seed, n_grades, tied=tied)
        query = np.repeat(np.arange(5), np.diff(OFFSETS))
        wanted = np.zeros((3, 5, 3, 3), dtype=int)
        for a, b in listed(OFFSETS):
            if grade[a] > grade[b]:
                cell = (query[a], code[a], code[b])
                wanted[(0, *cell)] += begin[b] < begin[a]
                wanted[(1, *cell)] += begin[b] == begin[a]
                wanted[(2, *cell)] += 1
        by_tree = group_pair_counts(code.astype(np.int32), 3, grade, end, OFFSETS)
        by_cell = cell_pair_counts(code * n_grades + grade, 3, n_grades, end, OFFSETS)
        either = count_group_pairs(code.astype(np.int32), 3, grade.astype(float), end, OFFSETS)
        for got in (by_tree, by_cell, either):
            assert (np.array(got) == wanted).all()


def test_exponential_sums():
    for seed in range(20):
        grade, _, _, _, rng = random_case(seed, 4)
        for first, last in pairwise(OFFSETS):
            grade[first:last].sort()
        u, v, score = rng.random(30), rng.random(30) * (rng.random(30) < 0.8), rng.normal(size=30)
        query = np.repeat(np.arange(5), np.diff(OFFSETS))
        value, total = np.zeros(5), np.zeros(5)
        for a, b in listed(OFFSETS):
            if grade[a] > grade[b]:
                value[query[a]] += u[a] * v[b] * np.exp(score[b] - score[a])
                total[query[a]] += u[a] * v[b]
        got = exponential_sums(u, v, score, grade, OFFSETS)
        np.testing.assert_allclose(got, [value, total])
