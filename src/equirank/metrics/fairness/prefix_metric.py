"""What rND, rKL and rRD share: cut points, expected counts in prefixes, and the normaliser."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import GroupMetric
from ...core.params import Choice, Constraint, Integer
from ...core.slots import Slots
from ...kernels.division import divide
from ...kernels.prefixes import (
    cut_points,
    cut_weights,
    exact_maximum,
    expected_counts,
    sorted_lists_maximum,
)
from ...kernels.segments import segment_sum

__all__ = ["Cuts", "Distance", "PrefixMetric"]

#: Distance of a prefix from the whole list: of (count, cut, n, size).
Distance = Callable[[np.ndarray, np.ndarray, Any, Any], np.ndarray]


@dataclass(frozen=True, eq=False)
class Cuts:
    """The cut points of every query and the group counts there."""

    query: np.ndarray
    cut: np.ndarray
    offsets: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    sizes: np.ndarray
    n: np.ndarray
    limit: np.ndarray


@dataclass(frozen=True, repr=False, kw_only=True)
class PrefixMetric(GroupMetric):
    """Base of the metrics that compare group shares in prefixes with those of the whole list.

    Parameters
    ----------
    step : int
        The prefixes are the first step, 2 step, ... items; a prefix of one item never counts.
    normalizer : {"extremes", "exact", "last", "none"}
        What the sum is divided by: its value for the worst list sorted by group, its true maximum
        over all lists, its value with the protected last, or nothing.
    discount : {"paper", "code"}
        Prefixes count ``1/log2(k)`` as in the paper, or ``1/log2(k + 1)`` as in its authors' code.
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "step": Integer(1),
        "normalizer": Choice("extremes", "exact", "last", "none"),
        "discount": Choice("paper", "code"),
    }
    exact_ties: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "it holds one group only, or is too short for a prefix to differ"

    step: int = 10
    normalizer: Literal["extremes", "exact", "last", "none"] = "extremes"
    discount: Literal["paper", "code"] = "paper"

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """1 is the most only where the sum is divided by its largest value."""
        return (0.0, 1.0) if self.normalizer in ("extremes", "exact") else (0.0, math.inf)

    def cuts(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> Cuts:
        """Count the wanted groups in every prefix."""
        n = slots.sizes
        limit = n if slots.shown is None else slots.shown
        limit = limit if self.k is None else np.minimum(limit, self.k)
        query, cut, offsets = cut_points(limit, self.step)
        first = slots.offsets[:-1][query]
        members = [codes == code for code in wanted]
        counts = [expected_counts(m, first + cut - 1, first, slots.lo, slots.hi) for m in members]
        sizes = [segment_sum(m.astype(np.int64), slots.offsets) for m in members]
        return Cuts(
            query,
            cut,
            offsets,
            cut_weights(cut, self.discount),
            np.stack(counts, axis=1),
            np.stack(sizes, axis=1),
            n,
            limit,
        )

    def against_rest(self, cuts: Cuts, column: int, distance: Distance) -> np.ndarray:
        """Give the normalised value of one group against everyone else, per query."""
        size = cuts.sizes[:, column]
        n_at, size_at = cuts.n[cuts.query], size[cuts.query]

        def total(count: np.ndarray) -> np.ndarray:
            terms = cuts.weight * distance(count, cuts.cut, n_at, size_at)
            return segment_sum(terms, cuts.offsets)

        value = total(cuts.counts[:, column])
        mixed = (size > 0) & (size < cuts.n) & (np.diff(cuts.offsets) > 0)
        if self.normalizer == "none":
            return np.where(mixed, value, np.nan)
        worst = total(np.maximum(0, cuts.cut - (n_at - size_at)).astype(np.float64))
        if self.normalizer == "extremes":
            worst = np.maximum(worst, total(np.minimum(cuts.cut, size_at).astype(np.float64)))
        elif self.normalizer == "exact":
            worst = self._exact(cuts, size, mixed, distance)
        defined = mixed & (worst > 0)
        return divide(value, worst, defined)

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Give each wanted group's value against the rest (query x wanted group)."""
        cuts = self.cuts(slots, codes, wanted)
        columns = [self.against_rest(cuts, j, self.distance()) for j in range(len(wanted))]
        return np.stack(columns, axis=1)

    def distance(self) -> Distance:
        """Give the distance of a prefix from the whole list."""
        raise TypeError(f"{type(self).__name__} must define distance; PrefixMetric is abstract")

    def _exact(
        self, cuts: Cuts, size: np.ndarray, mixed: np.ndarray, distance: Distance
    ) -> np.ndarray:
        shapes = np.stack([cuts.n, size, cuts.limit], axis=1)
        kinds, inverse = np.unique(shapes[mixed], axis=0, return_inverse=True)
        best = [
            exact_maximum(int(n), int(s), int(limit), self.step, self.discount, distance)
            for n, s, limit in kinds
        ]
        result = np.zeros(len(size))
        result[mixed] = np.array(best)[inverse.ravel()] if best else 0.0
        return result

    def _sorted_maximum(
        self, cuts: Cuts, distance: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        return sorted_lists_maximum(
            cuts.sizes, cuts.query, cuts.cut, cuts.offsets, cuts.weight, distance
        )
