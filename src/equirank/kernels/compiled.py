"""Compilation with numba, cached on disk if possible, and counter-based random numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit

__all__ = ["compiled", "key_of", "uniform"]


#: Fast-math flags that allow reordered sums, so that loops are vectorised; NaN stays NaN.
REORDERED = {"reassoc", "contract", "arcp", "nsz"}


def compiled(
    function: Callable[..., Any] | None = None, *, reordered: bool = False
) -> Callable[..., Any]:
    """Compile a function on its first call and cache the result on disk, next to the source.

    A read-only installation uses the user's cache folder; if that is not writable either, each
    process compiles again. With ``reordered``, sums may be reordered and a division by 0 returns
    infinity, so that loops are vectorised.

    Examples
    --------
    >>> twice = compiled(lambda x: 2 * x)
    >>> twice(21)
    42
    """
    if function is None:
        return partial(compiled, reordered=reordered)
    options: dict[str, Any] = {"nogil": True}
    if reordered:
        options |= {"fastmath": REORDERED, "error_model": "numpy"}
    try:
        result: Callable[..., Any] = njit(cache=True, **options)(function)
    except RuntimeError:
        result = njit(**options)(function)
    return result


STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


@compiled
def _mix(value: np.uint64) -> np.uint64:
    """Mix the bits of a number (the finaliser of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * FIRST
    value = (value ^ (value >> np.uint64(27))) * SECOND
    return value ^ (value >> np.uint64(31))


@compiled
def key_of(seed: np.uint64, part: np.uint64) -> np.uint64:
    """Return the key of a seed (or another key) and one more part."""
    return _mix(_mix(seed + STEP) ^ (part * STEP))


@compiled
def uniform(key: np.uint64, count: np.uint64) -> float:
    """Return the random number of this key and count, uniform in [0, 1)."""
    bits = _mix(key + (count + np.uint64(1)) * STEP)
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
