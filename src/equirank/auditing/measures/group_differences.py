"""Group differences: how far groups lie from the others, in places and in attention at once."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.evaluation import Result
from ...core.metric import GroupMetric, Values
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.division import divide
from ...kernels.resampling import weighted_means
from .position_difference import PositionDifference, places

__all__ = ["GroupDifferences"]


@dataclass(frozen=True, repr=False, kw_only=True)
class GroupDifferences(GroupMetric):
    """Each group's position difference, and then each group's difference in attention.

    Attention is scaled to a mean of 1 in every list, so that long and short lists weigh the same.
    Both are differences to everyone else, tested on both sides.
    """

    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    signed: ClassVar[bool] = True
    takes_k: ClassVar[bool] = False

    def values(self, slots: Slots) -> Values:
        """Give the differences of all groups in each query: places, then attention."""
        codes, labels = slots.groups(self.by)
        n = len(labels)
        people = slots.sum_by_group(np.ones(len(codes)), codes, n)
        attention = slots.expect(discounts(int(slots.sizes.max()), "log2"))
        total = slots.sum_by_group(attention, codes, n)
        mean = divide(total.sum(axis=1, keepdims=True), people.sum(axis=1, keepdims=True))
        place = _differences(slots.sum_by_group(places(slots), codes, n), people)
        scaled = divide(_differences(total, people), mean, np.nan_to_num(mean) > 0)
        groups = np.concatenate([place, scaled], axis=1)
        worst = np.where(np.isnan(place), 0.0, np.abs(place)).max(axis=1)
        return Values(np.where(np.isnan(place).all(axis=1), np.nan, worst), groups, labels)

    def summarize(
        self, values: Values, counts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Average each difference over queries."""
        groups = weighted_means(np.asarray(values.groups), counts)
        return np.zeros(groups.shape[:-1]), groups

    def parts(self, result: Result) -> tuple[Result, Result]:
        """Give the differences in places and those in attention as results of their own."""
        n = np.asarray(result.values.groups).shape[1] // 2
        return self._part(result, slice(0, n)), self._part(result, slice(n, 2 * n))

    def _part(self, result: Result, columns: slice) -> Result:
        groups = np.asarray(result.values.groups)[:, columns]
        drawn, p = result.group_replicates, result.group_p_values
        value = PositionDifference.farthest(groups)
        return replace(
            result,
            metric=PositionDifference(by=self.by),
            values=Values(value, groups, result.values.labels),
            replicates=None,
            group_replicates=None if drawn is None else drawn[:, columns],
            p_value=float("nan"),
            group_p_values=None if p is None else p[columns],
            null=None,
        )


def _differences(total: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Give each group's mean less that of all others."""
    rest = total.sum(axis=1, keepdims=True) - total
    others = people.sum(axis=1, keepdims=True) - people
    return divide(total, people) - divide(rest, others)
