"""Running the greedy rules over all lists, and saying where their heuristic missed a floor."""

import warnings
from typing import Any

import numpy as np

from ...core.errors import EquirankWarning
from ..guaranteed import Pool

__all__ = ["fill"]


def fill(reranker: Any, pool: Pool, shares: np.ndarray, mode: int) -> np.ndarray:
    """Give the slots in their new order; warn where a floor was missed that could be kept."""
    from ...kernels.det_greedy import det_greedy

    chosen, missed = det_greedy(pool.codes, pool.offsets, pool.shown, pool.limit, shares, mode)
    late = np.flatnonzero(missed)
    if len(late):
        query = pool.ranking.data.qids[late[:1]].tolist()[0]
        more = f" (and in {len(late) - 1} more)" if len(late) > 1 else ""
        warnings.warn(
            f"{type(reranker).__name__} misses a share at place {int(missed[late[0]])} of query "
            f"{query!r}{more}: with 4 or more groups its rule can; DetConstSort keeps them all",
            EquirankWarning,
            5,
        )
    return chosen
