"""fit_together: neural rankers of one shape as one stacked batch, others one after another."""

from collections.abc import Sequence
from typing import Any

from ...core.data import RankingData, as_ranking_data, refuse_beside
from ...core.errors import DataError
from ...core.params import check_params
from ...core.ranker import Ranker
from .devices import chosen_device, threads
from .neural_ranker import NeuralRanker
from .padding import QueryBatches
from .stacked_run import Member, run_stack

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
            mine = [Member(rankers[at], seeds[at], problems[seeds[at]]) for at in members]
            errors |= dict(zip(members, run_stack(mine, device), strict=True))
    return [errors[at] for at in range(len(rankers))]
