"""fit_together: neural rankers of one shape trained as one stack, other rankers one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from ..core.data import RankingData
from ..core.declared import zero_weights_are_meant
from ..core.environment import require
from ..core.errors import DataError, outer_stacklevel
from ..core.given_data import as_ranking_data, refuse_beside, warn_of_one_list
from ..core.keywords import FitKeywords, shared_keywords
from ..core.params import check_params
from ..core.ranker import Ranker
from ..rankers.neural.batches import CutBatches, QueryBatches, Rows, joined_rows
from ..rankers.neural.network import Net, chosen_device, threads
from ..rankers.neural.neural_ranker import NeuralRanker
from ..rankers.neural.training_loop import NOT_FINITE, Batches, Plan, Problem, State, begin, train

__all__ = ["fit_all", "fit_together", "stacks", "training_data"]


#: Parameters in which rankers of one stack may differ, besides those in the loss (``hyper``).
FREE = frozenset(
    {"learning_rate", "momentum", "weight_decay", "adversary_rate", "max_steps", "random_state"}
)
#: Parameters of the optimiser in which tracks of a stack may differ, and their names in `Plan`.
RATES = {
    "learning_rate": "learning_rate",
    "momentum": "momentum",
    "weight_decay": "weight_decay",
    "adversary_rate": "opponent_rate",
}
#: Maximum number of tracks that train together, which bounds memory; more are not faster.
MAX_TRACKS = {"cpu": 256, "cuda": 2048}


@shared_keywords(FitKeywords)
def fit_together(
    rankers: Sequence[Ranker], X: Any, y: Any = None, **given: Unpack[FitKeywords]
) -> list[Ranker]:
    """Fit rankers on the same data, neural ones of one shape together, and return them.

    Neural rankers of one class form a stack if they differ only in ``random_state``,
    ``learning_rate``, ``momentum``, ``weight_decay``, ``adversary_rate``, the weight of a loss term
    (``gamma``) and the length of training. Each step draws one batch, and one pass of `torch.func`
    updates all of them. Step counts (``max_steps``, and ``n_epochs`` with a constant schedule) are
    checkpoints of one run. Each ranker equals the result of its own `fit` up to rounding: the same
    seed gives the same weights, batches and noise.

    All else is fitted one by one: other rankers, layers that occur once, early stopping,
    checkpoints, mixed precision, `RankNet`, `LambdaRank` and `ConstrainedPairwise`. Rankers that
    train on lists are stacked by seed.

    Parameters
    ----------
    rankers : sequence of Ranker
        Fitted in place; all of them different objects.

    Returns
    -------
    list of Ranker
        The rankers themselves.

    Raises
    ------
    DataError
        If the loss of a ranker does not stay finite, as in its own `fit`.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> data = make_ranking(n_queries=10, n_items=10, feature_bias=1.0, random_state=0)
    >>> from equirank.rankers import DirectRanker
    >>> from equirank.search import fit_together
    >>> def ranker(gamma, steps):
    ...     return DirectRanker("flipped", gamma, layers=(4,), max_steps=steps, random_state=0)
    >>> models = fit_together([ranker(g, n) for g in (0.1, 1.0) for n in (5, 10)], data)
    >>> [model.n_steps_ for model in models]
    [5, 10, 5, 10]
    """
    if len({id(ranker) for ranker in rankers}) < len(rankers):
        raise DataError("rankers must be different objects, got one of them twice")
    for error in fit_all(rankers, training_data(X, y, "fit_together", **given)):
        if error is not None:
            raise error
    return list(rankers)


def training_data(X: Any, y: Any, owner: str, **given: Any) -> RankingData:
    """Return the data of these arguments; X may be a `RankingData`, then nothing else is given."""
    if isinstance(X, RankingData):
        refuse_beside(given | {"y": y})
        return X
    data = as_ranking_data(X, y, **given)
    warn_of_one_list(X, given.get("qid"), data.n_rows, owner, outer_stacklevel() + 1)
    return data


def fit_all(
    rankers: Sequence[Ranker], data: RankingData | Sequence[RankingData]
) -> list[DataError | None]:
    """Fit rankers in place; return for each the error that stopped it, or None.

    With a sequence, each ranker is fitted on its own data (of a split, say). Rankers of one shape
    then train together if their data have as many rows, or lists of the same sizes.
    """
    own = [data] * len(rankers) if isinstance(data, RankingData) else list(data)
    for ranker in rankers:
        check_params(type(ranker).__name__, ranker.get_params(deep=False), ranker.params)
    errors: list[DataError | None] = [None] * len(rankers)
    for stack in stacks(rankers):
        neural = [r for r in (rankers[at] for at in stack) if isinstance(r, NeuralRanker)]
        mine = [own[at] for at in stack]
        with zero_weights_are_meant():
            alone = len(stack) == 1
            found = [_fit_one(rankers[stack[0]], mine[0])] if alone else _fit_stack(neural, mine)
        for at, error in zip(stack, found, strict=True):
            errors[at] = error
    return errors


def stacks(rankers: Sequence[Ranker]) -> list[list[int]]:
    """Return the indices of the rankers that train together, in order of first appearance."""
    found: dict[Any, list[int]] = {}
    for at, ranker in enumerate(rankers):
        found.setdefault(_shape(ranker) or at, []).append(at)
    return list(found.values())


def _shape(ranker: Ranker) -> tuple[Any, ...] | None:
    """Return what rankers of one stack have in common, or None if the ranker cannot be stacked."""
    if not isinstance(ranker, NeuralRanker) or not ranker.stackable or ranker.keep_epochs:
        return None
    alone = (ranker.validation, ranker.early_stopping, ranker.checkpoint)
    if any(value is not None for value in alone) or ranker.precision == "mixed":
        return None
    free = FREE | set(ranker.hyper) | ({"n_epochs"} if ranker.schedule == "constant" else set())
    fixed = {k: v for k, v in ranker.get_params(deep=False).items() if k not in free}
    return (type(ranker), *(f"{name}={value!r}" for name, value in sorted(fixed.items())))


def _fit_one(ranker: Ranker, data: RankingData) -> DataError | None:
    try:
        ranker.fit(data)
    except DataError as error:
        return error
    return None


def _fit_stack(rankers: list[NeuralRanker], data: list[RankingData]) -> list[DataError | None]:
    """Fit rankers of one shape in place; return for each the error that stopped it, or None."""
    device = chosen_device(rankers[0].device, rankers[0].precision)
    errors: dict[int, DataError | None] = {}
    alike: dict[Any, list[int]] = {}
    with threads(rankers[0].n_jobs):
        members = _members(rankers, data, device)
        for at, member in enumerate(members):
            if member.problem.batches.n_steps == 0:  # nothing to learn: the ranker warns
                errors[at] = _fit_one(member.ranker, data[at])
            else:
                alike.setdefault(_form(member.problem, data[at]), []).append(at)
        for chosen in alike.values():
            found = _run_stack([members[at] for at in chosen], device)
            errors |= dict(zip(chosen, found, strict=True))
    return [errors[at] for at in range(len(rankers))]


def _members(rankers: list[NeuralRanker], data: list[RankingData], device: Any) -> list["_Member"]:
    """Return the rankers with their problems, one problem for each data set and seed."""
    leads: dict[int, tuple[NeuralRanker, RankingData, dict[str, Any]]] = {}
    problems: dict[tuple[int, int], Problem] = {}
    members = []
    for ranker, own in zip(rankers, data, strict=True):
        if id(own) not in leads:
            training = ranker.prepare(own)
            fitted = {name: value for name, value in vars(ranker).items() if name.endswith("_")}
            leads[id(own)] = ranker, training, fitted
        lead, training, fitted = leads[id(own)]
        ranker.__dict__.update(fitted)
        seed = ranker.seed()
        if (id(own), seed) not in problems:
            problems[id(own), seed] = lead.problem(training, seed, device)
        members.append(_Member(ranker, seed, problems[id(own), seed]))
    return members


def _form(problem: Problem, data: RankingData) -> Any:
    """Return what problems must have in common to train together, besides the rankers' shape."""
    batches = problem.batches
    if isinstance(batches, CutBatches):
        return problem.model, batches.n_drawn
    if isinstance(batches, QueryBatches) and batches.n_steps == 1:
        return problem.model, np.diff(batches.offsets).tobytes()
    if isinstance(batches, QueryBatches):  # shapes of batches vary by seed
        return id(problem)
    return id(data)


@dataclass(frozen=True)
class _Member:
    """A ranker of a stack, its seed, and the problem of this seed."""

    ranker: NeuralRanker
    seed: int
    problem: Problem

    def track(self) -> tuple[float, ...]:
        """Return what the weights depend on; step counts are checkpoints of one track."""
        numbers = (self.number(name) for name in (*self.ranker.hyper, *RATES))
        return (self.seed, id(self.problem), *numbers)

    def number(self, name: str) -> float:
        """Return a parameter as a number, 1 if the ranker has no such parameter."""
        return float(getattr(self.ranker, name, 1.0))

    def last(self, n_steps: int) -> int:
        """Return the number of steps that its own fit would take."""
        whole = self.ranker.n_epochs * n_steps
        return whole if self.ranker.max_steps is None else min(whole, self.ranker.max_steps)

    def finish(self, weights: Any, step: int, losses: np.ndarray, n_steps: int) -> DataError | None:
        """Store the result in the ranker, or return the error of a loss that is not finite."""
        epochs = [losses[at : min(at + n_steps, step)].mean() for at in range(0, step, n_steps)]
        if not np.isfinite(epochs).all():
            number = int(np.flatnonzero(~np.isfinite(epochs))[0]) + 1
            return DataError(NOT_FINITE.format(number))
        if step == 0 and self.ranker.n_epochs > 0:
            epochs = [0.0]
        state = State(weights, None, None, step, len(epochs), [float(loss) for loss in epochs])
        self.ranker.finish(self.problem, state, stopped=False)
        self.ranker.is_fitted_ = True
        return None


class _SideBySide:
    """Batches of several problems, one for each track; those of one problem are not copied."""

    def __init__(self, parts: Sequence[Batches], owner: Any) -> None:
        self.parts, self.owner = parts, owner
        self._whole: dict[str, Any] | None = None

    @property
    def n_steps(self) -> int:
        """Number of steps of an epoch."""
        return self.parts[0].n_steps

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the batches of an epoch, of all problems at once."""
        cut = [part for part in self.parts if isinstance(part, CutBatches)]
        if len(self.parts) == 1:
            yield from self.parts[0].epoch(number)
        elif cut:
            yield from self._cut(cut, number)
        elif self.n_steps == 1 and isinstance(self.parts[0], QueryBatches):
            self._whole = self._whole or next(self._zipped(number))  # the same in every epoch
            yield self._whole
        else:
            yield from self._zipped(number)

    def _zipped(self, number: int) -> Iterator[dict[str, Any]]:
        torch = require("torch", "neural")
        for batches in zip(*(part.epoch(number) for part in self.parts), strict=True):
            yield {
                name: torch.stack([batch[name] for batch in batches]).index_select(0, self.owner)
                for name in batches[0]
            }

    def _cut(self, parts: list[CutBatches], number: int) -> Iterator[dict[str, Any]]:
        """Look up the rows of all problems at once, in one table."""
        torch = require("torch", "neural")
        drawn = [part.drawn(number) for part in parts]
        begin = np.cumsum([0, *(len(part.rows.columns["x"]) for part in parts[:-1])])
        numbers = torch.stack([own + int(at) for at, (own, _) in zip(begin, drawn, strict=True)])
        columns = {name: torch.stack([own[name] for _, own in drawn]) for name in drawn[0][1]}
        for cut in parts[0].cuts():
            batch = self._rows.take(numbers[..., cut].index_select(0, self.owner))
            for name, values in columns.items():
                batch[name] = values[..., cut].index_select(0, self.owner)
            yield batch

    @cached_property
    def _rows(self) -> Rows:
        return joined_rows([part.rows for part in self.parts if isinstance(part, CutBatches)])


def _run_stack(members: list[_Member], device: Any) -> list[DataError | None]:
    """Train members of one shape, each up to its own last step; return their errors or None."""
    tracks: dict[tuple[float, ...], list[int]] = {}
    for at, member in enumerate(members):
        tracks.setdefault(member.track(), []).append(at)
    owned, errors = list(tracks.values()), dict[int, DataError | None]()
    most = MAX_TRACKS[device.type]
    for first in range(0, len(owned), most):
        part = owned[first : first + most]
        n_steps = members[0].problem.batches.n_steps
        last = {at: members[at].last(n_steps) for own in part for at in own}
        state, losses = _train([members[own[0]] for own in part], set(last.values()), device)
        for row, own in enumerate(part):
            for at in own:
                weights, step = state.kept[last[at]][row], last[at]
                errors[at] = members[at].finish(weights, step, losses[:, row], n_steps)
    return [errors[at] for at in range(len(members))]


def _train(tracks: list[_Member], stops: set[int], device: Any) -> tuple[State, np.ndarray]:
    """Train one row per track; return the weights at each stop, and the losses (step x track)."""
    torch = require("torch", "neural")
    ranker, problem = tracks[0].ranker, tracks[0].problem
    problems = list(dict.fromkeys(member.problem for member in tracks))
    owner = torch.tensor([problems.index(member.problem) for member in tracks], device=device)
    start = np.stack([m.problem.start(m.seed) for m in tracks]).astype(ranker.dtype)
    state = begin(torch.as_tensor(start, device=device))

    def column(name: str) -> Any:
        values = [member.number(name) for member in tracks]
        return torch.tensor(values, dtype=state.weights.dtype, device=device)

    hyper = {name: column(name) for name in ranker.hyper}
    fixed = {
        name: torch.stack([member.problem.constants[name] for member in tracks])
        for name in problem.constants
    }

    def value(weights: Any, batch: Any, numbers: Any, constants: Any) -> Any:
        net = Net(problem.model, {**problem.unpack(weights), **constants})
        return problem.loss(net, batch, numbers)

    in_dims = (0, None if len(problems) == 1 else 0, 0 if hyper else None, 0 if fixed else None)
    stacked = torch.func.vmap(value, in_dims=in_dims)
    losses: list[Any] = []
    batches = _SideBySide([own.batches for own in problems], owner)
    plan: Plan = replace(
        ranker.plan(problem),
        max_steps=max(stops),
        kept_steps=frozenset(stops),
        **{rate: column(name)[:, None] for name, rate in RATES.items()},
    )
    if plan.schedule == "constant":
        plan = replace(plan, n_epochs=-(-max(stops) // batches.n_steps))
    if not any(member.ranker.weight_decay for member in tracks):
        plan = replace(plan, weight_decay=0.0)
    if len({member.ranker.momentum for member in tracks}) == 1:
        plan = replace(plan, momentum=float(ranker.momentum))
    state.kept[0] = state.weights.clone()
    train(
        state,
        batches,
        lambda weights, batch: stacked(weights, batch, hyper, fixed),
        plan,
        each=lambda loss: losses.append(loss.clone()),
    )
    return state, torch.stack(losses).cpu().numpy() if losses else np.zeros((0, len(tracks)))
