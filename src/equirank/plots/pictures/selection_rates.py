"""How many of each group are among the first k."""

from typing import Any

from ..theme import altair, attribute_rows, data, dress, group_scale, shorten
from .intervals import intervals_by_k

__all__ = ["selection_rates"]


def selection_rates(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw which share of each group is among the first k, with its interval, for each k.

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
        A point and a bar per group and k; small cells are hollow.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import selection_rates
    >>> names = {"attribute": ["sex", "sex"], "group": ["f", "m"]}
    >>> table = Table(names | {
    ...     "k": [10, 10], "selected": [3, 7], "size": [20, 20], "rate": [0.15, 0.35],
    ...     "low": [0.1, 0.2], "high": [0.3, 0.5], "small_cell": [True, False],
    ... })
    >>> tables = {"selection": table, "groups": Table(names | {"focus": [True, False]})}
    >>> chart = selection_rates(SimpleNamespace(tables=tables))
    >>> chart.to_dict()["title"]["text"]
    'Selection rates, by sex'
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
    x = alt.X("rate:Q", title="share of the group among the first k").axis(
        format=".0%", tickCount=6
    )
    shown = data({key: row[key] for key in keep} for row in rows)
    ks = sorted({row["k"] for row in rows})
    scale = group_scale(result, attribute)
    height = (16 * len(ks) + 14) * len({row["group"] for row in rows})
    chart = intervals_by_k(shown, ks, scale, x, ("low", "high"), tips)
    return dress(
        chart.properties(width=width, height=height),
        f"Selection rates, by {shorten(attribute, 40)}",
        f"Share of each group of {shorten(attribute)} that is among the first k places, with its "
        "interval, for each k.",
    )
