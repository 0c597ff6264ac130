"""Training with uncertain groups: pair weights, gradients, warnings and refusals."""

import warnings

import numpy as np
import pytest

from equirank import LabelError, as_ranking_data, evaluate
from equirank.core.errors import DataError, EquirankWarning
from equirank.core.label_probability import group_memberships
from equirank.costs import GroupPairCost, ParityPairCost
from equirank.rankers import FairLambdaMART, FairReduction, RankBoost
from equirank.rankers.boosting.pairwise_constraint import (
    above,
    counted,
    mixed_pairs,
    pairwise_constraint,
)


def people(rng, n=60, n_groups=3, ties=True):
    """Return lists, scores with ties, and fractional memberships, some negative."""
    score = rng.integers(0, 5, size=n).astype(float) if ties else rng.normal(size=n)
    members = rng.dirichlet(np.ones(n_groups), size=n) * 1.3 - 0.3 / n_groups
    data = as_ranking_data(
        None,
        rng.integers(0, 3, size=n).astype(float),
        qid=np.repeat(np.arange(3), n // 3),
        sensitive_features=rng.choice(list("abc"[:n_groups]), size=n),
    )
    return data, score, members


def brute(data, score, members, any_relevance):
    wrong, total = np.zeros((2, members.shape[1], members.shape[1]))
    for i in range(data.n_rows):
        for j in range(data.n_rows):
            same = data.query_of_rows()[i] == data.query_of_rows()[j]
            if i == j or not same or not (any_relevance or data.y[i] > data.y[j]):
                continue
            weight = np.outer(members[i], members[j])
            total += weight
            wrong += weight * (1.0 if score[j] > score[i] else 0.5 if score[j] == score[i] else 0)
    return wrong, total


@pytest.mark.parametrize("ties", [True, False])
def test_weighted_pairs_equal_brute_force(ties):
    data, score, members = people(np.random.default_rng(0), ties=ties)
    wrong, total = counted(data, score, None, members)
    wanted = brute(data, score, members, any_relevance=False)
    np.testing.assert_allclose(wrong, wanted[0], atol=1e-10)
    np.testing.assert_allclose(total, wanted[1], atol=1e-10)
    wrong, total = brute(data, score, members, any_relevance=True)
    np.fill_diagonal(wrong, 0.0)
    np.testing.assert_allclose(above(data, score, None, members), wrong, atol=1e-10)
    outside = total.sum(axis=1) - np.diagonal(total)
    np.testing.assert_allclose(mixed_pairs(data, None, members), outside, atol=1e-10)


def test_memberships_of_0_and_1_equal_the_counts_of_labels():
    data, score, _ = people(np.random.default_rng(1))
    members = np.eye(3)[data.attribute().codes]
    for one, other in zip(
        counted(data, score, None), counted(data, score, None, members), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-10)
    np.testing.assert_allclose(above(data, score, None), above(data, score, None, members))
    np.testing.assert_allclose(mixed_pairs(data, None), mixed_pairs(data, None, members))


@pytest.mark.slow
def test_pair_counts_of_recorded_labels_are_unbiased():
    rng = np.random.default_rng(2)
    matrix = np.array([[0.8, 0.2], [0.3, 0.7]])
    truth, y = rng.integers(0, 2, size=80), rng.integers(0, 3, size=80).astype(float)
    score, names = rng.normal(size=80), np.array(["a", "b"])
    plain = as_ranking_data(None, y, sensitive_features=names[truth])
    wanted = counted(plain, score, None)[0]
    found = []
    for _ in range(200):
        label = (rng.random(80) < matrix[truth, 1]).astype(int)
        error = {"g": LabelError(matrix, groups=["a", "b"])}
        data = as_ranking_data(None, y, sensitive_features={"g": names[label]}, label_error=error)
        members = group_memberships(data, "g", "test", np.zeros(80)).table
        found.append(counted(data, score, None, members)[0])
    error = np.std(found, axis=0) / np.sqrt(200)
    assert (np.abs(np.mean(found, axis=0) - wanted) < 4 * error).all()


def test_costs_of_uncertain_pairs_are_expected_costs():
    p = np.array([0.9, 0.2, 0.6, 0.2])
    features = {"g": [None] * 4, "g[a]": p, "g[b]": 1 - p}
    data = as_ranking_data(None, [2.0, 1.0, 1.0, 0.0], sensitive_features=features)
    matrix = np.array([[0.0, 2.0], [-1.0, 1.0]])
    cost = GroupPairCost(matrix.tolist(), by_probability=True)
    a = np.stack([p, 1 - p], axis=1)
    first, second = np.array([0, 0, 1]), np.array([1, 2, 3])
    wanted = np.einsum("pg,gh,ph->p", a[first], matrix, a[second])
    np.testing.assert_allclose(cost.pairs(data, first, second), wanted)
    cells, table = cost.blocks(data)
    assert len(table) == 3
    np.testing.assert_allclose(table[cells[first], cells[second]], wanted)
    with pytest.raises(DataError, match="needs the group of every row"):
        GroupPairCost(matrix.tolist()).blocks(data)
    rng = np.random.default_rng(0)
    many = rng.random(300)
    features = {"g": [None] * 300, "g[a]": many, "g[b]": 1 - many}
    wide = as_ranking_data(None, rng.integers(0, 3, 300), sensitive_features=features)
    assert cost.blocks(wide) is None
    a = np.stack([many, 1 - many], axis=1)
    wanted = np.einsum("pg,gh,ph->p", a[first], matrix, a[second])
    np.testing.assert_allclose(cost.pairs(wide, first, second), wanted)
    with pytest.raises(DataError, match="memberships of few kinds"):
        ParityPairCost([[0, 1], [-1, 0]], by_probability=True).blocks(wide)


def training(rng, n_queries=20, n=30, flips=0.0, unknown=0.0):
    """Return lists in which group b has less relevance, with labels as they are recorded."""
    size = n_queries * n
    z = rng.random(size) < 0.4
    skill = rng.normal(size=size) - 0.9 * z
    X = np.stack([skill + 0.5 * rng.normal(size=size), z + 0.6 * rng.normal(size=size)], axis=1)
    y = np.digitize(skill, [-0.5, 0.5, 1.2]).astype(float)
    label = np.where(z ^ (rng.random(size) < flips), "b", "a").astype(object)
    label[rng.random(size) < unknown] = None
    return X, y, np.repeat(np.arange(n_queries), n), np.where(z, "b", "a"), label


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["rank_parity", "group_pairwise_accuracy"])
def test_fair_reduction_with_flipped_labels_is_fair_to_the_true_groups(constraint):
    X, y, qid, true, label = training(np.random.default_rng(3), flips=0.15)
    error = {"g": LabelError([[0.85, 0.15], [0.15, 0.85]])}
    data = as_ranking_data(
        X, y, qid=qid, sensitive_features={"g": label.astype(str)}, label_error=error
    )
    truth = as_ranking_data(X, y, qid=qid, sensitive_features={"g": true})
    rule = pairwise_constraint(truth, constraint, "g")
    model = FairReduction(RankBoost(15), constraint, eps=0.03, max_iter=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # J is 0.7
        model.fit(data)
    fair = abs(rule.measure(truth, model.predict(truth))[1]).max()
    plain = abs(rule.measure(truth, RankBoost(15).fit(truth).predict(truth))[1]).max()
    assert fair < 0.6 * plain


@pytest.mark.slow
def test_fair_lambdamart_trains_with_unknown_and_guessed_groups():
    rng = np.random.default_rng(4)
    X, y, qid, true, label = training(rng, n_queries=30, unknown=0.3)
    truth = as_ranking_data(X, y, qid=qid, sensitive_features={"g": true})
    unknown = as_ranking_data(
        X, y, qid=qid, sensitive_features={"g": label}, missing_sensitive="unknown"
    )
    p = np.where(true == "b", 0.85, 0.1)
    guessed = as_ranking_data(
        X, y, qid=qid, sensitive_features={"g": [None] * len(y), "g[a]": 1 - p, "g[b]": p}
    )
    metric = "RND(step=5)"
    plain = evaluate(FairLambdaMART(1.0, n_estimators=15, n_jobs=1).fit(truth).rank(truth), metric)
    for data in (unknown, guessed):
        model = FairLambdaMART(0.2, step=5, n_estimators=15, n_jobs=1).fit(data)
        assert not hasattr(model, "unfairness_")
        found = evaluate(model.rank(truth), metric)
        assert found[metric] < 0.9 * plain[metric]


@pytest.mark.parametrize(
    "model", [FairLambdaMART(n_estimators=2, n_jobs=1), FairReduction(RankBoost(3), max_iter=1)]
)
def test_labels_that_tell_little_are_warned_of(model):
    X, y, qid, _, label = training(np.random.default_rng(5), n_queries=5, flips=0.3)
    error = {"g": LabelError([[0.7, 0.3], [0.3, 0.7]])}
    data = as_ranking_data(
        X, y, qid=qid, sensitive_features={"g": label.astype(str)}, label_error=error
    )
    with pytest.warns(EquirankWarning, match=r"specificity - 1 is 0.40, below 0.6.*re-ranking"):
        model.fit(data)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fairness": "rrd"}, "fairness='rrd' .* needs the group of every row"),
        ({"strategy": "fair_first"}, "strategy .* must have its default"),
        ({"rules": "lambdafair"}, "rules .* must have its default"),
    ],
)
def test_objectives_that_need_labels_are_refused(options, words):
    X, y, qid, _, label = training(np.random.default_rng(6), n_queries=4, unknown=0.2)
    data = as_ranking_data(
        X, y, qid=qid, sensitive_features={"g": label}, missing_sensitive="unknown"
    )
    with pytest.raises(DataError, match=words):
        FairLambdaMART(n_estimators=2, **options).fit(data)
    with pytest.raises(DataError, match="tradeoff_path needs the group of every row"):
        FairLambdaMART(n_estimators=2).tradeoff_path([0.5], data)
