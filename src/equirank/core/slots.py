"""Slots: the rows of one draw in ranked order, the input of all metrics."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..kernels.discounts import block_means
from ..kernels.segments import segment_index
from .data import RankingData

__all__ = ["Slots"]


@dataclass(eq=False)
class Slots:
    """The rows of one draw of a ranking in the order of their positions.

    Attributes
    ----------
    data : RankingData
        The data that were ranked, for relevance and groups.
    order : ndarray
        The stored row in each slot.
    offsets : ndarray
        Query ``q`` has the slots ``offsets[q]:offsets[q + 1]``, rows not shown last.
    lo, hi : ndarray or None
        The tie block of each slot is ``lo:hi``; None without ties.
    shown : ndarray or None
        Number of shown rows of each query; None if all are shown.
    codes : dict
        Group codes in each slot, if they differ from those of the data (permuted groups).
    exposure : callable or None
        For slots that represent all draws: maps weights of positions and a run of stored rows to
        expected weights.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(None, [0, 2, 1], qid=[1, 1, 1], score=[0.3, 0.9, 0.5])
    >>> slots = data.ranking().slots()
    >>> slots.y, slots.position
    (array([2., 1., 0.]), array([1, 2, 3]))
    """

    data: RankingData
    order: np.ndarray
    offsets: np.ndarray
    lo: np.ndarray | None = None
    hi: np.ndarray | None = None
    shown: np.ndarray | None = None
    codes: dict[Any, np.ndarray] = field(default_factory=dict)
    exposure: Callable[[np.ndarray, int, int], np.ndarray] | None = None
    _heads: dict[int | None, "Slots"] = field(default_factory=dict)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows of each query."""
        return np.diff(self.offsets)

    @cached_property
    def start(self) -> np.ndarray:
        """First slot of each slot's query."""
        return np.repeat(self.offsets[:-1], self.sizes)

    @cached_property
    def query(self) -> np.ndarray:
        """Index of each slot's query."""
        return segment_index(self.offsets)

    @cached_property
    def position(self) -> np.ndarray:
        """1-based position of each slot, ties in their stored order."""
        return np.arange(1, len(self.order) + 1) - self.start

    @cached_property
    def y(self) -> np.ndarray:
        """Relevance in each slot."""
        return np.asarray(self.data.y)[self.order]

    @cached_property
    def score(self) -> np.ndarray:
        """Score in each slot."""
        return np.asarray(self.data.score)[self.order]

    @cached_property
    def cost(self) -> np.ndarray:
        """Cost in each slot."""
        return np.asarray(self.data.cost)[self.order]

    def groups(self, by: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
        """Return the group code in each slot (-1 if unknown) and the groups' names."""
        attribute = self.data.attribute(by)
        if by not in self.codes:
            self.codes[by] = attribute.codes[self.order]
        return self.codes[by], attribute.categories

    def begin(self) -> np.ndarray:
        """First slot of each slot's tie block."""
        return np.arange(len(self.order)) if self.lo is None else self.lo

    def end(self) -> np.ndarray:
        """End (exclusive) of the tie block of each slot."""
        return np.arange(1, len(self.order) + 1) if self.hi is None else self.hi

    def expect(self, weights: np.ndarray) -> np.ndarray:
        """Return the expected weight of each slot for weights of positions; 0 if not shown."""
        if self.exposure is not None:
            first, last = int(self.order.min()), int(self.order.max()) + 1
            return self.exposure(weights, first, last)[self.order - first]
        if self.lo is None:
            value = weights[self.position - 1]
        else:
            first = self.lo - self.start + 1
            value = block_means(weights, first, self.end() - self.start)
        if self.shown is not None:
            value = np.where(self.position <= np.repeat(self.shown, self.sizes), value, 0.0)
        return value

    def sum_by_group(self, values: np.ndarray, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Sum values per query and group (query x group); unknown labels are in no group."""
        cell = self.query * n_groups + codes
        if len(codes) and codes.min() < 0:
            known = codes >= 0
            cell, values = cell[known], values[known]
        flat = np.bincount(cell, weights=values, minlength=self.n_queries * n_groups)
        return flat.reshape(-1, n_groups)

    def head(self, k: int | None = None) -> "Slots":
        """Return the shown slots of the tie blocks that begin in the top k."""
        if k is None and self.shown is None:
            return self
        if k not in self._heads:
            self._heads[k] = self._head(k)
        return self._heads[k]

    def _head(self, k: int | None) -> "Slots":
        keep = np.ones(len(self.order), dtype=bool)
        if k is not None:
            first = self.position if self.lo is None else self.lo - self.start + 1
            keep &= first <= k
        if self.shown is not None:
            keep &= self.position <= np.repeat(self.shown, self.sizes)
        return self.keep(keep)

    def keep(self, kept: np.ndarray) -> "Slots":
        """Return some of the slots, given by a mask, in their order; positions close up."""
        index = np.flatnonzero(kept)
        before = np.concatenate([[0], np.cumsum(kept)])
        return Slots(
            self.data,
            self.order[index],
            before[self.offsets],
            None if self.lo is None else before[self.lo[index]],
            None if self.hi is None else before[self.hi[index]],
            codes={by: codes[index] for by, codes in self.codes.items()},
        )

    def block(self, queries: slice) -> "Slots":
        """Return the slots of a run of queries."""
        if queries.start == 0 and queries.stop == self.n_queries:
            return self
        first, last = self.offsets[queries.start], self.offsets[queries.stop]
        return Slots(
            self.data,
            self.order[first:last],
            self.offsets[queries.start : queries.stop + 1] - first,
            None if self.lo is None else self.lo[first:last] - first,
            None if self.hi is None else self.hi[first:last] - first,
            None if self.shown is None else self.shown[queries],
            exposure=self.exposure,
        )

    def relabelled(self, by: Any, codes: np.ndarray) -> "Slots":
        """Repeat the slots once per row of ``codes`` (draws x slots), with those groups."""
        draws, n = codes.shape
        shift = np.arange(draws)[:, None] * n

        def repeat(values: np.ndarray | None) -> np.ndarray | None:
            return None if values is None else (values[None, :] + shift).ravel()

        return Slots(
            self.data,
            np.tile(self.order, draws),
            np.append((self.offsets[None, :-1] + shift).ravel(), draws * n),
            repeat(self.lo),
            repeat(self.hi),
            None if self.shown is None else np.tile(self.shown, draws),
            {by: codes.ravel()},
            self.exposure,
        )

    def resampled(self, counts: np.ndarray, copies_tied: bool = False) -> "Slots":
        """Repeat one list once per row of ``counts`` (draws x stored rows), each row so many times.

        Copies of a row have equal relevance and group, so their order matters only to metrics that
        compare individuals, which use ``copies_tied``.
        """
        draws = len(counts)
        times = counts[:, self.order]
        total = times.sum(axis=1)
        offsets = np.concatenate([[0], np.cumsum(total)])
        order = np.repeat(np.tile(self.order, draws), times.ravel())
        shown = None
        if self.shown is not None:
            shown = times[:, : int(self.shown[0])].sum(axis=1)
        lo = hi = None
        if self.lo is not None or copies_tied:
            ends = np.cumsum(times, axis=1) + offsets[:-1, None]
            begins = ends - times
            flat = times.ravel()
            lo = np.repeat(begins[:, self.begin()].ravel(), flat)
            hi = np.repeat(ends[:, self.end() - 1].ravel(), flat)
        return Slots(self.data, order, offsets, lo, hi, shown, exposure=self.exposure)
