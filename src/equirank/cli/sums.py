"""``equirank sums``: sum the lists of a log, so that days can be added and audited later."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .console import (
    CommandError,
    Read,
    Written,
    errors_in_one_line,
    printable,
    show_source,
    writing,
)

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..core.list_sums import ListSums

__all__ = [
    "is_log",
    "is_stored",
    "log_name",
    "log_sums",
    "refuse_columns",
    "stored_sums",
    "sums",
]


#: Rows of a Parquet file beyond which it is read as a log.
MANY_ROWS = 1_000_000
#: Endings of logs.
PARQUET = (".parquet", ".pq")
LOGS = (*PARQUET, ".arrow", ".feather", ".ipc", ".duckdb", ".ddb")


@dataclass(frozen=True)
class LogColumns(options.Columns):
    """The columns of a log, of which several may name a list."""

    query: list[str] | None = options.option(  # type: ignore[assignment]
        options.COLUMN,
        "Column with the list of each row; several name it together, such as user and day.",
    )


# Long, since every option is a parameter.
@options.with_shared
def sums(
    *,
    files: options.FilesArgument,
    out: Annotated[
        str,
        Written(whole=True),
        typer.Option(metavar="DAY.sums", help="Write the sums to this new folder."),
    ],
    like: str | None = options.option(
        "FIRST.sums", "Use the plan of these sums, so that both can be added.", mark=Read()
    ),
    columns: LogColumns,
    against: str | None = options.option(
        "FILE",
        "Another ranking of the same people with the same columns, to compare with; needs --id.",
        mark=Read(),
    ),
    ids: options.IdOption = None,
    k: options.CutoffsOption = None,
    decision: options.Decision,
    quota: options.QuotaOption = None,
    ways: options.Ways,
    metrics: options.MetricsOption = None,
    protected: options.ProtectedOption = None,
    seed: options.SeedOption = 0,
    treatment: options.Treatment,
    memory: options.MemoryOption = None,
    table: str | None = options.option("TABLE", "Table or query of a DuckDB database."),
    reading: options.Reading,
) -> None:
    """Sum what an audit needs of every list of a log, of any size.

    The sums of several days are added and audited by `equirank audit *.sums`. They contain the
    rows of at most 2,048 lists, and otherwise numbers per group only.
    """
    with errors_in_one_line():
        if os.path.isdir(out) and os.listdir(out):
            raise CommandError(f"--out must be a new or empty folder, got {out}, which has files")
        query = columns.query
        names = query[0] if query and len(query) == 1 else query
        found = log_sums(
            files,
            reading,
            like=None if like is None else stored_sums([like]),
            **asdict(columns) | {"query": names or None, "sensitive": columns.sensitive or None},
            **asdict(decision),
            k=options.cutoffs(k),
            quota=quota,
            stages=ways.stages,
            reference=ways.reference or None,
            metrics=metrics or None,
            protected=protected or None,
            scored=ways.scored,
            against_score=ways.against_score,
            against=against,
            id=ids,
            random_state=seed,
            **asdict(treatment),
            memory=memory,
            table=table,
        )
        target = os.path.abspath(out)
        with writing(out):
            found.save(out)
        rows, lists = f"{found.n_rows:,} rows", f"{found.n_lists:,} lists"
        typer.echo(f"sums of {rows} in {lists}: {printable(target)}")


def is_stored(file: str) -> bool:
    """Return whether a path is a folder of stored sums."""
    return os.path.isfile(os.path.join(file, "plan.json"))


def is_log(files: Sequence[str], reading: options.Reading, memory: str | None) -> bool:
    """Return whether files are read as a log, list by list, instead of into memory.

    These are several files, folders, Arrow files and databases, and Parquet files of more than a
    million rows.
    """
    if len(files) > 1 or memory is not None:
        return True
    path = files[0].lower()
    if reading.format is not None or not (os.path.isdir(path) or path.endswith(LOGS)):
        return False
    if not path.endswith(PARQUET) or not os.path.isfile(files[0]):
        return True
    from ..io.parquet import parquet_rows

    return parquet_rows(files[0]) > MANY_ROWS


def log_sums(files: Sequence[str], reading: options.Reading, **given: Any) -> "ListSums":
    """Return the sums of files, and print how they were read."""
    from ..engines.sources import list_sums, sums_with_sources

    _check_pair(given)
    several = len(files) > 1 or os.path.isdir(files[0])
    if several or (reading.format is None and files[0].lower().endswith(LOGS)):
        reading.options().check_kind("parquet")
        labels = {name: getattr(reading, name) for name in ("unknown", "labels", "keep_labels")}
        labels["unknown"] = reading.arguments()["unknown"]
        found, sources = sums_with_sources(list(files) if several else files[0], labels | given)
        for source in sources:
            show_source(source)
        return found
    for name in ("table", "memory"):
        if given.pop(name, None) is not None:
            raise CommandError(f"--{name} must be omitted for {files[0]}, which is read at once")
    second = given.get("against")
    if second is not None:
        given["against"] = _read(second, reading, dict(given), decided=False)
    return list_sums(_read(files[0], reading, given), **given)


def _check_pair(given: dict[str, Any]) -> None:
    """Raise unless --against has --id, and no other ranking is beside it."""
    second, ids = given.get("against"), given.get("id")
    if second is not None and given["against_score"] is not None:
        raise CommandError("--against-score must be omitted beside --against, which has a score")
    if second is not None and ids is None:
        raise CommandError("--id must name the column of people's ids beside --against")


def _read(
    file: str, reading: options.Reading, given: dict[str, Any], decided: bool = True
) -> "RankingData":
    """Read a file into memory; the columns are taken out of ``given``."""
    from ..core.keywords import chosen_keywords
    from ..engines.given_ranking import DecisionKeywords, decision_rule

    rule, _ = decision_rule(file, chosen_keywords(DecisionKeywords, given))
    if given["like"] is not None:
        rule = given["like"].plan.rule
    names = ("query", "score", "relevance", "position", "sensitive", "missing_relevance")
    columns = {name: given.pop(name) for name in (*names, "max_groups")}
    if not isinstance(columns["query"], str | None):
        raise CommandError(f"--query must be one column for {file}, which is read at once")
    columns["score"] = rule.score_column(columns["score"], columns["position"])
    columns["relevance"] = False if columns["relevance"] is None else columns["relevance"]
    ids = given.pop("id", None)
    columns |= {"missing_sensitive": "unknown", "cost": None, "id": False if ids is None else ids}
    second = given["against_score"]
    outcomes = [*rule.columns(), *([] if second is None else [second])] if decided else []
    return reading.read(file, outcomes=outcomes, **columns)


def stored_sums(folders: Sequence[str]) -> "ListSums":
    """Return the sum of stored sums."""
    from ..core.list_sums import ListSums

    return ListSums.total(ListSums.load(folder) for folder in folders)


def log_name(files: Sequence[str]) -> str:
    """Return the name of a log: that of its first file, and how many more there are."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{os.path.basename(os.path.normpath(files[0]))}{more}"


def refuse_columns(given: Mapping[str, Any], folder: str) -> None:
    """Raise if an option is given that stored sums have decided."""
    usual = {"ties": "average", "missing_relevance": "error", "scored": False}
    for name, value in given.items():
        if value is not None and value != usual.get(name):
            option = f"--{name.replace('_', '-')}"
            raise CommandError(f"{option} must be omitted for {folder}, whose plan decides it")
