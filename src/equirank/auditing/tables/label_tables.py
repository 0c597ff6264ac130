"""The table of what unknown labels could change: known people only, bounds, and corrected."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.table import Table, make_table
from ...kernels.segments import divide, segment_sum
from ...metrics.fairness.selection import FOUR_FIFTHS
from ...statistics.corrected_labels import CorrectedEstimate, corrected_measure
from ...statistics.parity_breakdown import check_parity, check_threshold
from ...statistics.unknown_labels import CompletionBounds, bounds_of_sides
from ..audit_plan import Audited, Plan
from ..label_answers import (
    LabelColumn,
    Labels,
    are_doubtful,
    label_columns,
    label_sides,
    labels_of,
    with_reason,
)
from ..label_claims import refused_words
from ..label_metrics import metric_label_rows
from ..measured import Gap, Measured

__all__ = ["gap_label_rows", "labels_table"]


LABEL_COLUMNS = (
    "o:attribute o:group o:measure o:answer o:method f:value f:low f:high b:sharp i:n_known "
    "i:n_unknown f:breakdown f:breakdown_interval f:tipping_share o:assumption"
)
#: Most people for whom metrics are bounded and corrected unless a gate names them.
MOST_ROWS = 200_000
EMPTY: dict[str, Any] = dict.fromkeys(
    ("value", "low", "high", "breakdown", "breakdown_interval", "tipping_share"), np.nan
) | {"sharp": False, "assumption": ""}


def labels_table(measured: Measured) -> Table:
    """Return the answers about each group of attributes whose labels are not all known.

    Of every measure, the answer ``known`` is the value of the people whose label is known,
    ``bounds`` the smallest and largest value over all completions of the unknown labels, with a
    second row for their Imbens-Manski interval if there are several lists and resamples, and
    ``corrected`` the estimate that uses what else is known, with its assumption. Differences and
    ratios are corrected within lists. The metrics of the table of gaps have rows, too, unless there
    are over 200,000 people (20,000 in one list); a metric without bounds states why. Of sums over
    lists whose rows are not in memory, these are the answers of a sample of lists.
    """
    plan = measured.plan.of_rows
    doubtful = [each for each in plan.audited if are_doubtful(plan, each)]
    columns = list(label_columns(plan)) if doubtful else []
    rows = [
        row
        for each in doubtful
        for code in range(each.n_groups)
        for column in columns
        for row in _rows(plan, each, code, column)
    ]
    if plan.data.n_rows <= MOST_ROWS // (10 if plan.one_list else 1) and plan.n_boot:
        own = {each.name: each for each in plan.audited}
        gaps = [replace(gap, audited=own[gap.audited.name]) for gap in measured.gaps]
        rows += [row for gap in gaps for row in gap_label_rows(plan, gap)]
    return make_table(LABEL_COLUMNS, rows)


def gap_label_rows(plan: Plan, gap: Gap) -> Iterator[dict[str, Any]]:
    """Yield what unknown labels mean for a metric of one attribute."""
    each = gap.audited
    if each.crossed or not are_doubtful(plan, each):
        return
    known = int(each.attribute.known.sum())
    shared: dict[str, Any] = {"attribute": each.name, "group": gap.group, "measure": gap.short}
    shared |= {"n_known": known, "n_unknown": len(each.attribute.codes) - known}
    for row in metric_label_rows(plan, each, gap.metric):
        yield EMPTY | shared | row


def _rows(plan: Plan, each: Audited, code: int, column: LabelColumn) -> Iterator[dict[str, Any]]:
    if column.measure in ("difference", "ratio") and code == each.reference:
        return
    if column.measure == "ratio" and _not_compared(plan, each, code, column.name):
        return
    labels = labels_of(plan, each, code, column.among)
    n_known = int(each.attribute.known[labels.rows].sum())
    shared: dict[str, Any] = {
        "attribute": each.name,
        "group": each.groups[code],
        "measure": column.name,
        "n_known": n_known,
        "n_unknown": len(labels.rows) - n_known,
    }
    value = _known_value(plan, each, code, column)
    yield EMPTY | shared | {"answer": "known", "method": "known_labels", "value": value}
    for row in _bounds_rows(_bounds(plan, each, code, column), column):
        yield EMPTY | shared | row
    for row in _corrected_rows(plan, labels, column):
        yield EMPTY | shared | row


def _not_compared(plan: Plan, each: Audited, code: int, name: str) -> bool:
    """Return whether a ratio of rates is not shown, since a group is too small."""
    names = [f"impact_ratio, {decision.name}" for decision in plan.decisions]
    return bool(plan.not_compared(each, names.index(name))[code])


def _bounds(plan: Plan, each: Audited, code: int, column: LabelColumn) -> CompletionBounds:
    """Return the bounds of a column's measure over all completions."""
    compares = column.measure in ("difference", "ratio")
    side, third = _sides(plan, each, code, compares)
    kept = np.arange(len(side)) if column.among is None else np.flatnonzero(column.among)
    found = bounds_of_sides(
        column.values[kept], side[kept], np.searchsorted(kept, plan.data.offsets),
        measure=column.measure, third=third, average=column.average,
        level=plan.level, n_boot=plan.n_boot, random_state=plan.seed,
    )  # fmt: skip
    return replace(found, sharp=found.sharp and not (each.crossed and third))


def _known_value(plan: Plan, each: Audited, code: int, column: LabelColumn) -> float:
    """Return the measure of the known people; lists share exposure among them."""
    side, _ = _sides(plan, each, code, column.measure in ("difference", "ratio"))
    kept = np.arange(len(side)) if column.among is None else np.flatnonzero(column.among)
    known = kept[each.attribute.known[kept]]
    values, cuts = column.values[known], np.searchsorted(known, plan.data.offsets)
    if column.measure == "share":
        sizes = np.diff(cuts)
        mean = divide(segment_sum(values, cuts), sizes)
        values = np.nan_to_num(divide(values, np.repeat(mean, sizes)))
    return bounds_of_sides(
        values, side[known], cuts, measure=column.measure, average=column.average, n_boot=0
    ).known


def _bounds_rows(found: CompletionBounds, column: LabelColumn) -> Iterator[dict[str, Any]]:
    """Yield the bounds and their interval; that of a rate ends at 0 and 1."""
    ends = {"low": found.low, "high": found.high, "sharp": found.sharp}
    yield {"answer": "bounds", "method": "completions"} | ends
    low, high = found.interval_low, found.interval_high
    if not np.isnan(low):
        if column.measure == "mean" and column.average == "people":
            low, high = max(low, 0.0), min(high, 1.0)
        yield {"answer": "bounds", "method": "imbens_manski", "low": low, "high": high}


def _corrected_rows(plan: Plan, labels: Labels, column: LabelColumn) -> Iterator[dict[str, Any]]:
    """Yield the corrected estimate, or why there is none."""
    refused = labels.refused or refused_words(labels)
    if refused:
        yield {"answer": "corrected", "method": "refused", "assumption": refused}
        return
    values = column.values[labels.rows]
    average = "within" if column.within else column.average
    compares = column.measure in ("difference", "ratio")
    found = corrected_measure(
        labels.model, labels.code, values, measure=column.measure, average=average,
        level=plan.level, n_boot=plan.n_boot, seed=plan.seed,
        reference=labels.reference if compares else None,
    )  # fmt: skip
    if found.reason:
        reason = with_reason(found, column.measure).reason
        yield {"answer": "corrected", "method": "refused", "assumption": reason}
        return
    numbers: dict[str, Any] = {"value": found.value, "low": found.low, "high": found.high}
    if compares and labels.reference is None and plan.n_boot > 1:
        parity = check_parity(
            labels.model, labels.code, values, level=plan.level, n_boot=plan.n_boot, seed=plan.seed
        )
        names = ("breakdown", "breakdown_interval", "tipping_share")
        numbers |= {name: getattr(parity, name) for name in names}
    shared = {"answer": "corrected", "method": found.method, "assumption": found.assumption}
    yield shared | numbers
    if column.measure == "ratio" and labels.reference is None and plan.n_boot > 1:
        limit = check_threshold(
            labels.model, labels.code, values, threshold=FOUR_FIFTHS, level=plan.level,
            n_boot=plan.n_boot, seed=plan.seed,
        )  # fmt: skip
        if not limit.reason:
            undone = {name: getattr(limit, name) for name in ("breakdown", "breakdown_interval")}
            yield shared | {"method": f"threshold {FOUR_FIFTHS:g}"} | undone
    yield from _from_probabilities(found, shared)


def _from_probabilities(
    found: CorrectedEstimate, shared: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the range that probabilities allow, and the weighted value inside it."""
    if found.method == "frechet":
        ends = {"low": found.range_low, "high": found.range_high}
        yield shared | {"method": "frechet_range", "assumption": "probabilities are right"} | ends
        yield shared | {"method": "weighted", "value": found.weighted}


def _sides(plan: Plan, each: Audited, code: int, compares: bool) -> tuple[np.ndarray, bool]:
    """Return the sides of all rows: 1, 0, 2 for neither, -1 for unknown; and if 2 is possible.

    Compared with a reference, people of an intersection one of whose labels is unknown count as
    unknown, so that the bounds are not sharp.
    """
    attribute = each.attribute
    side = label_sides(plan, each, code)
    if each.reference is None or not compares:
        return side, False
    other = label_sides(plan, each, each.reference)
    result = np.where(attribute.known, np.where(side == 1, 1, np.where(other == 1, 0, 2)), -1)
    return result.astype(np.int8), each.n_groups > 2
