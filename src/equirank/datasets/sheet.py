"""A sheet: the rows of a small text file, each cell as it stands there."""

import csv
import io
import os
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from ..core.errors import DataError
from .cells import CellError, numbers_of
from .opening import open_bytes, shorten

__all__ = ["Sheet"]


class Sheet:
    """Rows of text cells, the names of the columns, and the file they come from.

    A column name that occurs twice must stand over equal cells; the first of them is kept.
    """

    def __init__(self, path: str, names: Sequence[str], rows: list[list[str]]) -> None:
        self.path, self.rows = path, rows
        self._at: dict[str, int] = {}
        for at, name in enumerate(names):
            first = self._at.setdefault(name, at)
            if first != at and any(row[first] != row[at] for row in rows):
                raise DataError(f"{path}: the two columns {name!r} must be equal")

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        names: Sequence[str] | None = None,
        *,
        delimiter: str = ",",
        quoted: bool = True,
        comment: str | None = None,
    ) -> "Sheet":
        """Read a file, packed or not: with a header, or with the names given here.

        Empty lines are passed over. Cells that may be quoted are separated by one character;
        where none is quoted, lines that begin with ``comment`` are passed over, too.
        """
        name = os.fspath(path)
        with open_bytes(path) as stream, io.TextIOWrapper(stream, "utf-8", newline="") as text:
            try:
                if quoted:
                    rows = [row for row in csv.reader(text, delimiter=delimiter) if row]
                else:
                    lines = text.read().replace("\r\n", "\n").split("\n")
                    if comment is not None:
                        lines = [line for line in lines if not line.startswith(comment)]
                    rows = [line.split(delimiter) for line in lines if line]
            except (UnicodeDecodeError, csv.Error) as error:
                raise DataError(f"{name}: must be a text file: {error}") from None
        if names is None and rows:
            names = rows.pop(0)
        if not names or not rows:
            raise DataError(f"{name}: must hold rows, and the file has none")
        if set(map(len, rows)) != {len(names)}:
            row = next(row for row in rows if len(row) != len(names))
            raise DataError(
                f"{name}: a row must have {len(names)} cells, got {len(row)} in "
                f"{shorten(delimiter.join(row))}"
            )
        return cls(name, names, rows)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.rows)

    def column(self, name: str) -> list[str]:
        """Give the cells of a column."""
        if name not in self._at:
            raise DataError(f"{self.path}: must have a column {name!r}, and has none")
        at = self._at[name]
        return [row[at] for row in self.rows]

    def words(self, name: str) -> np.ndarray:
        """Give a column as text."""
        return _objects(self.column(name))

    def numbers(self, name: str) -> np.ndarray:
        """Give a column as floats, NaN where a cell is missing."""
        try:
            return numbers_of(self.column(name))
        except CellError as error:
            raise DataError(
                f"{self.path}: {name!r} must be a number, got {shorten(error.got)} in row "
                f"{error.row + 1}"
            ) from None

    def integers(self, name: str) -> np.ndarray:
        """Give a column as whole numbers; a cell that is none, or missing, is an error."""
        values = self.numbers(name)
        bad = ~(values == np.floor(values))
        if bad.any():
            row = int(bad.argmax())
            got = shorten(self.column(name)[row])
            raise DataError(
                f"{self.path}: {name!r} must be a whole number, got {got} in row {row + 1}"
            )
        return values.astype(np.int64)

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Give several columns as the columns of a matrix; a missing cell is an error."""
        X = np.column_stack([self.numbers(name) for name in names])
        if np.isnan(X).any():
            row, at = np.argwhere(np.isnan(X))[0].tolist()
            raise DataError(
                f"{self.path}: {names[at]!r} must not be missing, and is in row {row + 1}"
            )
        return X

    def choice(self, name: str, meaning: dict[str, Any]) -> np.ndarray:
        """Give a column with each cell replaced by what it stands for."""
        try:
            return _objects([meaning[cell] for cell in self.column(name)])
        except KeyError as error:
            raise DataError(
                f"{self.path}: {name!r} must be one of {', '.join(meaning)}, got {error}"
            ) from None

    def where(self, kept: Sequence[bool] | np.ndarray) -> "Sheet":
        """Keep some rows."""
        if not any(kept):
            raise DataError(f"{self.path}: must hold a row that is kept, and holds none")
        sheet = Sheet(self.path, (), list(compress(self.rows, kept)))
        sheet._at = self._at
        return sheet


def _objects(cells: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
