"""AUC and average rank: where the relevant items of a list are ranked."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.metric import Metric, Values
from ...core.params import Choice, Constraint, Number
from ...core.slots import Slots
from ...kernels.segments import divide, segment_sum, summable
from .binary_metric import BinaryMetric

__all__ = ["AUC", "AverageRank"]


@dataclass(frozen=True, repr=False, kw_only=True)
class AUC(BinaryMetric):
    """AUC: the share of pairs with the relevant item above the irrelevant one; 1/2 is chance.

    ``P(score of a relevant item > score of an irrelevant item) + P(equal)/2`` over the pairs of a
    query; ``1 - AUC`` is the bipartite misranking error. Items that are not shown are tied below
    those shown. Undefined if all items are relevant or none is, hence also for a single item.

    References
    ----------
    Hanley and McNeil, The meaning and use of the area under a ROC curve, Radiology 1982.

    Examples
    --------
    >>> from equirank.metrics import AUC, auc
    >>> AUC(threshold=2)
    AUC(threshold=2)
    >>> auc([1, 0, 1, 0], [0.9, 0.5, 0.3, 0.3])  # (2 + 1/2) of 4 pairs
    0.625
    """

    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "all items are relevant, or none is"

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        relevant = slots.y >= self.threshold
        negatives = np.concatenate([[0], np.cumsum(~relevant)])
        begin, end = slots.begin(), slots.end()
        last = slots.start + np.repeat(slots.sizes, slots.sizes)
        tied = negatives[end] - negatives[begin]
        below = negatives[last] - negatives[end]
        won = segment_sum((below + tied / 2.0) * relevant, slots.offsets)
        positive = segment_sum(relevant.astype(float), slots.offsets)
        pairs = positive * (slots.sizes - positive)
        return Values(divide(won, pairs))


@dataclass(frozen=True, repr=False, kw_only=True)
class AverageRank(Metric):
    """Average rank: the mean position of the relevant items; 1 is the top.

    ``sum_i w_i pos(i) / sum_i w_i`` over the relevant items, with w their relevance or 1. Tied
    items have the mean position of their block; items that are not shown share the positions below
    those shown. Undefined without a relevant item.

    Parameters
    ----------
    threshold : float
        An item is relevant if ``y >= threshold``.
    weights : {"relevance", "none"}
        Weight the relevant items by their relevance, or equally.

    References
    ----------
    Singh and Joachims, NeurIPS 2019, as in `GroupDisparity`.

    Examples
    --------
    >>> from equirank.metrics import AverageRank, average_rank
    >>> AverageRank(weights="none")
    AverageRank(weights="none")
    >>> average_rank([1, 0, 3], [0.9, 0.5, 0.1])  # (1 * 1 + 3 * 3) / (1 + 3)
    2.5
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    bounds: ClassVar[tuple[float, float]] = (1.0, math.inf)
    additive: ClassVar[bool] = True
    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "no item is relevant"
    params: ClassVar[Mapping[str, Constraint]] = {
        "threshold": Number(low=0.0, open_low=True),
        "weights": Choice("relevance", "none"),
    }

    threshold: float = 1.0
    weights: Literal["relevance", "none"] = "relevance"

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        weight, position = self._parts(slots)
        total = segment_sum(weight, slots.offsets)
        value = segment_sum(weight * position, slots.offsets)
        return Values(divide(value, total))

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the average rank of each group's own relevant items."""
        weight, position = self._parts(slots)
        total = slots.sum_by_group(weight, codes, n_groups)
        value = slots.sum_by_group(weight * position, codes, n_groups)
        return divide(value, total)

    def _parts(self, slots: Slots) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight and expected position of each slot; rows not shown share the last."""
        relevant = slots.y >= self.threshold
        weight = relevant.astype(float)
        if self.weights == "relevance":
            weight *= summable(slots.y, slots.offsets)[0]
        return weight, (slots.begin() + slots.end() + 1) / 2.0 - slots.start
