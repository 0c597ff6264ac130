"""`read_pairs`: comparisons of two items from CSV or Parquet files."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.environment import require
from ..core.errors import DataError
from .column_roles import existing_column, listed, recognised_columns
from .delimited import text_chunks
from .file_options import FileOptions
from .files import shorten
from .gatherer import Chunk
from .growing_arrays import GrowingArray
from .number_cells import CellError
from .parquet import BatchChunk, open_parquet, parquet_files, read_batches
from .text_layout import open_records, text_layout

__all__ = ["Pairs", "read_pairs"]


RECOGNISED = {
    "first": ("first", "winner", "better", "left", "a"),
    "second": ("second", "loser", "worse", "right", "b"),
    "preference": ("preference",),
    "weight": ("weight",),
}


class Pairs(NamedTuple):
    """Comparisons in the format of ``fit_pairs``: ``model.fit_pairs(X, *pairs)``.

    Attributes
    ----------
    pairs : ndarray of int of shape (n_pairs, 2)
        Row numbers.
    preference : ndarray or None
        > 0 if the first row is preferred, < 0 if the second is, 0 if neither is. None: always the
        first.
    weight : ndarray or None
        Weight of each pair. None: all equal.

    Examples
    --------
    >>> from equirank.io.pair_files import Pairs
    >>> Pairs(np.array([[0, 1]]), None, None).pairs
    array([[0, 1]])
    """

    pairs: np.ndarray
    preference: np.ndarray | None
    weight: np.ndarray | None


def read_pairs(
    path: str | os.PathLike[str],
    *,
    first: str | None = None,
    second: str | None = None,
    preference: str | None = None,
    weight: str | None = None,
    ids: Any = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Pairs:
    r"""Read comparisons of two items: one per line of a CSV file, or per row of a Parquet file.

    If an argument is None, its column is recognised by name, in any case of letters.
    Contradictory and cyclic comparisons are kept.

    Parameters
    ----------
    path : path
        CSV with a header line (gzip or plain), a Parquet file, or a folder of Parquet
        files. Parquet is recognised by its first bytes.
    first, second : str, optional
        The columns of the two items. Recognised: first, winner, better, left, a; and second, loser,
        worse, right, b.
    preference : str, optional
        A number > 0 if the first item is preferred, < 0 if the second is, 0 if neither is.
        Recognised: preference. Without such a column the first is always preferred.
    weight : str, optional
        Numbers >= 0. Recognised: weight.
    ids : array-like, optional
        The name of each row of X, as in ``data.ids``, if the file contains names. None: it contains
        row numbers from 0.
    delimiter, encoding : str, optional
        Of CSV, as in `read_csv`.

    Returns
    -------
    Pairs
        For ``model.fit_pairs(X, *pairs)``.

    Raises
    ------
    DataError
        With file, line and text: an unknown item, an item compared with itself, a cell that is not
        a number; or if the file has no pair.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "tastings.csv").write_text(
    ...     "first,second,preference\nrye,oat,1\noat,spelt,-1\noat,rye,0\n"
    ... )
    >>> pairs = read_pairs(f"{folder.name}/tastings.csv", ids=["oat", "rye", "spelt"])
    >>> pairs.pairs.tolist(), pairs.preference.tolist()
    ([[1, 0], [0, 2], [0, 1]], [1.0, -1.0, 0.0])
    >>> folder.cleanup()
    """
    options = FileOptions(delimiter=delimiter, encoding=encoding)
    rows = _rows_by_name(ids)
    given = {"first": first, "second": second, "preference": preference, "weight": weight}
    items, numbers = GrowingArray(np.int64), dict[str, GrowingArray]()
    for chunk, columns in _chunks(path, given, options):
        items.append(_items(chunk, columns, rows).ravel())
        for role in columns.keys() & {"preference", "weight"}:
            numbers.setdefault(role, GrowingArray(np.float64)).append(_number(chunk, columns, role))
    pairs = items.finish().reshape(-1, 2)
    if len(pairs) == 0:
        raise DataError(f"{os.fspath(path)}: must contain at least one pair, got only column names")
    found = {role: array.finish() for role, array in numbers.items()}
    return Pairs(pairs, found.get("preference"), found.get("weight"))


def _rows_by_name(ids: Any) -> dict[str, int] | None:
    if ids is None:
        return None
    rows: dict[str, int] = {}
    for row, label in enumerate(np.asarray(ids).tolist()):
        if rows.setdefault(str(label), row) != row:
            raise DataError(f"ids must be unique, got {label!r} again in row {row}")
    return rows


def _chunks(
    path: str | os.PathLike[str], given: Mapping[str, str | None], options: FileOptions
) -> Iterator[tuple[Chunk, dict[str, str]]]:
    """Yield the needed columns, some thousand rows at a time."""
    if _is_parquet(path):
        parquet = require("pyarrow.parquet", "data")
        for one in parquet_files(path):
            file = open_parquet(parquet, one, ())
            columns, begin = _columns(os.fspath(one), file.schema_arrow.names, given), 0
            for batch in read_batches(file, one, list(columns.values())):
                yield BatchChunk(os.fspath(one), batch, begin), columns
                begin += batch.num_rows
        return
    layout = text_layout(path, options)
    columns = _columns(layout.path, layout.names, given)
    with open_records(layout.path, layout.encoding, layout.delimiter) as records:
        for chunk in text_chunks(records, layout, list(columns.values()), {}):
            yield chunk, columns


def _is_parquet(path: str | os.PathLike[str]) -> bool:
    if Path(path).is_dir():
        return True
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _columns(path: str, names: Sequence[str], given: Mapping[str, str | None]) -> dict[str, str]:
    """Return the column of each role: the given one, or else the one recognised by its name."""
    found: dict[str, str] = {}
    taken = {name for name in given.values() if name is not None}
    for role, name in given.items():
        if name is not None:
            found[role] = existing_column(path, names, role, name)
            continue
        matches = recognised_columns(names, RECOGNISED[role], taken)
        if len(matches) > 1:
            raise DataError(
                f"{path}: {role} must be named, since the columns {listed(matches)} could all be it"
            )
        if matches:
            found[role] = matches[0]
        elif role in ("first", "second"):
            raise DataError(
                f"{path}: {role} must be named, since none of the columns {listed(names)} is it"
            )
    if len(set(found.values())) < len(found):
        raise DataError(f"{path}: each column must have one role, got one with several")
    return found


def _items(chunk: Chunk, columns: Mapping[str, str], rows: dict[str, int] | None) -> np.ndarray:
    """Return the row numbers of the two items of each pair."""
    table = np.stack([_item(chunk, role, columns[role], rows) for role in ("first", "second")], 1)
    same = table[:, 0] == table[:, 1]
    if same.any():
        at = int(same.argmax())
        got = shorten(_cell(chunk, columns["first"], at))
        raise DataError(f"{chunk.location(at)}: must compare two different items, got {got} twice")
    return table


def _item(chunk: Chunk, role: str, column: str, rows: dict[str, int] | None) -> np.ndarray:
    codes, labels = chunk.labels(column)
    known = np.array([_row(label, rows) for label in labels] + [-1], dtype=np.int64)
    found: np.ndarray = known[codes]
    if (found < 0).any():
        at = int((found < 0).argmax())
        wanted = "a row number from 0" if rows is None else "one of ids"
        got = "a missing cell" if codes[at] < 0 else shorten(labels[codes[at]])
        raise DataError(f"{chunk.location(at)}: {role} ({column!r}) must be {wanted}, got {got}")
    return found


def _row(label: Any, rows: dict[str, int] | None) -> int:
    """Return the row of a label, -1 if there is none."""
    word = str(label).strip()
    if rows is not None:
        return rows.get(word, -1)
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else -1


def _cell(chunk: Chunk, column: str, at: int) -> Any:
    codes, labels = chunk.labels(column)
    return labels[codes[at]]


def _number(chunk: Chunk, columns: Mapping[str, str], role: str) -> np.ndarray:
    """Return a column of numbers without missing values."""
    column, wanted = columns[role], "a number >= 0" if role == "weight" else "a number"
    try:
        values = chunk.numbers(column)
    except CellError as error:
        where, got = chunk.location(error.row), shorten(error.got)
        raise DataError(f"{where}: {role} ({column!r}) must be {wanted}, got {got}") from None
    bad = ~np.isfinite(values) | ((values < 0) & (role == "weight"))
    if bad.any():
        at = int(bad.argmax())
        got = "a missing cell" if np.isnan(values[at]) else f"'{values[at]:g}'"
        raise DataError(f"{chunk.location(at)}: {role} ({column!r}) must be {wanted}, got {got}")
    return values
