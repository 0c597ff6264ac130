"""Colours, fonts, data and titles that all charts share."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, TypeVar

from ..core.environment import require
from ..core.errors import DataError

__all__ = [
    "BETTER",
    "DASHES",
    "FOCUS",
    "FONT",
    "INK",
    "METHOD",
    "MOST_GROUPS",
    "MUTED",
    "OVERLAID",
    "PALETTE",
    "SHAPES",
    "WORSE",
    "altair",
    "attribute_rows",
    "audit_chart",
    "colours",
    "configuration",
    "data",
    "dress",
    "group_scale",
    "shorten",
]


# A colour means one thing in all charts: vermilion is the protected group (or the one in focus),
# the other colours of the palette are other groups, or series where no groups are drawn; purple
# is a method; plum and teal are worse and better. Two sides of a comparison are ink and grey.

#: Okabe and Ito's colours, distinguishable with any colour vision, in an order that separates
#: similar ones; the yellow is darkened for white backgrounds.
PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b58900", "#8f8f8f",
)  # fmt: skip
#: Colour of the protected group, or of the group in focus.
FOCUS = "#d55e00"
#: Colour of methods, remedies and candidates.
METHOD = "#7b5ea7"
#: Colours of above and below chance, better and worse.
BETTER, WORSE = "#3b7a80", "#8e3b6b"
#: Lines also differ in dashes and points in shape, not only in colour.
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 2), (10, 4), (1, 2), (6, 2, 1, 2))
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
    "triangle-left",
)  # fmt: skip
#: Most groups in one chart, the largest ones; tables contain all.
MOST_GROUPS = 24
#: Most groups that are overlaid in one chart; more groups have a small chart each.
OVERLAID = 3
INK, MUTED, GRID = "#1f2933", "#5f6c7b", "#e4e8ed"
FONT = '"Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


Chart = TypeVar("Chart", bound=Callable[..., Any])


#: Parameters and example that all charts of an audit share.
SHARED = """
    Parameters
    ----------
    result : AuditResult
        Provides {tables}.
    attribute : str, optional
        Whose groups; by default the first attribute.
    {size}

    Returns
{returns}
    Examples
    --------
    >>> from equirank import audit
    >>> from equirank.plots import {name}
    >>> people = {{"sex": ["m", "f", "m", "f"], "score": [4, 3, 2, 1], "relevance": [1, 1, 0, 0]}}
    >>> people |= {{"id": [1, 2, 3, 4]}}
    >>> other = people | {{"score": [1, 2, 3, 4]}}
    >>> few = {{"n_boot": 20, "n_permutations": 20}}
    >>> result = audit(people, sensitive="sex", relevance="relevance", id="id",
    ...                against=other, k=2, **few)
    >>> {name}(result).to_dict()["title"]["text"]
    {title!r}
    """


def audit_chart(tables: str, title: str) -> Callable[[Chart], Chart]:
    """Return a decorator that documents the parameters that all charts of an audit share.

    Parameters
    ----------
    tables : str
        The tables of the result that are read.
    title : str
        Title of the chart in the example.
    """

    def documented(function: Chart) -> Chart:
        size = "width : int\n        Width in pixels."
        if "height" in inspect.signature(function).parameters:
            size = (
                "width, height : int\n"
                "        Size in pixels of the whole, or of three small charts side by side."
            )
        summary, _, returns = (function.__doc__ or "").partition("\n    Returns\n")
        words = {"tables": tables, "size": size, "returns": returns.rstrip(" ")}
        function.__doc__ = summary + SHARED.format(name=function.__name__, title=title, **words)
        return function

    return documented


def altair() -> Any:
    """Return Altair, or raise an error that names the extra."""
    return require("altair", "report")


def shorten(text: Any, width: int = 60) -> str:
    """Return a text cut at a width, with an ellipsis."""
    text = " ".join(str(text).split())
    return text if len(text) <= width else text[: width - 1] + "…"


def data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as the data of a chart; undefined numbers are null."""
    # Altair copies lists repeatedly while a chart is built, but not tuples.
    values = tuple({key: _plain(value) for key, value in row.items()} for row in rows)
    return altair().Data(values=values)


def attribute_rows(
    result: Any, table: str, attribute: str | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """Return the rows of an attribute in a table of a result; by default of the first."""
    found = result.tables.get(table)
    if found is None or not len(found):
        raise DataError(f"result must have rows in its table {table!r}, got none")
    rows = list(found)
    names = list(dict.fromkeys(row["attribute"] for row in rows))
    if attribute is None:
        attribute = names[0]
    if attribute not in names:
        listed = ", ".join(repr(shorten(name)) for name in names)
        raise DataError(f"attribute must be one of {listed}, got {shorten(attribute)!r}")
    rows = [row for row in rows if row["attribute"] == attribute]
    if len({row.get("group") for row in rows}) > MOST_GROUPS:
        drawn = _largest(result, attribute)
        rows = [r for r in rows if r["group"] in drawn and r.get("other", r["group"]) in drawn]
    return str(attribute), rows


def _largest(result: Any, attribute: str) -> set[str]:
    """Return the groups to draw if there are many: the focus and the largest."""
    rows = [row for row in result.tables["groups"] if row["attribute"] == attribute]
    rows.sort(key=lambda row: (not row["focus"], -row["size"]))
    return {row["group"] for row in rows[:MOST_GROUPS]}


def group_scale(result: Any, attribute: str) -> dict[str, list[Any]]:
    """Return the colours of an attribute's groups, equal in all charts, the focus in vermilion.

    The result is the domain and range of a scale, with the focus first.
    """
    _, rows = attribute_rows(result, "groups", attribute)
    names = [row["group"] for row in sorted(rows, key=lambda row: not row["focus"])]
    if not any(row["focus"] for row in rows):
        return colours(names)
    return {"domain": names, "range": [FOCUS, *colours(names[1:])["range"]]}


def colours(names: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the colours of names, as domain and range of a scale; vermilion is not among them."""
    domain = list(dict.fromkeys(names))
    rest = [colour for colour in PALETTE if colour != FOCUS]
    return {"domain": domain, "range": [rest[i % len(rest)] for i in range(len(domain))]}


#: Parameters that charts share, and what they return.
SIZED = """Draw a chart.

Parameters
----------
title : str, optional
    The title.
width, height : int
    Size in pixels.

Returns
-------
altair.LayerChart
"""


def dress(chart: Any, title: str, description: str, subtitle: str | list[str] = "") -> Any:
    """Return a chart with its title, a description for screen readers, and the theme."""
    words = {"text": shorten(title, 100), "anchor": "start", "frame": "group", "offset": 12}
    if subtitle:
        words["subtitle"] = subtitle
    chart = chart.properties(title=words, description=description)
    return chart.configure(**configuration())


def configuration(ink: str = INK, muted: str = MUTED, grid: str = GRID) -> dict[str, Any]:
    """Return the Vega-Lite configuration for a set of colours; pages pass CSS variables."""
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
        "range": {"category": [colour for colour in PALETTE if colour != FOCUS]},
        "text": {"color": ink, "fontSize": 12},
        "title": {
            "color": ink, "fontSize": 16, "fontWeight": 600, "limit": 640, "subtitleColor": muted,
            "subtitleFontSize": 12, "subtitlePadding": 6,
        },
    }  # fmt: skip


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
