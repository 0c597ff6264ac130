"""Constraints of the reduction: their differences against the metrics, their costs pair by pair."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.metrics import group_pairwise_accuracy, rank_equality_error, rank_parity_error
from equirank.rankers.boosting import pairwise_constraint as module
from equirank.rankers.boosting.pairwise_constraint import CONSTRAINTS, pairwise_constraint


def sample(seed=0, n=40, groups=3, grades=4, queries=1):
    rng = np.random.default_rng(seed)
    data = as_ranking_data(
        None,
        rng.integers(0, grades, size=n),
        qid=rng.integers(0, queries, size=n),
        sensitive_features=rng.choice(list("abcde")[:groups], size=n),
    )
    return data, np.round(rng.normal(size=n), 1)  # with ties


def groups_of(data):
    attribute = data.attribute()
    return np.array(attribute.categories, dtype=object)[attribute.codes]


@pytest.mark.parametrize("seed", range(5))
def test_differences_are_those_of_the_metrics(seed):
    data, score = sample(seed)
    people = groups_of(data)
    rule = pairwise_constraint(data, "group_pairwise_accuracy", None)
    _, difference = rule.measure(data, score)
    wanted = group_pairwise_accuracy(data.y, score, people)
    assert np.abs(difference).max() == pytest.approx(wanted)
    for kind, metric in [
        ("rank_equality", lambda: rank_equality_error(data.y, score, people, return_groups=True)),
        ("rank_parity", lambda: rank_parity_error(score, people, return_groups=True)),
    ]:
        rule = pairwise_constraint(data, kind, None)
        _, difference = rule.measure(data, score)
        values = metric()[1]
        wanted = [values[g] - values[h] for g, h in rule.labels]
        np.testing.assert_allclose(difference, wanted, atol=1e-12)


def lagrangian(data, rule, score, multipliers):
    """Sum the signed cost over all pairs that are misordered, one by one, ties half."""
    cost = rule.cost(multipliers)
    query, y = data.query_of_rows(), data.y
    total = 0.0
    for a in range(data.n_rows):
        for b in range(data.n_rows):
            equal = cost.equal_grades and y[a] == y[b] and a != b
            if query[a] != query[b] or not (y[a] > y[b] or equal):
                continue
            price = cost.pairs(data, np.array([a]), np.array([b]))[0]
            total += price * (float(score[b] > score[a]) + 0.5 * float(score[a] == score[b]))
    return total / rule.n_pairs


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("queries", [1, 3])
def test_costs_are_the_lagrangian_up_to_a_constant(kind, queries):
    data, _ = sample(1, queries=queries)
    rule = pairwise_constraint(data, kind, None)
    rng = np.random.default_rng(2)
    multipliers = rng.normal(size=len(rule.labels))
    offsets = []
    for seed in range(4):
        score = np.round(np.random.default_rng(seed).normal(size=data.n_rows), 1)
        error, difference = rule.measure(data, score)
        wanted = error + multipliers @ difference
        offsets.append(lagrangian(data, rule, score, multipliers) - wanted)
    np.testing.assert_allclose(offsets, offsets[0], atol=1e-12)


def test_parity_with_many_grades_leaves_equal_pairs_out(monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 2)
    data, score = sample(3)
    rule = pairwise_constraint(data, "rank_parity", None)
    cost = rule.cost(np.ones(len(rule.labels)))
    assert not cost.equal_grades
    assert np.isfinite(rule.measure(data, score)[1]).all()


def test_no_multipliers_cost_one_each():
    data, _ = sample()
    for kind in CONSTRAINTS:
        rule = pairwise_constraint(data, kind, None)
        cost = rule.cost(np.zeros(len(rule.labels)))
        better = np.flatnonzero(data.y == data.y.max())[:1]
        worse = np.flatnonzero(data.y == data.y.min())[:1]
        assert cost.pairs(data, better, worse) == 1.0


def test_what_cannot_be_compared_is_said():
    one = as_ranking_data(None, [1, 0], sensitive_features=["a", "a"])
    with pytest.raises(DataError, match="sensitive_features must have at least two groups"):
        pairwise_constraint(one, "rank_parity", None)
    flat = as_ranking_data(None, [1, 1], sensitive_features=["a", "b"])
    with pytest.raises(DataError, match="y must have two grades in at least one list"):
        pairwise_constraint(flat, "rank_parity", None)
    apart = as_ranking_data(None, [1, 0], sensitive_features=["a", "b"])
    rule = pairwise_constraint(apart, "group_pairwise_accuracy", None)
    assert rule.labels == []  # b is never better than a: nothing to compare with
    assert rule.measure(apart, np.array([1.0, 0.0]))[1].shape == (0,)
