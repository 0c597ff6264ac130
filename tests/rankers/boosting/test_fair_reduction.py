"""The reduction: it halves the violation above the random line, mixes as it says, and is saved."""

from typing import ClassVar

import numpy as np
import pytest

from equirank import DataError, Ranker, as_ranking_data, evaluate, load
from equirank.core.pair_cost import PairCost
from equirank.core.params import Instance, Optional
from equirank.rankers import CostSensitiveAdaBoost, FairReduction, RankBoost
from equirank.rankers.boosting.pairwise_constraint import CONSTRAINTS, pairwise_constraint


def biased(seed=0, n=600, groups=("a", "b"), queries=1):
    """People whose group shifts a proxy that a blind ranker leans on."""
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, size=n)
    shift = np.array([groups.index(g) for g in group]) / (len(groups) - 1)
    merit = rng.normal(size=n)
    X = np.stack(
        [merit + 0.7 * rng.normal(size=n), shift + 0.7 * rng.normal(size=n), rng.normal(size=n)],
        axis=1,
    )
    y = np.clip(np.round(merit + 1.2 * shift + 1), 0, 3)
    return as_ranking_data(
        X, y, qid=rng.integers(0, queries, size=n), sensitive_features={"group": group}
    )


def booster(n_estimators, **given):
    """A quick RankBoost: one thread, and no count of all pairs in every round."""
    return RankBoost(n_estimators, n_jobs=1, record_errors=False, **given)


class Linear(Ranker):
    """Least squares on pair differences, weighted by pair cost: another ranker with pair costs."""

    params: ClassVar = {"pair_cost": Optional(Instance(PairCost, "a pair cost"))}

    def __init__(self, pair_cost=None):
        self.pair_cost = pair_cost

    def _fit(self, data):
        a, b = np.nonzero(data.y[:, None] > data.y)
        query = data.query_of_rows()
        a, b = a[query[a] == query[b]], b[query[a] == query[b]]
        cost = np.ones(len(a)) if self.pair_cost is None else self.pair_cost.pairs(data, a, b)
        difference = data.X[a] - data.X[b]
        gram = (difference * np.abs(cost)[:, None]).T @ difference + np.eye(data.n_features)
        self.coef_ = np.linalg.solve(gram, difference.T @ cost)

    def _scores(self, data):
        return data.X @ self.coef_


def held_out(model, kind, data):
    rule = pairwise_constraint(data, kind, None)
    scores = [m._scores(m.visible(data)) for m in model.members_]
    found = [rule.measure(data, score) for score in scores]
    return np.array([1 - error for error, _ in found]), np.array([d for _, d in found])


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("groups", [("a", "b"), ("a", "b", "c")])
def test_the_violation_falls_by_half_and_stays_above_the_line(kind, groups):
    train, test = biased(0, 1500, groups=groups), biased(1, 2000, groups=groups)
    model = FairReduction(booster(30), kind, 0.02, max_iter=16, random_state=0).fit(train)
    accuracy, difference = held_out(model, kind, test)
    violation = np.abs(difference).max(axis=1)
    assert violation[0] > 0.03
    line = 0.5 + (accuracy[0] - 0.5) * violation[model.best_] / violation[0]
    assert violation[model.best_] < violation[0] / 2
    assert accuracy[model.best_] > line
    mixed = np.abs(model.weights_ @ difference).max()
    assert mixed < violation[0] / 2
    assert model.weights_ @ accuracy > 0.5 + (accuracy[0] - 0.5) * mixed / violation[0]


@pytest.mark.slow
def test_any_ranker_with_pair_costs_can_be_made_fair():
    train, test = biased(0, 700), biased(1, 1500)
    model = FairReduction(Linear(), "rank_parity", 0.02, max_iter=12).fit(train)
    _, difference = held_out(model, "rank_parity", test)
    assert np.abs(difference[0]).max() > 0.1
    assert np.abs(difference[model.best_]).max() < np.abs(difference[0]).max() / 2


@pytest.mark.slow
def test_steps_say_how_it_went():
    data = biased()
    model = FairReduction(booster(20), eps=0.05, max_iter=10, tol=0.0, random_state=0).fit(data)
    steps = model.steps_
    assert len(steps) == 10
    assert (steps["gap"] >= -1e-9).all()
    assert steps["gap"][-1] < steps["gap"][0] / 10
    assert steps["mixture_violation"][-1] <= 0.05 + 1e-6
    assert steps["violation"][model.best_] <= 0.05
    assert model.weights_.sum() == pytest.approx(1.0)
    rule = pairwise_constraint(data, "group_pairwise_accuracy", None)
    member = model.members_[3]
    error, difference = rule.measure(data, member._scores(member.visible(data)))
    assert steps["error"][3] == pytest.approx(error)
    assert steps["violation"][3] == pytest.approx(np.abs(difference).max())
    # the first step has no multipliers and is the plain ranker
    plain = booster(20, random_state=0).fit(data)
    assert np.array_equal(model.members_[0].predict(data), plain.predict(data))
    assert model.members_[0].pair_cost is None
    assert not model.multipliers_[0].any()


def test_a_wide_eps_changes_nothing():
    data = biased()
    model = FairReduction(booster(10), eps=0.9, random_state=0).fit(data)
    plain = booster(10, random_state=0).fit(data)
    assert len(model.members_) == 1
    assert np.array_equal(model.predict(data), plain.predict(data))


@pytest.mark.slow
def test_draws_follow_the_weights():
    data = biased(queries=40)
    model = FairReduction(booster(10), eps=0.02, max_iter=6, random_state=0).fit(data)
    assert (model.weights_ > 0).sum() > 1
    drawn = model.rank(data, n_draws=300, random_state=0)
    again = model.rank(data, n_draws=300, random_state=0)
    assert np.array_equal(drawn.position, again.position)
    exact = model.mixture(data)
    assert exact.n_draws == (model.weights_ > 0).sum()
    wanted = exact.expect(lambda place: 1.0 / place)
    np.testing.assert_allclose(drawn.expect(lambda place: 1.0 / place), wanted, atol=0.12)
    difference = drawn.expect(lambda place: 1.0 / place) - wanted
    assert np.abs(difference).mean() < 0.01
    assert evaluate(exact, ["NDCG@10"]).to_dict()


def test_the_single_ranker_is_the_member():
    data = biased()
    model = FairReduction(booster(10), max_iter=4, random_state=0).fit(data)
    member = model.members_[model.best_]
    assert np.array_equal(model.predict(data), member.predict(data))


def test_attributes_may_be_chosen_and_crossed():
    rng = np.random.default_rng(9)
    data = biased()
    people = {
        "group": np.array(["a", "b"])[data.attribute().codes],
        "coin": rng.choice(["h", "t"], size=data.n_rows),
    }
    given = {"qid": 0, "sensitive_features": people}
    with pytest.raises(DataError, match="by must name one of the attributes"):
        FairReduction(booster(5), max_iter=2).fit(data.X, data.y, **given)
    one = FairReduction(booster(5), max_iter=2, by="group").fit(data.X, data.y, **given)
    assert one.multipliers_.shape == (2, 1)
    both = FairReduction(booster(5), max_iter=2, by=["group", "coin"])
    assert both.fit(data.X, data.y, **given).multipliers_.shape == (2, 6)


@pytest.mark.slow
def test_saved_and_loaded_whole(tmp_path):
    data = biased(queries=5)
    model = FairReduction(booster(5), max_iter=4, random_state=0).fit(data)
    model.save(tmp_path / "fair")
    again = load(tmp_path / "fair")
    assert np.array_equal(again.predict(data), model.predict(data))
    assert np.array_equal(again.mixture(data).position, model.mixture(data).position)
    assert again.steps_.to_dict() == model.steps_.to_dict()
    assert again.estimator.n_estimators == 5
    own = FairReduction(Linear(), max_iter=2).fit(data)
    own.save(tmp_path / "own")
    back = load(tmp_path / "own", classes=[Linear])
    assert np.array_equal(back.predict(data), own.predict(data))


def test_a_ranker_without_pair_costs_is_refused():
    class Plain(Ranker):
        def _fit(self, data):
            self.n_ = 0

        def _scores(self, data):
            return data.X[:, 0]

    data = biased()
    with pytest.raises(
        DataError, match="must have a parameter pair_cost, got Plain, which has none"
    ):
        FairReduction(Plain()).fit(data)
    with pytest.raises(DataError, match="estimator of FairReduction must be a Ranker"):
        FairReduction(CostSensitiveAdaBoost()).fit(data)


def test_it_stops_when_there_is_nothing_to_gain():
    data = biased(n=1500)
    short = FairReduction(booster(20), eps=0.05, max_iter=40, tol=0.01, random_state=0).fit(data)
    assert len(short.members_) < 40
    assert short.steps_["gap"][-1] <= 0.01
    assert short.steps_["violation"][short.best_] <= 0.05
