"""What the metrics share that hold a group's exposure against its merit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.metric import DISCOUNT, GroupMetric, Values
from ...core.params import Constraint
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.division import divide

__all__ = ["MeritMetric", "Shares"]


@dataclass(frozen=True)
class Shares:
    """Sums over the items of each query and group: what they draw, their merit, their number."""

    drawn: np.ndarray
    merit: np.ndarray
    people: np.ndarray

    def rest(self) -> "Shares":
        """Give the same sums over everyone else."""
        others = 1.0 - np.eye(self.drawn.shape[1])
        return Shares(self.drawn @ others, self.merit @ others, self.people @ others)

    def per_merit(self) -> np.ndarray:
        """Divide the means, NaN where the merit is 0."""
        return divide(self.drawn, self.merit)

    def mean_merit(self) -> np.ndarray:
        """Give the mean merit, NaN where there is nobody."""
        return divide(self.merit, self.people)


@dataclass(frozen=True, repr=False, kw_only=True)
class MeritMetric(GroupMetric):
    """Base of metrics that compare the exposure per merit of groups.

    Parameters
    ----------
    discount : {"log2", "zipf"} or sequence
        ``1/log2(1 + j)``, ``1/j``, or the attention of places 1, 2, ... (0 behind its end).
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    of_expectation: ClassVar[bool] = True
    params: ClassVar[Mapping[str, Constraint]] = {"discount": DISCOUNT}

    discount: str | Sequence[float] = "log2"

    def drawn(self, slots: Slots, exposure: np.ndarray) -> np.ndarray:
        """Give what each slot draws: its exposure, unless a metric says otherwise."""
        return exposure

    def compare(self, group: Shares, rest: Shares) -> np.ndarray:
        """Compare each group with the rest (query x group)."""
        raise TypeError(f"{type(self).__name__} must define compare; MeritMetric is abstract")

    def values(self, slots: Slots) -> Values:
        """Compare every group, or the protected one, with the rest; the worst counts."""
        codes, labels = slots.groups(self.by)
        exposure = slots.expect(discounts(int(slots.sizes.max()), self.discount, self.k))

        def total(values: np.ndarray) -> np.ndarray:
            return slots.sum_by_group(values, codes, len(labels))

        group = Shares(
            total(self.drawn(slots, exposure)), total(slots.y), total(np.ones(len(codes)))
        )
        compared = self.compare(group, group.rest())
        per_merit = group.per_merit()
        if self.protected is not None:
            code = slots.data.attribute(self.by).code(self.protected)
            return Values(compared[:, code], per_merit, labels)
        lower = self.direction == "lower"
        filled = np.where(np.isnan(compared), -np.inf if lower else np.inf, compared)
        worst = filled.max(axis=1) if lower else filled.min(axis=1)
        return Values(np.where(np.isinf(worst), np.nan, worst), per_merit, labels)
