"""Opening files: gzip recognised by content, output renamed into place when complete."""

import glob
import gzip
import hashlib
import io
import os
import secrets
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from ..core.errors import DataError
from ..core.source import Source

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "FileInMemory",
    "GivenFile",
    "as_text",
    "file_digest",
    "file_size",
    "given_file",
    "open_bytes",
    "replacing",
    "shorten",
    "source_of",
    "sweep",
    "write_text",
]

#: What a reader takes: a path, or an open file of bytes.
GivenFile = str | os.PathLike[str] | BinaryIO


#: Seconds without writing after which an unfinished file is removed: if no process has locked it,
#: and in any case.
IDLE, OLD = 10.0, 3600.0


_BUFFER, _HASHED = 1 << 17, 1 << 20
#: Gzip may unpack to this many times the size of its file (20 is usual), or to so many bytes.
_TIMES, _LEAST = 200, 1 << 30


class FileInMemory(str):
    r"""The name of a file whose bytes are in memory; readers take it for a path.

    Examples
    --------
    >>> from equirank.io import read_csv
    >>> file = FileInMemory("people.csv", b"sex,score\nf,2\nm,1\n")
    >>> read_csv(file, sensitive="sex").score
    array([2., 1.])
    """

    content: bytes

    def __new__(cls, name: str, content: bytes) -> "FileInMemory":
        """Return the name, with the bytes."""
        made = super().__new__(cls, name)
        made.content = content
        return made

    def __getnewargs__(self) -> tuple[str, bytes]:  # type: ignore[override]
        """Return the arguments that make an equal object, for other processes."""
        return str(self), self.content


def given_file(path: GivenFile) -> str | os.PathLike[str]:
    """Return a path as it is, and the bytes of an open file with its name, or "stream"."""
    if isinstance(path, (str, os.PathLike)):
        return path
    if not hasattr(path, "read"):
        raise DataError(f"path must be a path or an open file of bytes, got {path!r}")
    content = path.read()
    if not isinstance(content, bytes):
        raise DataError("path must be a path or an open file of bytes, got a file of text")
    name = getattr(path, "name", None)
    return FileInMemory(os.path.basename(name) if isinstance(name, str) else "stream", content)


def file_size(path: str | os.PathLike[str]) -> int:
    """Return the number of bytes of a file, in memory or on disk."""
    return len(path.content) if isinstance(path, FileInMemory) else os.path.getsize(path)


def _open(path: str | os.PathLike[str]) -> io.BufferedReader:
    if isinstance(path, FileInMemory):
        return io.BufferedReader(io.BytesIO(path.content))
    return open(path, "rb")


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
    with _open(path) as file:
        if file.peek(2)[:2] != b"\x1f\x8b":
            yield file
            return
        size = file_size(path)
        with gzip.GzipFile(fileobj=file) as packed:
            try:
                with io.BufferedReader(_Unpacked(packed, os.fspath(path), size), _BUFFER) as stream:
                    yield stream
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise DataError(
                    f"{os.fspath(path)}: must be a complete gzip file: {error}"
                ) from None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file to a temporary name and rename it when complete; else remove it."""
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with open(partial, "xb") as file:
            _lock(file)
            if target.name.endswith(".gz"):
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
        os.replace(partial, target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, os.fspath(partial)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8, under another name that is renamed when complete."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove the unfinished files that killed processes left beside a file."""
    target = Path(os.path.realpath(path))
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.partial"):
        with suppress(OSError):
            idle = time.time() - left.stat().st_mtime
            if idle > OLD or (idle > IDLE and _is_abandoned(left)):
                left.unlink()


def _lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; return False if another process has, or no one can."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_abandoned(path: Path) -> bool:
    with open(path, "rb") as file:
        return _lock(file)


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


def source_of(
    path: str | os.PathLike[str],
    how: Mapping[str, str],
    remarks: Sequence[str] = (),
    parts: Sequence[str | os.PathLike[str]] = (),
) -> Source:
    """Return the record of a file before its rows are read; a folder consists of ``parts``."""
    name = os.path.basename(os.path.abspath(path))
    digest = file_digest(*(parts or [path]))
    return Source(name, digest, 0, dict(how), remarks=tuple(remarks))


def file_digest(*paths: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of the bytes of files, one after the other, in hexadecimal."""
    digest = hashlib.sha256()
    for one in paths:
        with _open(one) as file:
            while block := file.read(_HASHED):
                digest.update(block)
    return digest.hexdigest()
