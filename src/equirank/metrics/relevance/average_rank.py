"""Average rank: where the relevant items stand on average."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Metric, Values, score_arrays
from ...core.params import Choice, Constraint, Number
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.segments import segment_sum

__all__ = ["AverageRank", "average_rank"]


@dataclass(frozen=True, repr=False, kw_only=True)
class AverageRank(Metric):
    """Where the relevant items stand on average: 1 is the top.

    ``sum_i w_i pos(i) / sum_i w_i`` over the relevant items, w their relevance or 1. Tied items
    stand at the middle of their block; items not shown share the places behind those shown.
    Undefined without a relevant item.

    Parameters
    ----------
    threshold : float
        An item is relevant where ``y >= threshold``.
    weights : {"relevance", "none"}
        Weigh the relevant items by their relevance, or all the same.

    References
    ----------
    Singh and Joachims, Policy learning for fairness in ranking, NeurIPS 2019.

    Examples
    --------
    >>> from equirank.metrics import AverageRank
    >>> AverageRank(weights="none")
    AverageRank(weights="none")
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
        """Give the value of each query."""
        weight, place = self._parts(slots)
        total = segment_sum(weight, slots.offsets)
        value = segment_sum(weight * place, slots.offsets)
        return Values(divide(value, total))

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Give the average rank of each group's own relevant items."""
        weight, place = self._parts(slots)
        total = slots.sum_by_group(weight, codes, n_groups)
        value = slots.sum_by_group(weight * place, codes, n_groups)
        return divide(value, total)

    def _parts(self, slots: Slots) -> tuple[np.ndarray, np.ndarray]:
        """Give each slot's weight and expected position; rows not shown share the last ones."""
        relevant = slots.y >= self.threshold
        weight = slots.y * relevant if self.weights == "relevance" else relevant.astype(float)
        return weight, (slots.begin() + slots.end() + 1) / 2.0 - slots.start


def average_rank(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    threshold: float = 1.0,
    weights: Literal["relevance", "none"] = "relevance",
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the average rank of the relevant items.

    The formula and its reference stand with `AverageRank`, the object this calls.

    Parameters
    ----------
    y_true : array-like
        Relevance, >= 0.
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    threshold : float
        An item is relevant where ``y >= threshold``.
    weights : {"relevance", "none"}
        Weigh the relevant items by their relevance, or all the same.
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
    >>> from equirank.metrics import average_rank
    >>> average_rank([1, 0, 3], [0.9, 0.5, 0.1])  # (1 * 1 + 3 * 3) / (1 + 3)
    2.5
    """
    metric = AverageRank(threshold=threshold, weights=weights, undefined=undefined)
    return score_arrays(
        metric, y_true=y_true, y_score=y_score, qid=qid, ties=ties, per_query=per_query
    )
