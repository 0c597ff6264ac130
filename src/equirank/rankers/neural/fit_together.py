"""fit_together: neural rankers of one shape as one stacked batch, others one after another."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.data import RankingData, as_ranking_data, refuse_beside
from ...core.errors import DataError
from ...core.extras import require
from ...core.params import check_params
from ...core.ranker import Ranker
from .devices import chosen_device, threads
from .network import Net
from .neural_ranker import NeuralRanker
from .padding import QueryBatches
from .problem import Batches, Problem
from .training import NOT_FINITE, State, begin, train

__all__ = ["fit_all", "fit_together", "stacks"]

#: Parameters in which rankers of one stack may differ, beside those that enter the loss as tensors.
LOOSE = frozenset({"learning_rate", "weight_decay", "adversary_rate", "max_steps", "random_state"})


def fit_together(
    rankers: Sequence[Ranker],
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    sensitive_features: Any = None,
    cost: Any = None,
    query_weight: Any = None,
) -> list[Ranker]:
    """Fit rankers on the same data, neural ones of one shape together, and give them back fitted.

    Neural rankers of one class that differ only in ``random_state``, ``learning_rate``,
    ``weight_decay``, ``adversary_rate``, in what weighs the parts of their loss (``gamma``) and in
    how long they train are one stack: each step draws a batch, and one pass of `torch.func` moves
    all of them. Step counts (``max_steps``, and ``n_epochs`` with a constant schedule) are
    checkpoints of one run. Each ranker comes out as its own `fit` would leave it, up to rounding:
    the same seed gives the same weights, batches and noise.

    What cannot be stacked is fitted by itself: other rankers, layers that nothing else has, early
    stopping, checkpoints, mixed precision, `RankNet`, `LambdaRank` and `ConstrainedPairwise`.
    Rankers trained on lists are stacked by seed.

    Parameters
    ----------
    rankers : sequence of Ranker
        Fitted in place; no two of them may be the same object.
    X, y, qid, sensitive_features, cost, query_weight
        As in `Ranker.fit`; X may be a `RankingData`.

    Returns
    -------
    list of Ranker
        The rankers themselves.

    Raises
    ------
    DataError
        Where the loss of a ranker does not stay finite, as in its own `fit`.

    Examples
    --------
    >>> from equirank import make_ranking
    >>> from equirank.rankers import DirectRanker, fit_together
    >>> data = make_ranking(n_queries=10, n_items=10, feature_bias=1.0, random_state=0)
    >>> def ranker(gamma, steps):
    ...     return DirectRanker("flipped", gamma, layers=(4,), max_steps=steps, random_state=0)
    >>> models = fit_together([ranker(g, n) for g in (0.1, 1.0) for n in (5, 10)], data)
    >>> [model.n_steps_ for model in models]
    [5, 10, 5, 10]
    """
    if len({id(ranker) for ranker in rankers}) < len(rankers):
        raise DataError("rankers must be different objects, got one of them twice")
    given = {"qid": qid, "sensitive_features": sensitive_features, "cost": cost}
    given["query_weight"] = query_weight
    if isinstance(X, RankingData):
        refuse_beside(given | {"y": y})
        data = X
    else:
        data = as_ranking_data(X, y, **given)
    for error in fit_all(rankers, data):
        if error is not None:
            raise error
    return list(rankers)


def fit_all(rankers: Sequence[Ranker], data: RankingData) -> list[DataError | None]:
    """Fit rankers in place; give for each the error that stopped it, or None."""
    for ranker in rankers:
        check_params(type(ranker).__name__, ranker.get_params(deep=False), ranker.params)
    errors: list[DataError | None] = [None] * len(rankers)
    for members in stacks(rankers):
        neural = [r for r in (rankers[at] for at in members) if isinstance(r, NeuralRanker)]
        found = _stacked(neural, data) if len(members) > 1 else [_alone(rankers[members[0]], data)]
        for at, error in zip(members, found, strict=True):
            errors[at] = error
    return errors


def stacks(rankers: Sequence[Ranker]) -> list[list[int]]:
    """Give the numbers of the rankers that train together, in order of first appearance."""
    found: dict[Any, list[int]] = {}
    for at, ranker in enumerate(rankers):
        found.setdefault(_shape(ranker) or at, []).append(at)
    return list(found.values())


def _shape(ranker: Ranker) -> tuple[Any, ...] | None:
    """Give what rankers of one stack have in common, or None for one that trains by itself."""
    if not isinstance(ranker, NeuralRanker) or not ranker.stackable or ranker.keep_epochs:
        return None
    alone = (ranker.validation, ranker.early_stopping, ranker.checkpoint)
    if any(value is not None for value in alone) or ranker.precision == "mixed":
        return None
    loose = LOOSE | set(ranker.hyper) | ({"n_epochs"} if ranker.schedule == "constant" else set())
    fixed = {k: v for k, v in ranker.get_params(deep=False).items() if k not in loose}
    return (type(ranker), *(f"{name}={value!r}" for name, value in sorted(fixed.items())))


def _alone(ranker: Ranker, data: RankingData) -> DataError | None:
    try:
        ranker.fit(data)
    except DataError as error:
        return error
    return None


@dataclass(frozen=True)
class _Member:
    """A ranker of a stack, its seed, and the problem that this seed gives."""

    ranker: NeuralRanker
    seed: int
    problem: Problem

    def last(self, n_steps: int) -> int:
        """Count the steps that its own fit would take."""
        whole = self.ranker.n_epochs * n_steps
        return whole if self.ranker.max_steps is None else min(whole, self.ranker.max_steps)

    def keep(self, weights: Any, step: int, losses: np.ndarray, n_steps: int) -> DataError | None:
        """Leave the ranker as its own fit would, or say that its loss is no longer finite."""
        epochs = [losses[at : at + n_steps].mean() for at in range(0, step, n_steps)]
        if not np.isfinite(epochs).all():
            number = int(np.flatnonzero(~np.isfinite(epochs))[0]) + 1
            return DataError(NOT_FINITE.format(number))
        if step == 0 and self.ranker.n_epochs > 0:
            epochs = [0.0]
        state = State(weights, None, None, step, len(epochs), [float(loss) for loss in epochs])
        self.ranker._keep(self.problem, state, False)
        self.ranker.is_fitted_ = True
        return None


@dataclass(frozen=True)
class _Batches:
    """The batches of several seeds side by side, one per ranker."""

    parts: list[Batches]
    owner: Any

    @property
    def n_steps(self) -> int:
        return self.parts[0].n_steps

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        torch = require("torch", "neural")
        for batches in zip(*(part.epoch(number) for part in self.parts), strict=True):
            if len(batches) == 1:
                yield batches[0]
                continue
            yield {
                name: torch.stack([batch[name] for batch in batches]).index_select(0, self.owner)
                for name in batches[0]
            }


def _stacked(rankers: list[NeuralRanker], data: RankingData) -> list[DataError | None]:
    """Fit rankers of one shape in place; give for each the error that stopped it, or None."""
    lead = rankers[0]
    seen = lead._begin(data, None, None, None, None, None)
    remembered = {name: value for name, value in vars(lead).items() if name.endswith("_")}
    device, seeds = chosen_device(lead.device, lead.precision), [r._seed() for r in rankers]
    with threads(lead.n_jobs):
        problems = {seed: lead.problem(seen, seed, device) for seed in dict.fromkeys(seeds)}
        one = next(iter(problems.values())).batches
        if one.n_steps == 0:  # nothing to learn: each says so itself
            return [_alone(ranker, data) for ranker in rankers]
        for ranker in rankers:
            ranker.__dict__.update(remembered)
        apart = isinstance(one, QueryBatches) and one.n_steps > 1  # batches of unequal shape
        errors: dict[int, DataError | None] = {}
        for seed in problems if apart else [None]:
            members = [at for at, own in enumerate(seeds) if seed is None or own == seed]
            mine = [_Member(rankers[at], seeds[at], problems[seeds[at]]) for at in members]
            errors |= dict(zip(members, _run(mine, device), strict=True))
    return [errors[at] for at in range(len(rankers))]


def _run(members: list[_Member], device: Any) -> list[DataError | None]:
    """Train the members of a stack in one run, and keep each as it is at its own last step."""
    torch = require("torch", "neural")
    lead, problem = members[0].ranker, members[0].problem
    seeds = list({member.seed: member.problem for member in members}.values())
    owner = torch.tensor([seeds.index(member.problem) for member in members], device=device)
    batches = _Batches([own.batches for own in seeds], owner)
    start = np.stack([m.problem.start(m.seed) for m in members]).astype(lead._dtype)
    state = begin(torch.as_tensor(start, device=device))

    def column(name: str) -> Any:
        values = [[float(getattr(member.ranker, name))] for member in members]
        return torch.tensor(values, dtype=state.weights.dtype, device=device)

    hyper = {name: column(name)[:, 0] for name in lead.hyper}
    fixed = {
        name: torch.stack([member.problem.constants[name] for member in members])
        for name in problem.constants
    }

    def value(weights: Any, batch: Any, numbers: Any, constants: Any) -> Any:
        net = Net(problem.model, {**problem.unpack(weights), **constants})
        return problem.loss(net, batch, numbers)

    losses: list[Any] = []
    over = (0, None if len(seeds) == 1 else 0, 0 if hyper else None, 0 if fixed else None)
    together = torch.func.vmap(value, in_dims=over)

    def values(weights: Any, batch: Any) -> Any:
        found = together(weights, batch, hyper, fixed)
        losses.append(found.detach())
        return found.nan_to_num(0.0, 0.0, 0.0)  # whoever is lost must not stop the others

    n_steps = batches.n_steps
    last = [member.last(n_steps) for member in members]
    plan = replace(
        lead._plan(problem),
        n_epochs=max(member.ranker.n_epochs for member in members),
        max_steps=max(last),
        learning_rate=column("learning_rate"),
        kept_steps=frozenset(last),
        **_numbers(members, column),
    )
    state.kept[0] = state.weights.clone()
    train(state, batches, values, plan)
    curve = torch.stack(losses).cpu().numpy() if losses else np.zeros((0, len(members)))
    return [
        member.keep(state.kept[last[at]][at], last[at], curve[: last[at], at], n_steps)
        for at, member in enumerate(members)
    ]


def _numbers(members: list[_Member], column: Callable[[str], Any]) -> dict[str, Any]:
    """Give what a plan needs as tensors where any ranker has it."""
    found: dict[str, Any] = {}
    if any(member.ranker.weight_decay for member in members):
        found["weight_decay"] = column("weight_decay")
    if hasattr(members[0].ranker, "adversary_rate"):
        found["opponent_rate"] = column("adversary_rate")
    return found
