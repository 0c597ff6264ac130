"""The machine the library runs on: optional packages, progress bars, the cache folder."""

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sized
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["cache_folder", "library_version", "load_object", "progress", "require"]

T = TypeVar("T")


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


def progress(
    steps: Iterable[T], description: str, total: int | None = None, *, after: float = 1.0
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
