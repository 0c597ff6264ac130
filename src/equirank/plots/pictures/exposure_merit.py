"""Each group's share of attention beside its share of merit."""

from typing import Any

from ..theme import attribute_rows, dress, shorten
from .shares import two_shares

__all__ = ["exposure_merit"]


def exposure_merit(result: Any, attribute: str | None = None, *, width: int = 640) -> Any:
    """Draw each group's share of exposure beside its share of merit.

    Parameters
    ----------
    result : AuditResult
        Read from its table ``exposure_merit``, which is empty without relevance; nothing is
        computed.
    attribute : str, optional
        Whose groups; by default the first attribute.
    width : int
        Width in pixels.

    Returns
    -------
    altair.Chart
        Two points per group; a circle left of its diamond means less attention than merit.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from equirank.core.table import Table
    >>> from equirank.plots import exposure_merit
    >>> table = Table({
    ...     "attribute": ["sex", "sex"], "group": ["f", "m"], "merit_share": [0.5, 0.5],
    ...     "exposure_share": [0.4, 0.6], "ratio": [0.8, 1.2],
    ... })
    >>> chart = exposure_merit(SimpleNamespace(tables={"exposure_merit": table}))
    >>> chart.to_dict()["title"]["text"]
    'Exposure against merit, by sex'
    """
    attribute, rows = attribute_rows(result, "exposure_merit", attribute)
    words = {"merit_share": "share of merit", "exposure_share": "share of exposure"}
    chart = two_shares(rows, "merit_share", "exposure_share", words)
    return dress(
        chart.properties(width=width, height=34 * len(rows)),
        f"Exposure against merit, by {shorten(attribute, 40)}",
        f"Share of all exposure that each group of {shorten(attribute)} receives, beside its share "
        "of all relevance.",
    )
