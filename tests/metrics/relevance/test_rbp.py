import logging

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data, evaluate
from equirank.metrics import RBP, rbp

from .. import twins
from ..agreement import agree
from ..cases import same


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"k": 1}, {"k": 3, "p": 0.5}, {"k": 20}], ids=str)
@pytest.mark.parametrize("max_grade", [None, 3, 4.5])
def test_agrees_with_twin(options, max_grade):
    metric = RBP(max_grade=max_grade, **options)
    agree(rbp, metric, twins.rbp, ["y"], {"max_grade": max_grade or 3, **options})


def test_single_list():
    assert rbp([2, 0, 1], [3, 2, 1]) == pytest.approx((1 - 0.8) * (1 + 0.8**2 * 1 / 2))
    assert rbp([2, 0, 1], [3, 2, 1], k=2) == pytest.approx((1 - 0.8) * 1)
    assert rbp([1, 1, 1], [3, 2, 1], p=0.9) == pytest.approx(1 - 0.9**3)
    assert rbp([1, 0], [1, 1], p=0.5) == pytest.approx((1 - 0.5) * (1 + 0.5) / 2)


def test_is_zero_without_relevant_items():
    assert rbp([0, 0], [2, 1]) == 0.0


def test_largest_grade_is_that_of_the_data_set(caplog):
    with caplog.at_level(logging.INFO, logger="equirank"):
        same(rbp([1, 3], [1, 1], qid=["x", "y"], per_query=True), [0.2 / 3, 0.2])
    assert "takes its largest grade from the data: 3" in caplog.text
    with pytest.raises(DataError, match=r"max_grade of RBP.*row 1"):
        rbp([1, 3], [2, 1], max_grade=2)


@pytest.mark.parametrize("p", [0, 1, -0.1, 1.5, "a"])
def test_p_is_inside_0_and_1(p):
    with pytest.raises(DataError, match="p of RBP must be a number in"):
        RBP(p=p)


def test_the_residual_is_what_unseen_items_could_add():
    data = as_ranking_data(None, [1, 0, 1, 1, 0], qid=[1, 1, 1, 2, 2], score=[3, 2, 1, 2, 1])
    same(RBP().residual(data.ranking()), [0.8**3, 0.8**2])
    same((RBP(p=0.5) @ 2).residual(data.ranking()), [0.5**2, 0.5**2])
    hidden = Ranking.from_positions(data, [1, 0, 0, 0, 0])
    same(RBP().residual(hidden), [0.8, 1])
    (note,) = evaluate(data, "RBP, NDCG", n_boot=0).notes
    assert note.startswith("RBP: items after those measured could add 0.58 on average and 0.64 at")
    # a list with relevant items only, after those measured, reaches value plus residual
    longer = rbp([1] * 400, np.arange(400)[::-1])
    short = as_ranking_data(None, [1] * 5, score=[5, 4, 3, 2, 1])
    value = float(RBP().per_query(short.ranking()).value[0])
    assert value + RBP().residual(short.ranking())[0] == pytest.approx(longer)


@pytest.mark.parametrize("grade", [600, 1e300, 1.7e308])
def test_large_grades(grade):
    assert rbp([grade, 0], [2, 1]) == pytest.approx(0.2)
