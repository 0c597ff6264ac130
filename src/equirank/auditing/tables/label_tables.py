"""The table of what unknown labels could change: known people only, and bounds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.table import Table, make_table
from ...kernels.segments import divide, segment_sum
from ...statistics.unknown_labels import CompletionBounds, bounds_of_sides
from ..audit_plan import Audited, Plan
from ..people import expected_positions, list_shares

__all__ = ["labels_table"]


LABEL_COLUMNS = (
    "o:attribute o:group o:measure o:answer o:method f:value f:low f:high b:sharp i:n_known "
    "i:n_unknown"
)


@dataclass(frozen=True, eq=False)
class _Column:
    """A number per row that does not depend on labels, and what is computed from it."""

    name: str
    values: np.ndarray
    measure: str
    average: str
    among: np.ndarray | None = None


def labels_table(plan: Plan) -> Table:
    """Return the answers about each group of attributes with unknown labels.

    Of every measure, the answer ``known`` is the value of the people whose label is known, and
    ``bounds`` the smallest and largest value over all completions of the unknown labels; a second
    row has their Imbens-Manski interval, if there are several lists and resamples.
    """
    columns = list(_columns(plan)) if any(each.attribute.n_unknown for each in plan.audited) else []
    rows = [
        row
        for each in plan.audited
        if each.attribute.n_unknown
        for code in range(each.n_groups)
        for column in columns
        for row in _rows(plan, each, code, column)
    ]
    return make_table(LABEL_COLUMNS, rows)


def _columns(plan: Plan) -> Iterator[_Column]:
    """Yield the measures of positions and exposure, if there is an order, and of decisions."""
    if plan.ordered:
        position = expected_positions(plan.ranking)
        yield _Column("mean_position", position, "mean", "lists")
        yield _Column("position_difference", position, "difference", "lists")
        sizes = np.diff(plan.data.offsets)
        exposure = list_shares(plan.ranking) * np.repeat(sizes, sizes)
        yield _Column("exposure", exposure, "share", "people")
        yield _Column("exposure_difference", exposure, "difference", "lists")
    for each in plan.decisions:
        selected = np.asarray(each.selected, dtype=np.float64)
        yield _Column(f"rate, {each.name}", selected, "mean", "people", each.among)
        yield _Column(f"impact_ratio, {each.name}", selected, "ratio", "people", each.among)


def _rows(plan: Plan, each: Audited, code: int, column: _Column) -> Iterator[dict[str, Any]]:
    compares = column.measure in ("difference", "ratio")
    if compares and code == each.reference:
        return
    side, third = _sides(plan, each, code, compares)
    kept = np.arange(len(side)) if column.among is None else np.flatnonzero(column.among)
    known = kept[each.attribute.known[kept]]
    found = bounds_of_sides(
        column.values[kept], side[kept], np.searchsorted(kept, plan.data.offsets),
        measure=column.measure, third=third, average=column.average,
        level=plan.level, n_boot=plan.n_boot, random_state=plan.seed,
    )  # fmt: skip
    sharp = found.sharp and not (each.crossed and third)
    shared: dict[str, Any] = {
        "attribute": each.name,
        "group": each.groups[code],
        "measure": column.name,
    }
    shared |= {"n_known": len(known), "n_unknown": len(kept) - len(known)}
    value = _known_value(column, side, known, plan.data.offsets)
    for row in _answers(value, replace(found, sharp=sharp), column):
        yield shared | row


def _known_value(
    column: _Column, side: np.ndarray, known: np.ndarray, offsets: np.ndarray
) -> float:
    """Return the measure of the known people; lists share exposure among them."""
    values, cuts = column.values[known], np.searchsorted(known, offsets)
    if column.measure == "share":
        sizes = np.diff(cuts)
        mean = divide(segment_sum(values, cuts), sizes)
        values = np.nan_to_num(divide(values, np.repeat(mean, sizes)))
    return bounds_of_sides(
        values, side[known], cuts, measure=column.measure, average=column.average, n_boot=0
    ).known


def _answers(known: float, found: CompletionBounds, column: _Column) -> Iterator[dict[str, Any]]:
    """Yield the rows of one measure; the interval of a rate ends at 0 and 1."""
    empty = {"value": np.nan, "low": np.nan, "high": np.nan, "sharp": False}
    yield empty | {"answer": "known", "method": "known_labels", "value": known}
    ends = {"low": found.low, "high": found.high, "sharp": found.sharp}
    yield empty | {"answer": "bounds", "method": "completions"} | ends
    low, high = found.interval_low, found.interval_high
    if not np.isnan(low):
        if column.measure == "mean" and column.average == "people":
            low, high = max(low, 0.0), min(high, 1.0)
        yield empty | {"answer": "bounds", "method": "imbens_manski", "low": low, "high": high}


def _sides(plan: Plan, each: Audited, code: int, compares: bool) -> tuple[np.ndarray, bool]:
    """Return the sides of all rows: 1, 0, 2 for neither, -1 for unknown; and if 2 is possible.

    In an intersection, a person one of whose labels is known and differs from the group's is not in
    it, whatever the other label. Compared with a reference, such people count as unknown, so that
    the bounds are not sharp.
    """
    attribute = each.attribute
    side = _membership(plan, each, code)
    if each.reference is None or not compares:
        return side, False
    other = _membership(plan, each, each.reference)
    result = np.where(attribute.known, np.where(side == 1, 1, np.where(other == 1, 0, 2)), -1)
    return result.astype(np.int8), each.n_groups > 2


def _membership(plan: Plan, each: Audited, code: int) -> np.ndarray:
    """Return 1 for people of a group, 0 for others, -1 where that is unknown."""
    attribute = each.attribute
    side = np.where(attribute.known, (attribute.codes == code).astype(np.int8), np.int8(-1))
    of_group = np.flatnonzero(attribute.codes == code)[:1]
    if each.crossed and len(of_group):
        for name in each.by:
            part = plan.data.attribute(name)
            side[part.known & ~np.isin(part.codes, part.codes[of_group])] = 0
    return side
