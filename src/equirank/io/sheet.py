"""Small text files as columns of unconverted cells, for the loaders of data sets."""

import csv
import io
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import IO, Any

import numpy as np

from ..core.errors import DataError
from .column_roles import listed
from .files import open_bytes, shorten
from .number_cells import CellError, numbers_of

__all__ = ["Sheet"]


class Sheet:
    """Columns of text cells, and the file they come from.

    Two columns with the same name must have equal cells; the first is kept.
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
        """Read a file (gzip or plain), with a header or with the given names.

        Empty lines are skipped. The delimiter is one character if cells may be quoted. ``keep``
        selects lines of files without quotes.
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
                raise DataError(
                    f"{name}: the two columns {head!r} must be equal, got different cells"
                )
        return cls(name, columns)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> Sequence[str]:
        """Return the cells of a column."""
        if name not in self.columns:
            raise DataError(
                f"{self.path}: must have a column {name!r}, got {listed(list(self.columns))}"
            )
        return self.columns[name]

    def words(self, name: str) -> np.ndarray:
        """Return a column as text."""
        return _objects(self.column(name))

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats, NaN if a cell is missing."""
        try:
            return numbers_of(self.column(name))
        except CellError as error:
            raise DataError(
                f"{self.path}: {name!r} must be a number, got {shorten(error.got)} in row "
                f"{error.row + 1}"
            ) from None

    def integers(self, name: str) -> np.ndarray:
        """Return a column as integers; any other or missing cell is an error."""
        values = self.numbers(name)
        bad = ~((values == np.floor(values)) & (np.abs(values) < 2.0**63))
        if bad.any():
            row = int(bad.argmax())
            got = shorten(self.column(name)[row])
            raise DataError(f"{self.path}: {name!r} must be an integer, got {got} in row {row + 1}")
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
        """Return a column with each cell replaced by its meaning."""
        try:
            return _objects([meaning[cell] for cell in self.column(name)])
        except KeyError as error:
            raise DataError(
                f"{self.path}: {name!r} must be one of {', '.join(meaning)}, got {error}"
            ) from None

    def where(self, kept: Sequence[bool] | np.ndarray) -> "Sheet":
        """Return the selected rows."""
        mask = np.asarray(kept).tolist()
        if not any(mask):
            raise DataError(f"{self.path}: must contain a selected row, got none")
        return Sheet(self.path, {n: list(compress(c, mask)) for n, c in self.columns.items()})

    def above(self, other: "Sheet") -> "Sheet":
        """Return the rows of this sheet followed by those of another one."""
        return Sheet(self.path, {n: [*c, *other.column(n)] for n, c in self.columns.items()})


def _quoted(
    path: str, text: IO[str], delimiter: str, names: Sequence[str] | None
) -> Iterable[tuple[str, Sequence[str]]]:
    """Return the columns of a file whose cells may be quoted."""
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
    """Return the columns of a file without quotes, split at once, which is faster than by row."""
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line]
    lines = lines if keep is None else list(filter(keep, lines))
    if names is None and lines:
        names = lines.pop(0).split(delimiter)
    heads = _checked(path, names, [line.count(delimiter) + 1 for line in lines])
    cells = delimiter.join(lines).split(delimiter)
    return ((head, cells[at :: len(heads)]) for at, head in enumerate(heads))


def _checked(path: str, names: Sequence[str] | None, widths: list[int]) -> Sequence[str]:
    """Return the names; raise unless there are rows with one cell per name."""
    if not names or not widths:
        raise DataError(f"{path}: must contain rows, got none")
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
