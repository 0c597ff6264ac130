"""Networks: the same steps in NumPy and PyTorch, weights drawn from their own streams."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

from equirank.rankers.neural.network import ACTIVATIONS, Layers, Model, Net


def model(activation="tanh", noise=False, classes=False):
    features = Layers("features", (5, 4, 3), activation, closed=True, noise=noise)
    output = Layers("output", (3, 3 if classes else 1), bias=classes)
    return Model(features, output, (Layers("adversary.row.0", (3, 6, 2)),), classes)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("classes", [False, True])
def test_numpy_and_pytorch_compute_the_same(activation, noise, classes):
    net = model(activation, noise, classes)
    weights = net.initial(0) | net.constants(0)
    weights |= {"output.values": np.array([0.0, 1.0, 4.0])} if classes else {}
    tensors = {name: torch.as_tensor(values) for name, values in weights.items()}
    x = np.random.default_rng(0).normal(size=(7, 5))
    for use in (
        Net.score,
        Net.features,
        lambda n, rows: n.part("adversary.row.0", n.features(rows)),
    ):
        plain = use(Net(net, weights), x)
        np.testing.assert_allclose(
            plain, use(Net(net, tensors), torch.as_tensor(x)).numpy(), rtol=1e-12
        )


def test_the_steps_by_hand():
    net = model(noise=True)
    weights = net.initial(3) | net.constants(3)
    weights["features.noise.w2"] = np.arange(5.0)
    x = np.random.default_rng(1).normal(size=(2, 5))
    a = x * weights["features.noise.w1"] + weights["features.eta"] * np.arange(5.0)
    a = np.tanh(a @ weights["features.0.weight"].T + weights["features.0.bias"])
    a = np.tanh(a @ weights["features.1.weight"].T + weights["features.1.bias"])
    np.testing.assert_allclose(Net(net, weights).features(x), a, rtol=1e-14)
    expected = a @ weights["output.0.weight"][0]
    np.testing.assert_allclose(Net(net, weights).score(x), expected, rtol=1e-14)


def test_weights_of_the_ranker_do_not_depend_on_its_opponents():
    with_one, without = model(), Model(model().features, model().output)
    drawn, alone = with_one.initial(7), without.initial(7)
    assert list(drawn)[: len(alone)] == list(alone)
    for name, values in alone.items():
        assert np.array_equal(values, drawn[name])
    assert without.sections() == [sum(v.size for v in alone.values())]
    assert sum(with_one.sections()) == sum(v.size for v in drawn.values())
    assert not np.array_equal(model().initial(8)["output.0.weight"], drawn["output.0.weight"])


def test_a_model_comes_back_from_json():
    for one in (model(), model("relu", True, True)):
        assert Model.read(json.loads(json.dumps(asdict(one)))) == one


def test_without_layers_the_features_are_the_inputs():
    linear = Model(Layers("features", (4,), closed=True), Layers("output", (4, 1), bias=False))
    x = np.ones((2, 4))
    assert np.array_equal(Net(linear, linear.initial(0)).features(x), x)
    assert list(linear.shapes()) == ["output.0.weight"]
