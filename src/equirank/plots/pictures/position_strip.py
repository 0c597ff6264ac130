"""Where the members of one group stand, list by list."""

from typing import Any

from ..theme import FOCUS, MUTED, altair, attribute_rows, data, dress, shorten

__all__ = ["position_strip"]


def position_strip(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw the places of one group's members, one strip per list, to see clusters and tokens.

    Parameters
    ----------
    result : AuditResult
        Read from its table ``strip``, which holds a few lists; nothing is computed.
    attribute : str, optional
        Whose group; by default the first attribute.
    width : int
        Width in pixels.

    Returns
    -------
    altair.Chart
        A tick per member, on a line as long as the list. Tied members share a tick.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import position_strip
    >>> table = Table({
    ...     "attribute": ["sex", "sex"], "group": ["f", "f"], "query": ["job 1", "job 1"],
    ...     "position": [4, 9], "length": [10, 10],
    ... })
    >>> position_strip(SimpleNamespace(tables={"strip": table})).to_dict()["title"]["text"]
    'Places of f, list by list'
    """
    attribute, rows = attribute_rows(result, "strip", attribute)
    alt = altair()
    group = rows[0]["group"]
    keep = ("query", "position", "length")
    shown = [{key: row[key] for key in keep} | {"query": str(row["query"])} for row in rows]
    lists = {row["query"]: {"query": row["query"], "end": row["length"]} for row in shown}
    y = alt.Y("query:N", title=None, sort=None).axis(labelLimit=90)
    x = (
        alt.X("position:Q", title="place in the list (1 is the top)")
        .scale(zero=False, nice=False, padding=8)
        .axis(tickCount=10)
    )
    chart = alt.layer(
        alt.Chart(data({"position": 1} | row for row in lists.values()))
        .mark_rule(color=MUTED, opacity=0.35)
        .encode(x=x, x2="end:Q", y=y),
        alt.Chart(data(shown))
        .mark_tick(color=FOCUS, thickness=2.5, size=15, opacity=0.85)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("query:N", title="list"),
                alt.Tooltip("position:Q", title="place"),
                alt.Tooltip("length:Q", title="of"),
            ],
        ),
    ).properties(width=width, height=22 * len(lists))
    return dress(
        chart,
        f"Places of {shorten(group, 40)}, list by list",
        f"Where the members of {shorten(group)} stand in {len(lists)} lists, a tick for each.",
    )
