"""Rank parity error: how often a group's items stand above those of others."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import GroupMetric, score_arrays
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.segments import segment_sum

__all__ = ["RankParityError", "rank_parity_error"]


@dataclass(frozen=True, repr=False, kw_only=True)
class RankParityError(GroupMetric):
    """How often a group's items stand above those of others: 1/2 is parity.

    Over the pairs of an item of the group and one of any other group, the share in which the
    group's item stands above; a tied pair counts half. With ``protected`` the value lies in [0, 1]
    and under 1/2 the group stands below the others. Without it the largest of all groups counts,
    which is at least 1/2, and 1/2 only at parity; so lower is more equal. Items not shown stand
    tied behind those shown. Undefined where a query holds one group only. Ties are half pairs
    before the largest is taken; over draws: the expected metric.

    References
    ----------
    Kuhlman, VanValkenburg and Rundensteiner, FARE: Diagnostics for fair ranking using pairwise
    error metrics, WWW 2019.

    Examples
    --------
    >>> from equirank.metrics import RankParityError
    >>> RankParityError(protected="f")
    RankParityError(protected="f")
    """

    exact_ties: ClassVar[bool] = False
    takes_k: ClassVar[bool] = False

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Give the share of each wanted group's mixed pairs in which it stands above."""
        begin, end = slots.begin(), slots.end()
        last = np.repeat(slots.offsets[1:], slots.sizes)
        columns = []
        for group in wanted:
            inside = codes == group
            others = np.concatenate([[0], np.cumsum(~inside)])
            at = np.flatnonzero(inside)
            won = np.zeros(len(codes))
            # below, and half of what is tied
            won[at] = others[last[at]] - (others[end[at]] + others[begin[at]]) / 2.0
            size = segment_sum(inside.astype(np.float64), slots.offsets)
            columns.append(divide(segment_sum(won, slots.offsets), size * (slots.sizes - size)))
        return np.stack(columns, axis=1)


def rank_parity_error(
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the share of a group's mixed pairs in which it stands above.

    The formula and its reference stand with `RankParityError`, the object this calls.

    Parameters
    ----------
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to compare with the rest; without it the largest share counts.
    ties : {"average", "stable"}
        Equal scores are tied, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its value against the rest.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import rank_parity_error
    >>> rank_parity_error([4, 3, 2, 1], ["a", "b", "b", "a"])
    0.5
    >>> rank_parity_error([4, 3, 2, 1], ["a", "a", "b", "b"], protected="b")
    0.0
    """
    metric = RankParityError(protected=protected, undefined=undefined)
    return score_arrays(
        metric,
        y_score=y_score,
        sensitive_features=sensitive_features,
        qid=qid,
        ties=ties,
        per_query=per_query,
        return_groups=return_groups,
    )
