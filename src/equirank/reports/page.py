"""The shell of every report: template, style, charts, scripts and content security policy."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from typing import Any

from ..core.environment import require
from ..core.table import Table, table_to_json
from ..plots.export import script_safe, specification, vega_script
from ..plots.theme import INK, MUTED, configuration, shorten
from .number_words import FORMATS
from .provenance import NOT_GIVEN, Provenance

__all__ = ["SIZES", "asset", "chart_for_page", "table_rows", "template_environment", "write_page"]


#: Most rows of a table on a page; the downloads contain all.
MOST_ROWS = 200
#: Positions at which the name of a metric or check may be wrapped.
PIECES = re.compile(r"(?<=[_.(])|(?<=[a-z])(?=[A-Z])")
#: A bracket with statistics in a sentence, which pages set in small type.
STATISTICS = re.compile(r"(\([^()]*\b(?:interval|corrected)\b[^()]*\)[.,;:]?)")
#: Charts with labels next to points are drawn twice, since positions of labels depend on the
#: width: endings of their keys, and sizes.
SIZES: dict[str, dict[str, Any]] = {
    "": {"width": 900, "height": 420}, "@narrow": {"width": 330, "height": 420},
}  # fmt: skip
#: Charts use the colours of the page, light or dark.
PAGE_COLOURS = {"ink": "var(--ink)", "muted": "var(--muted)", "grid": "var(--line)"}


def write_page(
    template: str,
    *,
    kind: str,
    title: str,
    first: str,
    provenance: Provenance,
    tables: Mapping[str, Table],
    charts: Mapping[str, dict[str, Any]],
    document: Mapping[str, Any] | None = None,
    json_name: str,
    script: str = "",
    **values: Any,
) -> str:
    """Return one self-contained page from a template that extends ``shell.html``.

    All text is escaped, the charts' script is inlined once, and a content security policy allows
    only the two scripts, by their hashes, and no requests. Every page has one design: title and
    record, the first section with its sentences and one picture (block ``lead``), sections that are
    always shown (``main``), and everything else folded (``rest``). The template may import
    ``macros.html`` (with context).

    Parameters
    ----------
    template : str
        Text of a jinja2 template, with the filters ``FORMATS``, ``shorten`` and ``breaks``.
    kind, title : str
        The kind of page (``"ranking audit"``) and its title.
    first : str
        Id of the first section, the target of the skip link.
    provenance : Provenance
        The record of the page: its heading is shown at the top, the rest below, folded.
    tables : mapping of str to Table
        Tables to download as CSV; those without rows are omitted.
    charts : mapping of str to dict
        Results of `chart_for_page`, by the keys that the template uses.
    document : mapping, optional
        Object to download as JSON, with ``tables`` in the form of `table_to_json`; by default only
        the record and the tables.
    json_name : str
        Name of the JSON file.
    script : str
        JavaScript of this page. It can use ``all``, ``make``, ``rowsOf``,
        ``spyAll`` and ``beforePrint`` of ``page``.
    **values
        Further values of the template.

    Returns
    -------
    str
        The page, in HTML.
    """
    environment = template_environment()
    raw = environment.filters["safe"]
    running = "\n".join([asset("shell.js"), script, "page.ready();\n"])
    scripts = {"vega": vega_script(), "page": running}
    if document is None:
        document = {
            "provenance": provenance.to_dict(),
            "tables": {name: table_to_json(table) for name, table in tables.items()},
        }
    drawings = {"config": configuration(**PAGE_COLOURS), "charts": dict(charts)}
    return str(
        environment.from_string(template)
        .render(
            kind=kind, title=title, first=first, provenance=provenance, not_given=NOT_GIVEN,
            tables=tables, charts=charts, json_name=json_name, most_rows=MOST_ROWS,
            style=raw(asset("shell.css") + asset("report.css")),
            scripts={name: raw(text) for name, text in scripts.items()},
            hashes=[_hash(text) for text in scripts.values()],
            payload=raw(script_safe(_texts_once(document))),
            drawings=raw(script_safe(drawings)),
            **values,
        )
        .lstrip()
    )  # fmt: skip


def template_environment(read: Callable[[str], str] | None = None) -> Any:
    """Return a jinja2 environment that escapes all text, with the filters of reports.

    Parameters
    ----------
    read : callable, optional
        Returns the text of a template by name; by default `asset`.
    """
    jinja = require("jinja2", "report")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(read or (lambda name: asset(name))),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    raw = environment.filters["safe"]
    # The name of a metric may be wrapped between its parts; joining escapes them.
    breaks = {"breaks": lambda name: raw("<wbr>").join(PIECES.split(name))}
    own = {"shorten": shorten, "statistics": _statistics} | breaks
    environment.filters |= FORMATS | own
    return environment


@cache
def asset(name: str) -> str:
    """Read a file of ``reports/templates``."""
    return (files(__package__ or "") / "templates" / name).read_text(encoding="utf-8")


def chart_for_page(chart: Any) -> dict[str, Any]:
    """Return a chart without title and with the page's colours of text and lines."""
    # Not validated: checking every row against Altair's schema takes seconds; tests do it.
    text = json.dumps(specification(chart, validate=False))
    for name, colour in (("ink", INK), ("muted", MUTED)):
        text = text.replace(f'"{colour}"', f'"{PAGE_COLOURS[name]}"')
    spec: dict[str, Any] = json.loads(text)
    for key in ("config", "title", "$schema"):
        spec.pop(key, None)
    return spec


def table_rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table; numbers that are not finite are None."""
    return [
        {key: None if isinstance(v, float) and not isfinite(v) else v for key, v in row.items()}
        for row in table
    ]


def _statistics(sentence: str) -> list[tuple[bool, str]]:
    """Split a sentence at its bracketed statistics: whether a piece is one, and its text."""
    pieces = STATISTICS.split(sentence)
    return [(at % 2 == 1, piece) for at, piece in enumerate(pieces) if piece]


def _hash(text: str) -> str:
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"


def _texts_once(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with each repeated text of a table stored once, for the page's script."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    for columns in copy["tables"].values():
        for name, column in columns.items():
            if column["type"] == "label":
                codes: dict[Any, int] = {}
                column["codes"] = [
                    codes.setdefault((type(v), v), len(codes)) for v in column.pop("values")
                ]
                columns[name] = column | {"labels": [value for _, value in codes]}
    return copy
