"""Measures before and after a repair, one line each."""

from typing import Any

from ...core.errors import DataError
from ...core.extras import require

__all__ = ["before_after"]

_GOOD, _BAD, _BEFORE = "#4393c3", "#b2182b", "#878787"


def before_after(changes: Any, *, title: str | None = None, width: int = 420) -> Any:
    """Draw each measure before and after, joined by a line in the colour of better or worse.

    Blue: the repair made it better; red: worse. Nothing is computed here.

    Parameters
    ----------
    changes : Table, data frame or mapping of columns
        Columns ``measure``, ``before``, ``after`` and ``better`` ("lower" or "higher"), as
        ``IFair.changes`` gives them.
    title : str, optional
        The title.
    width : int
        Width in pixels.

    Returns
    -------
    altair.LayerChart

    Examples
    --------
    >>> from equirank.plots import before_after
    >>> changes = {"measure": ["leakage"], "before": [0.3], "after": [0.1], "better": ["lower"]}
    >>> before_after(changes).to_dict()["title"]
    'Before and after'
    """
    columns = changes.to_dict() if hasattr(changes, "to_dict") else dict(changes)
    for name in ("measure", "before", "after", "better"):
        if name not in columns:
            raise DataError(f"changes must have a column {name!r}, got {', '.join(columns)}")
    lists = [
        list(columns[name].values() if isinstance(columns[name], dict) else columns[name])
        for name in ("measure", "before", "after", "better")
    ]
    rows = []
    for measure, before, after, better in zip(*lists, strict=True):
        gain = before - after if better == "lower" else after - before
        word = "better" if gain > 0 else "worse" if gain < 0 else "same"
        label = f"{measure} ({better} is better)"
        rows.append(
            {"measure": label, "before": float(before), "after": float(after), "change": word}
        )
    alt = require("altair", "report")
    y = alt.Y("measure:N", title=None, sort=None).axis(labelLimit=260)
    hue = alt.Color("change:N", title="after is").scale(
        domain=["better", "worse", "same"], range=[_GOOD, _BAD, _BEFORE]
    )
    base = alt.Chart(alt.Data(values=rows))
    tips = [
        "measure:N",
        alt.Tooltip("before:Q", format=".4f"),
        alt.Tooltip("after:Q", format=".4f"),
    ]
    lines = base.mark_rule(strokeWidth=3).encode(x="before:Q", x2="after:Q", y=y, color=hue)
    hollow = base.mark_point(size=110, filled=False, color=_BEFORE, strokeWidth=2).encode(
        x=alt.X("before:Q", title="before (hollow) and after (filled)"), y=y, tooltip=tips
    )
    filled = base.mark_point(size=130, filled=True, opacity=1).encode(
        x="after:Q", y=y, color=hue, tooltip=tips
    )
    return alt.layer(lines, hollow, filled).properties(
        width=width, height=46 * len(rows), title=title or "Before and after"
    )
