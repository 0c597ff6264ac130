"""A sheet: the rows of a small text file, each cell as it stands there."""

import csv
import io
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import IO, Any

import numpy as np

from ..core.errors import DataError
from .column_roles import CellError, numbers_of
from .files import open_bytes, shorten

__all__ = ["Sheet"]


class Sheet:
    """Columns of text cells, and the file they come from.

    A column name that occurs twice must stand over equal cells; the first of them is kept.
    """

    def __init__(self, path: str, columns: dict[str, Sequence[str]]) -> None:
        self.path, self.columns = path, columns

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        names: Sequence[str] | None = None,
        *,
        delimiter: str = ",",
        quoted: bool = True,
        keep: Callable[[str], bool] | None = None,
    ) -> "Sheet":
        """Read a file, packed or not: with a header, or with the names given here.

        Empty lines are passed over. Cells that may be quoted are separated by one character;
        where none is quoted, only lines that ``keep`` says yes to are taken.
        """
        name = os.fspath(path)
        with open_bytes(path) as stream, io.TextIOWrapper(stream, "utf-8", newline="") as text:
            try:
                if quoted:
                    cells = _quoted(name, text, delimiter, names)
                else:
                    cells = _plain(name, text.read(), delimiter, names, keep)
            except (UnicodeDecodeError, csv.Error) as error:
                raise DataError(f"{name}: must be a text file: {error}") from None
        columns: dict[str, Sequence[str]] = {}
        for head, column in cells:
            if columns.setdefault(head, column) != column:
                raise DataError(f"{name}: the two columns {head!r} must be equal")
        return cls(name, columns)

    def __len__(self) -> int:
        """Count the rows."""
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> Sequence[str]:
        """Return the cells of a column."""
        if name not in self.columns:
            raise DataError(f"{self.path}: must have a column {name!r}, and has none")
        return self.columns[name]

    def words(self, name: str) -> np.ndarray:
        """Return a column as text."""
        return _objects(self.column(name))

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats, NaN where a cell is missing."""
        try:
            return numbers_of(self.column(name))
        except CellError as error:
            raise DataError(
                f"{self.path}: {name!r} must be a number, got {shorten(error.got)} in row "
                f"{error.row + 1}"
            ) from None

    def integers(self, name: str) -> np.ndarray:
        """Return a column as whole numbers; a cell that is none, or missing, is an error."""
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
        """Return several columns as the columns of a matrix; a missing cell is an error."""
        X = np.column_stack([self.numbers(name) for name in names])
        if np.isnan(X).any():
            row, at = np.argwhere(np.isnan(X))[0].tolist()
            raise DataError(
                f"{self.path}: {names[at]!r} must not be missing, and is in row {row + 1}"
            )
        return X

    def choice(self, name: str, meaning: dict[str, Any]) -> np.ndarray:
        """Return a column with each cell replaced by what it stands for."""
        try:
            return _objects([meaning[cell] for cell in self.column(name)])
        except KeyError as error:
            raise DataError(
                f"{self.path}: {name!r} must be one of {', '.join(meaning)}, got {error}"
            ) from None

    def where(self, kept: Sequence[bool] | np.ndarray) -> "Sheet":
        """Keep some rows."""
        mask = np.asarray(kept).tolist()
        if not any(mask):
            raise DataError(f"{self.path}: must hold a row that is kept, and holds none")
        return Sheet(self.path, {n: list(compress(c, mask)) for n, c in self.columns.items()})

    def above(self, other: "Sheet") -> "Sheet":
        """Put another sheet with the same columns below this one."""
        return Sheet(self.path, {n: [*c, *other.column(n)] for n, c in self.columns.items()})


def _quoted(
    path: str, text: IO[str], delimiter: str, names: Sequence[str] | None
) -> Iterable[tuple[str, Sequence[str]]]:
    """Split a file whose cells may be quoted."""
    rows = [row for row in csv.reader(text, delimiter=delimiter) if row]
    if names is None and rows:
        names = rows.pop(0)
    heads = _checked(path, names, [len(row) for row in rows])
    return zip(heads, zip(*rows, strict=True), strict=True)


def _plain(
    path: str,
    text: str,
    delimiter: str,
    names: Sequence[str] | None,
    keep: Callable[[str], bool] | None,
) -> Iterable[tuple[str, Sequence[str]]]:
    """Split a file without quotes: all cells at once, since a list per row is slow."""
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line]
    lines = lines if keep is None else list(filter(keep, lines))
    if names is None and lines:
        names = lines.pop(0).split(delimiter)
    heads = _checked(path, names, [line.count(delimiter) + 1 for line in lines])
    cells = delimiter.join(lines).split(delimiter)
    return ((head, cells[at :: len(heads)]) for at, head in enumerate(heads))


def _checked(path: str, names: Sequence[str] | None, widths: list[int]) -> Sequence[str]:
    """Return the names, if there are rows and each has a cell for every name."""
    if not names or not widths:
        raise DataError(f"{path}: must hold rows, and the file has none")
    if set(widths) != {len(names)}:
        row = next(at for at, width in enumerate(widths) if width != len(names))
        raise DataError(
            f"{path}: a row must have {len(names)} cells, got {widths[row]} in row {row + 1}"
        )
    return names


def _objects(cells: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
