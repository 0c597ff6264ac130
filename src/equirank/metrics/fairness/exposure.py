"""Mean exposure of groups, and the gap between a group and everyone else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.metric import DISCOUNT, GroupMetric, Metric, Values
from ...core.params import Constraint
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.segments import divide, sum_of_others

__all__ = ["ExposureByGroup", "ExposureGap"]


@dataclass(frozen=True, repr=False, kw_only=True)
class DiscountMetric(Metric):
    """Base of metrics of exposure, which positions discount.

    Parameters
    ----------
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the exposure of positions 1, 2, ... (0 beyond its end).
    k : int, optional
        Cutoff: positions beyond k have exposure 0.
    """

    of_expectation: ClassVar[bool] = True
    params: ClassVar[Mapping[str, Constraint]] = {"discount": DISCOUNT}

    discount: str | Sequence[float] = "log2"


@dataclass(frozen=True, repr=False, kw_only=True)
class ExposureMetric(DiscountMetric, GroupMetric):
    """Base of metrics of the exposure of groups.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018.
    """


@dataclass(frozen=True, repr=False, kw_only=True)
class ExposureByGroup(ExposureMetric):
    """Exposure by group: the mean exposure of a group's items, or the lowest mean of all groups.

    ``exposure(G) = 1/|G| sum_{i in G} v_pos(i)`` with ``v_j = 1/log2(1 + j)``; items that are not
    shown have exposure 0. Tied items receive the mean exposure of the positions they span, and over
    the draws of a policy the expected exposure counts: a metric of the expectation. A group without
    items has no value.

    Examples
    --------
    >>> from equirank.metrics import ExposureByGroup, exposure_by_group
    >>> ExposureByGroup(by="sex")
    ExposureByGroup(by="sex")
    >>> value, groups = exposure_by_group([0.9, 0.5], ["m", "f"], return_groups=True)
    >>> round(value, 4), {group: round(mean, 4) for group, mean in groups.items()}
    (0.6309, {'f': 0.6309, 'm': 1.0})
    """

    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    additive: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "it contains no item of the group"

    @property
    def ideal(self) -> float:
        """Undefined: an exposure has no best value."""
        return float("nan")

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return each wanted group's mean exposure."""
        n_groups = int(max(codes.max(), wanted.max())) + 1
        return self.split(slots, codes, n_groups)[:, wanted]

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Return each group's mean exposure (query x group)."""
        exposure = slots.expect(discounts(int(slots.sizes.max()), self.discount, self.k))
        total = slots.sum_by_group(exposure, codes, n_groups)
        people = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
        return divide(total, people)


@dataclass(frozen=True, repr=False, kw_only=True)
class ExposureGap(ExposureMetric):
    """Exposure gap: the difference in mean exposure between a group and everyone else.

    ``| exposure(G) - exposure(rest) |`` with ``exposure(G) = 1/|G| sum_{i in G} v_pos(i)`` and
    ``v_j = 1/log2(1 + j)``, for the protected group, or else the largest over all groups. The
    result includes the mean exposure of each group, which shows the direction of the gap. Tied
    items receive the mean exposure of the positions they span. Over the draws of a policy, it is
    the gap of the expected exposures, not the expected gap. Undefined if a query contains only one
    group.

    Examples
    --------
    >>> from equirank.metrics import ExposureGap, exposure_gap
    >>> ExposureGap(by="sex", protected="f")
    ExposureGap(by="sex", protected="f")
    >>> round(exposure_gap([0.9, 0.5], ["m", "f"]), 4)  # 1/log2(2) - 1/log2(3)
    0.3691
    >>> exposure_gap([0.5, 0.5], ["m", "f"])
    0.0
    """

    plain_name: ClassVar[str] = "difference in exposure"

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        codes, labels = slots.groups(self.by)
        exposure = slots.expect(discounts(int(slots.sizes.max()), self.discount, self.k))
        total = slots.sum_by_group(exposure, codes, len(labels))
        people = slots.sum_by_group(np.ones(len(codes)), codes, len(labels))
        means = divide(total, people)
        rest = divide(sum_of_others(total, 1), sum_of_others(people, 1))
        gaps = np.abs(means - rest)
        if self.protected is not None:
            code = slots.data.attribute(self.by).code(self.protected)
            return Values(gaps[:, code], means, labels)
        filled = np.where(np.isnan(gaps), -1.0, gaps).max(axis=1)
        return Values(np.where(filled < 0, np.nan, filled), means, labels)
