"""Frames of Dask: lists are brought together by a shuffle, and summed partition by partition."""

from typing import Any

import numpy as np

from ..core.environment import require
from ..core.errors import DataError
from ..core.list_sums import ListSums
from .dask_tasks import compute
from .log_columns import SIDE, LogColumns, LogPiece
from .log_sums import LogMeasure, LogOptions, refuse_stable
from .log_survey import LogSurvey, MedianSearch
from .whole_lists import ListBlock, row_keys

__all__ = ["sum_dask"]


#: Sums that are added in one task.
BRANCHES = 8
#: Most tasks that count the rows of lists.
MOST_PARTS = 16


def sum_dask(
    frame: Any, columns: LogColumns, options: LogOptions, client: Any = None, against: Any = None
) -> ListSums:
    """Return the sums of a frame; only they, and no rows, come to the calling process.

    Its lists may be compared with those of another frame.
    """
    refuse_stable(options, "a frame of Dask")
    delayed = require("dask", "dask").delayed
    survey = _survey(frame, columns, client, against)
    if options.scored and "score" in columns.roles.single:
        survey.median_score = _median(frame[[columns.roles.single["score"]]], columns, client)
    measure = delayed(options.measure(survey, columns, "data"))
    chosen = frame[columns.needed] if against is None else _both(frame, against, columns)
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
    return survey.checked(total, "data")


def _both(frame: Any, against: Any, columns: LogColumns) -> Any:
    """Return the rows of two frames with a column that tells them apart."""
    texts = [
        {name: _is_text(each.dtypes[name]) for name in [*columns.query, columns.id]}
        for each in (frame, against)
    ]
    columns.check_kinds(*texts)
    parts: list[Any] = []
    for side, each in enumerate((frame, against)):
        part = each[[name for name in columns.needed if name in each.columns]]
        # the shuffle of both needs one type of labels, and categories would have to be the same
        kinds = {n: "object" for n, kind in part.dtypes.items() if hasattr(kind, "categories")}
        part = part.astype(kinds) if kinds else part
        if parts:
            wanted = {n: parts[0].dtypes[n] for n in columns.query}
            kinds = {n: kind for n, kind in wanted.items() if part.dtypes[n] != kind}
            part = part.astype(kinds) if kinds else part
        parts.append(part.assign(**{SIDE: side}))
    return require("dask.dataframe", "dask").concat(parts, ignore_unknown_divisions=True)


def _is_text(dtype: Any) -> bool:
    """Return whether a column of pandas is no column of numbers."""
    return getattr(getattr(dtype, "categories", dtype), "dtype", dtype).kind not in "iufb"


def _piece(frame: Any, where: str) -> LogPiece:
    """Return a partition as Arrow."""
    arrow = require("pyarrow", "data")
    try:
        table = arrow.Table.from_pandas(frame, preserve_index=False).combine_chunks()
    except (arrow.ArrowException, TypeError) as error:
        raise DataError(f"{where}: columns must have one type each: {error}") from None
    empty = arrow.RecordBatch.from_pylist([], schema=table.schema)
    return LogPiece(where, next(iter(table.to_batches()), empty))


def _survey(frame: Any, columns: LogColumns, client: Any, against: Any = None) -> LogSurvey:
    """Return the survey of a frame; rows of a list are counted by key, not by Dask's shuffle."""
    delayed = require("dask", "dask").delayed
    names = columns.surveyed or list(frame.columns[:1])
    frames = [frame] if against is None else [frame, against]
    n_parts = min(max(each.npartitions for each in frames), MOST_PARTS)
    look = delayed(_looked, pure=False, nout=2)
    found = [
        [
            look(part, f"partition {at}{' of against' if side else ''}", columns, n_parts)
            for at, part in enumerate(each[names].to_delayed())
        ]
        for side, each in enumerate(frames)
    ]
    count = delayed(_counted_lists, pure=False)
    tasks = [count(*([sizes[at] for _, sizes in each] for each in found)) for at in range(n_parts)]
    facts = [delayed([fact for fact, _ in each]) for each in found]
    results = compute([*tasks, *facts], client)
    survey = LogSurvey()
    for each in results[:n_parts]:
        survey.add(each)
    codes: dict[str, dict[Any, int]] = {name: {} for name in columns.roles.sensitive}
    both = [survey, *([] if survey.other is None else [survey.other])]
    for own, several in zip(both, results[n_parts:], strict=True):
        for combinations, grades in several:
            own.add_grades(grades)
            for labels, rows in combinations.items():
                key = tuple(
                    -1 if label is None else code.setdefault(label, len(code))
                    for label, code in zip(labels, codes.values(), strict=True)
                )
                own.combinations[key] += rows
    for own in both:
        own.labels = {name: list(code) for name, code in codes.items()}
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


def _looked(frame: Any, where: str, columns: LogColumns, n_parts: int) -> tuple[Any, list[Any]]:
    """Return facts of a partition (combinations, grades), and its rows per list by key.

    The rows of two tables are counted beside those that have a position.
    """
    own = columns.open()
    piece = _piece(frame, where)
    if piece.n_rows == 0:
        return ({}, {}), [(np.zeros(0, np.uint64), np.zeros((0, 2), np.int64))] * n_parts
    rows = own.checked(piece, survey=True)
    survey = LogSurvey.of(ListBlock(rows, np.array([0, piece.n_rows])), len(own.roles.sensitive))
    known = [[*own.labels[name].code, None] for name in own.roles.sensitive]
    named = {
        tuple(labels[code] for labels, code in zip(known, codes, strict=True)): count
        for codes, count in survey.combinations.items()
    }
    keys, at, counts = np.unique(row_keys(rows), return_inverse=True, return_counts=True)
    shown = counts
    if "position" in rows.schema.names:
        seen = rows.column("position").to_numpy() > 0
        shown = np.bincount(at, seen, len(keys)).astype(np.int64)
    both, home = np.stack([counts, shown], axis=1), keys % np.uint64(n_parts)
    divided = [(keys[home == part], both[home == part]) for part in range(n_parts)]
    return (named, dict(survey.grades)), divided


def _counted_lists(
    parts: list[tuple[np.ndarray, np.ndarray]],
    others: list[tuple[np.ndarray, np.ndarray]] | None = None,
) -> LogSurvey:
    """Return the number of lists of each length, from the rows per list of every partition.

    With those of a second table, also the lists that both have.
    """
    survey, (keys, rows) = LogSurvey(), _joined(parts)
    survey.lengths.update(_lengths(rows[:, 0]))
    if others is None:
        return survey
    survey.other, (theirs, sizes) = LogSurvey(), _joined(others)
    survey.other.lengths.update(_lengths(sizes[:, 0]))
    shared = np.isin(theirs, keys)
    survey.add_pairs(int(shared.sum()), int(sizes[shared, 0].sum()))
    survey.add_shown(rows[:, 1], rows[:, 0])
    return survey


def _joined(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of all lists, and the sums of their numbers."""
    keys, at = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    both = np.concatenate([counts for _, counts in parts])
    sums = [np.bincount(at, both[:, column], len(keys)) for column in range(2)]
    return keys, np.stack(sums, axis=1).astype(np.int64)


def _lengths(rows: np.ndarray) -> dict[int, int]:
    lengths, counts = np.unique(rows, return_counts=True)
    return dict(zip(lengths.tolist(), counts.tolist(), strict=True))


def _measured(measure: LogMeasure, frame: Any, at: int) -> ListSums | None:
    if len(frame) == 0:
        return None
    return measure.of_scattered(_piece(frame, f"shuffled partition {at}"))


def _added(parts: list[ListSums | None]) -> ListSums | None:
    some = [part for part in parts if part is not None]
    return ListSums.total(some) if some else None
