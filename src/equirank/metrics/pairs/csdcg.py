"""CSDCG: discounted gain weighted by the costs of items."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.metric import Values
from ...core.params import Constraint, Flag
from ...core.slots import Slots
from ...kernels.discounts import discounts, gain_shift, gains, unshifted
from ...kernels.pair_counts import largest_with_others, truth_order
from ...kernels.segments import divide, segment_sum, sort_values_within
from .misorder_cost import ITEM_COSTS, MisorderCost, PairCostMetric, blocks, terms

__all__ = ["CSDCG"]


#: Costs of this size, or its inverse, are scaled before they are multiplied.
WIDE = 2.0**400


@dataclass(frozen=True, repr=False, kw_only=True)
class CSDCG(PairCostMetric):
    """CSDCG: discounted gain weighted by cost, in which the less relevant half counts negatively.

    ``CSDCG@k = sum_i sign_i (2**y_i - 1) c*_i / log2(1 + pos(i))`` over positions up to k. ``c*_i``
    is the mean cost of the pairs (i, other) over the other items of the query, including those of
    equal relevance; costs are not scaled. ``sign_i`` is +1 for the more relevant half, positions 1
    to floor(n/2) by relevance, and -1 for the rest; items of equal relevance across that border
    share the mean sign. (As published, the formula mixes two indices; the position of the item is
    meant.) Items of relevance 0 have weight 0, whatever their cost.

    ``normalized``: ``(value - worst) / (best - worst)``, with best and worst found by sorting the
    signed weights, among lists that show as many items. It is in [0, 1], and the scale of the costs
    cancels. The published text has no normalisation. Tied items receive the mean discount of the
    positions they span, so the value is the exact expectation over ties and draws. Undefined for a
    single item; normalised, also if best equals worst.

    Parameters
    ----------
    cost : optional
        ``"product"``, ``"mean"``, ``"sum"``, ``"max"``: combines the costs of the two items in the
        data. None: every pair costs 1. A square table: ``cost[y_i][y_other]``. A sparse matrix or a
        mapping: the pair of rows (i, other); other pairs cost 0. A callable: called with arrays of
        rows i and other, in input order.
    normalized : bool
        Scale between the worst order (0) and the best (1) of the same items.

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002 (the gain
    and discount that it weighs).

    Examples
    --------
    >>> from equirank.metrics import CSDCG, csdcg
    >>> CSDCG(normalized=True)
    CSDCG(normalized=True)
    >>> round(csdcg([2, 1], [0.9, 0.5], cost=[3, 2]), 4)  # 3 * 6 / log2(2) - 1 * 6 / log2(3)
    14.2144
    >>> csdcg([2, 1], [0.9, 0.5], cost=[3, 2], normalized=True)
    1.0
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "cost"})
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    why_undefined: ClassVar[str] = "it contains a single item, or every order has the same value"
    params: ClassVar[Mapping[str, Constraint]] = {"cost": MisorderCost(), "normalized": Flag()}

    cost: Any = "product"
    normalized: bool = False

    def __post_init__(self) -> None:
        """Check the options and set the needs and bounds that follow from them."""
        super().__post_init__()
        if not isinstance(self.cost, str):
            object.__setattr__(self, "needs", frozenset({"relevance"}))
        if self.normalized:
            object.__setattr__(self, "bounds", (0.0, 1.0))

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        shift = gain_shift(slots.y, "exp2", slots.query, slots.n_queries)
        gain = gains(slots.y, "exp2", None if shift is None else shift[slots.query])
        cost, power = self._mean_costs(slots)
        weight = _signs(slots) * gain * cost
        table = discounts(int(slots.sizes.max()), "log2", self.k)
        value = segment_sum(weight * slots.expect(table), slots.offsets)
        several = slots.sizes > 1
        if not self.normalized:
            return Values(np.where(several, unshifted(value, shift, power), np.nan))
        discount = table[slots.position - 1]
        if slots.shown is not None:
            discount = discount * (slots.position <= np.repeat(slots.shown, slots.sizes))
        best = segment_sum(sort_values_within(weight, slots.offsets) * discount, slots.offsets)
        worst = -segment_sum(sort_values_within(-weight, slots.offsets) * discount, slots.offsets)
        size = segment_sum(
            sort_values_within(np.abs(weight), slots.offsets) * discount, slots.offsets
        )
        defined = several & (best - worst > 1e-12 * size)
        share = divide(value - worst, best - worst, defined)
        return Values(np.clip(share, 0.0, 1.0))

    def _mean_costs(self, slots: Slots) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean cost of each item's pairs with the other items of its query.

        Very large and very small costs are divided by a power of two per query, which is returned.
        """
        from ...kernels.metric_loops import exclusive_sums

        others = np.repeat(np.maximum(slots.sizes - 1, 1), slots.sizes)
        item_cost, power = None, np.zeros(slots.n_queries, dtype=np.int64)
        if self.cost in ITEM_COSTS:
            item_cost = slots.cost.astype(np.float64)
            if item_cost.max() >= WIDE or item_cost.min() <= 1.0 / WIDE:
                largest = np.maximum.reduceat(item_cost, slots.offsets[:-1])
                power = np.frexp(largest)[1].astype(np.int64)
                item_cost = np.ldexp(item_cost, -power[slots.query])
        products = terms(self.cost, slots, item_cost)
        total = np.zeros(len(slots.order))
        if products is not None:
            for u, v in products:
                total += u * exclusive_sums(v, slots.offsets)
        elif item_cost is not None:
            total = largest_with_others(item_cost, slots.offsets)
        else:
            for a, _, cost in blocks(self.cost, slots, None):
                total += np.bincount(a, weights=cost, minlength=len(total))
        return total / others, power * (2 if self.cost == "product" else 1)


def _signs(slots: Slots) -> np.ndarray:
    """Return +1 for the better half by relevance, -1 for the other, the mean for ties across."""
    order, begin, end = truth_order(slots.y, slots.offsets)
    size = end - begin
    half = np.repeat(slots.sizes // 2, slots.sizes)
    high = np.clip(half - (begin - slots.start), 0, size) / size
    signs = np.empty(len(order))
    signs[order] = 2.0 * high - 1.0
    return signs
