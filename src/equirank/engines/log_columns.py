"""Columns of a log: their roles, and rows of Arrow checked and brought to one form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.environment import require
from ..core.errors import DataError
from ..io.column_roles import Roles, assign, existing_column
from ..io.gatherer import expected, out_of_range
from ..io.label_words import LabelRules
from ..io.number_cells import CellError
from ..io.parquet import BatchChunk

__all__ = ["SIDE", "LogColumns", "LogPiece", "RawLabels", "columns_of", "other_kind"]


#: Raw labels of an attribute beyond which it is no column of groups.
MOST_LABELS = 10_000
#: The column that tells two tables apart: 0 in rows of the first, 1 in those of the second.
SIDE = "equirank side"


class LogPiece(BatchChunk):
    """Some rows of a log as a record batch of Arrow, with the place of its first row.

    Parameters
    ----------
    where : str
        The file, row group, table or partition.
    batch : pyarrow.RecordBatch
        The rows.
    begin : int
        Number of the first row within ``where``.
    """

    def __init__(self, where: str, batch: Any, begin: int = 0) -> None:
        super().__init__(where, batch, begin)
        self.batch = batch

    def marked(self, side: int) -> "LogPiece":
        """Return the piece with a column that tells its table from another."""
        arrow = require("pyarrow", "data")
        marks = arrow.array(np.full(self.n_rows, side, dtype=np.int8))
        names = [*self.batch.schema.names, SIDE]
        batch = arrow.RecordBatch.from_arrays([*self.batch.columns, marks], names=names)
        return LogPiece(self._path, batch, self._begin)


class RawLabels:
    """Codes of the labels of an attribute in order of first appearance, common to all pieces.

    Parameters
    ----------
    labels : iterable
        The known labels.
    fixed : bool
        Whether another label is an error.
    """

    def __init__(self, labels: Iterable[Any] = (), fixed: bool = False) -> None:
        self.code = {label: at for at, label in enumerate(labels)}
        self.fixed = fixed

    def codes(self, name: str, piece: LogPiece) -> np.ndarray:
        """Return the code of each row of a piece; -1 if missing."""
        codes, labels = piece.labels(name, raw=True)
        known = self.code
        if self.fixed:
            new = [at for at, label in enumerate(labels) if label not in known]
            unseen = np.isin(codes, new) if new else np.zeros(0, dtype=bool)
            if unseen.any():
                row = int(unseen.argmax())
                raise DataError(
                    f"{piece.location(row)}: sensitive ({name!r}) must be one of the labels that "
                    f"the survey of the data found, got {labels[codes[row]]!r}; the data changed "
                    "while they were read"
                )
        lookup = [
            known.get(label, -1) if self.fixed else known.setdefault(label, len(known))
            for label in labels
        ]
        if len(known) > MOST_LABELS:
            raise DataError(
                f"{piece.location(0)}: sensitive ({name!r}) must be a category, got more than "
                f"{MOST_LABELS:,} different values; name a column of groups"
            )
        found: np.ndarray = np.array([*lookup, -1], dtype=np.int32)[codes]
        return found


@dataclass(frozen=True, eq=False)
class LogColumns:
    """The columns of a log by role, and the labels of its attributes.

    Attributes
    ----------
    query : tuple of str
        The columns whose values together name the list; empty if all rows are one list.
    roles : Roles
        The columns of the other roles.
    rules : LabelRules or None
        How labels of attributes are cleaned; None: they are used as they are.
    missing_relevance : {"error", "irrelevant"}
        As in `as_ranking_data`.
    labels : mapping of str to RawLabels
        The labels of each attribute.
    id : str or None
        The column of people's ids.
    paired : bool
        Whether the rows are those of two tables, which the column `SIDE` tells apart.
    """

    query: tuple[str, ...]
    roles: Roles
    rules: LabelRules | None = None
    missing_relevance: str = "error"
    labels: Mapping[str, RawLabels] = field(default_factory=dict)
    id: str | None = None
    paired: bool = False

    @property
    def needed(self) -> list[str]:
        """The names of all columns that are read, without `SIDE`."""
        ids = [] if self.id is None else [self.id]
        return list(dict.fromkeys([*self.query, *self.roles.needed, *ids]))

    @property
    def surveyed(self) -> list[str]:
        """The names of the columns of a survey: lists, attributes and relevance.

        That of two tables has positions, too, which state how many people a list shows.
        """
        some = [name for role, name in self.roles.single.items() if self._is_surveyed(role)]
        return list(dict.fromkeys([*self.query, *self.roles.sensitive, *some]))

    def _is_surveyed(self, role: str) -> bool:
        return role == "relevance" or (self.paired and role == "position")

    def pair(self, where: str, names: Sequence[str]) -> "LogColumns":
        """Return the columns of two tables, of which the second has these columns.

        It needs no columns of decisions.
        """
        if self.id is None:
            raise DataError("id must name the column of people's ids beside against")
        named = [*(("query", name) for name in self.query), *self.roles.single.items()]
        named += [*(("sensitive", name) for name in self.roles.sensitive), ("id", self.id)]
        named += [("features", name) for name in self.roles.features]
        for role, name in named:
            existing_column(where, names, role, name)
        return replace(self, paired=True)

    def check_kinds(self, texts: Mapping[Any, bool], others: Mapping[Any, bool]) -> None:
        """Raise if lists or ids are texts in one table and numbers in the other."""
        for role, name in [*(("query", name) for name in self.query), ("id", self.id)]:
            if name is not None and texts[name] != others[name]:
                raise other_kind(role, name, texts[name])

    def record(self) -> dict[str, tuple[str, str]]:
        """Return the column of each role, and why it was chosen, for `Source`."""
        why = self.roles.guessed.get("query", "named")
        found = {"query" if at == 0 else f"query {at + 1}": n for at, n in enumerate(self.query)}
        lists = {role: (name, why) for role, name in found.items()}
        ids = {} if self.id is None else {"id": (self.id, "named")}
        return lists | self.roles.record() | ids

    def fixed(self, labels: Mapping[str, Sequence[Any]]) -> "LogColumns":
        """Return the columns with known labels; others are errors."""
        return replace(self, labels={name: RawLabels(each, True) for name, each in labels.items()})

    def open(self) -> "LogColumns":
        """Return the columns without known labels."""
        return replace(self, labels={name: RawLabels() for name in self.roles.sensitive})

    def checked(self, piece: LogPiece, *, survey: bool = False) -> Any:
        """Return the rows of a piece in one form, or raise for the first bad row.

        The record batch has the columns ``q0``, ``q1``, ... (parts of the list label: int64 or
        text), ``score``, ``position``, ``relevance``, ``against_score``, ``cost``, ``g0``, ``g1``,
        ... (codes of `labels`), ``x0``, ... (features) and ``o0``, ... (outcomes as they are). A
        survey has lists, groups and relevance only. Rows of two tables have ``id`` (int64 or text)
        and `SIDE`, and their survey has positions.
        """
        arrow = require("pyarrow", "data")
        columns: dict[str, Any] = {}
        for at, name in enumerate(self.query):
            columns[f"q{at}"] = _list_labels(piece, name)
        if self.id is not None and not survey:
            columns["id"] = _list_labels(piece, self.id, "id")
        if SIDE in piece.batch.schema.names:
            columns[SIDE] = piece.batch.column(SIDE).cast("int8")
        for role, name in self.roles.single.items():
            if not survey or self._is_surveyed(role):
                columns[role] = self._numbers(piece, role, name)
        for at, name in enumerate(self.roles.sensitive):
            columns[f"g{at}"] = self.labels[name].codes(name, piece)
        for at, name in enumerate(() if survey else self.roles.features):
            columns[f"x{at}"] = self._numbers(piece, "features", name)
        for at, name in enumerate(() if survey else self.roles.outcomes):
            known = name in piece.batch.schema.names  # the second of two tables may lack it
            columns[f"o{at}"] = piece.batch.column(name) if known else arrow.nulls(piece.n_rows)
        arrays = [arrow.array(values) for values in columns.values()]
        if not arrays:
            arrays, columns = [arrow.nulls(piece.n_rows)], {"rows": None}
        return arrow.RecordBatch.from_arrays(arrays, names=list(columns))

    def _numbers(self, piece: LogPiece, role: str, name: str) -> np.ndarray:
        """Return a column of numbers, each present and in the range of its role."""
        kind = role
        if role == "against_score":
            kind = "position" if "position" in self.roles.single else "score"
        elif role == "features":
            kind = "score"
        try:
            values = piece.numbers(name)
        except CellError as error:
            raise DataError(
                f"{piece.location(error.row)}: {role} ({name!r}) must be a number, got {error.got}"
            ) from None
        if len(values) and _surely(role, values.min(), values.max()):
            return values.astype(np.float64, copy=False)
        missing = np.isnan(values)
        if missing.any():
            if role != "relevance" or self.missing_relevance == "error":
                hint = '; missing_relevance="irrelevant" makes it 0' if role == "relevance" else ""
                where = piece.location(int(missing.argmax()))
                raise DataError(f"{where}: {role} ({name!r}) must not be missing{hint}")
            values = np.where(missing, 0.0, values)
        bad = out_of_range(kind, values)
        if bad is not None:
            raise DataError(
                f"{piece.location(bad)}: {role} ({name!r}) {expected(kind, values[bad])}"
            )
        return values.astype(np.int32 if kind == "position" else np.float64, copy=False)

    def scores(self, piece: LogPiece) -> np.ndarray:
        """Return the scores of a piece, or raise for the first bad row."""
        return self._numbers(piece, "score", self.roles.single["score"])


def _surely(role: str, least: float, most: float) -> bool:
    """Return whether numbers with these ends are present and in the range of their role.

    One that is missing makes the ends NaN.
    """
    return (role == "score" and -np.inf < least <= most < np.inf) or (
        role == "relevance" and 0.0 <= least <= most < np.inf
    )


def other_kind(role: str, name: str, text: bool) -> DataError:
    """Return the error about a column whose kind differs between two tables."""
    words = ("text", "whole numbers") if text else ("whole numbers", "text")
    return DataError(f"{role} ({name!r}) of against must be {words[0]} as in data, got {words[1]}")


def _list_labels(piece: LogPiece, name: str, role: str = "query") -> Any:
    """Return a part of the list label of each row, or its id, as int64 or text."""
    compute = require("pyarrow.compute", "data")
    types = require("pyarrow.types", "data")
    column = piece.batch.column(name)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    may_miss = column.null_count > 0 or types.is_floating(kind)
    missing = column.is_null(nan_is_null=True) if may_miss else None
    if may_miss and compute.any(missing).as_py():
        row = compute.index(missing, True).as_py()
        raise DataError(f"{piece.location(row)}: {role} ({name!r}) must not be missing")
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast("large_string")
    if types.is_floating(kind):
        values = column.to_numpy(zero_copy_only=False)
        bad = (values != np.floor(values)) | (np.abs(values) >= 2.0**63)
        if bad.any():
            row = int(bad.argmax())
            raise DataError(
                f"{piece.location(row)}: {role} ({name!r}) must be a whole number or text, got "
                f"{values[row]:g}"
            )
        return column.cast("int64")
    if types.is_integer(kind):
        if types.is_uint64(kind) and len(column) and compute.max(column).as_py() >= 2**63:
            row = int((column.to_numpy() >= 2**63).argmax())
            raise DataError(
                f"{piece.location(row)}: {role} ({name!r}) must be below 2**63, got "
                f"{column[row].as_py()}"
            )
        return column.cast("int64")
    if types.is_temporal(kind) or types.is_boolean(kind):
        return column.cast("large_string")
    raise DataError(
        f"{piece.location(0)}: {role} ({name!r}) must be a whole number or text, got the type "
        f"{kind}"
    )


def columns_of(
    where: str,
    names: Sequence[str],
    *,
    query: Any,
    sensitive: Any,
    outcomes: Sequence[str] = (),
    cost: Any = False,
    features: Sequence[str] = (),
    rules: LabelRules | None = None,
    missing_relevance: str = "error",
    id: str | None = None,
    **single: Any,
) -> LogColumns:
    """Return the column of each role: those named, else those recognised as in `read_csv`.

    ``query`` may name several columns, which together name the list.
    """
    several: tuple[str, ...] = ()
    if query is not None and query is not False and not isinstance(query, str):
        several = tuple(existing_column(where, names, "query", name) for name in query)
        if len(set(several)) < len(several) or not several:
            raise DataError(f"query must name each column once and at least one, got {query!r}")
    roles = assign(
        where,
        names,
        query=False if several else query,
        sensitive=sensitive,
        features=list(features),
        outcomes=list(outcomes),
        cost=cost,
        id=False if id is None else id,
        **single,
    )
    for name in several:
        if name in roles.needed:
            raise DataError(f"{where}: column {name!r} must have one role, got several")
    found = dict(roles.single)
    alone, ids = found.pop("query", None), found.pop("ids", None)
    return LogColumns(
        several or (() if alone is None else (alone,)),
        replace(roles, single=found),
        rules,
        missing_relevance,
        {name: RawLabels() for name in roles.sensitive},
        ids,
    )
