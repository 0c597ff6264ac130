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
    result = np.empty(len(y))
    if begin is None or end is None:
        result[order] = weights[np.arange(len(y)) - start]
        return result
    means = block_means(weights, begin - start + 1, end - start)
    result[order] = np.where(end - begin > 1, means, weights[begin - start])
    return result
