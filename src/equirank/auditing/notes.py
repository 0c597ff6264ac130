"""The notes of an audit: what a reader must know about the data before trusting a number."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.environment import library_version
from ..core.labels import MISSING
from ..core.table import Table
from ..reports.number_words import joined, number, percent, places
from .audit_plan import Audited, Plan
from .measured import MOST_PAIRED, MOST_PREFIXED, Measured
from .measures import PositionDifference
from .tables.gap_tables import MOST_QUERIES, shared_queries
from .tables.group_tables import POWER, SMALL_SELECTED, SMALL_SHARE
from .tables.position_tables import BAND_ALPHA, LISTS_SHOWN, MOST_GROUPS
from .tables.shape_tables import MOST_LISTS

__all__ = [
    "arbitrary_share",
    "list_lengths",
    "make_facts",
    "make_notes",
    "missing_rows",
    "tie_share",
]


#: From this share of the first places on, which ties decide, a warning is given.
MANY_TIES = 0.2


def make_notes(
    measured: Measured, facts: dict[str, Any], tables: dict[str, Table]
) -> list[dict[str, str]]:
    """Return the notes, warnings first."""
    found = [
        {"kind": kind, "text": text}
        for kind, text in (
            *_ties(measured.plan, facts),
            *_cutoffs(facts),
            *_missing(facts),
            *_skipped(tables, facts),
            *_absent(tables, facts),
            *_small(tables),
            *_sample(facts),
            *_detectable(tables),
            *_kept(measured, facts),
            *_four_fifths(),
        )
    ]
    return sorted(found, key=lambda note: note["kind"] != "warning")


Notes = Iterable[tuple[str, str]]


def arbitrary_share(plan: Plan, k: int) -> float:
    """Return the share of the first k places that are filled from a tie block reaching beyond them.

    Who of the block is among the first k is arbitrary there. The mean over lists longer than k.
    """
    shares = []
    for _, draw in plan.ranking.draws():
        slots = draw.slots()
        inside = np.flatnonzero(slots.sizes > k)
        if slots.lo is None or len(inside) == 0:
            shares.append(0.0)
            continue
        last = slots.offsets[inside] + k - 1
        begin, end = slots.lo[last], slots.end()[last]
        across = np.where(end > last + 1, last + 1 - begin, 0)
        shares.append(float((across / k).mean()))
    return float(np.mean(shares))


def _ties(plan: Plan, facts: dict[str, Any]) -> Notes:
    if facts["tie_share"] == 0:
        return
    yield (
        "ties",
        f"{percent(facts['tie_share'])} of the items share their place with others. They stand at "
        "the middle of the places they share, and count by their chance to be among the first.",
    )
    worst = max((arbitrary_share(plan, k), k) for k in plan.ks)
    if worst[0] >= MANY_TIES:
        yield (
            "warning",
            f"{percent(worst[0])} of the first {worst[1]} places are filled from ties that reach "
            "beyond them: who stands there is arbitrary. Measures of the first places (selection "
            "rates, RND, shares by prefix) spread such people evenly and look even for that "
            "reason alone, not because of how people were ranked.",
        )


def _cutoffs(facts: dict[str, Any]) -> Notes:
    longest = facts["list_length"]["max"]
    too_long = [str(k) for k in facts["ks"] if k >= longest]
    if too_long:
        yield (
            "warning",
            f"k = {joined(too_long)} is as long as every list: everybody is selected there, and "
            "selection rates at it say nothing.",
        )
    positions = facts["positions_given"]
    if positions and facts["has_score"]:
        yield "data", "The order audited is that of the given positions; scores are only shown."
    elif positions:
        yield "data", "The order audited is that of the given positions; there are no scores."


def _missing(facts: dict[str, Any]) -> Notes:
    for name, rows in facts["missing_rows"].items():
        if rows:
            yield (
                "missing",
                f"{number(rows)} of {number(facts['n_rows'])} rows have no value of {name}. They "
                f'are kept as a group of their own, "{MISSING}".',
            )


def _skipped(tables: dict[str, Table], facts: dict[str, Any]) -> Notes:
    skipped: dict[str, list[str]] = {}
    for name in ("gaps", "metrics"):
        for row in tables[name]:
            if row["n_skipped"] and row["metric"] != PositionDifference.__name__:
                what = row["metric"]
                what += f" ({row['attribute']})" if row.get("attribute") else ""
                skipped.setdefault(number(row["n_skipped"]), []).append(what)
    for count, what in skipped.items():
        shown = list(dict.fromkeys(what))
        words = joined(shown) if len(shown) <= 6 else f"{len(shown)} measures"
        yield (
            "skipped",
            f"{count} of {number(facts['n_queries'])} lists {'is' if count == '1' else 'are'} left "
            f"out of {words}, which cannot be measured there (one group only, or nothing "
            "relevant).",
        )


def _absent(tables: dict[str, Table], facts: dict[str, Any]) -> Notes:
    """Say where the places of a group could not be compared in every list."""
    for each in facts["attributes"]:
        rows = [
            row
            for row in tables["gaps"]
            if row["attribute"] == each["name"] and row["metric"] == PositionDifference.__name__
        ]
        fewest = min(rows, key=lambda row: row["n_queries"])
        if fewest["n_skipped"]:
            yield (
                "skipped",
                f"Places of groups of {each['name']} are compared in the lists that hold the group "
                f"and others: {number(fewest['n_queries'])} of {number(facts['n_queries'])} for "
                f"{fewest['group']}" + (", the rarest." if len(rows) > 1 else "."),
            )


def _small(tables: dict[str, Table]) -> Notes:
    for k in dict.fromkeys(tables["selection"]["k"].tolist()):
        small = [
            f"{row['group']} ({row['attribute']})"
            for row in tables["selection"]
            if row["small_cell"] and row["k"] == k
        ]
        if small:
            words = joined(small) if len(small) <= 6 else f"{', '.join(small[:5])} and others"
            yield (
                "small",
                f"Too few people for a rate of their own among the first {k}: {words}. Their "
                "numbers are shown, but others are not compared with them.",
            )


def _sample(facts: dict[str, Any]) -> Notes:
    if facts["n_queries"] == 1:
        yield (
            "sample",
            "There is one list. Intervals resample its items within each group, and say nothing "
            "about other lists.",
        )
    elif facts["n_queries"] < 20:
        yield (
            "sample",
            f"There are {facts['n_queries']} lists only: intervals over so few lists are rough.",
        )
    if facts["n_boot"] == 0:
        yield "sample", "No intervals were asked for."
    most = max(len(each["groups"]) for each in facts["attributes"])
    if facts["n_permutations"] and most > 2:
        finest = most / (facts["n_permutations"] + 1)
        if finest >= 1 - facts["level"]:
            yield (
                "warning",
                f"{number(facts['n_permutations'])} permutations are too few for {most} groups: no "
                "difference can be told from chance. Ask for more with n_permutations.",
            )


def _detectable(tables: dict[str, Table]) -> Notes:
    """Say what the audit could have seen, of the group each attribute is looked at by."""
    parts = [
        f"{places(row['detectable'])} for {row['group']} ({row['attribute']})"
        for row in tables["groups"]
        if row["focus"] and not np.isnan(row["detectable"])
    ]
    if parts:
        yield (
            "sample",
            "The smallest difference from the others that would have been seen with a chance of "
            f"80 % is {joined(parts[:6])}.",
        )


def _kept(measured: Measured, facts: dict[str, Any]) -> Notes:
    kept, total = facts["drilldown_kept"], facts["drilldown_total"]
    if kept < total:
        yield (
            "drilldown",
            f"The table of lists keeps the {number(kept)} most unequal of {number(total)} lists "
            "for each attribute.",
        )
    if facts["checks_lists"] < total:
        yield (
            "drilldown",
            f"The distributional checks look at {facts['checks_lists']} lists, spread evenly over "
            "all.",
        )
    for each in measured.plan.audited:
        if each.n_groups > MOST_PAIRED and facts["has_relevance"]:
            yield (
                "drilldown",
                f"{each.name} has {each.n_groups} groups: they are not compared pair by pair.",
            )
        if each.n_groups > MOST_PREFIXED and not each.crossed:
            yield (
                "drilldown",
                f"{each.name} has {each.n_groups} groups: RND is left out, unless it is named.",
            )
        if each.n_groups > MOST_GROUPS:
            yield (
                "drilldown",
                f"{each.name} has {each.n_groups} groups: shares by prefix and scores show the "
                f"{MOST_GROUPS} largest.",
            )


def _four_fifths() -> Notes:
    yield (
        "four_fifths",
        "An impact ratio of four fifths (0.8) is a rule of thumb of one agency in the United "
        "States. Several laws that ask for impact ratios set no threshold. The ratios here are "
        "facts about these lists, and no judgement.",
    )


def make_facts(
    measured: Measured, other: Measured | None, title: str, against_title: str, created: str | None
) -> dict[str, Any]:
    """Say what was audited, and how."""
    plan = measured.plan
    data, n_queries = plan.data, plan.data.n_queries
    return {
        "title": title,
        "created": created,
        "library_version": library_version(),
        "n_rows": data.n_rows,
        "n_queries": n_queries,
        "list_length": list_lengths(plan),
        "has_relevance": data.y is not None,
        "has_score": data.score is not None,
        "positions_given": data.position is not None,
        "missing_rows": {
            each.name: missing_rows(each) for each in plan.audited if not each.crossed
        },
        "attributes": [_attribute(each, data.n_rows) for each in plan.audited],
        "ks": list(plan.ks),
        "step": plan.step,
        "level": plan.level,
        "n_boot": plan.n_boot,
        "n_permutations": plan.n_permutations,
        "random_state": plan.seed,
        "resampling": "items" if plan.one_list else "queries",
        "tie_share": tie_share(plan),
        "band_alpha": BAND_ALPHA,
        "power": POWER,
        "small_share": SMALL_SHARE,
        "small_selected": SMALL_SELECTED,
        "against": None
        if other is None
        else {
            "title": against_title,
            "n_rows": other.plan.data.n_rows,
            "n_queries": other.plan.data.n_queries,
            "shared_queries": shared_queries(measured, other),
        },
        "drilldown_kept": min(n_queries, MOST_QUERIES),
        "drilldown_total": n_queries,
        "strip_lists": min(n_queries, LISTS_SHOWN),
        "checks_lists": min(n_queries, MOST_LISTS),
    }


def _attribute(each: Audited, n_rows: int) -> dict[str, Any]:
    size = np.bincount(each.attribute.codes, minlength=each.n_groups).tolist()
    return {
        "name": each.name,
        "by": list(each.by),
        "crossed": each.crossed,
        "groups": [
            {"name": group, "size": n, "share": n / n_rows}
            for group, n in zip(each.groups, size, strict=True)
        ],
        "protected": [each.groups[code] for code in each.protected],
        "focus": each.groups[each.focus],
    }


def list_lengths(plan: Plan) -> dict[str, Any]:
    """Return the shortest, the median and the longest list."""
    sizes = np.diff(plan.data.offsets)
    return {"min": int(sizes.min()), "median": float(np.median(sizes)), "max": int(sizes.max())}


def missing_rows(each: Audited) -> int:
    """Count the rows without a group value."""
    if MISSING not in each.attribute.categories:
        return 0
    code = each.attribute.categories.index(MISSING)
    return int((each.attribute.codes == code).sum())


def tie_share(plan: Plan) -> float:
    """Return the share of rows that share their place with another, of those shown."""
    tied = shown = 0
    for _, draw in plan.ranking.draws():
        slots = draw.slots()
        visible = draw.position > 0
        shown += int(visible.sum())
        if slots.lo is not None:
            several = (slots.end() - slots.begin() > 1) & visible[slots.order]
            tied += int(several.sum())
    return tied / shown if shown else 0.0
