"""Kendall loss: the share of misordered pairs, weighted by their true positions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.metric import Metric, Values
from ...core.params import Constraint, Optional
from ...core.slots import Slots
from ...kernels.pair_counts import grade_codes, truth_order
from ...kernels.segments import divide
from .misorder_cost import check_pair_values

__all__ = ["KendallLoss"]


#: Largest number of weights computed at once.
WEIGHTS = 1 << 21


@dataclass(frozen=True)
class Weight:
    """A function of two arrays of true positions."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is callable."""
        return callable(value)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a callable on two arrays of positions"


@dataclass(frozen=True, repr=False, kw_only=True)
class KendallLoss(Metric):
    """Normalised Kendall distance: the share of misordered pairs; 0 is best, 1 the reverse order.

    ``L_w = 2/(n (n-1)) sum over misordered pairs of w(i, j)``, where i < j are the true positions
    of the two items, by relevance. Without ``weight``, this is Kendall's distance divided by its
    maximum, in O(n log n); with it, all n^2 weights are computed in blocks.

    A pair tied in score is half misordered. A pair of equal relevance is never misordered but
    counts in the denominator; its items share their true positions, so each weight is the mean over
    the possible positions. Items that are not shown are tied below those shown. Undefined for a
    single item. Values are in [0, 1], with ``weight`` in [0, largest weight]. Over draws: the
    expected loss.

    Parameters
    ----------
    weight : callable, optional
        ``w(i, j)`` for arrays of 1-based true positions, >= 0.
        `equirank.theory.weight_axioms` tests whether it is symmetric, monotone and satisfies the
        triangle inequality, as the theory requires.

    References
    ----------
    Kendall, A new measure of rank correlation, Biometrika 1938.
    Ailon and Mohri, An efficient reduction of ranking to classification, COLT 2008 (weights).

    Examples
    --------
    >>> from equirank.metrics import KendallLoss, kendall_loss
    >>> KendallLoss()
    KendallLoss
    >>> round(kendall_loss([3, 2, 1], [0.9, 0.1, 0.5]), 4)  # 1 of 3 pairs
    0.3333
    >>> round(kendall_loss([3, 2, 1], [0.9, 0.1, 0.5], weight=lambda i, j: 1 / (i * j)), 4)
    0.0556
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "it contains a single item"
    params: ClassVar[Mapping[str, Constraint]] = {"weight": Optional(Weight())}

    weight: Callable[[np.ndarray, np.ndarray], Any] | None = None

    def __post_init__(self) -> None:
        """Check the options; a weight may be larger than 1."""
        super().__post_init__()
        if self.weight is not None:
            object.__setattr__(self, "bounds", (0.0, np.inf))

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        lost = self._counted(slots) if self.weight is None else self._weighted(slots, self.weight)
        n = slots.sizes.astype(np.float64)
        return Values(divide(2.0 * lost, n * (n - 1.0)))

    def _counted(self, slots: Slots) -> np.ndarray:
        from ...kernels.metric_loops import separable_sums

        one = np.ones(len(slots.order))
        grade = grade_codes(slots.y, slots.offsets)
        above, tied, _ = separable_sums(one, one, grade, slots.end(), slots.offsets)
        return above + tied / 2.0

    def _weighted(self, slots: Slots, weight: Callable[..., Any]) -> np.ndarray:
        from ...kernels.metric_loops import weighted_errors

        order, begin, end = truth_order(slots.y, slots.offsets)
        level, lost = slots.begin()[order], np.zeros(slots.n_queries)
        for first, table in _weight_rows(weight, int(slots.sizes.max())):
            weighted_errors(table, first, level, begin, end, slots.offsets, lost)
        return lost


def _weight_rows(weight: Callable[..., Any], n: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the weights of n positions in blocks of rows, with the first row of each."""
    rows = max(1, WEIGHTS // n)
    for first in range(0, n, rows):
        position = np.arange(first + 1, min(first + rows, n) + 1)
        i, j = np.meshgrid(position, np.arange(1, n + 1), indexing="ij")
        yield first, _checked_weights(weight, i, j)


def _checked_weights(weight: Callable[..., Any], i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return the weights of pairs of positions; those with i = j are not used and set to 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.array(np.broadcast_to(np.asarray(weight(i, j), dtype=np.float64), i.shape))
    weights[i == j] = 0.0
    check_pair_values("weight", weights, i, j, "positions")
    return weights
