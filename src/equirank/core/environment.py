"""The folder for what can be had again: downloads and tables that took long to compute."""

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sized
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from .errors import MissingExtraError

__all__ = ["cache_folder", "library_version", "progress", "require"]


def cache_folder() -> Path:
    """Return the cache folder: ``EQUIRANK_CACHE``, else the platform's place for caches."""
    given = os.environ.get("EQUIRANK_CACHE")
    if given:
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "equirank"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/equirank"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equirank"


T = TypeVar("T")


def library_version() -> str:
    """Return the version of the installed library."""
    return str(importlib.import_module("equirank").__version__)


def require(module: str, extra: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

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


def progress(
    steps: Iterable[T], description: str, total: int | None = None, *, after: float = 1.0
) -> Iterator[T]:
    """Pass on the steps of long work and show a bar, on a terminal only.

    Parameters
    ----------
    steps : iterable
        What is worked through.
    description : str
        A few words beside the bar.
    total : int, optional
        The number of steps, where ``steps`` has no length.
    after : float, default=1.0
        Seconds of work before a bar appears, so that short work shows none.

    Notes
    -----
    ``EQUIRANK_PROGRESS=0`` switches bars off.
    """
    if os.environ.get("EQUIRANK_PROGRESS") == "0" or not sys.stderr.isatty():
        yield from steps
        return
    import time

    started, bar = time.monotonic(), None
    length = len(steps) if total is None and isinstance(steps, Sized) else total
    try:
        for done, step in enumerate(steps):
            if bar is None and time.monotonic() - started > after:
                from rich.console import Console
                from rich.progress import Progress

                bar = Progress(
                    console=Console(stderr=True),
                    transient=True,
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
                task = bar.add_task(description, total=length, completed=done)
                bar.start()
            yield step
            if bar is not None:
                bar.update(task, completed=done + 1)
    finally:
        if bar is not None:
            bar.stop()
