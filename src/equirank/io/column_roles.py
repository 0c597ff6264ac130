"""Roles of the columns of a table, and the conversion of its cells to arrays."""

import re
import warnings
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from ..core.data import RankingData, as_ranking_data
from ..core.errors import DataError, EquirankWarning, suggest
from ..core.inputs import EXACT, whole_number
from .files import shorten
from .growing_arrays import GrowingArray

__all__ = [
    "MISSING",
    "RECOGNISED",
    "CellError",
    "Chunk",
    "Gatherer",
    "Name",
    "Names",
    "Roles",
    "assign",
    "codes_of",
    "existing_column",
    "expected",
    "listed",
    "numbers_of",
    "out_of_range",
    "recognised_columns",
    "typed",
]


#: A cell with one of these texts is missing.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>")

_MISSING = frozenset(MISSING)
_TRUTH = {"true": 1.0, "false": 0.0}
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)


class CellError(ValueError):
    """A cell that cannot be converted: its row within the chunk, and its text."""

    def __init__(self, row: int, got: str) -> None:
        super().__init__(row, got)
        self.row, self.got = row, got


def numbers_of(cells: Sequence[str]) -> np.ndarray:
    """Convert cells to floats: NaN if missing, 1 and 0 for true and false (in any case).

    Examples
    --------
    >>> numbers_of(["1.5", "", "TRUE", " 2 "])
    array([1.5, nan, 1. , 2. ])
    """
    try:
        if "_" not in "".join(cells):  # Python's float accepts underscores
            return np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        pass
    result = np.empty(len(cells))
    for row, cell in enumerate(cells):
        word = cell.strip()
        if word in _MISSING:
            result[row] = np.nan
        elif word.lower() in _TRUTH:
            result[row] = _TRUTH[word.lower()]
        else:
            try:
                result[row] = float(word.replace("_", "?"))
            except ValueError:
                raise CellError(row, cell) from None
    return result


def codes_of(cells: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """Return codes in order of first appearance (-1 if missing), and their labels.

    Examples
    --------
    >>> codes_of(["f", "m", "", "f"])
    (array([ 0,  1, -1,  0]), ['f', 'm'])
    """
    seen: dict[Any, int] = dict.fromkeys(_MISSING, -1)
    seen[None] = -1
    known = len(seen)
    codes = [seen.setdefault(cell, len(seen) - known) for cell in cells]
    return np.array(codes, dtype=np.int64), list(seen)[known:]


def typed(labels: Sequence[Any], decimals: bool) -> list[Any]:
    """Convert labels to integers if all are written as such, else to decimals if allowed.

    A leading zero, a plus sign or more than 64 bits in one label keeps all of them text.

    Examples
    --------
    >>> typed(["10", "9"], False), typed(["10", "09"], False), typed(["1", "2.5"], True)
    ([10, 9], ['10', '09'], [1.0, 2.5])
    """
    if all(_INTEGER.fullmatch(label) for label in labels):
        numbers = [int(label) for label in labels]
        if all(-(2**63) <= number < 2**63 for number in numbers):
            return numbers
    if decimals and all(_DECIMAL.fullmatch(label) for label in labels):
        return [float(label) for label in labels]
    return list(labels)


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


#: A column: its name, None to recognise it, False for none.
Name = str | Literal[False] | None
Names = str | Sequence[str] | None

#: The column names recognised for each role, in lower case.
RECOGNISED: dict[str, tuple[str, ...]] = {
    "query": ("qid", "query", "query_id", "list", "list_id"),
    "relevance": ("relevance", "rel", "label", "grade", "y", "y_true"),
    "score": ("score", "scores", "y_score", "prediction"),
    "position": ("position", "rank"),
    "cost": ("cost",),
    "ids": ("id", "ids", "doc_id", "docid", "item_id"),
}


@dataclass(frozen=True)
class Roles:
    """The column of each role; with ``others``, only numeric columns become features."""

    single: Mapping[str, str]
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    others: bool
    outcomes: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """The names of all columns to be read, each once."""
        single = self.single.values()
        return tuple(dict.fromkeys([*single, *self.sensitive, *self.outcomes, *self.features]))

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns with labels instead of numbers."""
        single = (self.single[role] for role in ("query", "ids") if role in self.single)
        return (*single, *self.sensitive, *self.outcomes)


def assign(
    path: str,
    names: Sequence[str],
    *,
    sensitive: Names,
    features: Names,
    outcomes: Names = None,
    **single: Name,
) -> Roles:
    """Return the column of each role: the given one, or else the one recognised by its name."""
    twice = _repeated(name for name in names if name)
    if twice is not None:
        raise DataError(f"{path}: each column name must occur once, got {twice!r} twice")
    known = dict.fromkeys(names)
    groups = _listed_names("sensitive", sensitive) or ()
    wanted = _listed_names("features", features)
    decided = _listed_names("outcomes", outcomes) or ()
    found: dict[str, str] = {}
    for role, name in single.items():
        if name is not None and name is not False:
            found[role] = existing_column(path, known, role, name)
    for name in groups:
        existing_column(path, known, "sensitive", name)
    for name in decided:
        existing_column(path, known, "outcomes", name)
    for name in wanted or ():
        existing_column(path, known, "features", name)
    taken = {*found.values(), *groups, *decided, *(wanted or ())}
    if "score" in found or "position" in found:
        # a recognised position would override a given score
        single = {
            r: n for r, n in single.items() if n is not None or r not in ("score", "position")
        }
    for role, name in single.items():
        if name is None:
            matches = recognised_columns(names, RECOGNISED[role], taken)
            if len(matches) > 1:
                raise DataError(
                    f"{path}: {role} must be named, since the columns {listed(matches)} could all "
                    f"be it; {role}=False for none"
                )
            found |= {role: matches[0]} if matches else {}
    once = [name for role, name in found.items() if role != "score" or name not in decided]
    doubled = _repeated([*once, *groups, *decided])
    if doubled is not None:
        raise DataError(f"{path}: column {doubled!r} must have one role, got several")
    used = {*found.values(), *groups, *decided}
    rest = tuple(name for name in names if name and name not in used)
    return Roles(found, groups, rest if wanted is None else wanted, wanted is None, decided)


def _repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs again, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _listed_names(argument: str, names: Names) -> tuple[str, ...] | None:
    if names is None:
        return None
    columns = (names,) if isinstance(names, str) else tuple(names)
    for name in columns:
        if not isinstance(name, str):
            raise DataError(f"{argument} must name columns, got {name!r}")
    twice = _repeated(columns)
    if twice is not None:
        raise DataError(f"{argument} must name each column once, got {twice!r} twice")
    return columns


def existing_column(path: str, names: Collection[str], role: str, name: Any) -> str:
    """Return the name if the table has such a column; else raise with the nearest name."""
    if not isinstance(name, str) or name not in names:
        hint = suggest(str(name), list(names))
        raise DataError(
            f"{path}: {role} must be one of the columns {listed(list(names))}, got {name!r}{hint}"
        )
    return name


def recognised_columns(
    names: Sequence[str], known: Sequence[str], taken: Container[str]
) -> list[str]:
    """Return the columns with a known name, in any case of letters, that are not taken."""
    return [name for name in names if name.strip().lower() in known and name not in taken]


def listed(names: Sequence[str]) -> str:
    """Return up to ten names for an error message."""
    return ", ".join(repr(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")


class Chunk(Protocol):
    """Some rows of a table, read column by column."""

    n_rows: int

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as floats, NaN if missing; raise CellError if a cell is no number."""

    def labels(self, name: str) -> tuple[np.ndarray, list[Any]]:
        """Return a column as codes, -1 if missing, and their labels."""

    def location(self, row: int) -> str:
        """Return the file and the line of a row, for error messages."""


class _Labels:
    """A column of labels with common codes for the whole file."""

    def __init__(self) -> None:
        self._codes, self._seen = GrowingArray(np.int32), dict[Any, int]()

    def append(self, codes: np.ndarray, labels: list[Any]) -> None:
        seen = self._seen
        lookup = np.array([*(seen.setdefault(label, len(seen)) for label in labels), -1], np.int32)
        self._codes.append(lookup[codes])

    def finish(self, text: bool, decimals: bool) -> np.ndarray:
        """Return the column: an array of numbers, or of objects with None if missing."""
        labels, codes = list(self._seen), self._codes.finish()
        labels = typed(labels, decimals) if text else labels
        values = np.empty(len(labels) + 1, dtype=object)
        values[:] = [*labels, None]
        column: np.ndarray = values[codes]
        numeric = all(isinstance(label, (int, float)) for label in labels)
        return np.array(labels)[codes] if numeric and (codes >= 0).all() else column


class Gatherer:
    """Collector of the chunks of a file, which it combines into RankingData."""

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
    ) -> None:
        self.path, self.roles, self.n_rows = path, roles, 0
        self.max_groups = max_groups
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
            codes, labels = chunk.labels(name)
            role = self._label_role[name]
            if role != "outcomes" and self.missing.get(role, "error") == "error":
                self._check_present(chunk, role, name, codes < 0)
            column.append(codes, labels)
        self._add_features(chunk)
        self.n_rows += chunk.n_rows

    def _read(self, chunk: Chunk, role: str, name: str) -> np.ndarray:
        try:
            return chunk.numbers(name)
        except CellError as error:
            where, got = chunk.location(error.row), shorten(error.got)
            raise DataError(f"{where}: {role} ({name!r}) must be a number, got {got}") from None

    def _check_present(self, chunk: Chunk, role: str, name: str, missing: np.ndarray) -> None:
        if missing.any():
            where = chunk.location(int(missing.argmax()))
            hint = {
                "sensitive": '; missing_sensitive="unknown" keeps such rows in no group, and '
                '"category" in a group of their own',
                "relevance": '; missing_relevance="irrelevant" makes it 0',
            }.get(role, "")
            raise DataError(f"{where}: {role} ({name!r}) must not be missing{hint}")

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
                except CellError:
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
                stacklevel=3,
            )
        X = self._numeric()
        numbers = {role: array.finish() for role, array in self._numbers.items()}
        single = self.roles.single
        labels = {
            name: column.finish(text, decimals=self._label_role[name] == "sensitive")
            for name, column in self._labels.items()
        }
        try:
            data = as_ranking_data(
                X,
                numbers.get("relevance"),
                qid=labels.get(single.get("query", "")),
                sensitive_features={name: labels[name] for name in self.roles.sensitive} or None,
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
        return replace(data, feature_names=tuple(self._features) if self._features else None)
