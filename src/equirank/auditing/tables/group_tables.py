"""The tables of groups: position, exposure, merit, selection and pairwise accuracy."""

from statistics import NormalDist
from typing import Any

import numpy as np

from ...core.labels import MISSING
from ...core.list_sums import ListSums
from ...core.order_values import expected_positions, list_shares
from ...core.sums_plan import MOST_PAIRED
from ...core.table import Table, make_table
from ...kernels.prefixes import ratio_interval, wilson_interval
from ...kernels.segments import divide
from ...metrics import pairwise_accuracy_matrix
from ...metrics.fairness.pairwise import OTHERS
from ..audit_plan import SMALL_SELECTED, Audited, Plan
from ..claim_intervals import ROUNDING
from ..compared import Compared
from ..measured import Measured

__all__ = [
    "POWER",
    "SMALL_SELECTED",
    "SMALL_SHARE",
    "detectable_difference",
    "exposure_merit_table",
    "groups_table",
    "pairwise_table",
    "selection_table",
    "small_cells",
    "unknown_table",
]


#: Power of the detectable difference.
POWER = 0.8

GROUP_COLUMNS = (
    "o:attribute o:group b:protected b:focus i:size f:share i:n_queries f:mean_position "
    "f:mean_position_low f:mean_position_high f:position_difference f:position_difference_low "
    "f:position_difference_high f:p_value f:p_family o:status f:exposure f:exposure_low "
    "f:exposure_high f:exposure_per_item f:merit f:merit_share"
)


def groups_table(measured: Measured, compared: Compared) -> Table:
    """Return one row per attribute and group.

    The difference in position, its interval and its p-values are those of the claims; of two groups
    one is the mirror image of the other. The interval of the exposure is that of the exposure per
    item, times the group's share: the number of a group's items per list varies, which is not part
    of how they are ranked.
    """
    rows = [row for each in measured.plan.audited for row in _group_rows(measured, compared, each)]
    return make_table(GROUP_COLUMNS, rows)


def _group_rows(measured: Measured, compared: Compared, each: Audited) -> list[dict[str, Any]]:
    totals, drawn = measured.totals(each)
    n = (each.n_groups,)
    known = measured.plan.data.y is not None
    differences = np.array([compared.position_of(each.name, code) for code in range(*n)])
    claims = [compared.claim_of(each.name, code) for code in range(*n)]
    empty, share = np.full(n, np.nan), totals.people / max(totals.people.sum(), 1)
    columns: dict[str, Any] = {
        "attribute": [each.name] * each.n_groups,
        "group": each.groups,
        "protected": [code in each.protected for code in range(each.n_groups)],
        "focus": [code == each.focus for code in range(each.n_groups)],
        "size": totals.people,
        "share": share,
        "n_queries": totals.lists,
        "mean_position": totals.mean_position,
        "position_difference": differences[:, 0],
        "position_difference_low": differences[:, 1],
        "position_difference_high": differences[:, 2],
        "p_value": differences[:, 3],
        "p_family": [np.nan if claim is None else claim.p_family for claim in claims],
        "status": ["described" if claim is None else claim.status for claim in claims],
        "exposure": totals.exposure,
        "exposure_per_item": totals.exposure_per_item,
        "merit": totals.relevance if known else empty,
        "merit_share": totals.merit if known else empty,
    }
    replicates = {
        "mean_position": None if drawn is None else drawn.mean_position,
        "exposure": None if drawn is None else drawn.exposure_per_item * share,
    }
    for name, values in replicates.items():
        columns[f"{name}_low"], columns[f"{name}_high"] = measured.interval(values, n)
    return [{name: values[code] for name, values in columns.items()} for code in range(*n)]


def detectable_difference(
    replicates: np.ndarray | None, level: float, n: int, shape: Any = ()
) -> np.ndarray:
    """Return the smallest difference that a test at this level detects with 80% power.

    ``(z_(1 + level)/2 + z_0.8)`` times the standard error of the bootstrap replicates, widened by
    ``sqrt(n / (n - 1))``. NaN without replicates.
    """
    if replicates is None:
        return np.full(shape, np.nan)
    normal = NormalDist()
    factor = normal.inv_cdf((1.0 + level) / 2.0) + normal.inv_cdf(POWER)
    error = _spread(replicates) * (np.sqrt(n / (n - 1.0)) if n > 1 else np.nan)
    return np.asarray(factor * error)


def _spread(replicates: np.ndarray) -> np.ndarray:
    """Return the standard deviation over the replicates, excluding undefined ones."""
    defined = ~np.isnan(replicates)
    n = defined.sum(axis=0)
    mean = np.where(defined, replicates, 0.0).sum(axis=0) / np.maximum(n, 1)
    square = np.where(defined, (replicates - mean) ** 2, 0.0).sum(axis=0)
    return np.where(n > 1, np.sqrt(square / np.maximum(n - 1, 1)), np.nan)


def exposure_merit_table(measured: Measured) -> Table:
    """Return each group's share of exposure and of merit, over lists with any merit."""
    rows = []
    for each in measured.plan.audited if measured.plan.data.y is not None else ():
        totals, drawn = measured.totals(each)
        ratio = totals.exposure_per_merit
        replicates = None if drawn is None else drawn.exposure_per_merit
        low, high = measured.interval(replicates, ratio.shape)
        exposure = totals.exposure_of_merit_lists
        for code, group in enumerate(each.groups):
            rows.append(
                {
                    "attribute": each.name,
                    "group": group,
                    "exposure_share": exposure[code],
                    "merit_share": totals.merit[code],
                    "ratio": ratio[code],
                    "low": low[code],
                    "high": high[code],
                }
            )
    columns = "o:attribute o:group f:exposure_share f:merit_share f:ratio f:low f:high"
    return make_table(columns, rows)


def pairwise_table(measured: Measured) -> Table:
    """Return how often the better item of one group ranks above the worse of another, per pair."""
    rows = []
    plan = measured.plan
    for each in plan.audited if plan.data.y is not None else ():
        if each.n_groups > MOST_PAIRED:
            continue
        if plan.sums is not None:
            rows += _summed_pairs(plan, plan.sums, each)
            continue
        for row in pairwise_accuracy_matrix(None, measured.plan.ranking, None, by=each.key):
            rows.append(
                {
                    "attribute": each.name,
                    "group": str(row["better"]),
                    "other": str(row["worse"]),
                    "accuracy": row["accuracy"],
                    "n_pairs": row["pairs"],
                    "n_queries": row["queries"],
                    "kind": row["kind"],
                }
            )
    columns = "o:attribute o:group o:other f:accuracy i:n_pairs i:n_queries o:kind"
    return make_table(columns, rows)


def _summed_pairs(plan: Plan, sums: ListSums, each: Audited) -> list[dict[str, Any]]:
    """Return the rows of one attribute from sums; too many groups before merging have none."""
    index = plan.group_indices(each)
    rows = []
    for code, group in enumerate(each.groups):
        others = [*zip(each.groups, index.tolist(), strict=True), (OTHERS, -1)]
        for name, other in others:
            kind = "inter" if other < 0 else "intra" if name == group else "pair"
            total, lists, pairs = sums.sums["pairs_with_others"][index[code]]
            if other >= 0:
                total, lists, pairs = sums.sums["pairs"][index[code], other]
            rows.append(
                {
                    "attribute": each.name,
                    "group": group,
                    "other": name,
                    "accuracy": total / lists if lists else np.nan,
                    "n_pairs": round(pairs),
                    "n_queries": round(lists),
                    "kind": kind,
                }
            )
    return rows


#: A group with a smaller share of all people is a small cell, and so is one with fewer than
#: `SMALL_SELECTED` people selected at the overall rate.
SMALL_SHARE = 0.02

SELECTION_COLUMNS = (
    "o:attribute i:k o:group f:selected i:size f:rate f:low f:high b:reference f:impact_ratio "
    "f:ratio_low f:ratio_high b:small_cell"
)


def selection_table(measured: Measured) -> Table:
    """Return one row per attribute, cutoff and group, all lists together.

    The rates have Wilson intervals. The impact ratio is the rate divided by the highest rate of the
    groups that are not small cells; its interval is a bootstrap over lists, or the score
    interval for one list or where all or none are selected. A group has none if fewer than 5 of it
    would be selected at the overall rate, and nobody has if no other group could be compared with
    the reference.
    """
    rows = [
        row
        for each in measured.plan.audited
        for k in measured.plan.ks
        for row in _selection_rows(measured, each, k)
    ]
    return make_table(SELECTION_COLUMNS, rows)


UNKNOWN_COLUMNS = (
    "o:attribute o:decision i:size f:share i:n_queries f:mean_position f:exposure f:selected f:rate"
)


def unknown_table(plan: Plan) -> Table:
    """Return one row per attribute with unknown labels and decision: how these people fare.

    They are in no group of the other tables. ``size`` is their number and ``share`` their share of
    all people, ``exposure`` their share of all exposure (lists count alike), ``rate`` the share
    selected of those about whom it was decided.
    """
    if plan.sums is not None:
        return make_table(UNKNOWN_COLUMNS, _summed_unknown(plan, plan.sums))
    rows: list[dict[str, Any]] = []
    data, query = plan.data, plan.data.query_of_rows()
    position = exposure = np.full(data.n_rows, np.nan)
    if plan.ordered:
        position = expected_positions(plan.ranking)
        exposure = list_shares(plan.ranking)
    for each in plan.audited:
        unknown = ~each.attribute.known
        people = int(unknown.sum())
        lists = np.bincount(query, unknown, data.n_queries)
        sums = np.bincount(query, np.where(unknown, position, 0.0), data.n_queries)
        for decision in plan.decisions if people else ():
            among = unknown if decision.among is None else unknown & decision.among
            rows.append(
                {
                    "attribute": each.name,
                    "decision": decision.name,
                    "size": people,
                    "share": people / data.n_rows,
                    "n_queries": int((lists > 0).sum()),
                    "mean_position": float((sums[lists > 0] / lists[lists > 0]).mean()),
                    "exposure": float(exposure[unknown].sum() / data.n_queries),
                    "selected": float(decision.selected[among].sum()),
                    "rate": float(decision.selected[among].mean()) if among.any() else np.nan,
                }
            )
    return make_table(UNKNOWN_COLUMNS, rows)


def _summed_unknown(plan: Plan, sums: ListSums) -> list[dict[str, Any]]:
    rows = []
    for each in plan.audited:
        people, lists, position, share, *selected = sums.sums["unknown"][
            sums.plan.keys.index(each.by)
        ].tolist()
        key = sums.plan.keys.index(each.by)
        for at, decision in enumerate(plan.decisions if people else ()):
            some, chosen = sums.decided(at), selected[at]
            decided = people if some is None else float(some.sums["unknown"][key, 0])
            rows.append(
                {
                    "attribute": each.name,
                    "decision": decision.name,
                    "size": round(people),
                    "share": people / plan.n_rows,
                    "n_queries": round(lists),
                    "mean_position": position / lists if plan.ordered else np.nan,
                    "exposure": share / plan.n_queries if plan.ordered else np.nan,
                    "selected": chosen,
                    "rate": chosen / decided if decided else np.nan,
                }
            )
    return rows


def small_cells(people: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """Return which groups are too small for a reliable rate.

    Examples
    --------
    >>> import numpy as np
    >>> small_cells(np.array([900, 90, 10]), np.array([90, 9, 1]))
    array([False, False,  True])
    """
    rate = selected.sum() / max(people.sum(), 1)
    small: np.ndarray = (people < SMALL_SHARE * people.sum()) | (people * rate < SMALL_SELECTED)
    return small


def _selection_rows(measured: Measured, each: Audited, k: int) -> list[dict[str, Any]]:
    totals, drawn = measured.totals(each)
    people, selected, rate = totals.people, totals.selected(k), totals.rate(k)
    at = next(at for at, made in enumerate(measured.plan.decisions) if made.scope.get("k") == k)
    small = small_cells(people, selected)
    compared = measured.plan.expected_in_top(each, at) >= SMALL_SELECTED
    named = np.array([MISSING not in group.split(" & ") for group in each.groups])
    eligible = next((some for some in (~small & named, ~small) if some.any()), compared)
    best = int(np.where(eligible, np.nan_to_num(rate), -1.0).argmax())
    z = NormalDist().inv_cdf((1.0 + measured.plan.level) / 2.0)
    low, high = wilson_interval(selected, people, z)
    several = bool(eligible.any()) and compared.sum() > 1 and rate[best] > 0
    ratio = np.where(compared & several, divide(rate, np.full(len(rate), rate[best])), np.nan)
    a, n1 = selected[:, None], people[:, None]
    ends = np.stack(ratio_interval((a, n1, a[[best]], n1[[best]]), z))
    if not measured.plan.one_list:
        replicates = None
        if drawn is not None:
            rates = drawn.rate(k)
            replicates = divide(rates, rates[:, best : best + 1])
        drawn_ends = measured.interval(replicates, rate.shape)
        # Lists do not show how a rate varies that is 0 or 1 in all of them.
        one_sided = np.minimum(selected, people - selected) < ROUNDING
        one_sided = (one_sided | one_sided[best]) & ~np.isnan(drawn_ends[0])
        ends = np.where(one_sided, ends, drawn_ends)
    fixed = (np.arange(len(rate)) == best) | np.isnan(ratio)
    columns = {
        "group": each.groups,
        "selected": selected,
        "size": people,
        "rate": rate,
        "low": low,
        "high": high,
        "reference": (np.arange(len(rate)) == best) & several,
        "impact_ratio": ratio,
        "ratio_low": np.where(fixed, ratio, ends[0]),
        "ratio_high": np.where(fixed, ratio, ends[1]),
        "small_cell": small,
    }
    return [
        {"attribute": each.name, "k": k, **{name: v[code] for name, v in columns.items()}}
        for code in range(len(rate))
    ]
