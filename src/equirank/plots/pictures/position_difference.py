"""How many places each group stands below or above the others."""

from typing import Any

from ..theme import MUTED, altair, attribute_rows, data, dress, group_scale, shorten

__all__ = ["position_difference"]


def position_difference(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw how many places each group stands from the others on average, with its interval.

    Parameters
    ----------
    result : AuditResult
        Read from its table ``groups``; nothing is computed.
    attribute : str, optional
        Whose groups; by default the first attribute.
    width : int
        Width in pixels.

    Returns
    -------
    altair.Chart
        A point and a bar per group; right of 0 means further down the list. A group without a
        difference has no point.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import position_difference
    >>> groups = Table({
    ...     "attribute": ["sex", "sex"], "group": ["f", "m"], "focus": [True, False],
    ...     "position_difference": [3.0, -3.0], "position_difference_low": [1.0, -5.0],
    ...     "position_difference_high": [5.0, -1.0],
    ... })
    >>> position_difference(SimpleNamespace(tables={"groups": groups})).to_dict()["title"]["text"]
    'Places from the others, by sex'
    """
    attribute, rows = attribute_rows(result, "groups", attribute)
    alt = altair()
    keep = ("group", "position_difference", "position_difference_low", "position_difference_high")
    base = alt.Chart(data({key: row[key] for key in keep} for row in rows))
    y = alt.Y("group:N", title=None, sort=None)
    hue = alt.Color("group:N").scale(**group_scale(result, attribute)).legend(None)
    title = "places below the others (negative: above)"
    tips = [
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("position_difference:Q", title="places", format="+.2f"),
        alt.Tooltip("position_difference_low:Q", title="low", format="+.2f"),
        alt.Tooltip("position_difference_high:Q", title="high", format="+.2f"),
    ]
    zero = alt.Chart(data([{"zero": 0}])).mark_rule(color=MUTED).encode(x="zero:Q")
    bars = base.mark_rule(strokeWidth=3, opacity=0.55, strokeCap="round").encode(
        x=alt.X("position_difference_low:Q", title=title).scale(padding=16).axis(tickCount=8),
        x2="position_difference_high:Q",
        y=y,
        color=hue,
    )
    points = base.mark_point(filled=True, size=110, opacity=1).encode(
        x=alt.X("position_difference:Q", title=title), y=y, color=hue, tooltip=tips
    )
    chart = alt.layer(zero, bars, points).properties(width=width, height=34 * len(rows))
    return dress(
        chart,
        f"Places from the others, by {shorten(attribute, 40)}",
        f"Mean difference in position of each group of {shorten(attribute)} from all others, "
        "with its interval; positive means further down the list.",
    )
