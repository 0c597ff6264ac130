"""Streams of Arrow record batches: Parquet and Arrow files, folders, data sets and readers."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.environment import require
from ..core.errors import DataError
from ..io.parquet import (
    arrow_errors,
    check_arrow,
    open_parquet,
    parquet_files,
    parquet_rows,
    same_kinds,
)
from .log_columns import LogPiece

__all__ = [
    "PARQUET",
    "ArrowStream",
    "arrow_paths",
    "is_arrow_stream",
    "open_arrow",
    "open_files",
    "paired_streams",
]


#: Endings of the files that are read as streams.
PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
#: Bytes that are read ahead from each column of a Parquet file.
BUFFER = 1 << 20


@dataclass(frozen=True, eq=False)
class ArrowStream:
    """Record batches that can be read by column, once or several times.

    Attributes
    ----------
    name : str
        The file or folder, or the kind of the object, for messages.
    columns : list of str
        Names of the columns.
    read : callable
        Columns and rows of a batch -> iterator of `LogPiece`.
    n_rows : int or None
        Number of rows, if known before they are read.
    n_bytes : int or None
        Size of the files.
    again : bool
        Whether the stream can be read several times.
    paths : tuple of Path
        The files.
    """

    name: str
    columns: list[str]
    read: Callable[[Sequence[str], int], Iterator[LogPiece]]
    n_rows: int | None = None
    n_bytes: int | None = None
    again: bool = True
    paths: tuple[Path, ...] = ()
    stamps: tuple[Any, ...] = field(default=())

    def check_unchanged(self) -> None:
        """Raise if a file was replaced or written to since it was opened."""
        for path, stamp in zip(self.paths, self.stamps, strict=True):
            if _stamp(path) != stamp:
                raise DataError(f"{path}: must not change while it is read, and it did")


def arrow_paths(data: Any) -> list[Path] | None:
    """Return the Parquet and Arrow files that a path, folder, pattern or list of them names.

    None if the paths are files of another format.
    """
    given = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    found: list[Path] = []
    for each in given:
        path = Path(each)
        text = os.fspath(each)
        if path.is_dir():
            found += _folder(path)
        elif path.exists() or not glob.has_magic(text):
            found.append(path)
        else:
            matches = sorted(map(Path, glob.glob(text, recursive=True)))
            if not matches:
                raise DataError(f"{text}: must match at least one file, got none")
            found += [one for match in matches for one in _folder(match)]
    stream = [path for path in found if path.suffix.lower() in (*PARQUET, *ARROW)]
    if not stream:
        return None
    if len(stream) < len(found):
        other = next(path for path in found if path not in stream)
        raise DataError(f"{other}: several files must all be Parquet or Arrow, and this is not")
    twice = next((path for at, path in enumerate(found) if path in found[:at]), None)
    if twice is not None:
        raise DataError(f"{twice}: each file must be named once, got it twice")
    return found


def _folder(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if (path / "plan.json").exists():
        raise DataError(f"{path}: must be a log, got stored sums; ListSums.load reads them")
    found = sorted(
        each
        for each in path.rglob("*")
        if each.suffix.lower() in (*PARQUET, *ARROW) and not each.name.startswith((".", "_"))
    )
    return found or [Path(one) for one in parquet_files(path)]


def open_files(paths: Sequence[Path]) -> ArrowStream:
    """Open Parquet and Arrow files, which have the same columns, as one stream."""
    for path in paths:
        os.stat(path)  # raises if there is none
    first = _schema(paths[0])
    name = os.fspath(paths[0]) if len(paths) == 1 else f"{paths[0].parent} ({len(paths):,} files)"
    n_rows: int | None = None
    if all(path.suffix.lower() in PARQUET for path in paths):
        n_rows = sum(map(parquet_rows, paths))

    def read(columns: Sequence[str], rows: int) -> Iterator[LogPiece]:
        for path in paths:
            same_kinds(name, path, first, _schema(path), columns)
            batches = _parquet if path.suffix.lower() in PARQUET else _arrow
            yield from batches(path, columns, rows)

    stamps = tuple(map(_stamp, paths))
    size = sum(path.stat().st_size for path in paths)
    return ArrowStream(name, list(first.names), read, n_rows, size, True, tuple(paths), stamps)


def _stamp(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _schema(path: Path) -> Any:
    if path.suffix.lower() in PARQUET:
        return open_parquet(require("pyarrow.parquet", "data"), path, ()).schema_arrow
    with arrow_errors(path, "must be an Arrow file or stream"), _opened_arrow(path) as reader:
        return reader.schema


def _parquet(path: Path, columns: Sequence[str], rows: int) -> Iterator[LogPiece]:
    """Yield the rows of a Parquet file row group by row group, without reading ahead.

    With pyarrow's defaults its memory would grow with the file.
    """
    parquet = require("pyarrow.parquet", "data")
    schema = open_parquet(parquet, path, ()).schema_arrow
    texts = [name for name in columns if str(schema.field(name).type) in _TEXTS]
    with arrow_errors(path):
        file = parquet.ParquetFile(
            path, read_dictionary=texts, pre_buffer=False, buffer_size=BUFFER, memory_map=False
        )
        try:
            for group in range(file.num_row_groups):
                begin, where = 0, f"{os.fspath(path)}, row group {group}"
                size = file.metadata.row_group(group).num_rows
                found = file.iter_batches(
                    rows, row_groups=[group], columns=list(columns), use_threads=False
                )
                for batch in found:
                    yield LogPiece(where, check_arrow(batch, path), begin)
                    begin += batch.num_rows
                if begin != size:
                    raise DataError(
                        f"{where}: must hold the {size:,} rows that its metadata state, got "
                        f"{begin:,}"
                    )
        finally:
            file.close()


_TEXTS = ("string", "large_string")


def _opened_arrow(path: Path) -> Any:
    arrow = require("pyarrow", "data")
    source = arrow.OSFile(os.fspath(path), "rb")
    try:
        return arrow.ipc.open_file(source)
    except arrow.ArrowInvalid:
        source.seek(0)
        return arrow.ipc.open_stream(source)


def _arrow(path: Path, columns: Sequence[str], rows: int) -> Iterator[LogPiece]:
    """Yield the rows of an Arrow file or stream, batch by batch."""
    with arrow_errors(path, "must be an Arrow file or stream"), _opened_arrow(path) as reader:
        several = (
            (reader.get_batch(at) for at in range(reader.num_record_batches))
            if hasattr(reader, "num_record_batches")
            else reader
        )
        for at, batch in enumerate(several):
            where = f"{os.fspath(path)}, batch {at}"
            chosen = check_arrow(batch.select(list(columns)), path)
            for begin in range(0, chosen.num_rows, rows):
                yield LogPiece(where, chosen.slice(begin, rows), begin)


def is_arrow_stream(data: Any) -> bool:
    """Return whether data is a data set or a reader of Arrow, which may not fit into memory."""
    kinds = {kind.__name__ for kind in type(data).__mro__}
    own = type(data).__module__.startswith("pyarrow")
    return own and bool(kinds & {"Dataset", "RecordBatchReader"})


def open_arrow(data: Any) -> ArrowStream:
    """Open a data set or a reader of Arrow as a stream; a reader is read once."""
    arrow = require("pyarrow", "data")
    kind = type(data).__name__
    datasets: Any = None
    with suppress(ImportError):
        datasets = require("pyarrow.dataset", "data")
    if datasets is not None and isinstance(data, datasets.Dataset):

        def scan(columns: Sequence[str], rows: int) -> Iterator[LogPiece]:
            scanner = data.scanner(
                columns=list(columns), batch_size=rows, batch_readahead=1, fragment_readahead=1
            )
            yield from _numbered(kind, scanner.to_batches(), rows)

        return ArrowStream(kind, list(data.schema.names), scan, data.count_rows())
    reader = arrow.RecordBatchReader.from_stream(data)

    def read(columns: Sequence[str], rows: int) -> Iterator[LogPiece]:
        with reader:
            yield from _numbered(kind, (batch.select(list(columns)) for batch in reader), rows)

    return ArrowStream(kind, list(reader.schema.names), read, again=False)


def paired_streams(first: ArrowStream, second: ArrowStream) -> ArrowStream:
    """Return the rows of two streams, one after the other, with a column that tells them apart.

    Columns that the second lacks are left out of its rows.
    """

    def read(columns: Sequence[str], rows: int) -> Iterator[LogPiece]:
        for side, stream in enumerate((first, second)):
            own = [name for name in columns if side == 0 or name in stream.columns]
            for piece in stream.read(own, rows):
                yield piece.marked(side)

    counts = [stream.n_rows for stream in (first, second) if stream.n_rows is not None]
    sizes = [stream.n_bytes for stream in (first, second) if stream.n_bytes is not None]
    return ArrowStream(
        f"{first.name} and {second.name}",
        first.columns,
        read,
        sum(counts) if len(counts) == 2 else None,
        sum(sizes) if len(sizes) == 2 else None,
        first.again and second.again,
        (*first.paths, *second.paths),
        (*first.stamps, *second.stamps),
    )


def _numbered(kind: str, batches: Iterable[Any], rows: int) -> Iterator[LogPiece]:
    for at, batch in enumerate(batches):
        for begin in range(0, batch.num_rows, rows):
            yield LogPiece(f"{kind}, batch {at}", batch.slice(begin, rows), begin)
