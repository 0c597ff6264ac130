"""Active pairs: sums over sorted scores against pairs looked at one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.core.inputs import frozen
from equirank.kernels.margin_pairs import active_sums, listed_sums, sort_lists


def sorted_lists(score, offsets, order=None):
    score, n = score.copy(), len(score)
    order = np.arange(n, dtype=np.int32) if order is None else order
    keys = np.empty(n)
    sort_lists(score, offsets, 0, len(offsets) - 1, order, keys)
    return score, order, keys


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 130), min_size=1, max_size=5),
    seed=st.integers(0, 2**31),
    spread=st.sampled_from([1.0, 30.0, 1e6]),
)
def test_lists_are_sorted_from_any_order(sizes, seed, spread):
    rng = np.random.default_rng(seed)
    offsets = frozen(np.concatenate([[0], np.cumsum(sizes)]))
    score = np.round(spread * rng.normal(size=offsets[-1]))
    lists = [np.arange(*offsets[q : q + 2]) for q in range(len(sizes))]
    first = np.concatenate([rng.permutation(rows) for rows in lists])
    centred, order, keys = sorted_lists(score, offsets, first.astype(np.int32))
    for q in range(len(sizes)):
        rows = slice(*offsets[q : q + 2])
        assert sorted(order[rows]) == list(range(*offsets[q : q + 2]))
        assert np.array_equal(score[order[rows]], np.sort(score[rows]))
        middle = np.sort(score[rows])[sizes[q] // 2]
        assert np.array_equal(keys[rows], np.sort(score[rows]) - middle)
        assert np.array_equal(centred[rows], score[rows] - middle)


def enumerated(score, offsets, grade, equal, p, q, margin, slope, value):
    """Look at every pair."""
    pull, totals = np.zeros(len(score)), np.zeros((len(offsets) - 1, 3))
    for at in range(len(offsets) - 1):
        for a in range(*offsets[at : at + 2]):
            for b in range(*offsets[at : at + 2]):
                wanted = grade[b] == grade[a] if equal else grade[b] < grade[a]
                if wanted and score[a] - score[b] < margin:
                    c, d = p[a] * q[b], value[a] - value[b]
                    pull[a] += c * (d - slope)
                    pull[b] -= c * (d - slope)
                    totals[at] += c, c * d, c * d * d
    return pull, totals


@pytest.mark.slow
@pytest.mark.parametrize("kind", [(), (0,), (0, 0)])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("n_grades", [1, 2, 5, 30])
def test_sums_are_those_of_enumerated_pairs(kind, weighted, n_grades):
    rng = np.random.default_rng(n_grades)
    offsets = frozen(np.array([0, 1, 25, 60]))
    n = offsets[-1]
    score = np.round(4 * rng.normal(size=n)) / 4  # many ties, many margins of exactly 1
    grade, value = rng.integers(0, n_grades, n).astype(np.int32), rng.normal(size=n)
    p, q = rng.random((2, n)) if weighted else np.ones((2, n))
    if kind == ():
        p = np.where(rng.random(n) < 0.5, p, 0.0)  # no row is preferred to itself
        q = np.where(p > 0, 0.0, q)
    for margin in (1.0, 0.5, 0.0):
        _, order, keys = sorted_lists(score, offsets)
        found = np.zeros(n), np.zeros((3, 3))
        levels = np.full(3, n_grades)
        for begin, end in ((0, 2), (2, 3)):
            active_sums(
                order, keys, offsets, grade, levels, kind, p, q, margin, 0.7, value,
                begin, end, *found,
            )  # fmt: skip
        wanted = enumerated(score, offsets, grade, kind == (), p, q, margin, 0.7, value)
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_listed_sums_are_those_of_enumerated_pairs():
    rng = np.random.default_rng(0)
    n = 20
    score, value = np.round(2 * rng.normal(size=n)) / 2, rng.normal(size=n)
    grade = rng.integers(0, 3, n).astype(np.int32)
    p, q = rng.random((2, n))
    a, b = np.nonzero(grade[:, None] > grade)
    starts = np.searchsorted(a, np.arange(n + 1))
    pull, weight = np.zeros(n), p[a] * q[b]
    given = (starts, b.astype(np.int32), weight, score, 1.0, 0.7, value)
    totals = np.sum([listed_sums(*given, *part, pull) for part in ((0, 7), (7, n))], axis=0)
    wanted = enumerated(score, np.array([0, n]), grade, False, p, q, 1.0, 0.7, value)
    np.testing.assert_allclose(pull, wanted[0], atol=1e-12)
    np.testing.assert_allclose(totals, wanted[1][0])
