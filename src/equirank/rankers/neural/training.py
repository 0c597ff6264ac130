"""The training loop: batches in, Adam steps, a state that a checkpoint can hold."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import DataError
from ...core.extras import progress, require
from .gradients import Computed, Recorded, without_lost
from .problem import Batches

__all__ = ["NOT_FINITE", "SCHEDULES", "Plan", "State", "begin", "train"]

#: How the learning rate falls over an epoch's worth of steps times ``n_epochs``.
SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: 1.0 - done,
    "cosine": lambda done: 0.5 + 0.5 * math.cos(math.pi * done),
}
SECOND, TINY = 0.999, 1e-8
NOT_FINITE = (
    "learning_rate must be smaller here, or clip given: the loss is no longer finite in epoch {}"
)


@dataclass(frozen=True)
class Plan:
    """How long and how to descend.

    ``learning_rate``, ``weight_decay`` and ``opponent_rate`` (the share of the learning rate that
    opponents take) are numbers or, for stacked configurations, tensors of shape (configuration x
    1). ``max_steps`` cuts a run short and changes nothing before it: the schedule counts on
    ``n_epochs``. ``sections`` are the numbers of weights of the ranker and of its opponents, which
    are clipped apart. ``momentum`` is Adam's first decay. With ``plain_rate`` the opponents take
    plain gradient steps of that rate, for players who must go in proportion to what they see.
    ``kept_steps`` are the steps, ``kept_epochs`` says whether all epochs' ends, after which the
    weights are copied to ``State.kept``. With ``recorded`` a GPU replays the loss and its gradient
    (`Recorded`), which then must be tensor operations alone.
    """

    n_epochs: int
    learning_rate: Any
    max_steps: int | None = None
    schedule: str = "constant"
    clip: float | None = None
    momentum: float = 0.9
    weight_decay: Any = 0.0
    sections: tuple[int, ...] = ()
    opponent_rate: Any = 1.0
    plain_rate: float | None = None
    kept_steps: frozenset[int] = frozenset()
    kept_epochs: bool = False
    recorded: bool = False


@dataclass
class State:
    """Where a run stands, at the end of an epoch; ``kept`` holds weights by step."""

    weights: Any
    first: Any
    second: Any
    step: int = 0
    epoch: int = 0
    losses: list[float] = field(default_factory=list)
    watched: list[float] = field(default_factory=list)
    best: Any = None
    kept: dict[int, Any] = field(default_factory=dict)


def begin(weights: Any) -> State:
    """Give the state before the first step."""
    torch = require("torch", "neural")
    best = weights.clone()
    return State(weights, torch.zeros_like(weights), torch.zeros_like(weights), best=best)


def train(
    state: State,
    batches: Batches,
    value: Callable[[Any, dict[str, Any]], Any],
    plan: Plan,
    *,
    each: Callable[[Any], None] | None = None,
    watch: Callable[[State], bool] | None = None,
    store: Callable[[State], None] | None = None,
    context: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> State:
    """Descend from a state, epoch by epoch, and give the last one.

    Parameters
    ----------
    state : State
        The beginning, or what a checkpoint holds: the rest is then the same to the bit.
    batches : Batches
        What an epoch goes through; it depends on the epoch's number alone.
    value : callable
        The loss at weights of a batch: a scalar, or one per stacked configuration.
    plan : Plan
        How long and how.
    each : callable, optional
        Called with the loss of each step.
    watch : callable, optional
        Called after an epoch; says whether to stop.
    store : callable, optional
        Called after an epoch, to write a checkpoint.
    context : callable, optional
        Makes the context of each loss, such as mixed precision.
    """
    plain = Computed(value, context)
    recorded = plan.recorded and state.weights.device.type == "cuda"
    gradient = Recorded(plain) if recorded else plain
    steps = range(state.epoch, plan.n_epochs)
    for number in progress(steps, "training", total=len(steps)):
        if not _epoch(state, number, batches, gradient, plan, each):
            break  # within an epoch: no state to go on from
        if plan.kept_epochs:
            state.kept[state.step] = state.weights.clone()
        stop = watch(state) if watch is not None else False
        if store is not None:
            store(state)
        if stop or state.step == plan.max_steps:
            break
    return state


def _epoch(
    state: State, number: int, batches: Batches, gradient: Any, plan: Plan, each: Any
) -> bool:
    """Go through one epoch; say whether all of it was done."""
    total: Any = 0.0
    count, n_steps = 0, batches.n_steps
    for batch in batches.epoch(number):
        if plan.max_steps is not None and state.step >= plan.max_steps:
            break
        loss, slope = gradient(state.weights, batch)
        done = state.step / max(1, n_steps * plan.n_epochs)
        descend(state, slope, SCHEDULES[plan.schedule](done), plan)
        total, count = total + without_lost(loss), count + 1
        if each is not None:
            each(loss)
        if state.step in plan.kept_steps:
            state.kept[state.step] = state.weights.clone()
    state.losses.append(float(total.mean()) / count if count else 0.0)
    state.epoch = number + 1
    if not math.isfinite(state.losses[-1]):
        raise DataError(NOT_FINITE.format(number + 1))
    return count == n_steps


def descend(state: State, gradient: Any, share: float, plan: Plan) -> None:
    """Take one step of Adam, in place; weight decay is apart from the gradient."""
    torch = require("torch", "neural")
    with torch.no_grad():
        if plan.clip is not None:
            gradient = _clipped(gradient, plan.clip, plan.sections)
        state.step += 1
        state.first.lerp_(gradient, 1.0 - plan.momentum)
        state.second.mul_(SECOND).addcmul_(gradient, gradient, value=1.0 - SECOND)
        spread = state.second.sqrt().div_(math.sqrt(1.0 - SECOND**state.step)).add_(TINY)
        rate = plan.learning_rate * share
        move = (state.first / spread).mul_(rate / (1.0 - plan.momentum**state.step))
        if len(plan.sections) > 1:
            move[..., plan.sections[0] :] *= plan.opponent_rate
        if len(plan.sections) > 1 and plan.plain_rate is not None:
            move[..., plan.sections[0] :] = plan.plain_rate * gradient[..., plan.sections[0] :]
        if not isinstance(plan.weight_decay, float) or plan.weight_decay:
            move.add_(state.weights * (rate * plan.weight_decay))
        state.weights = state.weights.detach().sub_(move)


def _clipped(gradient: Any, clip: float, sections: tuple[int, ...]) -> Any:
    """Scale each section of the gradient down to a norm of at most ``clip``."""
    torch = require("torch", "neural")
    parts = gradient.split(list(sections), dim=-1) if sections else [gradient]
    norms = [part.norm(dim=-1, keepdim=True) for part in parts]
    pairs = zip(parts, norms, strict=True)
    return torch.cat([part * (clip / norm.clamp_min(clip)) for part, norm in pairs], dim=-1)
