"""The table of groups: size, place, attention and merit of each."""

from statistics import NormalDist
from typing import Any

import numpy as np

from ...core.inference import holm
from ...core.table import Table
from ..measuring import Measured
from ..plan import Audited
from .rows import make_table

__all__ = ["POWER", "detectable_difference", "detectable_places", "groups_table"]

#: The chance with which the detectable difference would have been seen.
POWER = 0.8

COLUMNS = (
    "o:attribute o:group b:protected b:focus i:size f:share i:n_queries f:mean_position "
    "f:mean_position_low f:mean_position_high f:position_difference f:position_difference_low "
    "f:position_difference_high f:p_value f:p_holm f:detectable f:exposure f:exposure_low "
    "f:exposure_high f:exposure_per_item f:exposure_p_holm f:merit f:merit_share"
)


def groups_table(measured: Measured) -> Table:
    """Give one row per attribute and group.

    The interval of the exposure is that of the exposure per item, times the group's share: lists
    differ in how many of a group they hold, and that is no part of how they are ranked.
    """
    rows = [row for each in measured.plan.audited for row in _rows(measured, each)]
    return make_table(COLUMNS, rows)


def _rows(measured: Measured, each: Audited) -> list[dict[str, Any]]:
    totals, drawn = measured.totals(each)
    places = measured.places(each)
    n = (each.n_groups,)
    known = measured.plan.data.y is not None
    differences = np.asarray(places.summary[1])
    p = places.group_p_values
    attention_p = measured.attention(each).group_p_values
    empty, share = np.full(n, np.nan), totals.people / totals.people.sum()
    columns: dict[str, Any] = {
        "attribute": [each.name] * each.n_groups,
        "group": each.groups,
        "protected": [code in each.protected for code in range(each.n_groups)],
        "focus": [code == each.focus for code in range(each.n_groups)],
        "size": totals.people,
        "share": share,
        "n_queries": totals.lists,
        "mean_position": totals.mean_position,
        "position_difference": differences,
        "p_value": empty if p is None else p,
        "p_holm": empty if p is None else _corrected(p),
        "detectable": detectable_places(measured, each),
        "exposure": totals.exposure,
        "exposure_per_item": totals.exposure_per_item,
        "exposure_p_holm": empty if attention_p is None else _corrected(attention_p),
        "merit": totals.relevance if known else empty,
        "merit_share": totals.merit if known else empty,
    }
    replicates = {
        "mean_position": None if drawn is None else drawn.mean_position,
        "exposure": None if drawn is None else drawn.exposure_per_item * share,
        "position_difference": places.group_replicates,
    }
    for name, values in replicates.items():
        columns[f"{name}_low"], columns[f"{name}_high"] = measured.interval(values, n)
    return [{name: values[code] for name, values in columns.items()} for code in range(*n)]


def _corrected(p: np.ndarray) -> np.ndarray:
    """Correct by Holm; of two groups the one is the mirror of the other, which is one test."""
    return p if len(p) <= 2 else holm(p)


def detectable_places(measured: Measured, each: Audited) -> np.ndarray:
    """Give each group's detectable position difference, at a level shared out over the groups."""
    level = measured.plan.level
    if each.n_groups > 2:
        level = 1.0 - (1.0 - level) / each.n_groups
    replicates, n = measured.places(each).group_replicates, measured.evaluation.sample_size
    return detectable_difference(replicates, level, n, (each.n_groups,))


def detectable_difference(
    replicates: np.ndarray | None, level: float, n: int, shape: Any = ()
) -> np.ndarray:
    """Give the smallest difference that a test at this level would have seen with power 80 %.

    ``(z_(1 + level)/2 + z_0.8)`` times the standard error, that of the bootstrap replicates, where
    the standard error of a mean of n is widened by ``sqrt(n / (n - 1))``. NaN without replicates.
    """
    if replicates is None:
        return np.full(shape, np.nan)
    normal = NormalDist()
    factor = normal.inv_cdf((1.0 + level) / 2.0) + normal.inv_cdf(POWER)
    error = _spread(replicates) * (np.sqrt(n / (n - 1.0)) if n > 1 else np.nan)
    return np.asarray(factor * error)


def _spread(replicates: np.ndarray) -> np.ndarray:
    """Give the standard deviation over the replicates, undefined ones left out."""
    defined = ~np.isnan(replicates)
    n = defined.sum(axis=0)
    mean = np.where(defined, replicates, 0.0).sum(axis=0) / np.maximum(n, 1)
    square = np.where(defined, (replicates - mean) ** 2, 0.0).sum(axis=0)
    return np.where(n > 1, np.sqrt(square / np.maximum(n - 1, 1)), np.nan)
