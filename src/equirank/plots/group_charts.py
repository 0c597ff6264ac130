"""Charts of groups: exposure, merit, selection rates, impact ratios, pairwise accuracy."""

from collections.abc import Iterable
from math import isfinite
from typing import Any

from ..core.outcomes import decision_words
from . import theme
from .theme import altair, attribute_rows, audit_chart, data, dress, group_scale, shorten

__all__ = [
    "drawn_claims",
    "exposure",
    "exposure_merit",
    "findings",
    "impact_ratios",
    "intervals_by_k",
    "pairwise_accuracy",
    "selection_rates",
    "two_shares",
    "with_ratio",
]


def intervals_by_k(
    source: Any,
    ks: list[int],
    scale: dict[str, list[Any]],
    x: Any,
    interval: tuple[str, str],
    tips: list[Any],
) -> Any:
    """Draw a point and a bar for each group and k; small cells are hollow."""
    alt = altair()
    offset = alt.YOffset("k:O", sort=ks)
    y = alt.Y("group:N", title=None, sort=None)
    many = len(ks) > 1
    legend = (
        alt.Legend(labelExpr="'top ' + datum.label", symbolFillColor=theme.MUTED) if many else None
    )
    hue = alt.Color("group:N", legend=None).scale(**scale)
    shapes = [theme.SHAPES[i % len(theme.SHAPES)] for i in range(len(ks))]
    shape = alt.Shape("k:N", legend=legend).scale(domain=ks, range=shapes)
    low, high = interval
    ends = x.copy()
    ends.shorthand = f"{low}:Q"
    tips = [alt.Tooltip("group:N", title="group"), alt.Tooltip("k:O", title="top k"), *tips]
    base = alt.Chart(source).encode(y=y, yOffset=offset, color=hue)
    bars = base.mark_rule(strokeWidth=3, opacity=0.5, strokeCap="round").encode(
        x=ends, x2=f"{high}:Q"
    )
    points = base.mark_point(size=80, opacity=1, strokeWidth=2).encode(
        x=x,
        shape=shape,
        fill=alt.condition("datum.small_cell", alt.value("transparent"), hue),
        tooltip=tips,
    )
    return alt.layer(bars, points)


def with_ratio(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the table of selection whose group is compared with the reference."""
    return [row for row in rows if not row["reference"] and isfinite(row["impact_ratio"])]


@audit_chart("the tables ``selection`` and ``groups``", "Impact ratios, by sex")
def impact_ratios(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw each group's selection rate divided by that of the reference, with its interval, per k.

    The reference has the highest rate of the groups that are not small. Groups without a ratio are
    not drawn.

    No threshold is drawn, since rules that require these ratios differ and several set none.

    Returns
    -------
    altair.Chart
        A point and a bar per group and k; the reference, at 1, is not drawn.
    """
    attribute, rows = attribute_rows(result, "selection", attribute)
    alt = altair()
    keep = ("group", "k", "impact_ratio", "ratio_low", "ratio_high", "small_cell")
    tips = [
        alt.Tooltip("impact_ratio:Q", title="impact ratio", format=".2f"),
        alt.Tooltip("ratio_low:Q", title="low", format=".2f"),
        alt.Tooltip("ratio_high:Q", title="high", format=".2f"),
    ]
    x = (
        alt.X("impact_ratio:Q", title="selection rate / rate of the reference")
        .scale(domainMin=0)
        .axis(tickCount=6)
    )
    rows = with_ratio(rows)
    ks = sorted({row["k"] for row in rows})
    height = (16 * len(ks) + 14) * len({row["group"] for row in rows})
    scale = group_scale(result, attribute)
    one = alt.Chart(data([{"one": 1}])).mark_rule(color=theme.MUTED).encode(x="one:Q")
    chart = one + intervals_by_k(
        data({key: row[key] for key in keep} for row in rows),
        ks,
        scale,
        x,
        ("ratio_low", "ratio_high"),
        tips,
    )
    return dress(
        chart.properties(width=width, height=height),
        f"Impact ratios, by {shorten(attribute, 40)}",
        f"Selection rate of each group of {shorten(attribute)} divided by that of the "
        "reference, with its interval, for each k; 1 means equal rates.",
    )


#: Numbers are written into the cells up to this many groups; tooltips always have them.
LEGIBLE = 14


@audit_chart("the table ``pairwise``, empty without relevance", "Pairwise accuracy, by sex")
def pairwise_accuracy(result: Any, attribute: str | None = None, *, width: int = 520) -> Any:
    """Draw how often the better of two items is ranked higher, by the groups of the two.

    Returns
    -------
    altair.Chart
        A matrix: the group of the better item down, of the worse one across; 50 % is a coin.
    """
    attribute, rows = attribute_rows(result, "pairwise", attribute)
    alt = altair()
    keep = ("group", "other", "accuracy", "n_pairs")
    shown = [{key: row[key] for key in keep} for row in rows if row["kind"] != "inter"]
    across = len({row["other"] for row in shown})
    down = len({row["group"] for row in shown})
    angle = 0 if across <= 3 else -40
    base = alt.Chart(data(shown)).encode(
        x=alt.X("other:N", title="the worse item is", sort=None)
        .scale(paddingInner=0.04)
        .axis(
            orient="top",
            labelAngle=angle,
            domain=False,
            ticks=False,
            labelLimit=110 if angle == 0 else 90,
        ),
        y=alt.Y("group:N", title="the better item is", sort=None).scale(paddingInner=0.06),
    )
    tips = [
        alt.Tooltip("group:N", title="better item"),
        alt.Tooltip("other:N", title="worse item"),
        alt.Tooltip("accuracy:Q", title="ranked correctly", format=".1%"),
        alt.Tooltip("n_pairs:Q", title="pairs", format=","),
    ]
    cells = base.mark_rect(cornerRadius=4).encode(
        color=alt.Color("accuracy:Q", legend=None).scale(
            domain=[0, 0.5, 1], range=[theme.WORSE, "#f4f1ea", theme.BETTER], interpolate="rgb"
        ),
        tooltip=tips,
    )
    strong = "datum.accuracy > 0.85 || datum.accuracy < 0.15"
    words = base.mark_text(fontSize=14, fontWeight=600).encode(
        text=alt.Text("accuracy:Q", format=".0%"),
        color=alt.condition(strong, alt.value("#ffffff"), alt.value("#1f2933")),
    )
    layers = [cells, words] if across <= LEGIBLE else [cells]
    chart = alt.layer(*layers).properties(width=width, height=52 * down)
    if angle:
        chart = chart.properties(padding={"left": 5, "top": 5, "bottom": 5, "right": 60})
    return dress(
        chart,
        f"Pairwise accuracy, by {shorten(attribute, 40)}",
        f"Matrix over the groups of {shorten(attribute)}: how often the better of two items is "
        "ranked above the worse one; one half is chance.",
    )


@audit_chart("the tables ``selection`` and ``groups``", "Selection rates, by sex")
def selection_rates(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw the share of each group in the top k, with its interval, per k.

    Returns
    -------
    altair.Chart
        A point and a bar per group and k; small cells are hollow.
    """
    attribute, rows = attribute_rows(result, "selection", attribute)
    alt = altair()
    keep = ("group", "k", "selected", "size", "rate", "low", "high", "small_cell")
    tips = [
        alt.Tooltip("selected:Q", title="selected", format=","),
        alt.Tooltip("size:Q", title="of", format=","),
        alt.Tooltip("rate:Q", title="rate", format=".1%"),
        alt.Tooltip("low:Q", title="low", format=".1%"),
        alt.Tooltip("high:Q", title="high", format=".1%"),
    ]
    x = alt.X("rate:Q", title="share of the group in the top k").axis(format=".0%", tickCount=6)
    shown = data({key: row[key] for key in keep} for row in rows)
    ks = sorted({row["k"] for row in rows})
    scale = group_scale(result, attribute)
    height = (16 * len(ks) + 14) * len({row["group"] for row in rows})
    chart = intervals_by_k(shown, ks, scale, x, ("low", "high"), tips)
    return dress(
        chart.properties(width=width, height=height),
        f"Selection rates, by {shorten(attribute, 40)}",
        f"Share of each group of {shorten(attribute)} in the top k, with its confidence interval, "
        "for each k.",
    )


#: Most comparisons in the chart of findings.
MOST_FINDINGS = 8


def findings(result: Any, *, width: int = 460) -> Any:
    """Draw the largest findings of an audit: the share of the group and the share compared with.

    Without findings, the largest comparisons that were tested are drawn.

    Parameters
    ----------
    result : AuditResult
        Provides the claims.
    width : int
        Width in pixels.

    Returns
    -------
    altair.Chart
        Two points per comparison: rates in the top k, shares of exposure and of people, or the
        share of pairs in which the group is ranked above.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import audit
    >>> from equirank.plots import findings
    >>> result = audit(score=np.arange(20), sensitive={"sex": ["f"] * 10 + ["m"] * 10}, k=5)
    >>> findings(result).to_dict()["title"]["text"]
    'Largest findings'
    """
    alt = altair()
    words = ("the group", "compared with")
    rows = [
        {
            "claim": _label(claim),
            "what": word,
            "share": share,
            "first": claim.shares[0],
            "second": claim.shares[1],
            "p": claim.p_family,
        }
        | dict(zip(("low", "high"), _ends(claim), strict=True))
        for claim in drawn_claims(result)
        for word, share in zip(words, claim.shares, strict=True)
    ]
    y = alt.Y("claim:N", title=None, sort=None).axis(labelLimit=240)
    base = alt.Chart(data(rows))
    x = (
        alt.X("share:Q", title=["share of people, pairs,", "exposure or gain"])
        .scale(domainMin=0)
        .axis(format=".0%", tickCount=5)
    )
    line = base.mark_rule(strokeWidth=1, color=theme.MUTED).encode(
        x=alt.X("first:Q"), x2="second:Q", y=y
    )
    known = [row for row in rows if row["low"] is not None]
    bars = (
        alt.Chart(data(known))
        .mark_rule(strokeWidth=4, opacity=0.6, color=theme.INK)
        .encode(x=alt.X("low:Q"), x2="high:Q", y=y)
    )
    points = base.mark_point(size=70, filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color("what:N")
        .legend(columns=1)
        .scale(domain=words[::-1], range=[theme.MUTED, theme.INK]),
        shape=alt.Shape("what:N")
        .legend(columns=1)
        .scale(domain=words[::-1], range=["diamond", "circle"]),
        tooltip=[
            alt.Tooltip("claim:N", title="comparison"),
            alt.Tooltip("what:N", title="who"),
            alt.Tooltip("share:Q", title="share", format=".1%"),
            alt.Tooltip("p:Q", title="p, whole report", format=".3f"),
        ],
    )
    title = "Largest findings" if result.findings else "Largest differences, none of them a finding"
    return dress(
        alt.layer(line, *([bars] if known else []), points).properties(
            width=width, height=34 * max(len(rows) // 2, 1)
        ),
        title,
        "For each comparison the share of the group, with its confidence interval, and the share "
        "it is compared with.",
    )


def drawn_claims(result: Any) -> list[Any]:
    """Return the claims that `findings` draws: the findings, else the largest undecided ones."""
    undecided = [claim for claim in result.claims if claim.tells_estimate]
    found = result.findings or sorted(undecided, key=lambda claim: -claim.size)
    return list(found[:MOST_FINDINGS])


def _ends(claim: Any) -> tuple[float | None, float | None]:
    """Return the interval of a claim around the share of the group; none if it is of another unit.

    The interval of a ratio is multiplied by the share that the group is compared with, and cut at
    1, the largest share.
    """
    own = (claim.unit, claim.estimate, claim.low, claim.high)
    for unit, *numbers in (own, *((unit, *also[:3]) for unit, also in claim.also.items())):
        if unit in ("chance", "share", "ratio"):
            factor = claim.shares[1] if unit == "ratio" else 1.0
            estimate, low, high = (factor * value for value in numbers)
            if abs(estimate - claim.shares[0]) < 0.02 and isfinite(low) and isfinite(high):
                return max(low, 0.0), min(high, 1.0)
    return None, None


def _label(claim: Any) -> str:
    """Return the group and what is compared, for an axis."""
    decided = decision_words(claim.scope) if claim.quantity.endswith("selected") else ""
    what = {
        "selected": decided,
        "change of selected": f"change in {decided}",
        "scored": "above the median score",
        "position": "ranked above",
        "merit": "ranked above",
        "change of position": "change of ranked above",
    }.get(claim.quantity, claim.quantity)
    given = claim.scope.get("given")
    return shorten(f"{claim.group}: {what}" + (f", given {given}" if given else ""), 60)


def two_shares(
    rows: list[dict[str, Any]],
    words: dict[str, str],
    width: int,
    title: str,
    attribute: str,
    scale: dict[str, list[Any]],
) -> Any:
    """Draw two points per group with a line between them; words names the two columns.

    The second point has the colour of the group, and its interval if the rows have low and high.
    """
    alt = altair()
    start, end = words
    both = [
        {"group": row["group"], "what": words[key], "value": row[key], "ratio": row["ratio"]}
        for row in rows
        for key in (start, end)
    ]
    y = alt.Y("group:N", title=None, sort=None)
    hue = alt.Color("group:N").scale(**scale).legend(None)
    keep = ("group", start, end, "low", "high")
    ends = alt.Chart(data({key: row.get(key) for key in keep} for row in rows)).encode(y=y)
    line = ends.mark_rule(strokeWidth=1, color=theme.MUTED).encode(
        x=alt.X(f"{start}:Q"), x2=f"{end}:Q"
    )
    bars = ends.mark_rule(strokeWidth=4, opacity=0.6).encode(
        x=alt.X("low:Q"), x2="high:Q", color=hue
    )
    known = any(row.get("low") is not None and isfinite(row["low"]) for row in rows)
    shown = alt.Shape("what:N").scale(domain=list(words.values()), range=["diamond", "circle"])
    points = (
        alt.Chart(data(both))
        .mark_point(size=80, filled=True, opacity=1)
        .encode(
            x=alt.X("value:Q", title=f"share of all {_of(words)}")
            .scale(padding=12)
            .axis(format=".0%", tickCount=5),
            y=y,
            color=alt.condition(f"datum.what == '{words[start]}'", alt.value(theme.MUTED), hue),
            shape=shown,
            tooltip=[
                alt.Tooltip("group:N", title="group"),
                alt.Tooltip("what:N", title="what"),
                alt.Tooltip("value:Q", title="share", format=".1%"),
                alt.Tooltip("ratio:Q", title=f"{words[end]} / {words[start]}", format=".2f"),
            ],
        )
    )
    layers = alt.layer(line, *([bars] if known else []), points)
    return dress(
        layers.properties(width=width, height=34 * len(rows)),
        f"{title}, by {shorten(attribute, 40)}",
        f"Share of all exposure that each group of {shorten(attribute)} receives, and its "
        f"{words[start].replace('merit', 'all relevance')}.",
    )


def _of(words: dict[str, str]) -> str:
    """Return what the shares of two columns are of, for an axis."""
    return " and ".join(
        word.removeprefix("share of ").removeprefix("all ") for word in words.values()
    )


@audit_chart("the table ``groups``", "Share of exposure, by sex")
def exposure(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw each group's share of exposure and its share of all people.

    Returns
    -------
    altair.Chart
        Two points per group; a circle left of its diamond means less exposure than people.
    """
    attribute, rows = attribute_rows(result, "groups", attribute)
    rows = [
        row
        | {"ratio": row["exposure_per_item"]}
        | {"low": row["exposure_low"], "high": row["exposure_high"]}
        for row in rows
    ]
    words = {"share": "share of all people", "exposure": "share of exposure"}
    return two_shares(
        rows, words, width, "Share of exposure", attribute, group_scale(result, attribute)
    )


@audit_chart("the table ``exposure_merit``, empty without relevance", "Exposure and merit, by sex")
def exposure_merit(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw each group's share of exposure and its share of merit.

    Returns
    -------
    altair.Chart
        As of `exposure`, with merit in place of people.
    """
    attribute, rows = attribute_rows(result, "exposure_merit", attribute)
    words = {"merit_share": "share of merit", "exposure_share": "share of exposure"}
    rows = [{key: row[key] for key in ("group", "ratio", *words)} for row in rows]
    scale = group_scale(result, attribute)
    return two_shares(rows, words, width, "Exposure and merit", attribute, scale)
