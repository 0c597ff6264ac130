"""What places are looked at, and what an ideal policy would give to each item."""

from collections.abc import Sequence

import numpy as np

from .discounts import block_means, discounts
from .segments import sort_within, tie_blocks

__all__ = ["browsing", "ideal_exposure"]


def browsing(
    n: int, kind: str | Sequence[float], patience: float, k: int | None = None
) -> np.ndarray:
    """Give the attention of places 1 to n: `discounts`, or ``patience**(j - 1)`` for ``"rbp"``."""
    if kind != "rbp":
        return discounts(n, kind, k)
    return discounts(n, (patience ** np.arange(n)).tolist(), k)


def ideal_exposure(y: np.ndarray, offsets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Give each row the mean weight of the places of its grade, when lists are sorted by ``y``."""
    order = sort_within(y, offsets)
    start = np.repeat(offsets[:-1], np.diff(offsets))
    begin, end = tie_blocks(y[order], offsets)
    if begin is None or end is None:
        begin = np.arange(len(y))
        end = begin + 1
    result = np.empty(len(y))
    result[order] = block_means(weights, begin - start + 1, end - start)
    return result
