"""`read_parquet`: Parquet files to RankingData (needs pyarrow)."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..core.data import RankingData
from ..core.environment import require
from ..core.errors import DataError
from ..core.inputs import choose
from .column_roles import CellError, Gatherer, Name, Names, Roles, assign

__all__ = [
    "BatchChunk",
    "gather_parquet",
    "open_parquet",
    "parquet_cells",
    "parquet_columns",
    "parquet_files",
    "read_parquet",
]


_ROWS = 1 << 16  # rows of a chunk


def read_parquet(
    path: str | os.PathLike[str],
    *,
    query: Name = None,
    relevance: Name = None,
    score: Name = None,
    position: Name = None,
    sensitive: Names = None,
    cost: Name = None,
    ids: Name = None,
    features: Names = None,
    missing_sensitive: Literal["error", "category"] = "error",
    missing_relevance: Literal["error", "irrelevant"] = "error",
) -> RankingData:
    """Read a Parquet file, or a folder of them in the order of their names.

    Only the needed columns are read, some thousand rows at a time; memory is that of the result.
    X is float32 if all its columns are, else float64.

    Parameters
    ----------
    path : path
        A file, or a folder whose ``*.parquet`` files have the same columns.
    query, relevance, score, position, sensitive, cost, ids, features : str, optional
        Names of columns, recognised as in `read_csv`. With ``features=None`` X has every remaining
        column of numbers or booleans; a warning names the omitted columns.
    missing_sensitive, missing_relevance : str
        As in `as_ranking_data`.

    Returns
    -------
    RankingData

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
    choose("missing_sensitive", missing_sensitive, ("error", "category"))
    choose("missing_relevance", missing_relevance, ("error", "irrelevant"))
    roles = assign(
        os.fspath(path), parquet_columns(path), query=query, relevance=relevance, score=score,
        position=position, cost=cost, ids=ids, sensitive=sensitive, features=features,
    )  # fmt: skip
    rows = gather_parquet(
        path, roles, missing_sensitive=missing_sensitive, missing_relevance=missing_relevance
    )
    return rows.finish(text=False)


def parquet_columns(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns."""
    parquet = require("pyarrow.parquet", "data")
    return list(open_parquet(parquet, parquet_files(path)[0], ()).schema_arrow.names)


def parquet_cells(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return all columns as arrays of pyarrow."""
    parquet = require("pyarrow.parquet", "data")
    tables = [open_parquet(parquet, one, ()).read() for one in parquet_files(path)]
    table = require("pyarrow", "data").concat_tables(tables, promote_options="default")
    return {name: table.column(name).combine_chunks() for name in table.column_names}


def gather_parquet(path: str | os.PathLike[str], roles: Roles, **missing: str) -> Gatherer:
    """Read the columns with a role, some thousand rows at a time."""
    parquet = require("pyarrow.parquet", "data")
    name, paths = os.fspath(path), parquet_files(path)
    schema = open_parquet(parquet, paths[0], ()).schema_arrow
    kinds = {field.name: _kind(field.type) for field in schema}
    left_out = [n for n in roles.features if roles.others and kinds[n] not in _NUMBERS]
    kept = tuple(n for n in roles.features if n not in left_out)
    single = bool(kept) and all(kinds[n] == "single" for n in kept)
    rows = Gatherer(
        name,
        roles,
        dtype=np.float32 if single else np.float64,
        left_out=left_out,
        **missing,
    )
    wanted = list(replace(roles, features=kept).needed)
    texts = [n for n in roles.labels if kinds[n] == "text"]
    for one in paths:
        file = open_parquet(parquet, one, texts)
        _same_columns(name, one, schema, file.schema_arrow, wanted)
        begin = 0
        for batch in file.iter_batches(_ROWS, columns=wanted):
            rows.add(BatchChunk(os.fspath(one), batch, begin))
            begin += batch.num_rows
    return rows


def parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the file, or the Parquet files of a folder in the order of their names."""
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    found = sorted(p for p in folder.glob("*.parquet") if not p.name.startswith((".", "_")))
    if not found:
        raise DataError(f"{os.fspath(path)}: must contain files named *.parquet, got none")
    return found


def open_parquet(parquet: Any, path: Path, texts: Sequence[str]) -> Any:
    """Open a Parquet file; the columns in ``texts`` are read as dictionaries."""
    try:
        return parquet.ParquetFile(path, read_dictionary=list(texts))
    except ValueError as error:
        raise DataError(f"{os.fspath(path)}: must be a Parquet file: {error}") from None


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


def _same_columns(name: str, path: Path, first: Any, other: Any, wanted: Sequence[str]) -> None:
    for column in wanted:
        kind = _kind(other.field(column).type) if column in other.names else "no such column"
        expected = _kind(first.field(column).type)
        if kind != expected:
            raise DataError(
                f"{os.fspath(path)}: column {column!r} must have one type in all files of {name} "
                f"({expected}), got {kind}"
            )


class BatchChunk:
    """Rows of a Parquet file."""

    def __init__(self, path: str, batch: Any, begin: int) -> None:
        self._path, self._batch, self._begin, self.n_rows = path, batch, begin, batch.num_rows

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats, NaN if missing."""
        column = self._batch.column(name)
        kind = _kind(column.type)
        if kind not in _NUMBERS:
            raise CellError(0, f"a column of type {column.type}")
        if kind == "truth":
            column = column.cast("uint8")
        target = "float32" if kind == "single" else "float64"
        values: np.ndarray = column.cast(target, safe=False).to_numpy(zero_copy_only=False)
        return values

    def labels(self, name: str) -> tuple[np.ndarray, list[Any]]:
        """Return a column as codes, -1 if missing, and their labels."""
        column = self._batch.column(name)
        coded = column if hasattr(column, "indices") else column.dictionary_encode()
        labels = coded.dictionary.to_pylist()
        codes = coded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        missing = np.array([label is None or label != label for label in labels] + [False])
        return np.where(missing[codes], -1, codes), labels

    def location(self, row: int) -> str:
        """Return the file and the number of a row."""
        return f"{self._path}, row {self._begin + row}"
