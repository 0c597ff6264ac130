"""AUC: how often a relevant item stands above an irrelevant one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Metric, Values, score_arrays
from ...core.params import Constraint, Number
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.segments import segment_sum

__all__ = ["AUC", "auc"]


@dataclass(frozen=True, repr=False, kw_only=True)
class AUC(Metric):
    """How often a relevant item stands above an irrelevant one: 1/2 is chance.

    ``P(score of a relevant > score of an irrelevant) + P(equal)/2`` over the pairs of a query;
    ``1 - AUC`` is the bipartite misranking error. Items not shown stand together behind those
    shown. Undefined where all items are relevant or none is, so also for a single item.

    Parameters
    ----------
    threshold : float
        An item is relevant where ``y >= threshold``.

    References
    ----------
    Hanley and McNeil, The meaning and use of the area under a ROC curve, Radiology 1982.

    Examples
    --------
    >>> from equirank.metrics import AUC
    >>> AUC(threshold=2)
    AUC(threshold=2)
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "all items are relevant, or none is"
    params: ClassVar[Mapping[str, Constraint]] = {"threshold": Number(low=0.0, open_low=True)}

    threshold: float = 1.0

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
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


def auc(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    threshold: float = 1.0,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the area under the ROC curve of each query.

    The formula and its reference stand with `AUC`, the object this calls.

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
    >>> from equirank.metrics import auc
    >>> auc([1, 0, 1, 0], [0.9, 0.5, 0.3, 0.3])  # (2 + 1/2) of 4 pairs
    0.625
    """
    metric = AUC(threshold=threshold, undefined=undefined)
    return score_arrays(
        metric, y_true=y_true, y_score=y_score, qid=qid, ties=ties, per_query=per_query
    )
