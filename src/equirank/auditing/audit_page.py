"""The page: a result becomes one HTML file that needs no network. Nothing is computed here."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from .. import plots
from ..plots.theme import MOST_GROUPS, group_scale, shorten
from ..reports.page import asset, chart_for_page, table_rows, write_page

__all__ = ["render"]


#: The pictures of each attribute: name on the page, function, table that must have rows.
PICTURES: tuple[tuple[str, str, str], ...] = (
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
#: Kinds of notes that stand beside what they are about; all others are listed as data notes.
PLACED = ("warning", "sample", "small", "four_fifths")
#: Names of the data that are longer are cut in sentences.
LONG = 60
#: A bracket in a sentence of the verdict that says how sure it is.
STATISTICS = re.compile(r"(\([^()]*\b(?:interval|permutation)\b[^()]*\)[.,;:]?)")


def render(result: Any) -> str:
    """Write an audit's result as one self-contained page.

    Whatever the page shows stands in the result; nothing is computed. Names from the data are
    escaped wherever they appear, the charts' script is inlined once, and a content security policy
    lets no other script run and nothing be fetched.

    Parameters
    ----------
    result : AuditResult
        Its facts, verdict, tables and notes are shown.

    Returns
    -------
    str
        The page, in HTML.
    """
    said = _shortener(result)
    return write_page(
        asset("audit.html"),
        kind="ranking audit",
        title=result.facts["title"],
        first="verdict",
        library_version=result.facts["library_version"],
        created=result.facts.get("created"),
        tables=result.tables,
        charts=dict(_charts(result)),
        document=json.loads(result.to_json()),
        json_name="audit.json",
        style=asset("audit.css"),
        script=asset("audit.js"),
        facts=result.facts,
        verdict=[_parts(said(sentence)) for sentence in result.verdict],
        notes=[
            note | {"text": said(note["text"])}
            for note in result.notes
            if not any(note["text"] in sentence for sentence in result.verdict)
        ],
        placed=PLACED,
        most_groups=MOST_GROUPS,
        panels=[_panel(result, i, entry) for i, entry in enumerate(_attributes(result))],
        rows={name: _rows(table) for name, table in result.tables.items()},
    )


def _shortener(result: Any) -> Callable[[str], str]:
    """Return a function that cuts the names of the data in a sentence, where they are very long."""
    names = {entry["name"] for entry in _attributes(result)}
    names |= {name for entry in _attributes(result) for name in entry["by"]}
    names |= {group["name"] for entry in _attributes(result) for group in entry["groups"]}
    long = sorted((name for name in names if len(name) > LONG), key=len, reverse=True)

    def said(sentence: str) -> str:
        for name in long:
            sentence = sentence.replace(name, shorten(name, LONG))
        return sentence

    return said


def _parts(sentence: str) -> list[tuple[bool, str]]:
    """Cut a sentence at its bracketed statistics, which the page writes smaller."""
    pieces = STATISTICS.split(sentence)
    return [(at % 2 == 1, piece) for at, piece in enumerate(pieces) if piece]


def _attributes(result: Any) -> list[dict[str, Any]]:
    return list(result.facts["attributes"])


def _rows(table: Any, attribute: str | None = None) -> list[dict[str, Any]]:
    rows = table_rows(table)
    return rows if attribute is None else [row for row in rows if row["attribute"] == attribute]


def _panel(result: Any, index: int, entry: dict[str, Any]) -> dict[str, Any]:
    """Gather the rows of one attribute, in the shape in which the template lays them out."""
    name = entry["name"]
    rows = {
        key: _rows(table, name)
        for key, table in result.tables.items()
        if "attribute" in table.columns
    }
    scale = group_scale(result, name)
    selected: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows["selection"]:
        selected.setdefault(row["group"], {})[row["k"]] = row
    return entry | {
        "index": index,
        "rows": rows,
        "selected": selected,
        "ks": sorted({row["k"] for row in rows["selection"]}),
        "colours": dict(zip(scale["domain"], scale["range"], strict=True)),
    }


def _charts(result: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Draw each picture of each attribute for which there are rows."""
    for index, entry in enumerate(_attributes(result)):
        for key, function, table in PICTURES:
            if _rows(result.tables[table], entry["name"]):
                draw: Callable[..., Any] = getattr(plots, function)
                yield f"{key}-{index}", chart_for_page(draw(result, entry["name"]))
    if _rows(result.tables["comparison"], ""):
        yield "comparison-whole", chart_for_page(plots.comparison(result, ""))
