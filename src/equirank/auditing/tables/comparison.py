"""The table of a comparison: what changed between two rankings, paired list by list."""

from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.evaluation import Evaluation, Result
from ...core.metric import Values
from ...core.table import Table
from ..measures.position_difference import PositionDifference
from ..measuring import Measured
from .rows import make_table

__all__ = ["comparison_table", "shared_queries"]

COLUMNS = (
    "o:attribute o:metric o:group f:value f:other f:difference f:low f:high f:p_value f:p_holm "
    "i:n_queries"
)

Key = tuple[str, str, str]


def comparison_table(measured: Measured, other: Measured | None) -> Table:
    """Give the values of both over the lists they share, and the paired test of the difference.

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
    return make_table(COLUMNS, rows)


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
    """Give what is compared: relevance metrics, each group's places, gaps."""
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
