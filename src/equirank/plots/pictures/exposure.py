"""Each group's share of attention beside its share of everybody."""

from typing import Any

from ..theme import attribute_rows, dress, shorten
from .shares import two_shares

__all__ = ["exposure"]


def exposure(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw each group's share of exposure beside its share of everybody.

    Parameters
    ----------
    result : AuditResult
        Read from its table ``groups``; nothing is computed.
    attribute : str, optional
        Whose groups; by default the first attribute.
    width : int
        Width in pixels.

    Returns
    -------
    altair.Chart
        Two points per group; a circle left of its diamond means less attention than numbers.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import exposure
    >>> groups = Table({
    ...     "attribute": ["sex", "sex"], "group": ["f", "m"], "share": [0.5, 0.5],
    ...     "exposure": [0.4, 0.6], "exposure_per_item": [0.8, 1.2],
    ... })
    >>> exposure(SimpleNamespace(tables={"groups": groups})).to_dict()["title"]["text"]
    'Share of exposure, by sex'
    """
    attribute, rows = attribute_rows(result, "groups", attribute)
    rows = [row | {"ratio": row["exposure_per_item"]} for row in rows]
    words = {"share": "share of everybody", "exposure": "share of exposure"}
    chart = two_shares(rows, "share", "exposure", words)
    return dress(
        chart.properties(width=width, height=34 * len(rows)),
        f"Share of exposure, by {shorten(attribute, 40)}",
        f"Share of all exposure that each group of {shorten(attribute)} receives, beside its share "
        "of everybody.",
    )
