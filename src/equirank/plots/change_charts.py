"""Charts of changes: measures before and after, and two rankings side by side."""

from typing import Any

from ..core.docstrings import describe_as
from ..core.environment import require
from ..core.errors import DataError
from .theme import (
    BETTER,
    INK,
    MUTED,
    SIZED,
    WORSE,
    altair,
    attribute_rows,
    audit_chart,
    data,
    dress,
    shorten,
)  # fmt: skip

__all__ = ["before_after", "comparison"]


@describe_as(SIZED, sections=("Returns",))
def before_after(changes: Any, *, title: str | None = None, width: int = 420) -> Any:
    """Draw each measure before and after, joined by a line in the colour of better or worse.

    Teal means better after the change, plum worse.

    Parameters
    ----------
    changes : Table, data frame or mapping of columns
        Columns ``measure``, ``before``, ``after`` and ``better`` ("lower" or "higher"), such as
        those of ``IFair.changes``.
    width : int
        Width in pixels.

    Examples
    --------
    >>> from equirank.plots import before_after
    >>> changes = {"measure": ["leakage"], "before": [0.3], "after": [0.1], "better": ["lower"]}
    >>> before_after(changes).to_dict()["title"]
    'Before and after'
    """
    columns = changes.to_dict() if hasattr(changes, "to_dict") else dict(changes)
    for name in ("measure", "before", "after", "better"):
        if name not in columns:
            raise DataError(f"changes must have a column {name!r}, got {', '.join(columns)}")
    lists = [
        list(columns[name].values() if isinstance(columns[name], dict) else columns[name])
        for name in ("measure", "before", "after", "better")
    ]
    rows = []
    for measure, before, after, better in zip(*lists, strict=True):
        gain = before - after if better == "lower" else after - before
        word = "better" if gain > 0 else "worse" if gain < 0 else "same"
        label = f"{measure} ({better} is better)"
        rows.append(
            {"measure": label, "before": float(before), "after": float(after), "change": word}
        )
    alt = require("altair", "report")
    y = alt.Y("measure:N", title=None, sort=None).axis(labelLimit=260)
    hue = alt.Color("change:N", title="after is").scale(
        domain=["better", "worse", "same"], range=[BETTER, WORSE, MUTED]
    )
    base = alt.Chart(alt.Data(values=rows))
    tips = [
        "measure:N",
        alt.Tooltip("before:Q", format=".4f"),
        alt.Tooltip("after:Q", format=".4f"),
    ]
    lines = base.mark_rule(strokeWidth=3).encode(x="before:Q", x2="after:Q", y=y, color=hue)
    hollow = base.mark_point(size=110, filled=False, color=MUTED, strokeWidth=2).encode(
        x=alt.X("before:Q", title="before (hollow) and after (filled)"), y=y, tooltip=tips
    )
    filled = base.mark_point(size=130, filled=True, opacity=1).encode(
        x="after:Q", y=y, color=hue, tooltip=tips
    )
    return alt.layer(lines, hollow, filled).properties(
        width=width, height=46 * len(rows), title=title or "Before and after"
    )


#: Names of the two rankings in the legend.
THIS, OTHER = "this ranking", "the other ranking"


@audit_chart("the table ``comparison`` of an audit against another ranking", "Side by side")
def comparison(result: Any, attribute: str | None = None, *, width: int = 420) -> Any:
    """Draw each metric of two rankings side by side, each with its own scale.

    Returns
    -------
    altair.Chart
        A diamond for the other ranking, a circle for the audited one, a line between.
    """
    attribute, rows = attribute_rows(result, "comparison", attribute)
    alt = altair()
    keep = ("value", "other", "difference", "low", "high", "p_value")
    shown = [
        {"metric": _label(row), "audited": THIS, "against": OTHER} | {key: row[key] for key in keep}
        for row in rows
    ]
    tips = [alt.Tooltip("metric:N", title="metric")] + [
        alt.Tooltip(f"{key}:Q", title=title, format=".4~f")
        for key, title in (
            ("value", THIS), ("other", OTHER), ("difference", "difference"),
            ("low", "low"), ("high", "high"), ("p_value", "p"),
        )
    ]  # fmt: skip
    sides = {"domain": [OTHER, THIS], "range": [MUTED, INK]}
    shapes = {"domain": [OTHER, THIS], "range": ["diamond", "circle"]}
    x = (
        alt.X("value:Q", title=None)
        .scale(zero=False, nice=True, padding=14)
        .axis(tickCount=4, labelSeparation=10)
    )
    other = alt.X("other:Q", title=None)
    points = alt.Chart().mark_point(size=120, filled=True, opacity=1)
    layers = alt.layer(
        alt.Chart().mark_rule(strokeWidth=3, opacity=0.45, color=MUTED).encode(x=x, x2="other:Q"),
        *(
            points.encode(
                x=channel,
                color=alt.Color(f"{side}:N").scale(**sides),
                shape=alt.Shape(f"{side}:N").scale(**shapes),
                tooltip=tips,
            )
            for channel, side in ((other, "against"), (x, "audited"))
        ),
        data=data(shown),
    )
    header = alt.Header(labelAngle=0, labelAlign="left", labelOrient="left", labelLimit=170)
    chart = (
        layers.properties(width=width, height=26)
        .facet(
            row=alt.Row(
                "metric:N", sort=[row["metric"] for row in shown], header=header, title=None
            ),
            spacing=14,
        )
        .resolve_scale(x="independent")
    )
    words = f", by {shorten(attribute, 40)}" if attribute else ""
    return dress(
        chart,
        f"Side by side{words}",
        "Each metric of the audited ranking and of the ranking it is compared with, each with its "
        "own scale.",
    )


def _label(row: dict[str, Any]) -> str:
    return f"{row['metric']} ({row['group']})" if row["group"] else str(row["metric"])
