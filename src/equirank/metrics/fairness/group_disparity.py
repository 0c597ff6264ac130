"""Group disparity: how much more attention per merit the group of more merit draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import score_arrays
from .merit_metric import MeritMetric, Shares

__all__ = ["GroupDisparity", "group_disparity"]


@dataclass(frozen=True, repr=False, kw_only=True)
class GroupDisparity(MeritMetric):
    """How much more attention per merit the group of more merit draws: 0 is no excess.

    ``max(0, exposure(G)/merit(G) - exposure(H)/merit(H))``, means per group, where G is the one of
    more merit among a group and everyone else; only an excess of the stronger side counts. Where
    the merits are equal (to 1e-12) either may be first, so the larger of both orders counts, the
    size of the difference. For the protected group against the rest, else the largest over all
    groups; the exposure per merit of each group stands beside it. Tied items share their places;
    over the draws of a policy the expected exposures count: a metric of the expectation. Undefined
    where a query holds one group only and where a merit is 0. Without an upper bound: it grows as
    merits shrink.

    Parameters
    ----------
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).

    References
    ----------
    Singh and Joachims, Policy learning for fairness in ranking, NeurIPS 2019.

    Examples
    --------
    >>> from equirank.metrics import GroupDisparity
    >>> GroupDisparity(by="sex", protected="f")
    GroupDisparity(by="sex", protected="f")
    """

    why_undefined: ClassVar[str] = "it holds one group only, or a group's merit is 0"

    def compare(self, group: Shares, rest: Shares) -> np.ndarray:
        """Give the excess of the side with more merit."""
        excess = group.per_merit() - rest.per_merit()
        merit, other = group.mean_merit(), rest.mean_merit()
        equal = np.abs(merit - other) <= 1e-12 * merit
        first = np.where(merit > other, excess, -excess)
        return np.where(equal, np.abs(excess), np.maximum(first, 0.0))


def group_disparity(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    k: int | None = None,
    discount: str | Sequence[float] = "log2",
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute how much more exposure per merit the group of more merit draws.

    The formula and its reference stand with `GroupDisparity`, the object this calls.

    Parameters
    ----------
    y_true : array-like
        The merit of each row, >= 0: its relevance, or any function of it.
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to compare with the rest; without it the largest excess of all groups counts.
    k : int, optional
        Cutoff: places behind k draw no attention.
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its exposure per merit, which shows who is favoured.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import group_disparity
    >>> round(group_disparity([1.0, 0.5], [0.9, 0.5], ["m", "f"]), 4)  # 1/1 - (1/log2(3))/0.5 < 0
    0.0
    >>> round(group_disparity([1.0, 0.8], [0.9, 0.5], ["m", "f"]), 4)  # 1/1 - (1/log2(3))/0.8
    0.2113
    """
    metric = GroupDisparity(k=k, discount=discount, protected=protected, undefined=undefined)
    return score_arrays(
        metric,
        y_true=y_true,
        y_score=y_score,
        sensitive_features=sensitive_features,
        qid=qid,
        ties=ties,
        per_query=per_query,
        return_groups=return_groups,
    )
