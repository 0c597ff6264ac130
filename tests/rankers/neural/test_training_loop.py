"""The loop: Adam as PyTorch's, schedules, clipping, and steps as checkpoints of one run."""

import math

import numpy as np
import pytest
import torch

from equirank import DataError
from equirank.rankers.neural.training_loop import (
    SCHEDULES,
    Plan,
    _by_tensors,
    _in_one_pass,
    begin,
    descend,
    train,
)


class Ticks:
    """Batches of one number each."""

    def __init__(self, n_steps=5):
        self.n_steps = n_steps

    def epoch(self, number):
        for step in range(self.n_steps):
            yield {"t": torch.tensor(float(10 * number + step))}


def bowl(weights, batch):
    return ((weights - 0.1 * batch["t"]) ** 2).sum(dim=-1)


def start(n=4):
    return begin(torch.linspace(-1.0, 1.0, n, dtype=torch.float64))


@pytest.mark.slow
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_is_pytorchs(decay):
    state, plan = start(), Plan(2, 0.05, weight_decay=decay)
    theirs = state.weights.clone().requires_grad_(True)
    optimiser = torch.optim.AdamW([theirs], lr=0.05, weight_decay=decay)
    for number in range(2):
        for batch in Ticks().epoch(number):
            optimiser.zero_grad()
            bowl(theirs, batch).backward()
            optimiser.step()
    state = train(state, Ticks(), bowl, plan)
    assert state.step == 10
    torch.testing.assert_close(state.weights, theirs.detach(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("plain_rate", [None, 0.2])
@pytest.mark.parametrize("sections", [(), (4, 3)])
def test_one_pass_is_the_step_of_whole_tensors(dtype, plain_rate, sections):
    rng = np.random.default_rng(0)

    def column(*values):
        return torch.tensor(values, dtype=dtype)[:, None]

    plan = Plan(
        1,
        column(0.1, 0.02, 0.3),
        momentum=column(0.9, 0.5, 0.0),
        weight_decay=column(0.0, 0.1, 0.3),
        opponent_rate=column(1.0, 10.0, 2.0),
        sections=sections,
        plain_rate=plain_rate,
    )
    first = torch.as_tensor(rng.normal(size=(3, 7)), dtype=dtype)
    states = begin(first.clone()), begin(first.clone())
    for step in range(1, 6):
        gradient = torch.as_tensor(rng.normal(size=(7, 3)), dtype=dtype).T  # not contiguous
        for state, take in zip(states, (_in_one_pass, _by_tensors), strict=True):
            state.step = step
            take(state, gradient, plan.learning_rate * 0.5, plan)
    digits = 1e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(states[0].weights, states[1].weights, rtol=digits, atol=digits)
    own = sections[0] if sections and plain_rate else 7  # plain steps need no moments
    for name in ("first", "second"):
        ours, theirs = (getattr(state, name)[:, :own] for state in states)
        torch.testing.assert_close(ours, theirs, rtol=digits, atol=digits)


def test_stacked_configurations_train_as_each_alone():
    rates, decays = [0.01, 0.1, 0.3], [0.0, 0.2, 0.0]
    first = start().weights
    alone = [
        train(begin(first.clone()), Ticks(), bowl, Plan(3, rate, weight_decay=decay, clip=0.5))
        for rate, decay in zip(rates, decays, strict=True)
    ]
    column = [torch.tensor(values, dtype=torch.float64)[:, None] for values in (rates, decays)]
    plan = Plan(3, column[0], weight_decay=column[1], clip=0.5)
    together = train(begin(first.repeat(3, 1)), Ticks(), bowl, plan)
    for row, state in zip(together.weights, alone, strict=True):
        torch.testing.assert_close(row, state.weights, rtol=1e-12, atol=1e-14)


def test_schedules_fall_from_the_whole_rate_to_nothing():
    assert [SCHEDULES["constant"](t) for t in (0.0, 0.5, 1.0)] == [1.0, 1.0, 1.0]
    assert [SCHEDULES["linear"](t) for t in (0.0, 0.5, 1.0)] == [1.0, 0.5, 0.0]
    assert SCHEDULES["cosine"](0.0) == 1.0
    assert SCHEDULES["cosine"](0.5) == pytest.approx(0.5)
    assert SCHEDULES["cosine"](1.0) == pytest.approx(0.0)
    one = train(start(), Ticks(1), bowl, Plan(1, 0.1))
    half = train(start(), Ticks(1), bowl, Plan(2, 0.1, schedule="linear", max_steps=1))
    assert torch.equal(one.weights, half.weights)
    both = train(start(), Ticks(1), bowl, Plan(2, 0.1, schedule="linear"))
    again = train(half, Ticks(1), bowl, Plan(2, 0.05))  # the second step has half of the rate
    torch.testing.assert_close(both.weights, again.weights, rtol=1e-12, atol=0)


def test_clipping_bounds_the_norm_of_each_section():
    state = begin(torch.zeros(5, dtype=torch.float64))
    gradient = torch.tensor([3.0, 4.0, 0.0, 0.1, 0.0], dtype=torch.float64)
    descend(state, gradient, 1.0, Plan(1, 0.1, clip=1.0, sections=(2, 3)))
    np.testing.assert_allclose(state.first.numpy() / 0.1, [0.6, 0.8, 0.0, 0.1, 0.0], rtol=1e-12)


def test_opponents_take_their_own_rate():
    state = begin(torch.zeros(3, dtype=torch.float64))
    descend(
        state,
        torch.ones(3, dtype=torch.float64),
        1.0,
        Plan(1, 0.1, sections=(1, 2), opponent_rate=5.0),
    )
    np.testing.assert_allclose(state.weights.numpy(), [-0.1, -0.5, -0.5], rtol=1e-6)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_step_counts_are_checkpoints_of_one_run(schedule):
    plan = Plan(4, 0.05, schedule=schedule, kept_steps=frozenset({3, 5, 11, 20}))
    whole = train(start(), Ticks(), bowl, plan)
    assert sorted(whole.kept) == [3, 5, 11, 20]
    for step, weights in whole.kept.items():
        cut = train(start(), Ticks(), bowl, Plan(4, 0.05, schedule=schedule, max_steps=step))
        assert cut.step == step
        assert torch.equal(cut.weights, weights)


def test_watching_stops_and_storing_follows_every_epoch():
    stored = []
    plan = Plan(10, 0.1, kept_epochs=True)
    state = train(
        start(),
        Ticks(),
        bowl,
        plan,
        watch=lambda s: s.epoch == 3,
        store=lambda s: stored.append(s.step),
    )
    assert state.epoch == len(state.losses) == 3
    assert stored == list(state.kept) == [5, 10, 15]


def test_a_loss_that_is_not_finite_is_an_error():
    with pytest.raises(DataError, match="learning_rate must be smaller, or clip given"):
        train(start(), Ticks(), lambda w, b: (w * math.inf).sum(), Plan(1, 0.1))


def test_no_steps_leave_the_start():
    state = train(start(), Ticks(0), bowl, Plan(2, 0.1))
    assert torch.equal(state.weights, start().weights)
    assert state.losses == [0.0, 0.0]
    assert train(start(), Ticks(), bowl, Plan(3, 0.1, max_steps=0)).step == 0
