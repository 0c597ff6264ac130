"""Gains of relevance and discounts of position."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .segments import LARGE, SHIFT, sort_within, tie_blocks

__all__ = [
    "block_means",
    "browsing",
    "discounts",
    "gain_shift",
    "gains",
    "ideal_exposure",
    "unshifted",
]


_DISCOUNTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log2": lambda position: 1.0 / np.log2(1.0 + position),
    "zipf": lambda position: 1.0 / position,
    "flat": np.ones_like,
}


#: Grades above this have no exponential gain of their own, only one relative to others.
MOST_GRADE = 512


def gains(y: np.ndarray, kind: str, shift: np.ndarray | None = None) -> np.ndarray:
    """Return ``2**y - 1`` (``"exp2"``) or ``y`` (``"linear"``), divided by ``2**shift``."""
    if kind != "exp2":
        linear = y.astype(np.float64, copy=False)
        return linear if shift is None else np.ldexp(linear, -shift.astype(np.int64))
    if shift is None:
        return np.exp2(y, dtype=np.float64) - 1.0
    return np.exp2(y - shift, dtype=np.float64) - np.exp2(-shift)


def gain_shift(y: np.ndarray, kind: str, cell: np.ndarray, n_cells: int) -> np.ndarray | None:
    """Return for each cell a power of two that keeps sums of its gains finite.

    The result is None if all gains are small enough as they are. The cell of each row says which
    gains are compared.
    """
    if y.max(initial=0.0) <= (MOST_GRADE if kind == "exp2" else LARGE):
        return None
    top = np.zeros(n_cells)
    np.maximum.at(top, cell, y)
    if kind == "exp2":
        return np.where(top > MOST_GRADE, np.floor(top), 0.0)
    return np.where(top > LARGE, float(SHIFT), 0.0)


def unshifted(values: np.ndarray, shift: np.ndarray | None, power: Any = 0) -> np.ndarray:
    """Return ``values * 2**(shift + power)``; infinity if no double can hold it."""
    # an exponent of 9999 exceeds every double, also after a division by 2**power
    whole = 0 if shift is None else np.minimum(shift, 9999.0).astype(np.int64)
    return np.ldexp(values, whole + power)


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
