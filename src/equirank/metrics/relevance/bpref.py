"""Bpref: judged irrelevant items above relevant ones, exact over tied orders."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.metric import Values
from ...core.slots import Slots
from ...kernels.segments import divide, segment_sum
from .binary_metric import BinaryMetric

__all__ = ["Bpref"]


@dataclass(frozen=True, repr=False, kw_only=True)
class Bpref(BinaryMetric):
    """Bpref: the mean share of irrelevant items that are not ranked above a relevant item.

    ``Bpref = 1/R sum over shown relevant items r of 1 - min(n_r, R) / min(R, N)``, where R items
    are relevant, N irrelevant, and n_r irrelevant ones are ranked above r. A relevant item without
    any irrelevant item in the list counts 1, one that is not shown 0. All items count as judged;
    `equirank.io.read_trec` can leave out the others. Undefined without a relevant item. Ties: the
    exact expectation over the orders of the tied block.

    References
    ----------
    Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004.

    Examples
    --------
    >>> from equirank.metrics import Bpref, bpref
    >>> Bpref(threshold=2)
    Bpref(threshold=2)
    >>> bpref([1, 0, 1, 0], [0.9, 0.5, 0.3, 0.1])  # ((1 - 0/2) + (1 - 1/2)) / 2
    0.75
    """

    takes_k: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "no item is relevant"

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        wanted = segment_sum((slots.y >= self.threshold).astype(np.int64), slots.offsets)
        limit = np.minimum(wanted, slots.sizes - wanted)
        head = slots.head()
        relevant = head.y >= self.threshold
        before = np.concatenate([[0], np.cumsum(~relevant)])
        index = np.flatnonzero(relevant)
        begin, end = head.begin()[index], head.end()[index]
        above = before[begin] - before[head.start[index]]
        tied = before[end] - before[begin]
        most, least = wanted[head.query[index]], limit[head.query[index]]
        # n_r is uniform on above, ..., above + tied; the first `below` of these are under R
        below = np.clip(most - above, 0, tied + 1)
        counted = below * above + below * (below - 1) / 2.0 + (tied + 1 - below) * most
        share = counted / (tied + 1) / np.maximum(least, 1)
        terms = np.zeros(len(relevant))
        terms[index] = np.where(least > 0, 1.0 - share, 1.0)
        return Values(divide(segment_sum(terms, head.offsets), wanted))
