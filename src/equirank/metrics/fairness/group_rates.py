"""Gaps between groups in calibration and in recall."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.metric import GroupMetric, Values
from ...core.params import Choice, Constraint, Integer, Number
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.segments import divide, sum_of_others, summable

__all__ = ["CalibrationGap", "RecallGap"]


@dataclass(frozen=True, repr=False, kw_only=True)
class CalibrationGap(GroupMetric):
    """Calibration gap: the largest difference between groups in mean relevance at similar scores.

    The list is divided from its top into ``n_bins`` bins of equal size (the first ones have one
    item more if it does not divide evenly), shared by all groups. The value is the largest
    difference in mean relevance between two groups in any bin; with ``protected``, between that
    group and everyone else. The result includes the largest difference between each group and
    everyone else. A list shorter than ``n_bins`` has one item per bin.

    Tied items count in the bins of their block with their probability, so means are expected sums
    divided by expected counts, not means over orders. Items that are not shown are tied below all
    others. Over draws: the expected metric. Undefined if no bin contains items of two groups. The
    maximum is the largest relevance.

    Parameters
    ----------
    n_bins : int
        Number of bins.
    protected : label, optional
        The group to compare with everyone else; without it, any two groups are compared.

    References
    ----------
    Kleinberg, Mullainathan and Raghavan, Inherent trade-offs in the fair determination of risk
    scores, ITCS 2017 (calibration within groups).

    Examples
    --------
    >>> from equirank.metrics import CalibrationGap, calibration_gap
    >>> CalibrationGap(n_bins=5)
    CalibrationGap(n_bins=5)
    >>> calibration_gap([1, 0, 0, 0], [4, 3, 2, 1], list("abab"), n_bins=2)  # 1 - 0 in the first
    1.0
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    takes_k: ClassVar[bool] = False
    exact_ties: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "no bin contains items of two groups"
    params: ClassVar[Mapping[str, Constraint]] = {"n_bins": Integer(1)}

    n_bins: int = 10

    def values(self, slots: Slots) -> Values:
        """Return the value of each query and each group's largest difference from everyone else."""
        codes, labels = slots.groups(self.by)
        relevance, shift = summable(slots.y, slots.offsets)
        n, sums = self._in_bins(slots, codes, len(labels), relevance)
        means = divide(sums, n)
        rest = divide(sum_of_others(sums, 0), sum_of_others(n, 0))
        groups = np.ldexp(np.fmax.reduce(np.abs(means - rest), axis=2).T, shift[:, None])
        if self.protected is not None:
            value = groups[:, slots.data.attribute(self.by).code(self.protected)]
        else:
            spread = np.fmax.reduce(means) - np.fmin.reduce(means)
            spread[(n > 0).sum(axis=0) < 2] = np.nan
            value = np.ldexp(np.fmax.reduce(spread, axis=1), shift)
        return Values(value, groups, labels)

    def _in_bins(
        self, slots: Slots, codes: np.ndarray, n_groups: int, relevance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of items and their relevance (group x query x bin).

        The items of a tied block are spread evenly over its slots. Each bin is summed by itself: a
        difference of running sums would lose what follows a large relevance.
        """
        n_bins = min(self.n_bins, int(slots.sizes.max()))
        short, longer = np.divmod(slots.sizes, n_bins)
        bins = np.arange(n_bins)
        edge = bins * short[:, None] + np.minimum(bins, longer[:, None]) + slots.offsets[:-1, None]
        block = np.unique(slots.begin())
        # between two of these slots, both the block and the bin are the same
        begin = np.union1d(block, edge[edge < len(codes)])
        length = np.diff(begin, append=len(codes))
        bin_of = np.searchsorted(edge.ravel(), begin, side="right") - 1
        block_of = np.searchsorted(block, begin, side="right") - 1
        share = length / np.diff(block, append=len(codes))[block_of]
        found = np.zeros((2, n_groups, edge.size))
        for code in range(n_groups):
            member = codes == code
            for at, values in enumerate((member.astype(np.float64), relevance * member)):
                weights = np.add.reduceat(values, block)[block_of] * share
                found[at, code] = np.bincount(bin_of, weights=weights, minlength=edge.size)
        people, total = found.reshape(2, n_groups, *edge.shape)
        return people, total


@dataclass(frozen=True, repr=False, kw_only=True)
class RecallGap(GroupMetric):
    """Recall gap: the difference in recall at k between a group and everyone else.

    ``| R@k(G) - R@k(rest) |`` with ``R@k(G) = |relevant of G in the top k| / |relevant of G|``
    (equal opportunity at k), for the protected group, or else the largest over all groups.
    ``rate="false_positive"`` uses the irrelevant items instead; ``rate="odds"`` takes the larger of
    both gaps (equalised odds), or the one that is defined. The result includes the rate of each
    group, with ``"odds"`` its gap.

    Tied items count with their probability of being in the top k, and over the draws of a policy
    the expected rates count: a metric of the expectation. A group without a relevant (irrelevant)
    item has no rate. Undefined if there is no group for which the group and everyone else both have
    a rate.

    Parameters
    ----------
    threshold : float
        An item is relevant if ``y >= threshold``.
    rate : {"recall", "false_positive", "odds"}
        The items that are counted: relevant ones, irrelevant ones, or both.

    References
    ----------
    Hardt, Price and Srebro, Equality of opportunity in supervised learning, NeurIPS 2016.

    Examples
    --------
    >>> from equirank.metrics import RecallGap, recall_gap
    >>> RecallGap(rate="odds")@10
    RecallGap(rate="odds")@10
    >>> recall_gap([1, 1, 0, 1], [4, 3, 2, 1], list("aabb"), k=2, return_groups=True)
    (1.0, {'a': 1.0, 'b': 0.0})
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    of_expectation: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "a group or everyone else has no item to count"
    params: ClassVar[Mapping[str, Constraint]] = {
        "threshold": Number(low=0.0, open_low=True),
        "rate": Choice("recall", "false_positive", "odds"),
    }

    threshold: float = 1.0
    rate: Literal["recall", "false_positive", "odds"] = "recall"

    def values(self, slots: Slots) -> Values:
        """Return the value of each query and the rate of each group."""
        codes, labels = slots.groups(self.by)
        inside = slots.expect(discounts(int(slots.sizes.max()), "flat", self.k))
        relevant = slots.y >= self.threshold
        pairs = []
        for name, counted in (("recall", relevant), ("false_positive", ~relevant)):
            if self.rate in (name, "odds"):
                found = slots.sum_by_group(inside * counted, codes, len(labels))
                people = slots.sum_by_group(counted.astype(float), codes, len(labels))
                pairs.append((_gaps(found, people), divide(found, people)))
        gaps = np.fmax(pairs[0][0], pairs[-1][0])
        groups = gaps if self.rate == "odds" else pairs[0][1]
        if self.protected is not None:
            code = slots.data.attribute(self.by).code(self.protected)
            return Values(gaps[:, code], groups, labels)
        return Values(np.fmax.reduce(gaps, axis=1), groups, labels)


def _gaps(found: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Return the difference of each group's rate and everyone else's (query x group)."""
    rest = divide(sum_of_others(found, 1), sum_of_others(people, 1))
    return np.abs(divide(found, people) - rest)
