"""The best mixture and the best single ranker of a few, by hand."""

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.rankers.boosting.fair_reduction import ReductionSteps
from equirank.rankers.boosting.pairwise_constraint import pairwise_constraint


def rule():
    data = as_ranking_data(None, [1, 0, 1, 0], sensitive_features=["a", "b", "b", "a"])
    return pairwise_constraint(data, "group_pairwise_accuracy", None)


def test_the_mixture_is_the_best_of_two():
    state = ReductionSteps(rule(), 0.1, 5.0)
    state.add("plain", np.zeros(1), 0.2, np.array([0.5]))
    state.add("over", np.ones(1), 0.4, np.array([-0.3]))
    weights, error, violation = state.mix()
    # 0.5 q - 0.3 (1 - q) = 0.1
    assert weights == pytest.approx([0.5, 0.5])
    assert (error, violation) == pytest.approx((0.3, 0.1))
    assert state.best() == 1  # none is within eps: the least violation
    state.add("fair", np.ones(1), 0.25, np.array([0.05]))
    assert state.mix()[1] < 0.25
    assert state.best() == 2


def test_where_eps_cannot_be_kept_the_least_violation_is_taken():
    state = ReductionSteps(rule(), 0.0, 5.0)
    state.add("plain", np.zeros(1), 0.1, np.array([0.5]))
    state.add("less", np.ones(1), 0.4, np.array([0.3]))
    weights, _, violation = state.mix()
    assert weights == pytest.approx([0.0, 1.0], abs=1e-6)
    assert violation == pytest.approx(0.3)


def test_two_groups_try_the_mean_multiplier_somewhat_within_eps():
    state = ReductionSteps(rule(), 0.1, 5.0)
    state.add("plain", np.zeros(1), 0.2, np.array([0.5]))
    assert state.priced() is None
    state.add("over", np.ones(1), 0.4, np.array([-0.3]))
    # 0.5 q - 0.3 (1 - q) = 0.09
    assert state.priced() == pytest.approx([1 - 0.39 / 0.8])


def test_more_groups_try_the_prices_of_the_program():
    data = as_ranking_data(None, [1, 0] * 3, sensitive_features=list("aabbcc"))
    state = ReductionSteps(pairwise_constraint(data, "group_pairwise_accuracy", None), 0.1, 5.0)
    assert len(state.rule.labels) == 3
    state.add("plain", np.zeros(3), 0.2, np.array([0.5, 0.0, 0.0]))
    state.add("over", np.ones(3), 0.4, np.array([-0.3, 0.0, 0.0]))
    # a unit of the first difference buys 0.25 of error: from 0.5 to -0.3 the error rises by 0.2
    assert state.prices() == pytest.approx([0.25, 0.0, 0.0])
    assert state.priced() == pytest.approx([0.25, 0.0, 0.0])
    state.bound = 0.1
    assert np.abs(state.priced()).sum() == pytest.approx(0.1)


def test_multipliers_are_bounded_and_cancel_at_the_start():
    state = ReductionSteps(rule(), 0.1, 5.0)
    assert state.multipliers(np.zeros((2, 1))) == pytest.approx([0.0])
    assert state.multipliers(np.array([[1000.0], [-1000.0]])) == pytest.approx([5.0])
    e = np.exp(0.3)
    wanted = 5.0 * (e - 1 / e) / (1 + e + 1 / e)
    assert state.multipliers(np.array([[0.3], [-0.3]])) == pytest.approx([wanted])


def test_it_is_done_when_neither_the_mixture_nor_one_ranker_can_gain():
    state = ReductionSteps(rule(), 0.1, 5.0)
    state.add("plain", np.zeros(1), 0.2, np.array([0.5]))
    assert not state.done(1.0)  # it does not keep to eps
    state.add("poor", np.ones(1), 0.4, np.array([-0.1]))
    assert not state.done(0.01)
    state.add("fair", np.full(1, 0.25), 0.301, np.array([0.099]))
    assert state.done(1.0)
    fine = ReductionSteps(rule(), 0.1, 5.0)
    fine.add("plain", np.zeros(1), 0.2, np.array([0.05]))
    assert fine.done(0.0)
