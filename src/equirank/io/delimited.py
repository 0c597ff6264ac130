"""`read_csv`: delimited text to RankingData, by the standard library or, faster, by pyarrow."""

import codecs
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import IO, Any, Unpack

import numpy as np

from ..core.data import RankingData
from ..core.environment import require
from ..core.errors import MissingExtraError
from ..core.keywords import shared_keywords
from .column_roles import Names, Roles, assign
from .file_keywords import ColumnKeywords, HeaderKeywords, TextKeywords, split_keywords
from .file_options import FileOptions
from .files import GivenFile, file_size, given_file, open_bytes, source_of
from .gatherer import Gatherer, TextChunk, empty_rows, gather_decimals, named_cells
from .number_cells import MISSING, Decimal, numbers_of
from .text_layout import Records, TextLayout, open_records, text_layout

__all__ = ["PlainBytes", "csv_cells", "gather_csv", "read_csv", "text_chunks"]


_ROWS, _CELLS = 1024, 1 << 20  # most rows and cells of a chunk of the standard library
_COLUMNS = 4096  # pyarrow handles a short chunk of more columns slowly
_SMALL = 1 << 21  # bytes; importing pyarrow takes longer than reading a smaller file
_BYTES = 1 << 20  # bytes of a chunk of pyarrow, which reads several ahead
_MISSING = frozenset(MISSING)


@shared_keywords(ColumnKeywords, HeaderKeywords, TextKeywords)
def read_csv(
    path: GivenFile, *, features: Names = None, **given: Unpack[TextKeywords]
) -> RankingData:
    r"""Read a CSV file (gzip or plain), with a header line unless ``columns`` names its columns.

    If an argument is None, its column is recognised by name, in any case of letters; two such
    columns are an error. ``False`` means that there is no such column.

    Parameters
    ----------
    path : path or open file of bytes
        The file. Gzip is recognised by its content.

    Raises
    ------
    DataError
        With file, line and text: a line with too few or too many cells, a cell that is not a
        number in a column of numbers, a missing score, an unknown column, an empty file, a file
        that is not text.

    Notes
    -----
    A cell is missing if it is empty or one of NA, N/A, n/a, NaN, nan, null, NULL, <NA>. Missing
    features become NaN. In columns of numbers, true and false are 1 and 0. Labels (query, id,
    sensitive) are integers if all of them are written as integers of 64 bits without leading
    zeros, and text otherwise; a sensitive column of decimal numbers is read as numbers. Sensitive
    labels are cleaned: Unicode NFC, single spaces, and one spelling, the most frequent, of labels
    that differ only in case; unknown words count as missing. Names of columns, lists and people are
    trimmed, rows without any value left out, and positions with gaps counted anew. If pyarrow is
    installed, it parses large files, with the same result. The file is read in chunks: memory is at
    most about twice the result.

    Examples
    --------
    >>> from equirank.datasets import hiring_path
    >>> read_csv(hiring_path(), query="vacancy", sensitive="sex", features=())
    RankingData(3213 rows, 60 queries, score, sex (2 groups))
    """
    single, policies, file = split_keywords(given)
    layout = text_layout(given_file(path), file)
    roles = assign(layout.path, layout.names, features=features, **single)
    rows = gather_csv(layout, roles, file, **policies)
    return rows.finish(text=True, left_out=[column for column in layout.names if not column])


def csv_cells(layout: TextLayout) -> dict[str, list[str]]:
    """Return all columns as the text in the file; those without a name and a value are left out."""
    columns: list[list[str]] = [[] for _ in layout.names]
    with open_records(layout.path, layout.encoding, layout.delimiter) as records:
        for block, _ in records.blocks(layout, range(len(columns)), _ROWS):
            for column, cells in zip(columns, block, strict=True):
                column.extend(cells)
    return named_cells(layout.path, layout.names, columns)


def gather_csv(layout: TextLayout, roles: Roles, file: FileOptions, **options: Any) -> Gatherer:
    """Read the columns with a role: large files by pyarrow, if it is installed."""

    def gather(decimals: Mapping[str, Decimal] | None) -> Gatherer:
        return _gather(layout, roles, decimals, rules=file.label_rules, **options)

    def chunks() -> Iterator[TextChunk]:
        with open_records(layout.path, layout.encoding, layout.delimiter) as records:
            yield from text_chunks(records, layout, roles.numbers, {})

    return gather_decimals(layout.path, roles, file, gather, chunks)


def _gather(
    layout: TextLayout, roles: Roles, decimals: Mapping[str, Decimal] | None, **options: Any
) -> Gatherer:
    """Read the columns with a role; None for ``decimals`` if commas are still to be decided."""
    file = source_of(layout.path, layout.how, layout.remarks)
    rows = Gatherer(layout.path, roles, decimals=decimals, file=file, **options)
    fast = layout.encoding in ("utf-8", "utf-8-sig") and layout.skipped == bool(layout.heading)
    fast = fast and layout.delimiter.isascii() and layout.delimiter != " "
    fast = fast and len(layout.names) <= _COLUMNS and file_size(layout.path) > _SMALL
    if fast and _gather_fast(layout, rows):
        return rows
    rows = Gatherer(layout.path, roles, decimals=decimals, file=file, **options)
    with open_records(layout.path, layout.encoding, layout.delimiter) as records:
        for chunk in text_chunks(records, layout, roles.needed, decimals or {}):
            rows.add(chunk)
    if records.empty:
        rows.remarks.append(empty_rows("line", records.empty))
    return rows


def text_chunks(
    records: Records, layout: TextLayout, names: Sequence[str], decimals: Mapping[str, Decimal]
) -> Iterator[TextChunk]:
    """Yield the rows, some thousands at a time."""
    first = {name: at for at, name in reversed(list(enumerate(layout.names)))}
    places, where = [first[name] for name in names], f"{layout.path}, line "
    most = max(1, min(_ROWS, _CELLS // len(layout.names)))
    for columns, lines in records.blocks(layout, places, most):
        yield TextChunk(where, dict(zip(names, columns, strict=True)), lines, decimals)


class PlainBytes(io.RawIOBase):
    """A stream that ends at what pyarrow and the standard library read differently.

    A quote must open at the start of a cell, and close before a delimiter, the end of a line or
    another quote; there is no NUL byte, and no quoted line end is split between two blocks. All
    bytes are UTF-8, also in columns that pyarrow does not convert, unless this is ``known``. The
    first violation is stored in ``problem`` (raising from a thread of pyarrow can block it).
    """

    def __init__(self, stream: IO[bytes], delimiter: str, known: bool = False) -> None:
        super().__init__()
        self._stream, self._open, self.problem, self._known = stream, False, "", known
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
            if not self._known:
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

    text = True

    def __init__(self, batch: Any, places: dict[str, int], decimals: Mapping[str, Decimal]) -> None:
        self._batch, self._places, self.n_rows = batch, places, batch.num_rows
        self._decimals = decimals

    def _column(self, name: str) -> Any:
        return self._batch.column(self._places[name])

    def numbers(self, name: str) -> np.ndarray:
        """Cast a column by pyarrow if all cells are plain numbers, else cell by cell."""
        column, decimal = self._column(name), self._decimals.get(name)
        values = self._cast(column) if decimal is None else None
        return numbers_of(column.to_pylist(), decimal) if values is None else values

    @staticmethod
    def _cast(column: Any) -> np.ndarray | None:
        """Return a column without missing cells, or with, cast by pyarrow; None if it cannot."""
        compute = require("pyarrow.compute", "data")
        for missing in (False, True):
            try:
                if missing:
                    words = require("pyarrow", "data").array(MISSING)
                    empty = compute.is_in(column, value_set=words)
                    column = compute.if_else(empty, None, column)
                values: np.ndarray = column.cast("float64").to_numpy(zero_copy_only=False)
                if np.isnan(values).sum() == column.null_count:
                    return values
            except ValueError:
                pass
        return None

    def labels(self, name: str, *, raw: bool = False) -> tuple[np.ndarray, list[Any]]:
        coded = self._column(name).dictionary_encode()
        codes, labels = coded.indices.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist()
        if not raw and not _MISSING.isdisjoint(labels):
            missing = np.array([label in _MISSING for label in labels])
            codes = np.where(missing[codes], -1, codes)
        return codes, labels

    def cells(self, name: str) -> list[Any]:
        cells: list[Any] = self._column(name).to_pylist()
        return cells

    def location(self, row: int) -> str:
        return f"record {row}"


def _arrow() -> ModuleType | None:
    try:
        return require("pyarrow.csv", "data")
    except MissingExtraError:
        return None


def _gather_fast(layout: TextLayout, rows: Gatherer) -> bool:
    """Read with pyarrow; return False if it is not installed or fails.

    The file is then read again by the standard library, which knows the line of an error.
    """
    arrow = _arrow()
    if arrow is None or not rows.roles.needed:
        return False
    first = {name: at for at, name in reversed(list(enumerate(layout.names)))}
    wanted = [str(first[name]) for name in rows.roles.needed]
    places = {name: place for place, name in enumerate(rows.roles.needed)}
    string = require("pyarrow", "data").string()
    try:
        with open_bytes(layout.path) as stream:
            checked = PlainBytes(stream, layout.delimiter, layout.checked)
            batches = arrow.open_csv(
                checked,
                arrow.ReadOptions(
                    use_threads=False,
                    block_size=_BYTES,
                    skip_rows=layout.skipped,
                    column_names=[str(index) for index in range(len(layout.names))],
                ),
                arrow.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
                arrow.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, string),
                    strings_can_be_null=False,
                ),
            )
            texts = [layout.heading[int(index)] for index in wanted] if layout.heading else []
            for batch in batches:
                if _has_row(batch, [""] * len(wanted)) or (texts and _has_row(batch, texts)):
                    return False  # a row without values, or the names of the columns again
                rows.add(_ArrowChunk(batch, places, rows.decimals or {}))
            return not checked.problem
    except ValueError:
        return False


def _has_row(batch: Any, cells: Sequence[str]) -> bool:
    """Return whether a row has these cells, apart from spaces around them."""
    compute = require("pyarrow.compute", "data")
    found: Any = None
    for column, cell in zip(batch.columns, cells, strict=True):
        same = compute.equal(column, cell)
        if cell:
            same = compute.or_(same, compute.match_substring(column, cell))
        found = same if found is None else compute.and_(found, same)
        if not compute.any(found).as_py():
            return False
    return True
