"""Rank calibration error: how often pairs that a group takes part in are misordered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import GroupMetric, score_arrays
from ...core.params import Choice, Constraint
from ...core.slots import Slots
from ...kernels.division import divide
from .pairwise_metric import count_pairs

__all__ = ["RankCalibrationError", "rank_calibration_error"]


@dataclass(frozen=True, repr=False, kw_only=True)
class RankCalibrationError(GroupMetric):
    """How often pairs with an item of a group stand in the wrong order: 0 is never.

    Over the pairs with at least one item of the group, both in the group included, the share that
    is misordered; a tied pair is half wrong. (The denominator printed in the paper is a misprint.)
    A pair of equal relevance is never wrong but stays in the denominator, as published;
    ``denominator="comparable"`` drops it, which is needed where there are few grades. Without
    ``protected`` the worst group counts. Values lie in [0, 1], lower is better. Items not shown
    stand tied behind those shown. Undefined for a single item (or without a comparable pair);
    defined for a query of one group. Ties are half pairs before the worst group is taken; over
    draws: the expected metric.

    Parameters
    ----------
    denominator : {"all", "comparable"}
        All pairs with an item of the group, or only those that differ in relevance.

    References
    ----------
    Kuhlman, VanValkenburg and Rundensteiner, FARE: Diagnostics for fair ranking using pairwise
    error metrics, WWW 2019.

    Examples
    --------
    >>> from equirank.metrics import RankCalibrationError
    >>> RankCalibrationError(denominator="comparable")
    RankCalibrationError(denominator="comparable")
    """

    exact_ties: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "it holds no pair to compare"
    params: ClassVar[Mapping[str, Constraint]] = {"denominator": Choice("all", "comparable")}

    denominator: Literal["all", "comparable"] = "all"

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Give the share of misordered pairs among those each wanted group takes part in."""
        n_groups = len(slots.groups(self.by)[1])
        counts = count_pairs(slots, codes, n_groups, slots.y)
        size = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)[:, wanted]
        rest = slots.sizes[:, None] - size
        total = size * (size - 1.0) / 2.0 + size * rest
        if self.denominator == "comparable":
            total = _with_group(counts.total, wanted)
        return divide(_with_group(counts.wrong, wanted), total)


def _with_group(table: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Add up the pairs that each group takes part in, from pairs by two groups."""
    both = table[:, wanted, wanted]
    return table.sum(axis=2)[:, wanted] + table.sum(axis=1)[:, wanted] - both


def rank_calibration_error(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    denominator: Literal["all", "comparable"] = "all",
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the share of misordered pairs among those a group takes part in.

    The formula and its reference stand with `RankCalibrationError`, the object this calls.

    Parameters
    ----------
    y_true : array-like
        Relevance, >= 0.
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to compare with the rest; without it the worst group counts.
    denominator : {"all", "comparable"}
        Whether pairs of equal relevance, which are never wrong, count in the denominator.
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
    >>> from equirank.metrics import rank_calibration_error
    >>> # 1 of the 2 pairs with a is misordered
    >>> rank_calibration_error([0, 2, 1], [0.5, 0.9, 0.1], ["a", "b", "b"], protected="a")
    0.5
    """
    metric = RankCalibrationError(denominator=denominator, protected=protected, undefined=undefined)
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
