"""Individual amortised attention: whether people get what they deserve in the long run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.metric import Metric, Values, score_arrays
from ...core.params import Constraint, Number
from ...core.slots import Slots
from ...kernels.browsing import browsing
from ...kernels.division import divide
from ...kernels.segments import segment_sum
from .ranking_sequence import BROWSING, joined_rankings

__all__ = ["IndividualAmortisedAttention", "individual_amortised_attention"]

#: The most cells of the table of rankings and items that is kept.
MOST_CELLS = 1 << 27


@dataclass(frozen=True, repr=False, kw_only=True)
class IndividualAmortisedAttention(Metric):
    """How far each one's share of attention over many rankings lies from that of relevance.

    ``1/m sum_i |A_i - R_i|`` with ``A_i = sum_j a_ij`` and ``R_i = sum_j r_ij`` accumulated over m
    rankings, attention and relevance scaled to sum 1 in each ranking: 0 where everyone has, in the
    end, the share deserved, 2 at most. (The paper does not divide by m.) The rankings are the draws
    of a policy, with their weights, and the queries: rows of several queries are one item where
    they have the same ``ids``, so over several queries this is not a mean of their values but at
    most that; without ``ids`` every row is an item of its own. The value of a query is that of its
    rankings alone. Beside it stands, where ids recur, each item's ``(A_i - R_i)/m``: who is seen
    too much. Tied items share their places. Undefined where a query has no relevance or shows
    nothing; such a query adds nothing to anyone.

    Parameters
    ----------
    discount : {"log2", "zipf", "rbp"} or sequence
        The attention place j draws before scaling: ``1/log2(1 + j)``, ``1/j``,
        ``patience**(j - 1)`` as in the paper, or that of places 1, 2, ... (0 behind its end;
        ``(1,)`` is the paper's singular attention).
    patience : float
        For ``"rbp"``: how likely a user is to go on to the next place.

    References
    ----------
    Biega, Gummadi and Weikum, Equity of attention: amortizing individual fairness in rankings,
    SIGIR 2018.

    Examples
    --------
    >>> from equirank.metrics import IndividualAmortisedAttention
    >>> IndividualAmortisedAttention(discount="rbp")@10
    IndividualAmortisedAttention(discount="rbp")@10
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)
    of_expectation: ClassVar[bool] = True
    individual: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "no item is relevant, or none draws attention"
    params: ClassVar[Mapping[str, Constraint]] = {
        "discount": BROWSING,
        "patience": Number(0.0, 1.0),
    }

    discount: str | Sequence[float] = "log2"
    patience: float = 0.5

    def values(self, slots: Slots) -> Values:
        """Give the value of each query, and each item's part in it where items recur."""
        weights = browsing(int(slots.sizes.max()), self.discount, self.patience, self.k)
        excess = _shares(slots.expect(weights), slots) - _shares(slots.y, slots)
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
        """Accumulate each item's attention and relevance over the queries, then compare."""
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


def _shares(values: np.ndarray, slots: Slots) -> np.ndarray:
    """Scale to sum 1 in each query, NaN where the sum is 0."""
    return divide(values, np.repeat(segment_sum(values, slots.offsets), slots.sizes))


def _items(data: RankingData) -> tuple[np.ndarray | None, tuple[Any, ...]]:
    """Number the items by their ids; None where nobody recurs."""
    if data.ids is None:
        return None, ()
    number: dict[Any, int] = {}
    codes = np.array([number.setdefault(name, len(number)) for name in data.ids.tolist()])
    return (None, ()) if len(number) == len(codes) else (codes, tuple(number))


def individual_amortised_attention(
    y_true: Any,
    rankings: Any,
    *,
    qid: Any = None,
    ids: Any = None,
    k: int | None = None,
    discount: str | Sequence[float] = "log2",
    patience: float = 0.5,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute how far shares of attention accumulated over rankings lie from those of relevance.

    The formula and its reference stand with `IndividualAmortisedAttention`, the object this calls.

    Parameters
    ----------
    y_true : array-like or None
        Relevance, >= 0; one row per ranking where it differs from ranking to ranking; None takes
        that of the rankings' data.
    rankings : Ranking, sequence of Ranking, array-like or sequence of array-like
        A `Ranking` with its draws, a sequence of rankings of the same rows, or scores (higher is
        ranked earlier) once or several times.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list. For scores only.
    ids : array-like, optional
        Who each row is, to match people between queries; for scores only (a `Ranking` has its own).
    k : int, optional
        Cutoff: places behind k draw no attention.
    discount : {"log2", "zipf", "rbp"} or sequence
        The attention place j draws before scaling: ``1/log2(1 + j)``, ``1/j``,
        ``patience**(j - 1)``, or that of places 1, 2, ... (0 behind its end).
    patience : float
        For ``"rbp"``: how likely a user is to go on to the next place.
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of id to attention minus relevance; empty where no id recurs.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import individual_amortised_attention
    >>> first = [2, 1]  # all attention to the first place: shares 1 and 0, deserved 1/2 and 1/2
    >>> individual_amortised_attention([1, 1], first, discount=[1])
    1.0
    >>> individual_amortised_attention([1, 1], [first, [1, 2]], discount=[1])
    0.0
    """
    metric = IndividualAmortisedAttention(
        k=k, discount=discount, patience=patience, undefined=undefined
    )
    sequence = joined_rankings(y_true, rankings, pooled=True, qid=qid, ids=ids, ties=ties)
    return score_arrays(metric, y_score=sequence, per_query=per_query, return_groups=return_groups)
