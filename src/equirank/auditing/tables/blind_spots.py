"""The table of blind spots: which harms the measures of this audit see, and which they miss."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...core.table import Table
from ..measures.position_difference import PositionDifference
from ..measuring import Measured
from .rows import make_table

__all__ = ["PATH", "blind_spots_table", "packaged"]

#: What ``equirank properties --json=blind_spots.json`` wrote: the property bench of all metrics.
PATH = Path(__file__).parents[1] / "blind_spots.json"
#: The check that measures what the position difference does.
SAME_AS_PLACES = "statistical_independence.difference"
CROSSED = '(by=("group", "part"))'


@lru_cache(maxsize=1)
def packaged() -> tuple[dict[str, Any], ...]:
    """Read the packaged result of the property bench."""
    return tuple(json.loads(PATH.read_text(encoding="utf-8")))


def blind_spots_table(measured: Measured, checks: Table) -> Table:
    """Give metric, property, whether the bench detects it and the effect size.

    Only what this audit measured. A metric with options of its own is looked up by its name: the
    bench ran it with the options it has by default.
    """
    wanted = {PositionDifference.__name__: SAME_AS_PLACES}
    for gap in measured.gaps:
        name = type(gap.metric).__name__
        if gap.audited.crossed:
            wanted[f"{name}, crossed attributes"] = f"{name}{CROSSED}"
        else:
            wanted[gap.short] = name
    wanted |= {name: name for name in dict.fromkeys(checks["check"].tolist())}
    rows = [
        {
            "metric": spoken,
            "property": row["property"],
            "detects": bool(row["detected"]),
            "effect": np.nan if row["effect"] is None else row["effect"],
        }
        for spoken, known in wanted.items()
        for row in packaged()
        if _stem(row["metric"]) == known or row["metric"] == known
    ]
    return make_table("o:metric o:property b:detects f:effect", rows)


def _stem(metric: str) -> str:
    """Give a metric's name without cutoff and options, unless it looks at crossed attributes."""
    if metric.endswith(CROSSED) or metric[:1].islower():
        return metric
    return metric.partition("@")[0].partition("(")[0]
