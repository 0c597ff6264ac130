"""Compilation with numba, cached on disk if possible, and counter-based random numbers."""

import glob
import os
import struct
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pickle import UnpicklingError
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache

__all__ = ["compiled", "key_of", "uniform"]


#: Fast-math flags that allow reordered sums, so that loops are vectorised; NaN stays NaN.
REORDERED = {"reassoc", "contract", "arcp", "nsz"}


#: What reading a damaged pickle raises.
DAMAGED = (
    *(UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(ImportError, RuntimeError, MemoryError, OverflowError, struct.error),
)


class DiskCache(FunctionCache):
    """A cache of compiled code whose damaged files are removed, and that may fail to write."""

    warned = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code; remove damaged files and return None, so that it is compiled."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except OSError:  # a file that this user must not read
            return None
        except DAMAGED as error:
            self._drop(error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code, unless the folder is full or read-only."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError:
            self.disable()  # type: ignore[no-untyped-call]
        except DAMAGED as error:
            self._drop(error)

    def _drop(self, error: Exception) -> None:
        """Remove the files of this function, and warn once per process."""
        stem = os.path.join(glob.escape(self.cache_path), glob.escape(self._impl.filename_base))
        for path in glob.glob(f"{stem}.nbi") + glob.glob(f"{stem}.*.nbc"):
            with suppress(OSError):
                os.unlink(path)
        if not DiskCache.warned:
            DiskCache.warned = True
            warnings.warn(
                f"a file of compiled code in {self.cache_path} is damaged ({error!r}); it is "
                "removed, and the code is compiled again",
                RuntimeWarning,
                stacklevel=2,
            )


def compiled(
    function: Callable[..., Any] | None = None, *, reordered: bool = False
) -> Callable[..., Any]:
    """Compile a function on its first call and cache the result on disk, next to the source.

    A read-only installation uses the user's cache folder; if that is not writable either, each
    process compiles again. Damaged files of the cache are removed, with one warning. With
    ``reordered``, sums may be reordered and a division by 0 returns infinity, so that loops are
    vectorised.

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
    result: Any = njit(**options)(function)
    with suppress(RuntimeError):  # no folder is writable
        result._cache = DiskCache(function)  # type: ignore[no-untyped-call]
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
