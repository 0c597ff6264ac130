"""RBP: the expected gain of a reader who goes on with the same probability at every position."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.metric import Values
from ...core.params import Constraint, Number
from ...core.ranking import Ranking
from ...core.slots import Slots
from ...kernels.segments import segment_sum
from .graded_metric import GradedMetric

__all__ = ["RBP"]


@dataclass(frozen=True, repr=False, kw_only=True)
class RBP(GradedMetric):
    """RBP: the expected gain of a reader who goes on to the next position with probability p.

    ``RBP@k = (1 - p) sum_{j <= k} g_j p^(j - 1)`` with the gain ``g = y / max_grade``. Tied items
    receive the mean weight of the positions they span. A list without relevant items has the value
    0. The residual, ``p`` to the number of positions measured, is what items after them could add;
    `evaluate` notes it.

    Parameters
    ----------
    p : float
        Probability that the reader goes on, above 0 and below 1.

    References
    ----------
    Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.

    Examples
    --------
    >>> from equirank.metrics import RBP, rbp
    >>> RBP(p=0.5)@10
    RBP(p=0.5)@10
    >>> rbp([2, 0, 1], [0.9, 0.5, 0.1], p=0.5)  # (1 - 1/2) * (1 + 1/2 * 1/4)
    0.5625
    """

    additive: ClassVar[bool] = True
    params: ClassVar[Mapping[str, Constraint]] = {
        "p": Number(0.0, 1.0, open_low=True, open_high=True)
    }

    p: float = 0.8

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        head = slots.head(self.k)
        return Values(
            segment_sum(self._gains(head) * head.expect(self._table(slots)), head.offsets)
        )

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Return each group's share of the sum (query x group)."""
        value = self._gains(slots) * slots.expect(self._table(slots))
        present = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
        return np.where(present > 0, slots.sum_by_group(value, codes, n_groups), np.nan)

    def residual(self, ranking: Ranking) -> np.ndarray:
        """Return for each query what items after those measured could add at most."""
        data = ranking.data
        places = ranking.position.reshape(data.n_rows, -1) > 0
        shown = np.add.reduceat(places.astype(np.int64), data.offsets[:-1]).max(axis=1)
        reached = shown if self.k is None else np.minimum(shown, self.k)
        return np.asarray(float(self.p) ** reached)

    def remarks(self, ranking: Ranking) -> list[str]:
        """Return a sentence about the residual."""
        residual = self.residual(ranking)
        return [
            f"{self}: items after those measured could add {residual.mean():.2g} on average and "
            f"{residual.max():.2g} at most (the residual)"
        ]

    def _gains(self, slots: Slots) -> np.ndarray:
        top = self.top(slots)
        return slots.y / top if top > 0 else np.zeros(len(slots.y))

    def _table(self, slots: Slots) -> np.ndarray:
        """Return the weight of each position."""
        weight = (1.0 - self.p) * float(self.p) ** np.arange(int(slots.sizes.max()))
        if self.k is not None:
            weight[self.k :] = 0.0
        return weight
