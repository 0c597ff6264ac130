"""Compiling with numba, kept on disk where there is a place for it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit

__all__ = ["compiled"]

#: Sums may be added in another order, which lets loops use vector instructions; NaN stays NaN.
REORDERED = {"reassoc", "contract", "arcp", "nsz"}


def compiled(
    function: Callable[..., Any] | None = None, *, reordered: bool = False
) -> Callable[..., Any]:
    """Compile a function on its first call and keep the result beside it on disk.

    A read-only install keeps it in the user's cache folder; where that cannot be written either,
    each process compiles anew (numba alone would refuse to). With ``reordered`` sums may be added
    in another order and a division by 0 gives infinity, so that loops can use vector instructions.

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
