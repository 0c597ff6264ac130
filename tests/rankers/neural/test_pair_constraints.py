"""Constraints on pairwise accuracies against double loops; mixtures against a grid."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.rankers.boosting.pairwise_constraint import pairwise_constraint
from equirank.rankers.neural import pair_constraints as module
from equirank.rankers.neural.pair_constraints import best_mixture, pair_constraint


def lists(seed, n_rows=80, groups=("a", "b", "c"), weights=None):
    rng = np.random.default_rng(seed)
    qid = np.sort(rng.integers(0, 3, n_rows))
    return as_ranking_data(
        rng.normal(size=(n_rows, 2)),
        rng.integers(0, 3, n_rows),
        qid=qid,
        sensitive_features=rng.choice(list(groups), n_rows),
        query_weight=None if weights is None else np.asarray(weights)[qid],
    )


def accuracy(data, score, condition):
    """The weighted share of pairs that meet a condition and stand in order."""
    query, weight = data.query_of_rows(), data.query_weight
    right, total = 0.0, 0.0
    for i in range(data.n_rows):
        for j in range(data.n_rows):
            if query[i] == query[j] and data.y[i] > data.y[j] and condition(i, j):
                w = 1.0 if weight is None else weight[query[i]]
                total += w
                right += w * (0.5 + 0.5 * np.sign(score[i] - score[j]))
    return right / total


@pytest.mark.parametrize("weights", [None, [1.0, 0.0, 2.5]])
@pytest.mark.parametrize("seed", range(3))
def test_differences_are_those_of_a_double_loop(seed, weights):
    data = lists(seed, weights=weights)
    code = data.attribute().codes
    score = np.round(np.random.default_rng(seed).normal(size=data.n_rows), 1)
    wrong, apart = pair_constraint(data, "equal_opportunity", None, None).measure(None)(score)
    assert wrong == pytest.approx(1.0 - accuracy(data, score, lambda i, j: True))
    wanted = [
        accuracy(data, score, lambda i, j, g=g, h=h: (code[i], code[j]) == (g, h))
        - accuracy(data, score, lambda i, j, g=g, h=h: (code[i], code[j]) == (h, g))
        for g, h in ((0, 1), (0, 2), (1, 2))
    ]
    np.testing.assert_allclose(apart, wanted, atol=1e-12)
    _, apart = pair_constraint(data, "marginal", None, None).measure(None)(score)
    each = [accuracy(data, score, lambda i, j, g=g: code[i] == g) for g in range(3)]
    np.testing.assert_allclose(apart, [each[0] - each[1], each[0] - each[2], each[1] - each[2]])
    _, apart = pair_constraint(data, "continuous", None, 1).measure(None)(score)
    z = data.X[:, 1]
    less = accuracy(data, score, lambda i, j: z[i] < z[j])
    more = accuracy(data, score, lambda i, j: z[i] > z[j])
    np.testing.assert_allclose(apart, [less - more], atol=1e-12)


def test_differences_are_those_of_the_reduction():
    data = lists(4)
    score = np.random.default_rng(1).normal(size=data.n_rows)
    rule = pairwise_constraint(data, "group_pairwise_accuracy", None)
    error, apart = rule.measure(data, score)
    own = pair_constraint(data, "equal_opportunity", None, None)
    found = own.measure(None)(score)
    assert found[0] == pytest.approx(error)
    np.testing.assert_allclose(found[1], apart, atol=1e-12)
    assert own.labels == rule.labels == [("a", "b"), ("a", "c"), ("b", "c")]


def test_many_pairs_are_measured_on_drawn_ones(monkeypatch):
    data = lists(0, n_rows=300, groups=("a", "b"))
    rule = pair_constraint(data, "equal_opportunity", None, None)
    score = np.random.default_rng(2).normal(size=300)
    exact = rule.measure(None)(score)
    monkeypatch.setattr(module, "MAX_LISTED", 2_000)
    drawn = rule.measure(np.random.default_rng(0))(score)
    assert drawn[0] != exact[0]
    assert drawn[0] == pytest.approx(exact[0], abs=0.04)
    assert drawn[1][0] == pytest.approx(exact[1][0], abs=0.08)


def test_groups_that_are_numbers_are_an_attribute():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 30, 40)
    data = as_ranking_data(age[:, None] / 1.0, rng.integers(0, 3, 40), sensitive_features=age)
    score = rng.normal(size=40)
    by_groups = pair_constraint(data, "continuous", None, None).measure(None)(score)
    by_column = pair_constraint(data, "continuous", None, 0).measure(None)(score)
    np.testing.assert_array_equal(by_groups[1], by_column[1])


def test_an_attribute_of_one_direction_is_not_compared():
    data = as_ranking_data([[2.0], [1.0]], [1, 0])
    assert pair_constraint(data, "continuous", None, 0).measure(None)(np.zeros(2))[1] == [0.0]


def test_what_cannot_be_is_refused():
    data = lists(0)
    with pytest.raises(DataError, match="must be numbers for constraint 'continuous', got the gr"):
        pair_constraint(data, "continuous", None, None)
    with pytest.raises(DataError, match="column must be less than 2, got 7"):
        pair_constraint(data, "continuous", None, 7)
    with pytest.raises(DataError, match="column must be one of the features, got 'age'"):
        pair_constraint(data, "continuous", None, "age")
    with pytest.raises(DataError, match="two groups or more, got 'a' only"):
        pair_constraint(lists(0, groups=("a",)), "marginal", None, None)


def test_groups_without_pairs_are_not_compared():
    data = as_ranking_data(
        np.zeros((4, 1)), [1, 0, 1, 0], qid=[0, 0, 1, 1], sensitive_features=["a", "b", "c", "c"]
    )
    rule = pair_constraint(data, "equal_opportunity", None, None)
    assert rule.differences == rule.labels == []
    assert rule.measure(None)(np.array([1.0, 0.0, 0.0, 1.0]))[0] == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_a_mixture_is_the_best_of_a_grid(seed):
    rng = np.random.default_rng(seed)
    errors, apart = rng.uniform(0.1, 0.4, 3), rng.uniform(-0.3, 0.3, (3, 2))
    shares = best_mixture(errors, apart, 0.1)
    assert shares.sum() == pytest.approx(1.0)
    grid = [np.array([a, b, 40 - a - b]) / 40 for a in range(41) for b in range(41 - a)]
    excess = [max(0.0, np.abs(p @ apart).max() - 0.1) for p in grid]
    own = max(0.0, np.abs(shares @ apart).max() - 0.1)
    assert own <= min(excess) + 1e-8
    within = [p @ errors for p, e in zip(grid, excess, strict=True) if e <= own + 1e-9]
    assert not within or shares @ errors <= min(within) + 1e-8


def test_without_constraints_the_best_one_is_the_mixture():
    np.testing.assert_array_equal(best_mixture(np.array([0.3, 0.2]), np.zeros((2, 0)), 0.1), [0, 1])
