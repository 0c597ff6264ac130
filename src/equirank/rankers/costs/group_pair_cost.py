"""GroupPairCost: a signed cost for each pair of groups."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.pair_cost import PairCost

__all__ = ["GroupPairCost"]


@dataclass(frozen=True, eq=False)
class GroupPairCost(PairCost):
    """A cost for each pair of groups, one of the better and one of the worse item.

    ``matrix[g][h]`` is the cost of a pair whose better item is in group g and whose worse one is in
    group h, groups being counted in the order of the data's categories. A negative cost stands for
    the reversed pair, 0 leaves the pairs out.

    Parameters
    ----------
    matrix : array-like of shape (n_groups, n_groups)
        The costs.
    by : str or tuple of str, optional
        The sensitive attribute, or several to cross; may be left out where there is only one.

    Examples
    --------
    Only pairs whose better item is of the first group, ``"a"``, count:

    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.rankers import GroupPairCost
    >>> data = as_ranking_data(None, [1, 0, 0], sensitive_features=["a", "b", "a"])
    >>> cost = GroupPairCost([[1.0, 1.0], [0.0, 0.0]])
    >>> cost.pairs(data, np.array([0, 0]), np.array([1, 2]))
    array([1., 1.])
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive_features"})

    matrix: Any
    by: Any = None

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray]:
        """Give each row's group and the costs of each pair of groups."""
        attribute = data.attribute(self.by)
        matrix = np.asarray(self.matrix, dtype=np.float64)
        size = len(attribute.categories)
        if matrix.shape != (size, size):
            raise DataError(
                f"matrix of {type(self).__name__} must have a row and a column for each of the "
                f"{size} groups, got shape {matrix.shape}"
            )
        return attribute.codes.astype(np.int32), matrix
