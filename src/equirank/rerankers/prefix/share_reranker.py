"""What LinkedIn's four re-rankers share: target shares, their bounds, one run over all lists."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.params import Constraint
from ...core.ranking import Ranking
from ..bounds import ShareBounds
from ..guaranteed import COMMON, Guaranteed, Pool
from ..reranking import Reranking
from ..targets import Shares, first_missing, target_shares

__all__ = ["ShareReranker"]


class ShareReranker(Guaranteed):
    """Base of the re-rankers that fill prefixes by target shares.

    A subclass writes ``_chosen(pool, shares)``: the slots in their new order.
    """

    params: ClassVar[Mapping[str, Constraint]] = {"proportions": Shares(), **COMMON}
    test_params: ClassVar[Mapping[str, Any]] = {}
    needs_text: ClassVar[str] = "groups; target shares, or the pool's"

    def __init__(
        self,
        proportions: Mapping[Any, float] | None = None,
        k: int | None = None,
        by: Any = None,
        on_infeasible: str = "error",
    ) -> None:
        self.proportions = proportions
        self.k = k
        self.by = by
        self.on_infeasible = on_infeasible

    def _rerank(self, ranking: Ranking) -> Reranking:
        pool = self._pool(ranking)
        shares = target_shares(type(self).__name__, self.proportions, pool)
        self._report(
            pool,
            first_missing(pool, shares),
            lambda query, prefix, group: int(np.floor(prefix * shares[query, group] + 1e-9)),
            "lower its share, take a smaller k",
        )
        chosen = self._chosen(pool, shares)
        words = "prefix j holds at least floor(j p) of every group"
        return Reranking.from_order(
            ranking,
            pool.order[chosen],
            pool.out_offsets,
            bounds=ShareBounds(words, shares),
            reranker=self,
        )

    def _chosen(self, pool: Pool, shares: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define _chosen; ShareReranker is abstract")
