"""The machine the library runs on: optional packages, threads, progress bars, the cache folder."""

import importlib
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.progress import Progress

__all__ = [
    "available_threads",
    "cache_folder",
    "in_threads",
    "library_version",
    "listening",
    "load_object",
    "progress",
    "require",
    "stage",
]

T = TypeVar("T")
Made = TypeVar("Made")


def cache_folder() -> "Path":
    """Return the folder for downloads and long computations.

    It is ``EQUIRANK_CACHE``, or else the platform's folder for caches; a user without a home has
    one among the temporary files. Nothing depends on it: what cannot be stored is computed again.
    """
    import tempfile
    from pathlib import Path

    given = os.environ.get("EQUIRANK_CACHE")
    if given:
        return Path(given)
    try:
        home = Path.home()
    except RuntimeError:  # such as a container with any user id
        home = Path(tempfile.gettempdir())
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local") / "equirank"
    if sys.platform == "darwin":
        return home / "Library/Caches/equirank"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "equirank"


def available_threads() -> int:
    """Return the number of cores that this process may use, at most ``OMP_NUM_THREADS``.

    Other libraries read that variable as well, and joblib sets it in its processes.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    given = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(cores, max(1, int(given))) if given.isdecimal() else cores


def in_threads(work: Callable[[T], Made], several: Iterable[T], n_threads: int) -> Iterator[Made]:
    """Yield the results of work in order; as many parts as there are threads are worked on at once.

    Examples
    --------
    >>> list(in_threads(abs, [-1, 2, -3], 2))
    [1, 2, 3]
    """
    if n_threads <= 1:
        yield from map(work, several)
        return
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for each in several:
                waiting.append(pool.submit(work, each))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def require(module: str, extra: str) -> ModuleType:
    """Import an optional package, or raise an error that names the extra to install.

    Examples
    --------
    >>> require("json", "data").__name__
    'json'
    >>> require("no_such_package", "data")
    Traceback (most recent call last):
    ...
    equirank.core.errors.MissingExtraError: no_such_package is not installed; it comes with: ...
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f'{module} is not installed; it comes with: pip install "equirank[{extra}]"',
            name=module,
        ) from None


def load_object(path: str) -> Any:
    """Import a user's object from ``module:name``; modules of the current folder are found, too."""
    module, _, name = path.partition(":")
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        return getattr(importlib.import_module(module), name)
    finally:
        sys.path.remove(folder)


def library_version() -> str:
    """Return the version of equirank."""
    return str(importlib.import_module("equirank").__version__)


class _Listener:
    """Who is told of progress, and the span of the whole work that the present loop covers."""

    def __init__(self, call: Callable[[float, str], None]) -> None:
        self.call, self.low, self.high, self.words = call, 0.0, 1.0, ""

    def steps(self, steps: Iterable[T], words: str, length: int | None, rows: Any) -> Iterator[T]:
        """Yield the steps; a loop within a step covers the span of the step.

        How many loops follow is unknown, so each covers half of what is left.
        """
        low, high, done = self.low, (self.low + self.high) / 2, 0
        last = self.high
        try:
            for step in steps:
                size = 1 if rows is None else rows(step)
                if length:
                    shares = [min(1.0, count / length) for count in (done, done + size)]
                    self.low, self.high = (low + (high - low) * share for share in shares)
                self.call(self.low, self.words or words)
                yield step
                done += size
        finally:
            self.low, self.high = high, last


_LISTENER: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(call: Callable[[float, str], None] | None) -> Iterator[None]:
    """Call a function with the share done and words, from every loop of `progress` within.

    What it raises ends the work. None: nobody is told.

    Examples
    --------
    >>> told = []
    >>> with listening(lambda share, words: told.append((share, words))):
    ...     with stage(0.5, "first half"):
    ...         _ = list(progress("ab", "letters", total=2))
    >>> told
    [(0.0, 'first half'), (0.0, 'first half'), (0.125, 'first half'), (0.5, 'first half')]
    """
    token = _LISTENER.set(None if call is None else _Listener(call))
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def stage(end: float, words: str) -> Iterator[None]:
    """Report to the listener, if any, that the work up to a share of the whole is of this kind."""
    listener = _LISTENER.get()
    if listener is None:
        yield
        return
    high = listener.high
    listener.high, listener.words = end, words
    listener.call(listener.low, words)
    try:
        yield
    finally:
        listener.low, listener.high, listener.words = end, high, ""
    listener.call(end, words)


def progress(
    steps: Iterable[T],
    description: str,
    total: int | None = None,
    *,
    after: float = 1.0,
    rows: Callable[[T], int] | None = None,
) -> Iterator[T]:
    """Yield the steps of a long computation and show a progress bar, on a terminal only.

    Parameters
    ----------
    steps : iterable
        The steps.
    description : str
        Text beside the bar.
    total : int, optional
        The number of steps, where ``steps`` has no length.
    after : float, default=1.0
        Seconds of work before a bar appears, so that short work shows none.
    rows : callable, optional
        Number of rows of a step; ``total`` is then a number of rows, and the bar shows rows per
        second.

    Notes
    -----
    ``EQUIRANK_PROGRESS=0`` switches bars off.
    """
    length = len(steps) if total is None and isinstance(steps, Sized) else total
    listener = _LISTENER.get()
    if listener is not None:
        yield from listener.steps(steps, description, length, rows)
        return
    if os.environ.get("EQUIRANK_PROGRESS") == "0" or not sys.stderr.isatty():
        yield from steps
        return
    import time

    started, bar, done = time.monotonic(), None, 0
    try:
        for step in steps:
            if bar is None and time.monotonic() - started > after:
                bar = _bar(rows is not None)
                task = bar.add_task(description, total=length, completed=done, rate="")
                bar.start()
            yield step
            done += 1 if rows is None else rows(step)
            if bar is not None:
                rate = f"{done / (time.monotonic() - started):,.0f} rows/s"
                bar.update(task, completed=done, rate=rate)
    finally:
        if bar is not None:
            bar.stop()


def _bar(rates: bool) -> "Progress":
    """Return a progress bar with the time left, and with rates of rows if asked for."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    columns = list(Progress.get_default_columns())
    if rates:
        columns.insert(-1, TextColumn("{task.fields[rate]}", markup=False))
    return Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
