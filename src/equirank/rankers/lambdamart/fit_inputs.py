"""Inputs of ``fit`` of tree rankers beyond the lists: weights, positions and evaluation sets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np

from ...core import inputs
from ...core.data import RankingData
from ...core.errors import DataError, logger
from ...core.keywords import Default, FitKeywords
from ...core.params import Integer, check_params

__all__ = [
    "FitInputs",
    "LogRounds",
    "TreeFitKeywords",
    "WatchOne",
    "check_callbacks",
    "item_positions",
    "item_weights",
    "named_sets",
]


class TreeFitKeywords(FitKeywords, total=False):
    """What a tree ranker is fitted to, and how its rounds are watched.

    Parameters
    ----------
    sample_weight : array-like, optional
        Weight > 0 of each row. Rankers that learn from pairs multiply every pair by
        ``sqrt(w_i w_j)``, others the error of the row.
    eval_set : list or dict, optional
        Sets on which the metric is computed after each round: a list of ``(X, y, qid)`` or
        ``(X, y, qid, groups)``, named ``valid_0``, ``valid_1``, ..., or a dictionary of names and
        `RankingData`. Values are stored in ``history_``. Early stopping uses the validation lists,
        or else the first of these sets.
    callbacks : sequence of callables
        Callbacks of LightGBM, called as they are.
    verbose : int or bool
        Log the metrics every ``verbose`` rounds to the logger ``equirank`` (level INFO).
    """

    sample_weight: Any
    eval_set: Any
    callbacks: Annotated[Sequence[Any], Default(())]
    verbose: Annotated[int | bool, Default(0)]


@dataclass(frozen=True, eq=False)
class FitInputs:
    """Inputs of ``fit`` beyond the lists.

    Attributes
    ----------
    sample_weight, position : ndarray or None
        Weight of each stored row, and the position at which it was shown.
    eval_sets : mapping of str to RankingData
        The evaluation sets.
    callbacks, verbose
        Callbacks of LightGBM, and the number of rounds between two entries of the log.
    same_data : bool
        Whether the model was fitted to the same data before.
    """

    sample_weight: np.ndarray | None = None
    position: np.ndarray | None = None
    eval_sets: Mapping[str, RankingData] = field(default_factory=dict)
    callbacks: tuple[Any, ...] = ()
    verbose: int = 0
    same_data: bool = False

    def of_rows(self, rows: np.ndarray) -> "FitInputs":
        """Return the inputs of some stored rows, given by index."""

        def cut(values: np.ndarray | None) -> np.ndarray | None:
            return None if values is None else values[rows]

        return replace(self, sample_weight=cut(self.sample_weight), position=cut(self.position))


def item_weights(values: Any, data: RankingData) -> np.ndarray | None:
    """Return the weight of each stored row; None if all are 1.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> item_weights([1.0, 2.0], as_ranking_data(None, [1, 0], qid=0))
    array([1., 2.])
    >>> item_weights([1.0, 1.0], as_ranking_data(None, [1, 0], qid=0)) is None
    True
    """
    given = inputs.numbers("sample_weight", values)
    if given is None:
        return None
    weight = _of_stored_rows("sample_weight", given, data)
    inputs.refuse("sample_weight", given, given <= 0, "a number greater than zero")
    return None if bool((weight == 1.0).all()) else weight.astype(np.float64)


def item_positions(values: Any, data: RankingData) -> np.ndarray | None:
    """Return the position at which each stored row was shown.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> item_positions([2, 1, 1], as_ranking_data(None, [1, 0, 0], qid=["a", "b", "a"]))
    array([2, 1, 1], dtype=int32)
    """
    given = inputs.positions(values)
    if given is None:
        return None
    position = _of_stored_rows("position", given, data)
    inputs.refuse("position", given, given < 1, "a position >= 1 at which the row was shown")
    return position


def _of_stored_rows(name: str, values: np.ndarray, data: RankingData) -> np.ndarray:
    if len(values) != data.n_rows:
        raise DataError(f"{name} must have one value per row ({data.n_rows}), got {len(values)}")
    return values[data.caller_rank]


def named_sets(
    eval_set: Any, read: Callable[[Any, Any, Any, Any], RankingData]
) -> dict[str, RankingData]:
    """Return the evaluation sets by name; ``read`` encodes and checks X, y, qid and groups."""
    if eval_set is None:
        return {}
    if isinstance(eval_set, Mapping):
        found = dict(eval_set)
    elif isinstance(eval_set, list):
        found = {f"valid_{at}": each for at, each in enumerate(eval_set)}
    else:
        raise DataError(
            "eval_set must be a list of (X, y, qid) or (X, y, qid, groups), or a dictionary of "
            f"names and RankingData, got {type(eval_set).__name__}"
        )
    return {str(name): _one_set(str(name), each, read) for name, each in found.items()}


def _one_set(
    name: str, given: Any, read: Callable[[Any, Any, Any, Any], RankingData]
) -> RankingData:
    if name in ("training", "validation"):
        raise DataError(f"eval_set must have other names than training and validation, got {name}")
    parts: Sequence[Any] = given if isinstance(given, (tuple, list)) else ()
    if isinstance(given, RankingData):
        parts = (given, None, None)
    if len(parts) not in (3, 4):
        what = f"{len(parts)} parts" if parts else type(given).__name__
        raise DataError(
            f"set {name} of eval_set must be (X, y, qid), (X, y, qid, groups) or a RankingData, "
            f"got {what}"
        )
    data = read(*parts, *([None] * (4 - len(parts))))
    if data.X is None or data.y is None:
        raise DataError(f"set {name} of eval_set must have X and y")
    return replace(data, position=None)


def check_callbacks(owner: str, callbacks: Any, verbose: Any) -> tuple[tuple[Any, ...], int]:
    """Return callbacks and verbosity of ``fit`` after checking them."""
    if not isinstance(callbacks, (list, tuple)) or not all(map(callable, callbacks)):
        raise DataError(f"callbacks of {owner} must be a list of callables, got {callbacks!r}")
    every = int(verbose) if isinstance(verbose, bool) else verbose
    check_params(owner, {"verbose": every}, {"verbose": Integer(0)})
    return tuple(callbacks), int(every)


class WatchOne:
    """Callback of LightGBM that shows another callback one metric of one set only."""

    before_iteration = False

    def __init__(self, callback: Callable[[Any], None], name: str, metric: str) -> None:
        self.order = 30  # after the record; LightGBM does not read it from the class
        self.callback, self.watched = callback, (name, metric)

    def __call__(self, env: Any) -> None:
        """Call the other callback after a round."""
        names = ("model", "params", "iteration", "begin_iteration", "end_iteration")
        found = [each for each in env.evaluation_result_list if tuple(each[:2]) == self.watched]
        shown = {name: getattr(env, name) for name in names}
        self.callback(SimpleNamespace(**shown, evaluation_result_list=found))


class LogRounds:
    """Callback of LightGBM that logs the metrics to ``equirank`` every so many rounds."""

    before_iteration = False

    def __init__(self, period: int, n_before: int = 0) -> None:
        self.order = 10
        self.period, self.n_before = period, n_before

    def __call__(self, env: Any) -> None:
        """Log the metrics of a round."""
        n_rounds = env.iteration + 1
        if n_rounds % self.period == 0 or env.iteration == env.end_iteration - 1:
            values = ", ".join(f"{s} {m} {v:.6g}" for s, m, v, *_ in env.evaluation_result_list)
            logger.info("round %d: %s", self.n_before + n_rounds, values)
