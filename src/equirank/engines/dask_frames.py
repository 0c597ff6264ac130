"""Frames of Dask: lists are brought together by a shuffle, and summed partition by partition."""

from collections import Counter
from typing import Any

import numpy as np

from ..core.environment import require
from ..core.errors import DataError
from ..core.list_sums import ListSums
from .dask_tasks import compute
from .log_columns import LogColumns, LogPiece
from .log_sums import LogMeasure, LogOptions, refuse_stable, row_keys
from .log_survey import LogSurvey, MedianSearch
from .whole_lists import ListBlock

__all__ = ["sum_dask"]


#: Sums that are added in one task.
BRANCHES = 8
#: Most tasks that count the rows of lists.
MOST_PARTS = 16


def sum_dask(frame: Any, columns: LogColumns, options: LogOptions, client: Any = None) -> ListSums:
    """Return the sums of a frame; only they, and no rows, come to the calling process."""
    refuse_stable(options, "a frame of Dask")
    delayed = require("dask", "dask").delayed
    survey = _survey(frame, columns, client)
    if options.scored and "score" in columns.roles.single:
        survey.median_score = _median(frame[[columns.roles.single["score"]]], columns, client)
    measure = delayed(options.measure(survey, columns, "data"))
    chosen = frame[columns.needed]
    if not columns.query:
        chosen = chosen.repartition(npartitions=1)
    elif chosen.npartitions > 1:
        chosen = chosen.shuffle(on=list(columns.query))
    task, add = delayed(_measured, pure=False), delayed(_added, pure=False)
    found = [task(measure, part, at) for at, part in enumerate(chosen.to_delayed())]
    while len(found) > 1:
        found = [add(found[at : at + BRANCHES]) for at in range(0, len(found), BRANCHES)]
    total: ListSums | None = compute(found, client)[0]
    if total is None:
        survey.check(0, 0, "data")
        raise DataError("data must have at least one row, got none")
    survey.check(total.n_rows, total.n_lists, "data")
    return total


def _piece(frame: Any, where: str) -> LogPiece:
    """Return a partition as Arrow."""
    arrow = require("pyarrow", "data")
    try:
        table = arrow.Table.from_pandas(frame, preserve_index=False).combine_chunks()
    except (arrow.ArrowException, TypeError) as error:
        raise DataError(f"{where}: columns must have one type each: {error}") from None
    empty = arrow.RecordBatch.from_pylist([], schema=table.schema)
    return LogPiece(where, next(iter(table.to_batches()), empty))


def _survey(frame: Any, columns: LogColumns, client: Any) -> LogSurvey:
    """Return the survey of a frame; rows of a list are counted by key, not by Dask's shuffle."""
    delayed = require("dask", "dask").delayed
    names = columns.surveyed or list(frame.columns[:1])
    n_parts = min(frame.npartitions, MOST_PARTS) if columns.query else 0
    look = delayed(_looked, pure=False, nout=2)
    found = [look(part, at, columns, n_parts) for at, part in enumerate(frame[names].to_delayed())]
    count = delayed(_lengths, pure=False)
    tasks = [count([sizes[at] for _, sizes in found]) for at in range(n_parts)]
    *lengths, facts = compute([*tasks, delayed([fact for fact, _ in found])], client)
    survey = LogSurvey()
    codes: dict[str, dict[Any, int]] = {name: {} for name in columns.roles.sensitive}
    for _, combinations, grades in facts:
        survey.add_grades(grades)
        for labels, rows in combinations.items():
            key = tuple(
                -1 if label is None else code.setdefault(label, len(code))
                for label, code in zip(labels, codes.values(), strict=True)
            )
            survey.combinations[key] += rows
    survey.labels = {name: list(code) for name, code in codes.items()}
    n_rows = sum(rows for rows, _, _ in facts)
    for each in lengths or ([Counter({n_rows: 1})] if n_rows else []):
        survey.lengths.update(each)
    return survey


def _median(frame: Any, columns: LogColumns, client: Any) -> float:
    """Return the median of a column of scores, counted in four passes over the partitions."""
    delayed = require("dask", "dask").delayed
    parts = frame.to_delayed()
    sizes = compute([delayed(len)(part) for part in parts], client)
    search, task = MedianSearch(sum(sizes)), delayed(_counted, pure=False)
    while not search.done:
        found = compute([task(search, part, at, columns) for at, part in enumerate(parts)], client)
        search.narrow(sum(found))
    return search.median


def _counted(search: MedianSearch, frame: Any, at: int, columns: LogColumns) -> np.ndarray:
    return search.count(columns.scores(_piece(frame, f"partition {at}")))


def _looked(frame: Any, at: int, columns: LogColumns, n_parts: int) -> tuple[Any, list[Any]]:
    """Return facts of a partition (rows, combinations, grades), and its rows per list by key."""
    own = columns.open()
    piece = _piece(frame, f"partition {at}")
    if piece.n_rows == 0:
        return (0, {}, {}), [(np.zeros(0, np.uint64), np.zeros(0, np.int64))] * n_parts
    rows = own.checked(piece, survey=True)
    survey = LogSurvey.of(ListBlock(rows, np.array([0, piece.n_rows])), len(own.roles.sensitive))
    known = [[*own.labels[name].code, None] for name in own.roles.sensitive]
    named = {
        tuple(labels[code] for labels, code in zip(known, codes, strict=True)): count
        for codes, count in survey.combinations.items()
    }
    keys, counts = np.unique(row_keys(rows), return_counts=True)
    home = keys % np.uint64(n_parts or 1)
    divided = [(keys[home == part], counts[home == part]) for part in range(n_parts)]
    return (piece.n_rows, named, dict(survey.grades)), divided


def _lengths(parts: list[tuple[np.ndarray, np.ndarray]]) -> Counter[int]:
    """Return the number of lists of each length, from the rows per list of every partition."""
    keys, at = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    rows = np.bincount(at, np.concatenate([counts for _, counts in parts]), len(keys))
    lengths, counts = np.unique(rows.astype(np.int64), return_counts=True)
    return Counter(dict(zip(lengths.tolist(), counts.tolist(), strict=True)))


def _measured(measure: LogMeasure, frame: Any, at: int) -> ListSums | None:
    if len(frame) == 0:
        return None
    return measure.of_scattered(_piece(frame, f"shuffled partition {at}"))


def _added(parts: list[ListSums | None]) -> ListSums | None:
    some = [part for part in parts if part is not None]
    return ListSums.total(some) if some else None
