"""Compilation with numba, cached on disk if possible."""

import glob
import os
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pickle import UnpicklingError
from types import CodeType
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

__all__ = ["compiled"]


#: Fast-math flags that allow reordered sums, so that loops are vectorised; NaN stays NaN.
REORDERED = {"reassoc", "contract", "arcp", "nsz"}


#: What reading a damaged pickle raises.
DAMAGED = (
    *(UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(ImportError, RuntimeError, MemoryError, OverflowError, struct.error),
)


#: Seconds of compilation after which a person at a terminal is told, and what.
PATIENCE = 3.0
WORDS = (
    "equirank: note: compiling code for this machine, which may take a minute or two; the result "
    "is stored for later runs\n"
)


#: Types of globals whose value is part of compiled code.
CONSTANTS = (bool, int, float, complex, str, bytes, tuple, np.generic)


class DiskCache(FunctionCache):
    """A cache of compiled code that is dropped when what the code consists of changed.

    Compiled code contains the functions that it calls, also those of other files, and the values
    of its globals. numba compares the file of the outermost function alone. Damaged files are
    removed, and writing may fail.
    """

    warned = told = False
    #: Functions that are being compiled inside each other, and when the outermost one began.
    depth, since = 0, 0.0

    def __init__(self, function: Callable[..., Any], dispatcher: Dispatcher) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._dispatcher: Dispatcher | None = dispatcher

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        self._stamp()
        return super()._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def _save_overload(self, sig: Any, data: Any) -> None:
        self._stamp()
        super()._save_overload(sig, data)  # type: ignore[no-untyped-call]

    def _stamp(self) -> None:
        """Add what the code consists of to the stamp, once all its functions are defined."""
        if self._dispatcher is not None:
            parts = sha256()
            for part in _parts(self._dispatcher, set()):
                parts.update(part.encode())
            file = self._cache_file
            file._source_stamp = (file._source_stamp, parts.hexdigest())
            self._dispatcher = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code; remove damaged files and return None, so that it is compiled."""
        found = None
        try:
            found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except OSError:  # a file that this user must not read
            pass
        except DAMAGED as error:
            self._drop(error)
        if found is None:
            self._tell()
        return found

    @classmethod
    def _tell(cls) -> None:
        """Print once, on a terminal, that compilation takes a while."""
        if cls.depth == 0:
            cls.since = time.monotonic()
        cls.depth += 1
        if cls.told or time.monotonic() - cls.since < PATIENCE:
            return
        cls.told = True
        if sys.stderr.isatty() and os.environ.get("EQUIRANK_PROGRESS") != "0":
            sys.stderr.write(WORDS)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code, unless the folder is full or read-only."""
        DiskCache.depth -= 1
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


def _parts(dispatcher: Dispatcher, seen: set[int]) -> Iterator[str]:
    """Yield the bytecode, options and globals of a compiled function and of all that it calls."""
    if id(dispatcher) in seen:
        return
    seen.add(id(dispatcher))
    function = dispatcher.py_func
    for key, value in sorted(dispatcher.targetoptions.items()):
        yield f"{key}{sorted(value) if isinstance(value, set) else value}"
    yield repr(function.__defaults__)
    known = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        known[name] = cell.cell_contents
    for code in _codes(function.__code__):
        yield f"{code.co_code!r}{code.co_names}{code.co_freevars}"
        yield repr([value for value in code.co_consts if not isinstance(value, CodeType)])
        for name in (*code.co_names, *code.co_freevars):
            value = known.get(name)
            if isinstance(value, Dispatcher):
                yield from _parts(value, seen)
            elif isinstance(value, np.ndarray):
                yield f"{name}{value.dtype}{value.shape}{value.tobytes()!r}"
            elif isinstance(value, CONSTANTS):
                yield f"{name}{value!r}"
            else:  # a module, function or class; the fields of a named tuple
                yield f"{name}{getattr(value, '_fields', '')}"


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the functions inside it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


def compiled(
    function: Callable[..., Any] | None = None, *, reordered: bool = False
) -> Callable[..., Any]:
    """Compile a function on its first call and cache the result on disk, next to the source.

    A read-only installation uses the user's cache folder; if that is not writable either, each
    process compiles again. It is also compiled again after a change of a function that it calls,
    in whatever file. Damaged files of the cache are removed, with one warning. With
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
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
    if reordered:
        options |= {"fastmath": REORDERED, "error_model": "numpy"}
    result: Any = njit(**options)(function)
    with suppress(RuntimeError):  # no folder is writable
        result._cache = DiskCache(function, result)
    return result
