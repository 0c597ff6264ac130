"""ProtectedPairCost: pairs with a protected item cost more."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.pair_cost import PairCost
from ...core.params import Constraint, Label, Number, Optional, check_params

__all__ = ["ProtectedPairCost"]


@dataclass(frozen=True, eq=False)
class ProtectedPairCost(PairCost):
    """Costs that weigh every pair with at least one protected item ``weight`` times.

    Parameters
    ----------
    weight : float
        How many times more such a pair costs.
    protected : label
        The protected group.
    by : str or tuple of str, optional
        The attribute, or several to cross; may be left out where the data has only one.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.rankers import ProtectedPairCost
    >>> data = as_ranking_data(None, [1, 0, 0], qid=[1] * 3, sensitive_features=["f", "m", "m"])
    >>> cost = ProtectedPairCost(3.0, protected="f")
    >>> cost.pairs(data, np.array([0, 1]), np.array([1, 2])), sorted(cost.needs)
    (array([3., 1.]), ['sensitive_features'])
    """

    weight: float
    protected: Any
    by: Any = None

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive_features"})

    def __post_init__(self) -> None:
        """Check the parameters."""
        rules: dict[str, Constraint] = {
            "weight": Number(0.0, open_low=True),
            "protected": Label(),
            "by": Optional(Label(many=True)),
        }
        check_params("ProtectedPairCost", vars(self), rules)

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray]:
        """Give whether each row is protected, and the cost of each combination."""
        attribute = data.attribute(self.by)
        inside = attribute.codes == attribute.code(self.protected)
        w = float(self.weight)
        return inside.astype(np.int32), np.array([[1.0, w], [w, w]])
