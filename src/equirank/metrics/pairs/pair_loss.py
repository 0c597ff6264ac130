"""Pair loss: the share of misordered pairs, or its exponential bound."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.metric import Values
from ...core.params import Choice, Constraint
from ...core.slots import Slots
from ...kernels.pair_counts import grade_codes
from ...kernels.segments import divide, sort_within
from .misorder_cost import ITEM_COSTS, MisorderCost, PairCostMetric, blocks, terms

__all__ = ["PairLoss"]


#: Loss of a tied pair.
TIED = {"R1": 1.0, "R2": 0.5}


@dataclass(frozen=True, repr=False, kw_only=True)
class PairLoss(PairCostMetric):
    """Pair loss: the share of pairs in which the more relevant item is not ranked above the other.

    The pairs of a query with ``y_a > y_b`` have weights ``c_ab``: costs scaled to sum to 1 over
    these pairs, or equal weights without ``cost``.

    - R1: ``sum c_ab [s_a <= s_b]``, tied pairs are errors;
    - R2: ``sum c_ab ([s_a < s_b] + [s_a = s_b]/2)``, tied pairs are half errors;
    - E1: ``sum c_ab exp(-(s_a - s_b))``, an upper bound of R1. It depends on the scores, not on
      the order, so draws and rows that are not shown do not change it. It is summed in logarithms:
      only a value over 1.8e308 becomes infinite, without a warning.

    E2, the loss of RankBoost+, is no function of the scores: a pair that a weak ranker leaves tied
    has a loss of its own. `equirank.rankers.RankBoostPlus.e2` returns it for any data, without and
    with costs.

    R1 and R2 are in [0, 1], E1 in [0, inf). In R1 and R2, items that are not shown are tied below
    those shown; over draws they are the expected loss. The cost is O(n log n) for equal, product,
    sum, mean and by-grade costs, and linear in the number of pairs for others. Undefined if no two
    items differ in relevance (also for a single item), or if all such pairs cost 0.

    Parameters
    ----------
    kind : {"R1", "R2", "E1"}
        Which loss.
    cost : optional
        None: equal costs. ``"product"``, ``"mean"``, ``"sum"``, ``"max"``: combines the costs of
        the two items in the data. A square table: ``cost[y_a][y_b]``. A sparse matrix or a
        mapping: the pair of rows (a, b); other pairs cost 0. A callable: called with arrays of rows
        a and b, in input order. Pairs that are not compared may be omitted.

    References
    ----------
    Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences,
    JMLR 2003 (R1 and E1).
    Connamacher, Pancha, Liu and Ray, RankBoost+: an improvement to RankBoost, Machine Learning
    2020 (R2).

    Examples
    --------
    >>> from equirank.metrics import PairLoss, pair_loss
    >>> PairLoss(kind="R2", cost="product")
    PairLoss(cost="product", kind="R2")
    >>> pair_loss([2, 1, 0, 0], [0.9, 0.3, 0.5, 0.3])  # 1 wrong and 1 tied of 5 pairs
    0.4
    >>> pair_loss([2, 1, 0, 0], [0.9, 0.3, 0.5, 0.3], kind="R2")
    0.3
    >>> pair_loss([1, 0, 0], [0.5, 0.9, 0.1], cost=[2, 3, 1])  # 2 * 3 of 2 * 3 + 2 * 1
    0.75
    """

    exact_ties: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "no two items differ in relevance, or such pairs cost nothing"
    params: ClassVar[Mapping[str, Constraint]] = {
        "kind": Choice("R1", "R2", "E1"),
        "cost": MisorderCost(),
    }

    kind: Literal["R1", "R2", "E1"] = "R1"

    def __post_init__(self) -> None:
        """Check the options and set the needs and bounds that follow from them."""
        super().__post_init__()
        needs = {"cost"} if isinstance(self.cost, str) else set()
        if self.kind == "E1":
            needs.add("score")
            object.__setattr__(self, "bounds", (0.0, np.inf))
            object.__setattr__(self, "infinite", True)
        object.__setattr__(self, "needs", frozenset({"relevance", *needs}))

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        item_cost = None
        if self.cost in ITEM_COSTS:
            largest = np.maximum.reduceat(slots.cost, slots.offsets[:-1]).astype(np.float64)
            item_cost = slots.cost / np.repeat(largest, slots.sizes)
        products = terms(self.cost, slots, item_cost)
        with np.errstate(over="ignore"):
            if products is None:
                lost, total = self._listed(slots, item_cost)
            elif self.kind == "E1":
                lost, total = self._exponential(slots, products)
            else:
                lost, total = self._counted(slots, products)
            return Values(divide(lost, total))

    def _counted(
        self, slots: Slots, products: list[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        from ...kernels.metric_loops import separable_sums

        grade = grade_codes(slots.y, slots.offsets)
        lost, total = np.zeros(slots.n_queries), np.zeros(slots.n_queries)
        for u, v in products:
            above, tied, all_pairs = separable_sums(u, v, grade, slots.end(), slots.offsets)
            lost += above + TIED[self.kind] * tied
            total += all_pairs
        return lost, total

    def _exponential(
        self, slots: Slots, products: list[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        from ...kernels.metric_loops import exponential_sums

        grade = grade_codes(slots.y, slots.offsets)
        order = sort_within(-grade.astype(np.float64), slots.offsets)
        score = slots.score.astype(np.float64)[order]
        lost, total = np.zeros(slots.n_queries), np.zeros(slots.n_queries)
        for u, v in products:
            part = exponential_sums(u[order], v[order], score, grade[order], slots.offsets)
            lost += part[0]
            total += part[1]
        return lost, total

    def _listed(self, slots: Slots, item_cost: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        lost, total = np.zeros(slots.n_queries), np.zeros(slots.n_queries)
        position = slots.begin()
        for a, b, cost in blocks(self.cost, slots, item_cost):
            compared = slots.y[a] > slots.y[b]
            a, b, cost = a[compared], b[compared], cost[compared]
            if self.kind == "E1":
                loss = np.exp(slots.score[b].astype(np.float64) - slots.score[a])
                loss = np.where(cost > 0, loss, 0.0)
            else:
                loss = (position[a] > position[b]) + TIED[self.kind] * (position[a] == position[b])
            query = slots.query[a]
            lost += np.bincount(query, weights=cost * loss, minlength=slots.n_queries)
            total += np.bincount(query, weights=cost, minlength=slots.n_queries)
        return lost, total
