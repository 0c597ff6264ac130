"""Precision and recall in the top k."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.metric import Values
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.segments import divide, segment_sum
from .binary_metric import BinaryMetric

__all__ = ["Precision", "Recall"]


@dataclass(frozen=True, repr=False, kw_only=True)
class Precision(BinaryMetric):
    """Precision: the share of relevant items in the top k.

    ``P@k = |relevant in the top k| / k``, also if the list is shorter than k; without a cutoff, k
    is the number of items shown. Tied items count with their probability of being in the top k.
    Always defined: a list that shows no relevant item has the value 0.

    Examples
    --------
    >>> from equirank.metrics import Precision, precision
    >>> Precision@10
    Precision@10
    >>> precision([1, 0, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    >>> precision([1, 0, 1], [0.9, 0.5, 0.5], k=2)  # two items share position 2
    0.75
    """

    plain_name: ClassVar[str] = "share of relevant people (precision)"
    additive: ClassVar[bool] = True

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        head = slots.head(self.k)
        inside = head.expect(discounts(int(slots.sizes.max()), "flat", self.k))
        hits = segment_sum(inside * (head.y >= self.threshold), head.offsets)
        return Values(hits / self._divisor(slots))

    def _divisor(self, slots: Slots) -> np.ndarray:
        """Return the cutoff, or the number of items that each query shows (at least 1)."""
        if self.k is not None:
            return np.full(slots.n_queries, self.k)
        return np.maximum(slots.sizes if slots.shown is None else slots.shown, 1)

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the precision from each group's relevant items; the parts sum to the whole."""
        table = discounts(int(slots.sizes.max()), "flat", self.k)
        hit = slots.expect(table) * (slots.y >= self.threshold)
        value = slots.sum_by_group(hit, codes, n_groups) / self._divisor(slots)[:, None]
        present = slots.sum_by_group(np.ones(len(hit)), codes, n_groups)
        return np.where(present > 0, value, np.nan)


@dataclass(frozen=True, repr=False, kw_only=True)
class Recall(BinaryMetric):
    """Recall: the share of the relevant items that are in the top k.

    ``R@k = |relevant in the top k| / |relevant|``. Undefined without a relevant item. Tied items
    count with their probability of being in the top k. By group, it is the recall of the group's
    own relevant items (equal opportunity at k).

    Examples
    --------
    >>> from equirank.metrics import Recall, recall
    >>> Recall(threshold=2)@10
    Recall(threshold=2)@10
    >>> recall([1, 0, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """

    additive: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "no item is relevant"

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        head = slots.head(self.k)
        inside = head.expect(discounts(int(slots.sizes.max()), "flat", self.k))
        hits = segment_sum(inside * (head.y >= self.threshold), head.offsets)
        wanted = segment_sum((slots.y >= self.threshold).astype(float), slots.offsets)
        return Values(divide(hits, wanted))

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the recall of each group's own relevant items."""
        relevant = (slots.y >= self.threshold).astype(float)
        hit = slots.expect(discounts(int(slots.sizes.max()), "flat", self.k)) * relevant
        wanted = slots.sum_by_group(relevant, codes, n_groups)
        hits = slots.sum_by_group(hit, codes, n_groups)
        return divide(hits, wanted)
