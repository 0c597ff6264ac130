"""The table of single lists: the gaps in each, the most unequal first."""

from typing import Any

import numpy as np

from ...core.table import Table
from ..measures.position_difference import PositionDifference
from ..measuring import Measured
from .rows import as_label, make_table

__all__ = ["MOST_QUERIES", "queries_table"]

#: Lists kept for each attribute.
MOST_QUERIES = 500


def queries_table(measured: Measured) -> Table:
    """Give one row per attribute and list, at most 500 lists for each attribute.

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
