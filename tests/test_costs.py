"""Cost builders: values by hand, refusals, and what they do to a ranker."""

import numpy as np
import pytest
from sklearn.base import clone

from equirank import DataError, EquirankWarning, as_ranking_data, load
from equirank.costs import (
    ClassImbalanceCost,
    ClassPairCost,
    GroupPairCost,
    ListedPairCost,
    ParityPairCost,
    ProtectedPairCost,
)
from equirank.datasets import make_item_costs
from equirank.rankers import RankBoost

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = RNG.integers(0, 3, size=60)
QID = RNG.integers(0, 4, size=60)
PEOPLE = np.where(RNG.random(60) < 0.3, "f", "m")
DATA = as_ranking_data(X, Y, qid=QID, sensitive_features=PEOPLE)


def of_rows(cost, first, second, data=DATA):
    """Costs of pairs of the caller's rows."""
    stored = np.argsort(data.rows)
    return cost.pairs(data, stored[np.array(first)], stored[np.array(second)])


def test_random_item_costs_repeat_and_keep_to_their_values():
    ternary = make_item_costs(300, random_state=3)
    assert np.array_equal(ternary, make_item_costs(300, random_state=3))
    counts = np.unique(ternary, return_counts=True)
    assert counts[0].tolist() == [0.5, 1.0, 1.5]
    assert (counts[1] > 70).all()
    even = make_item_costs(20_000, kind="continuous", random_state=3)
    assert even.min() > 0.0
    assert even.max() < 2.0
    assert np.abs(np.histogram(even, bins=4, range=(0, 2))[0] / 5000 - 1).max() < 0.05
    with pytest.raises(DataError, match="n_items of make_item_costs"):
        make_item_costs(0)


def test_class_pairs_cost_what_the_table_says():
    cost = ClassPairCost([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    high, low = int(np.flatnonzero(Y == 2)[0]), int(np.flatnonzero(Y == 1)[0])
    assert of_rows(cost, [high], [low]).tolist() == [7.0]
    named = ClassPairCost([[0, 1, 2], [3, 4, 5], [6, 7, 8]], classes=[2, 1, 0])
    assert of_rows(named, [high], [low]).tolist() == [1.0]
    with pytest.raises(DataError, match=r"got 2.0 in row \d+, which is not in"):
        ClassPairCost(np.ones((2, 2))).blocks(DATA)
    for bad in (np.ones((2, 3)), [[np.nan]], "distance"):
        with pytest.raises(DataError, match="matrix of ClassPairCost must be a square table"):
            ClassPairCost(bad)
    with pytest.raises(DataError, match="classes of ClassPairCost must name the 2 rows"):
        ClassPairCost(np.ones((2, 2)), classes=[1, 1])


def test_alike_classes_cost_more():
    features = np.array([[0.0, 1.0], [2.0, np.nan], [8.0, 1.0], [8.0, 3.0]])
    data = as_ranking_data(features, [0, 1, 2, 2])
    _, matrix = ClassPairCost("centroid", strength=3.0).blocks(data)
    assert np.allclose(np.diag(matrix), 4.0)
    assert np.allclose(matrix, matrix.T)
    assert matrix.min() == 1.0
    assert matrix[0, 1] > matrix[0, 2]
    alone = as_ranking_data(np.ones((3, 1)), [0, 1, 2])
    assert (ClassPairCost("centroid").blocks(alone)[1] == 2.0).all()
    with pytest.raises(DataError, match="X must be given"):
        ClassPairCost("centroid").blocks(as_ranking_data(None, [0, 1]))


def test_rare_classes_cost_more():
    share = np.bincount(Y) / 60
    high, low = int(np.flatnonzero(Y == 2)[0]), int(np.flatnonzero(Y == 0)[0])
    expected = 1 / (share[2] * share[0])
    assert of_rows(ClassImbalanceCost(), [high], [low]) == pytest.approx([expected])


def test_protected_pairs_cost_more():
    cost = ProtectedPairCost(4.0, "f")
    women, men = np.flatnonzero(PEOPLE == "f")[:2], np.flatnonzero(PEOPLE == "m")[:2]
    first = [women[0], women[0], men[0], men[0]]
    second = [women[1], men[0], women[0], men[1]]
    assert of_rows(cost, first, second).tolist() == [4.0, 4.0, 4.0, 1.0]
    with pytest.raises(DataError, match="weight of ProtectedPairCost must be a number > 0"):
        ProtectedPairCost(0.0, "f")
    with pytest.raises(DataError, match="protected must be one of the groups"):
        ProtectedPairCost(2.0, "x").blocks(DATA)
    with pytest.raises(DataError, match="sensitive_features must be given: RankBoost"):
        RankBoost(pair_cost=cost).fit(X, Y, qid=QID)


def test_listed_pairs_cost_what_the_list_says():
    cost = ListedPairCost([5, 7, 5], [6, 8, 6], [2.0, 3.0, 1.0], other=0.5)
    assert of_rows(cost, [5, 7, 6], [6, 8, 5]).tolist() == [3.0, 3.0, 0.5]
    assert of_rows(ListedPairCost([], [], []), [1], [2]).tolist() == [0.0]
    with pytest.raises(DataError, match="must have the same length"):
        ListedPairCost([1], [2, 3], [1.0])
    with pytest.raises(DataError, match="second of ListedPairCost must contain row numbers"):
        ListedPairCost([1], [-2], [1.0])
    with pytest.raises(DataError, match="cost of ListedPairCost must contain finite"):
        ListedPairCost([1], [2], [np.inf])


@pytest.mark.parametrize(
    "cost",
    [
        ClassPairCost([[1, 1, 1], [2, 1, 1], [4, 3, 1]]),
        ClassPairCost("centroid"),
        ClassImbalanceCost(),
        ProtectedPairCost(3.0, "f"),
        ListedPairCost([0], [1], [4.0], other=1.0),
    ],
    ids=lambda cost: type(cost).__name__,
)
def test_a_ranker_with_each_of_them_is_cloned_saved_and_loaded(cost, tmp_path):
    model = clone(RankBoost(4, pair_cost=cost)).fit(X, Y, qid=QID, sensitive_features=PEOPLE)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.pair_cost == cost
    assert np.array_equal(back.predict(X), model.predict(X))


def test_very_uneven_costs_warn():
    costs = np.ones(60)
    costs[0] = 11.0
    with pytest.warns(EquirankWarning, match="cost of RankBoost differs by a factor of 11"):
        RankBoost(2).fit(X, Y, qid=QID, cost=costs)


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
