"""Average precision, ERR and reciprocal rank: exact expectations over tied orders."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.metric import Values
from ...core.slots import Slots
from ...kernels.discounts import MOST_GRADE, gains
from ...kernels.segments import divide, segment_sum
from ...kernels.ties import average_precision_terms, cascade, first_hit
from .binary_metric import BinaryMetric
from .graded_metric import GradedMetric

__all__ = ["ERR", "AveragePrecision", "ReciprocalRank"]


@dataclass(frozen=True, repr=False, kw_only=True)
class AveragePrecision(BinaryMetric):
    """Average precision: the mean precision at each relevant item; its mean over queries is MAP.

    ``AP@k = 1/|relevant| sum_{j <= k, j relevant} P@j``; the denominator counts all relevant items,
    also with a cutoff. Undefined without a relevant item. Ties: the exact expectation over the
    orders of the tied block.

    Examples
    --------
    >>> from equirank.metrics import AveragePrecision, average_precision
    >>> AveragePrecision@10
    AveragePrecision@10
    >>> round(average_precision([1, 0, 1], [0.9, 0.5, 0.1]), 4)  # (1/1 + 2/3) / 2
    0.8333
    """

    plain_name: ClassVar[str] = "average precision"
    why_undefined: ClassVar[str] = "no item is relevant"

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        wanted = segment_sum((slots.y >= self.threshold).astype(float), slots.offsets)
        head = slots.head(self.k)
        relevant = (head.y >= self.threshold).astype(np.int64)
        terms = average_precision_terms(relevant, head.start, head.lo, head.hi)
        if self.k is not None:
            terms = np.where(head.position <= self.k, terms, 0.0)
        total = segment_sum(terms, head.offsets)
        return Values(divide(total, wanted))


@dataclass(frozen=True, repr=False, kw_only=True)
class ERR(GradedMetric):
    """ERR: the expected reciprocal of the position at which a reader finds a satisfying item.

    ``ERR@k = sum_{j <= k} (1/j) R_j prod_{l < j} (1 - R_l)`` with ``R = (2**y - 1) /
    2**max_grade``. The largest grade is that of the data set, not of the query. Ties: the exact
    expectation over the orders of the tied block. A list without relevant items has the value 0.

    References
    ----------
    Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009.

    Examples
    --------
    >>> from equirank.metrics import ERR, err
    >>> ERR(max_grade=4)@10
    ERR(max_grade=4)@10
    >>> err([1, 0, 2], [0.9, 0.5, 0.1])  # R = 1/4, 0, 3/4: 1/4 + (1 - 1/4) * 3/4 / 3
    0.4375
    """

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        top = self.top(slots)
        head = slots.head(self.k)
        if top > MOST_GRADE:
            stop = gains(head.y, "exp2", np.asarray(top))
        else:
            stop = gains(head.y, "exp2") / 2.0**top
        value = cascade(stop, head.offsets, head.start, head.lo, head.hi, self.k)
        return Values(value)


@dataclass(frozen=True, repr=False, kw_only=True)
class ReciprocalRank(BinaryMetric):
    """Reciprocal rank: 1 divided by the position of the first relevant item.

    ``RR@k = 1 / position of the first relevant item``, 0 if none is in the top k. Ties: the exact
    expectation over the orders of the tied block.

    References
    ----------
    Voorhees, The TREC-8 question answering track report, 1999.

    Examples
    --------
    >>> from equirank.metrics import ReciprocalRank, reciprocal_rank
    >>> ReciprocalRank@10
    ReciprocalRank@10
    >>> reciprocal_rank([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    >>> reciprocal_rank([0, 1], [0.5, 0.5])  # (1/1 + 1/2) / 2
    0.75
    """

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        head = slots.head(self.k)
        relevant = (head.y >= self.threshold).astype(np.int64)
        return Values(
            first_hit(relevant, head.offsets, head.start, head.begin(), head.end(), self.k)
        )
