"""The tables of docs/properties.md, computed by the property bench when the pages are built."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from equirank.metrics.properties import bench, scenario_names
from equirank.metrics.properties.property_bench import CHECKS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: What the page has in place of each table.
MARKS = {"metrics": "<!-- table of metrics -->", "checks": "<!-- table of checks -->"}


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the tables into the page of properties."""
    if page == "properties":
        logging.getLogger("equirank").setLevel(logging.WARNING)
        for name, text in tables().items():
            source[0] = source[0].replace(MARKS[name], text)


def tables(metrics: Any = None) -> dict[str, str]:
    """Return the tables of metrics and of checks in Markdown."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in bench(metrics):
        rows.setdefault(row["metric"], []).append(row)
    names = scenario_names()
    head = [f"| metric | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    lines = {name: [*head] for name in MARKS}
    for name, cells in rows.items():
        text = " | ".join(_cell(row["effect"], row["detected"]) for row in cells)
        lines["checks" if name in CHECKS else "metrics"].append(f"| `{name}` | {text} |")
    return {name: "\n".join(text) for name, text in lines.items()}


def _cell(effect: float, detected: bool) -> str:
    text = "." if effect == 0 else f"{effect:.2f}"
    return f"**{text}**" if detected else text
