"""Exposure per merit, compared between groups and between individuals."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.metric import Values
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.segments import LARGE, SHIFT, divide, sort_within, sum_of_others, summable
from .exposure import DiscountMetric, ExposureMetric

__all__ = [
    "DisparateImpact",
    "DisparateTreatment",
    "GroupDisparity",
    "IndividualDisparity",
    "MeritMetric",
    "Shares",
]


@dataclass(frozen=True, repr=False, kw_only=True)
class IndividualDisparity(DiscountMetric):
    """Individual disparity: the mean excess in exposure per merit over items of no more merit.

    ``1/|H| sum_{(i, j) in H} max(0, e_i/M_i - e_j/M_j)`` over the ordered pairs of a query with
    ``M_i >= M_j > 0``, i and j different, where e is the exposure and M the merit (the relevance).
    Two items of equal merit count in both orders, so any difference between them counts. Items
    without merit are ignored. Tied items receive the mean exposure of the positions they span, and
    over the draws of a policy the expected exposures count: a metric of the expectation. Undefined
    if a query contains fewer than two items with merit. There is no upper bound: the value grows as
    merits shrink. Pairs are not enumerated: O(n log n).

    References
    ----------
    Singh and Joachims, Policy learning for fairness in ranking, NeurIPS 2019.

    Examples
    --------
    >>> from equirank.metrics import IndividualDisparity, individual_disparity
    >>> IndividualDisparity(discount="zipf")
    IndividualDisparity(discount="zipf")
    >>> round(individual_disparity([1, 1], [0.9, 0.5]), 4)  # (1 - 1/log2(3) + 0) / 2 pairs
    0.1845
    >>> individual_disparity([1, 1], [0.5, 0.5])
    0.0
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    individual: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "it contains fewer than two items with merit"

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        from ...kernels.metric_loops import positive_parts

        exposure = slots.expect(discounts(int(slots.sizes.max()), self.discount, self.k))
        index = np.flatnonzero(slots.y > 0)
        sizes = np.bincount(slots.query[index], minlength=slots.n_queries)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        merit = slots.y[index].astype(np.float64)
        # the ratios of queries with a very small merit are divided by a power of two
        shift = np.zeros(slots.n_queries, dtype=np.int64)
        shift[slots.query[index[merit < 1.0 / LARGE]]] = SHIFT
        ratio = np.ldexp(exposure[index], -np.repeat(shift, sizes)) / merit
        rank = np.empty(len(index), dtype=np.int64)
        position = np.arange(len(index)) - np.repeat(offsets[:-1], sizes)
        rank[sort_within(-ratio, offsets)] = position
        by_merit = sort_within(-merit, offsets)
        total, pairs = positive_parts(ratio, rank, merit, by_merit, offsets)
        return Values(np.ldexp(divide(total, pairs), shift))


@dataclass(frozen=True)
class Shares:
    """Sums over the items of each query and group: exposure or impact, merit, and number."""

    received: np.ndarray
    merit: np.ndarray
    people: np.ndarray

    def rest(self) -> "Shares":
        """Return the same sums over everyone else."""
        return Shares(*(sum_of_others(x, 1) for x in (self.received, self.merit, self.people)))

    def per_merit(self) -> np.ndarray:
        """Return the sum per merit, NaN if the merit is 0."""
        return divide(self.received, self.merit)

    def mean_merit(self) -> np.ndarray:
        """Return the mean merit, NaN for an empty group."""
        return divide(self.merit, self.people)


@dataclass(frozen=True, repr=False, kw_only=True)
class MeritMetric(ExposureMetric):
    """Base of metrics that compare the exposure per merit of groups.

    The merit of an item is its relevance. Tied items receive the mean exposure of the positions
    they span, and over the draws of a policy the expected exposures count: a metric of the
    expectation.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    def received(self, slots: Slots, exposure: np.ndarray) -> np.ndarray:
        """Return the quantity of each slot that is compared with merit: its exposure."""
        return exposure

    def compare(self, group: Shares, rest: Shares) -> np.ndarray:
        """Compare each group with everyone else (query x group)."""
        raise TypeError(f"{type(self).__name__} must define compare; MeritMetric is abstract")

    def values(self, slots: Slots) -> Values:
        """Compare every group, or the protected one, with everyone else; return the worst."""
        codes, labels = slots.groups(self.by)
        exposure = slots.expect(discounts(int(slots.sizes.max()), self.discount, self.k))

        def total(values: np.ndarray) -> np.ndarray:
            return slots.sum_by_group(values, codes, len(labels))

        merit, shift = summable(slots.y, slots.offsets)
        exposure = np.ldexp(exposure, -np.repeat(shift, slots.sizes))
        group = Shares(
            total(self.received(slots, exposure)), total(merit), total(np.ones(len(codes)))
        )
        # an infinite exposure per merit of a group is refused afterwards
        with np.errstate(invalid="ignore"):
            compared = self.compare(group, group.rest())
        per_merit = group.per_merit()
        if self.protected is not None:
            code = slots.data.attribute(self.by).code(self.protected)
            return Values(compared[:, code], per_merit, labels)
        lower = self.direction == "lower"
        filled = np.where(np.isnan(compared), -np.inf if lower else np.inf, compared)
        worst = filled.max(axis=1) if lower else filled.min(axis=1)
        return Values(np.where(np.isinf(worst), np.nan, worst), per_merit, labels)


@dataclass(frozen=True, repr=False, kw_only=True)
class MeritRatio(MeritMetric):
    """Base of the ratios of what groups receive per merit."""

    direction: ClassVar[Literal["higher", "lower"]] = "higher"

    def compare(self, group: Shares, rest: Shares) -> np.ndarray:
        """Return the ratio of what a group receives per merit to that of everyone else."""
        return divide(group.per_merit(), rest.per_merit())


@dataclass(frozen=True, repr=False, kw_only=True)
class DisparateImpact(MeritRatio):
    """Disparate impact: the ratio of a group's expected clicks per merit to that of everyone else.

    ``(impact(G) / merit(G)) / (impact(rest) / merit(rest))``, means over the items, where the
    impact of an item is its exposure times its relevance: an item is clicked if it is seen and
    relevant. 1 is equal. For the protected group this is the published ratio, which may exceed 1;
    without ``protected``, the smallest ratio of all groups, which is at most 1. The result includes
    the impact per merit of each group. Tied items receive the mean exposure of the positions they
    span, and over draws the expected exposures count: a metric of the expectation. Undefined if a
    query contains only one group, if a merit is 0, or if everyone else has no impact.

    Examples
    --------
    >>> from equirank.metrics import DisparateImpact, disparate_impact
    >>> DisparateImpact(by="sex", protected="f")
    DisparateImpact(by="sex", protected="f")
    >>> round(disparate_impact([2, 1], [0.9, 0.5], ["m", "f"]), 4)  # (1/log2(3)) / (2/2)
    0.6309
    >>> value = disparate_impact([2, 1, 1], [3, 2, 1], ["m", "m", "f"], protected="f")
    >>> round(value, 4)  # (1/log2(4)) / ((2/log2(2) + 1/log2(3)) / 3)
    0.5701
    """

    why_undefined: ClassVar[str] = (
        "it contains only one group, a group's merit is 0, or everyone else has no impact"
    )

    def received(self, slots: Slots, exposure: np.ndarray) -> np.ndarray:
        """Return the expected clicks of each slot."""
        return exposure * slots.y


@dataclass(frozen=True, repr=False, kw_only=True)
class DisparateTreatment(MeritRatio):
    """Disparate treatment: the ratio of a group's exposure per merit to that of everyone else.

    ``(exposure(G) / merit(G)) / (exposure(rest) / merit(rest))``, means over the items, with
    ``exposure = v_pos`` and merit the relevance. Below 1, the group receives less exposure than its
    merit earns. For the protected group this is the published ratio, which may exceed 1; without
    ``protected``, the smallest ratio of all groups, which is at most 1. The result includes the
    exposure per merit of each group. Tied items receive the mean exposure of the positions they
    span, and over draws the expected exposures count: a metric of the expectation. Undefined if a
    query contains only one group, if a merit is 0, or if everyone else has no exposure.

    Examples
    --------
    >>> from equirank.metrics import DisparateTreatment, disparate_treatment
    >>> DisparateTreatment(by="sex", protected="f")
    DisparateTreatment(by="sex", protected="f")
    >>> round(disparate_treatment([1, 1], [0.9, 0.5], ["m", "f"]), 4)  # 1/log2(3) to 1/log2(2)
    0.6309
    >>> disparate_treatment([2, 2, 1, 1], [0.5, 0.5, 0.5, 0.5], ["m", "m", "f", "f"], protected="f")
    2.0
    """

    plain_name: ClassVar[str] = "difference in exposure for the same relevance"
    why_undefined: ClassVar[str] = (
        "it contains only one group, a group's merit is 0, or everyone else has no exposure"
    )


@dataclass(frozen=True, repr=False, kw_only=True)
class GroupDisparity(MeritMetric):
    """Group disparity: the excess in exposure per merit of the group with more merit.

    ``max(0, exposure(G)/merit(G) - exposure(H)/merit(H))``, means per group, where G is the side
    with more merit among a group and everyone else; 0 is no excess. If the merits are equal (to
    1e-12), the larger of both orders counts, which is the absolute difference. The value is that of
    the protected group, or else the largest over all groups; the result includes the exposure per
    merit of each group. Tied items receive the mean exposure of the positions they span, and over
    draws the expected exposures count: a metric of the expectation. Undefined if a query contains
    only one group or a merit is 0. There is no upper bound: the value grows as merits shrink.

    References
    ----------
    Singh and Joachims, Policy learning for fairness in ranking, NeurIPS 2019.

    Examples
    --------
    >>> from equirank.metrics import GroupDisparity, group_disparity
    >>> GroupDisparity(by="sex", protected="f")
    GroupDisparity(by="sex", protected="f")
    >>> round(group_disparity([1.0, 0.5], [0.9, 0.5], ["m", "f"]), 4)  # 1/1 - (1/log2(3))/0.5 < 0
    0.0
    >>> round(group_disparity([1.0, 0.8], [0.9, 0.5], ["m", "f"]), 4)  # 1/1 - (1/log2(3))/0.8
    0.2113
    """

    why_undefined: ClassVar[str] = "it contains only one group, or a group's merit is 0"

    def compare(self, group: Shares, rest: Shares) -> np.ndarray:
        """Return the excess of the side with more merit."""
        excess = group.per_merit() - rest.per_merit()
        merit, other = group.mean_merit(), rest.mean_merit()
        equal = np.abs(merit - other) <= 1e-12 * merit
        first = np.where(merit > other, excess, -excess)
        return np.where(equal, np.abs(excess), np.maximum(first, 0.0))
