"""`read_excel`: a sheet of a workbook to RankingData (needs python-calamine)."""

import datetime
import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

from ..core.data import RankingData
from ..core.environment import require
from ..core.errors import DataError, suggest
from ..core.keywords import shared_keywords
from .column_roles import Names, Roles, assign, listed
from .file_keywords import ColumnKeywords, HeaderKeywords, split_keywords
from .file_options import FileOptions
from .files import FileInMemory, GivenFile, given_file, source_of
from .gatherer import Gatherer, TextChunk, empty_rows, gather_decimals, named_cells
from .number_cells import Decimal
from .text_layout import header_names

__all__ = ["Workbook", "excel_cells", "gather_excel", "read_excel"]


#: The content may have this many times the bytes of the file, or so many.
_TIMES, _LEAST = 200, 1 << 30
#: The number of a row.
_ROW = re.compile(rb'<row\b[^>]*?\br="(\d{1,9})"')
#: A sheet is held as a table: its cells may span so many places, or so many times their number.
_SPAN, _SPARSE = 20_000_000, 20
#: The flag of a packed part that is encrypted.
_LOCKED = 1
#: Whole numbers below this one are exact as floats.
_EXACT = 2.0**53


@shared_keywords(ColumnKeywords, HeaderKeywords)
def read_excel(
    path: GivenFile,
    *,
    sheet: str | None = None,
    features: Names = None,
    **given: Unpack[HeaderKeywords],
) -> RankingData:
    """Read a sheet of a workbook: .xlsx, .xlsm, .xls, .xlsb or .ods.

    The first row with a value contains the names of the columns, unless ``columns`` names them.
    Cells are read as the text of a CSV file: whole numbers as integers, dates as YYYY-MM-DD.

    Parameters
    ----------
    path : path or open file of bytes
        The workbook.
    sheet : str, optional
        The name of the sheet. None: the only one with cells.
    decimal : {"comma", "point"}, optional
        The decimal sign of numbers that are stored as text, as in `read_csv`.
    columns : sequence of str, optional
        The names of all columns, if the sheet has no row of names.

    Raises
    ------
    DataError
        If the file is not a workbook, the sheet must be named, or a cell that is needed contains
        an error, a formula without a stored value, or is merged with others. In .xls and .xlsb,
        cells with an error are empty.
    MissingExtraError
        Without python-calamine, which comes with ``equirank[excel]``.

    Examples
    --------
    >>> from equirank.io import read_excel
    >>> read_excel("people.xlsx", sheet="2025", sensitive="sex")  # doctest: +SKIP
    RankingData(3213 rows, 60 queries, score, sex (2 groups))
    """
    single, policies, file = split_keywords(given, sheet=sheet)
    book = Workbook(given_file(path), file)
    roles = assign(book.path, book.names, features=features, **single)
    rows = gather_excel(book, roles, **policies)
    return rows.finish(text=True, left_out=[name for name in book.names if not name])


@dataclass(frozen=True)
class _Fault:
    """A cell that has no value to read: row and column from 0, and the reason."""

    row: int
    column: int
    reason: str

    @property
    def cell(self) -> str:
        """The name of the cell, such as B7."""
        return f"{_letters(self.column)}{self.row + 1}"


class Workbook:
    """One sheet of a workbook, as rows of text cells.

    Parameters
    ----------
    path : path
        The workbook.
    options : FileOptions
        The sheet, and the names of the columns if the sheet has none.
    words : str
        The format for `Source`.
    """

    def __init__(
        self, path: str | os.PathLike[str], options: FileOptions, words: str = "workbook"
    ) -> None:
        self.path, self.options, self.remarks = os.fspath(path), options, list[str]()
        self.how = {"format": words}
        if isinstance(path, FileInMemory):
            self._raw = path.content
        else:
            with open(path, "rb") as file:
                self._raw = file.read()
        self._check_size()
        self._sheet = self._choose_sheet()

    def _check_size(self) -> None:
        """Raise if a packed workbook is far larger than its file."""
        if self._raw[:4] != b"PK\x03\x04":
            return
        try:
            with zipfile.ZipFile(io.BytesIO(self._raw)) as packed:
                total = sum(part.file_size for part in packed.infolist())
                locked = any(part.flag_bits & _LOCKED for part in packed.infolist())
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
            raise self._damaged(error) from None
        if locked:
            raise DataError(f"{self.path}: must not be protected by a password")
        if total > max(_LEAST, _TIMES * len(self._raw)):
            raise DataError(
                f"{self.path}: must not unpack to more than {_TIMES} times its size, got {total} "
                "bytes"
            )
        with zipfile.ZipFile(io.BytesIO(self._raw)) as packed:
            for part in packed.namelist():
                if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                    self._check_span(part, packed)

    def _check_span(self, part: str, packed: zipfile.ZipFile) -> None:
        """Raise if a few cells are so far apart that the table between them is huge."""
        try:
            text = packed.read(part)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise self._damaged(error) from None
        last = _ROW.match(text, text.rfind(b"<row"))
        rows, columns = int(last[1]) if last else text.count(b"<row"), 1 << 14
        if rows * columns <= _SPAN:
            return
        columns, cells = _n_columns(text), text.count(b"<c ")
        if rows * columns > max(_SPAN, _SPARSE * cells):
            raise DataError(
                f"{self.path}: {part}: must not have a cell far from all others, got {cells} cells "
                f"in {rows} rows and about {columns} columns"
            )

    def _damaged(self, error: BaseException) -> DataError:
        words = " ".join(str(error).split()) or type(error).__name__
        return DataError(f"{self.path}: must be a workbook: {words}")

    def _choose_sheet(self) -> Any:
        calamine = require("python_calamine", "excel")
        try:
            book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(self._raw))
            known = [
                each.name
                for each in book.sheets_metadata
                if each.typ == calamine.SheetTypeEnum.WorkSheet
            ]
            wanted = self.options.sheet
            if wanted is not None:
                if wanted not in known:
                    raise DataError(
                        f"{self.path}: sheet must be one of {listed(known)}, got {wanted!r}"
                        f"{suggest(wanted, known)}"
                    )
                self.how["sheet"] = f"{wanted} (named)"
                return book.get_sheet_by_name(wanted)
            if len(known) == 1:
                self.how["sheet"] = known[0]
                return book.get_sheet_by_name(known[0])
            filled = [each for each in map(book.get_sheet_by_name, known) if each.start is not None]
        except calamine.CalamineError as error:
            raise self._damaged(error) from None
        if len(filled) != 1:
            some = listed([each.name for each in filled])
            got = f"since {some} have cells" if filled else "and no sheet has a cell"
            raise DataError(f"{self.path}: sheet must name one of the sheets, {got}")
        self.how["sheet"] = f"{filled[0].name} (guessed: the only sheet with cells)"
        return filled[0]

    @property
    def where(self) -> str:
        """The location of a row, up to its number."""
        return f"{self.path}, sheet {self._sheet.name!r}, row "

    @cached_property
    def _cells(self) -> list[tuple[int, list[Any]]]:
        """The rows with a value, each with its number from 0."""
        calamine = require("python_calamine", "excel")
        try:
            rows = self._sheet.to_python(skip_empty_area=False)
        except calamine.CalamineError as error:
            raise self._damaged(error) from None
        found = [(at, row) for at, row in enumerate(rows) if any(cell != "" for cell in row)]
        if not found:
            raise DataError(f"{self.where}1: must have a row of column names, got an empty sheet")
        numbers = [at for at, _ in found]
        empty = [at + 1 for at in range(numbers[0], numbers[-1]) if at not in {*numbers}]
        if empty:
            self.remarks.append(empty_rows("row", empty))
        return found

    @cached_property
    def _named(self) -> tuple[tuple[str, ...], int]:
        """The name of each column, empty if it has none, and the number of rows of names."""
        first, cells = self._cells[0]
        if self.options.columns is None:
            raw = [_text(cell) for cell in cells]
            names, remarks = header_names(f"{self.where}{first + 1}", raw, self.options.repeated)
            self.remarks += remarks
            return names, 1
        used = [at for at in range(len(cells)) if any(row[at] != "" for _, row in self._cells)]
        span = range(used[0], used[-1] + 1)
        if len(span) != len(self.options.columns):
            raise DataError(
                f"{self.where}{first + 1}: columns must name the {len(span)} columns of the sheet, "
                f"got {len(self.options.columns)} names"
            )
        given = dict(zip(span, self.options.columns, strict=True))
        return tuple(given.get(at, "") for at in range(len(cells))), 0

    @property
    def names(self) -> list[str]:
        """The names of the columns; empty for a column without one."""
        return list(self._named[0])

    def chunk(self, names: Sequence[str], decimals: Mapping[str, Decimal]) -> TextChunk:
        """Return the rows of some columns as text."""
        every, above = self._named
        first = {name: at for at, name in reversed(list(enumerate(every)))}
        rows = self._cells[above:]
        self._check([first[name] for name in names], rows)
        columns = {name: [_text(row[first[name]]) for _, row in rows] for name in names}
        return TextChunk(self.where, columns, [at + 1 for at, _ in rows], decimals)

    def text_columns(self) -> list[list[str]]:
        """Return all columns as text."""
        names, above = self._named
        rows = self._cells[above:]
        self._check(range(len(names)), rows)
        return [[_text(row[at]) for _, row in rows] for at in range(len(names))]

    def _check(self, columns: Sequence[int], rows: Sequence[tuple[int, Any]]) -> None:
        """Raise if a needed cell has an error, a formula without a value, or is merged."""
        needed, below = {*columns}, rows[0][0] if rows else 0
        for fault in self._faults:
            if fault.column in needed and fault.row >= below:
                raise DataError(
                    f"{self.path}, sheet {self._sheet.name!r}, cell {fault.cell}: must hold a "
                    f"value, got {fault.reason}"
                )
        for (top, left), (bottom, right) in self._sheet.merged_cell_ranges or ():
            if bottom >= below and needed & {*range(left, right + 1)}:
                first, last = f"{_letters(left)}{top + 1}", f"{_letters(right)}{bottom + 1}"
                raise DataError(
                    f"{self.path}, sheet {self._sheet.name!r}, cell {first}: must not be merged "
                    f"with others, got the cells {first} to {last} as one; split them first"
                )

    @cached_property
    def _faults(self) -> list[_Fault]:
        """The cells with an error, or with a formula whose value is not stored."""
        if self._raw[:4] != b"PK\x03\x04":
            return []
        with zipfile.ZipFile(io.BytesIO(self._raw)) as packed:
            parts = set(packed.namelist())
            try:
                if "xl/workbook.xml" in parts:
                    return list(_xlsx_faults(packed, self._sheet.name))
                if "content.xml" in parts:
                    return list(_ods_faults(packed.read("content.xml"), self._sheet.name))
            except (zipfile.BadZipFile, zlib.error, EOFError, LookupError, SyntaxError) as error:
                raise self._damaged(error) from None
            except (ValueError, RuntimeError) as error:  # a damaged, or a protected, part
                raise self._damaged(error) from None
        return []


def gather_excel(book: Workbook, roles: Roles, **options: Any) -> Gatherer:
    """Read the columns with a role."""
    file = book.options

    def gather(decimals: Mapping[str, Decimal] | None) -> Gatherer:
        source = source_of(book.path, book.how)
        rows = Gatherer(
            book.path, roles, decimals=decimals, file=source, rules=file.label_rules, **options
        )
        chunk = book.chunk(roles.needed, decimals or {})
        if chunk.n_rows:
            rows.add(chunk)
        rows.remarks += dict.fromkeys(book.remarks)
        return rows

    def chunks() -> list[TextChunk]:
        return [book.chunk(roles.numbers, {})]

    return gather_decimals(book.path, roles, file, gather, chunks)


def excel_cells(book: Workbook) -> dict[str, list[str]]:
    """Return all columns as text; those without a name and a value are left out."""
    return named_cells(book.path, book.names, book.text_columns())


def _n_columns(text: bytes) -> int:
    """Return a number that the columns of a sheet do not exceed, of their longest names."""
    for length in (3, 2, 1):
        low, high = 0, 26  # the first letters of such names are below the letter `high`
        while low < high:
            middle = (low + high) // 2
            letters = b"[%c-Z][A-Z]{%d}" % (ord("A") + middle, length - 1)
            if re.search(rb' r="' + letters + rb"\d", text):
                low = middle + 1
            else:
                high = middle
        if low:
            return low * 26 ** (length - 1) + sum(26**each for each in range(1, length))
    return 0


def _text(cell: Any) -> str:
    """Return a cell as the text that a CSV file would have."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell == cell // 1 and abs(cell) < _EXACT else repr(cell)
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


def _letters(column: int) -> str:
    """Return the letters of a column from 0.

    Examples
    --------
    >>> _letters(0), _letters(25), _letters(26), _letters(701), _letters(702)
    ('A', 'Z', 'AA', 'ZZ', 'AAA')
    """
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


_CELL = re.compile(rb"<(?:\w+:)?c\b([^>]*?)(?:/>|>(.*?)</(?:\w+:)?c>)", re.DOTALL)
_REFERENCE = re.compile(rb'\br="([A-Z]{1,3})([0-9]{1,7})"')
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_VALUE = re.compile(rb"<(?:\w+:)?v>([^<]*)<")
_KIND = re.compile(rb'\bt="(\w+)"')


def _xlsx_faults(packed: zipfile.ZipFile, sheet: str) -> Iterator[_Fault]:
    """Yield the faults of a sheet of an .xlsx workbook, whose reader makes them empty cells."""
    text = packed.read(_xlsx_part(packed, sheet))
    if not (_FORMULA.search(text) or b't="e"' in text):
        return
    for found in _CELL.finditer(text):
        head, body = found[1], found[2] or b""
        at, kind, value = _REFERENCE.search(head), _KIND.search(head), _VALUE.search(body)
        if at is None:
            continue
        column = 0
        for letter in at[1]:
            column = 26 * column + letter - 64
        place = int(at[2]) - 1, column - 1
        if kind and kind[1] == b"e":
            word = value[1].decode("utf-8", "replace") if value else "an unknown one"
            yield _Fault(*place, f"the error {word}")
        elif (
            _FORMULA.search(body) and not (value and value[1]) and not (kind and kind[1] == b"str")
        ):
            yield _Fault(*place, "a formula without a stored value; calculate and save it first")


def _xlsx_part(packed: zipfile.ZipFile, sheet: str) -> str:
    """Return the part of the package that contains a sheet."""
    from xml.etree import ElementTree

    book = ElementTree.fromstring(packed.read("xl/workbook.xml"))
    keys = [
        value
        for each in _tagged(book.iter(), "sheet")
        if _attribute(each, "name") == sheet
        for name, value in each.attrib.items()
        if name.endswith("}id")
    ]
    links = ElementTree.fromstring(packed.read("xl/_rels/workbook.xml.rels"))
    targets = [_attribute(each, "Target") for each in links if _attribute(each, "Id") in keys]
    if not targets:
        raise LookupError(f"no part contains the sheet {sheet!r}")
    target = targets[0]
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _ods_faults(content: bytes, sheet: str) -> Iterator[_Fault]:
    """Yield the faults of a sheet of an .ods workbook."""
    if b":formula" not in content:
        return
    from xml.etree import ElementTree

    for table in _tagged(ElementTree.fromstring(content).iter(), "table"):
        if _attribute(table, "name") != sheet:
            continue
        row = 0
        for line in _tagged(table.iter(), "table-row"):
            column = 0
            for cell in line:
                formula, kind = _attribute(cell, "formula"), _attribute(cell, "value-type")
                kinds = [v for k, v in cell.attrib.items() if k.rpartition("}")[2] == "value-type"]
                if formula and "error" in kinds:
                    word = "".join(cell.itertext()).strip() or "an unknown one"
                    yield _Fault(row, column, f"the error {word}")
                elif formula and not kind:
                    yield _Fault(
                        row, column, "a formula without a stored value; calculate and save it first"
                    )
                column += int(_attribute(cell, "number-columns-repeated") or 1)
            row += int(_attribute(line, "number-rows-repeated") or 1)


def _tagged(elements: Iterable[Any], name: str) -> Iterator[Any]:
    return (each for each in elements if each.tag.rpartition("}")[2] == name)


def _attribute(element: Any, name: str) -> str:
    return next((v for k, v in element.attrib.items() if k.rpartition("}")[2] == name), "")
