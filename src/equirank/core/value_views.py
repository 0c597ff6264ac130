"""Sums of given values of people: scores, gains by group, and changes since another ranking."""

from dataclasses import dataclass

import numpy as np

from ..kernels.segments import divide
from .block_columns import fold_lists
from .order_values import order_values
from .outcomes import decide_top
from .ranking import Ranking
from .registry import parse_metrics
from .sums_plan import SumsPlan, View
from .sums_views import SumsView, count_lengths, only_compared

__all__ = ["COLUMNS", "GivenValues", "changed_ks", "given_values", "moved_rows"]


#: Columns of the comparisons before four per value: its part of the statistic, ``a n2 / N``, and
#: the sums a and b of both sides. The last column is ``n1 n2 / N``.
COLUMNS = ("lists", "people", "others")
#: A position that differs by less is the same.
ROUNDING = 1e-9


def changed_ks(plan: SumsPlan) -> list[int]:
    """Return the cutoffs at which two rankings are compared."""
    return [k for k in plan.ks if plan.cut is None or k <= plan.cut]


@dataclass(frozen=True, eq=False)
class GivenValues:
    """Values of the rows of a ranking, and whom they are compared by.

    Attributes
    ----------
    values : ndarray of shape (n_values, n_rows)
        The values.
    groups : ndarray of shape (n_rows, n_keys)
        The group of each row in each key, numbered through, or -1.
    first : ndarray
        Number of the first group of each key.
    column : ndarray of shape (n_keys, n_compared)
        Which values are compared in each key.
    n_averaged : int
        The first ones are differences of means, the others sums less their expectation.
    cells : ndarray of int
        Rows of a list with the same number exchange labels.
    inside : ndarray of bool or None
        The rows that are compared; None for all.
    """

    values: np.ndarray
    groups: np.ndarray
    first: np.ndarray
    column: np.ndarray
    n_averaged: int
    cells: np.ndarray
    inside: np.ndarray | None

    def measure(self, offsets: np.ndarray, keys: np.ndarray, view: View) -> SumsView:
        """Return the sums over some lists, given by the offsets of their rows."""
        from ..kernels.value_columns import measure_values

        n_groups, n_compared = int(self.first[-1]), self.column.shape[1]
        rows = np.arange(offsets[0], offsets[-1])
        if self.inside is not None:
            rows = rows[self.inside[rows]]
        query = np.searchsorted(offsets, rows, side="right") - 1
        cells = self.cells[rows]
        if len(cells) and cells.min() < cells.max():
            order = np.lexsort((cells, query))
            rows, cells = rows[order], cells[order]
        sizes = np.bincount(query, minlength=len(keys))
        columns = np.zeros((len(keys), n_groups, len(COLUMNS) + 4 * n_compared))
        adjusted = np.zeros((len(keys), n_groups, n_compared))
        found = {
            "covariance": np.zeros((n_groups, n_compared, n_groups * n_compared)),
            "third": np.zeros((n_groups, n_compared)),
            "fourth": np.zeros((n_groups, n_compared)),
            "spread": np.zeros((n_groups, n_compared)),
        }
        measure_values(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), cells, self.groups[rows],
            np.ascontiguousarray(self.values[:, rows]), self.column, self.n_averaged, self.first,
            columns, adjusted, *found.values(),
        )  # fmt: skip
        parts = columns[:, :, len(COLUMNS) :: 4]
        squares = [(each**2).sum(axis=0) for each in (parts, parts - adjusted)]
        weight = columns[:, :, 1] * columns[:, :, 2]
        weight = np.nan_to_num(divide(weight, columns[:, :, 1] + columns[:, :, 2]))
        columns = np.concatenate([columns, weight[:, :, None]], axis=2)
        shape = (n_groups, n_compared, n_groups, n_compared)
        sums = {
            "claims": fold_lists(columns, keys),
            "adjusted": fold_lists(adjusted[:, None], keys),
            "covariance": found["covariance"].reshape(shape),
            "third": found["third"][None],
            "fourth": found["fourth"][None],
            "spread": found["spread"],
            "squares": np.stack(squares, axis=2),
        }
        if view.values == "score":
            sums["within"] = _within(columns)
        lengths, sums["lengths"] = count_lengths(np.diff(offsets), columns)
        return SumsView(sums, lengths) if not view.key else only_compared(sums, lengths)


def _within(columns: np.ndarray) -> np.ndarray:
    """Return the squares of scores around the mean of each side of each list, by group."""
    at = len(COLUMNS) + 4
    a, b = columns[:, :, at + 2], columns[:, :, at + 3]
    square = columns[:, :, at + 6] + columns[:, :, at + 7]
    used = columns[:, :, 0] > 0
    around = square - divide(a**2, columns[:, :, 1]) - divide(b**2, columns[:, :, 2])
    return np.asarray(np.where(used, np.maximum(around, 0.0), 0.0).sum(axis=0))


def given_values(
    ranking: Ranking, plan: SumsPlan, view: View, codes: np.ndarray, before: Ranking | None
) -> GivenValues:
    """Return the values of a view of a plan.

    Parameters
    ----------
    ranking : Ranking
        The order.
    plan : SumsPlan
        What is measured.
    view : View
        Which values, and whom.
    codes : ndarray of shape (n_rows, n_attributes)
        The labels as codes of the plan.
    before : Ranking or None
        The other ranking of the same rows, for changes since it.
    """
    inside: np.ndarray | None = None
    if view.key:
        labels, own = plan.labels(view.key), plan.codes_of(codes, plan.keys.index(view.key))
        pair = np.full(len(own), -1, dtype=np.int64)
        pair[own == labels.index(view.group)] = 0
        pair[own == labels.index(view.against)] = 1
        groups, first, inside = pair[:, None], np.array([0, 2], dtype=np.int64), pair >= 0
    else:
        several = [plan.codes_of(codes, at) for at in range(len(plan.keys))]
        numbered = [np.where(c < 0, -1, c + at) for c, at in zip(several, plan.first, strict=False)]
        groups, first = np.stack(numbered, axis=1).astype(np.int64), plan.first
    cells = (codes < 0) @ (1 << np.arange(codes.shape[1]))
    n_keys, data = groups.shape[1], ranking.data
    if view.values == "score" and plan.median is not None:
        score = np.asarray(data.score, dtype=np.float64)
        query = data.query_of_rows()
        mean = np.bincount(query, score, data.n_queries) / np.diff(data.offsets)
        values = [(score > plan.median).astype(np.float64), score - mean[query]]
        values.append(values[1] ** 2)
        column, n_averaged = np.tile(np.arange(3), (n_keys, 1)), 0
    elif view.values == "change" and before is not None:
        masks = [groups[:, k] >= 0 for k in range(n_keys)]
        values = _changes(ranking, before, plan, masks)
        usual = np.concatenate([[0, 0], np.arange(1 + n_keys, len(values))])
        column, n_averaged = np.tile(usual, (n_keys, 1)), 2
        column[:, 1] = 1 + np.arange(n_keys)
    else:
        metric, slots = parse_metrics(view.values)[0], ranking.slots()
        values = [np.empty(data.n_rows), np.empty(data.n_rows)]
        for each, gains in zip(values, metric.item_gains(slots), strict=True):  # type: ignore[attr-defined]
            each[slots.order] = gains
        column, n_averaged = np.tile(np.arange(2), (n_keys, 1)), 0
        cells = cells * len(plan.limits) + np.searchsorted(plan.limits, np.asarray(data.y))
    return GivenValues(
        np.nan_to_num(np.stack(values)), groups, first, column.astype(np.int64), n_averaged,
        cells.astype(np.int64), inside,
    )  # fmt: skip


def _changes(
    ranking: Ranking, before: Ranking, plan: SumsPlan, masks: list[np.ndarray]
) -> list[np.ndarray]:
    """Return the changes of position, chances, exposure and top k; then the exposure of now."""
    found = []
    for each in (ranking, before):
        position, chances, exposure = order_values(each, masks, plan.cut)
        top = [decide_top(each, k).selected for k in changed_ks(plan)]
        found.append([position, *chances, exposure, *top])
    return [*(new - old for new, old in zip(*found, strict=True)), found[0][1 + len(masks)]]


def moved_rows(ranking: Ranking, before: Ranking, cut: int | None) -> np.ndarray:
    """Return which rows have another position than in the other ranking."""
    new, old = (order_values(each, (), cut)[0] for each in (ranking, before))
    return np.asarray(np.abs(new - old) > ROUNDING)
