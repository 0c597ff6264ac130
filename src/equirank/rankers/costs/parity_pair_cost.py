"""ParityPairCost: a cost for who stands above whom, whatever the relevance."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.data import RankingData
from .group_pair_cost import GroupPairCost

__all__ = ["ParityPairCost"]


@dataclass(frozen=True, eq=False)
class ParityPairCost(GroupPairCost):
    """A cost for each pair of groups that counts whatever the relevance, beside a base cost.

    A pair of unequal relevance costs ``base`` plus ``matrix[g][h]``, g being the group of the
    better item; a pair of equal relevance costs ``matrix[g][h]`` alone to rank h's item above g's.
    The matrix is antisymmetric: what it costs to rank h above g is what is gained by the reverse.

    Parameters
    ----------
    matrix : array-like of shape (n_groups, n_groups)
        The costs, antisymmetric.
    by : str or tuple of str, optional
        The sensitive attribute, or several to cross; may be left out where there is only one.
    base : float
        The cost of every pair of unequal relevance.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.rankers import ParityPairCost
    >>> data = as_ranking_data(None, [1, 0, 1], sensitive_features=["a", "b", "b"])
    >>> cost = ParityPairCost([[0.0, 0.5], [-0.5, 0.0]], base=1.0)
    >>> cost.pairs(data, np.array([0, 2, 0]), np.array([1, 1, 2]))  # the last is half of both ways
    array([1.5 , 1.  , 0.25])
    """

    equal_grades: ClassVar[bool] = True

    base: float = 0.0

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray]:
        """Give each row's group and grade as its cell, and the costs of each pair of cells."""
        group, matrix = super().blocks(data)
        grades, grade = np.unique(np.asarray(data.y), return_inverse=True)
        cells = group * np.int32(len(grades)) + grade.astype(np.int32)
        unequal = np.arange(len(grades))[:, None] != np.arange(len(grades))
        # both orders of an equal pair have an entry, so each holds half
        table = np.kron(matrix, np.where(unequal, 1.0, 0.5))
        table += self.base * np.kron(np.ones_like(matrix), unequal)
        return cells, table
