"""`read_parquet`: Parquet files to RankingData (needs pyarrow)."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from ..core.data import RankingData
from ..core.environment import require
from ..core.errors import DataError
from ..core.keywords import shared_keywords
from .column_roles import Names, Roles, assign
from .file_keywords import ColumnKeywords, split_keywords
from .file_options import FileOptions
from .files import FileInMemory, GivenFile, file_size, given_file, source_of
from .gatherer import Gatherer
from .number_cells import CellError

__all__ = [
    "BatchChunk",
    "arrow_errors",
    "check_arrow",
    "gather_parquet",
    "nested_columns",
    "open_parquet",
    "parquet_cells",
    "parquet_columns",
    "parquet_files",
    "parquet_rows",
    "read_batches",
    "read_parquet",
    "same_kinds",
]


#: One file, on disk or in memory.
OneFile = Path | FileInMemory
_ROWS = 1 << 16  # rows of a chunk
_TIMES, _LEAST = (
    1000,
    1 << 32,
)  # the content may have this many times the bytes of the file, or so many


@shared_keywords(ColumnKeywords)
def read_parquet(
    path: GivenFile, *, features: Names = None, **given: Unpack[ColumnKeywords]
) -> RankingData:
    """Read a Parquet file, or a folder of them in the order of their names.

    Only the needed columns are read, some thousand rows at a time; memory is that of the result.
    X is float32 if all its columns are, else float64.

    Parameters
    ----------
    path : path or open file of bytes
        A file, or a folder whose ``*.parquet`` files have the same columns.
    features : str or sequence of str, optional
        The columns of X. None: every remaining column of numbers or booleans; a warning names the
        omitted columns. ``()``: no X.

    Raises
    ------
    DataError
        If a column is unknown, has the wrong type or lacks a required value, or if the file is not
        Parquet or has no rows.
    MissingExtraError
        Without pyarrow, which comes with ``equirank[data]``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pyarrow, pyarrow.parquet
    >>> table = pyarrow.table({"qid": [7, 7], "sex": ["f", "m"], "score": [0.5, 0.1]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "people.parquet")
    ...     pyarrow.parquet.write_table(table, path)
    ...     read_parquet(path, sensitive="sex")
    RankingData(2 rows, 1 query, score, sex (2 groups))
    """
    require("pyarrow.parquet", "data")
    single, policies, file = split_keywords(given)
    path = given_file(path)
    roles = assign(os.fspath(path), parquet_columns(path), features=features, **single)
    return gather_parquet(path, roles, file, **policies).finish(text=False)


def parquet_columns(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns."""
    parquet = require("pyarrow.parquet", "data")
    return list(open_parquet(parquet, parquet_files(path)[0], ()).schema_arrow.names)


def nested_columns(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the columns that hold several values per row, and their types."""
    parquet, types = (require(f"pyarrow.{name}", "data") for name in ("parquet", "types"))
    schema = open_parquet(parquet, parquet_files(path)[0], ()).schema_arrow
    return {each.name: str(each.type) for each in schema if types.is_nested(each.type)}


def parquet_rows(path: str | os.PathLike[str]) -> int:
    """Return the number of rows that the metadata state."""
    parquet = require("pyarrow.parquet", "data")
    files = [open_parquet(parquet, one, ()) for one in parquet_files(path)]
    return sum(file.metadata.num_rows for file in files)


def parquet_cells(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return all columns as arrays of pyarrow."""
    parquet = require("pyarrow.parquet", "data")
    tables = []
    for one in parquet_files(path):
        with arrow_errors(one):
            file = open_parquet(parquet, one, ())
            tables.append(check_arrow(file.read(), one))
            _check_rows(one, file, tables[-1].num_rows)
    table = require("pyarrow", "data").concat_tables(tables, promote_options="default")
    return {name: table.column(name).combine_chunks() for name in table.column_names}


def gather_parquet(
    path: str | os.PathLike[str], roles: Roles, file: FileOptions, **options: Any
) -> Gatherer:
    """Read the columns with a role, some thousand rows at a time."""
    parquet = require("pyarrow.parquet", "data")
    name, paths = os.fspath(path), parquet_files(path)
    schema = open_parquet(parquet, paths[0], ()).schema_arrow
    kinds = {field.name: _kind(field.type) for field in schema}
    left_out = [n for n in roles.features if roles.others and kinds[n] not in _NUMBERS]
    kept = tuple(n for n in roles.features if not roles.others or kinds[n] in _NUMBERS)
    single = bool(kept) and all(kinds[n] == "single" for n in kept)
    rows = Gatherer(
        name,
        roles,
        dtype=np.float32 if single else np.float64,
        left_out=left_out,
        rules=file.label_rules,
        decimals={},
        file=source_of(path, {"format": "Parquet"}, parts=paths),
        **options,
    )
    wanted = list(replace(roles, features=kept).needed)
    texts = [n for n in roles.labels if kinds[n] == "text"]
    size, n_rows = sum(file_size(one) for one in paths), 0
    for one in paths:
        opened = open_parquet(parquet, one, texts)
        n_rows += opened.metadata.num_rows
        _check_size(name, size, n_rows, len(wanted))
        same_kinds(name, one, schema, opened.schema_arrow, wanted)
        begin = 0
        for batch in read_batches(opened, one, wanted):
            rows.add(BatchChunk(os.fspath(one), batch, begin))
            begin += batch.num_rows
    return rows


def parquet_files(path: str | os.PathLike[str]) -> list[OneFile]:
    """Return the file, or the Parquet files of a folder in the order of their names."""
    if isinstance(path, FileInMemory):
        return [path]
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    found: list[OneFile] = sorted(
        p for p in folder.glob("*.parquet") if not p.name.startswith((".", "_"))
    )
    if not found:
        raise DataError(f"{os.fspath(path)}: must contain files named *.parquet, got none")
    return found


def open_parquet(parquet: Any, path: OneFile, texts: Sequence[str]) -> Any:
    """Open a Parquet file; the columns in ``texts`` are read as dictionaries."""
    with arrow_errors(path):
        where = path
        if isinstance(path, FileInMemory):
            where = require("pyarrow", "data").BufferReader(path.content)
        file = parquet.ParquetFile(where, read_dictionary=list(texts))
        for field in file.schema_arrow:
            str(field)  # names and types are text
        return file


def read_batches(file: Any, path: OneFile, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the rows of an open Parquet file, some thousand at a time."""
    n_rows = 0
    with arrow_errors(path):
        for batch in file.iter_batches(_ROWS, columns=list(columns)):
            n_rows += batch.num_rows
            yield check_arrow(batch, path)
    _check_rows(path, file, n_rows)


def _check_rows(path: OneFile, file: Any, n_rows: int) -> None:
    """Raise if a file has lost rows; pyarrow believes the count of each group of rows."""
    if n_rows != file.metadata.num_rows:
        raise DataError(
            f"{os.fspath(path)}: must hold the {file.metadata.num_rows} rows that its metadata "
            f"state, got {n_rows}"
        )


def check_arrow(rows: Any, path: OneFile) -> Any:
    """Return rows after checking that text is UTF-8 and that codes have labels."""
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        with arrow_errors(path, f"column {name!r} must be valid"):
            column.validate(full=True)
    return rows


@contextmanager
def arrow_errors(path: OneFile, expected: str = "must be a Parquet file") -> Iterator[None]:
    """Raise what pyarrow finds wrong within a file as an error that names the file."""
    arrow = require("pyarrow", "data")
    try:
        yield
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # not found, not readable: no damage
        words = " ".join(str(error).split())
        raise DataError(f"{os.fspath(path)}: {expected}: {words}") from None


_NUMBERS = ("number", "single", "truth")


def _kind(arrow_type: Any) -> str:
    """Return the kind of a pyarrow type: number, single (float32), truth, text or other."""
    types = require("pyarrow.types", "data")
    if types.is_dictionary(arrow_type):
        return "text" if _kind(arrow_type.value_type) == "text" else "other"
    if types.is_float32(arrow_type) or types.is_float16(arrow_type):
        return "single"
    if types.is_boolean(arrow_type):
        return "truth"
    if (
        types.is_integer(arrow_type)
        or types.is_floating(arrow_type)
        or types.is_decimal(arrow_type)
    ):
        return "number"
    return "text" if types.is_string(arrow_type) or types.is_large_string(arrow_type) else "other"


def _check_size(name: str, size: int, n_rows: int, n_columns: int) -> None:
    """Raise if the content is far larger than the files, as repeated values can make it."""
    if 8 * n_rows * n_columns > max(_LEAST, _TIMES * size):
        raise DataError(
            f"{name}: must not hold more than {_TIMES} times its size, got {n_rows} rows of "
            f"{n_columns} columns in {size} bytes"
        )


def same_kinds(name: str, path: OneFile, first: Any, other: Any, wanted: Sequence[str]) -> None:
    """Raise if a column of a file lacks the kind that it has in the first of several files."""
    known = {field.name: _kind(field.type) for field in first}
    kinds = {field.name: _kind(field.type) for field in other}
    for column in wanted:
        kind = kinds.get(column, "no such column")
        if kind != known[column]:
            raise DataError(
                f"{os.fspath(path)}: column {column!r} must have one type in all files of {name} "
                f"({known[column]}), got {kind}"
            )


class BatchChunk:
    """Rows of a Parquet file."""

    text = False

    def __init__(self, path: str, batch: Any, begin: int) -> None:
        self._path, self._begin, self.n_rows = path, begin, batch.num_rows
        self._columns = dict(zip(batch.schema.names, batch.columns, strict=True))

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats, NaN if missing."""
        column = self._columns[name]
        kind = _kind(column.type)
        if kind not in _NUMBERS:
            raise CellError(0, f"a column of type {column.type}")
        if kind == "truth":
            column = column.cast("uint8")
        target = "float32" if kind == "single" else "float64"
        values: np.ndarray = column.cast(target, safe=False).to_numpy(zero_copy_only=False)
        return values

    def labels(self, name: str, *, raw: bool = False) -> tuple[np.ndarray, list[Any]]:
        """Return a column as codes, -1 if missing, and their labels."""
        column = self._columns[name]
        if require("pyarrow.types", "data").is_nested(column.type):
            raise DataError(
                f"{self._path}: column {name!r} must hold one label per row, got the type "
                f"{column.type}; unnest it first"
            )
        coded = column if hasattr(column, "indices") else column.dictionary_encode()
        labels = self._values(name, coded)
        indices = coded.indices.cast("int64")
        if indices.null_count:
            indices = indices.fill_null(-1)
        codes = indices.to_numpy(zero_copy_only=False)
        missing = np.array([label is None or label != label for label in labels] + [False])
        return np.where(missing[codes], -1, codes) if missing.any() else codes, labels

    def cells(self, name: str) -> list[Any]:
        """Return a column as Python values, None if missing."""
        codes, labels = self.labels(name)
        return list(map([*labels, None].__getitem__, codes.tolist()))

    def _values(self, name: str, coded: Any) -> list[Any]:
        """Return the labels of codes as Python values; raise for a date that Python lacks."""
        failures = (ValueError, OverflowError, LookupError, NotImplementedError)
        try:
            labels: list[Any] = coded.dictionary.to_pylist()
        except failures:
            for code, label in enumerate(coded.dictionary):
                try:
                    label.as_py()
                except failures as error:
                    raise DataError(
                        f"{self.location(coded.indices.index(code).as_py())}: column {name!r} "
                        f"must hold labels that Python can represent, got one of type "
                        f"{label.type}: {error}"
                    ) from None
            raise
        return labels

    def location(self, row: int) -> str:
        """Return the file and the number of a row."""
        return f"{self._path}, row {self._begin + row}"
