"""In-group fairness: accepted and rejected merits within each group."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core import inputs as door
from ...core.metric import GroupMetric, Metric
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.segments import segment_cumsum, segment_sum, sort_within, summable, tie_blocks

__all__ = ["IGFAggregated", "IGFMetric", "IGFRatio"]


@dataclass(frozen=True, repr=False, kw_only=True)
class IGFMetric(GroupMetric):
    """Base of metrics of in-group fairness: accepted and rejected merits of a group.

    Parameters
    ----------
    k : int, optional
        Cutoff: positions 1 to k are accepted.

    References
    ----------
    Yang, Gkatzelis and Stoyanovich, Balanced ranking with diversity constraints, IJCAI 2019.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    exact_ties: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "nobody is accepted, or a merit is 0"

    @classmethod
    def from_arrays(cls, *args: Any, **arguments: Any) -> tuple[Metric, dict[str, Any]]:
        """Raise for a merit that is not above 0.

        Parameters
        ----------
        y_true : array-like
            The merit of each row, > 0.
        """
        metric, arrays = super().from_arrays(**arguments)
        return metric, {**arrays, "y_true": _checked_merit(arrays["y_true"])}

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return each wanted group's value, NaN in queries where a merit is 0."""
        chance = slots.expect(discounts(int(slots.sizes.max()), "flat", self.k))
        merit, _ = summable(slots.y, slots.offsets)
        good = segment_sum((merit <= 0).astype(np.int64), slots.offsets) == 0
        inside = self.inside(slots.offsets, chance, merit)
        columns = [inside(codes == code) for code in wanted.tolist()]
        return np.where(good[:, None], np.stack(columns, axis=1), np.nan)

    def inside(
        self, offsets: np.ndarray, chance: np.ndarray, merit: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function from the members of a group to its value in each query."""
        raise TypeError(f"{type(self).__name__} must define inside; IGFMetric is abstract")


@dataclass(frozen=True, repr=False, kw_only=True)
class IGFRatio(IGFMetric):
    """IGF-ratio: the lowest accepted merit of a group divided by its highest rejected merit.

    Positions 1 to k are accepted (without a cutoff, all that are shown). ``IGF-ratio of G = min(1,
    lowest accepted merit in G / highest rejected merit in G)``; 1 if nobody of the group is
    rejected, no value if nobody is accepted. The merit is the relevance, which must be above 0. The
    value is that of the protected group, or else the lowest; the result includes the value of each
    group.

    Items tied at the cutoff count both as accepted and as rejected: the value is the lowest over
    the orders of tied items, not their mean. Over draws: the expected metric. Undefined if nobody
    is accepted or a merit of the query is 0 (the function raises an error for it).

    Examples
    --------
    >>> from equirank.metrics import IGFRatio, igf_ratio
    >>> IGFRatio(by="sex")@10
    IGFRatio(by="sex")@10
    >>> igf_ratio([9, 6, 8, 5], [4, 3, 2, 1], list("abbb"), k=2, return_groups=True)  # 6 / 8
    (0.75, {'a': 1.0, 'b': 0.75})
    """

    def inside(
        self, offsets: np.ndarray, chance: np.ndarray, merit: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return the lowest merit that may be accepted over the highest that may be rejected."""
        accepted = np.where(chance > 0, merit, np.inf)
        rejected = np.where(chance < 1, merit, 0.0)

        def ratio(member: np.ndarray) -> np.ndarray:
            lowest = np.minimum.reduceat(np.where(member, accepted, np.inf), offsets[:-1])
            highest = np.maximum.reduceat(np.where(member, rejected, 0.0), offsets[:-1])
            worse = lowest < highest
            value = np.divide(lowest, highest, out=np.ones(len(lowest)), where=worse)
            return np.where(np.isinf(lowest), np.nan, value)

        return ratio


def _checked_merit(y_true: Any) -> Any:
    """Raise for a merit that is not above 0; the message names the first row."""
    merit = door.numbers("y_true", y_true)
    if merit is not None:
        door.refuse("y_true", merit, ~(merit > 0), "a merit > 0")
    return merit


@dataclass(frozen=True, repr=False, kw_only=True)
class IGFAggregated(IGFMetric):
    """IGF-aggregated: the lowest accepted share of the merit at or above an accepted item.

    Positions 1 to k are accepted (without a cutoff, all that are shown). ``IGF-aggregated of G =
    min over accepted i in G of (sum of accepted merits in G at or above that of i) / (sum of all
    merits in G at or above that of i)``; no value if nobody of the group is accepted; 1 is best.
    The merit is the relevance, which must be above 0. The value is that of the protected group, or
    else the lowest; the result includes the value of each group.

    An item tied at the cutoff is accepted with its probability: sums are expected sums, and i runs
    over all items that may be accepted. This is not the mean over the orders of tied items. Over
    draws: the expected metric. Undefined if nobody is accepted or a merit of the query is 0 (the
    function raises an error for it).

    Examples
    --------
    >>> from equirank.metrics import IGFAggregated, igf_aggregated
    >>> IGFAggregated(by="sex")@10
    IGFAggregated(by="sex")@10
    >>> value = igf_aggregated([9, 6, 8, 5], [4, 3, 2, 1], list("abbb"), k=2)
    >>> round(value, 4)  # 6 / (8 + 6)
    0.4286
    """

    def inside(
        self, offsets: np.ndarray, chance: np.ndarray, merit: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return the lowest ratio of accepted to all merit, summed from the highest merit down."""
        order = sort_within(merit, offsets)
        _, end = tie_blocks(merit[order], offsets)
        last = np.arange(len(order)) if end is None else end - 1
        merit, chance = merit[order], chance[order]

        def lowest(member: np.ndarray) -> np.ndarray:
            own = member[order]
            merits = np.where(own, merit, 0.0)
            accepted_sum = segment_cumsum(merits * chance, offsets)
            total_sum = segment_cumsum(merits, offsets)
            ratio = np.full(len(own), np.inf)
            np.divide(
                accepted_sum[last],
                total_sum[last],
                out=ratio,
                where=own & (chance > 0) & (merit > 0),
            )
            least = np.minimum.reduceat(ratio, offsets[:-1])
            return np.where(np.isinf(least), np.nan, np.minimum(1.0, least))

        return lowest
