"""Search and download of the files of a data set."""

import hashlib
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..core.environment import cache_folder, require
from ..core.errors import DataError, logger
from .catalogue import DataFile, DataSet

__all__ = ["AnyPath", "find", "look"]


AnyPath = str | os.PathLike[str]

_TIMEOUT = 60  # seconds without an answer
_CHUNK = 1 << 16  # bytes between two updates of the bar


def find(entry: DataSet, *names: str, path: AnyPath | None = None) -> Path:
    """Return the path of a file of a data set; download it if it has an address.

    Parameters
    ----------
    entry : DataSet
        The data set.
    *names : str
        Paths below the data folder, with or without ``.gz``; the first existing file is used.
    path : path, optional
        The file, or a folder with it; no other place is searched then.

    Raises
    ------
    DataError
        If it is not found; the message states where it was searched and how to get it.
    """
    if path is not None:
        return _given(entry, names, Path(path))
    found = look(entry, *names)
    if found is not None:
        return found
    known = next((file for file in entry.files if file.name == names[0] and file.url), None)
    if known is None:
        raise DataError(_nowhere(entry, names[0]))
    return _download(entry, known, cache_folder() / known.name)


def look(entry: DataSet, *names: str) -> Path | None:
    """Return the path of a file in the data folder or the cache, or None.

    The checksum of a downloaded file in the cache is checked again.
    """
    given = os.environ.get("EQUIRANK_DATA")
    found = _first([Path(given)], names) if given else None
    if found is None:
        found = _first([cache_folder()], names)
        known = {cache_folder() / file.name: file for file in entry.files if file.url}
        if found in known:
            _check(found, known[found], "; delete the file to download it again")
    return found


def _first(folders: list[Path], names: tuple[str, ...]) -> Path | None:
    """Return the first file that exists, compressed or not."""
    for folder in folders:
        for name in names:
            other = name[:-3] if name.endswith(".gz") else f"{name}.gz"
            for candidate in (folder / name, folder / other):
                if candidate.is_file():
                    return candidate
    return None


def _given(entry: DataSet, names: tuple[str, ...], path: Path) -> Path:
    if path.is_file():
        return path
    # the data folder, the folder of the data set, or a folder with only the file
    short = tuple(name.split("/", depth)[-1] for depth in range(5) for name in names)
    found = _first([path], short)
    if found is None:
        problem = "without it" if path.is_dir() else "which does not exist"
        raise DataError(
            f"path must be the file {names[0].rpartition('/')[2]} of {entry.name} or a folder with "
            f"it, got {str(path)!r}, {problem}. To get it: {entry.how}"
        )
    return found


def _nowhere(entry: DataSet, name: str) -> str:
    given = os.environ.get("EQUIRANK_DATA")
    paths = [
        f"{Path(given) / name} (EQUIRANK_DATA)" if given else "EQUIRANK_DATA (not set)",
        f"{cache_folder() / name} (the cache)",
    ]
    return (
        f"{entry.name}: {name} was not found at {' or '.join(paths)}, and it has no automatic "
        f"download. To get it: {entry.how}; put it at one of these paths or pass path= to "
        f"{entry.loader}"
    )


def _check(found: Path, known: DataFile, advice: str = "", name: str | None = None) -> None:
    with open(found, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != known.sha256:
        raise DataError(
            f"{name or found}: the sha256 checksum must be {known.sha256}, got {digest}{advice}"
        )


def _download(entry: DataSet, file: DataFile, target: Path) -> Path:
    """Download into the cache, to a temporary name that is renamed after the check."""
    pooch = require("pooch", "data")
    logger.info("downloading %s to %s", file.url, target)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    made = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _bar(file, partial) as bar:
            fetch = pooch.HTTPDownloader(progressbar=bar, chunk_size=_CHUNK, timeout=_TIMEOUT)
            fetch(file.url, str(partial), None)
        _check(partial, file, f" from {file.url}; the download was deleted", name=file.name)
        os.replace(partial, target)
    except OSError as error:  # including network errors
        raise DataError(
            f"{file.name} could not be downloaded from {file.url} into {target.parent}: {error}. "
            f"To get it by hand: {entry.how}"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
            if not target.exists():
                for folder in made:
                    folder.rmdir()
    return target


class _Bar:
    """A limit of the size with the interface of pooch for progress bars, and a bar of rich."""

    def __init__(self, file: DataFile, partial: Path, drawing: Any = None) -> None:
        self.total, self._most, self._partial = file.n_bytes, 2 * file.n_bytes + _CHUNK, partial
        self._drawing = drawing
        self._task = drawing and drawing.add_task(file.name, total=file.n_bytes)

    def update(self, n_bytes: int) -> None:
        """Add received bytes; raise if the file is much larger than it should be."""
        if self._partial.stat().st_size > self._most:
            raise OSError(
                f"it must have {self._most - _CHUNK >> 1} bytes, got more than twice that"
            )
        if self._drawing is not None:
            self._drawing.update(self._task, advance=n_bytes)

    def reset(self) -> None:
        """Start again; pooch calls this at the end."""
        if self._drawing is not None:
            self._drawing.update(self._task, completed=0, total=self.total)

    def close(self) -> None:
        """Do nothing: the context manager stops the drawing."""


@contextmanager
def _bar(file: DataFile, partial: Path) -> Iterator[_Bar]:
    """Limit the size, and show a progress bar on a terminal unless ``EQUIRANK_PROGRESS=0``."""
    if os.environ.get("EQUIRANK_PROGRESS") == "0" or not sys.stderr.isatty():
        yield _Bar(file, partial)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawing:
        yield _Bar(file, partial, drawing)
