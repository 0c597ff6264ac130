"""AlphaNDCG: gains for aspects that items ranked above do not cover."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError, suggest
from ...core.metric import Metric, Values
from ...core.params import Check, Constraint, Number, Optional
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.segments import divide, segment_sum

__all__ = ["AlphaNDCG"]


def _are_columns(value: Any) -> bool:
    if not isinstance(value, (tuple, list)) or len(value) == 0:
        return False
    kinds = {type(name) for name in value}
    return len(set(value)) == len(value) and kinds in ({str}, {int})


@dataclass(frozen=True, repr=False, kw_only=True)
class AlphaNDCG(Metric):
    """AlphaNDCG: discounted gain from aspects, each worth less the more often it was covered.

    ``sum_{j <= k} 1/log2(1 + j) sum_t J(d_j, t) (1 - alpha)^(n_t)``, divided by the same sum of the
    ideal order; J is 1 if the item covers aspect t, and n_t items above it cover t. The ideal is
    found greedily, as published: each position takes the item of largest gain, and of equal gains
    the one that covers the earlier aspects. The greedy order is not always the best, so a value can
    exceed 1. Undefined if no item covers an aspect. Ties between items of different aspects are an
    error unless ``ties="stable"`` keeps the input order.

    Parameters
    ----------
    alpha : float
        Loss of a covered aspect, from 0 (none) to 1 (it is worth nothing again).
    aspects : sequence of str or int, optional
        Columns of the features that are aspects, by name or number; None: all. A positive number
        means that the item covers the aspect.

    References
    ----------
    Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR 2008.

    Examples
    --------
    >>> from equirank.metrics import AlphaNDCG, alpha_ndcg
    >>> AlphaNDCG(aspects=("red", "blue"))@10
    AlphaNDCG(aspects=("red", "blue"))@10
    >>> covers = [[1, 0], [1, 0], [0, 1]]  # two items of one aspect, then one of another
    >>> round(alpha_ndcg([3, 2, 1], covers), 4)  # (1 + .5/log2(3) + 1/2) / (1 + 1/log2(3) + .5/2)
    0.9652
    """

    needs: ClassVar[frozenset[str]] = frozenset({"features"})
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    exact_ties: ClassVar[bool] = False
    refuses_ties: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "no item covers an aspect"
    params: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Number(0.0, 1.0),
        "aspects": Optional(Check(_are_columns, "different names or numbers of columns")),
    }

    alpha: float = 0.5
    aspects: Sequence[str | int] | None = None

    @classmethod
    def from_arrays(cls, *args: Any, **arguments: Any) -> tuple[Metric, dict[str, Any]]:
        """Split the arguments of the function.

        Parameters
        ----------
        X : array-like, scipy sparse array or data frame
            One column per aspect, > 0 if the item covers it.
        """
        return super().from_arrays(*args, **arguments)

    def check(self, data: RankingData) -> None:
        """Raise if the data lack the columns, or a number in them."""
        super().check(data)
        bad = np.argwhere(np.isnan(self._columns(data, np.arange(data.n_rows))))
        if len(bad):
            row = data.place(int(bad[0][0]))[1]
            raise DataError(f"aspects of {self} must be numbers, got nan in row {row}")

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        from ...kernels.metric_loops import greedy_gains

        head = slots.head(self.k)
        cover = self._columns(slots.data, head.order) > 0
        self._refuse_ties(head, cover)
        table = discounts(int(slots.sizes.max()), "log2", self.k)
        above: np.ndarray = np.cumsum(cover, axis=0) - cover
        gain = (cover * (1.0 - self.alpha) ** (above - above[head.start])).sum(axis=1)
        gained = segment_sum(gain * table[head.position - 1], head.offsets)
        everything = self._columns(slots.data, slots.order) > 0
        order = np.lexsort((*~everything.T[::-1], slots.query))
        depth = int(slots.sizes.max()) if self.k is None else self.k
        best = greedy_gains(everything[order], slots.offsets, 1.0 - self.alpha, depth)
        return Values(divide(gained, best))

    def _columns(self, data: RankingData, rows: np.ndarray) -> np.ndarray:
        """Return the columns of the aspects of some stored rows."""
        some: Any = data.X[rows] if self.aspects is None else data.X[rows][:, self._numbers(data)]
        dense = some.toarray() if hasattr(some, "toarray") else some
        return np.asarray(dense, dtype=np.float64)

    def _numbers(self, data: RankingData) -> list[int]:
        names = data.feature_names or ()
        found = []
        for aspect in self.aspects or ():
            if isinstance(aspect, str) and aspect in names:
                found.append(names.index(aspect))
            elif isinstance(aspect, int) and 0 <= aspect < data.n_features:
                found.append(aspect)
            else:
                hint = suggest(aspect, list(names)) if isinstance(aspect, str) else ""
                raise DataError(
                    f"aspects of AlphaNDCG must be columns of the {data.n_features} features, "
                    f"got {aspect!r}{hint}"
                )
        return found

    def _refuse_ties(self, slots: Slots, cover: np.ndarray) -> None:
        if slots.lo is None:
            return
        differ = np.flatnonzero((cover != cover[slots.lo]).any(axis=1))
        if len(differ):
            query, row = slots.data.place(int(slots.order[differ[0]]))
            raise DataError(
                f"{self} needs an order without ties, and row {row} of query {query!r} is tied "
                "with an item of other aspects; ties='stable' keeps the input order"
            )
