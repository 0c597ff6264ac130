"""Training of neural rankers: the problem, the loop with Adam, gradients and early stopping."""

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
    "finite_losses",
    "train",
]


#: Factor on the learning rate as a function of the completed share of ``n_epochs``.
SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: 1.0 - done,
    "cosine": lambda done: 0.5 + 0.5 * math.cos(math.pi * done),
}
#: Adam's second decay, and the constant added to the denominator.
SECOND_DECAY, EPSILON = 0.999, 1e-8
NOT_FINITE = (
    "learning_rate must be smaller, or clip given: the loss is no longer finite in epoch {}"
)


#: Maximum number of batch shapes that are recorded; each holds memory of its own.
MAX_RECORDED = 8


class Batches(Protocol):
    """Source of batches; the batches of an epoch depend on its number alone."""

    @property
    def n_steps(self) -> int:
        """Number of steps of an epoch."""

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the batches of an epoch: tensors by name."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimisation problem: ``value(weights, batch, hyper)``, a pure function of tensors.

    All weights are one vector, so an optimiser is a few operations and a state a few vectors. To
    train configurations of one shape together, stack their vectors to (configuration x weight) and
    their values to ``hyper`` of (configuration), and run
    ``torch.func.vmap(problem.value, in_dims=(0, None, 0))``: the gradient of the sum contains the
    gradient of each configuration, and `train` accepts weights of that shape
    (tests/rankers/neural/test_problem.py does this). ``Plan.kept_steps`` names steps after which
    the weights are stored; `named` converts a vector for `run_rows`.

    Attributes
    ----------
    model : Model
        The layers.
    rows : Rows
        The training rows on the device.
    batches : Batches
        The batches of an epoch.
    loss : callable
        ``loss(net, batch, hyper)`` returns a scalar tensor.
    constants : dict of str to tensor
        Arrays of the network that are not learned.
    statistics : pair of ndarray
        Means and deviations of the features before standardisation.
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
        """Draw the initial vector of weights."""
        drawn = self.model.initial(seed)
        return np.concatenate([values.ravel() for values in drawn.values()])

    def unpack(self, weights: Any) -> dict[str, Any]:
        """Split the vector (a tensor or an array) into weights by name."""
        names, shapes, sizes = self._layout
        if isinstance(weights, np.ndarray):
            pieces = np.split(weights, np.cumsum(sizes)[:-1])
        else:
            pieces = weights.split(sizes)
        return {
            name: piece.reshape(shape)
            for name, shape, piece in zip(names, shapes, pieces, strict=True)
        }

    @cached_property
    def _layout(self) -> tuple[list[str], list[tuple[int, ...]], list[int]]:
        """Names, shapes and sizes of the weights, in the order of the vector."""
        shapes = self.model.shapes()
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        return list(shapes), list(shapes.values()), sizes

    def named(self, weights: Any) -> dict[str, np.ndarray]:
        """Return the weights of a vector by name, with all other arrays that scoring needs."""
        plain = self.unpack(weights.detach().cpu().numpy())
        fixed = {name: values.cpu().numpy() for name, values in self.constants.items()}
        found = dict(zip(("input.mean", "input.scale"), self.statistics, strict=True))
        return found | {name: np.array(values) for name, values in (plain | fixed).items()}


@dataclass(frozen=True)
class Plan:
    """Options of the training loop.

    ``learning_rate``, ``momentum`` (Adam's first decay), ``weight_decay`` and ``opponent_rate``
    (factor on the learning rate of opponents) are numbers or, for stacked configurations, tensors
    of shape (configuration x 1).
    ``max_steps`` ends a run early and changes nothing before: the schedule is that of ``n_epochs``.
    ``sections`` are the numbers of weights of the ranker and of its opponents, which are clipped
    separately. With ``plain_rate`` the opponents take plain gradient steps of that rate. After each
    step in ``kept_steps``, and with ``kept_epochs`` after each epoch, the weights are copied to
    ``State.kept``. With ``recorded`` a GPU replays the loss and its gradient (`Recorded`), which
    then must consist of tensor operations only.
    """

    n_epochs: int
    learning_rate: Any
    max_steps: int | None = None
    schedule: str = "constant"
    clip: float | None = None
    momentum: Any = 0.9
    weight_decay: Any = 0.0
    sections: tuple[int, ...] = ()
    opponent_rate: Any = 1.0
    plain_rate: float | None = None
    kept_steps: frozenset[int] = frozenset()
    kept_epochs: bool = False
    recorded: bool = False


@dataclass
class State:
    """State of a run at the end of an epoch; ``kept`` holds weights by step."""

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
    """Minimise from a state, epoch by epoch, and return the last state.

    Parameters
    ----------
    state : State
        The initial state, or that of a checkpoint: the rest is then the same to the bit.
    batches : Batches
        The batches of an epoch, which depend on its number alone.
    value : callable
        Loss of weights and a batch: a scalar, or one per stacked configuration.
    plan : Plan
        Options of the loop.
    each : callable, optional
        Called with the loss of each step.
    watch : callable, optional
        Called after an epoch; returns whether to stop.
    store : callable, optional
        Called after an epoch, to write a checkpoint.
    context : callable, optional
        Returns the context of each loss, such as mixed precision.
    """
    plain = Computed(value, context)
    recorded = plan.recorded and state.weights.device.type == "cuda"
    gradient = Recorded(plain) if recorded else plain
    steps = range(state.epoch, plan.n_epochs)
    for number in progress(steps, "training", total=len(steps)):
        if not _epoch(state, number, batches, gradient, plan, each):
            break  # within an epoch: no state to continue from
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
    """Train for one epoch; return whether it was completed."""
    total: Any = 0.0
    count, n_steps = 0, batches.n_steps
    for batch in batches.epoch(number):
        if plan.max_steps is not None and state.step >= plan.max_steps:
            break
        loss, grad = gradient(state.weights, batch)
        done = state.step / max(1, n_steps * plan.n_epochs)
        descend(state, grad, SCHEDULES[plan.schedule](done), plan)
        total, count = total + finite_losses(loss), count + 1
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
    """Take one step of Adam in place, with decoupled weight decay."""
    torch = require("torch", "neural")
    with torch.no_grad():
        if plan.clip is not None:
            gradient = _clipped(gradient, plan.clip, plan.sections)
        state.step += 1
        state.weights = state.weights.detach()
        rate = plan.learning_rate * share
        take = _in_one_pass if state.weights.device.type == "cpu" else _by_tensors
        take(state, gradient, rate, plan)


def _by_tensors(state: State, gradient: Any, rate: Any, plan: Plan) -> None:
    """Update weights and moments by operations on whole tensors."""
    state.first.lerp_(gradient, 1.0 - plan.momentum)
    state.second.mul_(SECOND_DECAY).addcmul_(gradient, gradient, value=1.0 - SECOND_DECAY)
    spread = state.second.sqrt().div_(math.sqrt(1.0 - SECOND_DECAY**state.step)).add_(EPSILON)
    move = (state.first / spread).mul_(rate / (1.0 - plan.momentum**state.step))
    if len(plan.sections) > 1:
        move[..., plan.sections[0] :] *= plan.opponent_rate
    if len(plan.sections) > 1 and plan.plain_rate is not None:
        move[..., plan.sections[0] :] = plan.plain_rate * gradient[..., plan.sections[0] :]
    if not isinstance(plan.weight_decay, float) or plan.weight_decay:
        move.add_(state.weights * (rate * plan.weight_decay))
    state.weights.sub_(move)


def _in_one_pass(state: State, gradient: Any, rate: Any, plan: Plan) -> None:
    """Update weights and moments on a CPU, which reads and writes each number once."""
    from ...kernels.adam import adam_step

    tensors = (state.weights, state.first, state.second, gradient.contiguous())
    rows = [np.atleast_2d(tensor.numpy()) for tensor in tensors]
    end = rows[0].shape[1]
    own = plan.sections[0] if len(plan.sections) > 1 else end
    numbers = np.empty((len(rows[0]), 7), rows[0].dtype)
    move = rate / (1.0 - plan.momentum**state.step)
    spread = 1.0 / math.sqrt(1.0 - SECOND_DECAY**state.step)
    fixed = (SECOND_DECAY, 1.0 - SECOND_DECAY, spread, EPSILON)
    with np.errstate(over="ignore"):  # a loss that is no longer finite is an error of its epoch
        for at, value in enumerate((1.0 - plan.momentum, *fixed, move, rate * plan.weight_decay)):
            numbers[:, at] = np.ravel(value)
    adam_step(*rows, 0, own, numbers)
    if own < end and plan.plain_rate is None:
        numbers[:, 5] *= np.ravel(plan.opponent_rate)
        adam_step(*rows, own, end, numbers)
    elif own < end:
        weights, grad = rows[0][:, own:], rows[3][:, own:]
        weights -= plan.plain_rate * grad + numbers[:, 6:] * weights


def _clipped(gradient: Any, clip: float, sections: tuple[int, ...]) -> Any:
    """Return the gradient with each section scaled down to a norm of at most ``clip``."""
    torch = require("torch", "neural")
    parts = gradient.split(list(sections), dim=-1) if sections else [gradient]
    norms = [part.norm(dim=-1, keepdim=True) for part in parts]
    pairs = zip(parts, norms, strict=True)
    return torch.cat([part * (clip / norm.clamp_min(clip)) for part, norm in pairs], dim=-1)


def finite_losses(loss: Any) -> Any:
    """Return losses of stacked configurations with 0 for those not finite: the others continue."""
    return loss.nan_to_num(0.0, 0.0, 0.0) if loss.ndim else loss


class Computed:
    """Loss of a batch and its gradient by the weights; 0 for a configuration that is not finite."""

    def __init__(
        self,
        value: Callable[[Any, dict[str, Any]], Any],
        context: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self.value, self.context = value, context

    def __call__(self, weights: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
        """Return loss and gradient; the loss is detached."""
        weights = weights.detach().requires_grad_(True)
        with self.context():
            loss = self.value(weights, batch)
        (gradient,) = require("torch", "neural").autograd.grad(finite_losses(loss).sum(), weights)
        return loss.detach(), gradient


class Recorded:
    """Loss and gradient on a GPU, for losses that consist of tensor operations only.

    The operations of a small network take less time than their launches. The second batch of a
    shape is therefore recorded as a CUDA graph, and later ones are replayed by one launch. The next
    call overwrites the result.
    """

    def __init__(self, plain: Computed) -> None:
        self.plain = plain
        self.known: dict[tuple[Any, ...], Any] = {}

    def __call__(self, weights: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
        """Return loss and gradient, by replay if the shape was recorded."""
        shape = tuple((name, *values.shape) for name, values in batch.items())
        if shape not in self.known:
            if len(self.known) < MAX_RECORDED:
                self.known[shape] = None  # libraries initialise in the first call
            return self.plain(weights, batch)
        if self.known[shape] is None:
            self.known[shape] = self._record(weights, batch)
        graph, graph_weights, graph_batch, result = self.known[shape]
        graph_weights.copy_(weights)
        for name, values in batch.items():
            graph_batch[name].copy_(values)
        graph.replay()
        return result

    def _record(self, weights: Any, batch: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
        torch = require("torch", "neural")
        weights = weights.detach().clone()
        batch = {name: values.clone() for name, values in batch.items()}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = self.plain(weights, batch)
        return graph, weights, batch, result


class Watch:
    """Early stopping by a metric of the validation lists after every epoch."""

    def __init__(
        self, problem: Problem, data: RankingData, metric: Metric, patience: int | None
    ) -> None:
        metric.check(data)
        self.problem, self.data, self.metric, self.patience = problem, data, metric, patience

    def __call__(self, state: State) -> bool:
        """Evaluate the weights after an epoch, store the best, and return whether to stop."""
        weights = self.problem.named(state.weights)
        score = run_rows(self.problem.model, weights, self.data.X, Net.score)
        state.watched.append(metric_value(self.metric, self.data, score))
        if self.best(state.watched) == len(state.watched) - 1:
            state.best = state.weights.clone()
        return self.over(state.watched)

    def best(self, values: list[float]) -> int:
        """Return the first of the best epochs; NaN is worse than any number."""
        sign = 1.0 if self.metric.direction == "higher" else -1.0
        return int(np.argmax([-np.inf if np.isnan(v) else sign * v for v in values]))

    def over(self, values: list[float]) -> bool:
        """Return whether the metric has not improved for ``patience`` epochs."""
        if self.patience is None or not values:
            return False
        return len(values) - 1 - self.best(values) >= self.patience
