"""The tables of metrics: gaps between groups, and the relevance metrics of the whole."""

from statistics import NormalDist
from typing import Any

import numpy as np

from ...core.evaluation import Result
from ...core.table import Table
from ..measures.position_difference import PositionDifference
from ..measuring import Measured
from ..plan import Audited
from .groups import POWER, detectable_difference, detectable_places
from .rows import make_table

__all__ = ["detectable_gap", "gap_rows", "gaps_table", "metrics_table"]

COLUMNS = (
    "o:attribute o:metric o:name o:group f:value f:low f:high f:p_value f:detectable i:n_queries "
    "i:n_skipped o:direction o:summary"
)


def gaps_table(measured: Measured) -> Table:
    """Give one row per attribute and gap: position differences first, then the metrics."""
    rows = []
    for each in measured.plan.audited:
        rows += [*_place_rows(measured, each), *gap_rows(measured, each)]
    return make_table(COLUMNS, rows)


def gap_rows(measured: Measured, each: Audited) -> list[dict[str, Any]]:
    """Give the rows of an attribute's gap metrics."""
    rows = []
    for gap in measured.gaps:
        if gap.audited is each and not isinstance(gap.metric, PositionDifference):
            row = {"attribute": each.name, "metric": gap.short, "group": gap.group}
            rows.append(row | _row(measured, measured.result(gap.metric)))
    return rows


def metrics_table(measured: Measured) -> Table:
    """Give one row per metric that is not about groups."""
    rows = [
        {"attribute": "", "metric": str(m), "group": "", **_row(measured, measured.result(m))}
        for m in measured.overall
    ]
    columns = "o:metric f:value f:low f:high i:n_queries i:n_skipped o:direction o:summary"
    return make_table(columns, rows)


def _row(measured: Measured, result: Result) -> dict[str, Any]:
    metric = result.metric
    low, high = measured.interval(result.replicates)
    return {
        "name": str(metric),
        "value": result.summary[0],
        "low": float(low),
        "high": float(high),
        "p_value": result.p_value,
        "detectable": detectable_gap(result, measured.plan.level, measured.evaluation.sample_size),
        "n_queries": measured.plan.data.n_queries - result.n_skipped,
        "n_skipped": result.n_skipped,
        "direction": metric.direction,
        "summary": metric.summary(),
    }


def _place_rows(measured: Measured, each: Audited) -> list[dict[str, Any]]:
    """Give the differences of the groups: of the focus alone where there are two."""
    result = measured.places(each)
    means = np.asarray(result.summary[1])
    low, high = measured.interval(result.group_replicates, means.shape)
    able = detectable_places(measured, each)
    there = (~np.isnan(np.asarray(result.values.groups))).sum(axis=0)
    chosen = [each.focus] if each.n_groups == 2 else range(each.n_groups)
    p = result.group_p_values
    return [
        {
            "attribute": each.name,
            "metric": PositionDifference.__name__,
            "name": str(PositionDifference(by=each.key, protected=each.groups[code])),
            "group": each.groups[code],
            "value": means[code],
            "low": low[code],
            "high": high[code],
            "p_value": np.nan if p is None else p[code],
            "detectable": able[code],
            "n_queries": there[code],
            "n_skipped": measured.plan.data.n_queries - int(there[code]),
            "direction": "zero",
            "summary": PositionDifference.summary(),
        }
        for code in chosen
    ]


def detectable_gap(result: Result, level: float, n: int) -> float:
    """Give the smallest value of a gap that its permutation test would have seen with power 80 %.

    The edge of what chance gives, the quantile at ``level`` of the values under permuted groups,
    and beyond it ``z_0.8`` standard errors. NaN where there is no test or no replicate.
    """
    if result.null is None or result.replicates is None or not np.isfinite(result.null).any():
        return float("nan")
    sign = 1.0 if result.metric.direction == "lower" else -1.0
    normal = NormalDist()
    factor = normal.inv_cdf((1.0 + level) / 2.0) + normal.inv_cdf(POWER)
    error = float(detectable_difference(result.replicates, level, n)) / factor
    edge = float(np.quantile(result.null[np.isfinite(result.null)], level))
    return sign * (edge + normal.inv_cdf(POWER) * error)
