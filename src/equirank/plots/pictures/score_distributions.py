"""Histograms of the scores, one per group."""

from typing import Any

from ..theme import OVERLAID, altair, attribute_rows, data, dress, group_scale, shorten

__all__ = ["score_distributions"]


def score_distributions(
    result: Any, attribute: str | None = None, *, width: int = 640, height: int = 240
) -> Any:
    """Draw how the scores of each group are spread, over bins that all groups share.

    Up to three groups lie over each other; more have a small picture each.

    Parameters
    ----------
    result : AuditResult
        Read from its tables ``scores``, which is empty without scores, and ``groups``; nothing is
        computed.
    attribute : str, optional
        Whose groups; by default the first attribute.
    width, height : int
        Size in pixels of the whole, or of three small pictures side by side.

    Returns
    -------
    altair.Chart
        Histograms; each group's bars sum to 1.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import score_distributions
    >>> names = {"attribute": ["sex", "sex"], "group": ["f", "m"]}
    >>> bins = {"left": [0.0, 0.0], "right": [1.0, 1.0], "share": [1.0, 1.0]}
    >>> tables = {"groups": Table(names | {"focus": [True, False]}), "scores": Table(names | bins)}
    >>> score_distributions(SimpleNamespace(tables=tables)).to_dict()["title"]["text"]
    'Scores, by sex'
    """
    attribute, rows = attribute_rows(result, "scores", attribute)
    alt = altair()
    scale = group_scale(result, attribute)
    together = len(scale["domain"]) <= OVERLAID
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
        alt.Chart().mark_rule(strokeWidth=2).encode(x=x, x2="right:Q", y=y, color=hue),
        data=data({key: row[key] for key in keep} for row in rows),
    )
    if together:
        chart = chart.properties(width=width, height=height)
    else:
        chart = chart.properties(width=width // 3 - 40, height=height // 2).facet(
            facet=alt.Facet("group:N", title=None, sort=scale["domain"]), columns=3
        )
    return dress(
        chart,
        f"Scores, by {shorten(attribute, 40)}",
        f"Histogram of the scores of each group of {shorten(attribute)}, over shared bins.",
    )
