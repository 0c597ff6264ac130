"""What each training pair costs, written so that pairs need not be listed where possible."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.pair_cost import PairCost

__all__ = ["CostRule", "cost_rule"]


@dataclass(frozen=True, eq=False)
class CostRule:
    """The cost of every pair of stored rows: item costs combined, times a pair cost.

    Attributes
    ----------
    item : ndarray or None
        Cost of each row; None where all are equal.
    combination : {"product", "sum", "mean"}
        How two item costs make one.
    cells, matrix : ndarray
        Cell of each row and cost of each pair of cells.
    listed : PairCost or None
        A cost that is no function of cells, asked pair by pair.
    equal_grades : bool
        Whether pairs of equal relevance in different cells count.
    power : float
        The costs are raised to this power (signs are kept).
    """

    item: np.ndarray | None
    combination: str
    cells: np.ndarray
    matrix: np.ndarray
    listed: PairCost | None = None
    equal_grades: bool = False
    power: float = 1.0

    @property
    def uniform(self) -> bool:
        """Whether every pair costs the same."""
        one = (self.matrix == self.matrix[0, 0]).all() and self.matrix[0, 0] > 0
        return bool(self.item is None and self.listed is None and one and not self.equal_grades)

    @property
    def separable(self) -> bool:
        """Whether the costs are a short sum of products over items."""
        rooted = self.power != 1.0 and self.item is not None and self.combination != "product"
        return self.listed is None and not rooted

    def blind(self) -> "CostRule":
        """Give the rule under which every pair costs 1."""
        return CostRule(None, self.combination, self.cells, np.ones_like(self.matrix))

    def to_power(self, power: float) -> "CostRule":
        """Give the rule whose costs are raised to a power."""
        return replace(self, power=power)

    def terms(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Write the item part as ``sum_t p[t, a] q[t, b]``; None where it is 1 for every pair."""
        if self.item is None:
            return None
        if self.combination == "product":
            c = self.item**self.power
            return c[None], c[None]
        c = self.item if self.combination == "sum" else 0.5 * self.item
        one = np.ones_like(c)
        return np.stack([c, one]), np.stack([one, c])

    def factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give the factor of (preferred, other) cells: other of lower, equal and higher grade."""
        matrix = np.sign(self.matrix) * np.abs(self.matrix) ** self.power
        lower, higher = np.maximum(matrix, 0.0), np.maximum(-matrix.T, 0.0)
        equal = np.zeros_like(lower)
        if self.equal_grades:
            equal = lower + higher
            np.fill_diagonal(equal, 0.0)
        return lower, equal, higher

    def of_pairs(self, data: RankingData, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Give the costs of listed pairs of stored rows, signs included."""
        if self.listed is not None:
            cost = np.asarray(self.listed.pairs(data, first, second), dtype=np.float64)
            if cost.shape != first.shape or not np.isfinite(cost).all():
                raise DataError(
                    f"pair_cost {type(self.listed).__name__} must give one finite number per pair"
                )
        else:
            cost = self.matrix[self.cells[first], self.cells[second]]
        if self.item is not None:
            a, b = self.item[first], self.item[second]
            both = a * b if self.combination == "product" else a + b
            cost = cost * (0.5 * both if self.combination == "mean" else both)
        return cost if self.power == 1.0 else np.sign(cost) * np.abs(cost) ** self.power


def cost_rule(data: RankingData, combination: str, pair_cost: PairCost | None) -> CostRule:
    """Read the costs of a data set; equal costs are recognised, so that they change nothing."""
    item = None if data.cost is None else np.asarray(data.cost, dtype=np.float64)
    if item is not None:  # relative to the largest, so that no scale of costs over- or underflows
        item = None if (item == item[0]).all() else item / item.max()
    cells, matrix = np.zeros(data.n_rows, dtype=np.int32), np.ones((1, 1))
    rule = CostRule(item, combination, cells, matrix)
    if pair_cost is None:
        return rule
    found = pair_cost.blocks(data)
    if found is None:
        return replace(rule, listed=pair_cost)
    cells, matrix = _checked(pair_cost, found, data.n_rows)
    if (matrix == matrix[0, 0]).all() and matrix[0, 0] > 0 and not pair_cost.equal_grades:
        return rule
    matrix = matrix / max(np.abs(matrix).max(), np.finfo(np.float64).tiny)
    return replace(rule, cells=cells, matrix=matrix, equal_grades=pair_cost.equal_grades)


def _checked(pair_cost: PairCost, found: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    cells, matrix = np.asarray(found[0], dtype=np.int32), np.asarray(found[1], dtype=np.float64)
    name = type(pair_cost).__name__
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise DataError(f"pair_cost {name} must give a square matrix of finite numbers by cell")
    if cells.shape != (n_rows,) or cells.min() < 0 or cells.max() >= len(matrix):
        raise DataError(f"pair_cost {name} must give one cell of its matrix per row")
    return cells, matrix
