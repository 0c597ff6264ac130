import logging
from itertools import combinations
from math import comb, prod

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.metrics import ERR, err

from .. import twins
from ..agreement import agree
from ..cases import same


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"k": 1}, {"k": 3}, {"k": 20}], ids=str)
@pytest.mark.parametrize("max_grade", [None, 3, 4.5])
def test_agrees_with_twin(options, max_grade):
    metric = ERR(max_grade=max_grade, **options)
    agree(err, metric, twins.err, ["y"], {"max_grade": max_grade or 3, **options})


def test_single_list():
    # grades 2, 0, 1 of at most 2: R = 3/4, 0, 1/4
    value = err([2, 0, 1], [3, 2, 1])
    assert value == pytest.approx(1 / 1 * 3 / 4 + 1 / 3 * (1 / 4) * 1 * (1 / 4))


def test_cutoff():
    assert err([0, 1, 2], [3, 2, 1], k=2, max_grade=2) == pytest.approx(1 / 2 * 1 / 4)


def test_largest_grade_is_that_of_the_data_set():
    values = err([1, 3], [1, 1], qid=["x", "y"], per_query=True)
    same(values, [1 / 2**3, 7 / 2**3])


def test_largest_grade_is_kept_through_a_selection():
    data = as_ranking_data(y=[1, 3], qid=["x", "y"], score=[1, 1])
    same(ERR().per_query(data.select([0]).ranking()).value, [1 / 2**3])


def test_largest_grade_from_the_data_is_noted(caplog):
    with caplog.at_level(logging.INFO, logger="equirank"):
        err([1, 3], [2, 1])
    assert "takes its largest grade from the data: 3" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="equirank"):
        err([1, 3], [2, 1], max_grade=3)
    assert not caplog.records


def test_grade_above_the_largest_is_refused():
    with pytest.raises(DataError, match=r"max_grade.*row 1"):
        err([1, 3], [2, 1], max_grade=2)


def test_tied_block():
    # R = 1/2 and 0, in both orders
    assert err([1, 0], [1, 1]) == pytest.approx((1 / 1 * 1 / 2 + 1 / 2 * 1 / 2) / 2)


def test_tied_block_before_queries_without_relevant_items():
    got = err([0, 1, 1, 0, 0], [2, 2, 1, 2, 1], qid=[1, 1, 1, 2, 2], per_query=True)
    same(got, [(1 / 2 + 1 / 4) / 2 + 1 / 3 * 1 / 2 * 1 / 2, 0])


def test_is_zero_without_relevant_items():
    assert err([0, 0], [2, 1]) == 0.0


def closed_form(stops, place, k):
    """Expected sum of a tied block by subsets: q_j is the mean survival of j of its items."""
    m = len(stops)
    q = [1.0]
    for j in range(1, m + 1):
        q.append(
            sum(prod(1 - stops[i] for i in some) for some in combinations(range(m), j)) / comb(m, j)
        )
    places = [j for j in range(1, m + 1) if k is None or place + j <= k]
    return sum((q[j - 1] - q[j]) / (place + j) for j in places)


@pytest.mark.slow
@pytest.mark.parametrize("k", [None, 5, 13])
def test_long_tied_block_by_subsets(k):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=14)
    stops = [(2**grade - 1) / 2**4 for grade in y]
    got = err([0, 0, *y], [2, 2] + [1] * 14, max_grade=4, k=k)
    assert got == pytest.approx(closed_form(stops, 2, k), rel=1e-12)


@pytest.mark.parametrize(("m", "grade"), [(70, 1), (300, 1), (300, 4), (1000, 2)])
def test_deep_tied_block_of_equal_items(m, grade):
    # all items alike, so every order is the same cascade
    stop = (2**grade - 1) / 2**8
    wanted = sum(stop * (1 - stop) ** (j - 1) / j for j in range(1, m + 1))
    assert err([grade] * m, [1] * m, max_grade=8) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("m", [70, 300, 1000])
def test_deep_tied_block_with_one_relevant_item(m):
    # it stands at each place with chance 1/m; nobody stops before it
    wanted = 1 / 2 * sum(1 / j for j in range(1, m + 1)) / m
    assert err([1] + [0] * (m - 1), [1] * m) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("grade", [600, 2000, 1e300, 1.7e308])
def test_large_grades(grade):
    # all stop at the largest grade, nobody at others
    assert err([grade, 0, 1], [3, 2, 1]) == 1
    assert err([1, grade], [2, 1]) == pytest.approx(1 / 2)
    assert err([grade - 1, grade], [1, 1], max_grade=grade) <= 1
    assert err([grade], [1], max_grade=grade + 1) == pytest.approx(0.5 if grade < 1e6 else 1)
