"""Opening files: gzip recognised by content, output renamed into place when complete."""

import gzip
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..core.errors import DataError

__all__ = ["as_text", "open_bytes", "replacing", "shorten"]


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes; gzip, recognised by its first two bytes, is decompressed."""
    with open(path, "rb") as file:
        if file.peek(2)[:2] != b"\x1f\x8b":
            yield file
            return
        with gzip.GzipFile(fileobj=file) as unpacked:
            try:
                yield unpacked  # type: ignore[misc]
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
