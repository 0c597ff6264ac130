"""``equirank audit``: audit a file of ranked people and write a report.

``--json`` writes `AuditResult.to_json`, which `AuditResult.from_json` reads.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from . import label_options, options
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
from .sums import is_log, is_stored, log_name, log_sums, refuse_columns, stored_sums

if TYPE_CHECKING:
    from ..auditing.audit_result import AuditResult
    from ..core.list_sums import ListSums
    from ..core.outcomes import DecisionRule

__all__ = ["audit"]


#: Most groups of an attribute that the terminal shows; the report shows more.
MOST_GROUPS = 20


@dataclass(frozen=True)
class Beside(options.Shared):
    """What an audit shows beside the groups of one file."""

    against: str | None = options.option(
        "FILE", "Another ranking of the same people, to compare with; needs --id.", mark=Read()
    )
    unpaired: str | None = options.option(
        "FILE",
        "A file of other lists to compare with, such as another period or system.",
        mark=Read(),
    )
    lists_differ: bool = options.switch(
        "--lists-differ", "Equal list labels in --unpaired are other lists."
    )
    profile: str | None = options.option(
        "PROFILE",
        "Add the tables and the text that a law or guideline asks for: an id of "
        "equirank profiles, or a file that ends in .toml.",
        mark=Read(),
    )
    leave_out_small: bool = options.switch(
        "--leave-out-small", "Leave groups under the profile's share out of its ratios."
    )


# Long, since every option is a parameter.
@options.with_shared
def audit(
    *,
    files: options.FilesArgument,
    columns: options.Columns,
    k: options.CutoffsOption = None,
    decision: options.Decision,
    quota: options.QuotaOption = None,
    ways: options.Ways,
    shown: options.ShownOption = None,
    knowledge: label_options.LabelKnowledge,
    ids: options.IdOption = None,
    protected: options.ProtectedOption = None,
    out: str | None = options.option(
        "REPORT.html", "Write the report to this file.", mark=Written()
    ),
    fail_on: list[str] | None = options.option(
        "RULE",
        'Such as "sex=female selected at 10 < 0.8", "any race exposure < 0.8", '
        '"any finding" or "RND@50 > 0.3" (corrected for chance); if it holds, the exit code '
        "is 1. May be repeated.",
    ),
    beside: Beside,
    metrics: options.MetricsOption = None,
    n_boot: options.BootOption = 1000,
    level: options.LevelOption = 0.95,
    seed: options.SeedOption = 0,
    treatment: options.Treatment,
    memory: options.MemoryOption = None,
    heading: options.Heading,
    json: JsonOption = None,
    reading: options.Reading,
) -> None:
    """Audit a ranking: compare how groups of people are ranked, with uncertainty.

    Columns called qid or query, score, rank or position, and relevance or label are recognised;
    columns of people's groups must be named. Missing groups form a separate group. --selected needs
    neither score nor position. In LETOR files, name features by their number.

    The exit code is 0 if the audit succeeds, 1 if a --fail-on rule holds (the report and JSON are
    still written), and 2 for bad input.
    """
    failures: list[str] = []
    remarks: list[str] = []
    with errors_in_one_line():
        from ..auditing.gates import read_gate
        from ..core.outcomes import DecisionRule

        rules = [read_gate(rule) for rule in fail_on or ()]
        gates = [rule.text for rule in rules]
        stages = ways.stages
        names = () if stages is None else tuple(each.strip() for each in stages.split(","))
        way: dict[str, Any] = {**asdict(decision), "quota": quota}
        rule = DecisionRule(stages=names, k=options.cutoffs(k), **way)
        if out is not None:
            require_report_extra()
        settings: dict[str, Any] = {
            "protected": protected, "shown": options.shown_names(shown), "metrics": metrics or None,
            "n_boot": n_boot, "level": level, "random_state": seed, "gates": gates,
        } | asdict(heading)  # fmt: skip
        stored = all(map(is_stored, files))
        if not stored and any(map(is_stored, files)):
            raise CommandError("files must all be stored sums, or none of them")
        told = knowledge.parsed()
        if not (stored or columns.sensitive or told.probabilities):
            raise options.no_groups(files[0], reading)
        if stored or is_log(files, reading, memory):
            rows_only: dict[str, Any] = {"id": ids, "against": beside.against} if stored else {}
            rows_only |= {"probabilities": told.probabilities, "label-error": told.errors}
            _refuse(rows_only | {"true-label": told.verified}, files)
            named = asdict(columns) | {"sensitive": columns.sensitive or None, "k": rule.k}
            named |= way | asdict(treatment) | {"memory": memory, "stages": names or None}
            named |= {"reference": ways.reference or None, "scored": ways.scored}
            named |= {"against_score": ways.against_score, "against": beside.against, "id": ids}
            settings["profile"] = beside.profile
            settings["leave_out_small"] = beside.leave_out_small
            result = _audit_lists(files, reading, named, settings, rules, beside)
        else:
            settings |= way | asdict(ways) | {"stages": names or None, "ties": treatment.ties}
            # A relevance is a judgement of people: it counts only if it is named.
            merit = False if columns.relevance is None else columns.relevance
            how: dict[str, Any] = asdict(columns) | {"relevance": merit, "cost": None}
            how |= {"missing_relevance": treatment.missing_relevance}
            how |= {"max_groups": treatment.max_groups, "missing_sensitive": "unknown"}
            how["id"] = False if ids is None else ids
            result = _audit_rows(files[0], reading, how, rule, told, beside, settings)
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


def _audit_lists(
    files: Sequence[str],
    reading: options.Reading,
    named: dict[str, Any],
    settings: dict[str, Any],
    rules: Sequence[Any],
    beside: Beside,
) -> "AuditResult":
    """Return the audit of a log, or of stored sums."""
    from ..auditing.gates import MetricGate, asks_for_scores, with_gate_references
    from ..auditing.sums_audit import audit_sums

    if all(map(is_stored, files)):
        refuse_columns(named, files[0])
        first = stored_sums(files)
        return audit_sums(first, **_second(first, reading, None, beside), **settings)
    named["scored"] = named["scored"] or asks_for_scores(rules)
    asked = [str(rule.metric) for rule in rules if isinstance(rule, MetricGate)]
    wanted = [*(settings["metrics"] or ()), *asked]
    more = {"metrics": wanted or None, "random_state": settings["random_state"]}
    more["protected"] = settings["protected"] if wanted else None
    more["reference"] = with_gate_references(named["reference"], rules)
    first = log_sums(files, reading, **named | more)
    settings["title"] = settings["title"] or log_name(files)
    if named["against_score"] is not None:
        settings["against_title"] = f'the ranking by "{named["against_score"]}"'
    if named["against"] is not None:
        settings["against_title"] = log_name([named["against"]])
    return audit_sums(first, **_second(first, reading, named, beside), **settings)


def _second(
    first: "ListSums", reading: options.Reading, named: dict[str, Any] | None, beside: Beside
) -> dict[str, Any]:
    """Return the sums of a file of other lists, as arguments of `audit_sums`."""
    given: dict[str, Any] = {"lists_differ": beside.lists_differ}
    path = beside.unpaired
    if path is None:
        return given
    if is_stored(path):
        other = stored_sums([path])
    elif named is None:
        raise CommandError(f"--unpaired must be stored sums beside stored sums, got {path}")
    else:
        columns = (
            "query",
            "score",
            "relevance",
            "position",
            "sensitive",
            "missing_relevance",
            "id",
        )
        known = {name: named[name] for name in (*columns, "max_groups", "memory", "against_score")}
        # other lists have no second table
        like = first if named["against"] is None else first.without_changes()
        other = log_sums([path], reading, like=like, **known)
    return given | {"unpaired": other, "unpaired_title": os.path.basename(os.path.normpath(path))}


def _audit_rows(
    file: str,
    reading: options.Reading,
    how: dict[str, Any],
    rule: "DecisionRule",
    told: label_options.LabelOptions,
    beside: Beside,
    settings: dict[str, Any],
) -> "AuditResult":
    """Return the audit of all rows of a file."""
    from ..auditing.audit import audit
    from ..core.ranking import Ranking

    decided = list(rule.columns() or ())
    how |= {"score": rule.score_column(how["score"], how["position"])}
    how |= told.columns(how["sensitive"] or (), decided)

    def read(path: str, **columns: Any) -> Any:
        data = reading.read(path, **how | {"outcomes": how["outcomes"] or None} | columns)
        return told.applied(data, decided, path)

    data, given = read(file), asdict(beside)
    second = settings.pop("against_score")
    if second is not None and given["against"] is not None:
        raise CommandError("--against-score must be omitted beside --against, which has a score")
    for name in ("against", "unpaired"):
        path = given[name]
        given[name] = None if path is None else read(path)
        given[f"{name}_title"] = "" if path is None else os.path.basename(path)
    if second is not None:
        role = "score" if data.position is None else "position"
        other = read(file, **{role: second}).ranking(settings["ties"])
        given |= {"against": Ranking(data, other.position, other.last)}
        given["against_title"] = f'the ranking by "{second}"'
    return audit(data, k=rule.k, **given, **settings)


def _refuse(given: Mapping[str, Any], files: Sequence[str]) -> None:
    """Raise if an option needs all rows, which a log or stored sums do not bring."""
    for name, value in given.items():
        if value:
            raise CommandError(
                f"--{name.replace('_', '-')} must be omitted for {files[0]}, which is audited from "
                "sums over its lists"
            )


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
    kinds = (
        "people",
        "decision",
        "undecided",
        "unknown",
        "small",
        "ties",
        "skipped",
        "not_measured",
    )
    for note in (note for note in result.notes if note["kind"] in kinds):
        _say(note["text"], "note: ")
    profile = facts["profile"]
    if profile is not None:
        where = "the JSON under tables.profile" if out is None else "the report"
        _say(
            f"The tables of profile {profile['id']} ({profile['title']}) are in {where}.", "note: "
        )
        if profile["lacking"]:
            _say(profile["lacking"], "note: ")
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
    from ..auditing.notes import counted
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
        counted(result.facts): [f"{row['size']:,}" for row in rows],
        "share": [percent(row["share"]) for row in rows],
        "exposure": [percent(row["exposure"]) for row in rows],
        **({} if k is None else {f"in top {k}": [rate[row["group"]] for row in rows]}),
        "mean position": [_known(row["mean_position"], ".1f") for row in rows],
        "lower by": [_known(row["position_difference"], "+.1f") for row in rows],
        "interval": [
            "" if row[ends[0]] != row[ends[0]] else " to ".join(f"{row[end]:+.1f}" for end in ends)
            for row in rows
        ],
    }
    show_table(Table(columns), printable(attribute), [name for name in columns if name != "group"])


def _known(value: float, form: str) -> str:
    """Return a number, or that it is not known."""
    from ..reports.number_words import UNKNOWN

    return UNKNOWN if value != value else format(value, form)


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
