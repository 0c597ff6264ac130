"""Survey of a log: number of lists, their lengths, groups that occur together, largest grade."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.labels import check_groups
from ..core.list_sums import ListSums
from ..core.unknown_words import warn_of_labels
from .log_columns import SIDE, LogColumns
from .whole_lists import ListBlock

__all__ = ["Groups", "LogSurvey", "MedianSearch"]


#: Combined codes up to which combinations of labels are counted in a table.
TABLE = 1 << 16
#: Most different values of relevance.
MOST_GRADES = 100_000
#: Bits of a number that one pass of a search counts, their number of values, and the passes.
DIGIT, DIGITS, PASSES = 16, 1 << 16, 4


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the attributes of a log.

    Attributes
    ----------
    categories : mapping of str to tuple
        The groups of each attribute, sorted.
    lookup : mapping of str to ndarray
        The group of each raw label of an attribute by its code; -1 if unknown, also last.
    record : mapping of str to tuple
        For each attribute the labels of the file, as in `Source`.
    remarks : tuple of str
        What was assumed about labels.
    """

    categories: Mapping[str, tuple[Any, ...]]
    lookup: Mapping[str, np.ndarray]
    record: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass
class LogSurvey:
    """Counts of all rows of a log that its plan depends on.

    Attributes
    ----------
    lengths : Counter
        For each length of a list the number of lists.
    labels : dict of str to list
        The raw labels of each attribute.
    combinations : Counter
        For each combination of labels, as codes (-1: missing), its number of rows.
    grades : Counter
        For each relevance its number of rows.
    median_score : float or None
        Median score of all rows; None if scores are not compared.
    other : LogSurvey or None
        The survey of a second table; lengths are then those of the first.
    shared, shared_rows : int
        Lists that both tables have, and their rows in the second.
    shown : int
        Most people that a list of the first of two tables shows.
    hidden : bool
        Whether a list of the first of two tables does not show everyone.
    """

    lengths: Counter[int] = field(default_factory=Counter)
    labels: dict[str, list[Any]] = field(default_factory=dict)
    combinations: Counter[tuple[int, ...]] = field(default_factory=Counter)
    grades: Counter[float] = field(default_factory=Counter)
    median_score: float | None = None
    other: "LogSurvey | None" = None
    shared: int = 0
    shared_rows: int = 0
    shown: int = 0
    hidden: bool = False

    @property
    def cut(self) -> int | None:
        """Number of positions that are compared with the second table; None for all."""
        return self.shown if self.hidden else None

    @property
    def same_lists(self) -> bool:
        """Whether two tables have the same lists."""
        return self.other is None or self.n_lists == self.shared == self.other.n_lists

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(length * count for length, count in self.lengths.items())

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return sum(self.lengths.values())

    @classmethod
    def of(cls, block: ListBlock, n_attributes: int) -> "LogSurvey":
        """Return the counts of a block of whole lists, without labels.

        Those of two tables are counted apart.
        """
        if SIDE in block.rows.schema.names:
            first, second, n = block.sides(SIDE)
            survey, other = (cls._of_table(each, n_attributes) for each in (first, second))
            both = (n > 0).all(axis=1)
            survey.other = other
            survey.add_pairs(int(both.sum()), int(n[both, 1].sum()))
            if "position" in first.rows.schema.names and first.n_lists:
                shown = first.rows.column("position").to_numpy() > 0
                survey.add_shown(np.add.reduceat(shown, first.offsets[:-1]), np.diff(first.offsets))
            return survey
        return cls._of_table(block, n_attributes)

    @classmethod
    def _of_table(cls, block: ListBlock, n_attributes: int) -> "LogSurvey":
        if block.n_lists == 0:
            return cls()
        lengths, counts = np.unique(np.diff(block.offsets), return_counts=True)
        found = cls(Counter(dict(zip(lengths.tolist(), counts.tolist(), strict=True))))
        found.combinations.update(_combinations(block.rows, n_attributes))
        if "relevance" in block.rows.schema.names:
            found.add_grades(_counted(block.rows.column("relevance").to_numpy()))
        return found

    def add(self, other: "LogSurvey") -> None:
        """Add the counts of further lists, whose labels have the same codes."""
        self.lengths.update(other.lengths)
        self.combinations.update(other.combinations)
        self.add_grades(other.grades)
        if other.other is not None:
            self.other = LogSurvey() if self.other is None else self.other
            self.other.add(other.other)
            self.add_pairs(other.shared, other.shared_rows)
            self.shown, self.hidden = max(self.shown, other.shown), self.hidden or other.hidden

    def add_pairs(self, shared: int, rows: int) -> None:
        """Add lists that two tables have, and their rows in the second."""
        self.shared += shared
        self.shared_rows += rows

    def add_shown(self, shown: np.ndarray, sizes: np.ndarray) -> None:
        """Add how many people some lists of the first of two tables show, and have."""
        self.shown = max(self.shown, int(shown.max(initial=0)))
        self.hidden |= bool((shown < sizes).any())

    def add_grades(self, grades: Mapping[float, int]) -> None:
        """Add numbers of rows of each relevance; too many different ones are an error."""
        self.grades.update(grades)
        if len(self.grades) > MOST_GRADES:
            raise DataError(
                f"relevance must have at most {MOST_GRADES:,} different values in a log, got more; "
                "round it first"
            )

    def check(self, n_rows: int, n_lists: int, where: str) -> None:
        """Raise if the rows that were measured are not those that were surveyed."""
        if (n_rows, n_lists) != (self.n_rows, self.n_lists):
            raise DataError(
                f"{where}: must hold the {self.n_rows:,} rows in {self.n_lists:,} lists that the "
                f"survey found, and {n_rows:,} rows in {n_lists:,} lists were measured; a list was "
                "torn apart, or the data changed while they were read"
            )

    def checked(self, sums: ListSums, where: str) -> ListSums:
        """Return sums of all surveyed lists, with the numbers of a second table; else raise."""
        self.check(sums.n_rows, sums.n_lists, where)
        if self.other is None:
            return sums
        rows, _, shared = map(int, sums.sums["against"])
        if (rows, shared) != (self.shared_rows, self.shared):
            raise DataError(
                f"{where}: must have the {self.shared_rows:,} rows in {self.shared:,} lists of "
                f"against that the survey found, and {rows:,} rows in {shared:,} lists were "
                "measured; a list was torn apart, or the data changed while they were read"
            )
        whole = np.array([self.other.n_rows, self.other.n_lists, shared], dtype=np.float64)
        return replace(sums, sums=sums.sums | {"against": whole})

    def groups(self, columns: LogColumns, where: str, max_groups: int | None) -> Groups:
        """Return the groups of each attribute, cleaned as the rules of the columns say."""
        if not self.lengths:
            raise DataError(f"{where}: must contain at least one row, got none")
        categories: dict[str, tuple[Any, ...]] = {}
        lookup: dict[str, np.ndarray] = {}
        record: dict[str, tuple[Any, ...]] = {}
        remarks: list[str] = []
        for at, name in enumerate(columns.roles.sensitive):
            labels = self.labels[name]
            counts = np.zeros(len(labels) + 1, dtype=np.int64)
            for codes, count in self.combinations.items():
                counts[codes[at]] += count
            values: list[Any] = [None if label == "" else label for label in labels]
            if columns.rules is not None:
                # a label may occur in another table only
                used = np.flatnonzero(counts[:-1]).tolist()
                some = [labels[at_label] for at_label in used]
                cleaned = columns.rules.clean(name, some, counts[used].tolist())
                values = [None] * len(labels)
                for at_label, value in zip(used, cleaned.values, strict=True):
                    values[at_label] = value
                lost = (("", int(counts[-1]), None),) if counts[-1] else ()
                record[name] = (*cleaned.record, *lost)
                remarks += cleaned.remarks
            counted = zip(values, counts.tolist(), strict=False)
            known = _sorted({value for value, count in counted if count and value is not None})
            try:
                check_groups(name, known, self.n_rows, max_groups)
            except DataError as error:
                raise DataError(f"{where}: {error}") from None
            if columns.rules is None:
                warn_of_labels(name, known)
            code = {value: place for place, value in enumerate(known)}
            lookup[name] = np.array([*(code.get(v, -1) for v in values), -1], dtype=np.int32)
            categories[name] = known
        return Groups(categories, lookup, record, tuple(remarks))


class MedianSearch:
    """The exact median of numbers that are read four times, in constant memory.

    Floats are ordered like whole numbers of 64 bits. Each pass counts the next 16 bits of those
    that agree so far with one of the two middle ones.

    Parameters
    ----------
    n : int
        How many numbers there are, at least one.

    Examples
    --------
    >>> search, values = MedianSearch(4), np.array([3.0, -1.0, 8.0, 4.0])
    >>> while not search.done:
    ...     search.narrow(search.count(values[:2]) + search.count(values[2:]))
    >>> search.median
    3.5
    """

    def __init__(self, n: int) -> None:
        self._ranks = [(n - 1) // 2, n // 2]
        self._prefixes = [0, 0]
        self._passes = 0

    @property
    def done(self) -> bool:
        """Whether all bits are known."""
        return self._passes == PASSES

    def count(self, values: np.ndarray) -> np.ndarray:
        """Return how often the next bits occur, for both middle numbers."""
        bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
        sign = np.uint64(1) << np.uint64(63)
        keys = np.where(bits & sign, ~bits, bits | sign)
        digits = (keys >> np.uint64(DIGIT * (PASSES - 1 - self._passes))) & np.uint64(DIGITS - 1)
        found = np.zeros((2, DIGITS), dtype=np.int64)
        for at, prefix in enumerate(self._prefixes):
            if at and prefix == self._prefixes[0]:
                found[1] = found[0]
                continue
            same = digits
            if self._passes:
                shift = np.uint64(DIGIT * (PASSES - self._passes))
                same = digits[keys >> shift == np.uint64(prefix)]
            found[at] = np.bincount(same.astype(np.int64), minlength=DIGITS)
        return found

    def narrow(self, counts: Any) -> None:
        """Choose the next bits, from the counts of all numbers."""
        for at in range(2):
            ends = np.cumsum(counts[at])
            digit = int(np.searchsorted(ends, self._ranks[at], side="right"))
            if digit == DIGITS:
                raise DataError("score must be the same in every pass, and the data changed")
            self._ranks[at] -= int(ends[digit] - counts[at][digit])
            self._prefixes[at] = self._prefixes[at] * DIGITS + digit
        self._passes += 1

    @property
    def median(self) -> float:
        """The mean of the two middle numbers."""
        keys, sign = np.array(self._prefixes, dtype=np.uint64), np.uint64(1) << np.uint64(63)
        return float(np.where(keys & sign, keys ^ sign, ~keys).view(np.float64).mean())


def _sorted(groups: Iterable[Any]) -> tuple[Any, ...]:
    """Return groups in the order of `as_ranking_data`."""
    found = list(groups)
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=str))


def _combinations(rows: Any, n_attributes: int) -> dict[tuple[int, ...], int]:
    """Return the number of rows of each combination of codes."""
    if n_attributes == 0:
        return {}
    columns = [rows.column(f"g{at}").to_numpy() for at in range(n_attributes)]
    sizes = [int(column.max()) + 2 for column in columns]
    if np.prod([float(size) for size in sizes]) <= TABLE:
        combined = np.zeros(len(columns[0]), dtype=np.int32)
        for column, size in zip(columns, sizes, strict=True):
            combined = combined * size + (column + 1)
        counts = np.bincount(combined)
        present = np.flatnonzero(counts)
        codes = np.stack(np.unravel_index(present, sizes), axis=1) - 1
        found = counts[present]
    else:
        codes, found = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return {tuple(code): count for code, count in zip(codes.tolist(), found.tolist(), strict=True)}


def _counted(grades: np.ndarray) -> dict[float, int]:
    """Return the number of rows of each relevance."""
    if grades.max() < TABLE and (grades == np.floor(grades)).all():
        counts = np.bincount(grades.astype(np.int64))
        values = np.flatnonzero(counts)
        found = counts[values]
    else:
        values, found = np.unique(grades, return_counts=True)
    return dict(zip(values.astype(float).tolist(), found.tolist(), strict=True))
