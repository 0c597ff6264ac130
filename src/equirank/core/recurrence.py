"""Recurrence: how many different people rows are about, and how many have several rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .inputs import frozen
from .list_keys import list_keys

__all__ = ["MOST_RECURRING", "Recurrence"]


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
        labels.dtype.kind == "f" and (labels != np.floor(labels)).any()
    ):
        labels = labels.astype(str)
    elif labels.dtype.kind == "O":
        labels = np.array([_plain(each) for each in labels.tolist()] + [None], dtype=object)[:-1]
    return list_keys(labels)


def _plain(each: Any) -> Any:
    """Return an id as a list label: whole numbers, texts and tuples stay."""
    whole = isinstance(each, float) and each.is_integer()
    return each if whole or isinstance(each, (bool, int, str, tuple)) else str(each)
