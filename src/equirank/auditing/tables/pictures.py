"""The tables behind pictures of single items: scores by group, and places as a strip."""

from typing import Any

import numpy as np

from ...core.table import Table
from ..measures.position_difference import places
from ..measuring import Measured
from ..plan import Audited
from .prefix_shares import largest_groups
from .rows import as_label, make_table

__all__ = ["LISTS_SHOWN", "scores_table", "strip_table"]

BINS = 40
#: Outliers beyond these quantiles are counted in the first and the last bin.
ENDS = (0.001, 0.999)
LISTS_SHOWN = 12
MOST_MARKS = 1500


def scores_table(measured: Measured) -> Table:
    """Give a histogram of the scores of each group, over bins that all groups share."""
    score = measured.plan.data.score
    rows: list[dict[str, Any]] = []
    if score is not None:
        low, high = np.quantile(score, ENDS)
        if low == high:
            low, high = float(score.min()), float(score.max())
        edges = np.linspace(low, high, BINS + 1) if low < high else np.array([low, low])
        at = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, len(edges) - 2)
        for each in measured.plan.audited:
            rows += _histogram(each, at, edges)
    return make_table("o:attribute o:group f:left f:right f:share", rows)


def _histogram(each: Audited, at: np.ndarray, edges: np.ndarray) -> list[dict[str, Any]]:
    bins = len(edges) - 1
    table = np.bincount(each.attribute.codes * bins + at, minlength=each.n_groups * bins)
    table = table.reshape(each.n_groups, bins)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    return [
        {
            "attribute": each.name,
            "group": each.groups[code],
            "left": edges[j],
            "right": edges[j + 1],
            "share": share[code, j],
        }
        for code in largest_groups(each)
        for j in range(bins)
    ]


def strip_table(measured: Measured) -> Table:
    """Give the places of the focus group in up to 12 lists, from the most to the least unequal.

    The lists are picked evenly along the order by the group's position difference, taken as a
    share of the list's length. Many marks are thinned out evenly.
    """
    rows: list[dict[str, Any]] = []
    data = measured.plan.data
    ranking = next(draw for _, draw in measured.plan.ranking.draws())
    slots = ranking.slots()
    sizes = np.diff(data.offsets)
    for each in measured.plan.audited:
        column = np.asarray(measured.places(each).values.groups)[:, each.focus]
        order = np.argsort(-np.nan_to_num(column / sizes, nan=-np.inf), kind="stable")
        order = order[: max(1, int((~np.isnan(column)).sum()))]
        picked = order[np.linspace(0, len(order) - 1, min(LISTS_SHOWN, len(order))).astype(int)]
        for query in picked.tolist():
            part = slots.block(slice(query, query + 1))
            mine = each.attribute.codes[part.order] == each.focus
            marks = places(part)[mine]
            most = MOST_MARKS // len(picked)
            if len(marks) > most:
                marks = marks[np.linspace(0, len(marks) - 1, most).astype(int)]
            label = as_label(data.qids[query])
            rows += [
                {
                    "attribute": each.name,
                    "group": each.groups[each.focus],
                    "query": label,
                    "position": place,
                    "length": sizes[query],
                }
                for place in marks.tolist()
            ]
    return make_table("o:attribute o:group o:query f:position i:length", rows)
