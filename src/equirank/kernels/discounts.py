"""Gains of relevance and discounts of position."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from .segments import sort_within, tie_blocks

__all__ = ["block_means", "browsing", "discounts", "gains", "ideal_exposure"]


_DISCOUNTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log2": lambda position: 1.0 / np.log2(1.0 + position),
    "zipf": lambda position: 1.0 / position,
    "flat": np.ones_like,
}


def gains(y: np.ndarray, kind: str) -> np.ndarray:
    """Return ``2**y - 1`` (``"exp2"``) or ``y`` (``"linear"``)."""
    return (
        np.exp2(y, dtype=np.float64) - 1.0 if kind == "exp2" else y.astype(np.float64, copy=False)
    )


def discounts(n: int, kind: str | Sequence[float], k: int | None = None) -> np.ndarray:
    """Return the weights of positions 1 to n, 0 below the cutoff and beyond a given vector."""
    if isinstance(kind, str):
        weights = _table(n, kind)
    else:
        weights = np.zeros(n)
        known = np.asarray(kind, dtype=np.float64)[:n]
        weights[: len(known)] = known
    if k is not None and k < n:
        weights = np.where(np.arange(n) < k, weights, 0.0)
    return weights


@lru_cache(maxsize=16)
def _table(n: int, kind: str) -> np.ndarray:
    """Compute a table; the last ones are cached, since metrics use them for every block."""
    weights = _DISCOUNTS[kind](np.arange(1, n + 1, dtype=np.float64))
    weights.flags.writeable = False
    return weights


def block_means(weights: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return the mean weight over positions first..last (1-based, inclusive)."""
    total = np.concatenate([[0.0], np.cumsum(weights)])
    return (total[last] - total[first - 1]) / (last - first + 1)


def browsing(
    n: int, kind: str | Sequence[float], patience: float, k: int | None = None
) -> np.ndarray:
    """Return the exposure of positions 1 to n; ``patience**(j - 1)`` for ``"rbp"``."""
    if kind != "rbp":
        return discounts(n, kind, k)
    return discounts(n, (patience ** np.arange(n)).tolist(), k)


def ideal_exposure(y: np.ndarray, offsets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return for each row the mean weight of the positions of its grade, if sorted by ``y``."""
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
