"""rND, rKL and rRD: group shares in prefixes compared with those of the whole list."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError, EquirankWarning
from ...core.metric import GroupMetric, Values
from ...core.params import Choice, Constraint, Integer
from ...core.slots import Slots
from ...kernels.prefixes import (
    cut_points,
    cut_weights,
    exact_maximum,
    expected_counts,
    kl_divergence,
    ratio_distance,
    share_distance,
    sorted_lists_maximum,
    two_group_divergence,
)
from ...kernels.segments import divide, segment_sum

__all__ = ["RKL", "RND", "RRD", "Cuts", "Distance", "PrefixMetric"]


#: Distance of a prefix from the whole list, a function of (count, cut, n, size).
Distance = Callable[[np.ndarray, np.ndarray, Any, Any], np.ndarray]


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cut points of every query and the group counts there.

    ``cut`` is the number of people with a known label in each prefix, ``n`` in each list. A prefix
    without such people has no shares, and weight 0.
    """

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
        Prefixes have step, 2 step, ... items; a prefix of one item never counts.
    normalizer : {"extremes", "exact", "last", "none"}
        Divisor of the sum: its value for the worst list sorted by group, its true maximum over all
        lists, its value with the protected group last, or 1.
    discount : {"paper", "code"}
        Weight of a prefix: ``1/log2(k)`` as in the paper, or ``1/log2(k + 1)`` as in its code.
    k : int, optional
        Cutoff: prefixes longer than k do not count.

    References
    ----------
    Yang and Stoyanovich, Measuring fairness in ranked outputs, SSDBM 2017.
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "step": Integer(1),
        "normalizer": Choice("extremes", "exact", "last", "none"),
        "discount": Choice("paper", "code"),
    }
    exact_ties: ClassVar[bool] = False
    leading_arguments: ClassVar[tuple[str, ...]] = ("qid", "protected", "step")
    why_undefined: ClassVar[str] = (
        "it contains only one group, or is too short for a prefix to differ"
    )

    step: int = 10
    normalizer: Literal["extremes", "exact", "last", "none"] = "extremes"
    discount: Literal["paper", "code"] = "paper"

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Bounds of the values; the upper bound is 1 if the sum is divided by its maximum."""
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
        weight = cut_weights(cut, self.discount)
        if len(codes) and codes.min() < 0:
            known = codes >= 0
            cut = expected_counts(known, first + cut - 1, first, slots.lo, slots.hi)
            weight, cut = np.where(cut > 0, weight, 0.0), np.where(cut > 0, cut, 1.0)
            n = np.maximum(segment_sum(known.astype(np.int64), slots.offsets), 1)
        return Cuts(
            query,
            cut,
            offsets,
            weight,
            np.stack(counts, axis=1),
            np.stack(sizes, axis=1),
            n,
            limit,
        )

    def against_rest(self, cuts: Cuts, column: int, distance: Distance) -> np.ndarray:
        """Return the normalised value of one group against everyone else, per query."""
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
        """Return each wanted group's value against everyone else (query x wanted group)."""
        cuts = self.cuts(slots, codes, wanted)
        columns = [self.against_rest(cuts, j, self.distance()) for j in range(len(wanted))]
        return np.stack(columns, axis=1)

    def distance(self) -> Distance:
        """Return the distance of a prefix from the whole list."""
        raise TypeError(f"{type(self).__name__} must define distance; PrefixMetric is abstract")

    def _exact(
        self, cuts: Cuts, size: np.ndarray, mixed: np.ndarray, distance: Distance
    ) -> np.ndarray:
        if cuts.cut.dtype.kind == "f":  # unknown labels: each list has its own numbers of known
            return self._exact_of_known(cuts, size, mixed, distance)
        shapes = np.stack([cuts.n, size, cuts.limit], axis=1)
        kinds, inverse = np.unique(shapes[mixed], axis=0, return_inverse=True)
        best = [
            exact_maximum(int(n), int(s), int(limit), self.step, self.discount, distance)
            for n, s, limit in kinds
        ]
        result = np.zeros(len(size))
        result[mixed] = np.array(best)[inverse.ravel()] if best else 0.0
        return result

    def _exact_of_known(
        self, cuts: Cuts, size: np.ndarray, mixed: np.ndarray, distance: Distance
    ) -> np.ndarray:
        """Return the maximum with people of no group in their places, ties to whole numbers."""
        people = np.where(cuts.weight > 0, np.rint(cuts.cut), 0).astype(np.int64).tolist()
        result = np.zeros(len(size))
        for at in np.flatnonzero(mixed).tolist():
            result[at] = exact_maximum(
                int(cuts.n[at]),
                int(size[at]),
                int(cuts.limit[at]),
                self.step,
                self.discount,
                distance,
                tuple(people[cuts.offsets[at] : cuts.offsets[at + 1]]),
            )
        return result

    def _sorted_maximum(
        self, cuts: Cuts, distance: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        return sorted_lists_maximum(
            cuts.sizes, cuts.query, cuts.cut, cuts.offsets, cuts.weight, distance
        )


#: Largest number of groups: sorted lists are searched over all sets of groups.
MOST_GROUPS = 10


@dataclass(frozen=True, repr=False, kw_only=True)
class RKL(PrefixMetric):
    """rKL: the discounted divergence of group shares in prefixes from those of the whole list.

    ``rKL = 1/Z sum_k (1/log2 k) KL(shares in first k || shares in all)`` in bits over k = step, 2
    step, ..., with 0 log 0 = 0; 0 is equal. Without ``protected``, all groups are compared at once;
    with it, the group and everyone else. Z is the largest value over the lists sorted by group,
    which is the true maximum (verified by brute force). Tied items count with the expected number
    in each prefix. Undefined if a query contains only one group. Over draws: the expected metric.

    Parameters
    ----------
    protected : label, optional
        The group to compare with everyone else; without it, all groups are compared at once.

    Examples
    --------
    >>> from equirank.metrics import RKL, rkl
    >>> RKL(step=5)@50
    RKL(step=5)@50
    >>> rkl([5, 4, 3, 2], ["a", "a", "b", "b"], step=2)
    1.0
    >>> round(rkl([6, 5, 4, 3, 2, 1], list("abcaab"), step=3), 4)
    0.1383
    """

    def distance(self) -> Distance:
        """Return the divergence of a group and everyone else."""
        return two_group_divergence

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        values = super().values(slots)
        codes, labels = slots.groups(self.by)
        if self.protected is not None or len(labels) <= 2:
            return values
        if self.normalizer in ("exact", "last"):
            raise DataError(
                f"normalizer of {self} must be 'extremes' or 'none' for {len(labels)} groups at "
                "once, or protected must name one"
            )
        if self.normalizer == "extremes" and len(labels) > MOST_GROUPS:
            raise DataError(
                f"{self} compares up to {MOST_GROUPS} groups at once, got {len(labels)}; "
                "name protected, merge groups, or use normalizer='none'"
            )
        cuts = self.cuts(slots, codes, np.arange(len(labels)))
        n_at, sizes_at = cuts.n[cuts.query], cuts.sizes[cuts.query]

        def divergence(counts: np.ndarray) -> np.ndarray:
            return kl_divergence(counts, cuts.cut, n_at, sizes_at)

        total = segment_sum(cuts.weight * divergence(cuts.counts), cuts.offsets)
        mixed = ((cuts.sizes > 0).sum(axis=1) > 1) & (np.diff(cuts.offsets) > 0)
        if self.normalizer == "none":
            return values._replace(value=np.where(mixed, total, np.nan))
        worst = self._sorted_maximum(cuts, divergence)
        defined = mixed & (worst > 0)
        value = divide(total, worst, defined)
        return values._replace(value=value)


@dataclass(frozen=True, repr=False, kw_only=True)
class RND(PrefixMetric):
    """rND: the discounted difference between a group's share of prefixes and of the whole list.

    ``rND = 1/Z sum_k (1/log2 k) | |S+ in first k| / k - |S+| / N |`` over k = step, 2 step, ...; N
    and the share refer to the whole list, also with a cutoff. 0 is equal. Tied items count with the
    expected number in each prefix, so a fully tied list has the value 0. Undefined if a query
    contains only one group or no prefix can differ. The default normaliser is the true maximum
    (verified by brute force and dynamic programming). Over draws: the expected metric.

    Examples
    --------
    >>> from equirank.metrics import RND, rnd
    >>> RND(step=5)@50
    RND(step=5)@50
    >>> rnd([5, 4, 3, 2], ["a", "a", "b", "b"], step=2)  # as unfair as can be
    1.0
    >>> rnd([5, 4, 3, 2], ["a", "b", "a", "b"], step=2)
    0.0
    """

    plain_name: ClassVar[str] = "difference in shares of prefixes (rND)"

    def distance(self) -> Distance:
        """Return the difference of shares."""
        return share_distance


@dataclass(frozen=True, repr=False, kw_only=True)
class RRD(PrefixMetric):
    """rRD: the discounted difference of a group's ratio to everyone else in prefixes and the list.

    ``rRD = 1/Z sum_k (1/log2 k) | |S+_k| / |S-_k| - |S+| / |S-| |`` over k = step, 2 step, ...; a
    ratio with denominator 0 is 0. It is meaningful only if the protected group is the minority;
    otherwise a warning is raised. Tied items count with the expected number in each prefix. Lists
    sorted by group are not the worst ones here, so the default normaliser is the exact maximum.
    Undefined if a query contains only one group. With ties the value may exceed 1: the ratio is 0
    if nobody else is left, which an expected count just misses. Over draws: the expected metric.

    Examples
    --------
    >>> from equirank.metrics import RRD, rrd
    >>> RRD(step=5)@50
    RRD(step=5)@50
    >>> rrd([6, 5, 4, 3, 2, 1], list("abbabb"), protected="a", step=3)
    0.0
    """

    normalizer: Literal["extremes", "exact", "last", "none"] = "exact"

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Bounds of the values; none above, since expected counts of tied items may exceed 1."""
        return (0.0, math.inf)

    def distance(self) -> Distance:
        """Return the difference of ratios."""
        return ratio_distance

    def check(self, data: RankingData) -> None:
        """Warn if a compared group is not the minority."""
        super().check(data)
        attribute = data.attribute(self.by)
        share = attribute.sizes / max(1, int(attribute.sizes.sum()))
        code = int(share.argmax()) if self.protected is None else attribute.code(self.protected)
        if share[code] > 0.5:
            warnings.warn(
                f"{self} is only meaningful while the protected group is the minority, and "
                f"{attribute.categories[code]!r} is {share[code]:.0%} of the rows"
                + ("; name the protected group" if self.protected is None else ""),
                EquirankWarning,
                stacklevel=4,
            )
