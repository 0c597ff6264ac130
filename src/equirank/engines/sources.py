"""list_sums: per-list sums of data of any kind: in memory, files, DuckDB, Dask and Spark."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Annotated, Any, Literal, Unpack

from ..core.data import RankingData
from ..core.environment import available_threads
from ..core.errors import DataError
from ..core.inputs import choose
from ..core.keywords import Default, chosen_keywords, shared_keywords
from ..core.list_sums import ListSums
from ..core.outcomes import DecisionRule
from ..core.paired_rankings import shown_cut
from ..core.params import Constraint, Integer, Optional, check_params
from ..core.per_list import opened_per_list
from ..core.random import as_seed
from ..core.ranking import Ranking
from ..core.registry import parse_metrics
from ..core.source import Source
from ..core.summed_lists import Before, sum_data
from ..core.sums_plan import SumsPlan, Survey
from ..io.column_roles import Roles
from ..io.file_options import FileOptions
from ..io.files import file_digest
from .arrow_stream import (
    PARQUET,
    ArrowStream,
    arrow_paths,
    is_arrow_stream,
    open_arrow,
    open_files,
    paired_streams,
)
from .dask_frames import sum_dask
from .dask_tasks import is_dask_frame
from .duckdb_tables import DATABASES, is_relation, opened_database, sum_relation
from .given_ranking import (
    NO_RULE,
    ColumnKeywords,
    CutKeywords,
    DecisionKeywords,
    OrderKeywords,
    ReferenceKeywords,
    as_ranking,
    columns_against,
    data_of_file,
    decision_rule,
)
from .log_columns import LogColumns, columns_of
from .log_sums import MEMORY, LogOptions, before_of_scores, in_canonical_order, sum_stream
from .log_survey import Groups
from .spark_frames import is_spark_frame, sum_spark
from .whole_lists import MAX_LIST_ROWS

__all__ = ["LogRequest", "list_sums", "memory_bytes", "sums_with_sources"]


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}
#: Least memory that rows may have.
LEAST = 16_000_000


def memory_bytes(memory: int | str) -> int:
    """Return a number of bytes, which may be written as ``"500MB"`` or ``"2GiB"``.

    Examples
    --------
    >>> memory_bytes("500MB"), memory_bytes("2 GiB"), memory_bytes(1 << 30)
    (500000000, 2147483648, 1073741824)
    """
    found: int | None = None
    if isinstance(memory, int) and not isinstance(memory, bool):
        found = memory
    elif isinstance(memory, str):
        text = memory.strip().upper().removesuffix("B").strip()
        digits = text.rstrip("KMGI").strip()
        unit = text[len(digits) :].strip()
        if unit in _UNITS and digits.replace(".", "", 1).isdigit():
            found = int(float(digits) * _UNITS[unit])
    if found is None or found < LEAST:
        raise DataError(
            f'memory must be at least 16 MB, written as "500MB" or "2GB", got {memory!r}'
        )
    return found


class SumsKeywords(ColumnKeywords, DecisionKeywords, ReferenceKeywords, OrderKeywords, total=False):
    """What sums over lists are made of, and how they are read.

    Parameters
    ----------
    metrics : metric, string, or a list of them, optional
        Further metrics. With them ``sensitive`` may be omitted: the sums can then be evaluated, but
        not audited.
    by, control : str or sequence of str, optional
        Split the metrics that are sums over items by this attribute, within the groups of the
        second, as in `evaluate`.
    cost : str or array-like, optional
        The column of costs, for metrics that read them.
    features : sequence of str or array-like, optional
        The columns of features, for metrics that read them.
    protected : str, sequence of str or mapping, optional
        Protected groups, such as ``"sex=female"``, if further metrics compare them with everyone
        else. All other sums are those of every group.
    cross : bool
        Whether to sum the intersections of every two attributes.
    scored : bool
        Whether scores are compared, too, as in `audit`.
    against_score : str or array-like, optional
        The column with the scores of another ranking of the same rows (its positions, if positions
        define the order), which the lists are compared with.
    against : optional
        A second source of the kind of ``data`` with the same columns (no decisions are needed),
        whose lists are compared with those of ``data``, as in `audit`: a path or several, a data
        set, a relation of the same connection, a database with the same ``table``, a frame, or data
        in memory. Lists that one source lacks are counted; no common list is an error.
    id : str or array-like, optional
        The column of people's ids, which tell who recurs, and match the people of ``against``
        within a list. Without it every row is taken to be another person.
    random_state : int, Generator, RandomState or None
        Seed of the relabellings.
    like : ListSums, optional
        Earlier sums whose plan (cutoffs, metrics, seed and so on) is used, so that both can be
        added; new groups are allowed.
    table : str, optional
        The table of a DuckDB database, or a query of it; by default its only table.
    memory : int or str
        Bytes of rows that are held at once, such as ``"500MB"``, when files and databases are read.
    max_list_rows : int
        Most rows of one list (of ``data`` and ``against`` together); more are an error, since a
        column that does not tell lists apart is the usual cause.
    missing_relevance : {"error", "irrelevant"}
        As in `as_ranking_data`.
    unknown, labels, keep_labels : optional
        How the labels of files are cleaned, as in `read_csv`. Labels of other data are used as they
        are.
    per_list : path, optional
        A new folder, which receives Parquet files with one row per list: its label, number of rows
        and the value of every metric. Frames of Dask and Spark have none.
    n_jobs : int, optional
        Number of threads; by default one for each core, at most ``OMP_NUM_THREADS``.
    client : distributed.Client, optional
        Where a frame of Dask is computed; by default Dask's current scheduler.
    """

    metrics: Any
    by: Any
    control: Any
    cost: Any
    features: Any
    protected: Any
    cross: Annotated[bool, Default(True)]
    scored: Annotated[bool, Default(False)]
    against_score: Any
    against: Any
    id: Any
    random_state: Annotated[Any, Default(0)]
    like: ListSums | None
    table: str | None
    memory: int | str | None
    max_list_rows: Annotated[int, Default(MAX_LIST_ROWS)]
    missing_relevance: Annotated[Literal["error", "irrelevant"], Default("error")]
    unknown: Sequence[str] | None
    labels: Any
    keep_labels: Annotated[bool, Default(False)]
    per_list: Any
    n_jobs: int | None
    client: Any


@shared_keywords(
    ColumnKeywords, CutKeywords, DecisionKeywords, ReferenceKeywords, OrderKeywords, SumsKeywords
)
def list_sums(data: Any = None, **given: Unpack[SumsKeywords]) -> ListSums:
    """Sum what an audit needs of every list, from data of any kind and size.

    The sums have the size of the plan and not of the data, can be added (``+``), stored
    (`ListSums.save`) and audited (`audit_sums`). They do not depend on the engine or on how rows
    are divided. Ties share the mean of their positions; no rows are an error.

    Parameters
    ----------
    data : RankingData, Ranking, data frame, mapping, path, or a table of an engine
        What to read. In memory: as in `audit`. Files: the path of a Parquet, Arrow, CSV or other
        file that `read_file` takes, a folder or a pattern (``"log/*.parquet"``) of Parquet or Arrow
        files, or a list of them; a pyarrow data set or reader. DuckDB: a relation (a table, a query
        or a file that it reads), or the path of a database (``.duckdb``). Dask and Spark: a frame.
    query : str, sequence of str or array-like, optional
        The column of lists, or several columns, such as user and day. Rows with the same label are
        one list. Recognised as in `read_csv` if omitted; False for one list.
    ties : {"average", "stable"}
        As in `audit`. Engines that do not keep the order of rows refuse ``"stable"``.

    Returns
    -------
    ListSums

    Raises
    ------
    DataError
        For the first bad row, with file and row group or partition; if the data change while they
        are read; if the disk is too full to sort scattered lists.

    Examples
    --------
    >>> import equirank
    >>> from equirank.datasets import load_hiring
    >>> equirank.list_sums(load_hiring())
    ListSums(3213 rows, 60 lists, sex (2 groups), age_group (3 groups))
    """
    return sums_with_sources(data, given)[0]


@dataclass(frozen=True, eq=False)
class LogRequest:
    """What a caller wants of a log: columns, decisions, and how it is read and measured.

    ``read`` has the columns of costs and features, those that are given.
    """

    columns: Mapping[str, Any]
    rule: DecisionRule
    missing_relevance: str
    options: LogOptions
    file: FileOptions = field(default_factory=FileOptions)
    against_score: Any = None
    against: Any = None
    id: Any = None
    read: Mapping[str, Any] = field(default_factory=dict)

    def columns_in(self, where: str, names: Sequence[str], *, cleaned: bool) -> LogColumns:
        """Return the columns of a log by role."""
        given = dict(self.columns)
        given["score"] = self.rule.score_column(given["score"], given["position"])
        given["relevance"] = False if given["relevance"] is None else given["relevance"]
        if not cleaned:
            refuse_label_options(self.file)
        found = columns_of(
            where,
            [str(name) for name in names],
            outcomes=self.rule.columns(),
            against_score=False if self.against_score is None else self.against_score,
            rules=self.file.label_rules if cleaned else None,
            missing_relevance=self.missing_relevance,
            id=self.id,
            **self.read,
            **given,
        )
        ordered = "score" in found.roles.single or "position" in found.roles.single
        if not ordered and not self.rule.recorded:
            raise DataError("score or position must be given to define the order, got neither")
        if not ordered and self.against is not None:
            raise DataError("against must be None for data without score or position")
        check_attributes(found.roles.sensitive, self.options)
        self._check_needs(where, found.roles)
        return found

    def _check_needs(self, where: str, roles: Roles) -> None:
        """Raise before rows are read if a metric needs a column that is not named."""
        several = {"sensitive": roles.sensitive, "features": roles.features}
        known = {*roles.single, *(role for role, names in several.items() if names)}
        for metric in self.options.plan.get("metrics", ()):
            for need in sorted(metric.needs - known):
                raise DataError(f"{where}: {need} must name a column, which {metric} needs")

    def against_of(self, kind: str, known: Callable[[Any], bool]) -> Any:
        """Return the second source, or raise if it is of another kind than the first."""
        if self.against is not None and not known(self.against):
            raise DataError(
                f"against must be of the kind of data ({kind}), got {type(self.against).__name__}"
            )
        return self.against


def check_attributes(names: Collection[str], options: LogOptions) -> None:
    """Raise if there are neither attributes nor metrics to be measured."""
    wanted = options.like.plan.metrics if options.like is not None else options.plan["metrics"]
    if not names and not wanted:
        raise DataError(
            "sensitive must name at least one attribute if there are no metrics, got none"
        )


def sums_with_sources(data: Any, given: Mapping[str, Any]) -> tuple[ListSums, list[Source]]:
    """Return the sums of data, and the records of the files that were read: of data and against.

    ``given`` contains arguments of `list_sums`.
    """
    given = DEFAULTS | dict(given)
    outcomes, request = _request(data, given)
    where = {name: given[name] for name in ("table", "client", "memory")}
    if given["per_list"] is not None and (is_dask_frame(data) or is_spark_frame(data)):
        raise DataError("per_list must be omitted for frames of Dask and Spark")
    with opened_per_list(given["per_list"]) as per_list:
        request = replace(request, options=replace(request.options, per_list=per_list))
        sums, sources = _opened(data, request, where, outcomes)
    return in_canonical_order(sums), sources


def _opened(
    data: Any, request: LogRequest, where: Mapping[str, Any], outcomes: Any
) -> tuple[ListSums, list[Source]]:
    """Return the sums of data by the engine of their kind."""
    options = request.options
    if is_dask_frame(data):
        _refuse_where(where, "client")
        other = request.against_of("a frame of Dask", is_dask_frame)
        columns = _columns_of(request, "data", data, other)
        return sum_dask(data, columns, options, where["client"], other), []
    _refuse_where(where, "memory", "table")
    if isinstance(data, (str, os.PathLike)) and _is_database(data):
        return _of_database(data, request, where["table"]), []
    _refuse_where(where, "memory")
    if is_relation(data):
        other = request.against_of("a relation of DuckDB", is_relation)
        columns = _columns_of(request, "data", data, other)
        return sum_relation(data, columns, options, "data", other), []
    if is_spark_frame(data):
        other = request.against_of("a frame of Spark", is_spark_frame)
        columns = _columns_of(request, "data", data, other)
        return sum_spark(data, columns, options, other), []
    if _is_paths(data):
        return _of_files(data, request)
    if is_arrow_stream(data):
        stream = open_arrow(data)
        other = request.against_of("a data set or reader of Arrow", is_arrow_stream)
        second = None if other is None else open_arrow(other)
        columns = _columns_of(request, stream.name, stream, second)
        stream = stream if second is None else paired_streams(stream, second)
        return sum_stream(stream, columns, options)[0], []
    return _of_memory(data, request, where, outcomes), []


def _columns_of(
    request: LogRequest, where: str, data: Any, against: Any, cleaned: bool = False
) -> LogColumns:
    """Return the columns by role of what has ``columns``, beside a second one or None."""
    columns = request.columns_in(where, data.columns, cleaned=cleaned)
    if against is None:
        return columns
    name = getattr(against, "name", "against") if isinstance(data, ArrowStream) else "against"
    return columns.pair(name, [str(each) for each in against.columns])


def _of_database(data: Any, request: LogRequest, table: str | None) -> ListSums:
    """Return the sums of a table of a database, and of that of the same name in another."""
    other = request.against_of(
        "a database", lambda each: isinstance(each, (str, os.PathLike)) and _is_database(each)
    )
    path, second = os.fspath(data), None if other is None else os.fspath(other)
    with opened_database(path, table, request.options.memory, second) as (relation, against):
        columns = _columns_of(request, path, relation, against)
        return sum_relation(relation, columns, request.options, path, against)


#: The defaults of `list_sums`.
DEFAULTS = {name: each.default for name, each in signature(list_sums).parameters.items()}


def _request(data: Any, given: Mapping[str, Any]) -> tuple[Any, LogRequest]:
    """Return what is wanted of data, after the arrays of decisions if they are given as such."""
    choose("missing_relevance", given["missing_relevance"], ("error", "irrelevant"))
    names = ["metrics", "protected", "cross", "ties", "random_state", "reference", "scored"]
    names += ["by", "control"]
    planned = chosen_keywords(DecisionKeywords, given) | {name: given[name] for name in names}
    like: ListSums | None = given["like"]
    rule, outcomes, plan = _planned(data, planned, like)
    plan = _compared_with(given, plan, like)
    most = {"max_list_rows": given["max_list_rows"], "n_jobs": given["n_jobs"]}
    rules: dict[str, Constraint] = {"max_list_rows": Integer(1), "n_jobs": Optional(Integer(1))}
    check_params("list_sums", most, rules)
    options = LogOptions(
        plan,
        like,
        MEMORY if given["memory"] is None else memory_bytes(given["memory"]),
        given["max_list_rows"],
        given["max_groups"],
        given["n_jobs"] or available_threads(),
        given["protected"],
    )
    file = FileOptions(**{name: given[name] for name in ("unknown", "labels", "keep_labels")})
    columns = chosen_keywords(ColumnKeywords, given)
    second = {name: given[name] for name in ("against_score", "against", "id")}
    read, missing = _read_by_metrics(given, options), given["missing_relevance"]
    return outcomes, LogRequest(columns, rule, missing, options, file, **second, read=read)


def _read_by_metrics(given: Mapping[str, Any], options: LogOptions) -> dict[str, Any]:
    """Return the columns of costs and features; those that no metric reads are an error."""
    read = {name: given[name] for name in ("cost", "features") if given[name] is not None}
    metrics = options.like.plan.metrics if options.like is not None else options.plan["metrics"]
    several = parse_metrics(list(metrics)) if metrics else []
    for name in read:
        if not any(name in metric.needs for metric in several):
            raise DataError(f"{name} must be omitted without a metric that reads it")
    return read


def _compared_with(
    given: Mapping[str, Any], plan: dict[str, Any], like: ListSums | None
) -> dict[str, Any]:
    """Return a plan that compares with another ranking, if its scores are given."""
    named = [name for name in ("against", "against_score") if given[name] is not None]
    if len(named) > 1:
        raise DataError("against_score must be omitted beside against, which has a score")
    if like is not None and like.paired != bool(named):
        words = f"{named[0]} must be omitted" if named else "against or against_score must be given"
        raise DataError(f"{words} beside like, whose plan is used")
    return plan | {"changed": True} if "against_score" in named else plan


def _planned(
    data: Any, given: Mapping[str, Any], like: ListSums | None
) -> tuple[DecisionRule, Any, dict[str, Any]]:
    """Return the way in which people are selected, its arrays, and arguments of `SumsPlan.of`."""
    if like is not None:
        usual = {"cross": True, "ties": "average", "random_state": 0, "scored": False}
        for name, value in given.items():
            if value is not usual.get(name) and value != usual.get(name):
                raise DataError(f"{name} must be omitted beside like, whose plan is used")
        if not isinstance(like, ListSums):
            raise DataError(f"like must be a ListSums, got {type(like).__name__}")
        return like.plan.rule, None, {}
    choose("ties", given["ties"], ("average", "stable"))
    rule, outcomes = decision_rule(data, chosen_keywords(DecisionKeywords, given))
    metrics = parse_metrics(given["metrics"]) if given["metrics"] else []
    if given["protected"] is not None and not metrics:
        raise DataError("protected must be omitted without metrics that use it")
    plan = {"k": given["k"], "cross": given["cross"], "metrics": metrics, "ties": given["ties"]}
    plan |= {"rule": rule, "seed": as_seed(given["random_state"]), "scored": given["scored"]}
    split = {"by": given["by"], "control": given["control"]}
    return rule, outcomes, plan | split | {"reference": given["reference"]}


def _refuse_where(where: Mapping[str, Any], *allowed: str) -> None:
    reasons = {
        "table": "a database of DuckDB",
        "client": "a frame of Dask",
        "memory": "files and tables",
    }
    for name, value in where.items():
        if value is not None and name not in allowed:
            raise DataError(f"{name} must be omitted for these data; it is for {reasons[name]}")


def refuse_label_options(file: FileOptions) -> None:
    """Raise if labels should be cleaned, which only files are."""
    for name in ("unknown", "labels", "keep_labels"):
        if getattr(file, name):
            raise DataError(f"{name} must be omitted for data that no file contains")


def _is_database(path: Any) -> bool:
    return os.fspath(path).lower().endswith(DATABASES)


def _is_paths(data: Any) -> bool:
    several = data if isinstance(data, (list, tuple)) else [data]
    return bool(several) and all(isinstance(each, (str, os.PathLike)) for each in several)


def _of_files(data: Any, request: LogRequest) -> tuple[ListSums, list[Source]]:
    """Return the sums of files: Parquet and Arrow as a stream, others in memory."""
    several = data if isinstance(data, (list, tuple)) else [data]
    paths = arrow_paths(data)
    if paths is not None:
        first, second = open_files(paths), _second_files(request)
        columns = _columns_of(request, first.name, first, second, cleaned=True)
        stream = first if second is None else paired_streams(first, second)
        sums, measure = sum_stream(stream, columns, request.options)
        digests = tuple(map(file_digest, paths))
        before = () if second is None else tuple(map(file_digest, second.paths))
        sources = [_source(first, digests, sums.n_rows, measure.groups, columns.record())]
        if second is not None and measure.others is not None:
            rows = int(sums.sums["against"][0])
            sources.append(_source(second, before, rows, measure.others, {}))
        return replace(sums, sources=digests, against_sources=before), sources
    if len(several) > 1:
        raise DataError(f"several files must be Parquet or Arrow, got {os.fspath(several[0])}")
    options: dict[str, Any] = {
        "missing_relevance": request.missing_relevance,
        "max_groups": request.options.max_groups,
        "unknown": request.file.unknown,
        "labels": request.file.labels,
        "keep_labels": request.file.keep_labels,
        **request.read,
    }
    named = dict(request.columns) | {"id": request.id}
    more = [] if request.against_score is None else [request.against_score]
    data = data_of_file(several[0], named, request.rule, more, **options)
    other = request.against
    if isinstance(other, (str, os.PathLike)):
        other = data_of_file(other, named, NO_RULE, **options)
    elif other is not None:
        other = _ranking_of(other, request, columns_against(other, {**named, **request.read}))
    empty = replace(
        request, columns=dict.fromkeys(request.columns), against=other, id=None, read={}
    )
    known = [each.source for each in (data, other) if isinstance(each, RankingData)]
    return _of_memory(data, empty, {}, None), [source for source in known if source is not None]


def _source(
    stream: ArrowStream,
    digests: Sequence[str],
    n_rows: int,
    groups: Groups,
    columns: Mapping[str, tuple[str, str]],
) -> Source:
    """Return the record of Parquet or Arrow files."""
    paths = stream.paths
    name = stream.name if len(paths) > 1 else paths[0].name
    how = {"format": "Parquet" if paths[0].suffix.lower() in PARQUET else "Arrow"}
    digest = digests[0] if len(digests) == 1 else ""
    return Source(name, digest, n_rows, how, columns, groups.record, groups.remarks)


def _digest(data: RankingData) -> tuple[str, ...]:
    """Return the digest of the file that data were read from, if they were."""
    return () if data.source is None or not data.source.sha256 else (data.source.sha256,)


def _second_files(request: LogRequest) -> ArrowStream | None:
    """Open the Parquet or Arrow files of a second table; None without one."""
    other = request.against_of("files", _is_paths)
    if other is None:
        return None
    paths = arrow_paths(other)
    if paths is None:
        raise DataError(f"against must be Parquet or Arrow as data are, got {os.fspath(other)}")
    return open_files(paths)


def _of_memory(data: Any, request: LogRequest, where: Mapping[str, Any], outcomes: Any) -> ListSums:
    """Return the sums of data in memory."""
    _refuse_where(where)
    if not isinstance(data, RankingData):
        refuse_label_options(request.file)
    options = request.options
    columns = dict(request.columns) | {"id": request.id, "outcomes": outcomes, **request.read}
    other = request.against_score
    named = (other,) if isinstance(other, str) else ()
    ranking = _ranking_of(data, request, columns, request.rule, named)
    check_attributes(ranking.data.sensitive, options)
    scored = options.like is None and bool(options.plan.get("scored"))
    plan = options.plan_of(Survey.of(ranking.data, scored), "data")
    before = None if other is None else before_of_scores(ranking, other, plan)
    digests: dict[str, Any] = {"sources": _digest(ranking.data)}
    if request.against is not None:
        theirs = _ranking_of(request.against, request, columns_against(request.against, columns))
        before, plan = _paired(ranking, theirs, plan, options)
        digests["against_sources"] = _digest(theirs.data)
    if named and other not in request.rule.columns():  # samples do not keep the column
        rest = {name: v for name, v in ranking.data.outcomes.items() if name != other}
        ranking = Ranking(replace(ranking.data, outcomes=rest), ranking.position, ranking.last)
    threads: dict[str, Any] = {"n_jobs": options.n_jobs, "per_list": options.per_list}
    return replace(sum_data(ranking, plan, before=before, **threads), **digests)


def _ranking_of(
    data: Any,
    request: LogRequest,
    columns: Mapping[str, Any],
    rule: DecisionRule = NO_RULE,
    more: Sequence[str] = (),
) -> Ranking:
    """Return the ranking that data in memory state."""
    options = request.options
    ties = options.plan.get("ties") if options.like is None else options.like.plan.ties
    return as_ranking(data, columns, ties or "average", options.max_groups, rule, more)


def _paired(
    ranking: Ranking, other: Ranking, plan: SumsPlan, options: LogOptions
) -> tuple[Before, SumsPlan]:
    """Return a second ranking in memory, and the plan that compares with it."""
    if ranking.data.score is None and ranking.data.position is None:
        raise DataError("against must be None for data without score or position")
    for name in plan.groups:
        if name not in other.data.sensitive:
            raise DataError(f"against must have the attribute {name!r} of data")
    if other.n_draws > 1:
        raise DataError(f"against must be a ranking with one draw, got {other.n_draws} draws")
    rows = replace(other.data, max_grade=options.grade_of_other(other.data.max_grade))
    other = Ranking(rows, other.position, other.last)
    cut = options.compared_cut(shown_cut(ranking), "data")
    before, plan = Before.paired(ranking, other, plan, (cut,))
    if not before.sizes.any():
        raise DataError("against must share at least one list with data, got none")
    return before, plan
