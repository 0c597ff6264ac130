"""FairPGRank: it learns, trades utility for disparity, and both engines agree."""

import os
from dataclasses import replace

import numpy as np
import pytest

import equirank
from equirank import DataError, EquirankWarning, as_ranking_data, evaluate
from equirank.core.registry import parse_metric
from equirank.datasets import make_german_lists, make_ranking
from equirank.kernels.policy_gradient import GROUP, INDIVIDUAL, NONE, list_gradient
from equirank.rankers import FairPGRank
from equirank.rankers.policy.rewards import rewards

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, n_items=10, random_state=1)


@pytest.fixture(scope="module")
def unequal():
    """Lists in which a hair of merit puts one whole group above the other."""
    rng = np.random.default_rng(0)
    group = np.tile(["a", "b"], 300)
    y = 3.0 + (group == "a") * 0.3 + rng.normal(scale=0.1, size=600)
    X = np.column_stack([group == "a", y + rng.normal(scale=0.3, size=600), rng.random(600)])
    return as_ranking_data(
        X.astype(float), y, qid=np.repeat(np.arange(60), 10), sensitive_features=group
    )


def disparity(model, data, name="GroupDisparity"):
    drawn = model.rank(data, n_draws=100, random_state=0)
    metric = parse_metric(name)
    return float(metric.summarize(metric.per_query(drawn))[0])


def fitted(data, **params):
    given = {"n_epochs": 30, "learning_rate": 0.03, "random_state": 0} | params
    return FairPGRank(**given).fit(data)


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["plrank", "reinforce"])
@pytest.mark.parametrize("batch_size", [1, 16])
def test_it_learns(data, gradient, batch_size):
    untrained = fitted(data, n_epochs=0).score(data)
    rate = 0.03 if batch_size == 1 else 0.2
    model = fitted(data, gradient=gradient, batch_size=batch_size, learning_rate=rate)
    assert model.score(data) > untrained + 0.05
    curve = model.learning_curve_["utility"]
    assert curve[-1] > curve[0]


@pytest.mark.parametrize("utility", ["dcg", "err", "average_rank"])
def test_other_utilities_learn_too(data, utility):
    gradient = "reinforce" if utility == "err" else "plrank"
    model = fitted(data, utility=utility, gradient=gradient)
    assert model.score(data) > fitted(data, n_epochs=0).score(data) + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["group", "individual"])
def test_disparity_falls_as_its_weight_grows(unequal, kind):
    name = "GroupDisparity" if kind == "group" else "IndividualDisparity"
    values = [
        disparity(fitted(unequal, disparity=kind, lam=lam), unequal, name)
        for lam in (0.01, 1.0, 20.0)
    ]
    assert values[0] > values[1] > values[2]
    assert values[2] < 0.6 * values[0]


@pytest.mark.gate
def test_a_bound_can_be_asked_for(unequal):
    data = unequal
    free = disparity(fitted(data), data)
    model = fitted(data, disparity="group", max_disparity=0.7 * free)
    assert disparity(model, data) < 0.75 * free
    path = model.path_table_
    assert path["lam"][0] == 0.0
    assert model.lam_ > 0.0
    with pytest.warns(EquirankWarning, match="was not reached"):
        fitted(data, disparity="individual", max_disparity=0.0, n_epochs=0)


def test_the_path_over_the_weight(unequal):
    model = FairPGRank(disparity="group", n_epochs=15, learning_rate=0.03, random_state=0)
    path = model.tradeoff_path([0.0, 1.0, 20.0], unequal)
    unfair = path.table["unfairness"]
    assert path.table["lam"].tolist() == [0.0, 1.0, 20.0]
    assert unfair[0] > unfair[1] > unfair[2]
    assert path.pick(max_ndcg_loss=1.0).lam == 20.0
    assert path.chance[0] < path.table["NDCG"].min() + 0.02
    with pytest.raises(DataError, match="disparity of FairPGRank must be named"):
        FairPGRank().tradeoff_path([0.0], unequal)


@pytest.mark.slow
def test_threads_and_seeds(data):
    one = fitted(data, batch_size=16, n_jobs=1)
    two = fitted(data, batch_size=16, n_jobs=2)
    assert (one.coef_ == two.coef_).all()
    assert (fitted(data, random_state=1).coef_ != fitted(data).coef_).any()


def test_exposure_and_samples(data):
    model = fitted(data, n_epochs=3)
    values, error = model.exposure(data, n_samples=50, return_error=True)
    assert values.shape == error.shape == (data.n_rows,)
    drawn = model.sample_rankings(data, size=4, random_state=0)
    assert drawn.n_draws == 4
    assert evaluate(model.rank(data, n_draws=3, random_state=0), ["NDCG@5"], n_boot=0)


def test_saved_and_read_back(data, tmp_path):
    model = fitted(data, n_epochs=3)
    model.save(tmp_path / "model")
    again = equirank.load(tmp_path / "model")
    assert (again.predict(data) == model.predict(data)).all()
    assert len(again.learning_curve_) == 3


def test_merit_is_a_function_of_relevance(data):
    reward = rewards(data, "ndcg", "individual", np.sqrt, None, None)
    assert reward.merit == pytest.approx(np.sqrt(data.y))
    with pytest.raises(DataError, match="merit must return numbers >= 0"):
        rewards(data, "ndcg", "individual", lambda y: -y - 1.0, None, None)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"model": "mlp"}, "engine of FairPGRank must be 'torch'"),
        ({"utility": "err"}, "gradient of FairPGRank must be 'reinforce'"),
        ({"max_disparity": 0.1}, "disparity of FairPGRank must be named"),
        ({"lam": -1.0}, "lam of FairPGRank must be"),
        ({"n_samples": 0}, "n_samples of FairPGRank must be"),
    ],
)
def test_bad_parameters(data, params, words):
    with pytest.raises(DataError, match=words):
        FairPGRank(**params).fit(data)


def test_groups_are_needed_for_their_disparity():
    with pytest.raises(DataError, match="sensitive_features must be given"):
        FairPGRank(disparity="group", lam=1.0).fit(np.eye(4), [1, 0, 1, 0])


def test_a_weight_needs_a_disparity_and_a_disparity_a_weight():
    data = make_ranking(n_queries=4, n_items=5, random_state=0)
    words = "disparity of FairPGRank must be given with lam=10, which is its weight, got None"
    with pytest.raises(DataError, match=words):
        FairPGRank(lam=10, n_epochs=1).fit(data)
    words = "disparity of FairPGRank has no effect: its weight lam is 0"
    with pytest.warns(EquirankWarning, match=words):
        FairPGRank(disparity="group", n_epochs=1, random_state=0).fit(data)
    searched = FairPGRank(disparity="group", max_disparity=9.0, n_epochs=1, random_state=0)
    searched.fit(data)
    path = FairPGRank(disparity="group", n_epochs=1, random_state=0).tradeoff_path([0, 1], data)
    assert path.table["lam"].tolist() == [0.0, 1.0]


@pytest.mark.skipif(not os.environ.get("EQUIRANK_DATA"), reason="EQUIRANK_DATA is not set")
@pytest.mark.parametrize("by", ["sex", "age_25", "age_35"])
def test_disparity_falls_on_german_lists(by):
    lists, _ = make_german_lists(100, random_state=0)
    X = np.asarray(lists.X, dtype=float)
    lists = replace(lists, X=(X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9))
    name = f'GroupDisparity(by="{by}")'
    params = {"disparity": "group", "by": by, "n_epochs": 20, "learning_rate": 0.01}
    values = [disparity(fitted(lists, lam=lam, **params), lists, name) for lam in (0.01, 1.0, 20.0)]
    assert values[0] > values[1] > values[2]


# the engine on PyTorch


@pytest.mark.parametrize("disparity", [NONE, INDIVIDUAL, GROUP])
@pytest.mark.parametrize("gradient", ["plrank", "reinforce"])
def test_engines_give_the_same_gradient_for_the_same_draws(disparity, gradient):
    torch = pytest.importorskip("torch")
    from equirank.rankers.policy.rewards import Rewards
    from equirank.rankers.policy.torch_engine import padded_gradient

    rng = np.random.default_rng(disparity)
    n, samples, v = 6, 5, 1 / np.log2(np.arange(2, 10))
    score, gain, merit = rng.normal(size=n), rng.random(n), rng.random(n) + 0.1
    group = np.array([0, 1, 2, 0, 1, 0], dtype=np.int32)
    work, orders = np.empty((8, 8)), np.empty((samples, n), dtype=np.int32)
    want, facts = np.empty(n), np.zeros(3)
    list_gradient(
        score, gain, np.zeros(0), merit, group, 3, v[:n], v[:n], 0.8, disparity, 0.2, samples,
        gradient == "plrank", True, np.uint64(4), work, orders, want, facts,
    )  # fmt: skip

    def padded(values, kind=torch.float64):
        row = np.concatenate([values, [0, 0]])
        return torch.as_tensor(row[None]).to(kind)

    real = torch.tensor([[True] * n + [False] * 2])
    scores = torch.where(real, padded(score), torch.tensor(-np.inf, dtype=torch.float64))
    settings = {"n_samples": samples, "lam": 0.8, "entropy": 0.2, "gradient": gradient}
    settings["baseline"] = "leave_one_out"
    drawn = np.concatenate([orders, np.tile([6, 7], (samples, 1))], axis=1).astype(np.int64)
    empty = np.zeros(0)
    reward = Rewards(gain, v, empty, merit, group, v, 3, disparity)
    got, numbers = padded_gradient(
        scores, real, padded(gain), None, padded(merit), padded(group, torch.int64),
        torch.as_tensor(v), torch.as_tensor(v), reward, settings, None,
        orders=torch.as_tensor(drawn[None]),
    )  # fmt: skip
    assert got[0, :n].numpy() == pytest.approx(want, abs=1e-9)
    assert (got[0, n:] == 0).all()
    assert numbers[0].numpy() == pytest.approx(facts, abs=1e-9)


@pytest.mark.slow
def test_engines_learn_alike(data):
    pytest.importorskip("torch")
    params = {"batch_size": 16, "learning_rate": 0.1, "disparity": "group", "lam": 0.5}
    ours = fitted(data, **params)
    theirs = fitted(data, engine="torch", **params)
    assert theirs.score(data) == pytest.approx(ours.score(data), abs=0.03)
    again = fitted(data, engine="torch", **params)
    assert (again.coef_ == theirs.coef_).all()


@pytest.mark.slow
def test_networks_learn(data, tmp_path):
    pytest.importorskip("torch")
    model = fitted(
        data, engine="torch", model="mlp", layers=(8,), batch_size=16, learning_rate=0.02
    )
    assert model.score(data) > fitted(data, n_epochs=0).score(data) + 0.05
    model.save(tmp_path / "model")
    again = equirank.load(tmp_path / "model")
    assert again.predict(data) == pytest.approx(model.predict(data))
