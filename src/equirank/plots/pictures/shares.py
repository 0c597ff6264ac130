"""Two shares of each group on one line: what `exposure` and `exposure_merit` have in common."""

from typing import Any

from ..theme import FOCUS, MUTED, altair, data

__all__ = ["two_shares"]


def two_shares(rows: list[dict[str, Any]], start: str, end: str, words: dict[str, str]) -> Any:
    """Draw for each group a hollow point, a filled one, and a line between."""
    alt = altair()
    both = [
        {"group": row["group"], "what": words[key], "value": row[key], "ratio": row["ratio"]}
        for row in rows
        for key in (start, end)
    ]
    y = alt.Y("group:N", title=None, sort=None)
    ends = alt.Chart(data({key: row[key] for key in ("group", start, end)} for row in rows))
    line = ends.mark_rule(strokeWidth=3, opacity=0.45, color=MUTED).encode(
        x=alt.X(f"{start}:Q"), x2=f"{end}:Q", y=y
    )
    domain = [words[start], words[end]]
    points = (
        alt.Chart(data(both))
        .mark_point(size=130, filled=True, opacity=1)
        .encode(
            x=alt.X("value:Q", title="share").scale(padding=12).axis(format=".0%", tickCount=5),
            y=y,
            color=alt.Color("what:N").scale(domain=domain, range=[MUTED, FOCUS]),
            shape=alt.Shape("what:N").scale(domain=domain, range=["diamond", "circle"]),
            tooltip=[
                alt.Tooltip("group:N", title="group"),
                alt.Tooltip("what:N", title="what"),
                alt.Tooltip("value:Q", title="share", format=".1%"),
                alt.Tooltip("ratio:Q", title=f"{words[end]} / {words[start]}", format=".2f"),
            ],
        )
    )
    return alt.layer(line, points)
