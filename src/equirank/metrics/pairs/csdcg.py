"""CSDCG and CostNDCG: discounted gain weighted by the costs of items."""

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

__all__ = ["CSDCG", "CostNDCG"]


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
        cost, power = _mean_costs(self.cost, slots)
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


@dataclass(frozen=True, repr=False, kw_only=True)
class CostNDCG(PairCostMetric):
    """NDCG in which the gain of an item is weighted by what its pairs cost.

    ``sum_i c*_i (2**y_i - 1) / log2(1 + pos(i))`` over positions up to k, divided by its largest
    value over all orders of the query's items. ``c*_i`` is the mean cost of the pairs (i, other)
    over the other items of the query, as in `CSDCG`. With equal costs it is NDCG; it is in [0, 1]
    and the scale of the costs cancels. Of two equally relevant items the more costly one counts
    more. If no cost changes by more than a factor e^d, the value changes by at most e^(2d) - 1. The
    best order is by cost times gain, so a costly item may come before a slightly more relevant one.
    Tied items receive the mean discount of the positions they span. Undefined if no item has both
    relevance and cost; the cost of a single item is 1.

    Parameters
    ----------
    cost : optional
        As in `CSDCG`: ``"product"``, ``"mean"``, ``"sum"`` or ``"max"`` of the costs of the two
        items, None, a table, pairs, or a callable.

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002 (the gain,
    the discount and the normalisation).

    Examples
    --------
    >>> from equirank.metrics import CostNDCG, cost_ndcg, ndcg
    >>> CostNDCG()@10
    CostNDCG@10
    >>> round(cost_ndcg([1, 1], [0.5, 0.9], cost=[3, 1]), 4)  # the mean costs are 3 and 3
    1.0
    >>> round(cost_ndcg([1, 1, 0], [0.5, 0.9, 0.1], cost=[3, 1, 1]), 4)  # (2 + 3 d) / (3 + 2 d)
    0.9134
    >>> cost_ndcg([2, 0, 1], [1, 2, 3], cost=[4, 4, 4]) == ndcg([2, 0, 1], [1, 2, 3])
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "cost"})
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    why_undefined: ClassVar[str] = "no item has both relevance and cost"
    params: ClassVar[Mapping[str, Constraint]] = {"cost": MisorderCost()}

    cost: Any = "product"

    def __post_init__(self) -> None:
        """Check the options; costs that are given as such need none in the data."""
        super().__post_init__()
        if not isinstance(self.cost, str):
            object.__setattr__(self, "needs", frozenset({"relevance"}))

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        shift = gain_shift(slots.y, "exp2", slots.query, slots.n_queries)
        gain = gains(slots.y, "exp2", None if shift is None else shift[slots.query])
        cost, _ = _mean_costs(self.cost, slots)
        weight = gain * np.where(np.repeat(slots.sizes, slots.sizes) > 1, cost, 1.0)
        table = discounts(int(slots.sizes.max()), "log2", self.k)
        value = segment_sum(weight * slots.expect(table), slots.offsets)
        ideal = sort_values_within(weight, slots.offsets) * table[slots.position - 1]
        best = segment_sum(ideal, slots.offsets)
        return Values(np.minimum(divide(value, best, best > 0.0), 1.0))


def _mean_costs(kind: Any, slots: Slots) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean cost of each item's pairs with the other items of its query.

    Very large and very small costs are divided by a power of two per query, which is returned.
    """
    from ...kernels.metric_loops import exclusive_sums

    others = np.repeat(np.maximum(slots.sizes - 1, 1), slots.sizes)
    item_cost, power = None, np.zeros(slots.n_queries, dtype=np.int64)
    if kind in ITEM_COSTS:
        item_cost = slots.cost.astype(np.float64)
        if item_cost.max() >= WIDE or item_cost.min() <= 1.0 / WIDE:
            largest = np.maximum.reduceat(item_cost, slots.offsets[:-1])
            power = np.frexp(largest)[1].astype(np.int64)
            item_cost = np.ldexp(item_cost, -power[slots.query])
    products = terms(kind, slots, item_cost)
    total = np.zeros(len(slots.order))
    if products is not None:
        for u, v in products:
            total += u * exclusive_sums(v, slots.offsets)
    elif item_cost is not None:
        total = largest_with_others(item_cost, slots.offsets)
    else:
        for a, _, cost in blocks(kind, slots, None):
            total += np.bincount(a, weights=cost, minlength=len(total))
    return total / others, power * (2 if kind == "product" else 1)


def _signs(slots: Slots) -> np.ndarray:
    """Return +1 for the better half by relevance, -1 for the other, the mean for ties across."""
    order, begin, end = truth_order(slots.y, slots.offsets)
    size = end - begin
    half = np.repeat(slots.sizes // 2, slots.sizes)
    high = np.clip(half - (begin - slots.start), 0, size) / size
    signs = np.empty(len(order))
    signs[order] = 2.0 * high - 1.0
    return signs
