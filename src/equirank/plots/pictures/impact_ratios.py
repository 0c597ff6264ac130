"""The selection rate of each group over that of the group selected most."""

from typing import Any

from ..theme import MUTED, altair, attribute_rows, data, dress, group_scale, shorten
from .intervals import intervals_by_k

__all__ = ["impact_ratios"]


def impact_ratios(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw each group's selection rate divided by the highest one, with its interval, for each k.

    No threshold is drawn: rules that ask for these ratios differ, and several set none.

    Parameters
    ----------
    result : AuditResult
        Read from its tables ``selection`` and ``groups``; nothing is computed.
    attribute : str, optional
        Whose groups; by default the first attribute.
    width : int
        Width in pixels.

    Returns
    -------
    altair.Chart
        A point and a bar per group and k; the reference itself, at 1, is left out.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import impact_ratios
    >>> names = {"attribute": ["sex", "sex"], "group": ["f", "m"]}
    >>> table = Table(names | {
    ...     "k": [10, 10], "impact_ratio": [0.43, 1.0], "ratio_low": [0.2, 1.0],
    ...     "ratio_high": [0.9, 1.0], "reference": [False, True], "small_cell": [False, False],
    ... })
    >>> tables = {"selection": table, "groups": Table(names | {"focus": [True, False]})}
    >>> chart = impact_ratios(SimpleNamespace(tables=tables))
    >>> chart.to_dict()["title"]["text"]
    'Impact ratios, by sex'
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
        alt.X("impact_ratio:Q", title="selection rate over the highest")
        .scale(domainMin=0)
        .axis(tickCount=6)
    )
    rows = [row for row in rows if not row["reference"]]
    ks = sorted({row["k"] for row in rows})
    height = (16 * len(ks) + 14) * len({row["group"] for row in rows})
    scale = group_scale(result, attribute)
    one = alt.Chart(data([{"one": 1}])).mark_rule(color=MUTED).encode(x="one:Q")
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
        f"Selection rate of each group of {shorten(attribute)} divided by the highest rate, with "
        "its interval, for each k; 1 means equal rates.",
    )
