"""Calibration gap: how far the relevance of groups differs among items ranked alike."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import GroupMetric, Values, score_arrays
from ...core.params import Constraint, Integer
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.prefixes import expected_counts

__all__ = ["CalibrationGap", "calibration_gap"]


@dataclass(frozen=True, repr=False, kw_only=True)
class CalibrationGap(GroupMetric):
    """How far the mean relevance of groups differs among items with like scores: 0 is equal.

    The list is cut from its top into ``n_bins`` bins of equal count, the first ones longer by one
    where it does not divide evenly, shared by all groups. In each bin the mean relevance of each
    group's items is taken, and the largest difference between two groups in any bin counts; with
    ``protected`` the largest difference of that group and everyone else. The largest difference of
    each group and everyone else stands beside it. A list shorter than ``n_bins`` has one item in
    each bin.

    Tied items lie in the bins of their block by their chance, so that means are those of expected
    sums over expected counts, not the mean over orders; items not shown lie tied behind all others.
    Over draws: the expected metric. Undefined where no bin holds items of two groups. At most the
    largest relevance.

    Parameters
    ----------
    n_bins : int
        Number of bins.

    References
    ----------
    Kleinberg, Mullainathan and Raghavan, Inherent trade-offs in the fair determination of risk
    scores, ITCS 2017 (calibration within groups).

    Examples
    --------
    >>> from equirank.metrics import CalibrationGap
    >>> CalibrationGap(n_bins=5)
    CalibrationGap(n_bins=5)
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    takes_k: ClassVar[bool] = False
    exact_ties: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "no bin holds items of two groups"
    params: ClassVar[Mapping[str, Constraint]] = {"n_bins": Integer(1)}

    n_bins: int = 10

    def values(self, slots: Slots) -> Values:
        """Give the value of each query and each group's largest difference from the rest."""
        codes, labels = slots.groups(self.by)
        worth = slots.y.astype(np.float64)
        people = [self._in_bins(slots, codes == code) for code in range(len(labels))]
        total = [
            self._in_bins(slots, np.where(codes == code, worth, 0.0)) for code in range(len(labels))
        ]
        n, sums = np.stack(people), np.stack(total)
        means = divide(sums, n)
        rest = divide(sums.sum(axis=0) - sums, n.sum(axis=0) - n)
        groups = np.fmax.reduce(np.abs(means - rest), axis=2).T
        if self.protected is not None:
            value = groups[:, slots.data.attribute(self.by).code(self.protected)]
        else:
            spread = np.fmax.reduce(means) - np.fmin.reduce(means)
            spread[(n > 0).sum(axis=0) < 2] = np.nan
            value = np.fmax.reduce(spread, axis=1)
        return Values(value, groups, labels)

    def _in_bins(self, slots: Slots, values: np.ndarray) -> np.ndarray:
        """Add up values in each query's bins, ties spread evenly (query x bin)."""
        n_bins = min(self.n_bins, int(slots.sizes.max()))
        short, longer = np.divmod(slots.sizes, n_bins)
        bins = np.arange(1, n_bins + 1)
        edge = bins * short[:, None] + np.minimum(bins, longer[:, None])
        begin = np.repeat(slots.offsets[:-1], n_bins)
        end = edge.ravel()
        filled = end > 0
        running = np.zeros(len(end))
        running[filled] = expected_counts(
            values, begin[filled] + end[filled] - 1, begin[filled], slots.lo, slots.hi
        )
        return np.diff(running.reshape(edge.shape), axis=1, prepend=0.0)


def calibration_gap(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    qid: Any = None,
    protected: Any = None,
    n_bins: int = 10,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    undefined: Literal["skip", "zero", "one", "raise"] = "skip",
) -> Any:
    """Compute the largest difference between groups in mean relevance among like scores.

    The formula and its reference stand with `CalibrationGap`, the object this calls.

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
        The group to compare with the rest; without it any two groups are compared.
    n_bins : int
        Number of bins of equal count.
    ties : {"average", "stable"}
        Equal scores share their places, or keep the order given.
    per_query : bool
        Give one value per query, in order of first appearance, NaN where undefined.
    return_groups : bool
        Give also a dict of group to its largest difference from everyone else.
    undefined : {"skip", "zero", "one", "raise"}
        What a query counts where the metric is undefined.

    Returns
    -------
    float or ndarray, with ``return_groups`` also a dict

    Examples
    --------
    >>> from equirank.metrics import calibration_gap
    >>> calibration_gap([1, 0, 0, 0], [4, 3, 2, 1], list("abab"), n_bins=2)  # 1 - 0 in the first
    1.0
    """
    metric = CalibrationGap(n_bins=n_bins, protected=protected, undefined=undefined)
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
