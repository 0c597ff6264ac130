"""The answers of Findings and Compare: statements of an audit, who is selected, and refusals."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError
from .answers import MARKS, STUDIO, CompareAnswer, Findings, SelectedBar, Statement

if TYPE_CHECKING:
    from ..auditing.audit_result import AuditResult
    from ..recipes.recipe_run import RecipeRun

__all__ = ["compare_answer", "findings", "plain_number"]

WAITING = "Working out how sure this is"
ONE_LIST = "With one list a confidence interval of the difference cannot be given."
NOT_MEASURED = "Not measured: "
#: Kinds of notes that go above the headline, and share of tied people from which ties do.
LOUD, MANY_TIES = ("warning",), 0.2
#: Kinds of notes that Findings shows below.
SHOWN_NOTES = ("people", "unknown", "undecided", "decision", "small", "strata", "sample")
#: Tables that Findings may show.
TABLES = ("groups", "selection", "decisions", "comparison")
#: Rows of a table in an answer.
MOST_ROWS = 500


def plain_number(value: Any) -> Any:
    """Return a number for JSON; None if it is undefined or infinite."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not isfinite(value) else value


def findings(result: "AuditResult", revision: int, complete: bool, attribute: str = "") -> Findings:
    """Return the answer of an audit about one attribute, by default the first.

    Without resampling (``complete`` is False) there is no statement.
    """
    names = [each["name"] for each in result.facts["attributes"]]
    chosen = attribute if attribute in names else (names[0] if names else "")
    lead, rest = _statements(result, chosen) if complete else ([], [])
    headline = lead[0] if lead else None  # a finding, or that there is none
    others = [each for each in [*lead, *rest] if each is not headline]
    loud = [note["text"] for note in result.notes if note["kind"] in LOUD]
    if result.facts.get("tie_share", 0.0) >= MANY_TIES:
        loud += [note["text"] for note in result.notes if note["kind"] == "ties"]
    return Findings(
        studio=STUDIO,
        revision=revision,
        complete=complete,
        headline=headline,
        statements=others,
        waiting="" if complete else WAITING,
        warnings=loud,
        refusals=_refusals(result),
        notes=_notes(result, complete),
        attributes=names,
        attribute=chosen,
        ks=[int(k) for k in result.facts["ks"]],
        bars=_bars(result),
        tables={name: _table(result.tables[name]) for name in TABLES if name in result.tables},
    )


def _statements(result: "AuditResult", attribute: str) -> tuple[list[Statement], list[Statement]]:
    """Return the first statements about an attribute, and what is not measured."""
    from ..reports.claims import lead_statements

    claims = [claim for claim in result.claims if claim.attribute in (attribute, "")]
    status = {claim.id: claim.status for claim in claims}
    lead = []
    for each in lead_statements(claims)[0]:
        known = [status[name] for name in each.claims if name in status]
        word = known[0] if known and len({*known}) == 1 else "described"
        lead.append(_statement(word, each.text, each.claims))
    rest = [
        _statement("described", note["text"].removeprefix(NOT_MEASURED))
        for note in result.notes
        if note["kind"] == "not_measured"
    ]
    return lead, rest


def _statement(status: str, text: str, claims: Sequence[str] = ()) -> Statement:
    sentence = text[:1].upper() + text[1:]
    return Statement(mark=MARKS[status], status=status, sentence=sentence, claims=list(claims))


def _refusals(result: "AuditResult") -> list[str]:
    found = []
    if result.facts["n_queries"] == 1 and len(result.tables["comparison"]):
        found.append(ONE_LIST)
    for claim in result.claims:
        if claim.status == "refused" and claim.sentence:
            found.append(claim.sentence)
    return list(dict.fromkeys(found))


def _notes(result: "AuditResult", complete: bool) -> list[str]:
    """Return the notes shown below; those about intervals only when there are intervals."""
    kinds = [kind for kind in SHOWN_NOTES if complete or kind != "sample"]
    return [note["text"] for note in result.notes if note["kind"] in kinds]


def _shown_groups(result: "AuditResult") -> dict[tuple[str, str], str]:
    """Return the names of groups in sentences, by attribute and label."""
    return {
        (claim.attribute, group): word
        for claim in result.claims
        for group, word in ((claim.group, claim.shown), (claim.against, claim.shown_against))
        if word
    }


def _bars(result: "AuditResult") -> list[SelectedBar]:
    """Return who is selected, group by group; of a recorded decision the first."""
    from ..reports.number_words import percent

    names = _shown_groups(result)
    table = result.tables["selection"]
    decided = not len(table)
    rows = list(result.tables["decisions"]) if decided else list(table)
    first = rows[0]["decision" if decided else "k"] if rows else None
    found = []
    for row in rows:
        if row["decision" if decided else "k"] != first:
            continue
        rate = float(row["rate"])
        people = int(row["people" if decided else "size"])
        found.append(
            SelectedBar(
                attribute=str(row["attribute"]),
                group=str(row["group"]),
                shown=names.get((row["attribute"], row["group"]), ""),
                k=0 if decided else int(row["k"]),
                selected=plain_number(float(row["selected"])),
                people=people,
                rate=plain_number(rate),
                text=percent(rate) if isfinite(rate) else "-",
                too_few=bool(row.get("small_cell", False)),
            )
        )
    return found


def _table(table: Any) -> dict[str, Any]:
    columns = list(table.columns)
    rows = [[plain_number(row[name]) for name in columns] for row in list(table)[:MOST_ROWS]]
    return {"columns": columns, "rows": rows}


def compare_answer(
    result: "AuditResult", run: "RecipeRun", revision: int, complete: bool
) -> CompareAnswer:
    """Return the answer of a comparison: unmatched counts, both side by side, the changes."""
    statements: list[Statement] = []
    if complete:
        changes = [claim for claim in result.claims if claim.quantity.startswith("change")]
        statements = [_statement(each.status, each.sentence, [each.id]) for each in changes]
    return CompareAnswer(
        studio=STUDIO,
        revision=revision,
        complete=complete,
        titles=titles(run),
        unmatched=unmatched(run),
        summaries=_summaries(result),
        statements=[each for each in statements if each["sentence"]],
        refusals=_refusals(result),
        notes=_notes(result, complete),
    )


def _plain_metric(text: str) -> str:
    """Return a metric in plain words, with its cutoff; without such words its name."""
    from ..core.registry import parse_metric

    try:
        metric = parse_metric(text)
    except DataError:
        return text
    name = vars(type(metric)).get("plain_name", "")
    top = f" in the top {metric.k}" if metric.k else ""
    return f"{name}{top}" if name else text


def _summaries(result: "AuditResult") -> list[dict[str, Any]]:
    from ..reports.number_words import plain_column

    found, names = [], _shown_groups(result)
    for row in result.tables["comparison"]:
        name = _plain_metric(str(row["metric"]))
        group, attribute = str(row["group"]), str(row["attribute"])
        if group:
            name += f", {names.get((attribute, group)) or group}"
        name += f" ({plain_column(attribute)})" if attribute else ""
        values = {key: plain_number(row[key]) for key in ("value", "other", "low", "high")}
        found.append(
            {"measure": name, "this": values["value"], "other": values["other"],
             "low": values["low"], "high": values["high"]}
        )  # fmt: skip
    return found


def titles(run: "RecipeRun") -> list[str]:
    """Return what both rankings are called: the names of their files, or of their columns."""
    own_file = "name" not in run.recipe.against
    columns = run.recipe.data.get("score") or run.recipe.data.get("position", "")
    return [str(columns) if own_file else run.name, run.other_title]


def unmatched(run: "RecipeRun") -> list[str]:
    """Return how many lists and people only one of two rankings has."""
    data, other = run.paired()
    if other is None:
        return []
    found = []
    for what, ours, theirs in (
        ("lists", data.qids, other.qids),
        ("people", data.ids, other.ids),
    ):
        if ours is None or theirs is None:
            if what == "people":
                found.append("People cannot be matched without a column of names or numbers.")
            continue
        first, second = ({str(each) for each in side.tolist()} for side in (ours, theirs))
        for only, where in ((first - second, "this ranking"), (second - first, "the other")):
            if only:
                found.append(f"{len(only):,} {what} are only in {where}.")
    return found
