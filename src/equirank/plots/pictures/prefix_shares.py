"""The share of each group among the first k places."""

from typing import Any

from ..theme import (
    DASHES,
    FOCUS,
    MUTED,
    OVERLAID,
    altair,
    attribute_rows,
    data,
    dress,
    group_scale,
    shorten,
)  # fmt: skip

__all__ = ["prefix_shares"]


def prefix_shares(
    result: Any, attribute: str | None = None, *, width: int = 640, height: int = 280
) -> Any:
    """Draw the share of each group among the first k places, its share of all, and the FA*IR band.

    Up to three groups lie over each other and the band is that of the group looked at; more groups
    have a small picture each, with a band of their own.

    Parameters
    ----------
    result : AuditResult
        Read from its tables ``prefix_shares`` and ``groups``; nothing is computed.
    attribute : str, optional
        Whose groups; by default the first attribute.
    width, height : int
        Size in pixels of the whole, or of three small pictures side by side.

    Returns
    -------
    altair.Chart
        Lines over k, on a logarithmic axis since the first places matter most.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import prefix_shares
    >>> names = {"attribute": ["sex", "sex"], "group": ["f", "m"]}
    >>> shares = {"k": [1, 1], "share": [0.0, 1.0], "pool_share": [0.5, 0.5]}
    >>> band = {"band_low": [0.0, None], "band_high": [1.0, None]}
    >>> tables = {
    ...     "groups": Table(names | {"focus": [True, False]}),
    ...     "prefix_shares": Table(names | shares | band),
    ... }
    >>> prefix_shares(SimpleNamespace(tables=tables)).to_dict()["title"]["text"]
    'Share among the first k, by sex'
    """
    attribute, rows = attribute_rows(result, "prefix_shares", attribute)
    alt = altair()
    scale = group_scale(result, attribute)
    together = len(scale["domain"]) <= OVERLAID
    focus = scale["domain"][0]
    keep = ("group", "k", "share", "pool_share", "band_low", "band_high")
    rows = [
        {key: row[key] for key in keep} | {"banded": not together or row["group"] == focus}
        for row in rows
    ]
    ticks = _ticks(max(row["k"] for row in rows), (1, 2, 5) if together else (1, 3))
    chart = alt.layer(*_layers(alt, scale, together, ticks), data=data(rows))
    if together:
        chart = chart.properties(width=width, height=height)
    else:
        chart = chart.properties(width=width // 3 - 40, height=height // 2).facet(
            facet=alt.Facet("group:N", title=None, sort=scale["domain"]), columns=3
        )
    return dress(
        chart,
        f"Share among the first k, by {shorten(attribute, 40)}",
        f"Share of each group of {shorten(attribute)} among the first k places, for growing k, "
        "with its share of everybody as a thin line and the band that chance allows shaded.",
    )


def _ticks(end: int, steps: tuple[int, ...]) -> list[int]:
    """Places on a logarithmic axis that readers know: 1, 2, 5, 10, 20, 50 and so on."""
    places = [step * 10**power for power in range(len(str(end))) for step in steps]
    return [place for place in places if place <= end]


def _layers(alt: Any, scale: dict[str, list[Any]], together: bool, ticks: list[int]) -> list[Any]:
    x = alt.X("k:Q", title="first k places").scale(type="log", nice=False).axis(values=ticks)
    y = alt.Y("share:Q", title="share of the group").axis(format=".0%", tickCount=5)
    hue = alt.Color("group:N").scale(**scale)
    dashes = [DASHES[i % len(DASHES)] for i in range(len(scale["domain"]))]
    dash = alt.StrokeDash("group:N").scale(domain=scale["domain"], range=dashes)
    if not together:
        hue, dash = hue.legend(None), dash.legend(None).scale(domain=scale["domain"], range=[[1]])
    tips = [
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("k:Q", title="first k"),
        alt.Tooltip("share:Q", title="share", format=".1%"),
        alt.Tooltip("pool_share:Q", title="share of all", format=".1%"),
        alt.Tooltip("band_low:Q", title="band from", format=".1%"),
        alt.Tooltip("band_high:Q", title="band to", format=".1%"),
    ]
    band = alt.Chart().transform_filter("datum.banded && isValid(datum.band_low)")
    return [
        band.mark_area(opacity=0.16, color=FOCUS if together else MUTED).encode(
            x=x, y=alt.Y("band_low:Q"), y2="band_high:Q", detail="group:N"
        ),
        alt.Chart()
        .mark_line(strokeWidth=1, color=MUTED, strokeDash=[2, 3])
        .encode(x=x, y=alt.Y("pool_share:Q"), detail="group:N"),
        alt.Chart().mark_line().encode(x=x, y=y, color=hue, strokeDash=dash),
        alt.Chart().mark_point(size=180, opacity=0, filled=True).encode(x=x, y=y, tooltip=tips),
    ]
