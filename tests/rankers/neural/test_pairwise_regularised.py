"""PairwiseRegularised: its loss by hand, which pairs it looks at, and what the price does."""

import numpy as np
import pytest
import torch

from equirank import DataError, EquirankWarning, as_ranking_data
from equirank.rankers import PairwiseRegularised
from equirank.rankers.neural.pairwise_regularised import KINDS

from .test_constrained_pairwise import accuracies, biased

QUICK = {"layers": (), "batch_size": 64, "n_epochs": 15, "learning_rate": 0.03, "random_state": 0}


def first_batch(model, data):
    problem = model.problem(data, 0, torch.device("cpu"))
    weights = torch.tensor(problem.start(0), requires_grad=True)
    batch = next(iter(problem.batches.epoch(0)))
    return problem, weights, batch


@pytest.mark.parametrize("pairs", KINDS)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_loss_by_hand(pairs, loss):
    data = biased(0, groups=("a", "b", "c"))
    model = PairwiseRegularised(
        2.0, pairs, loss=loss, layers=(3,), batch_size=50, precision="float64"
    )
    problem, weights, batch = first_batch(model, data)
    hyper = {"gamma": torch.tensor(2.0, dtype=torch.float64)}
    score = problem.net(weights.detach()).score(batch["x"]).numpy()
    gap, code = score[0] - score[1], batch["code"].numpy()
    assert code.shape == (2, 100)
    same = code[0, 50:] == code[1, 50:]
    assert {"inter": not same.any(), "intra": same.all(), "all": 0 < same.sum() < 50}[pairs]
    each = np.maximum(0, 1 - gap[:50]) if loss == "hinge" else np.log1p(np.exp(-gap[:50]))
    wanted = each.mean() + 2.0 * np.mean(
        [abs(np.corrcoef(gap[50:], code[0, 50:] == g)[0, 1]) for g in range(3)]
    )
    value = problem.value(weights, batch, hyper)
    assert float(value.detach()) == pytest.approx(wanted, rel=1e-10)
    (slope,) = torch.autograd.grad(value, weights)
    for place in range(0, len(weights), 3):
        step = torch.zeros_like(weights)
        step[place] = 1e-6
        ends = [problem.value(weights + way * step, batch, hyper) for way in (1.0, -1.0)]
        near = float((ends[0] - ends[1]).detach()) / 2e-6
        assert float(slope[place]) == pytest.approx(near, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [("a", "b"), ("a", "b", "c")])
def test_a_price_brings_the_accuracies_together(groups):
    data = biased(1, groups=groups)
    gaps = []
    for gamma in (0.0, 2.0):
        table = accuracies(PairwiseRegularised(gamma, **QUICK).fit(data).rank(data))
        gaps.append(np.abs(table - table.T).max())
    assert gaps[0] > 0.3
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.slow
def test_pairs_of_one_group_are_brought_together_too():
    """One group's feature says more of its skill: its margins are wider before."""
    rng = np.random.default_rng(0)
    code, skill = rng.integers(0, 2, 400), rng.normal(size=400)
    X = np.stack([skill * (1.0 + 2.0 * code), rng.normal(size=400)], axis=1)
    y = np.clip(np.round(skill + 1.5), 0, 3)
    data = as_ranking_data(X, y, qid=np.repeat(np.arange(20), 20), sensitive_features=code)

    def correlated(gamma):
        score = PairwiseRegularised(gamma, "intra", **QUICK).fit(data).predict(data)
        query = data.query_of_rows()
        gap, group = [], []
        for i in range(400):
            for j in np.flatnonzero((query == query[i]) & (y < y[i]) & (code == code[i])):
                gap.append(score[i] - score[j])
                group.append(code[i])
        return abs(np.corrcoef(gap, group)[0, 1])

    assert correlated(5.0) < 0.7 * correlated(0.0)


def test_lists_of_weight_nothing_teach_nothing():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)
    wrong = qid % 2 == 1
    y = np.round(np.where(wrong, -X[:, 0], X[:, 0]) + 3.0).clip(0)
    model = PairwiseRegularised(0.0, **QUICK)
    given = {"qid": qid, "sensitive_features": rng.choice(["a", "b"], 200)}
    score = model.fit(X, y, query_weight=np.where(wrong, 0.0, 1.0), **given).predict(X)
    assert np.corrcoef(score, X[:, 0])[0, 1] > 0.9


def test_one_group_and_nothing_to_compare():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y, groups = np.clip(np.round(X[:, 0] + 1.5), 0, 3), ["a"] * 30
    model = PairwiseRegularised(1.0, **QUICK).fit(X, y, sensitive_features=groups)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.5
    with pytest.warns(EquirankWarning, match="PairwiseRegularised learns nothing"):
        model.fit(X, np.zeros(30), sensitive_features=groups)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(DataError, match="pairs of PairwiseRegularised must be one of 'inter', 'i"):
        PairwiseRegularised(1.0, "none").fit(X, y, sensitive_features=groups)
