"""Opening files: gzip recognised by content, output renamed into place when complete."""

import gzip
import io
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..core.errors import DataError

__all__ = ["as_text", "check_writable", "open_bytes", "replacing", "shorten"]


_BUFFER = 1 << 17
#: Gzip may unpack to this many times the size of its file (20 is usual), or to so many bytes.
_TIMES, _LEAST = 200, 1 << 30


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, which is refused if it is far larger than the file."""

    def __init__(self, packed: gzip.GzipFile, path: str, size: int) -> None:
        super().__init__()
        self._packed, self._path, self._n_bytes = packed, path, 0
        self._most = max(_LEAST, _TIMES * size)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and return the number of bytes."""
        count = self._packed.readinto(buffer)
        self._n_bytes += count
        if self._n_bytes > self._most:
            raise DataError(
                f"{self._path}: must not unpack to more than {_TIMES} times its size, got over "
                f"{self._most} bytes; unpack it first if you trust it"
            )
        return count


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes; gzip, recognised by its first two bytes, is decompressed."""
    with open(path, "rb") as file:
        if file.peek(2)[:2] != b"\x1f\x8b":
            yield file
            return
        size = os.path.getsize(path)
        with gzip.GzipFile(fileobj=file) as packed:
            try:
                with io.BufferedReader(_Unpacked(packed, os.fspath(path), size), _BUFFER) as stream:
                    yield stream
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise DataError(
                    f"{os.fspath(path)}: must be a complete gzip file: {error}"
                ) from None


def check_writable(path: str, inputs: Iterable[str] = ()) -> None:
    """Raise if a file cannot be written or is one of the inputs."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise DataError(f"{path}: cannot be written: there is no folder {folder}")
    if os.path.isdir(path):
        raise DataError(f"{path}: cannot be written: it is a folder")
    if any(os.path.realpath(path) == os.path.realpath(each) for each in inputs):
        raise DataError(f"{path}: cannot be written: it is an input file")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file to a temporary name and rename it when complete; else remove it."""
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with open(partial, "xb") as file:
            if target.name.endswith(".gz"):
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def shorten(text: Any, width: int = 60) -> str:
    """Return a text in quotes for an error message, truncated to ``width``."""
    text = str(text)
    return repr(text if len(text) <= width else text[: width - 3] + "...")


def as_text(raw: bytes) -> str | None:
    """Decode UTF-8; return None for bytes that are not text."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
