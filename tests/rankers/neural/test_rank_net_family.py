"""RankNet, LambdaRank and SoftRank as estimators: both ways of computing, slopes, weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from equirank import DataError, as_ranking_data
from equirank.core.ranking import Ranking
from equirank.core.registry import parse_metric
from equirank.datasets import make_ranking
from equirank.rankers import LambdaRank, RankNet, SoftRank
from equirank.rankers.neural import lambda_rank, rank_net
from equirank.rankers.neural.losses import lambda_grads, logistic_grads

KINDS = (RankNet, LambdaRank, SoftRank)


class Elsewhere(dict):
    """A batch that says it is not on a CPU, so that the padded way is taken."""

    class Rows:
        def __init__(self, rows):
            self.rows, self.device, self.dtype = rows, torch.device("meta"), rows.dtype

    def __getitem__(self, name):
        value = super().__getitem__(name)
        return self.Rows(value) if name == "x" else value


def uneven(seed=0, sizes=(9, 1, 14, 5), weighted=True):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(qid), 3))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(qid))), 0, 3)
    data = as_ranking_data(X, y, qid=qid)
    return replace(data, query_weight=np.array([1.0, 2.0, 0.5, 0.5])) if weighted else data


def value_of(model, data, batch_kind=dict):
    problem = model.problem(data, 0, torch.device("cpu"))
    weights = torch.tensor(problem.start(0), requires_grad=True)
    batch = problem.batches.batch(np.arange(data.n_queries))
    net = problem.net(weights)
    score = net.score
    net.score = lambda x: score(getattr(x, "rows", x))
    value = model._loss(net, batch_kind(batch), {})
    (slope,) = torch.autograd.grad(value, weights)
    return float(value.detach()), slope.numpy(), problem, weights.detach(), batch


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", [(RankNet, {}), (LambdaRank, {}), (LambdaRank, {"truncation": 2})]
)
@pytest.mark.parametrize("seed", range(3))
def test_rows_and_padded_lists_give_the_same(given, seed):
    model = given[0](layers=(4,), batch_size=9, precision="float64", **given[1])
    here = value_of(model, uneven(seed))
    there = value_of(model, uneven(seed), Elsewhere)
    assert here[0] == pytest.approx(there[0], rel=1e-12)
    np.testing.assert_allclose(here[1], there[1], atol=1e-12)
    assert np.abs(here[1]).max() > 1e-3


@pytest.mark.parametrize("kind", [RankNet, SoftRank])
def test_slopes_of_the_weights_by_finite_differences(kind):
    model = kind(layers=(4,), batch_size=9, precision="float64")
    _, slope, problem, weights, batch = value_of(model, uneven(1))
    for place in range(0, len(weights), 5):
        step = torch.zeros_like(weights)
        step[place] = 1e-6
        near = problem.value(weights + step, batch, {}) - problem.value(weights - step, batch, {})
        assert slope[place] == pytest.approx(float(near) / 2e-6, abs=1e-8)


def test_lambdarank_reports_1_less_ndcg():
    data = uneven(0, weighted=False)
    value, _, problem, weights, batch = value_of(LambdaRank(layers=(4,), precision="float64"), data)
    score = problem.net(weights).score(batch["x"]).numpy()
    values = parse_metric("NDCG").per_query(Ranking.from_scores(data, score)).value
    known = np.nan_to_num(1.0 - values, nan=0.0)
    assert value == pytest.approx(known.mean(), abs=1e-12)


def test_softrank_of_sure_scores_is_ndcg():
    data = uneven(0, weighted=False)
    model = SoftRank(sigma=1e-6, layers=(4,), precision="float64")
    value, _, problem, weights, batch = value_of(model, data)
    score = problem.net(weights).score(batch["x"]).numpy()
    values = parse_metric("NDCG").per_query(Ranking.from_scores(data, score)).value
    assert value == pytest.approx(np.nan_to_num(1.0 - values, nan=0.0).mean(), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_over_lists_is_by_their_weights(kind):
    model, data = kind(layers=(4,), precision="float64"), uneven(2)
    weight = data.query_weight
    alone = [replace(data, query_weight=np.eye(4)[q]) for q in range(4)]
    values, slopes = zip(*(value_of(model, one)[:2] for one in alone), strict=True)
    whole = value_of(model, data)
    share = weight / weight.sum()
    assert len({round(v, 6) for v in values}) > 2
    assert whole[0] == pytest.approx(share @ np.array(values), rel=1e-10)
    np.testing.assert_allclose(whole[1], share @ np.array(slopes), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_they_learn(kind):
    data = make_ranking(n_queries=25, n_items=12, random_state=0)
    given = {"layers": (6,), "learning_rate": 0.02, "random_state": 0}
    before = kind(n_epochs=0, **given).fit(data).score(data)
    model = kind(n_epochs=15, **given).fit(data)
    assert model.score(data) > before + 0.1
    assert model.learning_curve_["loss"][-1] < model.learning_curve_["loss"][0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_weight_nothing_teach_nothing(kind):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)
    wrong = qid % 2 == 1
    y = np.round(np.where(wrong, -X[:, 0], X[:, 0]) + 3.0).clip(0)
    model = kind(layers=(), n_epochs=60, learning_rate=0.1, random_state=0)
    score = model.fit(X, y, qid=qid, query_weight=np.where(wrong, 0.0, 1.0)).predict(X)
    assert np.corrcoef(score, X[:, 0])[0, 1] > 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_compare_changes_nothing(kind):
    X = np.random.default_rng(0).normal(size=(8, 2))
    qid = np.repeat([0, 1], 4)
    start = kind(n_epochs=0, random_state=0).fit(X, np.zeros(8), qid=qid).predict(X)
    end = kind(n_epochs=3, random_state=0).fit(X, np.zeros(8), qid=qid).predict(X)
    np.testing.assert_allclose(end, start, atol=1e-12)


@pytest.mark.parametrize("kind", [LambdaRank, SoftRank])
def test_only_the_first_places_count(kind):
    """Where the first place is right, a cutoff of 1 has (nearly) nothing left to teach."""
    y = np.array([3.0, 0, 1, 2])
    near = {LambdaRank: "truncation", SoftRank: "k"}[kind]
    for given, quiet in (({near: 1}, True), ({near: 4}, False)):
        model = kind(sigma=1.0 if kind is LambdaRank else 0.01, layers=(), precision="float64")
        model.set_params(**given)
        problem = model.problem(as_ranking_data(np.eye(4), y), 0, torch.device("cpu"))
        batch = problem.batches.batch(np.arange(1))
        raw = torch.tensor([30.0, 3.0, 2.0, 1.0], dtype=torch.float64, requires_grad=True)
        net = type("Fixed", (), {"score": lambda self, x, raw=raw: raw})()
        value = model._loss(net, batch, {})
        (slope,) = torch.autograd.grad(value, raw)
        assert (abs(float(value.detach())) < 1e-6) == quiet
        if kind is LambdaRank:
            assert (float(slope.abs().max()) < 1e-6) == quiet


def test_the_slow_parts_are_not_compiled_elsewhere():
    """What a GPU runs is the padded way."""
    assert rank_net.logistic_grads is logistic_grads
    assert lambda_rank.lambda_grads is lambda_grads


def test_bad_parameters_are_named():
    data = make_ranking(n_queries=4, random_state=0)
    for kind in KINDS:
        with pytest.raises(DataError, match=f"sigma of {kind.__name__} must be a number > 0"):
            kind(sigma=0.0).fit(data)
    with pytest.raises(DataError, match="truncation of LambdaRank must be an integer >= 1, or Non"):
        LambdaRank(0).fit(data)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_learns_the_same(kind):
    data = make_ranking(n_queries=25, n_items=12, random_state=0)
    given = {"layers": (6,), "n_epochs": 5, "precision": "float64", "random_state": 0}
    here, there = (kind(device=d, **given).fit(data) for d in ("cpu", "cuda"))
    np.testing.assert_allclose(here.predict(data), there.predict(data), atol=1e-5)
