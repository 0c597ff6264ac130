"""AP: precision at each relevant item, averaged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Metric, Values, score_arrays
from ...core.params import Constraint, Number
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.segments import segment_sum
from ...kernels.ties import average_precision_terms

__all__ = ["AveragePrecision", "average_precision"]


@dataclass(frozen=True, repr=False, kw_only=True)
class AveragePrecision(Metric):
    """How pure the list is above each relevant item; its mean over queries is MAP.

    ``AP@k = 1/|relevant| sum_{j <= k, j relevant} P@j``; the denominator is all relevant items also
    under a cutoff. Undefined without a relevant item. Ties: the exact expectation over the orders
    of the tied block.

    Parameters
    ----------
    threshold : float
        An item is relevant where ``y >= threshold``.

    References
    ----------
    Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, chapter 8.

    Examples
    --------
    >>> from equirank.metrics import AveragePrecision
    >>> AveragePrecision@10
    AveragePrecision@10
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    why_undefined: ClassVar[str] = "no item is relevant"
    params: ClassVar[Mapping[str, Constraint]] = {"threshold": Number(low=0.0, open_low=True)}

    threshold: float = 1.0

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        wanted = segment_sum((slots.y >= self.threshold).astype(float), slots.offsets)
        head = slots.head(self.k)
        relevant = (head.y >= self.threshold).astype(np.int64)
        terms = average_precision_terms(relevant, head.start, head.lo, head.hi)
        if self.k is not None:
            terms = np.where(head.position <= self.k, terms, 0.0)
        total = segment_sum(terms, head.offsets)
        return Values(divide(total, wanted))


def average_precision(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    k: int | None = None,
    threshold: float = 1.0,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute average precision; the mean over queries is MAP.

    The formula and its reference stand with `AveragePrecision`, the object this calls.

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
    >>> from equirank.metrics import average_precision
    >>> round(average_precision([1, 0, 1], [0.9, 0.5, 0.1]), 4)  # (1/1 + 2/3) / 2
    0.8333
    """
    metric = AveragePrecision(k=k, threshold=threshold, undefined=undefined)
    return score_arrays(
        metric, y_true=y_true, y_score=y_score, qid=qid, ties=ties, per_query=per_query
    )
