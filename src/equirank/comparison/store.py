"""Finished cells in a folder, one file each: a killed run continues where it was."""

import json
import os
import time
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..datasets.opening import replacing
from .cell import Cell, Groups

__all__ = ["Store", "cell_key"]

FORMAT_VERSION = 1
#: Seconds after which a file that was never finished is swept away.
OLD = 3600.0


def cell_key(parts: dict[str, Any]) -> str:
    """Hash what a cell depends on: method, parameters, data, fold, seed, metrics, versions.

    Examples
    --------
    >>> cell_key({"seed": 0}) == cell_key({"seed": 0})
    True
    >>> cell_key({"seed": 0}) == cell_key({"seed": 1})
    False
    """
    text = json.dumps(parts | {"format": FORMAT_VERSION}, sort_keys=True)
    return blake2b(text.encode(), digest_size=20).hexdigest()


class Store:
    """A folder of cells. Files are written under another name and renamed when they are whole.

    Errors are not kept, so a method that failed is tried again. A file that is damaged or was
    written by hand (its checksum is wrong) counts as not there.

    Parameters
    ----------
    folder : path
        Made where it does not exist.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise DataError(f"store must be a folder, and {str(folder)!r} is a file") from None
        for left in self.folder.glob(".*.partial"):
            if time.time() - left.stat().st_mtime > OLD:
                left.unlink(missing_ok=True)

    def read(self, key: str) -> Cell | None:
        """Give a finished cell, or None."""
        try:
            document = json.loads((self.folder / f"{key}.json").read_bytes())
            if document["digest"] != _digest(document["cell"]):
                return None
            cell = document["cell"]
            return Cell(
                {name: np.array(v, dtype=np.float64) for name, v in cell["values"].items()},
                {name: float("nan" if v is None else v) for name, v in cell["summary"].items()},
                {name: _groups(v) for name, v in cell["groups"].items()},
                cell["fit_seconds"],
                cell["other_seconds"],
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def write(self, key: str, cell: Cell, about: dict[str, Any]) -> None:
        """Keep a finished cell; ``about`` is for a reader of the file."""
        if cell.error:
            return
        body = {
            "values": {name: _listed(v) for name, v in cell.values.items()},
            "summary": {name: _listed([v])[0] for name, v in cell.summary.items()},
            "groups": {
                name: asdict(v) | {"values": _listed(v.values)} for name, v in cell.groups.items()
            },
            "fit_seconds": cell.fit_seconds,
            "other_seconds": cell.other_seconds,
        }
        document = {"about": about, "cell": body, "digest": _digest(body)}
        with replacing(self.folder / f"{key}.json") as file:
            file.write(json.dumps(document, allow_nan=False).encode() + b"\n")


def _digest(body: Any) -> str:
    return blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=16).hexdigest()


def _listed(values: Any) -> list[Any]:
    """Give plain numbers, None for NaN; infinite ones as words."""
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return [None if v != v else str(v) if v in (np.inf, -np.inf) else v for v in numbers]


def _groups(stored: dict[str, Any]) -> Groups:
    values = np.array(stored["values"], dtype=np.float64)
    return Groups([str(label) for label in stored["labels"]], values.tolist())
