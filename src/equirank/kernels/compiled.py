"""Compilation with numba, cached on disk if possible."""

import glob
import os
import struct
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pickle import UnpicklingError
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

__all__ = ["compiled"]


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
