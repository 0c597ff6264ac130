"""Exposure of items over several rankings, compared with an ideal policy or with relevance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from ...core import inputs as door
from ...core.data import RankingData
from ...core.errors import DataError
from ...core.given_data import as_ranking_data, refuse_beside
from ...core.metric import DISCOUNT, Metric, Values
from ...core.params import AnyOf, Choice, Constraint, Number
from ...core.ranking import Ranking
from ...core.slots import Slots
from ...kernels.discounts import browsing, ideal_exposure
from ...kernels.segments import divide, segment_sum, summable

__all__ = [
    "BROWSING",
    "ExpectedExposureLoss",
    "IndividualAmortisedAttention",
    "joined_rankings",
]


#: Values of ``discount`` for metrics of browsing users (``"rbp"``: leave after any position).
BROWSING: Constraint = AnyOf(Choice("rbp"), DISCOUNT)


def joined_rankings(
    y_true: Any,
    rankings: Any,
    *,
    pooled: bool = False,
    ties: Literal["average", "stable"] = "average",
    **given: Any,
) -> Ranking:
    """Join several rankings into one, with equal weights.

    Parameters
    ----------
    y_true : array-like or None
        Relevance, for scores only; a `Ranking` has its own. With ``pooled``, it may differ between
        rankings (one row each, or in the rankings' own data); its shares are then averaged.
    rankings : Ranking, sequence of Ranking, array-like or sequence of array-like
        A ranking with its draws, several rankings, or one or several arrays of scores.
    pooled : bool
        Whether relevance may differ.
    ties : {"average", "stable"}
        For scores: treat equal ones as ties, or keep their input order.
    **given
        Further columns of the data, for scores.
    """
    parts = _parts(rankings)
    if isinstance(parts[0], Ranking):
        refuse_beside({"y_true": y_true, **given}, "Ranking")
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
    """Return the rankings as a list."""
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
    """Return the ranking by each array of scores."""
    names = ["rankings"] if len(parts) == 1 else [f"rankings[{at}]" for at in range(len(parts))]
    scores = [door.numbers(name, part) for name, part in zip(names, parts, strict=True)]
    door.same_length({**dict(zip(names, scores, strict=True)), "y_true": truths[0]})
    data = as_ranking_data(y=truths[0], score=scores[0], **given)
    return [Ranking.from_scores(data, score, ties=ties) for score in scores]


def _truths(y_true: Any, n: int, pooled: bool) -> list[np.ndarray | None]:
    """Return the relevance of each ranking, None if the rankings have their own."""
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
    """Return the common relevance of all rankings, in stored order."""
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
        order = slice(None) if first.rows is None else np.argsort(np.argsort(first.rows))
        stored.append(door.frozen(truth[order]))
    known = [y for y in stored if y is not None]
    if len(known) < len(stored):
        return None
    if all(y is known[0] or np.array_equal(y, known[0]) for y in known):
        return known[0]
    if not pooled:
        raise DataError("rankings must share one relevance, and that of their data differs")
    mean = np.mean([_shares(y, first.offsets) for y in known], axis=0)
    return door.frozen(np.where(np.isnan(mean), 0.0, mean))


def _weights(ranking: Ranking) -> np.ndarray:
    if ranking.weights is not None:
        return ranking.weights
    return np.full((ranking.data.n_queries, ranking.n_draws), 1.0 / ranking.n_draws)


@dataclass(frozen=True, repr=False, kw_only=True)
class ExpectedExposureLoss(Metric):
    """Expected exposure loss: the squared distance of expected exposure from an ideal policy's.

    ``EEL = sum_i (e_i - e*_i)^2`` over the items of a query, with e the expected exposure over ties
    and draws (a metric of the expectation) and e* that of the ideal policy. The ideal policy ranks
    by relevance, with all orders of equally relevant items equally likely: e* is the mean exposure
    of the positions of the item's grade. ``EEL = EED - 2 EER + sum_i e*_i^2`` with the disparity
    ``EED = sum_i e_i^2`` (lower is more even) and the relevance ``EER = sum_i e_i e*_i`` (higher is
    better). Items that are not shown have exposure 0. Defined for every query. There is no upper
    bound, since longer lists have more exposure to misplace.

    Parameters
    ----------
    part : {"loss", "disparity", "relevance"}
        EEL, EED or EER.
    discount : {"log2", "zipf", "rbp"} or sequence
        Exposure of position j: ``1/log2(1 + j)``, ``1/j``, ``patience**(j - 1)`` as in the paper,
        or the exposure of positions 1, 2, ... (0 beyond its end).
    patience : float
        For ``"rbp"``: the probability that a user continues to the next position.
    k : int, optional
        Cutoff: positions beyond k have exposure 0, also under the ideal policy.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega and Carterette, Evaluating stochastic rankings with expected
    exposure, CIKM 2020.

    Examples
    --------
    >>> from equirank.metrics import ExpectedExposureLoss, expected_exposure_loss
    >>> ExpectedExposureLoss(part="relevance", discount="rbp", patience=0.8)
    ExpectedExposureLoss(discount="rbp", part="relevance", patience=0.8)
    >>> ExpectedExposureLoss().direction, ExpectedExposureLoss(part="relevance").direction
    ('lower', 'higher')
    >>> once = expected_exposure_loss([1, 1], [2, 1], discount="rbp")  # e = 1, 1/2; e* = 3/4, 3/4
    >>> coin = expected_exposure_loss([1, 1], [[2, 1], [1, 2]], discount="rbp")
    >>> once, coin
    (0.125, 0.0)
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    leading_arguments: ClassVar[tuple[str, ...]] = ("qid", "part")
    of_expectation: ClassVar[bool] = True
    individual: ClassVar[bool] = True
    params: ClassVar[Mapping[str, Constraint]] = {
        "part": Choice("loss", "disparity", "relevance"),
        "discount": BROWSING,
        "patience": Number(0.0, 1.0),
    }

    part: Literal["loss", "disparity", "relevance"] = "loss"
    discount: str | Sequence[float] = "log2"
    patience: float = 0.5

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        rankings: Any,
        *,
        qid: Any = None,
        ties: Literal["average", "stable"] = "average",
        per_query: bool = False,
        **options: Any,
    ) -> tuple[Metric, dict[str, Any]]:
        """Join rankings into one policy.

        Parameters
        ----------
        y_true : array-like or None
            Relevance, >= 0, for scores only; None for a `Ranking`, which has its own.
        rankings : Ranking, sequence of Ranking, array-like or sequence of array-like
            A policy: a `Ranking` with its draws, several rankings of the same rows with equal
            weights, or one or several arrays of scores (higher scores rank first).
        qid : array-like, optional
            The query of each row, for scores only; None makes all rows one list.
        """
        metric = cls(**options)
        policy = joined_rankings(y_true, rankings, qid=qid, ties=ties)
        return metric, {"y_score": policy, "per_query": per_query}

    def __post_init__(self) -> None:
        """Check the options; of the three parts, only relevance is better when higher."""
        super().__post_init__()
        if self.part == "relevance":
            object.__setattr__(self, "direction", "higher")

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        weights = browsing(int(slots.sizes.max()), self.discount, self.patience, self.k)
        exposure = slots.expect(weights)
        if self.part == "disparity":
            return Values(segment_sum(exposure**2, slots.offsets))
        target = ideal_exposure(slots.y, slots.offsets, weights)
        if self.part == "relevance":
            return Values(segment_sum(exposure * target, slots.offsets))
        return Values(segment_sum((exposure - target) ** 2, slots.offsets))


#: Largest number of cells of the table of rankings and items.
MOST_CELLS = 1 << 27


@dataclass(frozen=True, repr=False, kw_only=True)
class IndividualAmortisedAttention(Metric):
    """Amortised attention: the gap between shares of exposure and of relevance over rankings.

    ``1/m sum_i |A_i - R_i|`` with ``A_i = sum_j a_ij`` and ``R_i = sum_j r_ij`` accumulated over m
    rankings, attention and relevance scaled to sum to 1 in each ranking. 0 means that everyone has
    received their share in the end; the maximum is 2. (The paper does not divide by m.) The
    rankings are the draws of a policy, with their weights, and the queries: rows of several queries
    with the same ``ids`` are one item, so the value over several queries is at most the mean of
    their values. Without ``ids``, every row is an item of its own. The value of a query is that of
    its rankings alone. If ids recur, the result includes ``(A_i - R_i)/m`` of each item. Tied items
    receive the mean attention of the positions they span. Undefined if a query has no relevance or
    shows nothing; such a query adds nothing.

    Parameters
    ----------
    discount : {"log2", "zipf", "rbp"} or sequence
        Attention at position j before scaling: ``1/log2(1 + j)``, ``1/j``, ``patience**(j - 1)``
        as in the paper, or that of positions 1, 2, ... (0 beyond its end; ``(1,)`` is the paper's
        singular attention).
    patience : float
        For ``"rbp"``: the probability that a user continues to the next position.
    k : int, optional
        Cutoff: positions beyond k receive no attention.

    References
    ----------
    Biega, Gummadi and Weikum, SIGIR 2018, as in `equirank.allocation.EquityOfAttention`.

    Examples
    --------
    >>> from equirank.metrics import IndividualAmortisedAttention, individual_amortised_attention
    >>> IndividualAmortisedAttention(discount="rbp")@10
    IndividualAmortisedAttention(discount="rbp")@10
    >>> first = [2, 1]  # all attention to position 1: shares 1 and 0, relevance 1/2 each
    >>> individual_amortised_attention([1, 1], first, discount=[1])
    1.0
    >>> individual_amortised_attention([1, 1], [first, [1, 2]], discount=[1])
    0.0
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)
    of_expectation: ClassVar[bool] = True
    individual: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "no item is relevant, or none has exposure"
    params: ClassVar[Mapping[str, Constraint]] = {
        "discount": BROWSING,
        "patience": Number(0.0, 1.0),
    }

    discount: str | Sequence[float] = "log2"
    patience: float = 0.5

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        rankings: Any,
        *,
        qid: Any = None,
        ids: Any = None,
        ties: Literal["average", "stable"] = "average",
        per_query: bool = False,
        return_groups: bool = False,
        **options: Any,
    ) -> tuple[Metric, dict[str, Any]]:
        """Join a sequence of rankings, whose relevance may differ.

        Parameters
        ----------
        y_true : array-like or None
            Relevance, >= 0, for scores only; one row per ranking if it differs between rankings.
            None for a `Ranking`, which has its own.
        rankings : Ranking, sequence of Ranking, array-like or sequence of array-like
            A `Ranking` with its draws, a sequence of rankings of the same rows, or one or several
            arrays of scores (higher scores rank first).
        qid : array-like, optional
            The query of each row, for scores only; None makes all rows one list.
        ids : array-like, optional
            The item of each row, to match items between queries; for scores only (a `Ranking` has
            its own).
        return_groups : bool
            Also return a dict of id to exposure minus relevance; empty if no id recurs.
        """
        metric = cls(**options)
        sequence = joined_rankings(y_true, rankings, pooled=True, qid=qid, ids=ids, ties=ties)
        return metric, {
            "y_score": sequence,
            "per_query": per_query,
            "return_groups": return_groups,
        }

    def values(self, slots: Slots) -> Values:
        """Return the value of each query, and each item's part in it if items recur."""
        weights = browsing(int(slots.sizes.max()), self.discount, self.patience, self.k)
        excess = _shares(slots.expect(weights), slots.offsets) - _shares(slots.y, slots.offsets)
        items, labels = _items(slots.data)
        if items is None:
            return Values(segment_sum(np.abs(excess), slots.offsets))
        if slots.n_queries * len(labels) > MOST_CELLS:
            raise DataError(
                f"ids must name fewer items: {self} keeps one number per query and item, here "
                f"{slots.n_queries} x {len(labels)}; leave ids out where nobody recurs"
            )
        table = slots.sum_by_group(excess, items[slots.order], len(labels))
        value = np.abs(table).sum(axis=1)
        return Values(value, np.where(np.isnan(value)[:, None], np.nan, table), labels)

    def summarize(
        self, values: Values, counts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Compare the attention and relevance that each item accumulates over the queries."""
        if values.groups is None:
            return super().summarize(values, counts)
        times = np.ones((1, len(values.value))) if counts is None else counts
        known = ~np.isnan(values.groups[:, 0])
        counted = ~np.isnan(values.value)
        filled = np.where(counted & ~known, values.value, 0.0)
        m = times @ counted.astype(np.float64)
        excess = times @ np.where(known[:, None], values.groups, 0.0)
        value = divide(np.abs(excess).sum(axis=1) + times @ filled, m)
        groups = divide(excess, m[:, None], np.broadcast_to(m[:, None] > 0, excess.shape))
        return (value[0], groups[0]) if counts is None else (value, groups)


def _shares(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the values scaled to sum to 1 in each query, NaN if the sum is 0."""
    values, _ = summable(values, offsets)
    return divide(values, np.repeat(segment_sum(values, offsets), np.diff(offsets)))


def _items(data: RankingData) -> tuple[np.ndarray | None, tuple[Any, ...]]:
    """Return a code for each id and the ids; None if no id recurs."""
    if data.ids is None:
        return None, ()
    number: dict[Any, int] = {}
    codes = np.array([number.setdefault(name, len(number)) for name in data.ids.tolist()])
    return (None, ()) if len(number) == len(codes) else (codes, tuple(number))
