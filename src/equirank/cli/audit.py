"""``equirank audit``: a file of ranked people, and a report about it.

``--json`` gives what `AuditResult.to_json` writes; `AuditResult.from_json` reads it back.
"""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .console import CommandError, JsonOption, errors_in_one_line, printable, show_table, write_json

if TYPE_CHECKING:
    from ..auditing.audit_result import AuditResult

__all__ = ["audit"]


COLUMN = "COLUMN"
#: Attributes with more groups are left to the report.
MOST_GROUPS = 20


def audit(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Parquet or LETOR, told by its ending; .gz may follow.",
            show_default=False,
        ),
    ],
    query: Annotated[
        str | None,
        typer.Option(metavar=COLUMN, help="Column that says which list a row belongs to."),
    ] = None,
    score: Annotated[
        str | None, typer.Option(metavar=COLUMN, help="Column of scores, higher is first.")
    ] = None,
    relevance: Annotated[
        str | None, typer.Option(metavar=COLUMN, help="Column of relevance, from 0 up.")
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(metavar=COLUMN, help="Column of people's groups; may be repeated."),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(metavar="K,K", help="Cutoffs; otherwise 10 and 50 where lists are longer."),
    ] = None,
    position: Annotated[
        str | None,
        typer.Option(metavar=COLUMN, help="Column of given positions from 1; 0 is not shown."),
    ] = None,
    protected: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=GROUP", help="Group to hold against all others; may be repeated."
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="REPORT.html", help="Write the report to this file.")
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help='Such as "RND@50>0.3" or "RND@50.low>0.3"; where it holds the exit code is 1. '
            "May be repeated.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Another ranking of the same lists, to compare with."),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(metavar="METRICS", help="Further metrics; may be repeated."),
    ] = None,
    n_boot: Annotated[
        int, typer.Option(min=0, help="Bootstrap replicates for the intervals; 0: no intervals.")
    ] = 1000,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same report.")] = 0,
    ties: Annotated[
        Literal["average", "stable"],
        typer.Option(help="Equal scores share their places, or keep the order of the file."),
    ] = "average",
    missing_relevance: Annotated[
        Literal["error", "irrelevant"],
        typer.Option(help="A missing relevance is an error, or 0."),
    ] = "error",
    file_format: Annotated[
        Literal["csv", "tsv", "parquet", "letor"] | None,
        typer.Option("--format", help="The format, where the ending does not tell it."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Audit a ranking of people: who stands higher, by how much, how sure that is.

    Columns called qid or query, score, rank or position, and relevance or label are found without
    being named; groups of people must be named. A missing group is a group of its own. In LETOR,
    name features by their number.

    The exit code is 0 where the audit is done, 1 where a --fail-on holds (report and JSON are
    written all the same), 2 for bad input.
    """
    held: list[str] = []
    with errors_in_one_line():
        from ..auditing.audit import audit as look
        from ..auditing.gates import read_expression
        from ..io.table_file import read_file

        rules = [read_expression(rule) for rule in fail_on or ()]
        cutoffs = _cutoffs(k)
        _check_out(out, [file, *([against] if against else [])])
        columns: dict[str, Any] = {"query": query, "score": score, "relevance": relevance}
        columns |= {"position": position, "cost": None, "sensitive": list(sensitive or ())}
        columns |= {"missing_sensitive": "category", "missing_relevance": missing_relevance}
        if not sensitive:
            raise CommandError("--sensitive must name a column of people's groups")
        result = look(
            read_file(file, file_format, **columns),
            protected=protected,
            k=cutoffs,
            metrics=[*(metrics or ()), *(rule.metric for rule in rules)] or None,
            against=None if against is None else read_file(against, file_format, **columns),
            ties=ties,
            n_boot=n_boot,
            level=level,
            random_state=seed,
            title=os.path.basename(file),
            against_title="" if against is None else os.path.basename(against),
        )
        if out is not None:
            _write_page(result, out)
        if json is not None:
            write_json(json, result.to_json())
        if json != "-":
            _show(result, out)
        held = [line for rule in rules for line in result.failures(rule.text)]
    for line in held:
        typer.echo(f"equirank: --fail-on holds: {printable(line)}", err=True)
    if held:
        raise typer.Exit(1)


def _cutoffs(text: str | None) -> list[int] | None:
    """Read ``10,50``."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise CommandError(f"--k must be whole numbers from 1 up, as in 10,50, got {text!r}")
    return [int(part) for part in parts]


def _check_out(out: str | None, inputs: list[str]) -> None:
    """Refuse a report that cannot be written, or that would replace the data, before the work."""
    if out is None:
        return
    folder = os.path.dirname(os.path.abspath(out))
    if not os.path.isdir(folder):
        raise CommandError(f"{out}: cannot be written: there is no folder {folder}")
    if os.path.isdir(out):
        raise CommandError(f"{out}: cannot be written: it is a folder")
    if any(os.path.realpath(out) == os.path.realpath(each) for each in inputs):
        raise CommandError(f"{out}: cannot be written: it is the file that is audited")
    from ..core.environment import require

    for package in ("altair", "jinja2", "vl_convert"):
        require(package, "report")


def _write_page(result: "AuditResult", out: str) -> None:
    try:
        result.to_html(out)
    except OSError as error:
        raise CommandError(f"{out}: cannot be written: {error.strerror}") from None


def _show(result: "AuditResult", out: str | None) -> None:
    """Print the verdict, the groups, the warnings, and where the page is."""
    facts = result.facts
    typer.echo(f"Audit of {printable(facts['title'])}\n")
    for sentence in result.verdict:
        _say(sentence)
    if sys.stdout.isatty():
        typer.echo()
    for each in facts["attributes"]:
        if len(each["groups"]) <= MOST_GROUPS:
            _show_groups(result, each["name"])
    typer.echo()
    kinds = ("missing", "ties", "skipped")
    for note in (note for note in result.notes if note["kind"] in kinds):
        _say(note["text"], "note: ")
    if out is None:
        typer.echo("\nThe whole report, with pictures: add --out report.html")
    else:
        typer.echo(f"\nThe whole report: {printable(os.path.abspath(out))}")


def _say(text: str, mark: str = "- ") -> None:
    """Print a sentence, wrapped on a terminal."""
    line = f"{mark}{printable(text)}"
    if sys.stdout.isatty():
        import shutil
        import textwrap

        width = min(100, shutil.get_terminal_size().columns)
        line = textwrap.fill(line, width, subsequent_indent=" " * len(mark))
    typer.echo(line)


def _show_groups(result: "AuditResult", attribute: str) -> None:
    """Print the groups of an attribute in few, short columns."""
    from ..core.table import Table
    from ..reports.number_words import percent

    rows = [row for row in result.tables["groups"] if row["attribute"] == attribute]
    k = result.facts["ks"][0]
    rate = {
        row["group"]: row["rate"]
        for row in result.tables["selection"]
        if row["k"] == k and row["attribute"] == attribute
    }
    ends = ("position_difference_low", "position_difference_high")
    columns: dict[str, Any] = {
        "group": [row["group"] for row in rows],
        "entries": [f"{row['size']:,}" for row in rows],
        "share": [percent(row["share"]) for row in rows],
        "attention": [percent(row["exposure"]) for row in rows],
        f"in first {k}": [percent(rate[row["group"]]) for row in rows],
        "mean place": [f"{row['mean_position']:.1f}" for row in rows],
        "lower by": [f"{row['position_difference']:+.1f}" for row in rows],
        "interval": [
            "" if row[ends[0]] != row[ends[0]] else " to ".join(f"{row[end]:+.1f}" for end in ends)
            for row in rows
        ],
    }
    show_table(Table(columns), printable(attribute), [name for name in columns if name != "group"])
