"""Loss and gradient of a batch: computed as they stand, or recorded on a GPU and replayed."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...core.data import RankingData
from ...core.environment import progress, require
from ...core.errors import DataError
from ...core.metric import Metric
from ..early_stopping import metric_value
from .batches import Rows, run_rows
from .network import Model, Net

__all__ = [
    "NOT_FINITE",
    "SCHEDULES",
    "Batches",
    "Computed",
    "Plan",
    "Problem",
    "Recorded",
    "State",
    "Watch",
    "begin",
    "train",
    "without_lost",
]


#: Shapes of batches that are recorded at most; each holds memory of its own.
MOST = 8


def without_lost(loss: Any) -> Any:
    """Count the losses of stacked configurations that are not finite as 0: the others go on."""
    return loss.nan_to_num(0.0, 0.0, 0.0) if loss.ndim else loss


class Computed:
    """The loss of a batch and its gradient by the weights, 0 for whoever of a stack is lost."""

    def __init__(
        self,
        value: Callable[[Any, dict[str, Any]], Any],
        context: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self.value, self.context = value, context

    def __call__(self, weights: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
        """Return both; the loss without its history."""
        weights = weights.detach().requires_grad_(True)
        with self.context():
            loss = self.value(weights, batch)
        (gradient,) = require("torch", "neural").autograd.grad(without_lost(loss).sum(), weights)
        return loss.detach(), gradient


class Recorded:
    """The same on a GPU, for losses that are tensor operations alone.

    A small network is done before the CPU has named its next operation. The second batch of a shape
    is therefore recorded as a CUDA graph and later ones are replayed: one call for all operations.
    What is given back is overwritten by the next call.
    """

    def __init__(self, plain: Computed) -> None:
        self.plain = plain
        self.known: dict[tuple[Any, ...], Any] = {}

    def __call__(self, weights: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
        """Return both, by replay where the shape was met before."""
        shape = tuple((name, *values.shape) for name, values in batch.items())
        if shape not in self.known:
            if len(self.known) < MOST:
                self.known[shape] = None  # the first time libraries set themselves up
            return self.plain(weights, batch)
        if self.known[shape] is None:
            self.known[shape] = self._record(weights, batch)
        graph, at, held, found = self.known[shape]
        at.copy_(weights)
        for name, values in batch.items():
            held[name].copy_(values)
        graph.replay()
        return found

    def _record(self, weights: Any, batch: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
        torch = require("torch", "neural")
        at = weights.detach().clone()
        held = {name: values.clone() for name, values in batch.items()}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = self.plain(at, held)
        return graph, at, held, found


class Batches(Protocol):
    """Where batches come from; an epoch's depend on its number alone."""

    @property
    def n_steps(self) -> int:
        """Steps of an epoch."""

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Go through an epoch's batches: tensors by name."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised: ``value(weights, batch, hyper)``, a pure function of tensors.

    All weights are one vector, so that an optimiser is a few operations and a state is a few
    vectors. To train configurations of one shape together, stack their vectors to (configuration x
    weight) and their numbers to ``hyper`` of (configuration), and run
    ``torch.func.vmap(problem.value, in_dims=(0, None, 0))``: the gradient of the sum is each
    configuration's gradient, and `train` and its Adam take weights of that shape as they are
    (tests/rankers/neural/test_problem.py does it). ``Plan.kept_steps`` keeps the weights after the
    steps it names, ``named`` turns any vector into what `run_rows` scores and transforms with.

    Attributes
    ----------
    model : Model
        The layers.
    rows : Rows
        The training rows on the device.
    batches : Batches
        What an epoch goes through.
    loss : callable
        ``loss(net, batch, hyper)`` gives a scalar tensor.
    constants : dict of str to tensor
        What belongs to the network and is not learned.
    statistics : pair of ndarray
        Means and deviations the features were standardised with.
    """

    model: Model
    rows: Rows
    batches: Batches
    loss: Callable[[Net, dict[str, Any], dict[str, Any]], Any]
    constants: Mapping[str, Any]
    statistics: tuple[np.ndarray, np.ndarray]

    def value(self, weights: Any, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        """Return the loss of a batch at a vector of weights."""
        return self.loss(self.net(weights), batch, hyper)

    def net(self, weights: Any) -> Net:
        """Return the network with these weights."""
        return Net(self.model, {**self.unpack(weights), **self.constants})

    def start(self, seed: int) -> np.ndarray:
        """Draw the vector to begin with."""
        drawn = self.model.initial(seed)
        return np.concatenate([values.ravel() for values in drawn.values()])

    def unpack(self, weights: Any) -> dict[str, Any]:
        """Cut the vector (a tensor or an array) into weights by name."""
        names, shapes, sizes = self._cut
        if isinstance(weights, np.ndarray):
            pieces = np.split(weights, np.cumsum(sizes)[:-1])
        else:
            pieces = weights.split(sizes)
        return {
            name: piece.reshape(shape)
            for name, shape, piece in zip(names, shapes, pieces, strict=True)
        }

    @cached_property
    def _cut(self) -> tuple[list[str], list[tuple[int, ...]], list[int]]:
        """Names, shapes and sizes of the weights, in the vector's order."""
        shapes = self.model.shapes()
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        return list(shapes), list(shapes.values()), sizes

    def named(self, weights: Any) -> dict[str, np.ndarray]:
        """Return a vector's weights by name as arrays, with everything else that scoring needs."""
        plain = self.unpack(weights.detach().cpu().numpy())
        fixed = {name: values.cpu().numpy() for name, values in self.constants.items()}
        found = dict(zip(("input.mean", "input.scale"), self.statistics, strict=True))
        return found | {name: np.array(values) for name, values in (plain | fixed).items()}


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
    """Return the state before the first step."""
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


class Watch:
    """Follows a metric on validation data after every epoch."""

    def __init__(
        self, problem: Problem, data: RankingData, metric: Metric, patience: int | None
    ) -> None:
        metric.check(data)
        self.problem, self.data, self.metric, self.patience = problem, data, metric, patience

    def __call__(self, state: State) -> bool:
        """Measure the weights after an epoch, note the best; say whether to stop."""
        weights = self.problem.named(state.weights)
        score = run_rows(self.problem.model, weights, self.data.X, Net.score)
        state.watched.append(metric_value(self.metric, self.data, score))
        if self.best(state.watched) == len(state.watched) - 1:
            state.best = state.weights.clone()
        return self.over(state.watched)

    def best(self, values: list[float]) -> int:
        """Return the first of the best epochs; NaN is worse than anything."""
        sign = 1.0 if self.metric.direction == "higher" else -1.0
        return int(np.argmax([-np.inf if np.isnan(v) else sign * v for v in values]))

    def over(self, values: list[float]) -> bool:
        """Return whether the metric has not improved for long enough."""
        if self.patience is None or not values:
            return False
        return len(values) - 1 - self.best(values) >= self.patience
