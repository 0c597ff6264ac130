"""`read_csv`: delimited text to RankingData, by the standard library or, faster, by pyarrow."""

import codecs
import csv
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import IO, Any, Literal

import numpy as np

from ..core.data import RankingData
from ..core.environment import require
from ..core.errors import DataError, MissingExtraError
from ..core.inputs import choose
from .column_roles import MISSING, Gatherer, Name, Names, Roles, assign, codes_of, numbers_of
from .files import open_bytes, shorten

__all__ = [
    "PlainBytes",
    "check_delimiter",
    "csv_cells",
    "csv_columns",
    "csv_records",
    "gather_csv",
    "read_csv",
]


_ROWS, _CELLS = 8192, 1 << 20  # most rows and cells of a chunk of the standard library
_COLUMNS = 4096  # pyarrow handles a short chunk of more columns slowly
_SMALL = 1 << 21  # bytes; importing pyarrow takes longer than reading a smaller file
_BYTES = 1 << 20  # bytes of a chunk of pyarrow, which reads several ahead


def read_csv(
    path: str | os.PathLike[str],
    *,
    query: Name = None,
    relevance: Name = None,
    score: Name = None,
    position: Name = None,
    sensitive: Names = None,
    cost: Name = None,
    ids: Name = None,
    outcomes: Names = None,
    features: Names = None,
    delimiter: str = ",",
    missing_sensitive: Literal["error", "unknown", "category"] = "error",
    missing_relevance: Literal["error", "irrelevant"] = "error",
    max_groups: int | None = None,
) -> RankingData:
    r"""Read a CSV file with a header line (UTF-8; gzip or plain).

    If an argument is None, its column is recognised by name, in any case of letters; two such
    columns are an error. ``False`` means that there is no such column.

    Parameters
    ----------
    path : path
        The file. Gzip is recognised by its content.
    query : str, optional
        The query of each row. Recognised: qid, query, query_id, list, list_id. Without such a
        column all rows are one query.
    relevance : str, optional
        Numbers >= 0. Recognised: relevance, rel, label, grade, y, y_true.
    score : str, optional
        A given score, higher first. Recognised, unless the position is named: score, scores,
        y_score, prediction.
    position : str, optional
        A given position from 1 (0: not shown). Recognised, unless the score is named: position,
        rank.
    sensitive : str or sequence of str, optional
        Sensitive attributes. They are never recognised by name.
    cost : str, optional
        Item costs > 0. Recognised: cost.
    ids : str, optional
        The id of each row. Recognised: id, ids, doc_id, docid, item_id.
    outcomes : str or sequence of str, optional
        Columns of recorded decisions, for `audit`. They are never recognised by name.
    features : str or sequence of str, optional
        The columns of X. None: every remaining column with a name and only numbers, in the order
        of the file; a warning names the omitted columns. ``()``: no X.
    delimiter : str, default=","
        One character.
    missing_sensitive, missing_relevance : str
        As in `as_ranking_data`.
    max_groups : int, optional
        Most groups of a sensitive column, as in `as_ranking_data`.

    Returns
    -------
    RankingData

    Raises
    ------
    DataError
        With file, line and text: a line with too few or too many cells, a cell that is not a
        number in a column of numbers, a missing score, an unknown column, an empty file, a file
        that is not text.

    Notes
    -----
    A cell is missing if it is empty or one of NA, N/A, n/a, NaN, nan, null, NULL, <NA>. Missing
    features become NaN. In columns of numbers, true and false are 1 and 0. Labels (query, ids,
    sensitive) are integers if all of them are written as integers of 64 bits without leading
    zeros, and text otherwise; a sensitive column of decimal numbers is read as numbers. If pyarrow
    is installed, it parses large files, with the same result. The file is read in chunks: memory
    is at most about twice the result.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "people.csv")
    >>> _ = path.write_text("query,sex,score,relevance\nq1,f,0.2,1\nq1,m,0.9,0\n")
    >>> read_csv(path, sensitive="sex")
    RankingData(2 rows, 1 query, y, score, sex (2 groups))
    >>> folder.cleanup()
    """
    name = os.fspath(path)
    choose("missing_sensitive", missing_sensitive, ("error", "unknown", "category"))
    choose("missing_relevance", missing_relevance, ("error", "irrelevant"))
    check_delimiter(delimiter)
    header = csv_columns(path, delimiter)
    roles = assign(
        name, header, query=query, relevance=relevance, score=score, position=position, cost=cost,
        ids=ids, sensitive=sensitive, outcomes=outcomes,
        features=features,
    )  # fmt: skip
    rows = gather_csv(
        path,
        roles,
        delimiter,
        missing_sensitive=missing_sensitive,
        missing_relevance=missing_relevance,
        max_groups=max_groups,
    )
    return rows.finish(text=True, left_out=[column for column in header if not column])


def check_delimiter(delimiter: Any) -> None:
    """Raise unless the delimiter is one character that can separate cells."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise DataError(f"delimiter must be one character, got {delimiter!r}")


def csv_columns(path: str | os.PathLike[str], delimiter: str = ",") -> list[str]:
    """Return the column names of the first line."""
    with csv_records(path, delimiter) as records:
        return records.header()


def csv_cells(path: str | os.PathLike[str], delimiter: str = ",") -> dict[str, list[str]]:
    """Return all columns as the text in the file."""
    with csv_records(path, delimiter) as records:
        header = records.header()
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise DataError(
                f"{os.fspath(path)}: each column name must occur once, got {twice!r} twice"
            )
        columns: dict[str, list[str]] = {name: [] for name in header}
        for chunk in records.chunks(header, Roles({}, (), tuple(header), False)):
            for name, cells in columns.items():
                cells += chunk.cells(name)
        return columns


def gather_csv(
    path: str | os.PathLike[str], roles: Roles, delimiter: str = ",", **options: Any
) -> Gatherer:
    """Read the columns with a role: large files by pyarrow, if it is installed."""
    with csv_records(path, delimiter) as records:
        header = records.header()
        one_line = records.line == 1
    rows = Gatherer(os.fspath(path), roles, **options)
    fast = one_line and delimiter.isascii() and os.path.getsize(path) > _SMALL
    fast = fast and len(header) <= _COLUMNS
    if not (fast and _gather_fast(path, header, delimiter, rows)):
        rows = Gatherer(os.fspath(path), roles, **options)
        with csv_records(path, delimiter) as records:
            records.header()
            for chunk in records.chunks(header, roles):
                rows.add(chunk)
    return rows


def _indices(header: list[str], roles: Roles) -> dict[str, int]:
    """Return the index of each needed column."""
    first = {name: at for at, name in reversed(list(enumerate(header)))}
    return {name: first[name] for name in roles.needed}


class _TextChunk:
    """Rows of text cells."""

    def __init__(self, path: str, columns: dict[str, Sequence[str]], lines: list[int]) -> None:
        self._path, self._columns, self._lines, self.n_rows = path, columns, lines, len(lines)

    def cells(self, name: str) -> Sequence[str]:
        return self._columns[name]

    def numbers(self, name: str) -> np.ndarray:
        return numbers_of(self._columns[name])

    def labels(self, name: str) -> tuple[np.ndarray, list[Any]]:
        return codes_of(self._columns[name])

    def location(self, row: int) -> str:
        return f"{self._path}, line {self._lines[row]}"


class _Records:
    """The records of a file, parsed by the standard library, and their first lines."""

    def __init__(self, path: str, file: IO[str], delimiter: str) -> None:
        self.path, self.line, self.begin, self._delimiter = path, 0, 1, delimiter
        self._reader = csv.reader(self._lines(file), delimiter=delimiter, strict=True)

    def _lines(self, file: IO[str]) -> Iterator[str]:
        for self.line, line in enumerate(file, start=1):
            if "\0" in line:
                raise DataError(f"{self.path}, line {self.line}: must be text, got a NUL byte")
            yield line

    def _cells(self) -> Iterator[list[str]]:
        """Yield the records, without blank lines."""
        begin = self.line + 1
        try:
            for cells in self._reader:
                if cells:
                    self.begin = begin
                    yield cells
                begin = self.line + 1
        except csv.Error as error:
            raise DataError(f"{self.path}, line {self.line}: must be CSV: {error}") from None

    def header(self) -> list[str]:
        """Read the names of the columns."""
        for names in self._cells():
            return names
        raise DataError(f"{self.path}: must have a line of column names, got an empty file")

    def chunks(self, header: list[str], roles: Roles) -> Iterator[_TextChunk]:
        """Yield the rows, some thousands at a time."""
        indices, most = _indices(header, roles), max(1, min(_ROWS, _CELLS // len(header)))
        rows, lines = list[list[str]](), list[int]()
        for cells in self._cells():
            if len(cells) != len(header):
                got = shorten(self._delimiter.join(cells))
                raise DataError(
                    f"{self.path}, line {self.begin}: must have {len(header)} cells, "
                    f"got {len(cells)} in {got}"
                )
            rows.append(cells)
            lines.append(self.begin)
            if len(rows) == most:
                yield self._chunk(indices, rows, lines)
                rows, lines = [], []
        if rows:
            yield self._chunk(indices, rows, lines)

    def _chunk(
        self, indices: dict[str, int], rows: list[list[str]], lines: list[int]
    ) -> _TextChunk:
        columns = list(zip(*rows, strict=True))
        return _TextChunk(self.path, {name: columns[j] for name, j in indices.items()}, lines)


@contextmanager
def csv_records(path: str | os.PathLike[str], delimiter: str) -> Iterator[_Records]:
    """Open a file and return its records; bytes that are not UTF-8 raise with their line."""
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            yield _Records(os.fspath(path), text, delimiter)
        except UnicodeDecodeError:
            raise _not_text(path) from None
        finally:
            text.detach()


def _not_text(path: str | os.PathLike[str]) -> DataError:
    """Return an error that names the first line that is not UTF-8."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError as error:
                got = raw[max(0, error.start - 10) : error.start + 10]
                where = f"{os.fspath(path)}, line {number}"
                return DataError(f"{where}: must be text in UTF-8, got the bytes {got!r}")
    return DataError(f"{os.fspath(path)}: must be text in UTF-8")


class PlainBytes(io.RawIOBase):
    """A stream that ends at what pyarrow and the standard library read differently.

    A quote must open at the start of a cell, and close before a delimiter, the end of a line or
    another quote; there is no NUL byte, and no quoted line end is split between two blocks. All
    bytes are UTF-8, also in columns that pyarrow does not convert. The first violation is stored
    in ``problem`` (raising from a thread of pyarrow can block it).
    """

    def __init__(self, stream: IO[bytes], delimiter: str) -> None:
        super().__init__()
        self._stream, self._open, self.problem = stream, False, ""
        self._before = np.frombuffer((delimiter + '\r\n"').encode(), np.uint8)
        self._last = 10  # the byte before the block; initially a line end
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read and check at most ``size`` bytes; return none after a problem."""
        try:
            block = b"" if self.problem else self._stream.read(size)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            self.problem, block = str(error) or "it cannot be read", b""
        self.problem = self.problem or self._check(block)
        return b"" if self.problem else block

    def _check(self, block: bytes) -> str:
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            return "bytes that are not UTF-8"
        if not block:
            return "the text ends within quotes" if self._open else ""
        if b"\0" in block:
            return "a NUL byte"
        if self._last == 34 and not self._open and block[0] not in self._before:
            return "a quote closes within a cell"
        if self._open and self._last == 13 and block[0] == 10:
            return "a quoted line end is split, of which pyarrow loses the second byte"
        if b'"' in block:
            text = np.frombuffer(block, np.uint8)
            quotes = np.flatnonzero(text == 34)
            openings, closings = quotes[int(self._open) :: 2], quotes[int(not self._open) :: 2]
            before = text[openings - 1]
            if len(openings) and openings[0] == 0:
                before[0] = self._last
            after = text[closings[closings + 1 < len(text)] + 1]
            if not (np.isin(before, self._before).all() and np.isin(after, self._before).all()):
                return "a quote within a cell"
            self._open ^= len(quotes) % 2 == 1
        self._last = block[-1]
        return ""


class _ArrowChunk:
    """Rows of text cells in columns of pyarrow."""

    def __init__(self, batch: Any, places: dict[str, int]) -> None:
        self._batch, self._places, self.n_rows = batch, places, batch.num_rows

    def _column(self, name: str) -> Any:
        return self._batch.column(self._places[name])

    def numbers(self, name: str) -> np.ndarray:
        """Cast a column by pyarrow if all cells are plain numbers, else cell by cell."""
        column = self._column(name)
        try:
            values: np.ndarray = column.cast("float64").to_numpy(zero_copy_only=False)
            if np.isnan(values).sum() == column.null_count:
                return values
        except ValueError:
            pass
        return numbers_of([cell or "" for cell in column.to_pylist()])

    def labels(self, name: str) -> tuple[np.ndarray, list[Any]]:
        coded = self._column(name).dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return codes, coded.dictionary.to_pylist()

    def location(self, row: int) -> str:
        return f"record {row}"


def _arrow() -> ModuleType | None:
    try:
        return require("pyarrow.csv", "data")
    except MissingExtraError:
        return None


def _gather_fast(
    path: str | os.PathLike[str], header: list[str], delimiter: str, rows: Gatherer
) -> bool:
    """Read with pyarrow; return False if it is not installed or fails.

    The file is then read again by the standard library, which knows the line of an error.
    """
    arrow = _arrow()
    if arrow is None:
        return False
    indices = _indices(header, rows.roles)
    if not indices:
        return False
    wanted = [str(index) for index in indices.values()]
    places = {name: place for place, name in enumerate(indices)}
    string = require("pyarrow", "data").string()
    try:
        with open_bytes(path) as stream:
            checked = PlainBytes(stream, delimiter)
            batches = arrow.open_csv(
                checked,
                arrow.ReadOptions(
                    use_threads=False,
                    block_size=_BYTES,
                    skip_rows=1,
                    column_names=[str(index) for index in range(len(header))],
                ),
                arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                arrow.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, string),
                    null_values=list(MISSING),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            )
            for batch in batches:
                rows.add(_ArrowChunk(batch, places))
            return not checked.problem
    except ValueError:
        return False
