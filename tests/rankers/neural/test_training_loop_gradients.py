"""Gradients: by autograd, nothing from those who are lost, and replayed as they were computed."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from equirank.datasets import make_ranking
from equirank.rankers import DebiasClassifier, DirectRanker
from equirank.rankers.neural import training_loop as gradients
from equirank.rankers.neural.training_loop import Computed, Recorded
from equirank.search import fit_together

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA GPU here")


def bowl(weights, batch):
    return ((weights - batch["goal"]) ** 2).sum(dim=-1)


def test_the_gradient_is_that_of_the_loss():
    weights, goal = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 0.5])
    loss, gradient = Computed(bowl, nullcontext)(weights, {"goal": goal})
    assert loss == 0.25 + 6.25
    assert gradient.tolist() == [1.0, -5.0]
    assert not loss.requires_grad
    assert not weights.requires_grad


def test_whoever_is_lost_has_no_gradient_and_shows_its_loss():
    weights = torch.tensor([[1.0], [torch.nan], [2.0]])
    loss, gradient = Computed(bowl, nullcontext)(weights, {"goal": torch.tensor([0.0])})
    assert loss[0] == 1.0
    assert torch.isnan(loss[1])
    assert loss[2] == 4.0
    assert gradient[[0, 2], 0].tolist() == [2.0, 4.0]


class Replay:
    """A graph of CUDA's in plain Python: it computes again where it was recorded."""

    def __init__(self, plain, at, held, found):
        self.plain, self.at, self.held, self.found = plain, at, held, found

    def replay(self):
        for kept, new in zip(self.found, self.plain(self.at, self.held), strict=True):
            kept.copy_(new)


def test_shapes_are_recorded_at_their_second_batch_and_only_some(monkeypatch):
    calls = []

    class Counted(Recorded):
        def _record(self, weights, batch):
            calls.append(len(batch["goal"]))
            at, held = weights.clone(), {name: values.clone() for name, values in batch.items()}
            found = self.plain(at, held)
            return Replay(self.plain, at, held, found), at, held, found

    monkeypatch.setattr(gradients, "MAX_RECORDED", 2)
    plain = Computed(bowl, nullcontext)
    replayed = Counted(plain)
    rng = np.random.default_rng(0)
    for size in (3, 3, 2, 3, 2, 1, 2, 1, 1, 3):
        weights, goal = (torch.as_tensor(rng.normal(size=size)) for _ in range(2))
        for one, other in zip(plain(weights, {"goal": goal}), replayed(weights, {"goal": goal}),
                              strict=True):  # fmt: skip
            assert torch.equal(one, other)
    assert calls == [3, 2]


def data():
    return make_ranking(n_queries=12, n_items=20, feature_bias=1.0, random_state=0)


@CUDA
@pytest.mark.parametrize("precision", ["float32", "mixed"])
@pytest.mark.parametrize("fairness", [None, "both"])
def test_a_gpu_replays_what_it_would_compute(monkeypatch, fairness, precision):
    given = {"n_epochs": 4, "batch_size": 64, "random_state": 0, "device": "cuda"}
    made = DirectRanker(fairness, precision=precision, **given).fit(data())
    monkeypatch.setattr(DirectRanker, "recordable", False)
    plain = DirectRanker(fairness, precision=precision, **given).fit(data())
    np.testing.assert_allclose(made.predict(data()), plain.predict(data()), atol=1e-4)
    np.testing.assert_allclose(made.curve_["loss"], plain.curve_["loss"], atol=1e-5)


@CUDA
def test_a_gpu_replays_classifiers_and_stacks():
    given = {"n_epochs": 4, "batch_size": 64, "random_state": 0}
    near, far = (DebiasClassifier(device=d, **given).fit(data()) for d in ("cpu", "cuda"))
    np.testing.assert_allclose(near.predict(data()), far.predict(data()), atol=0.05)
    stacks = [
        fit_together([DirectRanker("both", g, device=d, **given) for g in (0.1, 1.0)], data())
        for d in ("cpu", "cuda")
    ]
    for one, other in zip(*stacks, strict=True):
        np.testing.assert_allclose(one.predict(data()), other.predict(data()), atol=0.05)
        np.testing.assert_allclose(one.curve_["loss"], other.curve_["loss"], atol=0.01)
