"""PairCost: the cost of ranking the worse item of a pair above the better one."""

import warnings
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from .data import RankingData
from .errors import DataError, EquirankWarning

__all__ = ["PairCost", "warn_uneven_costs"]

#: Ratio of costs above which a few items dominate cost-sensitive results.
UNEVEN = 10.0


@dataclass(frozen=True, eq=False)
class PairCost:
    """Base class of pair costs, which assign a cost to each pair of items of one query.

    The cost of a pair (a, b) is the cost of ranking ``b`` above ``a`` if ``a`` has the higher
    relevance. A negative cost applies to the reversed pair: its absolute value is the cost of
    ranking ``a`` above ``b``. Pairs of cost 0 are ignored.

    A pair cost has parameters and no data, so rankers accept it as the parameter ``pair_cost=``,
    and cloning, cross-validation and metadata routing work as usual. A subclass defines `blocks` if
    the cost depends only on the cells of the two items (rankers then do not list the pairs), and
    `pairs` otherwise.

    Attributes
    ----------
    needs : frozenset of str
        Of ``"sensitive_features", "cost"``: what `fit` requires in addition to the relevance.
    equal_grades : bool
        Whether pairs of equal relevance count as well, if their items are in different cells. Both
        orders of such a pair then have their own cost.

    Examples
    --------
    Pairs whose better item is in one group cost twice as much:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.costs import PairCost
    >>> @dataclass(frozen=True, eq=False)
    ... class BetterHalf(PairCost):
    ...     group: str
    ...     needs = frozenset({"sensitive_features"})
    ...
    ...     def blocks(self, data):
    ...         attribute = data.attribute()
    ...         inside = attribute.codes == attribute.code(self.group)
    ...         return inside.astype(np.int32), np.array([[1.0, 1.0], [2.0, 2.0]])
    >>> data = as_ranking_data(None, [1, 0, 1], qid=[7, 7, 7], sensitive_features=["f", "m", "m"])
    >>> BetterHalf("f").pairs(data, np.array([0, 2]), np.array([1, 1]))
    array([2., 1.])
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    equal_grades: ClassVar[bool] = False

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the cell of each stored row (int32) and the cost of each pair of cells (float64).

        ``matrix[cell(a), cell(b)]`` is the cost of the pair (a, b), where ``a`` is the better item.
        None if the cost is not a function of a few cells.
        """
        return None

    def pairs(self, data: RankingData, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the costs of pairs of stored rows; ``first`` are the better items."""
        found = self.blocks(data)
        if found is None:
            raise TypeError(f"{type(self).__name__} must define blocks or pairs")
        cells, matrix = found
        return matrix[cells[first], cells[second]]

    def __eq__(self, other: object) -> bool:
        """Compare class and parameters, arrays value by value."""
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        """Hash class and parameters."""
        return hash((type(self), self._key()))

    def _key(self) -> tuple[Any, ...]:
        return tuple(_hashable(getattr(self, field.name)) for field in fields(self))


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return tuple(_hashable(part) for part in value) if isinstance(value, list) else value


def warn_uneven_costs(owner: str, cost: np.ndarray | None) -> None:
    """Warn if the largest item cost is more than ten times the smallest.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_uneven_costs("RankBoost", np.array([1.0, 2.0, 25.0]))
    >>> print(caught[0].message)
    cost of RankBoost differs by a factor of 25, more than 10: a few items dominate the result
    """
    if cost is None or len(cost) == 0:
        return
    low, high = float(cost.min()), float(cost.max())
    if low <= 0.0 or not np.isfinite(high):
        raise DataError(
            f"cost of {owner} must be finite numbers > 0, got {low if low <= 0 else high}"
        )
    if high > UNEVEN * low * (1.0 + 1e-9):
        warnings.warn(
            f"cost of {owner} differs by a factor of {high / low:.3g}, more than {UNEVEN:g}: "
            "a few items dominate the result",
            EquirankWarning,
            stacklevel=3,
        )
