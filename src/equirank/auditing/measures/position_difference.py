"""Position difference: how many places lower a group stands than everyone else."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.metric import GroupMetric, Values
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.resampling import weighted_means

__all__ = ["PositionDifference", "places"]


def places(slots: Slots) -> np.ndarray:
    """Give each slot's place; tied items stand at the middle of their block, hidden ones last."""
    if slots.lo is None:
        return slots.position.astype(np.float64)
    return (slots.lo + slots.end() - 2.0 * slots.start + 1.0) / 2.0


@dataclass(frozen=True, repr=False, kw_only=True)
class PositionDifference(GroupMetric):
    """How many places lower a group stands than everyone else on average: 0 is equal.

    ``mean place of G - mean place of the rest`` in each list, averaged over lists; above 0 the
    group stands lower. The protected group's, else that of the group farthest from 0. Tied items
    stand at the middle of their block; items not shown share the places behind those shown. Over
    draws: the expected difference. Undefined where a list holds one group only.

    Examples
    --------
    >>> from equirank import as_ranking_data, evaluate
    >>> data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features=list("mmff"))
    >>> metric = PositionDifference(protected="f")
    >>> evaluate(data, metric, n_boot=0)[metric]
    2.0
    """

    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    signed: ClassVar[bool] = True
    takes_k: ClassVar[bool] = False

    def values(self, slots: Slots) -> Values:
        """Give every group's difference in each query."""
        codes, labels = slots.groups(self.by)
        place = places(slots)
        total = slots.sum_by_group(place, codes, len(labels))
        people = slots.sum_by_group(np.ones(len(codes)), codes, len(labels))
        rest = total.sum(axis=1, keepdims=True) - total
        others = people.sum(axis=1, keepdims=True) - people
        groups = divide(total, people) - divide(rest, others)
        return Values(self._chosen(slots.data, groups), groups, labels)

    def summarize(
        self, values: Values, counts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Average each group's differences, and take the protected's or the largest."""
        groups = weighted_means(np.asarray(values.groups), counts)
        if self.protected is None:
            return self.farthest(groups), groups
        return weighted_means(values.value[:, None], counts)[..., 0], groups

    def _chosen(self, data: Any, groups: np.ndarray) -> np.ndarray:
        if self.protected is None:
            return self.farthest(groups)
        return groups[:, data.attribute(self.by).code(self.protected)]

    @staticmethod
    def farthest(groups: np.ndarray) -> np.ndarray:
        """Take the value farthest from 0 over the last axis, NaN left out."""
        size = np.where(np.isnan(groups), -1.0, np.abs(groups))
        return np.take_along_axis(groups, size.argmax(axis=-1)[..., None], axis=-1)[..., 0]
