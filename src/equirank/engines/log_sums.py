"""Sums of a log: survey, plan, and the lists measured block by block in threads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from ..core.attribute import Attribute
from ..core.data import RankingData, counted_anew
from ..core.environment import in_threads, progress, require
from ..core.errors import DataError
from ..core.group_columns import check_split
from ..core.inputs import frozen, frozen_matrix
from ..core.list_samples import MOST_LISTS, ListSample
from ..core.list_sums import ListSums
from ..core.metric import GroupMetric, Metric
from ..core.named_groups import named_groups
from ..core.outcomes import outcome_numbers, where
from ..core.paired_rankings import OTHER_LISTS, check_ids
from ..core.per_list import PerList
from ..core.ranking import Ranking
from ..core.recurrence import Recurrence
from ..core.summed_lists import Before, sum_lists
from ..core.sums_plan import SumsPlan, Survey
from .arrow_stream import ArrowStream
from .given_ranking import ordered
from .log_columns import SIDE, LogColumns, LogPiece, other_kind
from .log_survey import Groups, LogSurvey, MedianSearch
from .spill import Spill
from .whole_lists import (
    MAX_LIST_ROWS,
    ListBlock,
    ScatteredLists,
    label_of,
    row_keys,
    sorted_rows,
    whole_lists,
)

__all__ = [
    "MEMORY",
    "LogMeasure",
    "LogOptions",
    "before_of_scores",
    "in_canonical_order",
    "read_ahead",
    "refuse_stable",
    "sum_stream",
]


#: Most rows of a block, and bytes that a row needs while it is measured, beside its labels.
BLOCK_ROWS, ROW_BYTES = 1 << 18, 400
#: Rows whose size is taken for that of all rows.
FIRST_ROWS = 1 << 12
#: Bytes of rows that are held at once, unless the caller says otherwise.
MEMORY = 1 << 30


@dataclass(frozen=True, eq=False)
class LogOptions:
    """How a log is measured.

    Attributes
    ----------
    plan : mapping
        Arguments of `SumsPlan.of`.
    like : ListSums or None
        Sums whose plan is taken over.
    memory : int
        Bytes of rows that are held at once.
    max_list_rows : int
        Most rows of a list.
    max_groups : int or None
        Most groups of an attribute.
    n_jobs : int
        Number of threads.
    protected : str, sequence of str or mapping, optional
        Groups that further metrics compare with everyone else.
    per_list : PerList, optional
        Receives the values of every list.
    row_bytes : float
        Bytes of a row before it is measured.
    """

    plan: Mapping[str, Any] = field(default_factory=dict)
    like: ListSums | None = None
    memory: int = MEMORY
    max_list_rows: int = MAX_LIST_ROWS
    max_groups: int | None = None
    n_jobs: int = 1
    protected: Any = None
    per_list: PerList | None = None
    row_bytes: float = 0.0

    @property
    def scored(self) -> bool:
        """Whether the median score must be known before lists are measured."""
        return self.like is None and bool(self.plan.get("scored"))

    @property
    def rows(self) -> int:
        """Number of rows of a block."""
        # labels are copied while lists are brought together
        most = self.memory / ((ROW_BYTES + 2 * self.row_bytes) * (self.n_jobs + 1))
        return int(min(BLOCK_ROWS, max(FIRST_ROWS, most)))

    def fitted(self, pieces: Iterator[LogPiece]) -> "LogOptions":
        """Return the options for rows that are as large as the first ones."""
        first = next(pieces, None)
        if first is None or not first.n_rows:
            return self
        n_bytes = sum(map(_decoded_bytes, first.batch.columns))
        return replace(self, row_bytes=n_bytes / first.n_rows)

    def measure(self, survey: LogSurvey, columns: LogColumns, where: str) -> "LogMeasure":
        """Return how the surveyed lists are measured."""
        groups = survey.groups(columns, where, self.max_groups)
        single = columns.roles.single
        known = Survey(
            groups.categories,
            survey.lengths,
            survey.grades if "relevance" in single else None,
            "score" in single,
            "position" in single,
            survey.median_score,
        )
        fixed = columns.fixed(survey.labels)
        plan = self.plan_of(known, where)
        others, refused, grade = None, "", 0.0
        if survey.other is not None:
            if not survey.shared:
                raise DataError("against must share at least one list with data, got none")
            others = survey.other.groups(columns, f"{where}, against", self.max_groups)
            refused = "" if survey.same_lists else OTHER_LISTS
            grade = self.grade_of_other(max(survey.other.grades, default=0.0))
            cut = self.compared_cut(survey.cut, where)
            plan = plan.unchanged if refused else replace(plan, changed=True, cut=cut)
        return LogMeasure(
            fixed, groups, plan, self.rows, self.max_list_rows, self.per_list, others, refused,
            grade,
        )  # fmt: skip

    def grade_of_other(self, grade: float) -> float:
        """Return the largest grade by which another ranking is measured.

        It is its own, beside earlier sums at least theirs, so that days without it add up.
        """
        return grade if self.like is None else max(grade, self.like.plan.max_grade)

    def compared_cut(self, cut: int | None, where: str) -> int | None:
        """Return the number of positions that are compared with another ranking; None for all.

        ``cut`` is the number of people that lists show. That of earlier sums is kept.
        """
        if self.like is None or not self.like.plan.changed or cut == self.like.plan.cut:
            return cut
        wanted = self.like.plan.cut
        if cut is not None:
            raise DataError(
                f"{where}: must show at most {wanted or 'all'} people of a list, as the sums that "
                f"like names, got {cut}"
            )
        return wanted

    def plan_of(self, known: Survey, where: str) -> SumsPlan:
        """Return the plan of surveyed data, or that of earlier sums with the groups of both."""
        if self.like is None:
            metrics = _bound(self.plan["metrics"], self.protected, known.groups)
            return check_split(SumsPlan.of(known, **dict(self.plan) | {"metrics": metrics}))
        plan = self.like.plan
        given = {
            "relevance": (plan.relevance, known.grades is not None),
            "score": (plan.score, known.score),
            "position": (plan.position, known.position),
        }
        for name, (wanted, found) in given.items():
            if wanted != found:
                raise DataError(
                    f"{where}: must have the columns of the sums that like names, and {name} "
                    f"differs: {wanted!r} and {found!r}"
                )
        # earlier sums that claim no change can be added to those that do
        changed = plan.changed or bool(self.plan.get("changed"))
        return replace(plan.extended(known), changed=changed)


def _decoded_bytes(column: Any) -> int:
    """Return the bytes of a column, each row with a label of its own."""
    coded = hasattr(column, "dictionary_decode")
    return int((column.dictionary_decode() if coded else column).nbytes)


def _bound(
    metrics: Iterable[Metric], protected: Any, groups: Mapping[str, tuple[Any, ...]]
) -> list[Metric]:
    """Return metrics, those of groups bound to each attribute and its protected groups."""
    known = {name: Attribute(np.zeros(0, np.int32), labels) for name, labels in groups.items()}
    named: dict[str, list[Any]] = {}
    for name, group in named_groups(protected, known):
        if name in known:
            code = known[name].code(group, f"protected of {name!r}")
            named.setdefault(name, []).append(known[name].categories[code])
    found: list[Metric] = []
    for metric in metrics:
        if not isinstance(metric, GroupMetric) or metric.by is not None:
            found.append(metric)
            continue
        for name in groups:
            own = named.get(name, [None]) if metric.protected is None else [metric.protected]
            found += [replace(metric, by=name, protected=group) for group in own]
    return found


@dataclass(frozen=True, eq=False)
class LogMeasure:
    """How blocks of whole lists are measured; processes of an engine receive a copy.

    Attributes
    ----------
    columns : LogColumns
        The columns, with known labels.
    groups : Groups
        The group of each label.
    plan : SumsPlan
        What is measured.
    rows : int
        Rows of a block.
    max_list_rows : int
        Most rows of a list.
    per_list : PerList, optional
        Receives the values of every list.
    others : Groups or None
        The group of each label in the second of two tables; None if there is one table.
    refused : str
        Why no change of people between two tables is claimed, as far as the survey found.
    max_grade : float
        The largest relevance of the second of two tables.
    """

    columns: LogColumns
    groups: Groups
    plan: SumsPlan
    rows: int
    max_list_rows: int
    per_list: PerList | None = None
    others: Groups | None = None
    refused: str = ""
    max_grade: float = 0.0

    def data(self, block: ListBlock, groups: Groups | None = None) -> RankingData:
        """Return a block as data with the groups of the survey, or of that of a second table."""
        rows, roles = block.rows, self.columns.roles
        groups = self.groups if groups is None else groups
        names = rows.schema.names

        def numbers(name: str) -> np.ndarray | None:
            return frozen(rows.column(name).to_numpy()) if name in names else None

        position = numbers("position")
        features = [rows.column(f"x{at}").to_numpy() for at in range(len(roles.features))]
        return RankingData(
            frozen_matrix(np.stack(features, axis=1)) if features else None,
            numbers("relevance"),
            frozen(block.offsets),
            self._labels(block),
            {
                name: Attribute(
                    frozen(groups.lookup[name][rows.column(f"g{at}").to_numpy()]),
                    groups.categories[name],
                )
                for at, name in enumerate(roles.sensitive)
            },
            cost=numbers("cost"),
            ids=frozen(rows.column("id").to_numpy(zero_copy_only=False)) if "id" in names else None,
            score=numbers("score"),
            position=None if position is None else counted_anew(position, block.offsets),
            feature_names=roles.features or None,
            max_grade=self.plan.max_grade if groups is self.groups else self.max_grade,
            outcomes={
                name: frozen(rows.column(f"o{at}").to_numpy(zero_copy_only=False))
                for at, name in enumerate(roles.outcomes)
            },
        )

    def _labels(self, block: ListBlock) -> np.ndarray:
        """Return the label of each list."""
        several = self.columns.query
        if not several:
            return np.array([0])
        arrow = require("pyarrow", "data")
        starts = arrow.array(block.offsets[:-1])
        parts = [
            block.rows.column(f"q{at}").take(starts).to_numpy(zero_copy_only=False)
            for at in range(len(several))
        ]
        if len(parts) == 1:
            return frozen(parts[0])
        labels = np.empty(block.n_lists, dtype=object)
        labels[:] = list(zip(*(part.tolist() for part in parts), strict=True))
        return frozen(labels)

    def sums(self, block: ListBlock, most_key: np.uint64 | None = None) -> ListSums | None:
        """Return the sums of a block, keeping no lists with a key above ``most_key``.

        None if only the second of two tables has its lists.
        """
        try:
            if self.others is not None:
                try:
                    found = self._paired_sums(_with_numbers(block), self.others, most_key)
                except DataError:  # the message names the id itself
                    found = self._paired_sums(block, self.others, most_key)
                return None if found is None else replace(found, recurrence=_first_people(block))
            ranking = ordered(self.data(block), self.plan.ties, self.plan.rule)
            before = None
            if self.plan.changed:
                scores = block.rows.column("against_score").to_numpy()
                if self.plan.position:
                    scores = counted_anew(scores, block.offsets)
                before = before_of_scores(ranking, scores, self.plan)
            return sum_lists(ranking, self.plan, self.per_list, before, most_key)
        except DataError as error:
            first, last = label_of(block, 0), label_of(block, block.n_lists - 1)
            raise DataError(f"lists {first!r} to {last!r}: {error}") from None

    def _paired_sums(
        self, block: ListBlock, others: Groups, most_key: np.uint64 | None
    ) -> ListSums | None:
        """Return the sums of the lists of the first of two tables, compared with the second."""
        first, second, counts = block.sides(SIDE)
        data = self.data(first) if first.n_lists else None
        other = self.data(second, others) if second.n_lists else None
        if self.refused:
            for each in (data, other):
                if each is not None:
                    check_ids(each, second=each is other)
        if data is None:
            return None
        ranking = ordered(data, self.plan.ties, self.plan.rule)
        if other is not None and not self.refused:
            theirs = ordered(other, self.plan.ties, self.plan.rule)
            before, plan = Before.paired(ranking, theirs, self.plan, (self.plan.cut,))
            return sum_lists(ranking, plan, self.per_list, before, most_key)
        shared = np.flatnonzero(counts[counts[:, 1] > 0, 0])
        some = None
        if other is not None and len(shared):
            some = ordered(other.select(shared), self.plan.ties, self.plan.rule)
        plan, refused = self.plan.unchanged, self.refused or OTHER_LISTS
        before = Before.of(data, some, plan, refused=refused)
        return sum_lists(ranking, plan, self.per_list, before, most_key)

    def of_rows(self, batches: Iterable[Any], n_jobs: int = 1) -> Iterator[ListSums]:
        """Yield the sums of consecutive checked rows, whose lists are contiguous.

        Together they keep the lists with the smallest keys.
        """
        blocks = whole_lists(batches, rows=self.rows, max_list_rows=self.max_list_rows)
        smallest = _SmallestKeys()
        try:
            for part in in_threads(lambda block: self.sums(block, smallest.most), blocks, n_jobs):
                if part is not None:
                    smallest.add(part.kept.keys)
                    yield part
        except ScatteredLists:
            raise DataError(
                "the rows of each list must be adjacent after the survey, and a list returned; the "
                "data changed while they were read, or were sorted by another rule"
            ) from None

    def of_pieces(self, pieces: Iterable[LogPiece], n_jobs: int = 1) -> Iterator[ListSums]:
        """Yield the sums of consecutive pieces of a log, whose lists are contiguous."""
        yield from self.of_rows(in_threads(self.columns.checked, pieces, n_jobs), n_jobs)

    def of_scattered(self, piece: LogPiece) -> ListSums | None:
        """Return the sums of the whole lists of a piece, whose rows are in any order.

        None if only the second of two tables has these lists.
        """
        rows = sorted_rows(self.columns.checked(piece))
        parts = self.of_rows(_sliced(rows, self.rows))
        first = next(parts, None)
        return None if first is None else ListSums.total(chain([first], parts))


def _with_numbers(block: ListBlock) -> ListBlock:
    """Return a block with numbers in place of ids that are texts, which are quicker to compare."""
    at, ids = block.rows.schema.get_field_index("id"), block.rows.column("id")
    if ids.type == "int64":
        return block
    codes = ids.dictionary_encode().indices.cast("int64")
    return replace(block, rows=block.rows.set_column(at, "id", codes))


def _first_people(block: ListBlock) -> Recurrence:
    """Return the people of the first of two tables."""
    ids = block.rows.column("id").to_numpy(zero_copy_only=False)
    return Recurrence.of(ids[block.rows.column(SIDE).to_numpy() == 0])


class _SmallestKeys:
    """The smallest keys of the lists so far: a list above all of them is not kept in the end."""

    def __init__(self) -> None:
        self.keys = np.zeros(0, dtype=np.uint64)
        self.most: np.uint64 | None = None

    def add(self, keys: np.ndarray) -> None:
        """Add the keys of the lists that a part keeps."""
        self.keys = np.sort(np.concatenate([self.keys, keys]))[:MOST_LISTS]
        if len(self.keys) == MOST_LISTS:
            self.most = self.keys[-1]


def before_of_scores(ranking: Ranking, scores: Any, plan: SumsPlan) -> Before:
    """Return another ranking of the same rows, by its scores or positions.

    Parameters
    ----------
    ranking : Ranking
        The first ranking; the numbers are positions if its data have positions.
    scores : str or ndarray
        An outcome of the data, or one number per row in the caller's order.
    plan : SumsPlan
        What is measured.
    """
    data = ranking.data
    given = data
    if isinstance(scores, str):
        scores = outcome_numbers("against_score", data, scores)
        missing = np.isnan(scores)
        if missing.any():
            place = where(data, int(missing.argmax()))
            raise DataError(f"against_score must not be missing, got a blank {place}")
        given = replace(data, rows=None)  # outcomes are in the order of the stored rows
    if data.position is not None:
        other = Ranking.from_positions(given, scores)
    else:
        other = Ranking.from_scores(given, scores, ties=plan.ties)
    if (ranking.position == 0).any() or (other.position == 0).any():
        raise DataError("against_score must be omitted for rankings that do not show everyone")
    before = Ranking(data, other.position, other.last)
    return Before.of(data, before, plan, before)


def refuse_stable(options: LogOptions, what: str) -> None:
    """Raise if the order of rows should break ties, where rows have no order."""
    ties = options.plan.get("ties") if options.like is None else options.like.plan.ties
    if ties == "stable":
        raise DataError(
            f'ties must be "average" for {what}, whose rows have no order, got "stable"'
        )


def in_canonical_order(sums: ListSums) -> ListSums:
    """Return sums whose sampled lists have their rows in an order that no engine changes.

    The order of rows is kept if it breaks ties.
    """
    if sums.plan.ties == "stable":
        return sums
    names = ("kept", "rare", "moved")
    samples: dict[str, Any] = {name: _canonical(getattr(sums, name)) for name in names}
    return replace(sums, **samples)


def _canonical(sample: ListSample) -> ListSample:
    """Return a sample with the rows of each list sorted by their contents, best first.

    Positions in another ranking decide last, so that the order stays if they are left out.
    """
    keys = [v for name, v in sorted(sample.columns.items()) if name.startswith("before")]
    keys += list(sample.codes.T)
    for name, values in sorted(sample.columns.items()):
        if name.startswith("before"):
            continue
        if values.dtype.kind in "OU":
            keys.append(np.unique(values.astype(str), return_inverse=True)[1])
        else:
            keys.append(values if name == "position" else -values.astype(np.float64))
    order = np.lexsort((*keys, np.repeat(np.arange(sample.n_lists), sample.sizes)))
    columns = {name: values[order] for name, values in sample.columns.items()}
    return replace(sample, codes=sample.codes[order], columns=columns)


def read_ahead(pieces: Iterator[LogPiece]) -> Iterator[LogPiece]:
    """Yield pieces while another thread reads the next one."""
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[LogPiece | None] = pool.submit(next, pieces, None)
        while (piece := waiting.result()) is not None:
            waiting = pool.submit(next, pieces, None)
            yield piece


def sum_stream(
    stream: ArrowStream, columns: LogColumns, options: LogOptions
) -> tuple[ListSums, LogMeasure]:
    """Return the sums of a stream, and how it was measured.

    Lists that are scattered over the stream are sorted on disk, and so are those of two tables.
    """
    if stream.again:
        options = options.fitted(_read(stream, columns.needed, FIRST_ROWS))
    if columns.paired or not stream.again:
        return _spilled(stream, columns, options)
    columns = columns.open()
    survey = LogSurvey()
    try:
        pieces = _watched(stream, columns.surveyed, options, "Surveying")
        checked = (columns.checked(piece, survey=True) for piece in pieces)
        _add_blocks(survey, checked, columns, options)
    except ScatteredLists:
        return _spilled(stream, columns, options)
    if options.scored and "score" in columns.roles.single:
        names = [columns.roles.single["score"]]
        search = MedianSearch(survey.n_rows)
        while not search.done:
            pieces = _watched(stream, names, options, "Median score")
            search.narrow(sum(search.count(columns.scores(piece)) for piece in pieces))
        survey.median_score = search.median
    measure = options.measure(survey, columns, stream.name)
    pieces = _watched(stream, columns.needed, options, "Measuring")
    total = ListSums.total(measure.of_pieces(pieces, options.n_jobs))
    stream.check_unchanged()
    return survey.checked(total, stream.name), measure


def _read(stream: ArrowStream, names: Sequence[str], rows: int) -> Iterator[LogPiece]:
    """Yield the pieces of a stream; if a file is damaged because it changed, say so."""
    try:
        yield from stream.read(names, rows)
    except DataError:
        stream.check_unchanged()
        raise


def _watched(
    stream: ArrowStream, names: Sequence[str], options: LogOptions, word: str
) -> Iterator[LogPiece]:
    """Yield the pieces of a stream beside a progress bar; with several threads, one reads ahead."""
    pieces = _read(stream, names, options.rows)
    if options.n_jobs > 1:
        pieces = read_ahead(pieces)
    return progress(pieces, word, stream.n_rows, rows=lambda piece: piece.n_rows)


def _add_blocks(
    survey: LogSurvey, batches: Iterable[Any], columns: LogColumns, options: LogOptions
) -> None:
    blocks = whole_lists(batches, rows=options.rows, max_list_rows=options.max_list_rows)
    n_attributes = len(columns.roles.sensitive)
    for part in in_threads(lambda block: LogSurvey.of(block, n_attributes), blocks, options.n_jobs):
        survey.add(part)
    survey.labels = {name: list(labels.code) for name, labels in columns.labels.items()}
    if survey.other is not None:
        survey.other.labels = survey.labels


def _sliced(rows: Any, size: int) -> Iterator[Any]:
    for begin in range(0, rows.num_rows, size):
        yield rows.slice(begin, size)


def _first_scores(rows: Any) -> np.ndarray:
    """Return the scores of checked rows, of the first table if there are two."""
    scores: np.ndarray = rows.column("score").to_numpy()
    if SIDE not in rows.schema.names:
        return scores
    return scores[rows.column(SIDE).to_numpy() == 0]


def _conforming(batches: Iterable[Any], columns: LogColumns) -> Iterator[Any]:
    """Yield checked rows of two tables with the types of the first.

    Decisions of the second table are left out: it needs none.
    """
    arrow = require("pyarrow", "data")
    names = {f"q{at}": ("query", name) for at, name in enumerate(columns.query)}
    names["id"] = "id", str(columns.id)
    decisions = {f"o{at}" for at in range(len(columns.roles.outcomes))}
    schema: Any = None
    for rows in batches:
        schema = rows.schema if schema is None else schema
        second = rows.num_rows > 0 and rows.column(SIDE)[0].as_py() == 1
        arrays = []
        for wanted, column in zip(schema, rows.columns, strict=True):
            if column.type != wanted.type and wanted.name in names:
                raise other_kind(*names[wanted.name], wanted.type != "int64")
            left_out = second and wanted.name in decisions
            arrays.append(arrow.nulls(rows.num_rows, wanted.type) if left_out else column)
        yield arrow.RecordBatch.from_arrays(arrays, schema=schema)


def _spilled(
    stream: ArrowStream, columns: LogColumns, options: LogOptions
) -> tuple[ListSums, LogMeasure]:
    """Return the sums of a stream whose rows are sorted by list in temporary files."""
    columns = columns.open()
    with Spill(options.memory, row_keys) as files:

        def watched(word: str) -> Iterator[Any]:
            rows = files.n_rows
            return progress(files.parts(), word, rows, rows=lambda part: part.num_rows)

        pieces = _watched(stream, columns.needed, options, "Sorting")
        checked = (columns.checked(piece) for piece in pieces)
        files.write(_conforming(checked, columns) if columns.paired else checked, stream.n_rows)
        stream.check_unchanged()
        options = replace(options, row_bytes=files.n_bytes / max(1, files.n_rows))
        survey = LogSurvey()
        for part in watched("Surveying"):
            _add_blocks(survey, _sliced(part, options.rows), columns, options)
        if options.scored and "score" in columns.roles.single:
            search = MedianSearch(survey.n_rows)
            while not search.done:
                parts = watched("Median score")
                search.narrow(sum(search.count(_first_scores(part)) for part in parts))
            survey.median_score = search.median
        measure = options.measure(survey, columns, stream.name)
        total = ListSums.total(
            sums
            for part in watched("Measuring")
            for sums in measure.of_rows(_sliced(part, options.rows), options.n_jobs)
        )
    return survey.checked(total, stream.name), measure
