"""The HTML report of an audit."""

import json
from collections.abc import Callable, Iterator
from math import isnan
from typing import Any

from .. import plots
from ..plots.group_charts import drawn_claims, with_ratio
from ..plots.theme import MOST_GROUPS, colours, group_scale, shorten
from ..reports.claims import lead_statements
from ..reports.number_words import percent
from ..reports.page import asset, chart_for_page, table_rows, write_page
from .notes import counted, unknown_words

__all__ = ["render"]


#: The charts of each attribute: name on the page, function, table that must have rows.
CHARTS: tuple[tuple[str, str, str], ...] = (
    ("places", "position_difference", "groups"),
    ("prefix", "prefix_shares", "prefix_shares"),
    ("exposure", "exposure", "groups"),
    ("merit", "exposure_merit", "exposure_merit"),
    ("rates", "selection_rates", "selection"),
    ("ratios", "impact_ratios", "selection"),
    ("pairs", "pairwise_accuracy", "pairwise"),
    ("scores", "score_distributions", "scores"),
    ("strip", "position_strip", "strip"),
    ("comparison", "comparison", "comparison"),
)
#: Kinds of notes shown in other sections; all others are listed as data notes.
PLACED = ("warning", "sample", "small", "strata", "scope", "not_measured")
#: Methods whose rows are a corrected estimate, or the range that probabilities allow.
CORRECTED = ("fieller", "rubin", "percentiles", "frechet_range")
#: The answers about unknown labels that a page has side by side.
ANSWERS = ("known_labels", "completions", "no bounds", "corrected", "refused")
#: Longer names are cut in sentences.
LONG = 60


def render(result: Any) -> str:
    """Return the report of an `AuditResult` as one self-contained HTML page."""
    cut = _shortener(result)
    lead, remaining = lead_statements(result.claims)
    return write_page(
        asset("audit.html"),
        kind="ranking audit",
        title=result.facts["title"],
        first="verdict",
        library_version=result.facts["library_version"],
        provenance=result.provenance,
        tables=result.tables,
        charts=dict(_charts(result)),
        document=json.loads(result.to_json()),
        json_name="audit.json",
        script=asset("audit.js"),
        facts=result.facts,
        verdict=[cut(statement.text) for statement in lead],
        remaining=[cut(statement.text) for statement in remaining],
        notes=[note | {"text": cut(note["text"])} for note in result.notes],
        placed=PLACED,
        most_groups=MOST_GROUPS,
        panels=[_panel(result, i, entry) for i, entry in enumerate(_attributes(result))],
        rows={name: _rows(table) for name, table in result.tables.items()},
    )


def _shortener(result: Any) -> Callable[[str], str]:
    """Return a function that cuts very long names in a sentence."""
    names = {entry["name"] for entry in _attributes(result)}
    names |= {name for entry in _attributes(result) for name in entry["by"]}
    names |= {group["name"] for entry in _attributes(result) for group in entry["groups"]}
    long = sorted((name for name in names if len(name) > LONG), key=len, reverse=True)

    def cut(sentence: str) -> str:
        for name in long:
            sentence = sentence.replace(name, shorten(name, LONG))
        return sentence

    return cut


def _attributes(result: Any) -> list[dict[str, Any]]:
    return list(result.facts["attributes"])


def _rows(table: Any, attribute: str | None = None) -> list[dict[str, Any]]:
    rows = table_rows(table)
    return rows if attribute is None else [row for row in rows if row["attribute"] == attribute]


def _panel(result: Any, index: int, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of one attribute, as the template needs them."""
    name = entry["name"]
    rows = {
        key: _rows(table, name)
        for key, table in result.tables.items()
        if "attribute" in table.columns
    }
    scale = (
        group_scale(result, name)
        if rows["groups"]
        else colours(group["name"] for group in entry["groups"])
    )
    selected: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows["selection"]:
        selected.setdefault(row["group"], {})[row["k"]] = row
    unknown, what = rows.get("unknown"), counted(result.facts)
    return entry | {
        "index": index,
        "unknown_words": unknown_words(shorten(name, LONG), unknown, what) if unknown else "",
        "answers": _answers(result.tables.get("labels", ()), name),
        "assumption": _assumption(result.facts, name),
        "rows": rows,
        "selected": selected,
        "ks": sorted({row["k"] for row in rows["selection"]}),
        "colours": dict(zip(scale["domain"], scale["range"], strict=True)),
    }


def _answers(table: Any, attribute: str) -> list[dict[str, Any]]:
    """Return the answers about unknown labels side by side, one row per group and measure."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    breakdowns = [row["breakdown"] for row in table if row["attribute"] == attribute]
    for row, breakdown in zip(_rows(table, attribute), breakdowns, strict=True):
        key = row["group"], row["measure"]
        start = {"group": row["group"], "measure": row["measure"], "breakdown": ""}
        entry = found.setdefault(key, start | dict.fromkeys(ANSWERS))
        method = "corrected" if row["method"] in CORRECTED else row["method"]
        if method in entry:
            entry[method] = row
        if not isnan(breakdown) and method == "corrected":
            entry["breakdown"] = "none" if breakdown > 1 else percent(breakdown)
    return list(found.values())


def _assumption(facts: dict[str, Any], attribute: str) -> str:
    """Return what corrected values of an attribute assume; empty if nothing is corrected."""
    known = facts.get("labels", {}).get("attributes", {}).get(attribute, {})
    return str(known.get("assumption", ""))


def _charts(result: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Draw the findings, and each chart of each attribute that has rows."""
    if drawn_claims(result):
        yield "claims", chart_for_page(plots.findings(result))
    for index, entry in enumerate(_attributes(result)):
        for key, function, table in CHARTS:
            rows = [row for row in result.tables[table] if row["attribute"] == entry["name"]]
            if with_ratio(rows) if key == "ratios" else rows:
                draw: Callable[..., Any] = getattr(plots, function)
                yield f"{key}-{index}", chart_for_page(draw(result, entry["name"]))
    if _rows(result.tables["comparison"], ""):
        yield "comparison-whole", chart_for_page(plots.comparison(result, ""))
