"""Margin loss and generalisation bound of rankers, over the margin."""

from collections.abc import Mapping
from typing import Any

from ...core.errors import DataError
from ..theme import DASHES, INK, MUTED, altair, colours, data, dress, shorten

__all__ = ["margin_bounds"]

#: Bounds are drawn up to here; above 1 they say nothing anyway.
TOP = 1.25
NEEDED = ("rho", "error", "margin_loss", "bound", "vacuous")


def margin_bounds(
    reports: Any, *, title: str | None = None, width: int = 520, height: int = 300
) -> Any:
    """Draw what a ranker's margins promise: margin loss below, bound above, over the margin rho.

    The dotted line at the bottom is the share of pairs ranked wrongly. From 1 on, the grey part, a
    bound says nothing; it is cut off a little above. The lowest bound is marked. Nothing is
    computed.

    Parameters
    ----------
    reports : Table or mapping of str to Table
        What `equirank.theory.margin_report` gives, of one ranker or of several by name.
    title : str, optional
        The title.
    width, height : int
        Size in pixels.

    Returns
    -------
    altair.Chart
        Lines over rho, on a logarithmic axis.

    Examples
    --------
    >>> from equirank.core.table import Table
    >>> from equirank.plots import margin_bounds
    >>> report = Table(
    ...     {"rho": [0.1, 1.0], "error": [0.1, 0.1], "margin_loss": [0.2, 0.8]}
    ...     | {"bound": [0.9, 1.1], "vacuous": [False, True]}
    ... )
    >>> margin_bounds(report).to_dict()["title"]["text"]
    'What the margins promise of unseen pairs'
    """
    alt = altair()
    rows = [row for name, report in _named(reports).items() for row in _rows(name, report)]
    names = list(dict.fromkeys(row["ranker"] for row in rows))
    hue = alt.Color("ranker:N").scale(**colours(names))
    hue = hue.legend(None) if len(names) == 1 else hue
    x = alt.X("rho:Q", title="margin rho").scale(type="log", nice=False)
    y = (
        alt.Y("value:Q", title="share of pairs")
        .scale(domain=[0, TOP], nice=False)
        .axis(format=".0%")
    )
    kinds = ["bound", "margin loss", "error"]
    dash = alt.StrokeDash("kind:N", sort=kinds).scale(
        domain=kinds, range=[list(DASHES[0]), list(DASHES[1]), list(DASHES[2])]
    )
    tips = [
        alt.Tooltip("ranker:N", title="ranker"),
        alt.Tooltip("kind:N", title="line"),
        alt.Tooltip("rho:Q", title="rho", format=".3f"),
        alt.Tooltip("value:Q", title="share", format=".3f"),
    ]
    nothing = alt.Chart(alt.Data(values=[{"low": 1.0, "high": TOP}]))
    layers = [
        nothing.mark_rect(color=MUTED, opacity=0.12).encode(y="low:Q", y2="high:Q"),
        nothing.mark_text(text="says nothing", color=MUTED, align="left", dx=6, dy=12).encode(
            y="high:Q", x=alt.value(0)
        ),
        alt.Chart().mark_line(clip=True).encode(x=x, y=y, color=hue, strokeDash=dash),
        alt.Chart()
        .mark_point(size=140, opacity=0, filled=True, clip=True)
        .encode(x=x, y=y, tooltip=tips),
        alt.Chart()
        .transform_filter("datum.best")
        .mark_point(size=90, filled=True, opacity=1, stroke=INK)
        .encode(x=x, y=y, color=hue, tooltip=tips),
    ]
    chart = alt.layer(*layers, data=data(rows)).properties(width=width, height=height)
    return dress(
        chart,
        title or "What the margins promise of unseen pairs",
        "Share of pairs below a margin, and the bound on the share of unseen pairs ranked wrongly "
        f"that it gives, for growing margins, of {', '.join(shorten(name, 40) for name in names)}.",
    )


def _named(reports: Any) -> dict[str, Any]:
    one = not isinstance(reports, Mapping) or "rho" in reports
    found = {"ranker": reports} if one else dict(reports)
    if not found:
        raise DataError("reports must hold at least one report")
    return {str(name): report for name, report in found.items()}


def _rows(name: str, report: Any) -> list[dict[str, Any]]:
    """Give a row per margin and line of one report."""
    columns = {}
    for column in NEEDED:
        try:
            columns[column] = list(report[column])
        except (KeyError, TypeError):
            raise DataError(
                f"report of {name!r} must have the column {column!r}, as margin_report gives it"
            ) from None
    if not columns["rho"]:
        raise DataError(f"report of {name!r} must have at least one margin")
    best = min(range(len(columns["rho"])), key=lambda at: columns["bound"][at])
    lines = {"bound": "bound", "margin loss": "margin_loss", "error": "error"}
    return [
        {
            "ranker": name,
            "kind": kind,
            "rho": float(columns["rho"][at]),
            "value": float(columns[column][at]),
            "best": kind == "bound" and at == best and not columns["vacuous"][at],
        }
        for kind, column in lines.items()
        for at in range(len(columns["rho"]))
    ]
