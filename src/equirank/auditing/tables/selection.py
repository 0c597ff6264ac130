"""The table of selections: how often each group is among the first k, and the impact ratios."""

from statistics import NormalDist
from typing import Any

import numpy as np

from ...core.table import Table
from ...kernels.division import divide
from ...kernels.representation import log_ratio_interval, wilson_interval
from ..measuring import Measured
from ..plan import Audited
from .rows import make_table

__all__ = ["SMALL_SELECTED", "SMALL_SHARE", "selection_table", "small_cells"]

#: Groups with a smaller share of all people are small cells ...
SMALL_SHARE = 0.02
#: ... and so are those of whom fewer would be selected at the rate of everybody.
SMALL_SELECTED = 5.0

COLUMNS = (
    "o:attribute i:k o:group f:selected i:size f:rate f:low f:high b:reference f:impact_ratio "
    "f:ratio_low f:ratio_high b:small_cell"
)


def selection_table(measured: Measured) -> Table:
    """Give one row per attribute, cutoff and group, all lists together.

    The rates have Wilson intervals. The impact ratio is the rate over the highest rate of the
    groups that are not small cells; its interval is a bootstrap over lists, for one list the
    log-ratio interval.
    """
    rows = [
        row
        for each in measured.plan.audited
        for k in measured.plan.ks
        for row in _rows(measured, each, k)
    ]
    return make_table(COLUMNS, rows)


def small_cells(people: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """Tell groups that are too small for their rate to say much.

    Examples
    --------
    >>> import numpy as np
    >>> small_cells(np.array([900, 90, 10]), np.array([90, 9, 1]))
    array([False, False,  True])
    """
    rate = selected.sum() / people.sum()
    small: np.ndarray = (people < SMALL_SHARE * people.sum()) | (people * rate < SMALL_SELECTED)
    return small


def _rows(measured: Measured, each: Audited, k: int) -> list[dict[str, Any]]:
    totals, drawn = measured.totals(each)
    people, selected, rate = totals.people, totals.selected(k), totals.rate(k)
    small = small_cells(people, selected)
    eligible = ~small if (~small).any() else np.ones(len(small), dtype=bool)
    best = int(np.where(eligible, np.nan_to_num(rate), -1.0).argmax())
    z = NormalDist().inv_cdf((1.0 + measured.plan.level) / 2.0)
    low, high = wilson_interval(selected, people, z)
    several = len(rate) > 1 and rate[best] > 0
    ratio = divide(rate, rate[best]) if several else np.full(len(rate), np.nan)
    if measured.plan.one_list:
        ends = log_ratio_interval(selected, people, selected[best], people[best], z)
    else:
        replicates = None
        if drawn is not None:
            rates = drawn.rate(k)
            replicates = divide(rates, rates[:, best : best + 1])
        ends = measured.interval(replicates, rate.shape)
    fixed = (np.arange(len(rate)) == best) | np.isnan(ratio)
    columns = {
        "group": each.groups,
        "selected": selected,
        "size": people,
        "rate": rate,
        "low": low,
        "high": high,
        "reference": np.arange(len(rate)) == best,
        "impact_ratio": ratio,
        "ratio_low": np.where(fixed, ratio, ends[0]),
        "ratio_high": np.where(fixed, ratio, ends[1]),
        "small_cell": small,
    }
    return [
        {"attribute": each.name, "k": k, **{name: v[code] for name, v in columns.items()}}
        for code in range(len(rate))
    ]
