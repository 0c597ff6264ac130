"""DELTR's losses against NumPy written apart, fairsearchdeltr and finite differences."""

from math import log

import numpy as np
import pytest
import torch

from equirank import DataError, as_ranking_data, evaluate
from equirank.datasets import make_ranking
from equirank.rankers import DELTR, ListNet
from equirank.rankers.neural.batches import QueryBatches, Rows
from equirank.rankers.neural.deltr import _loss
from equirank.rankers.neural.losses import exposure_contrasts
from equirank.rankers.neural.network import Layers, Model, Net


def people(seed=0, sizes=(9, 4, 6), groups=2):
    """Features (the group first), labels, lists and groups; every list has every group."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    code = np.concatenate([rng.permutation(np.arange(n) % groups) for n in sizes])
    X = np.column_stack([code == 1, rng.normal(size=(len(qid), 2))]).astype(float)
    return X, rng.random(len(qid)), qid, code


def at(omega, X, y, qid, code, groups, gamma, n_rows=0, l2=0.0, weight=None):
    """The library's loss and its gradient at a linear scorer's weights."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(qid))])
    side = exposure_contrasts(code, offsets, groups)
    rows = Rows({"x": X, "y": y, "contrast": side}, torch.device("cpu"))
    weight = np.ones(len(offsets) - 1) if weight is None else weight
    batch = QueryBatches(rows, offsets, weight, 99, 0).batch(np.arange(len(weight)))
    model = Model(Layers("features", (X.shape[1],)), Layers("output", (X.shape[1], 1), bias=False))
    weights = torch.tensor(omega[None], requires_grad=True)
    net = Net(model, {"output.0.weight": weights})
    found = _loss(net, batch, {"gamma": torch.tensor(gamma)}, n_rows, l2)
    (slope,) = torch.autograd.grad(found, weights)
    return float(found.detach()), slope.numpy()[0]


def paper(omega, X, y, qid, code, protected, gamma, weight):
    """The paper's loss and its gradient in NumPy, list by list."""
    total, slope = 0.0, np.zeros(X.shape[1])
    for q, w in enumerate(weight):
        x, label, mine = X[qid == q], y[qid == q], code[qid == q] == protected
        wanted = np.exp(label) / np.exp(label).sum()
        chance = np.exp(x @ omega) / np.exp(x @ omega).sum()
        gap = max(0.0, chance[~mine].mean() - chance[mine].mean())
        total += w * (-(wanted * np.log(chance)).sum() + gamma * gap**2)
        share = np.where(mine, -1.0 / mine.sum(), 1.0 / (~mine).sum())
        pull = chance - wanted + 2 * gamma * gap * chance * (share - chance @ share)
        slope += w * (x.T @ pull)
    return total / len(weight), slope / len(weight)


def fairsearch(omega, X, y, qid, code, protected, gamma, l2):
    """The loss of fairsearchdeltr, row by row as its source sums it up."""
    score, total = X @ omega, 0.0
    for row in range(len(y)):
        here = qid == qid[row]
        s, label, mine = score[here], y[here], code[here] == protected
        chance = np.exp(s) / np.exp(s).sum()
        total -= (np.exp(label) / np.exp(label).sum()) @ np.log(chance) / log(len(y))
        exposed = [(chance[side] / log(2.0)).sum() / side.sum() for side in (~mine, mine)]
        total += gamma * max(0.0, exposed[0] - exposed[1]) ** 2
    return total + l2 * (score**2).sum()


@pytest.mark.parametrize("gamma", [0.0, 1.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_paper_s_loss_and_gradient(seed, gamma):
    X, y, qid, code = people(seed)
    omega = np.random.default_rng(seed).normal(size=3)
    weight = np.array([0.5, 2.0, 0.5])
    found = at(omega, X, y, qid, code, (1,), gamma, weight=weight)
    wanted = paper(omega, X, y, qid, code, 1, gamma, weight)
    assert found[0] == pytest.approx(wanted[0], rel=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-10)


def test_the_price_is_paid_in_some_of_these_cases():
    """Else the tests of its gradient would say nothing."""
    X, y, qid, code = people(0)
    omega = np.random.default_rng(0).normal(size=3)
    free, paid = (at(omega, X, y, qid, code, (1,), gamma)[0] for gamma in (0.0, 1.0))
    assert paid > free + 1e-4


@pytest.mark.parametrize("gamma", [0.0, 1.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_compat_is_the_library_s_loss_with_its_right_gradient(seed, gamma):
    X, y, qid, code = people(seed)
    omega = np.random.default_rng(seed).normal(size=3)
    given = (X, y, qid, code)
    found, slope = at(omega, *given, (1,), gamma, n_rows=len(y), l2=0.003)
    assert found == pytest.approx(fairsearch(omega, *given, 1, gamma, 0.003), rel=1e-12)
    for place in range(3):
        step = np.eye(3)[place] * 1e-6
        near = fairsearch(omega + step, *given, 1, gamma, 0.003)
        near -= fairsearch(omega - step, *given, 1, gamma, 0.003)
        assert slope[place] == pytest.approx(near / 2e-6, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_the_package_itself_has_this_loss(gamma, capsys):
    trainer = pytest.importorskip("fairsearchdeltr.trainer", reason="fairsearchdeltr is not there")
    X, y, qid, code = people(1)
    X[:, 1:] -= 2.0 * code[:, None]  # the package starts with positive weights: a gap to price
    np.random.seed(0)  # noqa: NPY002 - what the package draws its start from
    made = trainer.Trainer(0, gamma, 1, 0.0, 0.001, 1.0)  # one step of length 0
    omega, steps = made.train_nn(qid, X, y.reshape(-1, 1))
    capsys.readouterr()
    found, slope = at(omega, X, y, qid, code, (1,), gamma, n_rows=len(y))
    assert found == pytest.approx(float(steps[0].loss), rel=1e-10)
    theirs = np.asarray(steps[0].omega_gradient).reshape(len(y), -1).sum(axis=0)
    assert np.allclose(theirs, slope, rtol=1e-8) == (gamma == 0.0)


def test_two_groups_and_nobody_named():
    X, y, qid, code = people(2)
    omega = np.random.default_rng(1).normal(size=3)
    both = at(omega, X, y, qid, code, (0, 1), 3.0)[0]
    each = [at(omega, X, y, qid, code, (g,), 3.0)[0] for g in (0, 1)]
    plain = at(omega, X, y, qid, code, (), 3.0)[0]
    assert both - plain == pytest.approx(sum(each) - 2 * plain)


def test_without_a_price_it_is_linear_listnet():
    data = make_ranking(n_queries=12, n_items=9, random_state=0)
    given = {"n_epochs": 5, "learning_rate": 0.01, "random_state": 3}
    plain = ListNet(layers=(), **given).fit(data)
    np.testing.assert_array_equal(DELTR(0.0, **given).fit(data).predict(data), plain.predict(data))


@pytest.mark.slow
@pytest.mark.parametrize("compat", [None, "fairsearch"])
def test_a_price_gives_the_groups_like_exposure(compat):
    data = make_ranking(n_queries=15, n_items=16, feature_bias=1.0, random_state=1)
    given = {"compat": compat, "n_epochs": 60, "learning_rate": 0.03, "random_state": 0}
    gaps = [
        evaluate(DELTR(gamma, **given).fit(data).rank(data), "ExposureGap", n_boot=0)["ExposureGap"]
        for gamma in (0.0, 300.0)
    ]
    assert gaps[1] < 0.7 * gaps[0]


def test_a_protected_group_is_named():
    data = make_ranking(n_queries=15, n_items=16, feature_bias=1.0, random_state=1)
    given = {"n_epochs": 40, "learning_rate": 0.03, "random_state": 0}
    plain = DELTR(0.0, **given).fit(data).predict(data)
    low, high = (DELTR(300.0, protected=g, **given).fit(data).predict(data) for g in "ab")
    assert np.abs(low - plain).max() > 0.1  # b is favoured: a's protection binds,
    assert np.abs(high - plain).max() < np.abs(low - plain).max()  # b's hardly does
    with pytest.raises(DataError, match="protected must be one of the groups"):
        DELTR(protected="c", **given).fit(data)


def test_three_groups_several_attributes_networks_and_noise():
    X, y, qid, code = people(0, groups=3)
    groups = {"g": code.astype(str), "h": (np.arange(len(y)) % 2).astype(str)}
    data = as_ranking_data(X, y, qid=qid, sensitive_features=groups)
    with pytest.raises(DataError, match="by must name one of the attributes"):
        DELTR(n_epochs=1).fit(data)
    for by in ("g", ("g", "h")):
        model = DELTR(5.0, by=by, layers=(3,), noise=True, n_epochs=3, random_state=0).fit(data)
        assert np.isfinite(model.predict(X)).all()
        assert model.weights_["features.eta"].shape == (3,)


def test_lists_of_one_group_cost_nothing():
    X, y, qid, code = people(0)
    code = np.where(qid == 0, 1, code)
    omega = np.random.default_rng(0).normal(size=3)
    only = qid == 0
    one = (X[only], y[only], qid[only], code[only], (1,))
    assert at(omega, *one, 9.0)[0] == at(omega, *one, 0.0)[0]
    assert np.isfinite(at(omega, X, y, qid, code, (0,), 9.0, n_rows=19)[1]).all()
