"""``equirank audit``: audit a file of ranked people and write a report.

``--json`` writes `AuditResult.to_json`, which `AuditResult.from_json` reads.
"""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .console import (
    CommandError,
    JsonOption,
    Read,
    Written,
    command_line,
    errors_in_one_line,
    printable,
    require_report_extra,
    show_table,
    write_json,
    writing,
)

if TYPE_CHECKING:
    from ..auditing.audit_result import AuditResult

__all__ = ["audit"]


#: Most groups of an attribute that the terminal shows; the report shows more.
MOST_GROUPS = 20


# Long, since every option is a parameter.
@options.with_reading
def audit(
    file: options.FileArgument,
    query: options.QueryOption = None,
    score: options.ScoreOption = None,
    relevance: options.RelevanceOption = None,
    sensitive: options.SensitiveOption = None,
    k: Annotated[
        str | None,
        typer.Option(metavar="K,K", help="Cutoffs; by default 10 and 50 if lists are longer."),
    ] = None,
    selected: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Who was selected: a column of yes and no, true and false, or 1 and 0. Blank is "
            "undecided. Needs neither score nor position.",
        ),
    ] = None,
    yes: Annotated[
        str | None,
        typer.Option(
            metavar="WORD,WORD", help="Words of --selected or --stages that mean yes; others no."
        ),
    ] = None,
    cutoff: Annotated[
        str | None,
        typer.Option(metavar="COMPARISON", help='Who is selected, such as "score>=70".'),
    ] = None,
    quota: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="How many of each list are selected."),
    ] = None,
    stages: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,COLUMN",
            help="Decisions one after the other, each about those who passed the one before.",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=GROUP",
            help="Compare the groups of an attribute with this one instead of with everyone else; "
            "may be repeated.",
        ),
    ] = None,
    scored: Annotated[
        bool,
        typer.Option(
            help="Compare scores, too: rates above the median score, and gaps between means.",
        ),
    ] = False,
    shown: options.ShownOption = None,
    position: options.PositionOption = None,
    ids: options.IdOption = None,
    protected: options.ProtectedOption = None,
    out: Annotated[
        str | None,
        Written(),
        typer.Option(metavar="REPORT.html", help="Write the report to this file."),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help='Such as "sex=female selected at 10 < 0.8", "any race exposure < 0.8", '
            '"any finding" or "RND@50 > 0.3" (corrected for chance); if it holds, the exit code '
            "is 1. May be repeated.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        Read(),
        typer.Option(
            metavar="FILE", help="Another ranking of the same people, to compare with; needs --id."
        ),
    ] = None,
    unpaired: Annotated[
        str | None,
        Read(),
        typer.Option(
            metavar="FILE",
            help="A file of other lists to compare with, such as another period or system.",
        ),
    ] = None,
    lists_differ: Annotated[
        bool,
        typer.Option("--lists-differ", help="Equal list labels in --unpaired are other lists."),
    ] = False,
    profile: Annotated[
        str | None,
        Read(),
        typer.Option(
            metavar="PROFILE",
            help="Add the tables and the text that a law or guideline asks for: an id of "
            "equirank profiles, or a file that ends in .toml.",
        ),
    ] = None,
    leave_out_small: Annotated[
        bool,
        typer.Option(
            "--leave-out-small", help="Leave groups under the profile's share out of its ratios."
        ),
    ] = False,
    metrics: Annotated[
        list[str] | None,
        typer.Option(metavar="METRICS", help="Further metrics; may be repeated."),
    ] = None,
    n_boot: options.BootOption = 1000,
    level: options.LevelOption = 0.95,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed; the same seed produces the same report.")
    ] = 0,
    ties: options.TiesOption = "average",
    missing_relevance: options.MissingRelevanceOption = "error",
    max_groups: options.MaxGroupsOption = None,
    title: options.TitleOption = None,
    purpose: options.PurposeOption = None,
    period: options.PeriodOption = None,
    author: options.AuthorOption = None,
    date: options.DateOption = None,
    json: JsonOption = None,
    *,
    reading: options.Reading,
) -> None:
    """Audit a ranking: compare how groups of people are ranked, with uncertainty.

    Columns called qid or query, score, rank or position, and relevance or label are recognised;
    columns of people's groups must be named. Missing groups form a separate group. In LETOR files,
    name features by their number.

    The exit code is 0 if the audit succeeds, 1 if a --fail-on rule holds (the report and JSON are
    still written), and 2 for bad input.
    """
    failures: list[str] = []
    remarks: list[str] = []
    with errors_in_one_line():
        from dataclasses import replace

        from ..auditing.audit import audit as audit_data
        from ..auditing.gates import read_gate
        from ..core.outcomes import DecisionRule

        gates = [read_gate(rule).text for rule in fail_on or ()]
        names = () if stages is None else tuple(each.strip() for each in stages.split(","))
        way: dict[str, Any] = {"selected": selected, "cutoff": cutoff, "quota": quota, "yes": yes}
        rule = DecisionRule(stages=names, k=_cutoffs(k), **way)
        if out is not None:
            require_report_extra()
        # A relevance is a judgement of people: it counts only if it is named.
        merit = False if relevance is None else relevance
        columns: dict[str, Any] = {"query": query, "score": score, "relevance": merit}
        columns |= {"position": position, "cost": None, "sensitive": list(sensitive or ())}
        columns |= {"missing_sensitive": "unknown", "missing_relevance": missing_relevance}
        columns |= {"max_groups": max_groups, "id": False if ids is None else ids}
        columns["score"] = rule.score_column(score, position)
        if not sensitive:
            raise CommandError("--sensitive must name a column of people's groups")
        result = audit_data(
            reading.read(file, outcomes=rule.columns(), **columns),
            protected=protected,
            k=rule.k,
            stages=names or None,
            reference=reference,
            scored=scored,
            shown=options.shown_names(shown),
            **way,
            metrics=metrics or None,
            against=None if against is None else reading.read(against, **columns),
            unpaired=None
            if unpaired is None
            else reading.read(unpaired, outcomes=rule.columns(), **columns),
            lists_differ=lists_differ,
            profile=profile,
            leave_out_small=leave_out_small,
            unpaired_title="" if unpaired is None else os.path.basename(unpaired),
            ties=ties,
            n_boot=n_boot,
            level=level,
            random_state=seed,
            title=title,
            purpose=purpose,
            period=period,
            author=author,
            date=date,
            against_title="" if against is None else os.path.basename(against),
            gates=gates,
        )
        result.provenance = replace(result.provenance, command=command_line())
        outcomes = result.judge(gates)
        if out is not None:
            with writing(out):
                result.to_html(out)
        if json is not None:
            write_json(json, result.to_json())
        if json != "-":
            _show(result, out)
        failures = [line for outcome in outcomes for line in outcome.fired]
        remarks = [line for outcome in outcomes for line in outcome.remarks]
    for line in remarks:
        typer.echo(f"equirank: note: {printable(line)}", err=True)
    for line in failures:
        typer.echo(f"equirank: --fail-on holds: {printable(line)}", err=True)
    if failures:
        raise typer.Exit(1)


def _cutoffs(text: str | None) -> list[int] | None:
    """Return the numbers of ``10,50``."""
    from ..core.inputs import natural

    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(natural(part) > 0 for part in parts):
        raise CommandError(f"--k must be positive whole numbers, as in 10,50, got {text!r}")
    return [int(part) for part in parts]


def _show(result: "AuditResult", out: str | None) -> None:
    """Print the verdict, the groups, the notes, and the path of the report."""
    from ..reports.claims import lead_statements

    facts = result.facts
    typer.echo(f"Audit of {printable(facts['title'])}\n")
    for note in (note for note in result.notes if note["kind"] in ("scope", "warning")):
        _say(note["text"], "" if note["kind"] == "scope" else "Warning: ")
    for sentence in result.verdict:
        _say(sentence)
    hidden = len(lead_statements(result.claims)[1])
    if hidden:
        _say(f"{hidden} more statements are in the report and in the JSON under claims.", "")
    if sys.stdout.isatty():
        typer.echo()
    for each in facts["attributes"]:
        if len(each["groups"]) <= MOST_GROUPS:
            _show_groups(result, each["name"])
    typer.echo()
    kinds = ("decision", "undecided", "unknown", "ties", "skipped", "not_measured")
    for note in (note for note in result.notes if note["kind"] in kinds):
        _say(note["text"], "note: ")
    profile = facts["profile"]
    if profile is not None:
        where = "the JSON under tables.profile" if out is None else "the report"
        _say(
            f"The tables of profile {profile['id']} ({profile['title']}) are in {where}.", "note: "
        )
        if profile["absent"]:
            _say(f"The data have no column for: {', '.join(profile['absent'])}.", "note: ")
    if out is None:
        typer.echo("\nFor the full report with charts, add --out report.html")
    else:
        typer.echo(f"\nFull report: {printable(os.path.abspath(out))}")


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
    """Print the groups of an attribute in a few columns."""
    from ..core.table import Table
    from ..reports.number_words import percent

    rows = [row for row in result.tables["groups"] if row["attribute"] == attribute]
    if not result.facts["ks"]:
        _show_decisions(result, attribute)
    if not rows:
        return
    k = next(iter(result.facts["ks"]), None)
    rate = {
        row["group"]: percent(row["rate"])
        for row in result.tables["selection"]
        if row["k"] == k and row["attribute"] == attribute
    }
    ends = ("position_difference_low", "position_difference_high")
    columns: dict[str, Any] = {
        "group": [row["group"] for row in rows],
        "people": [f"{row['size']:,}" for row in rows],
        "share": [percent(row["share"]) for row in rows],
        "exposure": [percent(row["exposure"]) for row in rows],
        **({} if k is None else {f"in top {k}": [rate[row["group"]] for row in rows]}),
        "mean position": [f"{row['mean_position']:.1f}" for row in rows],
        "lower by": [f"{row['position_difference']:+.1f}" for row in rows],
        "interval": [
            "" if row[ends[0]] != row[ends[0]] else " to ".join(f"{row[end]:+.1f}" for end in ends)
            for row in rows
        ],
    }
    show_table(Table(columns), printable(attribute), [name for name in columns if name != "group"])


def _show_decisions(result: "AuditResult", attribute: str) -> None:
    """Print who was selected, group by group."""
    from ..core.table import Table
    from ..reports.number_words import percent, ratio

    rows = [row for row in result.tables["decisions"] if row["attribute"] == attribute]
    columns: dict[str, Any] = {
        "decision": [row["decision"] for row in rows],
        "group": [row["group"] for row in rows],
        "selected": [f"{row['selected']:,.10g}" for row in rows],
        "of": [f"{row['people']:,}" for row in rows],
        "rate": [percent(row["rate"]) for row in rows],
        "ratio": ["" if row["ratio"] != row["ratio"] else ratio(row["ratio"]) for row in rows],
        "interval": [
            ""
            if row["ratio_low"] != row["ratio_low"]
            else f"{ratio(row['ratio_low'])} to {ratio(row['ratio_high'])}"
            for row in rows
        ],
        # A note about lists is one of the notes below.
        "note": ["" if row["note"].startswith("the groups") else row["note"] for row in rows],
    }
    if not any(columns["note"]):
        del columns["note"]
    if len(result.facts["decisions"]) == 1:
        del columns["decision"]
    right = [name for name in columns if name not in ("decision", "group", "note")]
    show_table(Table(columns), printable(f"{attribute}: who was selected"), right)
