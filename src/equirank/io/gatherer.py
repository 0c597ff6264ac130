"""Conversion of the cells of a table to arrays, chunk by chunk, and to RankingData."""

import itertools
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..core.data import RankingData, counted_anew
from ..core.errors import DataError, EquirankWarning, outer_stacklevel
from ..core.given_data import as_ranking_data
from ..core.inputs import EXACT, whole_number
from ..core.source import Source
from ..core.unknown_words import CleanedLabels
from .column_roles import Roles, listed
from .file_options import FileOptions
from .files import shorten
from .growing_arrays import GrowingArray
from .label_words import LabelRules
from .number_cells import (
    MISSING,
    CellError,
    CommaSurvey,
    Decimal,
    DecimalComma,
    comma_words,
    has_decimal_comma,
    number_hint,
    numbers_of,
)

__all__ = [
    "Chunk",
    "Gatherer",
    "TextChunk",
    "codes_of",
    "empty_rows",
    "expected",
    "gather_decimals",
    "named_cells",
    "out_of_range",
    "typed",
]


_MISSING = frozenset(MISSING)
_WHOLE = r"(?:0|-?[1-9][0-9]{0,18})"
_INTEGERS = re.compile(rf"{_WHOLE}(?:\n{_WHOLE})*", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)


def codes_of(cells: Sequence[Any], *, raw: bool = False) -> tuple[np.ndarray, list[Any]]:
    """Return codes in order of first appearance (-1 if missing), and their labels.

    With ``raw``, words for a missing cell are labels too.

    Examples
    --------
    >>> codes_of(["f", "m", "", "f"])
    (array([ 0,  1, -1,  0]), ['f', 'm'])
    >>> codes_of(["f", "NA"], raw=True)
    (array([0, 1]), ['f', 'NA'])
    """
    missing = (None,) if raw else (None, *MISSING)
    code = defaultdict(itertools.count().__next__, dict.fromkeys(missing, -1))
    codes = np.fromiter(map(code.__getitem__, cells), np.int64, len(cells))
    return codes, list(code)[len(missing) :]


def typed(labels: Sequence[Any], decimals: bool) -> list[Any]:
    """Convert labels to integers if all are written as such, else to decimals if allowed.

    A leading zero, a plus sign or more than 64 bits in one label keeps all of them text.

    Examples
    --------
    >>> typed(["10", "9"], False), typed(["10", "09"], False), typed(["1", "2.5"], True)
    ([10, 9], ['10', '09'], [1.0, 2.5])
    """
    lines = "\n".join(labels)
    if _INTEGERS.fullmatch(lines) and lines.count("\n") == len(labels) - 1:
        numbers = list(map(int, labels))
        if all(-(2**63) <= number < 2**63 for number in numbers):
            return numbers
    if decimals and all(_DECIMAL.fullmatch(label) for label in labels):
        return [float(label) for label in labels]
    return list(labels)


#: Longest labels of groups that are stored as an array of text, which is encoded faster.
_SHORT = 16

#: What the numbers of each role must be, in words and as a test.
_RANGES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "relevance": ("a finite number >= 0", lambda v: np.isfinite(v) & (v >= 0)),
    "score": ("a finite number", np.isfinite),
    "position": (
        "a whole number >= 1 (or 0: not shown)",
        lambda v: (v >= 0) & (v <= np.iinfo(np.int32).max) & (v == np.floor(v)),
    ),
    "cost": ("a finite number > 0", lambda v: np.isfinite(v) & (v > 0)),
}


def out_of_range(role: str, values: np.ndarray) -> int | None:
    """Return the first row whose number is present but not one of the role.

    Examples
    --------
    >>> out_of_range("relevance", np.array([1.0, np.nan, -1.0]))
    2
    """
    bad = ~(_RANGES[role][1](values) | np.isnan(values))
    return int(bad.argmax()) if bad.any() else None


def expected(role: str, got: float) -> str:
    """Return what a number of the role must be, and what it is."""
    return f"must be {_RANGES[role][0]}, got {got:g}"


class Chunk(Protocol):
    """Some rows of a table, read column by column; ``text`` if its cells were written as text."""

    n_rows: int
    text: bool

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats, NaN if missing; raise CellError if a cell is no number."""

    def labels(self, name: str, *, raw: bool = False) -> tuple[np.ndarray, list[Any]]:
        """Return a column as codes, -1 if missing, and their labels.

        With ``raw``, words for a missing cell are labels too.
        """

    def cells(self, name: str) -> Sequence[Any]:
        """Return a column as in the file; None or a word for it if missing."""

    def location(self, row: int) -> str:
        """Return the file and the line of a row, for error messages."""


class TextChunk:
    """Rows of text cells; ``where`` and the number of a row state its location."""

    text = True

    def __init__(
        self,
        where: str,
        columns: Mapping[str, Sequence[str]],
        rows: Sequence[int],
        decimals: Mapping[str, Decimal],
    ) -> None:
        self._where, self._columns, self._rows, self.n_rows = where, columns, rows, len(rows)
        self._decimals = decimals

    def cells(self, name: str) -> Sequence[str]:
        """Return the cells of a column."""
        return self._columns[name]

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats, NaN if missing."""
        return numbers_of(self._columns[name], self._decimals.get(name))

    def labels(self, name: str, *, raw: bool = False) -> tuple[np.ndarray, list[Any]]:
        """Return a column as codes, -1 if missing, and their labels."""
        return codes_of(self._columns[name], raw=raw)

    def location(self, row: int) -> str:
        """Return the file and the line of a row."""
        return f"{self._where}{self._rows[row]}"


def empty_rows(word: str, numbers: Sequence[int]) -> str:
    """Return the remark that rows without any value were left out."""
    some = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    words = f"{word} {some}" if len(numbers) == 1 else f"{word}s {some}"
    return f"rows without any value were left out: {len(numbers)} ({words})"


def named_cells(
    path: str, names: Sequence[str], columns: Sequence[list[str]]
) -> dict[str, list[str]]:
    """Return the cells of each column by its name; only one without a name may have a value."""
    kept = [(name, cells) for name, cells in zip(names, columns, strict=True) if name or any(cells)]
    if [name for name, _ in kept].count("") > 1:
        raise DataError(f"{path}: at most one column without a name may have values, got several")
    return dict(kept)


class _Labels:
    """A column of labels with common codes for the whole file; ids are kept without codes."""

    def __init__(self) -> None:
        self._codes, self._seen = GrowingArray(np.int32), dict[Any, int]()
        self.ids: list[Any] = []
        self.record: tuple[tuple[str, int, str | None], ...] = ()
        self.remarks: tuple[str, ...] = ()

    def append(self, codes: np.ndarray, labels: list[Any]) -> None:
        seen = self._seen
        lookup = np.array([*(seen.setdefault(label, len(seen)) for label in labels), -1], np.int32)
        self._codes.append(lookup[codes])

    def finish(self, text: bool, decimals: bool) -> np.ndarray:
        """Return the column: an array of numbers, or of objects with None if missing."""
        if self.ids:
            return self._column(self.ids, slice(len(self.ids)), text, decimals)
        return self._column(list(self._seen), self._codes.finish(), text, decimals)

    def finish_groups(self, name: str, rules: LabelRules, text: bool) -> np.ndarray:
        """Return the column of an attribute with cleaned labels; None if unknown."""
        labels, codes = list(self._seen), self._codes.finish()
        counts = np.bincount(codes + 1, minlength=len(labels) + 1).tolist()
        cleaned = rules.clean(name, labels, counts[1:])
        missing = (("", counts[0], None),) if counts[0] else ()
        self.record, self.remarks = (*cleaned.record, *missing), cleaned.remarks
        known = list(dict.fromkeys(value for value in cleaned.values if value is not None))
        code = {value: at for at, value in enumerate(known)} | {None: -1}
        lookup = np.array([*(code[value] for value in cleaned.values), -1], np.int32)
        return self._column(known, lookup[codes], text, decimals=True, groups=True)

    @staticmethod
    def _column(
        labels: list[Any],
        codes: np.ndarray | slice,
        text: bool,
        decimals: bool,
        groups: bool = False,
    ) -> np.ndarray:
        labels = typed(labels, decimals) if text else labels
        numeric = all(issubclass(kind, (int, float)) for kind in {*map(type, labels)})
        words = groups and all(isinstance(label, str) and len(label) <= _SHORT for label in labels)
        present = isinstance(codes, slice) or bool((codes >= 0).all())
        if labels and (numeric or words) and present:
            return np.array(labels)[codes]
        return np.fromiter([*labels, None], object, len(labels) + 1)[codes]


class Gatherer:
    """Collector of the chunks of a file, which it combines into RankingData.

    ``decimals`` is None if commas in columns of numbers are still to be decided: such a cell then
    raises `DecimalComma`. ``file`` is the record of the file, which `finish` completes.
    """

    def __init__(
        self,
        path: str,
        roles: Roles,
        *,
        dtype: Any = np.float64,
        missing_sensitive: str = "error",
        missing_relevance: str = "error",
        max_groups: int | None = None,
        left_out: Sequence[str] = (),
        rules: LabelRules | None = None,
        decimals: Mapping[str, Decimal] | None = None,
        file: Source | None = None,
    ) -> None:
        self.path, self.roles, self.n_rows = path, roles, 0
        self.max_groups, self.rules, self.decimals = max_groups, rules or LabelRules(), decimals
        self.file = file
        self.how: dict[str, str] = {}
        self.remarks: list[str] = []
        self.missing = {"sensitive": missing_sensitive, "relevance": missing_relevance}
        self._labels = {name: _Labels() for name in roles.labels}
        self._label_role = dict.fromkeys(roles.sensitive, "sensitive") | {
            roles.single[role]: role for role in ("query", "ids") if role in roles.single
        }
        self._label_role |= dict.fromkeys(roles.outcomes, "outcomes")
        self._numbers = {
            role: GrowingArray(np.float64) for role in roles.single if role not in ("query", "ids")
        }
        self._left_out = set(left_out)
        self._features = [name for name in roles.features if name not in self._left_out]
        self._trimmed: dict[str, int] = {}
        self._large: dict[tuple[str, float], Any] = {}  # whole numbers that a float may round
        self._matrix = GrowingArray(dtype)

    def add(self, chunk: Chunk) -> None:
        """Add the rows of a chunk."""
        roles = self.roles
        for role, array in self._numbers.items():
            values = self._read(chunk, role, roles.single[role])
            if role != "relevance" or self.missing[role] == "error":
                self._check_present(chunk, role, roles.single[role], np.isnan(values))
            bad = out_of_range(role, values)
            if bad is not None:
                where, name = chunk.location(bad), roles.single[role]
                raise DataError(f"{where}: {role} ({name!r}) {expected(role, values[bad])}")
            self._check_distinct(chunk, role, roles.single[role], values)
            array.append(values)
        for name, column in self._labels.items():
            self._add_labels(chunk, name, column)
        self._add_features(chunk)
        self.n_rows += chunk.n_rows

    def _add_labels(self, chunk: Chunk, name: str, column: _Labels) -> None:
        role = self._label_role[name]
        if role == "ids":
            column.ids += self._present_ids(chunk, name)
            return
        codes, labels = chunk.labels(name, raw=role == "sensitive")
        if chunk.text and role == "query":
            codes, labels = self._trim(name, codes, labels)
        if role != "outcomes" and self.missing.get(role, "error") == "error":
            missing = codes < 0
            if role == "sensitive":
                unknown = [self.rules.is_unknown(name, label) for label in labels]
                missing = np.array([*unknown, True])[codes]
            if missing.any():
                code = codes[int(missing.argmax())]
                self._check_present(chunk, role, name, missing, "" if code < 0 else labels[code])
        column.append(codes, labels)

    def _present_ids(self, chunk: Chunk, name: str) -> list[Any]:
        """Return the ids of a chunk, trimmed; raise if one is missing."""
        cells, missing = list(chunk.cells(name)), _MISSING if chunk.text else {None}
        if chunk.text:
            given, cells = cells, list(map(str.strip, cells))
            if given != cells:
                changed = sum(map(str.__ne__, given, cells))
                self._trimmed[name] = self._trimmed.get(name, 0) + changed
        if not missing.isdisjoint(cells):
            bad = np.array([cell in missing for cell in cells])
            self._check_present(chunk, "ids", name, bad)
        return cells

    def _trim(
        self, name: str, codes: np.ndarray, labels: list[str]
    ) -> tuple[np.ndarray, list[str]]:
        """Return labels without the white space around them, and count the cells that had some."""
        trimmed = [label.strip() for label in labels]
        changed = np.array([*map(str.__ne__, labels, trimmed), False])
        if changed.any():
            self._trimmed[name] = self._trimmed.get(name, 0) + int(changed[codes].sum())
            present = np.array([*(label not in _MISSING for label in trimmed), False])
            codes = np.where(present[codes], codes, -1)
        return codes, trimmed

    def _read(self, chunk: Chunk, role: str, name: str) -> np.ndarray:
        try:
            return chunk.numbers(name)
        except CellError as error:
            self._ask_for_commas(error.got)
            where, got = chunk.location(error.row), shorten(error.got)
            hint = number_hint(error.got)
            raise DataError(
                f"{where}: {role} ({name!r}) must be a number, got {got}{hint}"
            ) from None

    def _ask_for_commas(self, got: str) -> None:
        if self.decimals is None and has_decimal_comma(got):
            raise DecimalComma

    def _check_present(
        self, chunk: Chunk, role: str, name: str, missing: np.ndarray, got: Any = ""
    ) -> None:
        if missing.any():
            where = chunk.location(int(missing.argmax()))
            hint = {
                "sensitive": '; missing_sensitive="unknown" keeps such rows in no group, and '
                '"category" in a group of their own',
                "relevance": '; missing_relevance="irrelevant" makes it 0',
            }.get(role, "")
            word = "" if got in ("", None) else f", got {shorten(got)}"
            role = "id" if role == "ids" else role
            raise DataError(f"{where}: {role} ({name!r}) must not be missing{word}{hint}")

    def _check_distinct(self, chunk: Chunk, role: str, name: str, values: np.ndarray) -> None:
        """Raise if two different whole numbers become the same float."""
        rows = np.flatnonzero(np.abs(values) >= EXACT)
        if len(rows) == 0:
            return
        codes, labels = chunk.labels(name)
        for row, value in zip(rows.tolist(), values[rows].tolist(), strict=True):
            exact = whole_number(labels[codes[row]])
            other = self._large.setdefault((role, value), exact)
            if other != exact:
                raise DataError(
                    f"{chunk.location(row)}: {role} ({name!r}) must differ as a float of 64 bits "
                    f"from {other} before, got {exact}, which would become equal; subtract a "
                    "constant first or use ranks"
                )

    def _add_features(self, chunk: Chunk) -> None:
        """Add the features of a chunk; a column that contains text is left out from then on."""
        columns: dict[str, np.ndarray] = {}
        for name in self._features:
            if not self.roles.others:
                columns[name] = self._read(chunk, "features", name)
            elif name not in self._left_out:
                try:
                    columns[name] = chunk.numbers(name)
                except CellError as error:
                    self._ask_for_commas(error.got)
                    self._left_out.add(name)
        if self.n_rows == 0:
            self._features = list(columns)
        width = len(self._features)
        block = self._matrix.extend(chunk.n_rows * width).reshape(chunk.n_rows, width)
        for j, name in enumerate(self._features):
            if name in columns:
                block[:, j] = columns[name]

    def _numeric(self) -> np.ndarray | None:
        """Return the matrix of the features without text, None if there are none."""
        numeric = [name not in self._left_out for name in self._features]
        X = self._matrix.finish().reshape(self.n_rows, len(self._features))
        X = X if all(numeric) else X[:, np.array(numeric)]
        self._features = [name for name in self._features if name not in self._left_out]
        return X if self._features else None

    @property
    def left_out(self) -> list[str]:
        """The features that contain text, in the order of the file."""
        return [name for name in self.roles.features if name in self._left_out]

    def labels(self, *, text: bool) -> dict[str, np.ndarray]:
        """Return only the columns of labels, in the order of the file; None if missing."""
        return {name: column.finish(text, decimals=False) for name, column in self._labels.items()}

    def finish(
        self, *, text: bool, left_out: Sequence[str] = (), quiet: bool = False
    ) -> RankingData:
        """Return the data; with ``text``, labels written as integers become integers."""
        if self.n_rows == 0:
            raise DataError(f"{self.path}: must contain at least one row, got only column names")
        left = [*left_out, *self.left_out]
        if left and self.roles.others and not quiet:
            warnings.warn(
                f"{self.path}: columns without numbers or without a name are left out of X: "
                f"{listed(left)}; encode them first, or select columns with features=[...]",
                EquirankWarning,
                stacklevel=outer_stacklevel(),
            )
        X = self._numeric()
        numbers = {role: array.finish() for role, array in self._numbers.items()}
        single = self.roles.single
        labels = {
            name: column.finish_groups(name, self.rules, text)
            if self._label_role[name] == "sensitive"
            else column.finish(text, decimals=False)
            for name, column in self._labels.items()
        }
        people = CleanedLabels({name: labels[name] for name in self.roles.sensitive})
        try:
            data = as_ranking_data(
                X,
                numbers.get("relevance"),
                qid=labels.get(single.get("query", "")),
                sensitive_features=people or None,
                cost=numbers.get("cost"),
                ids=labels.get(single.get("ids", "")),
                score=numbers.get("score"),
                position=numbers.get("position"),
                outcomes={name: labels[name] for name in self.roles.outcomes} or None,
                missing_sensitive=self.missing["sensitive"],  # type: ignore[arg-type]
                missing_relevance=self.missing["relevance"],  # type: ignore[arg-type]
                max_groups=self.max_groups,
            )
        except DataError as error:
            raise DataError(f"{self.path}: {error}") from None
        data = replace(data, feature_names=tuple(self._features) if self._features else None)
        data = self._without_gaps(data)
        for name, count in self._trimmed.items():
            cells = "1 label was" if count == 1 else f"{count:,} labels were"
            self.remarks.append(f"{name}: {cells} read without the white space around the text")
        self._note_numbers(data)
        return replace(data, source=self._source())

    def _without_gaps(self, data: RankingData) -> RankingData:
        """Return the data with positions that count 1, 2, 3, ... in the order of the file."""
        if data.position is None:
            return data
        position = counted_anew(data.position, data.offsets)
        wrong = position != data.position
        if not wrong.any():
            return data
        row = int(np.flatnonzero(wrong)[0])
        query = data.qids[data.query_of_rows()[row] :][:1].tolist()[0]
        lists = len(np.unique(data.query_of_rows()[wrong]))
        self.remarks.append(
            f"positions have gaps in {lists} {'list' if lists == 1 else 'lists'} and were counted "
            f"anew in the same order: first {int(data.position[row])} in list {query!r}, which "
            f"became {int(position[row])}"
        )
        return replace(data, position=position)

    def _note_numbers(self, data: RankingData) -> None:
        for name, attribute in data.sensitive.items():
            groups = [each for each in attribute.categories if isinstance(each, (int, float))]
            if groups and not isinstance(groups[0], bool):
                words = ", ".join(f"{group:g}" for group in groups[:10])
                more = ", ..." if len(groups) > 10 else ""
                self.remarks.append(f"{name}: the groups are numbers: {words}{more}")

    def _source(self) -> Source | None:
        """Return the record of the file, with its rows, columns and labels."""
        if self.file is None:
            return None
        columns = self._labels.items()
        remarks = [*self.file.remarks, *self.remarks]
        if "query" in self.roles.guessed and "query" not in self.roles.single:
            remarks.append("all rows are one list: no column was named or recognised as the lists")
        remarks += [each for _, column in columns for each in column.remarks]
        return replace(
            self.file,
            rows=self.n_rows,
            how={**self.file.how, **self.how},
            columns=self.roles.record(),
            labels={name: column.record for name, column in columns if column.record},
            remarks=tuple(remarks),
        )


def gather_decimals(
    path: str,
    roles: Roles,
    file: FileOptions,
    gather: Callable[[Mapping[str, Decimal] | None], Gatherer],
    chunks: Callable[[], Iterable[TextChunk]],
) -> Gatherer:
    """Gather rows with the decimal sign of each column: the named one, or else the one it shows.

    ``gather`` takes the sign of each column, or None if commas are still to be decided; ``chunks``
    returns the columns of numbers.
    """
    if file.decimal_word is not None:
        rows = gather(dict.fromkeys(roles.needed, file.decimal_word))
        rows.how["decimal"] = f"{file.decimal_word} (named)"
        return rows
    try:
        return gather(None)
    except DecimalComma:
        survey = CommaSurvey(path, roles.numbers)
        for chunk in chunks():
            survey.add(chunk.cells)
        found = survey.finish()
        rows = gather(dict.fromkeys(found, "comma"))
        rows.how |= comma_words(found)
        return rows
