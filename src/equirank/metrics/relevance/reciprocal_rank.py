"""RR: one over the place of the first relevant item."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Metric, Values, score_arrays
from ...core.params import Constraint, Number
from ...core.slots import Slots
from ...kernels.ties import first_hit

__all__ = ["ReciprocalRank", "reciprocal_rank"]


@dataclass(frozen=True, repr=False, kw_only=True)
class ReciprocalRank(Metric):
    """How soon the first relevant item comes: 1 at the top, 1/2 in second place, and so on.

    ``RR@k = 1 / position of the first relevant item``, 0 where there is none among the first k.
    Ties: the exact expectation over the orders of the tied block.

    Parameters
    ----------
    threshold : float
        An item is relevant where ``y >= threshold``.

    References
    ----------
    Voorhees, The TREC-8 question answering track report, 1999.

    Examples
    --------
    >>> from equirank.metrics import ReciprocalRank
    >>> ReciprocalRank@10
    ReciprocalRank@10
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    params: ClassVar[Mapping[str, Constraint]] = {"threshold": Number(low=0.0, open_low=True)}

    threshold: float = 1.0

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        head = slots.head(self.k)
        relevant = (head.y >= self.threshold).astype(np.int64)
        return Values(
            first_hit(relevant, head.offsets, head.start, head.begin(), head.end(), self.k)
        )


def reciprocal_rank(
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
    """Compute the reciprocal rank of the first relevant item.

    The formula and its reference stand with `ReciprocalRank`, the object this calls.

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
    >>> from equirank.metrics import reciprocal_rank
    >>> reciprocal_rank([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    >>> reciprocal_rank([0, 1], [0.5, 0.5])  # (1/1 + 1/2) / 2
    0.75
    """
    metric = ReciprocalRank(k=k, threshold=threshold, undefined=undefined)
    return score_arrays(
        metric, y_true=y_true, y_score=y_score, qid=qid, ties=ties, per_query=per_query
    )
