"""DCG and NDCG: relevance gains discounted by position."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.metric import DISCOUNT, Metric, Values
from ...core.params import Choice, Constraint
from ...core.slots import Slots
from ...kernels.discounts import discounts, gain_shift, gains, ideal_exposure, unshifted
from ...kernels.segments import (
    divide,
    largest_within,
    segment_sum,
    sort_values_within,
    sort_within,
    tie_blocks,
)

__all__ = ["DCG", "NDCG"]


@dataclass(frozen=True, repr=False, kw_only=True)
class GainMetric(Metric):
    """Base of the metrics of discounted gain.

    Parameters
    ----------
    gain : {"exp2", "linear"}
        ``2**y - 1`` (as LightGBM) or ``y`` (as scikit-learn and trec_eval).
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the weights of positions 1, 2, ... (0 beyond its end).
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    additive: ClassVar[bool] = True
    params: ClassVar[Mapping[str, Constraint]] = {
        "gain": Choice("exp2", "linear"),
        "discount": DISCOUNT,
    }

    gain: Literal["exp2", "linear"] = "exp2"
    discount: str | Sequence[float] = "log2"


@dataclass(frozen=True, repr=False, kw_only=True)
class DCG(GainMetric):
    """DCG: the sum of relevance gains, each discounted by its position.

    ``DCG@k = sum_{j <= k} gain(y_j) / log2(1 + j)`` with the gain ``2**y - 1`` or ``y``. Tied items
    receive the mean discount of the positions they span. A list without relevant items has the
    value 0.

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.

    Examples
    --------
    >>> from equirank.metrics import DCG, dcg
    >>> DCG(gain="linear")@10
    DCG(gain="linear")@10
    >>> round(dcg([0, 3, 1], [0.9, 0.5, 0.1], k=2), 4)  # (2**0 - 1)/log2(2) + (2**3 - 1)/log2(3)
    4.4165
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        table = discounts(int(slots.sizes.max()), self.discount, self.k)
        shift = gain_shift(slots.y, self.gain, slots.query, slots.n_queries)
        head = slots.head(self.k)
        gain = gains(head.y, self.gain, None if shift is None else shift[head.query])
        return Values(unshifted(segment_sum(gain * head.expect(table), head.offsets), shift))

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Return each group's share of the sum (query x group)."""
        table = discounts(int(slots.sizes.max()), self.discount, self.k)
        shift = gain_shift(slots.y, self.gain, slots.query, slots.n_queries)
        gain = gains(slots.y, self.gain, None if shift is None else shift[slots.query])
        total = slots.sum_by_group(gain * slots.expect(table), codes, n_groups)
        present = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
        value = unshifted(total, None if shift is None else shift[:, None])
        return np.where(present > 0, value, np.nan)


@dataclass(frozen=True, repr=False, kw_only=True)
class NDCG(GainMetric):
    """NDCG: discounted cumulative gain divided by its maximum over all orders of the list.

    ``NDCG@k = DCG@k / max over orders of DCG@k``; 1 is best. Undefined if no item is relevant;
    other libraries count such a query as 0 (scikit-learn) or 1 (LightGBM). Tied items receive the
    mean discount of the positions they span.

    By group, it is the sum over lists of the discounted gain of the group's items, divided by the
    same sum in the ideal order of the whole list, where items of equal relevance share their
    positions evenly. The ideal order has the value 1 for every group; a group can exceed 1.

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.
    Burges et al., Learning to rank using gradient descent, ICML 2005 (exponential gain).

    Examples
    --------
    >>> from equirank.metrics import NDCG, ndcg
    >>> NDCG@10
    NDCG@10
    >>> round(ndcg([0, 1], [0.9, 0.5]), 4)  # (1/log2(3)) / (1/log2(2))
    0.6309
    >>> ndcg([0, 1, 0, 0], [0.9, 0.5, 0.2, 0.1], qid=[1, 1, 2, 2], per_query=True)
    array([0.63092975,        nan])
    """

    plain_name: ClassVar[str] = "ranking quality (NDCG)"
    why_undefined: ClassVar[str] = "no item is relevant"

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        table = discounts(int(slots.sizes.max()), self.discount, self.k)
        head = slots.head(self.k)
        shift = gain_shift(slots.y, self.gain, slots.query, slots.n_queries)
        gain, gain_of_head = (
            gains(part.y, self.gain, None if shift is None else shift[part.query])
            for part in (slots, head)
        )
        gained = segment_sum(gain_of_head * head.expect(table), head.offsets)
        best = _best(gain, slots.offsets, table, self.k)
        return Values(divide(gained, best))

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Return each group's gain divided by its gain in the ideal order (query x group)."""
        return divide(*self.split_sums(slots, codes, n_groups))

    def split_sums(
        self, slots: Slots, codes: np.ndarray, n_groups: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each group's gain in this order, and in the ideal order of the whole list."""
        made, ideal = (slots.sum_by_group(v, codes, n_groups) for v in self.item_gains(slots))
        return made, ideal

    def item_gains(self, slots: Slots) -> tuple[np.ndarray, np.ndarray]:
        """Return the discounted gain of each item in this order, and in the ideal one.

        Items of equal relevance share their positions of the ideal order evenly.
        """
        table = discounts(int(slots.sizes.max()), self.discount, self.k)
        gain = gains(slots.y, self.gain)
        return gain * slots.expect(table), gain * _ideal_discounts(gain, slots.offsets, table)


def _ideal_discounts(gain: np.ndarray, offsets: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return each item's discount in the ideal order; equal gains share their positions evenly."""
    if not (np.diff(table) > 0).any():
        return ideal_exposure(gain, offsets, table)
    order = sort_within(gain, offsets)
    index = np.arange(len(gain)) - np.repeat(offsets[:-1], np.diff(offsets))
    weight = sort_values_within(table[index], offsets)
    begin, end = tie_blocks(gain[order], offsets)
    if begin is not None and end is not None:
        first = np.unique(begin)
        weight = np.repeat(np.add.reduceat(weight, first), end[first] - first) / (end - begin)
    result = np.empty(len(gain))
    result[order] = weight
    return result


def _best(gain: np.ndarray, offsets: np.ndarray, table: np.ndarray, k: int | None) -> np.ndarray:
    """Return the largest sum of each list: largest gains at the largest discounts."""
    if (np.diff(table) > 0).any():
        index = np.arange(len(gain)) - np.repeat(offsets[:-1], np.diff(offsets))
        weight = sort_values_within(table[index], offsets)
        return segment_sum(sort_values_within(gain, offsets) * weight, offsets)
    if k is None:
        ranked, cuts = sort_values_within(gain, offsets), offsets
    else:
        ranked, cuts = largest_within(gain, offsets, k)
    index = np.arange(len(ranked)) - np.repeat(cuts[:-1], np.diff(cuts))
    return segment_sum(ranked * table[index], cuts)
