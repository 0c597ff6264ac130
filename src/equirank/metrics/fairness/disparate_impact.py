"""Disparate impact: how the clicks a group earns per merit compare with everyone else's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import score_arrays
from ...core.slots import Slots
from ...kernels.division import divide
from .merit_metric import MeritMetric, Shares

__all__ = ["DisparateImpact", "disparate_impact"]


@dataclass(frozen=True, repr=False, kw_only=True)
class DisparateImpact(MeritMetric):
    """How many clicks a group earns per merit, against those of everyone else: 1 is equal.

    ``(impact(G) / merit(G)) / (impact(rest) / merit(rest))``, means over the items, where the
    impact of an item is its exposure times its relevance: an item is clicked when it is seen and
    relevant. For the protected group this is the ratio as published and may exceed 1; without
    ``protected`` the smallest of all groups counts, which is at most 1. The impact per merit of
    each group stands beside it. Tied items share their places; over the draws of a policy the
    expected exposures count: a metric of the expectation. Undefined where a query holds one group
    only, where a merit is 0, and where the rest has no impact.

    Parameters
    ----------
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018.

    Examples
    --------
    >>> from equirank.metrics import DisparateImpact
    >>> DisparateImpact(by="sex", protected="f")
    DisparateImpact(by="sex", protected="f")
    """

    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    why_undefined: ClassVar[str] = (
        "it holds one group only, a group's merit is 0, or the rest has no impact"
    )

    def drawn(self, slots: Slots, exposure: np.ndarray) -> np.ndarray:
        """Give the clicks each slot expects."""
        return exposure * slots.y

    def compare(self, group: Shares, rest: Shares) -> np.ndarray:
        """Divide what a group earns per merit by what the rest does."""
        return divide(group.per_merit(), rest.per_merit())


def disparate_impact(
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
    """Compute the ratio of a group's exposure times relevance per merit to that of the rest.

    The formula and its reference stand with `DisparateImpact`, the object this calls.

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
        The group to compare with the rest; without it the smallest ratio of all groups counts.
    k : int, optional
        Cutoff: places behind k draw no attention.
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its impact per merit, which shows who is favoured.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import disparate_impact
    >>> round(disparate_impact([2, 1], [0.9, 0.5], ["m", "f"]), 4)  # (1/log2(3)) / (2/2)
    0.6309
    >>> value = disparate_impact([2, 1, 1], [3, 2, 1], ["m", "m", "f"], protected="f")
    >>> round(value, 4)  # (1/log2(4)) / ((2/log2(2) + 1/log2(3)) / 3)
    0.5701
    """
    metric = DisparateImpact(k=k, discount=discount, protected=protected, undefined=undefined)
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
