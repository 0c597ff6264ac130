"""Bounds: how many of each group every prefix must and may hold, and whether a list keeps to it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ["Bounds", "NoBounds", "ShareBounds", "TableBounds"]


class Bounds(Protocol):
    """What a re-ranker hands to its result, so that it can say whether and why.

    Prefix j of a list must hold at least ``lower(query)[j - 1, g]`` and at most
    ``upper(query)[j - 1, g]`` items of the group with code g; None is no bound.
    """

    @property
    def words(self) -> str:
        """The guarantee in one sentence."""

    def lower(self, query: int, length: int) -> np.ndarray | None:
        """Give the least counts of a list (prefix x group), or None."""

    def upper(self, query: int, length: int) -> np.ndarray | None:
        """Give the largest counts of a list (prefix x group), or None."""

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Say for each list, given the group of each place, whether the guarantee holds."""


@dataclass(frozen=True, eq=False)
class NoBounds:
    """A re-ranking without a prefix guarantee: nothing binds."""

    words: str = "no prefix is bound"

    def lower(self, query: int, length: int) -> None:
        """Bind nothing."""

    def upper(self, query: int, length: int) -> None:
        """Bind nothing."""

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Hold always."""
        return np.ones(len(offsets) - 1, dtype=bool)


@dataclass(frozen=True, eq=False)
class TableBounds:
    """Bounds in tables that lists may share.

    Attributes
    ----------
    words : str
        The guarantee in one sentence.
    least, most : ndarray of int or None
        Tables one below the other (row x group).
    start : ndarray of int64
        The row at which each list's table begins.
    lengths : ndarray of int64
        How many rows each list's table has.
    """

    words: str
    least: np.ndarray | None
    most: np.ndarray | None
    start: np.ndarray
    lengths: np.ndarray

    def lower(self, query: int, length: int) -> np.ndarray | None:
        """Give the least counts of a list (prefix x group), or None."""
        return None if self.least is None else self._rows(self.least, query, length)

    def upper(self, query: int, length: int) -> np.ndarray | None:
        """Give the largest counts of a list (prefix x group), or None."""
        return None if self.most is None else self._rows(self.most, query, length)

    def _rows(self, table: np.ndarray, query: int, length: int) -> np.ndarray:
        begin = int(self.start[query])
        return table[begin : begin + min(length, int(self.lengths[query]))]

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Say for each list, given the group of each place, whether the bounds are kept."""
        from ..kernels.prefix_bounds import tables_hold

        none = np.zeros((0, 0), dtype=np.int32)
        least = none if self.least is None else self.least
        most = none if self.most is None else self.most
        return tables_hold(codes, offsets, least, most, self.start, self.lengths)


@dataclass(frozen=True, eq=False)
class ShareBounds:
    """Bounds that follow from shares: prefix j holds ``floor(j p)`` to ``ceil(j p)`` of a group.

    The lower bound is the guarantee; the upper one says who may come next.
    """

    words: str
    shares: np.ndarray

    def lower(self, query: int, length: int) -> np.ndarray:
        """Give ``floor(j p)`` (prefix x group)."""
        from ..kernels.prefix_bounds import ROUNDING

        place = np.arange(1, length + 1)[:, None]
        return np.floor(place * self.shares[query] + ROUNDING).astype(np.int64)

    def upper(self, query: int, length: int) -> np.ndarray:
        """Give ``ceil(j p)`` (prefix x group)."""
        from ..kernels.prefix_bounds import ROUNDING

        place = np.arange(1, length + 1)[:, None]
        return np.ceil(place * self.shares[query] - ROUNDING).astype(np.int64)

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Say for each list whether every prefix holds ``floor(j p)`` of every group."""
        from ..kernels.prefix_bounds import shares_hold

        return shares_hold(codes, offsets, np.ascontiguousarray(self.shares, dtype=np.float64))
