"""The folds that all methods of a comparison share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import get_routing_for_object

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.splits import QueryKFold, query_train_test_split

__all__ = ["Fold", "make_folds", "seed_numbers", "units"]


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of the data: the stored rows to fit on, and those to rank and evaluate."""

    number: int
    seed: int
    train: np.ndarray
    test: np.ndarray

    def digest(self) -> str:
        """Return a hash of the rows, part of the key of a stored cell."""
        digest = blake2b(digest_size=16)
        for rows in (self.train, self.test):
            digest.update(f"|{len(rows)}|".encode() + np.ascontiguousarray(rows, "<i8").tobytes())
        return digest.hexdigest()


def make_folds(data: RankingData, cv: Any, by: str, seeds: Sequence[int]) -> list[Fold]:
    """Return the folds of each seed, which all methods share.

    Parameters
    ----------
    data : RankingData
        The data to split.
    cv : int, float, splitter or iterable
        Number of folds, or share held out, shuffled by each seed; a scikit-learn splitter, or train
        and test rows, equal for every seed.
    by : {"query", "item"}
        Whole queries, or rows of one list.
    seeds : sequence of int
        The seeds; each has a set of folds.
    """
    if isinstance(cv, bool) or (isinstance(cv, float) and not 0 < cv < 1):
        raise DataError(f"cv must be a number of folds or a share between 0 and 1, got {cv}")
    given: list[Any] | None = None
    if not isinstance(cv, (int, np.integer, float)):
        given = list(_given(data, cv))
        if not given:
            raise DataError("cv must have at least one fold, got none")
    folds = []
    for seed in seeds:
        pairs = _drawn(data, cv, by, seed) if given is None else given
        for number, (train, test) in enumerate(pairs):
            folds.append(Fold(number, seed, _rows(data, train, "train"), _rows(data, test, "test")))
    return folds


def units(data: RankingData, folds: Sequence[Fold], cv: Any, by: str) -> str:
    """Return the unit of paired tests: ``"queries"``, or ``"folds"`` if lists are split by item.

    A split within lists without ``by="item"`` is an error.
    """
    query = data.query_of_rows()
    by_item = by == "item" or getattr(cv, "by", None) == "item"
    for fold in folds:
        if np.intersect1d(fold.train, fold.test).size:
            raise DataError(
                f"cv must separate train and test, got shared rows in fold {fold.number}"
            )
        if not by_item and np.intersect1d(query[fold.train], query[fold.test]).size:
            raise DataError(
                'cv must keep lists whole (as QueryKFold does), or by must be "item"; fold '
                f"{fold.number} has rows of one list in train and test"
            )
    return "folds" if by_item else "queries"


def _drawn(data: RankingData, cv: Any, by: str, seed: int) -> Iterable[tuple[Any, Any]]:
    if isinstance(cv, float):
        train, test = query_train_test_split(data, test_size=cv, by=by, random_state=seed)  # type: ignore[arg-type]
        return [(_callers(data, train), _callers(data, test))]
    return QueryKFold(int(cv), by=by, shuffle=True, random_state=seed).split(data)  # type: ignore[arg-type]


def _callers(data: RankingData, part: RankingData) -> np.ndarray:
    """Return the indices of a part's rows in the caller's order."""
    known = np.arange(data.n_rows) if data.rows is None else data.rows
    chosen = np.arange(part.n_rows) if part.rows is None else part.rows
    return data.caller_rank[np.flatnonzero(np.isin(known, chosen))]


def _given(data: RankingData, cv: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(cv, QueryKFold):
        return cv.split(data)
    if hasattr(cv, "split") and not isinstance(cv, str):
        rows = np.zeros((data.n_rows, 1))
        relevance = None if data.y is None else data.to_original(data.y)
        if not get_routing_for_object(cv).consumes("split", {"groups"}):
            return cv.split(rows, relevance)
        return cv.split(rows, relevance, data.to_original(data.query_of_rows()))
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        return cv
    raise DataError(
        f"cv must be a number of folds, a share held out, a splitter or pairs of rows, got {cv!r}"
    )


def _rows(data: RankingData, given: Any, what: str) -> np.ndarray:
    """Return the stored rows of the caller's row numbers, ascending."""
    rows = np.asarray(given)
    if rows.dtype == bool and rows.shape == (data.n_rows,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
        raise DataError(f"cv must contain row numbers for {what}, got {given!r:.60}")
    if rows.min() < 0 or rows.max() >= data.n_rows:
        raise DataError(
            f"cv must contain rows from 0 to {data.n_rows - 1} for {what}, got {given!r:.60}"
        )
    chosen = np.zeros(data.n_rows, dtype=bool)
    chosen[rows] = True
    return np.flatnonzero(chosen[data.caller_rank])


def seed_numbers(seeds: Any) -> list[int]:
    """Return the seeds of a number or a list.

    Examples
    --------
    >>> seed_numbers(3), seed_numbers([7, 2])
    ([0, 1, 2], [7, 2])
    """
    if isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool):
        if seeds < 1:
            raise DataError(f"seeds must be at least 1, or a list of seeds, got {seeds}")
        return list(range(int(seeds)))
    listable = isinstance(seeds, Iterable) and not isinstance(seeds, str)
    listed: list[Any] = list(seeds) if listable else [seeds]
    for seed in listed:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise DataError(f"seeds must be a number of seeds or a list of integers, got {seeds!r}")
    if not listed or len(set(listed)) < len(listed):
        raise DataError(f"seeds must contain at least one seed, all different, got {seeds!r}")
    return [int(seed) for seed in listed]
