"""The table of a comparison: what changed between two rankings, paired list by list."""

from statistics import NormalDist
from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.evaluation import Evaluation, Result
from ...core.metric import Values
from ...core.table import Table, as_label, make_table
from ..audit_plan import Audited
from ..measured import Measured
from ..measures import PositionDifference
from .group_tables import POWER, detectable_difference, detectable_places

__all__ = [
    "MOST_QUERIES",
    "comparison_table",
    "detectable_gap",
    "gap_rows",
    "gaps_table",
    "metrics_table",
    "queries_table",
    "shared_queries",
]


COMPARISON_COLUMNS = (
    "o:attribute o:metric o:group f:value f:other f:difference f:low f:high f:p_value f:p_holm "
    "i:n_queries"
)

Key = tuple[str, str, str]


def comparison_table(measured: Measured, other: Measured | None) -> Table:
    """Return the values of both over the lists they share, and the paired test of the difference.

    ``value`` is of the audited ranking, ``other`` of the one it is held against. The interval is a
    bootstrap over lists, the p-value of the paired randomisation test, corrected by Holm over all
    rows. One shared list leaves them undefined.
    """
    rows: list[dict[str, Any]] = []
    if other is not None:
        shared_queries(measured, other)
        mine, theirs = _results(measured), _results(other)
        keys = [key for key in mine if key in theirs]
        a, b = (
            _evaluation(m, [r[k] for k in keys]) for m, r in ((measured, mine), (other, theirs))
        )
        for key, row in zip(keys, a.versus(b), strict=True):
            kept = {name: row[name] for name in ("value", "other", "difference", "low", "high")}
            kept |= {"p_value": row["p_random"], "p_holm": row["p_random_holm"]}
            attribute, metric, group = key
            place = {"attribute": attribute, "metric": metric, "group": group}
            rows.append(place | kept | {"n_queries": row["queries"]})
    return make_table(COMPARISON_COLUMNS, rows)


def shared_queries(measured: Measured, other: Measured) -> int:
    """Count the lists both hold, and refuse where there are none."""
    both = set(measured.evaluation.qids.tolist()) & set(other.evaluation.qids.tolist())
    if not both:
        raise DataError("against must rank some of the same lists as data, and shares none of them")
    return len(both)


def _evaluation(measured: Measured, results: list[Result]) -> Evaluation:
    own = measured.evaluation
    return Evaluation(
        tuple(results),
        own.qids,
        level=own.level,
        sample_size=own.sample_size,
        seed_state=measured.plan.seed,
    )


def _results(measured: Measured) -> dict[Key, Result]:
    """Return what is compared: relevance metrics, each group's places, gaps."""
    found: dict[Key, Result] = {
        ("", str(metric), ""): measured.result(metric) for metric in measured.overall
    }
    for each in measured.plan.audited:
        columns = np.asarray(measured.places(each).values.groups)
        chosen = [each.focus] if each.n_groups == 2 else range(each.n_groups)
        for code in chosen:
            group = each.groups[code]
            metric = PositionDifference(by=each.key, protected=group)
            nothing = Result(metric, Values(columns[:, code]), None, None, np.nan, None)
            found[each.name, PositionDifference.__name__, group] = nothing
        for gap in measured.gaps:
            if gap.audited is each and not isinstance(gap.metric, PositionDifference):
                found[each.name, gap.short, gap.group] = measured.result(gap.metric)
    return found


GAP_COLUMNS = (
    "o:attribute o:metric o:name o:group f:value f:low f:high f:p_value f:detectable i:n_queries "
    "i:n_skipped o:direction o:summary"
)


def gaps_table(measured: Measured) -> Table:
    """Return one row per attribute and gap: position differences first, then the metrics."""
    rows = []
    for each in measured.plan.audited:
        rows += [*_place_rows(measured, each), *gap_rows(measured, each)]
    return make_table(GAP_COLUMNS, rows)


def gap_rows(measured: Measured, each: Audited) -> list[dict[str, Any]]:
    """Return the rows of an attribute's gap metrics."""
    rows = []
    for gap in measured.gaps:
        if gap.audited is each and not isinstance(gap.metric, PositionDifference):
            row = {"attribute": each.name, "metric": gap.short, "group": gap.group}
            rows.append(row | _row(measured, measured.result(gap.metric)))
    return rows


def metrics_table(measured: Measured) -> Table:
    """Return one row per metric that is not about groups."""
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
    """Return the differences of the groups: of the focus alone where there are two."""
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
    """Return the smallest value of a gap that its permutation test would have seen with power 80 %.

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


#: Lists kept for each attribute.
MOST_QUERIES = 500


def queries_table(measured: Measured) -> Table:
    """Return one row per attribute and list, at most 500 lists for each attribute.

    They are sorted by the size of the focus group's position difference, as a share of the list's
    length.
    """
    shorts = [
        short
        for short in dict.fromkeys(gap.short for gap in measured.gaps)
        if short != PositionDifference.__name__
    ]
    data = measured.plan.data
    sizes = np.diff(data.offsets)
    rows: list[dict[str, Any]] = []
    for each in measured.plan.audited:
        places = np.asarray(measured.places(each).values.groups)[:, each.focus]
        order = np.argsort(-np.nan_to_num(np.abs(places / sizes), nan=-1.0), kind="stable")
        columns: dict[str, np.ndarray] = {}
        for gap in measured.gaps:
            if gap.audited is each and gap.short not in columns:
                columns[gap.short] = measured.result(gap.metric).values.value
        for query in order[:MOST_QUERIES].tolist():
            row = {"query": as_label(data.qids[query]), "size": sizes[query]}
            row |= {"attribute": each.name, "group": each.groups[each.focus]}
            row |= {"position_difference": places[query]}
            rows.append(row | {s: columns[s][query] if s in columns else np.nan for s in shorts})
    kinds = {"query": "o", "size": "i", "attribute": "o", "group": "o", "position_difference": "f"}
    kinds |= dict.fromkeys(shorts, "f")
    return make_table(kinds, rows)
