"""TextLayout: the encoding, delimiter and column names of a text file, stated or guessed."""

import codecs
import csv
import io
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import IO

from ..core.errors import DataError, EquirankWarning, outer_stacklevel
from .file_options import DELIMITERS, FileOptions, delimiter_word
from .files import open_bytes, shorten
from .number_cells import data_like

__all__ = ["Records", "TextLayout", "header_names", "open_records", "text_layout"]


#: Records in which every delimiter is counted.
_HEAD = 50
#: Byte-order marks and the encodings they state; the longer ones first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
#: The delimiters that are guessed; white space is never.
_GUESSED = tuple(sign for sign in DELIMITERS.values() if sign != " ")
_BLOCK = 1 << 20
#: What marks the end of a row among the cells of several; text of a file never contains it.
_END = "\0"
#: Signs that begin a comment above the rows of a file without names.
_COMMENTS = ("|", "#")


@dataclass(frozen=True)
class TextLayout:
    """How the text of a file is read.

    Attributes
    ----------
    encoding : str
        The codec, by the name that Python has for it.
    delimiter : str
        One character; a space stands for white space of any length.
    names : tuple of str
        The names of the columns, trimmed.
    skipped : int
        Number of lines before the first row.
    heading : tuple of str
        The names as in the file, trimmed; empty if the file has none.
    checked : bool
        Whether all bytes are known to be of the encoding.
    how : mapping of str to str
        What was stated or guessed, with reasons, for `Source`.
    remarks : tuple of str
        What was changed.
    """

    path: str
    encoding: str
    delimiter: str
    names: tuple[str, ...]
    skipped: int
    heading: tuple[str, ...] = ()
    checked: bool = False
    how: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


class Records:
    """The records of a file, parsed by the standard library, and their first lines."""

    def __init__(self, path: str, file: IO[str], delimiter: str) -> None:
        self.path, self.line, self.begin, self._delimiter = path, 0, 1, delimiter
        self.empty: list[int] = []
        self._file, self._put_back = file, list[str]()
        self._reader = self._parsed(self._lines())

    def _parsed(self, lines: Iterable[str]) -> Iterator[list[str]]:
        if self._delimiter == " ":
            return (line.split() for line in lines)
        return csv.reader(lines, delimiter=self._delimiter, strict=True)

    def _lines(self) -> Iterator[str]:
        """Yield the lines, first those that were put back (the last one first)."""
        while line := self._put_back.pop() if self._put_back else next(self._file, ""):
            self.line += 1
            if "\0" in line:
                raise DataError(
                    f"{self.path}, line {self.line}: must be text, got a NUL byte; encoding must "
                    "name the encoding if this is text in UTF-16"
                )
            yield line

    def __iter__(self) -> Iterator[list[str]]:
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

    def rows(self, layout: TextLayout) -> Iterator[list[str]]:
        """Yield the rows below the names, each with all its cells.

        Rows without any value are left out; their lines are in ``empty``.
        """
        width, heading = len(layout.names), list(layout.heading)
        for cells in self:
            if self.begin <= layout.skipped:
                continue
            if len(cells) != width:
                got = shorten(self._delimiter.join(cells))
                raise DataError(
                    f"{self.path}, line {self.begin}: must have {width} cells, got {len(cells)} in "
                    f"{got}"
                )
            if cells[0] == "" and width > 1 and not any(cells):
                self.empty.append(self.begin)
                continue
            if heading and cells[0].strip() == heading[0] and _stripped(cells) == heading:
                raise DataError(
                    f"{self.path}, line {self.begin}: must be a row, got the names of the columns "
                    "again"
                )
            yield cells

    def blocks(
        self, layout: TextLayout, places: Sequence[int], most: int
    ) -> Iterator[tuple[list[list[str]], Sequence[int]]]:
        """Yield some columns of the rows below the names, about ``most`` rows at a time.

        With them come the first lines of the rows. A block of lines that are one row each is parsed
        at once, any other record by record.
        """
        step = len(layout.names) + 1
        while lines := list(islice(self._file, most)):
            begins: Sequence[int]
            cells = self._plain(lines, layout)
            if cells is not None:
                self.line += len(lines)
                begins = range(self.line - len(cells) // step + 1, self.line + 1)
            else:
                self._put_back = lines[::-1]
                cells, begins = [], []
                for row in self.rows(layout):
                    cells += [*row, _END]
                    begins.append(self.begin)
                    if not self._put_back:
                        break
            if begins:
                yield [cells[place::step] for place in places], begins

    def _plain(self, lines: list[str], layout: TextLayout) -> list[str] | None:
        """Return the cells of a block, `_END` after those of a row; None if a line is not one row.

        All lines are parsed as one record. A line end within quotes is then part of a longer cell.
        """
        text = "".join(lines).replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
        if _END in text:
            return None
        width, heading, sign = len(layout.names), list(layout.heading), self._delimiter
        step, count = width + 1, len(lines)
        try:
            cells = next(self._parsed([text.replace("\n", sign + _END + sign) + sign + _END]))
        except csv.Error:
            return None
        if len(cells) != step * count or cells[width::step].count(_END) != count:
            return None
        del cells[: step * max(0, layout.skipped - self.line)]
        if not {"", *heading[:1]}.isdisjoint(map(str.strip, cells[::step])):
            rows = [cells[at : at + width] for at in range(0, len(cells), step)]
            if not all(map(any, rows)) or heading in map(_stripped, rows):
                return None
        return cells


@contextmanager
def open_records(path: str, encoding: str, delimiter: str) -> Iterator[Records]:
    """Open a file and return its records; bytes of another encoding raise with their line."""
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding=encoding, newline="")
        try:
            yield Records(path, text, delimiter)
        except UnicodeDecodeError as error:
            raise _not_text(path, encoding, error) from None
        except UnicodeError as error:  # such as UTF-16 without a byte-order mark
            raise DataError(f"{path}: must be text in {encoding}: {error}") from None
        finally:
            text.detach()


def _not_text(path: str, encoding: str, error: UnicodeDecodeError) -> DataError:
    """Return an error that names the first line and byte that cannot be decoded."""
    words = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "cp1252": "UTF-8 or Windows-1252"}
    expected = words.get(encoding, encoding)
    if encoding in words:  # encodings in which a line end is one byte
        with open_bytes(path) as stream:
            for number, raw in enumerate(stream, start=1):
                try:
                    raw.decode(encoding)
                except UnicodeDecodeError as found:
                    return DataError(
                        f"{path}, line {number}: must be text in {expected}, got the byte "
                        f"0x{raw[found.start]:02x} as byte {found.start + 1} of the line; encoding "
                        "must name another encoding"
                    )
    got = error.object[error.start : error.start + 1]
    return DataError(
        f"{path}: must be text in {expected}, got the byte 0x{got.hex()}; encoding must name "
        "another encoding"
    )


def text_layout(
    path: str | os.PathLike[str], options: FileOptions, kind: str = "csv", words: str = ""
) -> TextLayout:
    """Return how a text file is read: as the options state, else as its content suggests.

    ``words`` is the format for `Source`, with the reason if it was guessed.
    """
    name = os.fspath(path)
    encoding, encoding_words = _encoding(name, options.encoding)
    how = {"format": words or kind.upper(), "encoding": encoding_words}
    width = None if options.columns is None else len(options.columns)
    if options.delimiter is not None:
        delimiter = options.delimiter
        how["delimiter"] = f"{delimiter_word(delimiter)} (named)"
    elif kind == "tsv":
        delimiter = "\t"
        how["delimiter"] = "tab"
    else:
        delimiter, how["delimiter"] = _delimiter(name, encoding, width)
    with open_records(name, encoding, delimiter) as records:
        if options.columns is not None:
            names, skipped, remarks = _given_names(records, options.columns)
            return TextLayout(name, encoding, delimiter, names, skipped, how=how, remarks=remarks)
        raw = next(iter(records), None)
        if raw is None:
            raise DataError(f"{name}, line 1: must have a line of column names, got an empty file")
        names, remarks = header_names(f"{name}, line {records.begin}", raw, options.repeated)
        if not any(names):
            raise DataError(f"{name}, line {records.begin}: must have column names, got none")
        return TextLayout(
            name,
            encoding,
            delimiter,
            names,
            records.line,
            heading=tuple(_stripped(raw)),
            checked=options.encoding is None,
            how=how,
            remarks=remarks,
        )


def _encoding(path: str, given: str | None) -> tuple[str, str]:
    """Return the codec of a file, and its name with the reason."""
    with open_bytes(path) as stream:
        start = stream.read(4)
        if given is not None:
            codec = codecs.lookup(given).name
            marked = start.startswith(codecs.BOM_UTF8)
            return ("utf-8-sig" if codec == "utf-8" and marked else codec), f"{given} (named)"
        for mark, codec, word in _MARKS:
            if start.startswith(mark):
                return codec, f"{word} (its byte-order mark)"
        decoder = codecs.getincrementaldecoder("utf-8")()
        block = start
        try:
            while block:
                decoder.decode(block)
                block = stream.read(_BLOCK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            warnings.warn(
                f"{path}: is not UTF-8 and is read as Windows-1252; encoding can name another",
                EquirankWarning,
                stacklevel=outer_stacklevel(),
            )
            return "cp1252", "Windows-1252 (guessed: the file is not UTF-8)"
    return "utf-8", "UTF-8"


def _delimiter(path: str, encoding: str, width: int | None) -> tuple[str, str]:
    """Return the delimiter with the same count in the first records, and its name with the reason.

    With the width of a file without names, it is the delimiter that makes so many cells.
    """
    if width is not None:
        return _delimiter_of_width(path, encoding, width)
    counts = {sign: _counts(path, encoding, sign) for sign in _GUESSED}
    steady = [sign for sign, each in counts.items() if each and each[0] > 0 and len({*each}) == 1]
    if len(steady) == 1:
        records = len(counts[steady[0]] or ())
        if steady == [","]:
            return ",", "comma"
        return steady[0], (
            f"{delimiter_word(steady[0])} (guessed: the same number of them in each of the first "
            f"{records} records)"
        )
    if not steady:
        # Errors of rows name their line, so a delimiter of the names alone is followed.
        first = _first_line(path, encoding)
        named = [sign for sign in _GUESSED if sign in first]
        if len(named) == 1 and not first.startswith(_COMMENTS):
            return named[0], (
                f"{delimiter_word(named[0])} (guessed: the only one in the line of names)"
            )
        if not named and all(each is not None and not any(each) for each in counts.values()):
            words = _counts(path, encoding, " ") or []
            if not any(words):
                return ",", "comma (one column)"
    found = [delimiter_word(sign) for sign in steady]
    reason = (
        f"{' and '.join(found)} both occur equally often in each of the first records"
        if found
        else "neither comma, semicolon, tab nor bar occurs equally often in each of the first "
        "records"
    )
    raise DataError(
        f"{path}: delimiter must be named (comma, semicolon, tab, bar, space or one character), "
        f"since {reason}; columns must name the columns instead if the file has no line of names"
    )


def _delimiter_of_width(path: str, encoding: str, width: int) -> tuple[str, str]:
    """Return the delimiter that makes so many cells; white space only if no sign does."""
    if not _counts(path, encoding, " "):
        raise DataError(f"{path}, line 1: must contain at least one row, got an empty file")
    if width == 1 and not any(any(_counts(path, encoding, s) or ()) for s in (*_GUESSED, " ")):
        return ",", "comma (one column)"
    fitting = []
    for sign in (*_GUESSED, " "):
        counts = _counts(path, encoding, sign, comments=True) or []
        if counts and all(count == width - 1 > 0 for count in counts):
            fitting.append(sign)
    signs = [sign for sign in fitting if sign != " "] or fitting
    if len(signs) == 1:
        return signs[0], f"{delimiter_word(signs[0])} (guessed: it makes {width} cells)"
    several = " and ".join(map(delimiter_word, signs)) + " both make" if signs else "none makes"
    raise DataError(
        f"{path}: delimiter must be named (comma, semicolon, tab, bar, space or one character), "
        f"since {several} {width} cells, as many as columns has names, of each of the first records"
    )


def _counts(
    path: str, encoding: str, delimiter: str, *, comments: bool = False
) -> list[int] | None:
    """Return how often a delimiter occurs in each of the first records; None if it cannot."""
    try:
        with open_records(path, encoding, delimiter) as records:
            head = [list(cells) for cells in islice(records, _HEAD)]
    except DataError as error:
        if "must be CSV" in str(error):
            return None
        raise
    if comments:
        while head and head[0][0].startswith(_COMMENTS):
            head.pop(0)
    return [len(cells) - 1 for cells in head]


def _stripped(cells: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _first_line(path: str, encoding: str) -> str:
    with open_records(path, encoding, " ") as records:
        return " ".join(next(iter(records), []))


def header_names(
    where: str, raw: Sequence[str], repeated: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a header, trimmed and each once, and remarks on what was changed."""
    names = _stripped(raw)
    remarks = []
    if names != list(raw):
        remarks.append("spaces around the names of columns were removed")
    taken = set(names)
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        if not name:
            continue
        if name not in first:
            first[name] = at
            continue
        if repeated == "error":
            hint = '; repeated must be "number" to number such columns'
            raise DataError(
                f"{where}: each column name must occur once, got {name!r} twice, in columns "
                f"{first[name] + 1} and {at + 1}{hint}{_no_names(names)}"
            )
        number = 2
        while f"{name}.{number}" in taken:
            number += 1
        names[at] = f"{name}.{number}"
        taken.add(names[at])
        remarks.append(f"column {at + 1}, again {name!r}, is called {names[at]!r}")
    return tuple(names), tuple(remarks)


def _no_names(names: Sequence[str]) -> str:
    return (
        "; columns must name the columns of a file without a line of names"
        if data_like(names)
        else ""
    )


def _given_names(
    records: Records, columns: Sequence[str]
) -> tuple[tuple[str, ...], int, tuple[str, ...]]:
    """Return the given names, the lines of comments above the first row, and remarks on them."""
    skipped, remarks = 0, list[str]()
    for cells in records:
        if len(cells) == len(columns):
            return tuple(columns), skipped, tuple(remarks)
        if cells[0].startswith(_COMMENTS):
            skipped = records.line
            remarks.append(f"line {records.begin} is a comment: {shorten(' '.join(cells))}")
            continue
        raise DataError(
            f"{records.path}, line {records.begin}: columns must name the {len(cells)} columns of "
            f"the file, got {len(columns)} names"
        )
    raise DataError(f"{records.path}, line 1: must contain at least one row, got none")
