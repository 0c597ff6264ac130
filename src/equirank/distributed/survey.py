"""Survey of partitions: queries, groups and ranges of the whole data, and the move of queries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.environment import require
from ..core.errors import DataError
from ..core.frames import FrameFeatures, as_frame
from ..core.given_data import as_ranking_data
from ..core.labels import MISSING, check_groups, group_rows
from ..engines.dask_tasks import compute
from .partitions import Lists, in_partition

__all__ = ["Part", "Survey", "balanced_homes", "gathered", "survey"]


@dataclass(frozen=True, eq=False)
class Part:
    """Summary of one partition."""

    n_rows: int
    qids: np.ndarray
    sizes: np.ndarray
    combinations: list[tuple[Any, ...]]
    max_grade: float
    text: dict[str, list[str]]
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray


@dataclass(frozen=True, eq=False)
class Survey:
    """Summary of the whole data: queries in order of first appearance, groups, ranges.

    Attributes
    ----------
    qids, sizes : ndarray
        Each query and its number of rows.
    members : list of ndarray
        The queries (as numbers) of each partition, in its order.
    n_torn : int
        Number of queries in more than one partition.
    lists : Lists
        How rows become lists, with the groups of the whole data.
    low, high, missing : ndarray
        The range of each feature, and whether it has missing values.
    probe : RankingData
        One row for each combination of groups, for validation.
    """

    qids: np.ndarray
    sizes: np.ndarray
    members: list[np.ndarray]
    part_rows: list[int]
    n_torn: int
    lists: Lists
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray
    probe: RankingData

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.qids)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())


def look(frame: Any, at: int, lists: Lists) -> Part | None:
    """Return the summary of one partition, or None if it is empty."""
    if len(frame) == 0:
        return None
    with in_partition(at):
        queries = lists.queries(frame)
        _, offsets, qids = group_rows(queries, len(frame))
        people = lists.people(frame)
        code = np.zeros(len(frame), dtype=np.int64)
        for codes, seen in people.values():
            code = code * (len(seen) + 1) + codes + 1
        _, first = np.unique(code, return_index=True)
        combinations = [
            tuple((*seen, None)[codes[row]] for codes, seen in people.values())
            for row in first.tolist()
        ]
        relevance = lists.roles.single.get("relevance")
        grade = float(frame[relevance].max()) if relevance is not None else 0.0
        X = frame[list(lists.roles.features)]
        found = FrameFeatures(as_frame(X), list(map(str, X.columns))).categories
        text = {name: list(labels) for name, labels in found.items()}
        low, high, missing = _ranges(X.drop(columns=list(text)), X)
    sizes = np.diff(offsets)
    return Part(len(frame), qids, sizes, combinations, grade, text, low, high, missing)


def _ranges(numbers: Any, X: Any) -> tuple[np.ndarray, ...]:
    """Return minimum, maximum (infinite without numbers) and missingness of each feature."""
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    low = np.fmin.reduce(values, axis=0, initial=np.inf)
    high = np.fmax.reduce(values, axis=0, initial=-np.inf)
    missing = np.isnan(values).any(axis=0)
    at = [list(X.columns).index(name) for name in numbers.columns]
    result = (np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf), np.zeros(X.shape[1], bool))
    result[0][at], result[1][at], result[2][at] = low, high, missing
    return result


def survey(parts: Sequence[Any], lists: Lists, client: Any, *, cross: Iterable[Any] = ()) -> Survey:
    """Read every partition once, and return the summary of the whole data."""
    delayed = require("dask", "dask").delayed
    seen = delayed(look, pure=False)
    found = compute([seen(part, at, lists) for at, part in enumerate(parts)], client)
    parts_with_rows = [part for part in found if part is not None]
    if not parts_with_rows:
        raise DataError("data must have at least one row, got none")
    number: dict[Any, int] = {}
    labels: list[np.ndarray] = []
    members: list[np.ndarray] = []
    for part in found:
        if part is None:
            members.append(np.zeros(0, dtype=np.int64))
            continue
        before = len(number)
        numbers = [number.setdefault(label, len(number)) for label in part.qids.tolist()]
        members.append(np.array(numbers, dtype=np.int64))
        labels.append(part.qids[members[-1] >= before])
    sizes = np.zeros(len(number), dtype=np.int64)
    held = np.zeros(len(number), dtype=np.int64)
    for part, queries in zip(found, members, strict=True):
        if part is not None:
            sizes[queries] += part.sizes
            held[queries] += 1
    mixed = len({part.dtype.kind for part in labels}) > 1
    qids = np.concatenate([part.astype(object) for part in labels] if mixed else labels)
    lists, probe = _known(lists, parts_with_rows, cross)
    missing = np.any([part.missing for part in parts_with_rows], axis=0)
    return Survey(
        qids,
        sizes,
        members,
        [0 if part is None else part.n_rows for part in found],
        int((held > 1).sum()),
        lists,
        np.min([part.low for part in parts_with_rows], axis=0),
        np.max([part.high for part in parts_with_rows], axis=0),
        np.asarray(missing, dtype=bool),
        probe,
    )


def _known(lists: Lists, parts: list[Part], cross: Iterable[Any]) -> tuple[Lists, RankingData]:
    """Return the lists with the groups of the whole data, and one row per combination of groups."""
    rows = list(dict.fromkeys(row for part in parts for row in part.combinations))
    columns: dict[str, np.ndarray] = {}
    n_rows = sum(part.n_rows for part in parts)
    for at, name in enumerate(lists.roles.sensitive):
        column = np.empty(len(rows), dtype=object)
        column[:] = [None if row[at] == MISSING else row[at] for row in rows]
        columns[name] = column
        groups = {row[at] for row in rows} - {None}
        check_groups(name, list(groups), n_rows, None)
    grade = max(part.max_grade for part in parts)
    single = lists.roles.single
    n = len(rows)
    probe = as_ranking_data(
        np.zeros((n, max(1, len(lists.roles.features)))) if lists.roles.features else None,
        np.full(n, grade) if "relevance" in single else None,
        qid=np.zeros(n, dtype=int),
        sensitive_features=columns or None,
        missing_sensitive="category",
        max_groups=n,  # checked above, with the number of rows
        cost=np.ones(n) if "cost" in single else None,
    )
    crossings = {}
    for names in dict.fromkeys(tuple(names) for names in cross if not isinstance(names, str)):
        if len(names) > 1:
            crossings[names] = probe.cross(*names).categories
    text: dict[str, set[str]] = {}
    for part in parts:
        for name, labels in part.text.items():
            text.setdefault(name, set()).update(labels)
    known = replace(
        lists,
        categories={name: a.categories for name, a in probe.sensitive.items()},
        crossings=crossings,
        text={name: sorted(labels) for name, labels in text.items()},
        max_grade=grade,
    )
    return known, probe


def balanced_homes(sizes: np.ndarray, n_homes: int) -> np.ndarray:
    """Assign queries to homes in order, with about equal numbers of rows per home.

    Examples
    --------
    >>> import numpy as np
    >>> balanced_homes(np.array([10, 10, 10, 30]), 2)
    array([0, 0, 0, 1])
    """
    middle = np.cumsum(sizes) - sizes / 2
    return np.minimum((middle * n_homes / sizes.sum()).astype(np.int64), n_homes - 1)


def gathered(parts: list[Any], survey: Survey, home: np.ndarray) -> dict[int, list[Any]]:
    """Return the delayed pieces of partitions with the queries of each home, in order.

    The rows of a query keep their order, and queries that of their first appearance. A partition
    whose queries all have one home is passed on unchanged.
    """
    delayed = require("dask", "dask").delayed
    found: dict[int, list[Any]] = {}
    for part, queries in zip(parts, survey.members, strict=True):
        homes = home[queries]
        several = np.unique(homes[homes >= 0])
        for each in several.tolist():
            piece = part
            if len(several) > 1 or (homes < 0).any():
                piece = delayed(take, pure=False)(part, survey.lists, homes == each)
            found.setdefault(each, []).append(piece)
    return dict(sorted(found.items()))


def take(frame: Any, lists: Lists, wanted: np.ndarray) -> Any:
    """Return the rows of the wanted queries, which are marked in the order of the frame."""
    order, offsets, _ = group_rows(lists.queries(frame), len(frame))
    stored = np.repeat(wanted, np.diff(offsets))
    if order is None:
        return frame[stored]
    chosen = np.empty(len(frame), dtype=bool)
    chosen[order] = stored
    return frame[chosen]
