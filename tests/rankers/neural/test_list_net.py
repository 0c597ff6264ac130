"""ListNet as an estimator: what it learns, by which lists, and from what."""

from dataclasses import replace
from itertools import permutations
from math import log

import numpy as np
import pytest
import torch

from equirank import DataError, EquirankWarning
from equirank.datasets import make_ranking
from equirank.rankers import ListNet
from equirank.rankers.neural.list_net import permutation_divergence
from equirank.rankers.neural.losses import cross_entropy, label_order_loss, log_probabilities


def problem_value(model, data):
    """The loss of all lists at the starting weights, and its slope."""
    problem = model.problem(data, 0, torch.device("cpu"))
    weights = torch.tensor(problem.start(0), requires_grad=True)
    batch = problem.batches.batch(np.arange(data.n_queries))
    value = problem.value(weights, batch, {})
    (slope,) = torch.autograd.grad(value, weights)
    return problem, weights, batch, value, slope


@pytest.mark.slow
@pytest.mark.parametrize("phi", ["exp", "linear", "sigmoid"])
@pytest.mark.parametrize("top", [None, 3])
def test_it_learns_with_every_loss(phi, top):
    data = make_ranking(n_queries=25, n_items=12, random_state=0)
    given = {"layers": (6,), "learning_rate": 0.02, "random_state": 0}
    model = ListNet(phi, top, n_epochs=25, **given).fit(data)
    assert model.score(data) > ListNet(phi, top, n_epochs=0, **given).fit(data).score(data) + 0.1
    curve = model.learning_curve_["loss"]
    assert curve[-1] < curve[0]


@pytest.mark.parametrize("top", [None, 2])
def test_the_loss_is_the_mean_over_lists_by_weight(top):
    data = make_ranking(n_queries=5, n_items=7, random_state=0)
    weight = np.array([1.0, 2.0, 3.0, 0.5, 1.0])
    data = replace(data, query_weight=weight)
    model = ListNet(top=top, layers=(4,), batch_size=99, precision="float64")
    problem, weights, batch, value, slope = problem_value(model, data)
    score = problem.net(weights.detach()).score(batch["x"])
    total = 0.0
    for q in range(5):
        rows = slice(7 * q, 7 * q + 7)
        one = score[rows][None], torch.ones(1, 7, dtype=torch.bool), batch["y"][q : q + 1]
        loss = label_order_loss(*one, "exp", top)
        if top is None:
            loss = cross_entropy(log_probabilities(*one[:2]), *one[1:])
        total += float(weight[q] / weight.mean() * loss) / 5
    assert float(value.detach()) == pytest.approx(total, rel=1e-12)
    for place in (0, 17, len(weights) - 1):
        step = torch.zeros_like(weights)
        step[place] = 1e-6
        near = problem.value(weights + step, batch, {}) - problem.value(weights - step, batch, {})
        assert float(slope[place]) == pytest.approx(float(near.detach()) / 2e-6, abs=1e-8)


def test_lists_of_weight_nothing_teach_nothing():
    """Half of the lists say the opposite, and do not count."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(400, 2)), np.repeat(np.arange(40), 10)
    wrong = qid % 2 == 1
    y = np.where(wrong, -X[:, 0], X[:, 0]) + 4.0
    weight = np.where(wrong, 0.0, 1.0)
    model = ListNet(layers=(), n_epochs=20, learning_rate=0.02, random_state=0)
    score = model.fit(X, y, qid=qid, query_weight=weight).predict(X)
    assert np.corrcoef(score, X[:, 0])[0, 1] > 0.8


def test_the_order_of_rows_within_lists_does_not_matter():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    y = np.round(X[:, 0] + 3).clip(0)
    order = np.concatenate([10 * q + rng.permutation(10) for q in range(6)])
    model = ListNet(top=4, layers=(4,), n_epochs=3, precision="float64", random_state=0)
    one = model.fit(X, y, qid=qid).predict(X)
    other = model.fit(X[order], y[order], qid=qid[order]).predict(X)
    np.testing.assert_allclose(one, other, atol=1e-10)


def test_bad_parameters_are_named():
    data = make_ranking(n_queries=4, random_state=0)
    with pytest.raises(DataError, match="phi of ListNet must be one of 'exp', 'linear', 'sigmoid'"):
        ListNet("softmax").fit(data)
    with pytest.raises(DataError, match="top of ListNet must be an integer >= 1, or None, got 0"):
        ListNet(top=0).fit(data)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU")
@pytest.mark.parametrize("top", [None, 3])
def test_a_gpu_learns_the_same(top):
    data = make_ranking(n_queries=25, n_items=12, random_state=0)
    given = {"layers": (6,), "n_epochs": 10, "precision": "float64", "random_state": 0}
    here, there = (ListNet(top=top, device=d, **given).fit(data) for d in ("cpu", "cuda"))
    np.testing.assert_allclose(here.predict(data), there.predict(data), atol=1e-6)


POWERS = {
    "exp": np.exp,
    "linear": lambda v: 1.0 + v - v.min(),
    "sigmoid": lambda v: 1.0 / (1.0 + np.exp(-v)),
}


def orders_twin(values, phi, top):
    """The probability of every order of the first places, by enumerating all."""
    power, found = POWERS[phi](values), {}
    for order in permutations(range(len(values)), min(top, len(values))):
        chance, left = 1.0, power.sum()
        for item in order:
            chance *= power[item] / left
            left -= power[item]
        found[order] = chance
    return found


def divergence_twin(score, label, phi, top):
    wanted, found = (orders_twin(values, phi, top) for values in (label, score))
    return sum(p * log(p / found[order]) for order, p in wanted.items())


def padded_pair(seed, sizes, length):
    rng = np.random.default_rng(seed)
    score, label = rng.normal(size=(len(sizes), length)), rng.normal(size=(len(sizes), length))
    real = np.arange(length) < np.array(sizes)[:, None]
    label[1, : sizes[1]] = 0.0  # all labels equal
    return [torch.tensor(a) for a in (score, real, label)]


@pytest.mark.parametrize("phi", POWERS)
@pytest.mark.parametrize("top", [1, 2, 3, 9])
def test_the_divergence_is_that_over_all_permutations(phi, top):
    sizes = [5, 3, 6, 1]
    score, real, label = padded_pair(top, sizes, 6)
    found = permutation_divergence(score, real, label, phi, top, 1)
    for q, n in enumerate(sizes):
        wanted = divergence_twin(score[q, :n].numpy(), label[q, :n].numpy(), phi, top)
        assert float(found[q]) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert float(permutation_divergence(label, real, label, phi, top, 1).abs().max()) < 1e-12


def test_eight_items_are_exact_and_nine_are_drawn_without_bias():
    score, real, label = padded_pair(0, [8, 2, 9], 9)
    few, many = (permutation_divergence(score, real, label, "exp", 3, n) for n in (1, 4000))
    assert float(few[0]) == float(many[0])  # exact: no draws
    assert float(few[2]) != float(many[2])
    for q, n in ((0, 8), (2, 9)):
        wanted = divergence_twin(score[q, :n].numpy(), label[q, :n].numpy(), "exp", 3)
        assert float(many[q]) == pytest.approx(wanted, rel=0.01 if n > 8 else 1e-9)


def test_top_one_divergence_is_the_cross_entropy_less_a_constant():
    score, real, label = padded_pair(1, [7, 4, 9], 9)
    own, other = (
        permutation_divergence(s, real, label, "exp", 1, 1)
        - cross_entropy(log_probabilities(s, real), real, label)
        for s in (score, score.flip(1))
    )
    torch.testing.assert_close(own, other)


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [6, 11])
def test_the_divergence_has_its_gradient_and_learns(n_items):
    data = make_ranking(n_queries=12, n_items=n_items, random_state=0)
    model = ListNet(top=2, target="distribution", layers=(4,), precision="float64", random_state=0)
    problem, weights, batch, _, slope = problem_value(model, data)
    step = torch.zeros_like(weights)
    step[3] = 1e-6
    near = problem.value(weights + step, batch, {}) - problem.value(weights - step, batch, {})
    assert float(slope[3]) == pytest.approx(float(near.detach()) / 2e-6, abs=1e-7)
    untrained = model.set_params(n_epochs=0).fit(data).score(data)
    trained = model.set_params(n_epochs=25, learning_rate=0.03).fit(data).score(data)
    assert trained > untrained + 0.1
    by_order = ListNet(top=2, **{k: v for k, v in model.get_params().items()
                                 if k in ("layers", "precision", "random_state", "n_epochs",
                                          "learning_rate")}).fit(data)  # fmt: skip
    assert not np.allclose(by_order.predict(data), model.predict(data))


def test_parameters_of_the_divergence_are_not_silent():
    data = make_ranking(n_queries=3, n_items=4, random_state=0)
    given = {"layers": (), "n_epochs": 1, "random_state": 0}
    with pytest.warns(EquirankWarning, match="target of ListNet has no effect: top must be given"):
        ListNet(target="distribution", **given).fit(data)
    with pytest.warns(EquirankWarning, match="n_draws of ListNet has no effect"):
        ListNet(top=2, n_draws=3, **given).fit(data)
