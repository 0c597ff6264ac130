"""DCG: relevance gained, discounted by how far down it stands."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import DISCOUNT, Metric, Values, score_arrays
from ...core.params import Choice, Constraint
from ...core.slots import Slots
from ...kernels.discounts import discounts, gains
from ...kernels.segments import segment_sum

__all__ = ["DCG", "dcg"]


@dataclass(frozen=True, repr=False, kw_only=True)
class DCG(Metric):
    """How much relevance a reader meets near the top of the list.

    ``DCG@k = sum_{j <= k} gain(y_j) / log2(1 + j)`` with the gain ``2**y - 1`` or ``y``.
    Tied items share the mean discount of their places; a list without relevant items scores 0.

    Parameters
    ----------
    gain : {"exp2", "linear"}
        ``2**y - 1`` or ``y``.
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the weights of places 1, 2, ... (0 behind its end).

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.

    Examples
    --------
    >>> from equirank.metrics import DCG
    >>> DCG(gain="linear")@10
    DCG(gain="linear")@10
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    additive: ClassVar[bool] = True
    params: ClassVar[Mapping[str, Constraint]] = {
        "gain": Choice("exp2", "linear"),
        "discount": DISCOUNT,
    }

    gain: Literal["exp2", "linear"] = "exp2"
    discount: str | Sequence[float] = "log2"

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        return Values(segment_sum(*_weighted(self, slots)))

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Give each group's share of the sum (query x group)."""
        value = gains(slots.y, self.gain) * slots.expect(_table(self, slots))
        present = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
        return np.where(present > 0, slots.sum_by_group(value, codes, n_groups), np.nan)


def _table(metric: "DCG", slots: Slots) -> np.ndarray:
    return discounts(int(slots.sizes.max()), metric.discount, metric.k)


def _weighted(metric: "DCG", slots: Slots) -> tuple[np.ndarray, np.ndarray]:
    """Give gain times expected discount of the slots that count, and where each query begins."""
    table = _table(metric, slots)
    head = slots.head(metric.k)
    return gains(head.y, metric.gain) * head.expect(table), head.offsets


def dcg(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    k: int | None = None,
    gain: Literal["exp2", "linear"] = "exp2",
    discount: str | Sequence[float] = "log2",
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute discounted cumulative gain.

    The formula and its reference stand with `DCG`, the object this calls.

    Parameters
    ----------
    y_true : array-like
        Relevance, >= 0.
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    k : int, optional
        Cutoff: only the first k places count.
    gain : {"exp2", "linear"}
        ``2**y - 1`` or ``y``.
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the weights of places 1, 2, ... (0 behind its end).
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from equirank.metrics import dcg
    >>> round(dcg([0, 3, 1], [0.9, 0.5, 0.1], k=2), 4)  # (2**0 - 1)/log2(2) + (2**3 - 1)/log2(3)
    4.4165
    """
    metric = DCG(k=k, gain=gain, discount=discount, undefined=undefined)
    return score_arrays(
        metric, y_true=y_true, y_score=y_score, qid=qid, ties=ties, per_query=per_query
    )
