"""Individual disparity: how much more attention per merit items of more merit draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import DISCOUNT, Metric, Values, score_arrays
from ...core.params import Constraint
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.division import divide
from ...kernels.segments import sort_within

__all__ = ["IndividualDisparity", "individual_disparity"]


@dataclass(frozen=True, repr=False, kw_only=True)
class IndividualDisparity(Metric):
    """How much more attention per merit items draw than items of no more merit: 0 is no excess.

    ``1/|H| sum_{(i, j) in H} max(0, e_i/M_i - e_j/M_j)`` over the ordered pairs of a query with
    ``M_i >= M_j > 0``, i and j different, where e is the exposure and M the merit (the relevance);
    two items of equal merit count in both orders, so any difference between them counts. Items
    without merit are left out. Tied items share their places; over the draws of a policy the
    expected exposures count: a metric of the expectation. Undefined where a query holds fewer than
    two items of merit. Without an upper bound: it grows as merits shrink. Pairs are never listed:
    O(n log n).

    Parameters
    ----------
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).

    References
    ----------
    Singh and Joachims, Policy learning for fairness in ranking, NeurIPS 2019.

    Examples
    --------
    >>> from equirank.metrics import IndividualDisparity
    >>> IndividualDisparity(discount="zipf")
    IndividualDisparity(discount="zipf")
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    of_expectation: ClassVar[bool] = True
    individual: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "it holds fewer than two items of merit"
    params: ClassVar[Mapping[str, Constraint]] = {"discount": DISCOUNT}

    discount: str | Sequence[float] = "log2"

    def values(self, slots: Slots) -> Values:
        """Give the value of each query."""
        from ...kernels.positive_parts import positive_parts  # numba only where it is needed

        exposure = slots.expect(discounts(int(slots.sizes.max()), self.discount, self.k))
        kept = np.flatnonzero(slots.y > 0)
        sizes = np.bincount(slots.query[kept], minlength=slots.n_queries)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        merit = slots.y[kept].astype(np.float64)
        ratio = exposure[kept] / merit
        rank = np.empty(len(kept), dtype=np.int64)
        places = np.arange(len(kept)) - np.repeat(offsets[:-1], sizes)
        rank[sort_within(-ratio, offsets)] = places
        by_merit = sort_within(-merit, offsets)
        total, pairs = positive_parts(ratio, rank, merit, by_merit, offsets)
        return Values(divide(total, pairs))


def individual_disparity(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    k: int | None = None,
    discount: str | Sequence[float] = "log2",
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute how much more exposure per merit items draw than items of no more merit.

    The formula and its reference stand with `IndividualDisparity`, the object this calls.

    Parameters
    ----------
    y_true : array-like
        The merit of each row, >= 0: its relevance, or any function of it.
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    k : int, optional
        Cutoff: places behind k draw no attention.
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).
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
    >>> from equirank.metrics import individual_disparity
    >>> round(individual_disparity([1, 1], [0.9, 0.5]), 4)  # (1 - 1/log2(3) + 0) / 2 pairs
    0.1845
    >>> individual_disparity([1, 1], [0.5, 0.5])
    0.0
    """
    metric = IndividualDisparity(k=k, discount=discount, undefined=undefined)
    return score_arrays(
        metric, y_true=y_true, y_score=y_score, qid=qid, ties=ties, per_query=per_query
    )
