"""The append-only record of a search for alternatives: one line of JSON per event, in a chain."""

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ..core.errors import DataError

__all__ = ["NAME", "Record"]

#: Name of the file in the folder of the record.
NAME = "record.jsonl"
FORMAT_VERSION = 1


class Record:
    """The lines of a search, kept in memory and, with a folder, in a file that only grows.

    Each line contains a hash of itself and of the line before, so a line that was changed, removed
    or inserted is found when the record is read. A line that was cut off when its process was
    killed is skipped; the next line begins after it.

    Parameters
    ----------
    folder : path or None
        Created if missing; None keeps the record in memory.
    search : mapping
        What the search is. A record of another search in the folder is an error.

    Attributes
    ----------
    lines : list of dict
        All lines; the first describes the search.
    n_cut : int
        Number of lines that were cut off.

    Examples
    --------
    >>> record = Record(None, {"seed": 0})
    >>> record.append("candidate", name="boost 1")
    >>> [line["kind"] for line in record.lines]
    ['search', 'candidate']
    """

    def __init__(self, folder: str | os.PathLike[str] | None, search: Mapping[str, Any]) -> None:
        self.lines: list[dict[str, Any]] = []
        self.n_cut, self._size, self._last = 0, 0, ""
        self.path = None if folder is None else Path(folder) / NAME
        if self.path is not None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except FileExistsError:
                raise DataError(f"store must be a folder, got the file {str(folder)!r}") from None
            self._read(self.path)
        search = json.loads(json.dumps({"format": FORMAT_VERSION, **search}, allow_nan=False))
        if not self.lines:
            self.append("search", **search)
            return
        known = self.lines[0]
        changed = sorted(
            name for name in search.keys() | known.keys() - {"kind", "hash"}
            if search.get(name) != known.get(name)
        )  # fmt: skip
        if changed:
            raise DataError(
                f"store must be empty or the record of this search: {self.path} differs in "
                f"{', '.join(changed)}"
            )

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the lines of one kind."""
        return [line for line in self.lines if line["kind"] == kind]

    def append(self, kind: str, **values: Any) -> None:
        """Add a line, which is in the file when this returns."""
        body = {"kind": kind, **values}
        text = json.dumps(body, allow_nan=False, ensure_ascii=False)
        line = json.loads(text) | {"hash": _hash(self._last, text)}
        self.lines.append(line)
        self._last = line["hash"]
        if self.path is None:
            return
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self._size:
            raise DataError(f"store is in use: another process writes {self.path}")
        written = json.dumps(line, allow_nan=False, ensure_ascii=False).encode() + b"\n"
        with open(self.path, "ab") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
        self._size += len(written)

    def _read(self, path: Path) -> None:
        raw = path.read_bytes() if path.exists() else b""
        if raw and not raw.endswith(b"\n"):  # cut off: what follows begins on its own line
            with open(path, "ab") as file:
                file.write(b"\n")
            raw += b"\n"
        self._size = len(raw)
        for number, text in enumerate(raw.decode("utf-8", "replace").split("\n")[:-1], start=1):
            try:
                line = json.loads(text)
                own = line.pop("hash")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                self.n_cut += 1
                continue
            body = json.dumps(line, allow_nan=False, ensure_ascii=False)
            if own != _hash(self._last, body):
                raise DataError(
                    f"{path}: line {number} was changed, or a line before it is missing"
                )
            self.lines.append(line | {"hash": own})
            self._last = own


def _hash(before: str, text: str) -> str:
    return blake2b(f"{before}\n{text}".encode(), digest_size=16).hexdigest()
