"""Judgements turned into other forms and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank.core.errors import DataError
from equirank.rankers import grades_from_pairs, pairs_from_grades, pairs_from_order

LISTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=15)


@given(LISTS)
def test_pairs_from_grades_against_plain_loops(rows):
    y, qid = (np.array(column) for column in zip(*rows, strict=True))
    wanted = [
        [a, b] for a in range(len(y)) for b in range(len(y)) if qid[a] == qid[b] and y[a] > y[b]
    ]
    assert pairs_from_grades(y, qid=qid).tolist() == wanted


@given(st.permutations(range(7)), st.booleans())
def test_pairs_from_order_against_plain_loops(order, adjacent):
    step = 2 if adjacent else 99
    wanted = [[a, b] for at, a in enumerate(order) for b in order[at + 1 : at + step]]
    assert pairs_from_order(order, adjacent=adjacent).tolist() == wanted


@given(st.permutations(range(6)))
def test_an_order_comes_back_from_its_counted_wins(order):
    grades = grades_from_pairs(pairs_from_order(order), n_rows=6)
    assert np.argsort(-grades).tolist() == list(order)
    assert grades[list(order)].tolist() == [5, 4, 3, 2, 1, 0]


def test_wins_are_counted_by_weight():
    pairs = [[0, 1], [1, 0], [2, 1], [0, 2]]
    grades = grades_from_pairs(pairs, [1, 1, -1, 0], [2, 0.5, 4, 9], n_rows=5)
    assert grades.tolist() == [2.0, 4.5, 0.0, 0.0, 0.0]


def test_grades_that_order_nothing_make_no_pairs():
    assert pairs_from_grades([1, 1, 1]).shape == (0, 2)
    assert pairs_from_order([4]).shape == (0, 2)
    assert pairs_from_order([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("order", "message"),
    [([0, 0, 1], "got 0 again"), ([0.5], "must be row numbers"), ([-1], "must be row numbers")],
)
def test_bad_orders_are_refused(order, message):
    with pytest.raises(DataError, match=message):
        pairs_from_order(order)


def test_bad_grades_and_pairs_are_refused():
    with pytest.raises(DataError, match="y must be"):
        pairs_from_grades([1, -1])
    with pytest.raises(DataError, match=r"got \[0, 3\] in pair 0"):
        grades_from_pairs([[0, 3]], n_rows=3)
