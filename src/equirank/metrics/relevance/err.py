"""ERR: how soon a reader who stops when satisfied will stop."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError, logger
from ...core.metric import Metric, Values, score_arrays
from ...core.params import Constraint, Number, Optional
from ...core.slots import Slots
from ...kernels.ties import cascade

__all__ = ["ERR", "err"]


@dataclass(frozen=True, repr=False, kw_only=True)
class ERR(Metric):
    """How soon a reader stops who goes down the list and leaves once satisfied.

    ``ERR@k = sum_{j <= k} (1/j) R_j prod_{l < j} (1 - R_l)`` with ``R = (2**y - 1) /
    2**max_grade``. The largest grade is that of the data set, not of the query. Ties: the exact
    expectation over the orders of the tied block. A list without relevant items scores 0.

    Parameters
    ----------
    max_grade : float, optional
        The largest grade there can be; taken from the data where it is not given (logged).

    References
    ----------
    Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009.

    Examples
    --------
    >>> from equirank.metrics import ERR
    >>> ERR(max_grade=4)@10
    ERR(max_grade=4)@10
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    params: ClassVar[Mapping[str, Constraint]] = {
        "max_grade": Optional(Number(low=0.0, open_low=True))
    }

    max_grade: float | None = None

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        top = slots.data.max_grade if self.max_grade is None else self.max_grade
        head = slots.head(self.k)
        stop = (np.exp2(head.y, dtype=np.float64) - 1.0) / 2.0**top
        value = cascade(stop, head.offsets, head.start, head.lo, head.hi, self.k)
        return Values(value)

    def check(self, data: RankingData) -> None:
        """Raise where a grade exceeds ``max_grade``; note where it was taken from the data."""
        super().check(data)
        if self.max_grade is None:
            logger.info("%s takes its largest grade from the data: %g", self, data.max_grade)
        elif data.y is not None and (data.y > self.max_grade).any():
            at = int(np.flatnonzero(data.y > self.max_grade)[0])
            _, row = data.place(at)
            raise DataError(
                f"max_grade of {self} must be at least the largest relevance, "
                f"got {self.max_grade:g} and a relevance of {data.y[at]:g} in row {row}"
            )


def err(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    k: int | None = None,
    max_grade: float | None = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute expected reciprocal rank.

    The formula and its reference stand with `ERR`, the object this calls.

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
    max_grade : float, optional
        The largest grade there can be; taken from all of ``y_true`` where it is not given.
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
    >>> from equirank.metrics import err
    >>> err([1, 0, 2], [0.9, 0.5, 0.1])  # R = 1/4, 0, 3/4: 1/4 + (1 - 1/4) * 3/4 / 3
    0.4375
    """
    metric = ERR(k=k, max_grade=max_grade, undefined=undefined)
    return score_arrays(
        metric, y_true=y_true, y_score=y_score, qid=qid, ties=ties, per_query=per_query
    )
