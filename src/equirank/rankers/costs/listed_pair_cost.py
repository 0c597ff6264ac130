"""ListedPairCost: costs of pairs that are named one by one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.pair_cost import PairCost
from ...core.params import Number, check_params

__all__ = ["ListedPairCost"]


@dataclass(frozen=True, eq=False)
class ListedPairCost(PairCost):
    """Costs of listed pairs of rows; every other pair costs ``other``.

    Rows are numbered as in the data that `fit` is given, so such a cost belongs to one data set
    and does not follow the rows of a cross-validation. A pair that is listed twice costs the sum.

    Parameters
    ----------
    first, second : array-like of int
        The pairs: the row of the better item, and of the other.
    cost : array-like of float
        What it costs to put ``second`` above ``first``; negative: the reverse.
    other : float
        The cost of pairs that are not listed.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.rankers import ListedPairCost
    >>> data = as_ranking_data(None, [2, 0, 1], qid=[1, 1, 1])
    >>> cost = ListedPairCost([0, 0], [1, 2], [5.0, 2.0], other=1.0)
    >>> cost.pairs(data, np.array([0, 0, 2]), np.array([1, 2, 1]))
    array([5., 2., 1.])
    """

    first: Any
    second: Any
    cost: Any
    other: float = 0.0

    def __post_init__(self) -> None:
        """Check the list and keep it as arrays."""
        check_params("ListedPairCost", {"other": self.other}, {"other": Number()})
        first, second = np.asarray(self.first), np.asarray(self.second)
        cost = np.asarray(self.cost, dtype=np.float64)
        if not (first.ndim == 1 and first.shape == second.shape == cost.shape):
            raise DataError(
                "first, second and cost of ListedPairCost must have one length, got shapes "
                f"{first.shape}, {second.shape} and {cost.shape}"
            )
        for name, rows in (("first", first), ("second", second)):
            if rows.size and (rows.dtype.kind not in "iu" or rows.min() < 0):
                raise DataError(f"{name} of ListedPairCost must hold row numbers >= 0")
        if not np.isfinite(cost).all():
            raise DataError("cost of ListedPairCost must hold finite numbers")
        for name, values in (("first", first), ("second", second)):
            object.__setattr__(self, name, values.astype(np.int64))
        object.__setattr__(self, "cost", cost)

    def pairs(self, data: RankingData, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Give the costs of pairs of stored rows."""
        rows = np.arange(data.n_rows) if data.rows is None else data.rows
        size = int(max(rows.max(), self.first.max(initial=0), self.second.max(initial=0))) + 1
        keys, at = np.unique(self.first * size + self.second, return_inverse=True)
        if len(keys) == 0:
            return np.full(len(first), float(self.other))
        total = np.bincount(at.ravel(), weights=self.cost)
        wanted = rows[first].astype(np.int64) * size + rows[second]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, total[place], float(self.other))
