"""A stacked run: configurations of one shape as rows of one matrix of weights, one step for all."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.extras import require
from .network import Net
from .neural_ranker import NeuralRanker
from .problem import Batches, Problem
from .training import NOT_FINITE, Plan, State, begin, train

__all__ = ["Member", "run_stack"]

#: Tracks that train together at most, which bounds memory; more gain nothing.
MOST = 256


@dataclass(frozen=True)
class Member:
    """A ranker of a stack, its seed, and the problem that this seed gives."""

    ranker: NeuralRanker
    seed: int
    problem: Problem

    def track(self) -> tuple[float, ...]:
        """Give what its weights depend on; step counts are checkpoints of one track."""
        return (self.seed, *(self.number(name) for name in (*self.ranker.hyper, *RATES)))

    def number(self, name: str) -> float:
        """Give a parameter as a number, 1 where the ranker has no such parameter."""
        return float(getattr(self.ranker, name, 1.0))

    def last(self, n_steps: int) -> int:
        """Count the steps that its own fit would take."""
        whole = self.ranker.n_epochs * n_steps
        return whole if self.ranker.max_steps is None else min(whole, self.ranker.max_steps)

    def keep(self, weights: Any, step: int, losses: np.ndarray, n_steps: int) -> DataError | None:
        """Leave the ranker as its own fit would, or say that its loss is no longer finite."""
        epochs = [losses[at : min(at + n_steps, step)].mean() for at in range(0, step, n_steps)]
        if not np.isfinite(epochs).all():
            number = int(np.flatnonzero(~np.isfinite(epochs))[0]) + 1
            return DataError(NOT_FINITE.format(number))
        if step == 0 and self.ranker.n_epochs > 0:
            epochs = [0.0]
        state = State(weights, None, None, step, len(epochs), [float(loss) for loss in epochs])
        self.ranker._keep(self.problem, state, False)
        self.ranker.is_fitted_ = True
        return None


#: Numbers of the optimiser that rows of a stack may differ in, and what `Plan` calls them.
RATES = {
    "learning_rate": "learning_rate",
    "weight_decay": "weight_decay",
    "adversary_rate": "opponent_rate",
}


@dataclass(frozen=True)
class SideBySide:
    """The batches of several seeds, one for each row; those of one seed as they are."""

    parts: list[Batches]
    owner: Any

    @property
    def n_steps(self) -> int:
        """Steps of an epoch."""
        return self.parts[0].n_steps

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Go through an epoch's batches, of all seeds at once."""
        torch = require("torch", "neural")
        for batches in zip(*(part.epoch(number) for part in self.parts), strict=True):
            if len(batches) == 1:
                yield batches[0]
                continue
            yield {
                name: torch.stack([batch[name] for batch in batches]).index_select(0, self.owner)
                for name in batches[0]
            }


def run_stack(members: list[Member], device: Any) -> list[DataError | None]:
    """Train members of one shape, and leave each as it is at its own last step.

    Gives for each the error that stopped it, or None.
    """
    tracks: dict[tuple[float, ...], list[int]] = {}
    for at, member in enumerate(members):
        tracks.setdefault(member.track(), []).append(at)
    owned, errors = list(tracks.values()), dict[int, DataError | None]()
    for begun in range(0, len(owned), MOST):
        part = owned[begun : begun + MOST]
        n_steps = members[0].problem.batches.n_steps
        last = {at: members[at].last(n_steps) for own in part for at in own}
        state, losses = _train([members[own[0]] for own in part], set(last.values()), device)
        for row, own in enumerate(part):
            for at in own:
                weights, step = state.kept[last[at]][row], last[at]
                errors[at] = members[at].keep(weights, step, losses[:, row], n_steps)
    return [errors[at] for at in range(len(members))]


def _train(rows: list[Member], stops: set[int], device: Any) -> tuple[State, np.ndarray]:
    """Train one row per track; give the weights at each stop, and the losses (step x row)."""
    torch = require("torch", "neural")
    ranker, problem = rows[0].ranker, rows[0].problem
    seeds = list({member.seed: member.problem for member in rows}.values())
    owner = torch.tensor([seeds.index(member.problem) for member in rows], device=device)
    start = np.stack([m.problem.start(m.seed) for m in rows]).astype(ranker._dtype)
    state = begin(torch.as_tensor(start, device=device))

    def column(name: str) -> Any:
        values = [member.number(name) for member in rows]
        return torch.tensor(values, dtype=state.weights.dtype, device=device)

    hyper = {name: column(name) for name in ranker.hyper}
    fixed = {
        name: torch.stack([member.problem.constants[name] for member in rows])
        for name in problem.constants
    }

    def value(weights: Any, batch: Any, numbers: Any, constants: Any) -> Any:
        net = Net(problem.model, {**problem.unpack(weights), **constants})
        return problem.loss(net, batch, numbers)

    over = (0, None if len(seeds) == 1 else 0, 0 if hyper else None, 0 if fixed else None)
    together = torch.func.vmap(value, in_dims=over)
    losses: list[Any] = []
    batches = SideBySide([own.batches for own in seeds], owner)
    plan: Plan = replace(
        ranker._plan(problem),
        max_steps=max(stops),
        kept_steps=frozenset(stops),
        **{word: column(name)[:, None] for name, word in RATES.items()},
    )
    if plan.schedule == "constant":
        plan = replace(plan, n_epochs=-(-max(stops) // batches.n_steps))
    if not any(member.ranker.weight_decay for member in rows):
        plan = replace(plan, weight_decay=0.0)
    state.kept[0] = state.weights.clone()
    train(
        state,
        batches,
        lambda weights, batch: together(weights, batch, hyper, fixed),
        plan,
        each=lambda loss: losses.append(loss.clone()),
    )
    return state, torch.stack(losses).cpu().numpy() if losses else np.zeros((0, len(rows)))
