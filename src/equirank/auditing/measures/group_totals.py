"""Group totals: the sums over lists from which shares, rates and means of every group are made."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...core.evaluation import Result
from ...core.metric import Metric, Values
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.division import divide
from .position_difference import places

__all__ = ["GroupTotals", "Totals"]

#: The sums before those of the selections at each k.
SUMS = ("place", "lists", "people", "exposure", "merit_exposure", "merit", "relevance")


@dataclass(frozen=True, repr=False, kw_only=True)
class GroupTotals(Metric):
    """Sums per list and group, which add up over lists: what `Totals` reads.

    Parameters
    ----------
    by : tuple of str
        The attribute, or several that are crossed.
    ks : tuple of int
        At each k, the first k places are selected.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    takes_k: ClassVar[bool] = False

    by: Any = None
    ks: tuple[int, ...] = ()

    def values(self, slots: Slots) -> Values:
        """Give the sums of each query, sum after sum; the value itself says nothing."""
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
        place = divide(add(places(slots)), people)
        parts = [
            *(np.nan_to_num(place), (people > 0).astype(np.float64), people, exposure),
            *(exposure * (merit.sum(axis=1, keepdims=True) > 0), merit, relevance),
            *(add(slots.expect(discounts(longest, "flat", k))) for k in self.ks),
        ]
        table = np.stack(parts, axis=1)
        return Values(np.zeros(len(table)), table.reshape(len(table), -1), labels)

    def summarize(
        self, values: Values, counts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Add up over queries."""
        table = np.asarray(values.groups)
        if counts is None:
            return np.zeros(()), table.sum(axis=0)
        return np.zeros(len(counts)), counts @ table


def _scaled(total: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Scale each list so that its items have 1 on average, so that long lists weigh no more."""
    whole = total.sum(axis=1, keepdims=True)
    return np.nan_to_num(divide(total * sizes[:, None], whole))


class Totals:
    """What the sums say: means, shares and rates per group, also of bootstrap replicates.

    Parameters
    ----------
    sums : ndarray
        Sums of every group, with replicates first where there are any.
    ks : tuple of int
        The cutoffs.
    """

    def __init__(self, sums: np.ndarray, ks: tuple[int, ...]) -> None:
        self.ks = ks
        self.table = sums.reshape(*sums.shape[:-1], len(SUMS) + len(ks), -1)

    @classmethod
    def of(cls, result: Result) -> tuple["Totals", "Totals | None"]:
        """Give the totals of a result, and those of its replicates."""
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
        """Mean over lists of the mean place."""
        return divide(self._sum("place"), self.lists)

    @cached_property
    def exposure(self) -> np.ndarray:
        """Share of all exposure."""
        return _share(self._sum("exposure"))

    @cached_property
    def exposure_per_item(self) -> np.ndarray:
        """Share of all exposure over share of all rows: 1 is what everybody has on average."""
        return divide(self.exposure * self.people.sum(axis=-1, keepdims=True), self.people)

    @cached_property
    def merit(self) -> np.ndarray:
        """Share of all merit, over the lists that hold any."""
        return _share(self._sum("merit"))

    @cached_property
    def relevance(self) -> np.ndarray:
        """Mean relevance."""
        return divide(self._sum("relevance"), self.people)

    @cached_property
    def exposure_of_merit_lists(self) -> np.ndarray:
        """Share of exposure, over the lists that hold any merit."""
        return _share(self._sum("merit_exposure"))

    @cached_property
    def exposure_per_merit(self) -> np.ndarray:
        """Share of exposure over share of merit, over the lists that hold any merit."""
        merit = self.merit
        return divide(self.exposure_of_merit_lists, merit, np.nan_to_num(merit) > 0)

    def selected(self, k: int) -> np.ndarray:
        """Expected number of rows in the first k places."""
        return self.table[..., len(SUMS) + self.ks.index(k), :]

    def rate(self, k: int) -> np.ndarray:
        """Share of the group's rows in the first k places."""
        return divide(self.selected(k), self.people)


def _share(total: np.ndarray) -> np.ndarray:
    return divide(total, total.sum(axis=-1, keepdims=True))
