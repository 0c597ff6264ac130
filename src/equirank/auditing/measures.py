"""The metrics of an audit: differences in position and exposure, and totals of groups."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..core.evaluation import Result
from ..core.metric import GroupMetric, Metric, Values
from ..core.slots import Slots
from ..kernels.discounts import discounts
from ..kernels.resampling import weighted_means
from ..kernels.segments import divide

__all__ = ["GroupDifferences", "GroupTotals", "PositionDifference", "Totals", "slot_positions"]


def slot_positions(slots: Slots) -> np.ndarray:
    """Return each slot's position; ties have the mean of their block, hidden items come last."""
    if slots.lo is None:
        return slots.position.astype(np.float64)
    return (slots.lo + slots.end() - 2.0 * slots.start + 1.0) / 2.0


@dataclass(frozen=True, repr=False, kw_only=True)
class PositionDifference(GroupMetric):
    """Position difference: mean position of a group minus that of everyone else; 0 is equal.

    ``mean position of G - mean position of the rest`` in each list, averaged over lists; above 0
    the group ranks lower. The value is the protected group's, else that farthest from 0. Tied items
    have the mean position of their block; items not shown share the positions after those shown.
    Over draws: the expected difference. Undefined if a list has only one group.

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
        """Return the difference of every group in each query."""
        codes, labels = slots.groups(self.by)
        total = slots.sum_by_group(slot_positions(slots), codes, len(labels))
        people = slots.sum_by_group(np.ones(len(codes)), codes, len(labels))
        groups = _differences(total, people)
        return Values(self._chosen(slots.data, groups), groups, labels)

    def summarize(
        self, values: Values, counts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the mean difference of the protected group, else the largest, and those of all."""
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
        """Return the value farthest from 0 over the last axis, ignoring NaN."""
        size = np.where(np.isnan(groups), -1.0, np.abs(groups))
        return np.take_along_axis(groups, size.argmax(axis=-1)[..., None], axis=-1)[..., 0]


@dataclass(frozen=True, repr=False, kw_only=True)
class GroupDifferences(GroupMetric):
    """Each group's difference in position, then each group's difference in exposure.

    Exposure is scaled to a mean of 1 in every list, so that lists of all lengths weigh the same.
    Both are differences from everyone else, with two-sided tests.
    """

    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    signed: ClassVar[bool] = True
    takes_k: ClassVar[bool] = False

    def values(self, slots: Slots) -> Values:
        """Return the differences of all groups in each query: position, then exposure."""
        codes, labels = slots.groups(self.by)
        n = len(labels)
        people = slots.sum_by_group(np.ones(len(codes)), codes, n)
        exposure = slots.expect(discounts(int(slots.sizes.max()), "log2"))
        total = slots.sum_by_group(exposure, codes, n)
        mean = divide(total.sum(axis=1, keepdims=True), people.sum(axis=1, keepdims=True))
        position = _differences(slots.sum_by_group(slot_positions(slots), codes, n), people)
        scaled = divide(_differences(total, people), mean, np.nan_to_num(mean) > 0)
        groups = np.concatenate([position, scaled], axis=1)
        worst = np.where(np.isnan(position), 0.0, np.abs(position)).max(axis=1)
        return Values(np.where(np.isnan(position).all(axis=1), np.nan, worst), groups, labels)

    def summarize(
        self, values: Values, counts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the mean of each difference over queries."""
        groups = weighted_means(np.asarray(values.groups), counts)
        return np.zeros(groups.shape[:-1]), groups

    def parts(self, result: Result) -> tuple[Result, Result]:
        """Return the differences in position and those in exposure as separate results."""
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
    """Return each group's mean minus that of everyone else."""
    rest = total.sum(axis=1, keepdims=True) - total
    rest_people = people.sum(axis=1, keepdims=True) - people
    return divide(total, people) - divide(rest, rest_people)


#: The sums before those of the selections at each k.
SUMS = ("position", "lists", "people", "exposure", "merit_exposure", "merit", "relevance")


@dataclass(frozen=True, repr=False, kw_only=True)
class GroupTotals(Metric):
    """Sums per list and group, which are additive over lists; `Totals` reads them.

    Parameters
    ----------
    by : tuple of str
        The attribute, or several to cross.
    ks : tuple of int
        At each k, the top k are selected.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    takes_k: ClassVar[bool] = False

    by: Any = None
    ks: tuple[int, ...] = ()

    def values(self, slots: Slots) -> Values:
        """Return the sums of each query, one sum after the other; the value itself is 0."""
        codes, labels = slots.groups(self.by)
        n_groups, longest = len(labels), int(slots.sizes.max())

        def add(values: np.ndarray) -> np.ndarray:
            return slots.sum_by_group(values, codes, n_groups)

        people = add(np.ones(len(codes)))
        exposure = _scaled(add(slots.expect(discounts(longest, "log2"))), slots.sizes)
        merit = relevance = np.zeros_like(people)
        if slots.data.y is not None:
            relevance = add(slots.y.astype(np.float64, copy=False))
            merit = _scaled(relevance, slots.sizes)
        position = divide(add(slot_positions(slots)), people)
        parts = [
            *(np.nan_to_num(position), (people > 0).astype(np.float64), people, exposure),
            *(exposure * (merit.sum(axis=1, keepdims=True) > 0), merit, relevance),
            *(add(slots.expect(discounts(longest, "flat", k))) for k in self.ks),
        ]
        table = np.stack(parts, axis=1)
        return Values(np.zeros(len(table)), table.reshape(len(table), -1), labels)

    def summarize(
        self, values: Values, counts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the sums over queries."""
        table = np.asarray(values.groups)
        if counts is None:
            return np.zeros(()), table.sum(axis=0)
        return np.zeros(len(counts)), counts @ table


def _scaled(total: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Scale each list to a mean of 1 per item, so that long lists weigh no more."""
    whole = total.sum(axis=1, keepdims=True)
    return np.nan_to_num(divide(total * sizes[:, None], whole))


class Totals:
    """Means, shares and rates per group, computed from the sums; also of bootstrap replicates.

    Parameters
    ----------
    sums : ndarray
        Sums of every group; with replicates, these are the first axis.
    ks : tuple of int
        The cutoffs.
    """

    def __init__(self, sums: np.ndarray, ks: tuple[int, ...]) -> None:
        self.ks = ks
        self.table = sums.reshape(*sums.shape[:-1], len(SUMS) + len(ks), -1)

    @classmethod
    def of(cls, result: Result) -> tuple["Totals", "Totals | None"]:
        """Return the totals of a result, and those of its replicates."""
        ks = result.metric.ks  # type: ignore[attr-defined]
        sums = np.asarray(result.summary[1])
        drawn = result.group_replicates
        return cls(sums, ks), None if drawn is None else cls(drawn, ks)

    def _sum(self, name: str) -> np.ndarray:
        return self.table[..., SUMS.index(name), :]

    @cached_property
    def people(self) -> np.ndarray:
        """Number of rows."""
        return self._sum("people")

    @cached_property
    def lists(self) -> np.ndarray:
        """Number of lists with at least one row."""
        return self._sum("lists")

    @cached_property
    def mean_position(self) -> np.ndarray:
        """Mean over lists of the mean position."""
        return divide(self._sum("position"), self.lists)

    @cached_property
    def exposure(self) -> np.ndarray:
        """Share of all exposure."""
        return _share(self._sum("exposure"))

    @cached_property
    def exposure_per_item(self) -> np.ndarray:
        """Share of all exposure divided by share of all rows; the overall mean is 1."""
        return divide(self.exposure * self.people.sum(axis=-1, keepdims=True), self.people)

    @cached_property
    def merit(self) -> np.ndarray:
        """Share of all merit, over lists with any merit."""
        return _share(self._sum("merit"))

    @cached_property
    def relevance(self) -> np.ndarray:
        """Mean relevance."""
        return divide(self._sum("relevance"), self.people)

    @cached_property
    def exposure_of_merit_lists(self) -> np.ndarray:
        """Share of exposure, over lists with any merit."""
        return _share(self._sum("merit_exposure"))

    @cached_property
    def exposure_per_merit(self) -> np.ndarray:
        """Share of exposure divided by share of merit, over lists with any merit."""
        merit = self.merit
        return divide(self.exposure_of_merit_lists, merit, np.nan_to_num(merit) > 0)

    def selected(self, k: int) -> np.ndarray:
        """Return the expected number of rows in the top k."""
        return self.table[..., len(SUMS) + self.ks.index(k), :]

    def rate(self, k: int) -> np.ndarray:
        """Return the share of the group's rows in the top k."""
        return divide(self.selected(k), self.people)


def _share(total: np.ndarray) -> np.ndarray:
    return divide(total, total.sum(axis=-1, keepdims=True))
