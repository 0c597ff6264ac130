"""Problems: pure functions of one vector, which may be stacked."""

import numpy as np
import pytest
import torch

from equirank.datasets import make_ranking
from equirank.rankers import DirectRanker
from equirank.rankers.neural.training_loop import Plan, begin, train

SMALL = {"layers": (8, 4), "batch_size": 32, "precision": "float64"}


def problem_of(model):
    data = make_ranking(n_queries=10, n_items=15, n_features=6, random_state=0)
    return data, model.problem(data, 0, torch.device("cpu"))


def test_a_vector_is_cut_into_weights_and_back():
    _, problem = problem_of(DirectRanker("both", noise=True, **SMALL))
    vector = problem.start(3)
    names = problem.unpack(vector)
    assert np.array_equal(np.concatenate([v.ravel() for v in names.values()]), vector)
    assert {name: v.shape for name, v in names.items()} == problem.model.shapes()
    tensors = problem.unpack(torch.as_tensor(vector))
    assert all(np.array_equal(tensors[name].numpy(), names[name]) for name in names)
    named = problem.named(torch.as_tensor(vector))
    assert set(named) == {*names, "features.eta", "input.mean", "input.scale"}


def test_making_a_problem_leaves_the_ranker_as_it_is():
    model = DirectRanker("both", **SMALL)
    before = dict(vars(model))
    problem_of(model)
    assert vars(model) == before


@pytest.mark.slow
def test_losses_may_be_stacked():
    _, problem = problem_of(DirectRanker("both", **SMALL))
    batch = next(problem.batches.epoch(0))
    start = torch.as_tensor(problem.start(0))
    gammas = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    stack = torch.stack([start, start * 0.5, start * 2]).requires_grad_(True)
    values = torch.func.vmap(problem.value, in_dims=(0, None, 0))(stack, batch, {"gamma": gammas})
    (gradient,) = torch.autograd.grad(values.sum(), stack)
    for at in range(3):
        one = stack[at].detach().requires_grad_(True)
        value = problem.value(one, batch, {"gamma": gammas[at]})
        torch.testing.assert_close(values[at], value)
        torch.testing.assert_close(gradient[at], torch.autograd.grad(value, one)[0])


@pytest.mark.slow
def test_stacked_runs_are_the_runs_of_each():
    """What a search does: many configurations in one loop, each as if alone."""
    given = SMALL | {"n_epochs": 2, "random_state": 0}
    data, problem = problem_of(DirectRanker("adversarial", **given))
    gammas, rates = [0.1, 0.4, 1.0], [0.003, 0.01, 0.003]
    hyper = {"gamma": torch.tensor(gammas, dtype=torch.float64)}
    stacked = torch.func.vmap(problem.value, in_dims=(0, None, 0))
    plan = Plan(
        2,
        torch.tensor(rates, dtype=torch.float64)[:, None],
        momentum=DirectRanker().momentum,
        sections=tuple(problem.model.sections()),
        opponent_rate=10.0,
    )
    start = torch.as_tensor(problem.start(0)).repeat(3, 1)
    state = train(begin(start), problem.batches, lambda w, b: stacked(w, b, hyper), plan)
    for weights, gamma, rate in zip(state.weights, gammas, rates, strict=True):
        alone = DirectRanker("adversarial", gamma, learning_rate=rate, **given).fit(data)
        for name, values in problem.named(weights).items():
            np.testing.assert_allclose(values, alone.weights_[name], rtol=1e-7, atol=1e-10)
