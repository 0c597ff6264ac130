"""DebiasClassifier: classes and values, the adversary's gradient, what users expect of it."""

import numpy as np
import pytest
import torch

import equirank
from equirank import DataError
from equirank.datasets import make_ranking
from equirank.rankers import DebiasClassifier

SMALL = {"layers": (6, 3), "n_epochs": 4, "batch_size": 32, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_ranking(
        n_queries=12, n_items=12, n_features=4, n_grades=3, feature_bias=0.5, random_state=0
    )


@pytest.mark.parametrize("target", ["class", "value"])
def test_loss_and_gradient_are_those_written_by_hand(data, target):
    gamma = 0.6
    model = DebiasClassifier(
        gamma, target, layers=(3,), adversary_layers=(), batch_size=8, precision="float64"
    )
    problem = model.problem(data, 0, torch.device("cpu"))
    batch = next(problem.batches.epoch(0))
    batch["weight"] = torch.linspace(0.5, 1.5, 8, dtype=torch.float64)
    plain = {name: values.numpy() for name, values in batch.items()}

    def twin(vector):
        w, main, other = problem.unpack(vector), 0.0, 0.0
        for row in range(8):
            f = np.tanh(plain["x"][row] @ w["features.0.weight"].T + w["features.0.bias"])
            out = f @ w["output.0.weight"].T + w["output.0.bias"]
            if target == "class":
                cost = np.log(np.exp(out).sum()) - out[plain["goal"][row]]
            else:
                cost = (out[0] - plain["goal"][row]) ** 2
            main += plain["weight"][row] * cost / 8
            guess = f @ w["adversary.row.0.0.weight"].T + w["adversary.row.0.0.bias"]
            cost = np.log(np.exp(guess).sum()) - guess[plain["sensitive"][row, 0]]
            other += plain["weight"][row] * cost / 8
        return np.array([main, other])

    vector = problem.start(0) + 0.1
    weights = torch.tensor(vector, requires_grad=True)
    loss = problem.value(weights, batch, {"gamma": torch.tensor(gamma, dtype=torch.float64)})
    assert loss.item() == pytest.approx(twin(vector).sum(), rel=1e-12)
    (gradient,) = torch.autograd.grad(loss, weights)
    n_own = problem.model.sections()[0]
    for at in range(len(vector)):
        step = np.zeros_like(vector)
        step[at] = 1e-5
        own, theirs = (twin(vector + step) - twin(vector - step)) / 2e-5
        expected = own - gamma * theirs if at < n_own else theirs
        assert float(gradient[at]) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_classes(data, tmp_path):
    model = DebiasClassifier(**SMALL).fit(data)
    assert model.classes_.tolist() == np.unique(data.y).tolist()
    chance = model.predict_proba(data.X)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict(data.X), chance @ model.classes_, rtol=1e-9)
    assert set(model.predict_class(data.X)) <= set(model.classes_)
    assert model.predict_class(data.X)[5] == model.classes_[chance[5].argmax()]
    assert model.transform(data).shape == (data.n_rows, 3)
    model.save(tmp_path / "model")
    back = equirank.load(tmp_path / "model")
    assert np.array_equal(back.predict_proba(data), model.predict_proba(data))


@pytest.mark.slow
def test_values_are_on_the_scale_of_the_relevance(data):
    given = SMALL | {"n_epochs": 60, "learning_rate": 0.02}
    model = DebiasClassifier(0.0, "value", **given)
    y = 100.0 + 50.0 * data.X[:, 0].clip(-2, 2)
    model.fit(data.X, y, sensitive_features=np.arange(len(y)) % 2)
    found = model.predict(data.X)
    assert np.abs(found - y).mean() < 12.0
    assert not hasattr(model, "predict_proba")
    level = DebiasClassifier(0.0, "value", **SMALL).fit(
        data.X, np.full(len(y), 3.0), sensitive_features=np.arange(len(y)) % 2
    )
    assert np.abs(level.predict(data.X) - 3.0).max() < 2.0


def test_what_it_refuses(data):
    with pytest.raises(DataError, match="sensitive_features must be given"):
        DebiasClassifier().fit(data.X, data.y)
    with pytest.raises(DataError, match="y must have at most 100 different values"):
        DebiasClassifier().fit(
            data.X, np.arange(data.n_rows), sensitive_features=np.arange(data.n_rows) % 2
        )


def test_without_a_say_the_adversary_changes_nothing(data):
    still = DebiasClassifier(0.0, **SMALL).fit(data)
    slow = DebiasClassifier(0.0, **SMALL, adversary_rate=0.1, adversary_layers=()).fit(data)
    loud = DebiasClassifier(2.0, **SMALL).fit(data)
    assert np.array_equal(still.predict(data), slow.predict(data))
    assert not np.allclose(still.predict(data), loud.predict(data), rtol=1e-3)
