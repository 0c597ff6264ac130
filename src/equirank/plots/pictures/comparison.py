"""Two audited rankings side by side."""

from typing import Any

from ..theme import FOCUS, MUTED, altair, attribute_rows, data, dress, shorten

__all__ = ["comparison"]


def comparison(result: Any, attribute: str | None = None, *, width: int = 420) -> Any:
    """Draw each metric of two rankings side by side, each on a scale of its own.

    Parameters
    ----------
    result : AuditResult
        Of an audit against another ranking; read from its table ``comparison``; nothing is
        computed.
    attribute : str, optional
        Which attribute's metrics; by default the first there is.
    width : int
        Width in pixels of each metric's line.

    Returns
    -------
    altair.Chart
        A diamond for the other ranking, a circle for the audited one, a line between.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import comparison
    >>> table = Table({
    ...     "attribute": ["sex"], "metric": ["RND"], "group": [""], "value": [0.2], "other": [0.3],
    ...     "difference": [-0.1], "low": [-0.15], "high": [-0.05], "p_holm": [0.01],
    ... })
    >>> chart = comparison(SimpleNamespace(tables={"comparison": table}))
    >>> chart.to_dict()["title"]["text"]
    'Side by side, by sex'
    """
    attribute, rows = attribute_rows(result, "comparison", attribute)
    alt = altair()
    keep = ("value", "other", "difference", "low", "high", "p_holm")
    shown = [
        {"metric": _label(row), "here": "audited", "there": "against"}
        | {key: row[key] for key in keep}
        for row in rows
    ]
    tips = [alt.Tooltip("metric:N", title="metric")] + [
        alt.Tooltip(f"{key}:Q", title=title, format=".4~f")
        for key, title in (
            ("value", "audited"), ("other", "against"), ("difference", "difference"),
            ("low", "low"), ("high", "high"), ("p_holm", "p (Holm)"),
        )
    ]  # fmt: skip
    sides = {"domain": ["against", "audited"], "range": [MUTED, FOCUS]}
    shapes = {"domain": ["against", "audited"], "range": ["diamond", "circle"]}
    x = (
        alt.X("value:Q", title=None)
        .scale(zero=False, nice=True, padding=14)
        .axis(tickCount=4, labelSeparation=10)
    )
    other = alt.X("other:Q", title=None)
    points = alt.Chart().mark_point(size=120, filled=True, opacity=1)
    layers = alt.layer(
        alt.Chart().mark_rule(strokeWidth=3, opacity=0.45, color=MUTED).encode(x=x, x2="other:Q"),
        *(
            points.encode(
                x=place,
                color=alt.Color(f"{side}:N").scale(**sides),
                shape=alt.Shape(f"{side}:N").scale(**shapes),
                tooltip=tips,
            )
            for place, side in ((other, "there"), (x, "here"))
        ),
        data=data(shown),
    )
    header = alt.Header(labelAngle=0, labelAlign="left", labelOrient="left", labelLimit=170)
    chart = (
        layers.properties(width=width, height=26)
        .facet(
            row=alt.Row(
                "metric:N", sort=[row["metric"] for row in shown], header=header, title=None
            ),
            spacing=14,
        )
        .resolve_scale(x="independent")
    )
    words = f", by {shorten(attribute, 40)}" if attribute else ""
    return dress(
        chart,
        f"Side by side{words}",
        "Each metric of the audited ranking beside that of the ranking it is compared with, each "
        "on a scale of its own.",
    )


def _label(row: dict[str, Any]) -> str:
    return f"{row['metric']} ({row['group']})" if row["group"] else str(row["metric"])
