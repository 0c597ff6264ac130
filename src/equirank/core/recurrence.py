"""Recurrence: how many different people rows are about, and rows that are about nobody new."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from .data import RankingData
from .inputs import frozen
from .list_keys import list_keys, mixed

__all__ = ["MOST_RECURRING", "Recurrence", "n_copies", "rows_of_totals"]


#: Most people that are counted one by one; of more, those with the smallest keys are.
MOST_PEOPLE = 100_000
#: The largest share of people with several rows for which tests that assume one row each are made.
MOST_RECURRING = 0.01


@dataclass(frozen=True, eq=False)
class Recurrence:
    """The people with the smallest keys and the rows of each, so that parts can be added.

    Up to 100,000 people are counted exactly. Of more, those with the smallest keys (hashes of their
    ids) are a sample in which everybody has all rows, and numbers are estimates. A row without an
    id is about another person than all others.

    Attributes
    ----------
    keys : ndarray of uint64
        The key of each person, ascending.
    rows : ndarray of int64
        The number of rows of each.
    unnamed : int
        Number of rows without an id.
    sampled : bool
        Whether there are people with greater keys.

    Examples
    --------
    >>> one, other = (Recurrence.of(np.array(ids)) for ids in (["a", "b", "b"], ["a", "c", "d"]))
    >>> both = one + other
    >>> both.n_people, both.n_recurring, both.share
    (4, 2, 0.5)
    """

    keys: np.ndarray
    rows: np.ndarray
    unnamed: int = 0
    sampled: bool = False

    @classmethod
    def of(cls, ids: np.ndarray) -> "Recurrence":
        """Return the people of rows with these ids."""
        missing = _missing(ids)
        labels, rows = _counted(ids[~missing])
        return _smallest([_keys(labels)], [rows], int(missing.sum()), False)

    def __add__(self, other: "Recurrence") -> "Recurrence":
        """Return the people of both."""
        both = (self, other)
        most = min((each.keys[-1] for each in both if each.sampled), default=None)
        few = [each.keys if most is None else each.keys[each.keys <= most] for each in both]
        rows = [each.rows[: len(keys)] for each, keys in zip(both, few, strict=True)]
        return _smallest(few, rows, self.unnamed + other.unnamed, most is not None)

    @property
    def n_people(self) -> int:
        """Number of people, an estimate if they are sampled."""
        return round(len(self.keys) * self._scale) + self.unnamed

    @property
    def n_recurring(self) -> int:
        """Number of people with several rows, an estimate if people are sampled."""
        return round(int((self.rows > 1).sum()) * self._scale)

    @property
    def share(self) -> float:
        """Share of the people who have several rows; 0 without people."""
        return self.n_recurring / self.n_people if self.n_people else 0.0

    @property
    def breaks_tests(self) -> bool:
        """Whether too many people recur for tests that assume one row of each."""
        return self.share > MOST_RECURRING

    @cached_property
    def _scale(self) -> float:
        """People for each one that is counted: n - 1 smallest of uniform keys, without bias."""
        if not self.sampled:
            return 1.0
        return (len(self.keys) - 1) / len(self.keys) * 2.0**64 / float(self.keys[-1])


def _smallest(
    keys: Sequence[np.ndarray], rows: Sequence[np.ndarray], unnamed: int, sampled: bool
) -> Recurrence:
    """Return the people with the smallest keys, with the rows of all parts."""
    every = np.concatenate(keys)
    found, at = np.unique(every, return_inverse=True)
    counts = np.bincount(at, np.concatenate(rows), len(found)).astype(np.int64)
    cut = sampled or len(found) > MOST_PEOPLE
    return Recurrence(
        frozen(found[:MOST_PEOPLE].copy()), frozen(counts[:MOST_PEOPLE].copy()), unnamed, cut
    )


def _missing(ids: np.ndarray) -> np.ndarray:
    """Return which ids are missing: None, NaN, NaT or an empty text."""
    if ids.dtype.kind in "iub":
        return np.zeros(len(ids), dtype=bool)
    if ids.dtype.kind == "M":
        return np.isnat(ids)
    if ids.dtype.kind == "f":
        return np.isnan(ids)
    if ids.dtype.kind == "U":
        return np.asarray(ids == "")
    return np.fromiter((_is_blank(each) for each in ids.tolist()), bool, len(ids))


def _is_blank(each: Any) -> bool:
    return each is None or each == "" or bool(each != each)


def _counted(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different ids and the number of rows of each."""
    if ids.dtype.kind != "O":
        return np.unique(ids, return_counts=True)
    counts: dict[Any, int] = {}
    for each in ids.tolist():
        counts[each] = counts.get(each, 0) + 1
    labels = np.empty(len(counts), dtype=object)
    labels[:] = list(counts)
    return labels, np.fromiter(counts.values(), np.int64, len(counts))


def _keys(labels: np.ndarray) -> np.ndarray:
    """Return the key of each id; a number has the same whatever its type."""
    if labels.dtype.kind == "M" or (
        labels.dtype.kind == "f" and ((labels != np.floor(labels)) | np.isinf(labels)).any()
    ):
        labels = labels.astype(str)
    elif labels.dtype.kind == "O":
        labels = np.array([_plain(each) for each in labels.tolist()] + [None], dtype=object)[:-1]
    return list_keys(labels)


def _plain(each: Any) -> Any:
    """Return an id as a list label: whole numbers, texts and tuples stay."""
    whole = isinstance(each, float) and each.is_integer()
    return each if whole or isinstance(each, (Integral, str, tuple)) else str(each)


def n_copies(data: RankingData) -> int:
    """Return how many rows are equal to an earlier row of their list in everything that was read.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> n_copies(as_ranking_data(score=[3, 2, 2, 2], sensitive_features=["f", "m", "f", "m"]))
    1
    """
    key = mixed(data.query_of_rows().astype(np.uint64))
    columns = [data.y, data.cost, data.score, data.position, data.ids, *data.outcomes.values()]
    columns += [attribute.codes for attribute in data.sensitive.values()]
    for values in columns:
        if values is not None:
            key = mixed(key + _bits(values))
    if data.X is not None:
        _, at, count = np.unique(key, return_inverse=True, return_counts=True)
        several = np.flatnonzero(count[at] > 1)
        rows = data.X[several]
        rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
        bits = np.fromiter((hash(row.tobytes()) for row in rows), np.int64, len(rows))
        key[several] = mixed(key[several] + mixed(bits.view(np.uint64)))
    key.sort()
    return int((key[1:] == key[:-1]).sum())


def _bits(values: np.ndarray) -> np.ndarray:
    """Return a number for each value, the same for equal ones."""
    if values.dtype.kind in "OUS":
        several = values.tolist()
        if values.dtype.kind == "O":  # a NaN is not equal to itself
            several = [None if isinstance(v, float) and v != v else v for v in several]
        return np.fromiter(map(hash, several), np.int64, len(several)).view(np.uint64)
    if values.dtype.kind == "f":
        return (values.astype(np.float64) + 0.0).view(np.uint64)
    return values.astype(np.int64).view(np.uint64)


#: What rows of totals are called, in lower case.
TOTALS = frozenset(
    {
        *("total", "totals", "grand total", "sum", "sums", "subtotal", "sub total", "sub-total"),
        *("summe", "summen", "gesamt", "gesamtsumme", "insgesamt", "zwischensumme", "totaal"),
        *("somme", "totaux", "total général", "total general", "suma", "soma"),  # codespell:ignore
        *("totale", "totale generale", "somma", "totalt", "razem", "celkem"),
        *("итого", "всего", "合計", "总计"),
    }
)
#: Fewest rows of which the last one is compared with the sum of the others.
FEWEST_SUMMED = 10


def rows_of_totals(data: RankingData) -> list[tuple[int, str]]:
    """Return the stored rows that look like totals, and why: a name, or the sum of a column.

    The name is that of a list or a group of one row, or an id. Sums are looked for in the last row.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> rows_of_totals(as_ranking_data(score=[3, 2, 9], qid=["a", "a", "Summe"]))
    [(2, 'list "Summe"')]
    """
    found: dict[int, str] = {}
    alone = np.flatnonzero(np.diff(data.offsets) == 1)
    for query, label in zip(alone.tolist(), data.qids[alone].tolist(), strict=True):
        if _is_total(label):
            found[int(data.offsets[query])] = f'list "{label}"'
    for name, attribute in data.sensitive.items():
        for code, label in enumerate(attribute.categories):
            if _is_total(label) and attribute.sizes[code] == 1:
                found.setdefault(int((attribute.codes == code).argmax()), f'{name} "{label}"')
    if data.ids is not None and data.ids.dtype.kind in "OU":
        for row, label in enumerate(data.ids.tolist()):
            if _is_total(label):
                found.setdefault(row, f'id "{label}"')
    last = data.n_rows - 1 if data.rows is None else int(data.rows.argmax())
    for name, values in _summed_columns(data, last):
        found.setdefault(last, f"its {name} is the sum of all others, {values:g}")
    return sorted(found.items())


def _is_total(label: Any) -> bool:
    return isinstance(label, str) and " ".join(label.casefold().split()).strip(" .:*") in TOTALS


def _summed_columns(data: RankingData, last: int) -> Iterator[tuple[str, float]]:
    """Yield the columns whose value in the last row is the sum of all others."""
    for name, values in (("score", data.score), ("relevance", data.y), ("cost", data.cost)):
        if values is None or data.n_rows < FEWEST_SUMMED:
            continue
        others = np.delete(values.astype(np.float64), last)
        total, value = float(others.sum()), float(values[last])
        if abs(value) > np.abs(others).max() and abs(value - total) <= 1e-6 * abs(total):
            yield name, value
