"""Compiling with numba, kept on disk where there is a place for it."""

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["compiled"]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call and keep the result beside it on disk.

    A read-only install keeps it in the user's cache folder; where that cannot be written either,
    each process compiles anew (numba alone would refuse to).

    Examples
    --------
    >>> twice = compiled(lambda x: 2 * x)
    >>> twice(21)
    42
    """
    try:
        result: Callable[..., Any] = njit(cache=True, nogil=True)(function)
    except RuntimeError:
        result = njit(nogil=True)(function)
    return result
