"""What all pictures share: colours, type, how a table becomes data, how a chart is named."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from ..core.environment import require
from ..core.errors import DataError

__all__ = [
    "DASHES",
    "FOCUS",
    "FONT",
    "INK",
    "MOST_GROUPS",
    "MUTED",
    "OVERLAID",
    "PALETTE",
    "SHAPES",
    "altair",
    "attribute_rows",
    "colours",
    "configuration",
    "data",
    "dress",
    "group_scale",
    "shorten",
]


#: Okabe and Ito's colours, which readers with any kind of colour vision can tell apart, in an order
#: that keeps neighbours far apart; the yellow is darkened so that it can be read on white.
PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b58900", "#8f8f8f", "#7b5ea7",
)  # fmt: skip
#: The group that the pictures look at.
FOCUS = "#d55e00"
#: Colour is never alone: lines differ in dashes and points in shape as well.
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 2), (10, 4), (1, 2), (6, 2, 1, 2))
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
    "triangle-left",
)  # fmt: skip
#: Groups in one picture, the largest ones; tables have them all.
MOST_GROUPS = 24
#: How many groups lie over each other in one picture; beyond, each has a small one of its own.
OVERLAID = 3
INK, MUTED, GRID = "#1f2933", "#5f6c7b", "#e4e8ed"
FONT = '"Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def altair() -> Any:
    """Import Altair, or say which extra brings it."""
    return require("altair", "report")


def shorten(text: Any, width: int = 60) -> str:
    """Cut a long name at a width, with an ellipsis."""
    text = " ".join(str(text).split())
    return text if len(text) <= width else text[: width - 1] + "…"


def data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Make rows the data of a chart; undefined numbers become null."""
    # Altair copies lists again and again while a chart is put together, but leaves tuples alone.
    values = tuple({key: _plain(value) for key, value in row.items()} for row in rows)
    return altair().Data(values=values)


def attribute_rows(
    result: Any, table: str, attribute: str | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """Find the rows of one attribute in one table of a result; without a name, of the first."""
    found = result.tables.get(table)
    if found is None or not len(found):
        raise DataError(f"result must have rows in its table {table!r}, and it has none")
    rows = list(found)
    names = list(dict.fromkeys(row["attribute"] for row in rows))
    if attribute is None:
        attribute = names[0]
    if attribute not in names:
        listed = ", ".join(repr(shorten(name)) for name in names)
        raise DataError(f"attribute must be one of {listed}, got {shorten(attribute)!r}")
    rows = [row for row in rows if row["attribute"] == attribute]
    if len({row.get("group") for row in rows}) > MOST_GROUPS:
        keep = _largest(result, attribute)
        rows = [r for r in rows if r["group"] in keep and r.get("other", r["group"]) in keep]
    return str(attribute), rows


def _largest(result: Any, attribute: str) -> set[str]:
    """Choose the groups that are drawn where there are many: the focus and the largest."""
    rows = [row for row in result.tables["groups"] if row["attribute"] == attribute]
    rows.sort(key=lambda row: (not row["focus"], -row["size"]))
    return {row["group"] for row in rows[:MOST_GROUPS]}


def group_scale(result: Any, attribute: str) -> dict[str, list[Any]]:
    """Return each group of an attribute its colour: the same in all pictures, the focus in vermilion.

    Returns the domain and range of a scale: the group looked at first, the others in their order.
    """
    _, rows = attribute_rows(result, "groups", attribute)
    names = [row["group"] for row in sorted(rows, key=lambda row: not row["focus"])]
    others = [colour for colour in PALETTE if colour != FOCUS]
    if not any(row["focus"] for row in rows):
        return colours(names)
    return {"domain": names, "range": [FOCUS, *(others[i % 7] for i in range(len(names) - 1))]}


def colours(names: Iterable[Any]) -> dict[str, list[Any]]:
    """Return each name its colour, as the domain and range of a scale, in order of appearance."""
    domain = list(dict.fromkeys(names))
    return {"domain": domain, "range": [PALETTE[i % len(PALETTE)] for i in range(len(domain))]}


def dress(chart: Any, title: str, description: str, subtitle: str | list[str] = "") -> Any:
    """Return a chart its title, a description for screen readers, and the house's look."""
    words = {"text": shorten(title, 100), "anchor": "start", "frame": "group", "offset": 12}
    if subtitle:
        words["subtitle"] = subtitle
    chart = chart.properties(title=words, description=description)
    return chart.configure(**configuration())


def configuration(ink: str = INK, muted: str = MUTED, grid: str = GRID) -> dict[str, Any]:
    """Return the Vega-Lite configuration for a set of colours; the page passes style variables."""
    return {
        "background": "transparent" if ink != INK else "#ffffff",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "domainColor": muted, "gridColor": grid, "labelColor": muted, "labelFontSize": 12,
            "labelLimit": 160, "tickColor": grid, "titleColor": ink, "titleFontSize": 12,
            "titleFontWeight": 500, "titleLimit": 420, "titlePadding": 8,
        },
        "axisX": {"grid": False},
        "axisY": {"domain": False, "ticks": False},
        "header": {"labelColor": ink, "labelFontSize": 12, "labelLimit": 200, "title": None},
        "legend": {
            "labelColor": ink, "labelFontSize": 12, "labelLimit": 200, "orient": "top",
            "symbolStrokeWidth": 2.5, "title": None,
        },
        "line": {"strokeWidth": 2.5},
        "range": {"category": list(PALETTE)},
        "text": {"color": ink, "fontSize": 12},
        "title": {
            "color": ink, "fontSize": 16, "fontWeight": 600, "limit": 640, "subtitleColor": muted,
            "subtitleFontSize": 12, "subtitlePadding": 6,
        },
    }  # fmt: skip


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
