"""What labels of an audit are known, and the columns that unknown labels could change."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.attribute import Attribute
from ..core.labels import MISSING
from ..core.order_values import expected_positions, list_shares
from ..kernels.segments import divide
from ..statistics.corrected_labels import CorrectedEstimate
from ..statistics.label_model import LabelModel, label_model, position_bands
from .audit_plan import Audited, Plan

__all__ = [
    "FEW_UNKNOWN",
    "LabelColumn",
    "Labels",
    "are_doubtful",
    "label_columns",
    "label_sides",
    "labels_of",
    "residual_bands",
    "with_reason",
    "within_cells",
]

#: Up to this share of unknown labels, known people alone decide.
FEW_UNKNOWN = 0.05
#: Bands of values that positions do not determine, and of positions beside them.
N_TENTHS, N_FIFTHS = 10, 5


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """A number per row that does not depend on labels, and what is computed from it.

    ``within`` is the average of the corrected answer: within lists, or that of the other answers.
    ``bands`` are those in which unknown people are like known ones, by default tenths of the list,
    and ``alike`` says what else they share. ``scales`` are factors of the corrected value and of
    the bounds.
    """

    name: str
    values: np.ndarray
    measure: str
    average: str
    among: np.ndarray | None = None
    within: bool = False
    bands: np.ndarray | None = None
    alike: str = ""
    scales: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of the rows that a column is about, as far as they are known.

    Attributes
    ----------
    rows : ndarray of int
        The rows.
    model : LabelModel
        Their labels; lists without a row are left out.
    code : int
        The group in the model.
    reference : int or None
        The group that it is compared with in the model, if that is not everyone else.
    refused : str
        Why no estimate is corrected; empty if one may be.
    """

    rows: np.ndarray
    model: LabelModel
    code: int
    reference: int | None
    refused: str = ""

    @property
    def n_known(self) -> int:
        """Number of rows whose label is known."""
        return int(self.model.attribute.known.sum())

    @property
    def share(self) -> float:
        """Share of rows whose label is unknown."""
        return 1.0 - self.n_known / max(len(self.rows), 1)

    @property
    def doubted(self) -> bool:
        """Whether known labels alone decide nothing."""
        attribute = self.model.attribute
        recorded = attribute.error is not None or attribute.checked is not None
        return self.share > FEW_UNKNOWN or recorded


def are_doubtful(plan: Plan, each: Audited) -> bool:
    """Return whether a label is unknown, or the labels of a part were recorded with errors."""
    return each.attribute.doubtful or any(plan.data.attribute(name).doubtful for name in each.by)


def labels_of(
    plan: Plan,
    each: Audited,
    code: int,
    among: np.ndarray | None = None,
    bands: np.ndarray | None = None,
) -> Labels:
    """Return what is known of the membership in a group, for some rows of an audit."""
    data = plan.data
    rows = np.arange(data.n_rows) if among is None else np.flatnonzero(among)
    cuts = np.searchsorted(rows, data.offsets)
    cuts = np.concatenate([cuts[:1], cuts[1:][np.diff(cuts) > 0]])
    refused = ""
    if each.crossed:
        side = label_sides(plan, each, code)[rows]
        codes = np.where(side < 0, -1, 1 - side).astype(np.int32)
        attribute, code, reference = Attribute(codes, (each.groups[code], "others")), 0, None
        refused = "attributes that are crossed have bounds only"
    else:
        attribute, reference = _as_unknown(each.attribute).take(rows), each.reference
        reference = None if each.n_groups <= 2 or reference == code else reference
    if bands is None:
        band = _all_bands(plan) if among is None else _bands(plan, rows, cuts)
    else:
        band = bands[rows]
    return Labels(rows, label_model(attribute, cuts, band), code, reference, refused)


def _as_unknown(attribute: Attribute) -> Attribute:
    """Return the attribute without a group of missing labels, which are unknown."""
    if MISSING not in attribute.categories:
        return attribute
    groups = tuple(group for group in attribute.categories if group != MISSING)
    lookup = [-1 if group == MISSING else groups.index(group) for group in attribute.categories]
    return attribute.with_categories(groups, lookup)


def _all_bands(plan: Plan) -> np.ndarray:
    """Return the bands of all rows, computed once."""
    kept: dict[str, Any] = plan.__dict__
    if "_bands" not in kept:
        data = plan.data
        kept["_bands"] = _bands(plan, np.arange(data.n_rows), data.offsets)
    return np.asarray(kept["_bands"])


def _bands(plan: Plan, rows: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return tenths of lists by position; without an order, by the last decision."""
    if plan.ordered:
        return position_bands(plan_positions(plan)[rows], cuts)
    values = np.zeros(plan.data.n_rows)
    for decision in plan.decisions:
        values -= np.nan_to_num(np.asarray(decision.selected, dtype=np.float64))
    return position_bands(values[rows], cuts)


def within_cells(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return values less the mean of their cell, such as the people of a list with one relevance.

    Examples
    --------
    >>> within_cells(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [-1.0, 1.0, 0.0]
    """
    return np.asarray(values - divide(np.bincount(cells, values), np.bincount(cells))[cells])


def residual_bands(values: np.ndarray, position: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the band of each row for values that positions do not determine.

    Unknown people are like known ones in the same tenth of all values and fifth of their list.

    Examples
    --------
    >>> values, position = np.array([4.0, 0.0, 2.0, 2.0]), np.arange(1.0, 5.0)
    >>> residual_bands(values, position, np.array([0, 4])).tolist()
    [40, 6, 28, 29]
    """
    _, at, number = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(number) - number / 2.0
    tenth = np.minimum((N_TENTHS * middle / len(values)).astype(np.int64), N_TENTHS - 1)
    fifth = position_bands(position, offsets) * N_FIFTHS // N_TENTHS
    return np.asarray(tenth[at.reshape(-1)] * N_FIFTHS + fifth)


def plan_positions(plan: Plan) -> np.ndarray:
    """Return the expected positions of all rows, computed once."""
    kept: dict[str, Any] = plan.__dict__
    if "_positions" not in kept:
        kept["_positions"] = expected_positions(plan.ranking)
    return np.asarray(kept["_positions"])


def label_columns(plan: Plan) -> Iterator[LabelColumn]:
    """Yield the measures of positions and exposure, if there is an order, and of decisions."""
    if plan.ordered:
        position, sizes = plan_positions(plan), np.diff(plan.data.offsets)
        yield LabelColumn("mean_position", position, "mean", "lists")
        yield LabelColumn("position_difference", position, "difference", "lists", within=True)
        exposure = list_shares(plan.ranking) * np.repeat(sizes, sizes)
        yield LabelColumn("exposure", exposure, "share", "people")
        yield LabelColumn("exposure_difference", exposure, "difference", "lists", within=True)
    for each in plan.decisions:
        selected = np.nan_to_num(np.asarray(each.selected, dtype=np.float64))
        yield LabelColumn(f"rate, {each.name}", selected, "mean", "people", each.among)
        name = f"impact_ratio, {each.name}"
        yield LabelColumn(name, selected, "ratio", "people", each.among, within=True)


def with_reason(found: CorrectedEstimate, measure: str) -> CorrectedEstimate:
    """Return a corrected estimate that says which number a ratio or difference may divide by 0."""
    words = {
        "ratio": "so few of everyone else are selected that their rate could be 0",
        "difference": "the group, or everyone else, could have nobody in these lists",
    }
    if found.method != "fieller" or not found.reason or measure not in words:
        return found
    return replace(found, reason=words[measure])


def label_sides(plan: Plan, each: Audited, code: int) -> np.ndarray:
    """Return 1 for people of a group, 0 for others, -1 where that is unknown.

    In an intersection, a person one of whose labels is known and differs from the group's is not in
    it, whatever the other label.
    """
    attribute = each.attribute
    side = np.where(attribute.known, (attribute.codes == code).astype(np.int8), np.int8(-1))
    of_group = np.flatnonzero(attribute.codes == code)[:1]
    if each.crossed and len(of_group):
        for name in each.by:
            part = plan.data.attribute(name)
            alike = np.zeros(len(part.categories) + 1, dtype=bool)  # the last one is unknown
            alike[part.codes[of_group]] = True
            side[part.known & ~alike[part.codes]] = 0
    return side
