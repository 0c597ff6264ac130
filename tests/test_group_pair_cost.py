"""Costs by group: which cell, which cost, and what happens with the wrong number of groups."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.costs import GroupPairCost, ParityPairCost
from equirank.rankers import RankBoost


def people():
    return as_ranking_data(
        np.arange(8.0).reshape(4, 2), [2, 1, 0, 1], sensitive_features=["b", "a", "b", "b"]
    )


def test_the_cost_is_that_of_the_better_and_the_worse_group():
    cost = GroupPairCost([[1.0, 2.0], [3.0, -4.0]])
    found = cost.pairs(people(), np.array([0, 0, 1]), np.array([1, 2, 2]))
    assert found.tolist() == [3.0, -4.0, 2.0]
    assert cost.needs == {"sensitive_features"}
    assert not cost.equal_grades


def test_parity_costs_count_equal_grades_half_each_way():
    cost = ParityPairCost([[0.0, 0.5], [-0.5, 0.0]], base=2.0)
    # (b over a), (a over b), the equal pair (a, b) and the same the other way
    found = cost.pairs(people(), np.array([0, 1, 1, 3]), np.array([1, 2, 3, 1]))
    assert found.tolist() == [1.5, 2.5, 0.25, -0.25]
    assert cost.equal_grades


@pytest.mark.parametrize("kind", [GroupPairCost, ParityPairCost])
def test_a_matrix_of_another_size_is_refused(kind):
    with pytest.raises(DataError, match=f"matrix of {kind.__name__} must have a row and a column"):
        RankBoost(2, pair_cost=kind([[1.0]])).fit(people())


def test_equal_costs_by_group_change_nothing():
    data = people()
    plain = RankBoost(3).fit(data).predict(data)
    assert np.array_equal(
        RankBoost(3, pair_cost=GroupPairCost(np.ones((2, 2)).tolist())).fit(data).predict(data),
        plain,
    )
