"""Points with intervals by group and k: what `selection_rates` and `impact_ratios` share."""

from typing import Any

from ..theme import MUTED, SHAPES, altair

__all__ = ["intervals_by_k"]


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
    legend = alt.Legend(labelExpr="'first ' + datum.label", symbolFillColor=MUTED) if many else None
    hue = alt.Color("group:N", legend=None).scale(**scale)
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(ks))]
    shape = alt.Shape("k:N", legend=legend).scale(domain=ks, range=shapes)
    low, high = interval
    ends = x.copy()
    ends.shorthand = f"{low}:Q"
    tips = [alt.Tooltip("group:N", title="group"), alt.Tooltip("k:O", title="first k"), *tips]
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
