"""rRD: how far the ratio of a group to the others in the prefixes lies from the whole list's."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import EquirankWarning
from ...core.metric import score_arrays
from ...kernels.prefixes import ratio_distance
from .prefix_metric import Distance, PrefixMetric

__all__ = ["RRD", "rrd"]


@dataclass(frozen=True, repr=False, kw_only=True)
class RRD(PrefixMetric):
    """How far the ratio of a group to the others in the first places lies from that of all.

    ``rRD = 1/Z sum_k (1/log2 k) | |S+_k| / |S-_k| - |S+| / |S-| |`` over k = step, 2 step, ...; a
    term with a zero denominator takes the ratio 0. Only meaningful while the protected group is the
    minority: a warning says so otherwise. Tied items count by the expected number in each prefix.
    Lists sorted by group are not the worst ones here, so the default normaliser is the exact
    maximum. Undefined where a query holds one group only. Under ties the value may exceed 1: the
    ratio drops to 0 where nobody else is left, which an expected count just misses. Over draws: the
    expected metric.

    Parameters
    ----------
    step : int
        The prefixes are the first step, 2 step, ... items; a prefix of one item never counts.
    normalizer : {"extremes", "exact", "last", "none"}
        What the sum is divided by: its value for the worst list sorted by group, its true maximum
        over all lists, its value with the protected last, or nothing.
    discount : {"paper", "code"}
        Prefixes count ``1/log2(k)`` as in the paper, or ``1/log2(k + 1)`` as in its authors' code.

    References
    ----------
    Yang and Stoyanovich, Measuring fairness in ranked outputs, SSDBM 2017.

    Examples
    --------
    >>> from equirank.metrics import RRD
    >>> RRD(step=5)@50
    RRD(step=5)@50
    """

    normalizer: Literal["extremes", "exact", "last", "none"] = "exact"

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Expected counts of tied items fall between the counts of lists, and may exceed 1."""
        return (0.0, math.inf)

    def distance(self) -> Distance:
        """Give the difference of ratios."""
        return ratio_distance

    def check(self, data: RankingData) -> None:
        """Warn where a group that is looked at is not the minority."""
        super().check(data)
        attribute = data.attribute(self.by)
        share = np.bincount(attribute.codes, minlength=len(attribute.categories)) / data.n_rows
        code = int(share.argmax()) if self.protected is None else attribute.code(self.protected)
        if share[code] > 0.5:
            warnings.warn(
                f"{self} is only meaningful while the protected group is the minority, and "
                f"{attribute.categories[code]!r} is {share[code]:.0%} of the rows"
                + ("; name the protected group" if self.protected is None else ""),
                EquirankWarning,
                stacklevel=4,
            )


def rrd(
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    step: int = 10,
    k: int | None = None,
    normalizer: Literal["extremes", "exact", "last", "none"] = "exact",
    discount: Literal["paper", "code"] = "paper",
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute rRD, the discounted difference of a group's ratio to the others in prefixes.

    The formula and its reference stand with `RRD`, the object this calls.

    Parameters
    ----------
    y_score : array-like
        Scores, higher is ranked earlier; or a `Ranking`.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    protected : label, optional
        The group to compare with the rest; without it the worst group counts.
    step : int
        The prefixes are the first step, 2 step, ... items.
    k : int, optional
        Cutoff: prefixes longer than k do not count.
    normalizer : {"extremes", "exact", "last", "none"}
        What the sum is divided by.
    discount : {"paper", "code"}
        Prefixes count ``1/log2(k)`` or ``1/log2(k + 1)``.
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
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
    >>> from equirank.metrics import rrd
    >>> rrd([6, 5, 4, 3, 2, 1], list("abbabb"), protected="a", step=3)
    0.0
    """
    metric = RRD(
        k=k,
        step=step,
        normalizer=normalizer,
        discount=discount,
        protected=protected,
        undefined=undefined,
    )
    return score_arrays(
        metric,
        y_score=y_score,
        sensitive_features=sensitive_features,
        qid=qid,
        ties=ties,
        per_query=per_query,
        return_groups=return_groups,
    )
