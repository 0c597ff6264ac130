"""Charts of positions: differences, strips, shares by prefix and scores."""

from typing import Any

from . import theme
from .theme import altair, attribute_rows, audit_chart, data, dress, group_scale, shorten

__all__ = ["position_difference", "position_strip", "prefix_shares", "score_distributions"]


@audit_chart("the table ``groups``", "Position difference, by sex")
def position_difference(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw each group's mean position minus that of everyone else, with its interval.

    Returns
    -------
    altair.Chart
        A point and a bar per group; right of 0 means lower in the list. A group without a
        difference has no point.
    """
    attribute, rows = attribute_rows(result, "groups", attribute)
    alt = altair()
    keep = ("group", "position_difference", "position_difference_low", "position_difference_high")
    base = alt.Chart(data({key: row[key] for key in keep} for row in rows))
    y = alt.Y("group:N", title=None, sort=None)
    hue = alt.Color("group:N").scale(**group_scale(result, attribute)).legend(None)
    title = "positions lower than everyone else (negative: higher)"
    tips = [
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("position_difference:Q", title="positions", format="+.2f"),
        alt.Tooltip("position_difference_low:Q", title="low", format="+.2f"),
        alt.Tooltip("position_difference_high:Q", title="high", format="+.2f"),
    ]
    zero = alt.Chart(data([{"zero": 0}])).mark_rule(color=theme.MUTED).encode(x="zero:Q")
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
        f"Position difference, by {shorten(attribute, 40)}",
        f"Mean difference in position of each group of {shorten(attribute)} from everyone else, "
        "with its confidence interval; positive means lower in the list.",
    )


@audit_chart("the table ``strip``, which contains a few lists", "Positions of f, list by list")
def position_strip(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw the positions of one group, one strip per list, to show clusters and tokens.

    Returns
    -------
    altair.Chart
        A tick per person, on a line as long as the list. Tied people share a tick.
    """
    attribute, rows = attribute_rows(result, "strip", attribute)
    alt = altair()
    group = rows[0]["group"]
    keep = ("query", "position", "length")
    shown = [{key: row[key] for key in keep} | {"query": str(row["query"])} for row in rows]
    lists = {row["query"]: {"query": row["query"], "end": row["length"]} for row in shown}
    y = alt.Y("query:N", title=None, sort=None).axis(labelLimit=90)
    x = (
        alt.X("position:Q", title="position in the list (1 is the top)")
        .scale(zero=False, nice=False, padding=8)
        .axis(tickCount=10)
    )
    chart = alt.layer(
        alt.Chart(data({"position": 1} | row for row in lists.values()))
        .mark_rule(color=theme.MUTED, opacity=0.35)
        .encode(x=x, x2="end:Q", y=y),
        alt.Chart(data(shown))
        .mark_tick(color=theme.FOCUS, thickness=2.5, size=15, opacity=0.85)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("query:N", title="list"),
                alt.Tooltip("position:Q", title="position"),
                alt.Tooltip("length:Q", title="of"),
            ],
        ),
    ).properties(width=width, height=22 * len(lists))
    return dress(
        chart,
        f"Positions of {shorten(group, 40)}, list by list",
        f"Positions of the people of {shorten(group)} in {len(lists)} lists, a tick for each.",
    )


@audit_chart("the tables ``prefix_shares`` and ``groups``", "Share in the top k, by sex")
def prefix_shares(
    result: Any, attribute: str | None = None, *, width: int = 640, height: int = 280
) -> Any:
    """Draw the share of each group in the top k, its share of all, and the FA*IR band.

    Up to three groups are overlaid with the band of the group in focus; more groups have a small
    chart each, with its own band.

    Returns
    -------
    altair.Chart
        Lines over k, on a logarithmic axis, since the top positions matter most.
    """
    attribute, rows = attribute_rows(result, "prefix_shares", attribute)
    alt = altair()
    scale = group_scale(result, attribute)
    together = len(scale["domain"]) <= theme.OVERLAID
    focus = scale["domain"][0]
    keep = ("group", "k", "share", "pool_share", "band_low", "band_high")
    rows = [
        {key: row[key] for key in keep} | {"banded": not together or row["group"] == focus}
        for row in rows
    ]
    ticks = _ticks(max(row["k"] for row in rows), (1, 2, 5) if together else (1, 3))
    layers = _layers(alt, scale, together, ticks)
    if together:
        layers += _line_names(alt, rows, scale, height)
    chart = alt.layer(*layers, data=data(rows))
    return dress(
        _overlaid_or_faceted(chart, scale, width, height),
        f"Share in the top k, by {shorten(attribute, 40)}",
        f"Share of each group of {shorten(attribute)} in the top k, for growing k, with its share "
        "of all people as a thin line and the band of chance shaded.",
    )


def _line_names(
    alt: Any, rows: list[dict[str, Any]], scale: dict[str, list[Any]], height: int
) -> list[Any]:
    """Return the names of the lines, at their right ends and without overlaps."""
    ends = {row["group"]: row for row in rows if row["k"] == max(each["k"] for each in rows)}
    highest = max(max(row["share"], row["band_high"] or 0.0) for row in rows) or 1.0
    layers, above = [], float("-inf")
    for group in sorted(ends, key=lambda name: -ends[name]["share"]):
        at = height * (1 - ends[group]["share"] / highest)
        placed = max(at, above + 15)
        above = placed
        hue = scale["range"][scale["domain"].index(group)]
        row = {key: ends[group][key] for key in ("group", "k", "share")}
        layers.append(
            alt.Chart(data([row]))
            .mark_text(
                align="left", dx=6, dy=placed - at, limit=100, fontWeight=600, color=hue
            )
            .encode(x="k:Q", y="share:Q", text="group:N")
        )  # fmt: skip
    return layers


def _overlaid_or_faceted(chart: Any, scale: dict[str, list[Any]], width: int, height: int) -> Any:
    """Return a chart of all groups, or a small one for each group if there are many."""
    if len(scale["domain"]) <= theme.OVERLAID:
        return chart.properties(width=width, height=height)
    facet = altair().Facet("group:N", title=None, sort=scale["domain"])
    return chart.properties(width=width // 3 - 40, height=height // 2).facet(facet=facet, columns=3)


def _dash(alt: Any, scale: dict[str, list[Any]]) -> Any:
    """Return dashes that tell the groups apart without colour."""
    dashes = [theme.DASHES[i % len(theme.DASHES)] for i in range(len(scale["domain"]))]
    return alt.StrokeDash("group:N").scale(domain=scale["domain"], range=dashes).legend(None)


#: The axis of prefixes ends at the last tick to this power, to leave space for names.
NAMES = 1.3


def _ticks(end: int, steps: tuple[int, ...]) -> list[int]:
    """Return the ticks of a logarithmic axis: 1, 2, 5, 10, 20, 50 and so on."""
    ticks = [step * 10**power for power in range(len(str(end))) for step in steps]
    return [tick for tick in ticks if tick <= end]


def _layers(alt: Any, scale: dict[str, list[Any]], together: bool, ticks: list[int]) -> list[Any]:
    x = alt.X("k:Q", title="number of top positions, k").scale(type="log", nice=False)
    x = x.axis(values=ticks)
    if together:  # space for the names of the lines
        x = x.scale(type="log", nice=False, domainMax=max(ticks[-1], 2) ** NAMES)
    y = alt.Y("share:Q", title="share of the group").axis(format=".0%", tickCount=5)
    hue = alt.Color("group:N").scale(**scale)
    dash = _dash(alt, scale)
    hue = hue.legend(None)
    if not together:
        dash = dash.scale(domain=scale["domain"], range=[[1]])
    tips = [
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("k:Q", title="top k"),
        alt.Tooltip("share:Q", title="share", format=".1%"),
        alt.Tooltip("pool_share:Q", title="share of all", format=".1%"),
        alt.Tooltip("band_low:Q", title="band from", format=".1%"),
        alt.Tooltip("band_high:Q", title="band to", format=".1%"),
    ]
    band = alt.Chart().transform_filter("datum.banded && isValid(datum.band_low)")
    return [
        band.mark_area(opacity=0.16, color=scale["range"][0] if together else theme.MUTED).encode(
            x=x, y=alt.Y("band_low:Q"), y2="band_high:Q", detail="group:N"
        ),
        alt.Chart()
        .mark_line(strokeWidth=1, color=theme.MUTED, strokeDash=[2, 3])
        .encode(x=x, y=alt.Y("pool_share:Q"), detail="group:N"),
        alt.Chart().mark_line().encode(x=x, y=y, color=hue, strokeDash=dash),
        alt.Chart().mark_point(size=180, opacity=0, filled=True).encode(x=x, y=y, tooltip=tips),
    ]


@audit_chart("the tables ``scores``, empty without scores, and ``groups``", "Scores, by sex")
def score_distributions(
    result: Any, attribute: str | None = None, *, width: int = 640, height: int = 240
) -> Any:
    """Draw the distribution of scores of each group, over shared bins.

    Up to three groups are overlaid; more have a small chart each.

    Returns
    -------
    altair.Chart
        Histograms; each group's bars sum to 1.
    """
    attribute, rows = attribute_rows(result, "scores", attribute)
    alt = altair()
    scale = group_scale(result, attribute)
    together = len(scale["domain"]) <= theme.OVERLAID
    hue = alt.Color("group:N").scale(**scale)
    hue = hue if together else hue.legend(None)
    x = alt.X("left:Q", title="score").scale(zero=False, nice=False)
    y = alt.Y("share:Q", title="share of the group").axis(format=".0%", tickCount=4)
    tips = [
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("left:Q", title="from", format=".4~g"),
        alt.Tooltip("right:Q", title="to", format=".4~g"),
        alt.Tooltip("share:Q", title="share of the group", format=".1%"),
    ]
    keep = ("group", "left", "right", "share")
    chart = alt.layer(
        alt.Chart()
        .mark_rect(opacity=0.32)
        .encode(x=x, x2="right:Q", y=y, y2=alt.datum(0), color=hue, tooltip=tips),
        alt.Chart()
        .mark_rule(strokeWidth=2)
        .encode(x=x, x2="right:Q", y=y, color=hue, strokeDash=_dash(alt, scale)),
        data=data({key: row[key] for key in keep} for row in rows),
    )
    return dress(
        _overlaid_or_faceted(chart, scale, width, height),
        f"Scores, by {shorten(attribute, 40)}",
        f"Histogram of the scores of each group of {shorten(attribute)}, over shared bins.",
    )
