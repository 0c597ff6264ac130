"""What re-rankers with floors for the protected share: one class of people against the rest."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...core.data import Attribute
from ...core.params import Constraint, Optional
from ...core.ranking import Ranking
from ..bounds import Bounds, TableBounds
from ..guaranteed import COMMON, Guaranteed, Pool
from ..optimised import OverlappingBounds
from ..reranking import Reranking
from .bounded_lists import arrange_lists
from .protection import Labels, protected_shares

__all__ = ["FloorReranker"]


class FloorReranker(Guaranteed):
    """Base of the re-rankers that ask for so many of the protected, taken together.

    A subclass writes ``_floors(pool, shares)``: floors one below the other, and the row at which
    each list begins.
    """

    params: ClassVar[Mapping[str, Constraint]] = {"protected": Optional(Labels()), **COMMON}
    #: Chances are none of its parameters; whoever finds the protected asks.
    p: ClassVar[None] = None
    protected: Any = None

    def _rerank(self, ranking: Ranking) -> Reranking:
        pool = self._pool(ranking)
        codes, shares = protected_shares(self, pool)
        inside = np.isin(np.arange(pool.n_groups), codes).astype(np.int32)
        label = " or ".join(str(pool.groups.categories[code]) for code in codes)
        groups = Attribute(inside[pool.groups.codes], ("others", label))
        two = replace(pool, groups=groups, codes=inside[pool.codes])
        floors, start = self._floors(pool, shares.sum(axis=1))
        least = np.stack([np.zeros_like(floors), floors], axis=1)
        most = np.full_like(least, int(pool.limit.max()) + 1)
        slots, _ = arrange_lists(self, two, least, most, start)
        bounds = self._bounds(pool, codes, inside, least, start)
        return Reranking.from_order(
            ranking, pool.order[slots], pool.out_offsets, bounds=bounds, reranker=self
        )

    def _floors(self, pool: Pool, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise TypeError(f"{type(self).__name__} must define _floors; FloorReranker is abstract")

    def _bounds(
        self,
        pool: Pool,
        codes: list[int],
        inside: np.ndarray,
        least: np.ndarray,
        start: np.ndarray,
    ) -> Bounds:
        """Give the bounds by the groups of the data, so that reasons can name them."""
        words = type(self).guarantee
        if len(codes) == 1:
            wide = np.zeros((len(least), pool.n_groups), dtype=np.int64)
            wide[:, codes[0]] = least[:, 1]
            return TableBounds(words, wide, None, start, pool.limit)
        part = TableBounds(words, least, None, start, pool.limit)
        return OverlappingBounds(words, {"protected": part}, {"protected": inside})
