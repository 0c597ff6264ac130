"""Devices: nothing is picked unasked, PyTorch's settings are left as they were."""

import numpy as np
import pytest
import torch

from equirank import DataError
from equirank.datasets import make_ranking
from equirank.rankers import DirectRanker
from equirank.rankers.neural.network import autocast, chosen_device, threads

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA GPU here")


def data():
    return make_ranking(n_queries=10, n_items=20, random_state=0)


def test_only_auto_picks(monkeypatch):
    assert chosen_device("cpu", "float32").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert chosen_device("auto", "float32").type == "cpu"
    with pytest.raises(DataError, match="device must be 'cpu' or 'auto' here, got 'cuda'"):
        DirectRanker(device="cuda").fit(data())
    with pytest.raises(DataError, match="precision must be 'float32' or 'float64' on a CPU"):
        DirectRanker(device="auto", precision="mixed").fit(data())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert chosen_device("cpu", "float32").type == "cpu"
    assert chosen_device("auto", "mixed").type == "cuda"


def test_threads_and_seeds_of_pytorch_are_left_alone(monkeypatch):
    before = torch.get_num_threads()
    seen = []
    monkeypatch.setattr(torch, "set_num_threads", lambda n: seen.append(n))
    with pytest.raises(ZeroDivisionError), threads(2):
        raise ZeroDivisionError
    assert seen == [2, before]
    monkeypatch.undo()
    torch.manual_seed(5)
    state, flags = torch.get_rng_state(), torch.are_deterministic_algorithms_enabled()
    first = DirectRanker("both", noise=True, n_epochs=2, random_state=0).fit(data())
    assert torch.equal(state, torch.get_rng_state())
    assert torch.get_num_threads() == before
    assert torch.are_deterministic_algorithms_enabled() == flags
    torch.manual_seed(6)
    again = DirectRanker("both", noise=True, n_epochs=2, random_state=0).fit(data())
    assert np.array_equal(first.predict(data()), again.predict(data()))


@pytest.mark.gate
def test_bfloat16_products_keep_scores_in_single_precision():
    from equirank.rankers.neural.network import Layers, Model, Net

    model = Model(Layers("features", (4, 8, 3), closed=True), Layers("output", (3, 1), bias=False))
    weights = {name: torch.as_tensor(v).float() for name, v in model.initial(0).items()}
    x = torch.linspace(-1, 1, 20).reshape(5, 4)
    exact = Net(model, weights).score(x)
    with autocast(torch.device("cpu"), "mixed"):
        found = Net(model, weights).score(x)
        assert Net(model, weights).features(x).dtype == torch.bfloat16
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, exact, rtol=0.05, atol=0.02)
    assert not torch.equal(found, exact)


@CUDA
@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_a_gpu_learns_what_a_cpu_learns(precision):
    near = DirectRanker("both", n_epochs=5, random_state=0).fit(data())
    far = DirectRanker("both", n_epochs=5, random_state=0, device="cuda", precision=precision).fit(
        data()
    )
    tolerance = 0.05 if precision == "float32" else 0.3
    np.testing.assert_allclose(near.predict(data()), far.predict(data()), atol=tolerance)
