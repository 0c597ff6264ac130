"""How often the better of two is ranked higher, by the groups of the two."""

from typing import Any

from ..theme import altair, attribute_rows, data, dress, shorten

__all__ = ["pairwise_accuracy"]

#: Numbers are written into the cells up to this many groups; tooltips always have them.
LEGIBLE = 14


def pairwise_accuracy(result: Any, attribute: str | None = None, *, width: int = 520) -> Any:
    """Draw how often the better of two items is ranked higher, by the groups of the two.

    Parameters
    ----------
    result : AuditResult
        Read from its table ``pairwise``, which is empty without relevance; nothing is computed.
        Rows of kind ``inter`` (a group against all others) are left to the table.
    attribute : str, optional
        Whose groups; by default the first attribute.
    width : int
        Width in pixels.

    Returns
    -------
    altair.Chart
        A matrix: the group of the better item down, of the worse one across; 50 % is a coin.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import pairwise_accuracy
    >>> table = Table({
    ...     "attribute": ["sex", "sex"], "group": ["f", "m"], "other": ["m", "f"],
    ...     "accuracy": [0.6, 0.8], "n_pairs": [10, 10], "kind": ["pair", "pair"],
    ... })
    >>> chart = pairwise_accuracy(SimpleNamespace(tables={"pairwise": table}))
    >>> chart.to_dict()["title"]["text"]
    'Pairwise accuracy, by sex'
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
        alt.Tooltip("accuracy:Q", title="ranked right", format=".1%"),
        alt.Tooltip("n_pairs:Q", title="pairs", format=","),
    ]
    cells = base.mark_rect(cornerRadius=4).encode(
        color=alt.Color("accuracy:Q", legend=None).scale(
            domain=[0, 0.5, 1], range=["#b35806", "#f4f1ea", "#2c6fad"], interpolate="rgb"
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
        "ranked above the worse one; one half is what a coin gives.",
    )
