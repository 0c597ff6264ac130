"""Sums over pairs without listing them, against sums over listed pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.kernels import pair_factors
from equirank.kernels.pair_factors import RunTerms, best_first, least_margin, reached, shift_scores


def run_sums(score, p, q, weighted, runs, begin, end, up, down, *sums):
    terms = RunTerms(p, q, weighted, runs, up, down)
    pair_factors.run_sums(score, terms, begin, end, *sums)


def side_sums(codes, cut, missing, side, p, q, weighted, runs, begin, end, up, down, *sums):
    terms = RunTerms(p, q, weighted, runs, up, down)
    pair_factors.side_sums(codes, cut, missing, side, terms, begin, end, *sums)


def item_potentials(p, q, weighted, runs, begin, end, up, down, *potentials):
    terms = RunTerms(p, q, weighted, runs, up, down)
    pair_factors.item_potentials(terms, begin, end, *potentials)


@st.composite
def layouts(draw):
    """Rows in runs of equal list, grade and cell, some runs cut in two."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(1, 25))
    rows = sorted(zip(*(rng.integers(0, k, size=n) for k in (3, 4, 3)), strict=True))
    query, grade, cell = np.array(rows).T
    new = np.any(np.diff(np.array(rows), axis=0) != 0, axis=1) | (rng.random(n - 1) < 0.2)
    runs = np.concatenate([[0], np.flatnonzero(new) + 1, [n]])
    starts = runs[:-1]
    level = np.concatenate([[True], (np.diff(query[starts]) != 0) | (np.diff(grade[starts]) != 0)])
    first_of_list = np.concatenate([[True], np.diff(query[starts]) != 0])
    levels = np.append(np.flatnonzero(level), len(starts))
    lists = np.append(np.searchsorted(levels, np.flatnonzero(first_of_list)), len(levels) - 1)
    size = draw(st.sampled_from([1.0, 50.0, 1e4]))
    return {
        "runs": runs, "levels": levels, "lists": lists, "cell": cell[starts].astype(np.int64),
        "query": query, "grade": grade, "cells": cell, "score": size * rng.normal(size=n),
        "factor": rng.random((3, 3)) * (rng.random((3, 3)) < 0.7), "rng": rng,
    }  # fmt: skip


def pairs_of(way, lay):
    """Rows (i, j) of one list where j's grade lies below, at or above i's."""
    n = len(lay["query"])
    for i in range(n):
        for j in range(n):
            if (
                lay["query"][i] == lay["query"][j]
                and np.sign(lay["grade"][j] - lay["grade"][i]) == way
            ):
                yield i, j


def sums_of(lay, p, q):
    n, n_runs = len(lay["score"]), len(lay["runs"]) - 1
    up, down, low, high = np.empty(n), np.empty(n), np.empty(n_runs), np.empty(n_runs)
    above, below = np.empty((len(p), n_runs)), np.empty((len(p), n_runs))
    run_sums(lay["score"], p, q, True, lay["runs"], 0, n_runs, up, down, low, high, above, below)
    return up, down, low, high, above, below


@pytest.mark.slow
@given(layouts(), st.sampled_from([-1, 0, 1]))
@settings(max_examples=60)
def test_what_runs_meet_and_what_rows_weigh(lay, way):
    n, n_runs = len(lay["score"]), len(lay["runs"]) - 1
    p, q = lay["rng"].uniform(0.5, 2, (2, n)), lay["rng"].uniform(0.5, 2, (2, n))
    up, down, low, high, above, below = sums_of(lay, p, q)
    met = np.full((2, n_runs), -np.inf)
    where = (lay["lists"], lay["levels"], lay["cell"], 0, len(lay["lists"]) - 1)
    reached(way, lay["factor"], below, high, *where, met)
    run_of = np.repeat(np.arange(n_runs), np.diff(lay["runs"]))
    logs = [
        (i, j, t, np.log(f) + np.log(p[t, i] * q[t, j]) + lay["score"][j] - lay["score"][i])
        for i, j in pairs_of(way, lay)
        for t in range(2)
        if (f := lay["factor"][lay["cells"][i], lay["cells"][j]]) > 0
    ]
    if not logs:
        assert (met == -np.inf).all()
        return
    reference = max(value for *_, value in logs)
    better, worse = np.zeros(n), np.zeros(n)
    for i, j, _, value in logs:
        better[i] += np.exp(value - reference)
        worse[j] += np.exp(value - reference)
    with np.errstate(under="ignore"):
        as_better = np.exp(met - low - reference)
    weight = sum(p[t] * up * as_better[t, run_of] for t in range(2))
    assert np.allclose(weight, better, atol=1e-9)
    back = np.full((2, n_runs), -np.inf)
    reached(-way, np.ascontiguousarray(lay["factor"].T), above, -low, *where, back)
    out = np.empty(n)
    as_worse = np.exp(back + high - reference)
    item_potentials(p, q, True, lay["runs"], 0, n_runs, up, down, as_better, as_worse, out)
    assert np.allclose(out, better - worse, atol=1e-9)


@pytest.mark.parametrize("high", [1.0, 900.0, 1e5])
def test_a_high_score_of_a_cell_without_factor_hides_no_pair(high):
    """Grades 0, 1 and 2 of cells 0, 1 and 0: pairs count within cell 0, whatever cell 1 scores."""
    levels, cell = np.arange(4), np.array([0, 1, 0])
    out = np.full((1, 3), -np.inf)
    value, scale = np.ones((1, 3)), np.array([0.5, high, 0.0])
    reached(-1, np.eye(2), value, scale, np.array([0, 3]), levels, cell, 0, 1, out)
    assert out.tolist() == [[-np.inf, -np.inf, 0.5]]


@given(layouts(), st.sampled_from([-1, 0, 1]))
@settings(max_examples=40)
def test_the_least_margin(lay, way):
    one = np.ones((1, len(lay["score"])))
    _, _, low, high, _, _ = sums_of(lay, one, one)
    found = least_margin(
        way, lay["factor"], low, high, lay["lists"], lay["levels"], lay["cell"]
    )  # fmt: skip
    margins = [
        lay["score"][i] - lay["score"][j]
        for i, j in pairs_of(way, lay)
        if lay["factor"][lay["cells"][i], lay["cells"][j]] > 0
    ]
    assert found == min(margins, default=np.inf)


@given(layouts())
@settings(max_examples=20)
def test_sums_by_side(lay):
    n, n_runs = len(lay["score"]), len(lay["runs"]) - 1
    codes = lay["rng"].integers(0, 5, size=n).astype(np.uint8)
    up, down = lay["rng"].random(n), lay["rng"].random(n)
    p, q = lay["rng"].random((1, n)), lay["rng"].random((1, n))
    above, below = np.empty((3, 1, n_runs)), np.empty((3, 1, n_runs))
    side_sums(codes, 1, 4, 2, p, q, True, lay["runs"], 0, n_runs, up, down, above, below)
    output = np.where(codes == 4, 2, codes > 1)
    for side in range(3):
        mine = np.add.reduceat(p[0] * up * (output == side), lay["runs"][:-1])
        other = np.add.reduceat(q[0] * down * (output == side), lay["runs"][:-1])
        assert np.allclose(above[side, 0], mine)
        assert np.allclose(below[side, 0], other)
    score = lay["score"].copy()
    shift_scores(score, codes, np.array([0.0, 0.0, 3.0, 3.0, 1.5]), 0, n)
    assert np.array_equal(score, lay["score"] + np.array([0.0, 3.0, 1.5])[output])


def test_places_and_blocks_of_equals():
    score, offsets = np.array([1.0, 3.0, 3.0, 2.0, 5.0, 5.0]), np.array([0, 4, 4, 6])
    order, end = np.empty(6, dtype=np.int64), np.empty(6, dtype=np.int64)
    best_first(score, offsets, order, end)
    assert sorted(order[:2].tolist()) == [1, 2]
    assert order[2:4].tolist() == [3, 0]
    assert end.tolist() == [2, 2, 3, 4, 6, 6]
