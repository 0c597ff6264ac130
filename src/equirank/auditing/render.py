"""The page: a result becomes one HTML file that needs no network. Nothing is computed here."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from typing import Any

from .. import plots
from ..core.extras import require
from ..plots.saving import script_safe, vega_script
from ..plots.theme import MOST_GROUPS, MUTED, configuration, group_scale, shorten
from .report.formats import FORMATS

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
#: Rows of a table that the page shows; the downloads have all.
MOST_ROWS = 200
#: Where the name of a metric or check may be broken into lines.
PIECES = re.compile(r"(?<=[_.(])|(?<=[a-z])(?=[A-Z])")
#: A bracket in a sentence of the verdict that says how sure it is.
STATISTICS = re.compile(r"(\([^()]*\b(?:interval|permutation)\b[^()]*\)[.,;:]?)")
#: On the page the colours of a chart follow the page, light or dark.
PAGE_COLOURS = {"ink": "var(--ink)", "muted": "var(--muted)", "grid": "var(--line)"}


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
    jinja = require("jinja2", "report")
    charts = dict(_charts(result))
    scripts = {"vega": vega_script(), "page": _asset("page.js")}
    environment = jinja.Environment(
        autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    raw = environment.filters["safe"]
    # The pieces of a metric's name may stand on several lines; joining escapes them.
    breaks = {"breaks": lambda name: raw("<wbr>").join(PIECES.split(name))}
    environment.filters |= FORMATS | {"shorten": shorten} | breaks
    said = _shortener(result)
    return str(
        environment.from_string(_asset("page.html"))
        .render(
            facts=result.facts,
            verdict=[_parts(said(sentence)) for sentence in result.verdict],
            notes=[
                note | {"text": said(note["text"])}
                for note in result.notes
                if not any(note["text"] in sentence for sentence in result.verdict)
            ],
            placed=PLACED,
            most_rows=MOST_ROWS,
            most_groups=MOST_GROUPS,
            panels=[_panel(result, i, entry) for i, entry in enumerate(_attributes(result))],
            tables=result.tables,
            rows={name: _rows(table) for name, table in result.tables.items()},
            charts=charts,
            style=raw(_asset("page.css")),
            scripts={name: raw(text) for name, text in scripts.items()},
            hashes=[_hash(text) for text in scripts.values()],
            payload=raw(script_safe(_document(result))),
            drawings=raw(script_safe({"config": configuration(**PAGE_COLOURS), "charts": charts})),
        )
        .lstrip()
    )


def _shortener(result: Any) -> Callable[[str], str]:
    """Give a function that cuts the names of the data in a sentence, where they are very long."""
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


def _asset(name: str) -> str:
    return (files(__package__) / "report" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"


def _attributes(result: Any) -> list[dict[str, Any]]:
    return list(result.facts["attributes"])


def _document(result: Any) -> dict[str, Any]:
    """Give what the page offers for download: the result's own JSON, repeated texts kept once."""
    document: dict[str, Any] = json.loads(result.to_json())
    for columns in document["tables"].values():
        for name, column in columns.items():
            if column["type"] == "label":
                codes: dict[Any, int] = {}
                column["codes"] = [
                    codes.setdefault((type(v), v), len(codes)) for v in column.pop("values")
                ]
                columns[name] = column | {"labels": [value for _, value in codes]}
    return document


def _rows(table: Any, attribute: str | None = None) -> list[dict[str, Any]]:
    return [
        {key: None if isinstance(v, float) and not isfinite(v) else v for key, v in row.items()}
        for row in table
        if attribute is None or row["attribute"] == attribute
    ]


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
                yield f"{key}-{index}", _for_page(draw(result, entry["name"]))
    if _rows(result.tables["comparison"], ""):
        yield "comparison-whole", _for_page(plots.comparison(result, ""))


def _for_page(chart: Any) -> dict[str, Any]:
    """Leave the title to the page, and the colours of text and lines to its style."""
    # Not validated: checking every row against Altair's schema takes seconds, and tests do it.
    text = json.dumps(chart.to_dict(validate=False))
    spec: dict[str, Any] = json.loads(text.replace(MUTED, PAGE_COLOURS["muted"]))
    for key in ("config", "title", "$schema"):
        spec.pop(key, None)
    return spec
