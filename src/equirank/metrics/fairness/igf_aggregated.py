"""IGF-aggregated: how much of a group's merit above each accepted item is accepted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...core.metric import score_arrays
from ...kernels.segments import sort_within, tie_blocks
from .igf_ratio import IGFMetric, refuse_merit

__all__ = ["IGFAggregated", "igf_aggregated"]


@dataclass(frozen=True, repr=False, kw_only=True)
class IGFAggregated(IGFMetric):
    """How much of the merit at or above each accepted item of a group is accepted: 1 is best.

    The first k places are accepted (all that are shown without a cutoff). ``IGF-aggregated of G =
    min over accepted i in G of (sum of accepted merits in G at or above that of i) / (sum of all
    merits in G at or above that of i)``; without a value where nobody of the group is accepted. The
    merit is the relevance, which must be above 0. The protected group's value, else the lowest of
    all groups, whose values stand beside it.

    An item tied at the border is accepted in part, by its chance: sums are expected sums, and i
    runs over all that may be accepted; this is not the mean over the orders of tied items. Over
    draws: the expected metric. Undefined where nobody is accepted, or a merit of the query is 0
    (the function refuses it).

    References
    ----------
    Yang, Gkatzelis and Stoyanovich, Balanced ranking with diversity constraints, IJCAI 2019.

    Examples
    --------
    >>> from equirank.metrics import IGFAggregated
    >>> IGFAggregated(by="sex")@10
    IGFAggregated(by="sex")@10
    """

    def inside(
        self, offsets: np.ndarray, chance: np.ndarray, merit: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Add up merits from the highest down, and take the lowest ratio of accepted to all."""
        order = sort_within(merit, offsets)
        _, end = tie_blocks(merit[order], offsets)
        last = np.arange(len(order)) if end is None else end - 1
        merit, chance = merit[order], chance[order]

        def lowest(member: np.ndarray) -> np.ndarray:
            own = member[order]
            worth = np.where(own, merit, 0.0)
            taken, whole = _running(worth * chance, offsets), _running(worth, offsets)
            ratio = np.full(len(own), np.inf)
            np.divide(taken[last], whole[last], out=ratio, where=own & (chance > 0) & (merit > 0))
            least = np.minimum.reduceat(ratio, offsets[:-1])
            return np.where(np.isinf(least), np.nan, np.minimum(1.0, least))

        return lowest


def _running(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Add up along each query."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[1:] - np.repeat(total[offsets[:-1]], np.diff(offsets))


def igf_aggregated(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    k: int | None = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the least share of merit accepted at or above an accepted item of a group.

    The formula and its reference stand with `IGFAggregated`, the object this calls.

    Parameters
    ----------
    y_true : array-like
        The merit of each row, > 0.
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to look at; without it the lowest of all groups counts.
    k : int, optional
        Cutoff: the first k places are accepted.
    ties : {"average", "stable"}
        Equal scores share their places (each is accepted in part), or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its value.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import igf_aggregated
    >>> value = igf_aggregated([9, 6, 8, 5], [4, 3, 2, 1], list("abbb"), k=2)
    >>> round(value, 4)  # 6 / (8 + 6)
    0.4286
    """
    metric = IGFAggregated(k=k, protected=protected, undefined=undefined)
    return score_arrays(
        metric,
        y_true=refuse_merit(y_true),
        y_score=y_score,
        sensitive_features=sensitive_features,
        qid=qid,
        ties=ties,
        per_query=per_query,
        return_groups=return_groups,
    )
