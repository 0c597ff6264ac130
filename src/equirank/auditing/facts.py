"""The facts of an audit: what was read, how it was measured, in plain values."""

from typing import Any

import numpy as np

from ..core.labels import MISSING
from .measuring import Measured
from .plan import Audited, Plan
from .tables.checks import MOST_LISTS
from .tables.comparison import shared_queries
from .tables.groups import POWER
from .tables.pictures import LISTS_SHOWN
from .tables.prefix_shares import BAND_ALPHA
from .tables.queries import MOST_QUERIES
from .tables.selection import SMALL_SELECTED, SMALL_SHARE

__all__ = ["list_lengths", "make_facts", "missing_rows", "tie_share"]


def make_facts(
    measured: Measured, other: Measured | None, title: str, against_title: str, created: str | None
) -> dict[str, Any]:
    """Say what was audited, and how."""
    from equirank import __version__

    plan = measured.plan
    data, n_queries = plan.data, plan.data.n_queries
    return {
        "title": title,
        "created": created,
        "library_version": __version__,
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
    """Give the shortest, the median and the longest list."""
    sizes = np.diff(plan.data.offsets)
    return {"min": int(sizes.min()), "median": float(np.median(sizes)), "max": int(sizes.max())}


def missing_rows(each: Audited) -> int:
    """Count the rows without a group value."""
    if MISSING not in each.attribute.categories:
        return 0
    code = each.attribute.categories.index(MISSING)
    return int((each.attribute.codes == code).sum())


def tie_share(plan: Plan) -> float:
    """Give the share of rows that share their place with another, of those shown."""
    tied = shown = 0
    for _, draw in plan.ranking.draws():
        slots = draw.slots()
        visible = draw.position > 0
        shown += int(visible.sum())
        if slots.lo is not None:
            several = (slots.end() - slots.begin() > 1) & visible[slots.order]
            tied += int(several.sum())
    return tied / shown if shown else 0.0
