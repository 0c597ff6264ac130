"""The table of decisions: who was selected, compared within lists and in one pool."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from ...core.closed_shuffles import MOST_EXACT
from ...core.list_sums import ListSums
from ...core.outcomes import Decision
from ...core.sums_views import margins_of
from ...core.table import Table, make_table
from ...kernels.column_names import CLAIM_COLUMNS, TOTAL_COLUMNS
from ...kernels.prefixes import wilson_interval
from ...kernels.segments import divide
from ...statistics import (
    breslow_day,
    exact_over_lists,
    flips,
    mantel_haenszel,
    shortfall,
    two_proportion_z,
)
from ...statistics.stratified import MantelHaenszel, stratified_ratio
from ..audit_plan import SMALL_SELECTED, Audited, Plan

__all__ = ["decisions_table"]


COLUMNS = (
    "o:attribute o:decision o:group o:against f:selected i:people f:rate f:low f:high "
    "f:other_selected i:other_people f:other_rate f:ratio f:ratio_low f:ratio_high f:pooled_ratio "
    "f:highest_ratio f:z f:z_p f:exact_p f:mid_p f:odds_ratio f:mh_test f:mh_p f:breslow_day_p "
    "f:shortfall f:shortfall_reference o:flip f:to_four_fifths f:overall_rate f:overall_ratio "
    "i:lists o:note"
)
#: The cells of a group that is too small to be compared, or whose other side is.
NOT_COMPARED: dict[str, Any] = dict.fromkeys(
    [
        *("ratio", "ratio_low", "ratio_high", "pooled_ratio", "highest_ratio", "z", "z_p"),
        *("exact_p", "mid_p", "odds_ratio", "mh_test", "mh_p", "breslow_day_p", "shortfall"),
        *("shortfall_reference", "to_four_fifths"),
    ],
    float("nan"),
) | {"flip": "", "note": "too small to be compared"}
#: Counts may differ by this much from whole numbers, from rounding.
WHOLE = 1e-6


def decisions_table(plan: Plan) -> Table:
    """Return one row per attribute, decision and group.

    ``selected`` of ``people`` is compared with ``other_selected`` of ``other_people``: everyone
    else with a known label, or the reference. ``ratio`` compares within lists and has the interval
    of the Mantel-Haenszel ratio; ``pooled_ratio`` and ``z`` take all people as one list, and
    ``highest_ratio`` is the rate divided by the highest rate of a group. A group has no ratio in a
    top k where fewer than 5 of it, or of its other side, would be selected at the overall rate.
    ``exact_p``, ``mid_p`` and ``flip`` need whole counts, so ties at a cutoff leave them out. Sums
    over lists have exact p-values (up to 4,096 lists) and Breslow and Day's test of recorded
    decisions only, if at most 10,000 different counts occur. At a stage, ``overall_rate`` and
    ``overall_ratio`` are those of everyone instead of those who reached it.
    """
    rows = []
    for each in plan.audited:
        for at, decision in enumerate(plan.decisions):
            found = (
                _rows(plan, each, decision)
                if plan.sums is None
                else _summed_rows(plan, plan.sums, each, at)
            )
            small = plan.not_compared(each, at)
            rows += [row | NOT_COMPARED if small[code] else row for code, row in enumerate(found)]
    return make_table(COLUMNS, rows)


def _rows(plan: Plan, each: Audited, decision: Decision) -> list[dict[str, Any]]:
    inside = np.flatnonzero(each.attribute.known)
    if decision.among is not None:
        inside = inside[decision.among[inside]]
    cell = plan.data.query_of_rows()[inside] * each.n_groups + each.attribute.codes[inside]
    n_cells = plan.data.n_queries * each.n_groups
    people = np.bincount(cell, minlength=n_cells).astype(float).reshape(-1, each.n_groups)
    selected = np.bincount(cell, decision.selected[inside], n_cells).reshape(people.shape)
    rates = divide(selected.sum(axis=0), people.sum(axis=0))
    overall = divide(selected.sum(axis=0), each.attribute.sizes.astype(float))
    known = rates[~np.isnan(rates) & ~_few(plan, each, decision)]
    highest = float(known.max()) if len(known) else float("nan")
    rows = []
    for code, group in enumerate(each.groups):
        row = {
            "attribute": each.name,
            "decision": decision.name,
            "group": group,
            "against": "rest" if each.reference is None else each.groups[each.reference],
            "highest_ratio": float(rates[code] / highest) if highest > 0 else np.nan,
        }
        a, n1 = selected[:, code], people[:, code]
        if code == each.reference:
            row["against"] = ""
            rows.append(row | _nobody() | _share(plan, a, n1) | _overall(decision, overall, code))
            continue
        b, n2 = selected.sum(axis=1) - a, people.sum(axis=1) - n1
        if each.reference is not None:
            b, n2 = selected[:, each.reference], people[:, each.reference]
        row |= _share(plan, a, n1)
        row |= _compared(plan, a, n1, np.maximum(b, 0.0), n2)
        everyone = each.attribute.sizes.sum() - each.attribute.sizes[code]
        other = float(b.sum()) / everyone if everyone else np.nan
        if each.reference is not None:
            other = float(overall[each.reference])
        rows.append(row | _overall(decision, overall, code, other))
    return rows


def _summed_rows(plan: Plan, sums: ListSums, each: Audited, at: int) -> list[dict[str, Any]]:
    """Return the rows of one attribute and decision from sums over lists."""
    index, some, decision = plan.group_indices(each), sums.decided(at), plan.decisions[at]
    # who was not decided about is selected nowhere, so the selected are those of everyone
    selected = plan.selected_by_group(each, at)
    counted = sums if some is None else some
    people = counted.sums["totals"][:, index, TOTAL_COLUMNS.index("people")].sum(axis=0)
    rates, sizes = divide(selected, people), plan.group_sizes(each).astype(float)
    overall = divide(selected, sizes)
    known = rates[~np.isnan(rates) & ~_few(plan, each, decision)]
    highest = float(known.max()) if len(known) else float("nan")
    everyone = float(people.sum()), float(selected.sum())
    rows = []
    for code, group in enumerate(each.groups):
        a, n1 = float(selected[code]), float(people[code])
        b, n2 = max(everyone[1] - a, 0.0), everyone[0] - n1
        rest = sizes.sum() - sizes[code]
        other, source, g = b / rest if rest else np.nan, counted, int(index[code])
        if each.reference is not None:
            b, n2 = float(selected[each.reference]), float(people[each.reference])
            other = float(overall[each.reference])
        head: dict[str, Any] = {
            "attribute": each.name,
            "decision": decision.name,
            "group": group,
            "against": "rest" if each.reference is None else each.groups[each.reference],
            "highest_ratio": float(rates[code] / highest) if highest > 0 else np.nan,
        }
        head |= _share(plan, np.array([a]), np.array([n1]))
        if code == each.reference:
            empty = _nobody() | {"against": ""}
            rows.append(empty | head | {"against": ""} | _overall(decision, overall, code))
            continue
        if each.reference is not None:
            source, g = sums.compared(each.by, group, -1 if some is None else at), 0
        e = at if some is None else 0
        terms = source.sums["decided"][e, g]
        claims = source.sums["claims"][:, g].sum(axis=0)
        x, y, chosen, others = claims[len(CLAIM_COLUMNS) + 4 * e :][:4]
        _, above, below, expected, variance, at_rate = terms.tolist()
        counts = margins_of(source.sums, e, g)
        within = stratified_ratio(
            x, y, above, below, chosen - expected, variance, (a, n1, b, n2),
            lists=int(claims[0]), people=claims[1] + claims[2], level=plan.level,
            compared=(chosen, claims[1], others, claims[2]) if counts is None else counts,
        )  # fmt: skip
        lacking = (expected - chosen, at_rate - chosen) if within.lists else (np.nan, np.nan)
        row = head | _of_ratio(within, (a, n1, b, n2), *lacking)
        row |= _exact(counts, (a, n1, b, n2), within.lists <= MOST_EXACT)
        rows.append(row | _overall(decision, overall, code, other))
    return rows


def _of_ratio(
    within: MantelHaenszel, totals: Sequence[float], lacking: float, against: float
) -> dict[str, Any]:
    """Return the cells of a stratified ratio, of totals and of the shortfall."""
    pooled = two_proportion_z(*totals)
    return {
        "other_selected": totals[2],
        "other_people": int(totals[3]),
        "other_rate": totals[2] / totals[3] if totals[3] else np.nan,
        "ratio": within.estimate,
        "ratio_low": within.low if within.estimate >= 0 else np.nan,
        "ratio_high": within.high if within.estimate >= 0 else np.nan,
        "pooled_ratio": within.pooled,
        "z": pooled.statistic,
        "z_p": pooled.p_value,
        "exact_p": np.nan,
        "mid_p": np.nan,
        "odds_ratio": within.odds_ratio,
        "mh_test": within.statistic,
        "mh_p": within.p_value,
        "breslow_day_p": np.nan,
        "shortfall": lacking,
        "shortfall_reference": against,
        "flip": "",
        "to_four_fifths": np.nan,
        "lists": within.lists,
        "note": within.reason or within.note,
    }


def _few(plan: Plan, each: Audited, decision: Decision) -> np.ndarray:
    """Return which groups are too small for a rate in a top k that others are compared with."""
    expected = plan.expected_in_top(each, plan.decisions.index(decision))
    return np.asarray((expected < SMALL_SELECTED) & ("k" in decision.scope))


def _overall(
    decision: Decision, rates: np.ndarray, code: int, other: float = np.nan
) -> dict[str, float]:
    """Return the rate of a stage among everyone, and its ratio to that of the other side."""
    if "stage" not in decision.scope:
        return {"overall_rate": np.nan, "overall_ratio": np.nan}
    rate = float(rates[code])
    return {"overall_rate": rate, "overall_ratio": rate / other if other > 0 else np.nan}


def _share(plan: Plan, a: np.ndarray, n1: np.ndarray) -> dict[str, Any]:
    """Return the rate of a group with Wilson's interval."""
    z = NormalDist().inv_cdf((1.0 + plan.level) / 2.0)
    chosen, all_people = np.array([a.sum()]), np.array([float(n1.sum())])
    low, high = wilson_interval(chosen, all_people, z)
    return {
        "selected": float(chosen[0]),
        "people": int(n1.sum()),
        "rate": float(divide(chosen, all_people)[0]),
        "low": float(low[0]),
        "high": float(high[0]),
    }


def _nobody() -> dict[str, Any]:
    """Return the cells of the reference, which is not compared."""
    names = [word[2:] for word in COLUMNS.split()]
    numbers = names[names.index("other_selected") : names.index("lists")]
    empty: dict[str, Any] = dict.fromkeys(numbers, np.nan)
    del empty["highest_ratio"]
    return empty | {"other_people": 0, "flip": "", "lists": 0, "note": "reference"}


def _compared(
    plan: Plan, a: np.ndarray, n1: np.ndarray, b: np.ndarray, n2: np.ndarray
) -> dict[str, Any]:
    """Return a group compared with its other side, from its counts in each list."""
    counts = a, n1, b, n2
    within = mantel_haenszel(*counts, level=plan.level)
    totals = [float(part.sum()) for part in counts]
    lacking = shortfall(*counts)
    row = _of_ratio(within, totals, lacking.estimate, lacking.against_reference)
    return row | _exact(np.stack(counts), totals)


def _exact(
    counts: np.ndarray | None, totals: Sequence[float], exact_p: bool = True
) -> dict[str, Any]:
    """Return the cells that need the counts of each list, or whole totals."""
    row: dict[str, Any] = {}
    parts = np.array(totals)[:, None] if counts is None else counts
    if counts is not None:
        row["breslow_day_p"] = breslow_day(*counts).p_value
    if np.abs(parts - np.rint(parts)).max() > WHOLE:
        return row
    if counts is not None and exact_p:
        exact = exact_over_lists(*np.rint(counts))
        row |= {"exact_p": exact.p_value, "mid_p": exact.mid_p}
    moved = flips(*np.rint(totals))
    return row | {
        "flip": "yes" if moved.flip else "no",
        "to_four_fifths": float(moved.to_four_fifths),
    }
