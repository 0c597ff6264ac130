"""Several rankings of the same rows, taken as the draws of one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ...core import columns as door
from ...core.data import RankingData, as_ranking_data
from ...core.errors import DataError
from ...core.metric import DISCOUNT
from ...core.params import AnyOf, Choice, Constraint
from ...core.ranking import Ranking
from ...kernels.division import divide
from ...kernels.segments import segment_sum

__all__ = ["BROWSING", "joined_rankings"]

#: What the word ``discount`` may be where users may also leave after every place (``"rbp"``).
BROWSING: Constraint = AnyOf(Choice("rbp"), DISCOUNT)


def joined_rankings(
    y_true: Any,
    rankings: Any,
    *,
    pooled: bool = False,
    ties: Literal["average", "stable"] = "average",
    **given: Any,
) -> Ranking:
    """Make one ranking of several, each counting the same.

    Parameters
    ----------
    y_true : array-like or None
        Relevance; None takes that of the rankings. With ``pooled`` it may differ from ranking to
        ranking (one row each, or in the rankings' own data): then shares of it are averaged.
    rankings : Ranking, sequence of Ranking, array-like or sequence of array-like
        A ranking with its draws, several, or scores (higher is earlier) once or several times.
    pooled : bool
        Whether relevance may differ.
    ties : {"average", "stable"}
        For scores: equal ones share their places, or keep the order given.
    **given
        Further columns of the data, where scores are given.
    """
    parts = _parts(rankings)
    truths = _truths(y_true, len(parts), pooled)
    if not isinstance(parts[0], Ranking):
        parts = _ranked(parts, truths, ties, given)
    first = parts[0].data
    for at, part in enumerate(parts):
        _same_rows(first, part.data, at)
    y = _relevance([part.data for part in parts], truths, pooled)
    data = replace(first, y=y, max_grade=0.0 if y is None else float(y.max()))
    if len(parts) == 1:
        return replace(parts[0], data=data)
    columns = [part.data.to_original(part.position).reshape(data.n_rows, -1) for part in parts]
    weights = [_weights(part) for part in parts]
    return Ranking.from_positions(
        data, np.concatenate(columns, axis=1), weights=np.concatenate(weights, axis=1)
    )


def _parts(rankings: Any) -> list[Any]:
    """Tell one ranking from several."""
    if isinstance(rankings, Ranking):
        return [rankings]
    if isinstance(rankings, np.ndarray) and rankings.ndim == 2:
        return list(rankings)
    if isinstance(rankings, Sequence) and not isinstance(rankings, str) and len(rankings) > 0:
        kinds = {isinstance(part, Ranking) for part in rankings}
        if kinds == {True, False}:
            raise DataError("rankings must be all of class Ranking or all scores, got both")
        if kinds == {True} or np.ndim(rankings[0]) > 0:
            return list(rankings)
    return [rankings]


def _ranked(
    parts: list[Any],
    truths: list[np.ndarray | None],
    ties: Literal["average", "stable"],
    given: dict[str, Any],
) -> list[Ranking]:
    """Rank by each of the scores."""
    names = ["rankings"] if len(parts) == 1 else [f"rankings[{at}]" for at in range(len(parts))]
    scores = [door.numbers(name, part) for name, part in zip(names, parts, strict=True)]
    door.same_length({**dict(zip(names, scores, strict=True)), "y_true": truths[0]})
    data = as_ranking_data(y=truths[0], score=scores[0], **given)
    return [Ranking.from_scores(data, score, ties=ties) for score in scores]


def _truths(y_true: Any, n: int, pooled: bool) -> list[np.ndarray | None]:
    """Give the relevance of each ranking, None where the rankings have their own."""
    if y_true is None:
        return [None] * n
    many = pooled and not hasattr(y_true, "columns") and np.ndim(y_true) == 2
    rows = list(y_true) if many else [y_true]
    if many and len(rows) != n:
        raise DataError(
            f"y_true must have one row per ranking ({n}) or one for all, got {len(rows)}"
        )
    checked = []
    for row in rows:
        truth = door.numbers("y_true", row)
        door.refuse("y_true", truth, truth is not None and ~(truth >= 0), "a relevance >= 0")
        checked.append(truth)
    return checked if many else checked * n


def _same_rows(first: RankingData, other: RankingData, at: int) -> None:
    if other is first:
        return
    same = np.array_equal(first.offsets, other.offsets)
    same = same and np.array_equal(first.qids, other.qids)
    rows = [np.arange(d.n_rows) if d.rows is None else d.rows for d in (first, other)]
    if not same or not np.array_equal(rows[0], rows[1]):
        raise DataError(
            f"rankings must be over the same rows and queries, and rankings[{at}] is not over "
            "those of rankings[0]"
        )


def _relevance(
    data: list[RankingData], truths: list[np.ndarray | None], pooled: bool
) -> np.ndarray | None:
    """Give the one relevance of all rankings, in stored order."""
    first = data[0]
    stored = []
    for own, truth in zip(data, truths, strict=True):
        if truth is None:
            stored.append(own.y)
            continue
        if len(truth) != first.n_rows:
            raise DataError(
                f"y_true must have one value per row ({first.n_rows}), got {len(truth)}"
            )
        place = slice(None) if first.rows is None else np.argsort(np.argsort(first.rows))
        stored.append(door.frozen(truth[place]))
    known = [y for y in stored if y is not None]
    if len(known) < len(stored):
        return None
    if all(y is known[0] or np.array_equal(y, known[0]) for y in known):
        return known[0]
    if not pooled:
        raise DataError("rankings must share one relevance, and they differ; pass it as y_true")
    sizes = np.diff(first.offsets)
    shares = [divide(y, np.repeat(segment_sum(y, first.offsets), sizes)) for y in known]
    mean = np.mean(shares, axis=0)
    return door.frozen(np.where(np.isnan(mean), 0.0, mean))


def _weights(ranking: Ranking) -> np.ndarray:
    if ranking.weights is not None:
        return ranking.weights
    return np.full((ranking.data.n_queries, ranking.n_draws), 1.0 / ranking.n_draws)
