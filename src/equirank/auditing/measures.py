"""Sums per list and group, and the means, shares and rates computed from them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..core.evaluation import Result
from ..core.metric import Metric, Values
from ..core.order_values import slot_positions
from ..core.slots import Slots
from ..kernels.column_names import TOTAL_COLUMNS
from ..kernels.discounts import discounts
from ..kernels.segments import divide

__all__ = ["GroupTotals", "Totals", "list_differences"]


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
        sizes = people.sum(axis=1)
        exposure = _scaled(add(slots.expect(discounts(longest, "log2"))), sizes)
        merit = relevance = np.zeros_like(people)
        if slots.data.y is not None:
            relevance = add(slots.y.astype(np.float64, copy=False))
            merit = _scaled(relevance, sizes)
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
    """Scale each list to a mean of 1 per item of a group, so that long lists weigh no more."""
    whole = total.sum(axis=1, keepdims=True)
    return np.nan_to_num(divide(total * sizes[:, None], whole))


def list_differences(result: Result) -> np.ndarray:
    """Return each group's mean position minus that of everyone else, per list.

    NaN where a list lacks the group or everyone else.
    """
    table = np.asarray(result.values.groups)
    table = table.reshape(len(table), len(TOTAL_COLUMNS) + len(result.metric.ks), -1)  # type: ignore[attr-defined]
    mean, people = (
        table[:, TOTAL_COLUMNS.index("position")],
        table[:, TOTAL_COLUMNS.index("people")],
    )
    total = mean * people
    rest = total.sum(axis=1, keepdims=True) - total
    rest_people = people.sum(axis=1, keepdims=True) - people
    return divide(total, people) - divide(rest, rest_people)


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
        self.table = sums.reshape(*sums.shape[:-1], len(TOTAL_COLUMNS) + len(ks), -1)

    @classmethod
    def of(cls, result: Result) -> tuple["Totals", "Totals | None"]:
        """Return the totals of a result, and those of its replicates."""
        ks = result.metric.ks  # type: ignore[attr-defined]
        sums = np.asarray(result.summary[1])
        drawn = result.group_replicates
        return cls(sums, ks), None if drawn is None else cls(drawn, ks)

    def _sum(self, name: str) -> np.ndarray:
        return self.table[..., TOTAL_COLUMNS.index(name), :]

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
        return self.table[..., len(TOTAL_COLUMNS) + self.ks.index(k), :]

    def rate(self, k: int) -> np.ndarray:
        """Return the share of the group's rows in the top k."""
        return divide(self.selected(k), self.people)


def _share(total: np.ndarray) -> np.ndarray:
    return divide(total, total.sum(axis=-1, keepdims=True))
