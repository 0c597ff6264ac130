"""The tables of gaps, of other metrics, of lists, and of the comparison of two rankings."""

from statistics import NormalDist
from typing import Any

import numpy as np

from ...core.evaluation import Evaluation, Result
from ...core.table import Table, as_label, make_table
from ..audit_plan import Audited
from ..measured import Measured
from .group_tables import POWER, detectable_difference

__all__ = [
    "MOST_QUERIES",
    "comparison_table",
    "detectable_gap",
    "gap_rows",
    "gaps_table",
    "metrics_table",
    "queries_table",
    "value_by_chance",
]


COMPARISON_COLUMNS = (
    "o:attribute o:metric o:group f:value f:other f:difference f:low f:high f:p_value i:n_queries"
)

Key = tuple[str, str, str]


def comparison_table(measured: Measured, other: Measured | None) -> Table:
    """Return the values of both rankings over shared lists, and the paired test of the difference.

    ``value`` belongs to the audited ranking, ``other`` to the one it is compared with. The interval
    is a bootstrap over lists; the p-value is that of the paired randomisation test, not corrected
    for the number of rows. With one shared list, or without resampling, they are undefined. Sums
    over lists have the differences themselves: the interval is then a bootstrap over buckets of
    lists, and the p-value the normal limit of the test.
    """
    rows: list[dict[str, Any]] = []
    summed = other if other is not None and other.plan.sums is not None else measured
    if summed.plan.sums is not None:
        for key, result in _results(summed).items():
            change = result.change  # type: ignore[attr-defined]
            names = dict(zip(("attribute", "metric", "group"), key, strict=True))
            rows += [] if change is None else [names | change.row(summed.plan.level)]
    elif other is not None:
        results_a, results_b = _results(measured), _results(other)
        keys = [key for key in results_a if key in results_b]
        a = _evaluation(measured, [results_a[key] for key in keys])
        b = _evaluation(other, [results_b[key] for key in keys])
        none = {} if measured.plan.n_boot else {"n_boot": 0}
        none |= {} if measured.plan.n_permutations else {"n_permutations": 0}
        for key, row in zip(keys, a.versus(b, **none), strict=True):
            values = {name: row[name] for name in ("value", "other", "difference", "low", "high")}
            values |= {"p_value": row["p_random"]}
            names = dict(zip(("attribute", "metric", "group"), key, strict=True))
            rows.append(names | values | {"n_queries": row["queries"]})
    return make_table(COMPARISON_COLUMNS, rows)


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
    """Return the compared results: relevance metrics and gaps."""
    found: dict[Key, Result] = {
        ("", str(metric), ""): measured.result(metric) for metric in measured.overall
    }
    for each in measured.plan.audited:
        for gap in measured.gaps:
            if gap.audited is each:
                found[each.name, gap.short, gap.group] = measured.result(gap.metric)
    return found


GAP_COLUMNS = (
    "o:attribute o:metric o:name o:group f:value f:chance f:corrected f:low f:high f:bound_low "
    "f:bound_high f:p_value f:detectable i:n_queries i:n_skipped o:direction o:summary"
)


def gaps_table(measured: Measured) -> Table:
    """Return one row per attribute and gap metric."""
    rows = [row for each in measured.plan.audited for row in gap_rows(measured, each)]
    return make_table(GAP_COLUMNS, rows)


def gap_rows(measured: Measured, each: Audited) -> list[dict[str, Any]]:
    """Return the rows of an attribute's gap metrics."""
    rows = []
    for gap in measured.gaps:
        if gap.audited is each:
            row = {"attribute": each.name, "metric": gap.short, "group": gap.group}
            rows.append(row | _row(measured, measured.result(gap.metric)))
    return rows


def metrics_table(measured: Measured) -> Table:
    """Return one row per metric that does not depend on groups."""
    rows = [
        {"attribute": "", "metric": str(m), "group": "", **_row(measured, measured.result(m))}
        for m in measured.overall
    ]
    columns = (
        "o:metric f:value f:low f:high f:bound_low f:bound_high i:n_queries i:n_skipped "
        "o:direction o:summary"
    )
    return make_table(columns, rows)


def _row(measured: Measured, result: Result) -> dict[str, Any]:
    metric = result.metric
    level, n = measured.plan.level, measured.evaluation.sample_size
    low, high = result.interval(level, n)
    bounds = result.interval(max(2.0 * level - 1.0, 0.0), n)
    chance = value_by_chance(result)
    return {
        "name": str(metric),
        "value": result.summary[0],
        "chance": chance,
        "corrected": metric.ideal + result.summary[0] - chance,
        "low": low,
        "high": high,
        "bound_low": bounds[0],
        "bound_high": bounds[1],
        "p_value": result.p_value,
        "detectable": detectable_gap(result, level, n),
        "n_queries": measured.plan.n_queries - result.n_skipped,
        "n_skipped": result.n_skipped,
        "direction": metric.direction,
        "summary": metric.summary(),
    }


def value_by_chance(result: Result) -> float:
    """Return the mean of a biased metric over permutations of groups within lists.

    The ideal value for a metric without bias, NaN without permutations.
    """
    metric = result.metric
    return result.chance if metric.biased else float(metric.ideal)


def detectable_gap(result: Result, level: float, n: int) -> float:
    """Return the smallest gap that its permutation test detects with 80% power.

    The quantile at ``level`` of the values under permuted groups, plus ``z_0.8`` standard errors.
    NaN without a test or replicates.
    """
    edge = result.edge(level)
    if result.replicates is None or np.isnan(edge):
        return float("nan")
    sign = 1.0 if result.metric.direction == "lower" else -1.0
    normal = NormalDist()
    factor = normal.inv_cdf((1.0 + level) / 2.0) + normal.inv_cdf(POWER)
    error = float(detectable_difference(result.replicates, level, n)) / factor
    return sign * (edge + normal.inv_cdf(POWER) * error)


#: Lists kept for each attribute.
MOST_QUERIES = 500


def queries_table(measured: Measured) -> Table:
    """Return one row per attribute and list, at most 500 lists for each attribute.

    Lists are sorted by the focus group's absolute position difference divided by the list length.
    """
    shorts = list(dict.fromkeys(gap.short for gap in measured.gaps))
    rows: list[dict[str, Any]] = []
    for each in measured.plan.audited:
        labels, sizes, difference, columns = measured.unequal_lists(each)
        order = np.argsort(-np.nan_to_num(np.abs(difference / sizes), nan=-1.0), kind="stable")
        for query in order[:MOST_QUERIES].tolist():
            row = {"query": as_label(labels[query]), "size": sizes[query]}
            row |= {"attribute": each.name, "group": each.groups[each.focus]}
            row |= {"position_difference": difference[query]}
            rows.append(row | {s: columns[s][query] if s in columns else np.nan for s in shorts})
    kinds = {"query": "o", "size": "i", "attribute": "o", "group": "o", "position_difference": "f"}
    kinds |= dict.fromkeys(shorts, "f")
    return make_table(kinds, rows)
