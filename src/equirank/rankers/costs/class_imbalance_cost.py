"""ClassImbalanceCost: pairs of rare classes cost more."""

from dataclasses import dataclass

import numpy as np

from ...core.data import RankingData
from ...core.pair_cost import PairCost

__all__ = ["ClassImbalanceCost"]


@dataclass(frozen=True, eq=False)
class ClassImbalanceCost(PairCost):
    """Costs by the inverse shares of the two items' classes (relevance grades).

    A pair costs ``1 / (share(y_a) share(y_b))``, the shares being those of the training data: each
    pair of classes then weighs as much in total as if all classes were equally frequent in every
    query. Class asymmetry and cost asymmetry are one problem.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.rankers import ClassImbalanceCost
    >>> data = as_ranking_data(None, [0, 0, 1, 2], qid=[1, 1, 1, 1])
    >>> ClassImbalanceCost().pairs(data, np.array([2, 3]), np.array([0, 2]))
    array([ 8., 16.])
    """

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray]:
        """Give each row's class and the cost of each pair of classes."""
        labels, cells = np.unique(np.asarray(data.y), return_inverse=True)
        inverse = data.n_rows / np.bincount(cells.ravel(), minlength=len(labels))
        return cells.astype(np.int32).ravel(), np.outer(inverse, inverse)
