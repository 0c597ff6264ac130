"""What a profile adds to an audit: its tables, its text, and what the data lack for it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ...core.list_sums import ListSums
from ...core.table import Table, make_table
from ...kernels.column_names import TOTAL_COLUMNS
from ..audit_plan import Plan
from ..tables.profile_tables import GroupCounts, RateTable, counted_tables, profile_tables
from .profile import load_profile

__all__ = ["ProfileReport", "profile_report", "profile_table"]


COLUMNS = (
    "o:by o:rate_of o:decision o:group i:people f:selected f:rate f:share b:small b:left_out "
    "f:ratio_to_highest f:ratio_to_reference f:z f:low f:high f:fisher f:shortfall o:flip "
    "f:to_four_fifths f:score_gap o:reason"
)
TEXTS = ("id", "title", "citation", "status", "unknown", "text", "small_share")


@dataclass(frozen=True)
class ProfileReport:
    """The rows of all tables of a profile, its facts for the page, and a warning if it is old."""

    rows: list[dict[str, Any]]
    facts: dict[str, Any]
    warning: str

    @property
    def record(self) -> dict[str, Any]:
        """The entry of the provenance."""
        return {"id": self.facts["id"], "checked": self.facts["checked"]}


def profile_report(plan: Plan, name: str, leave_out_small: bool, today: str) -> ProfileReport:
    """Return what a profile adds to an audit.

    Parameters
    ----------
    plan : Plan
        Whom to compare, and the decisions.
    name : str
        The id of a profile or the path of a file.
    leave_out_small : bool
        Whether groups under the profile's ``small_share`` are left out of ratios.
    today : str
        The date of the report, such as ``"2026-07-31"``.
    """
    profile = load_profile(name)
    plan = plan if plan.sampled else plan.of_rows
    single = [each for each in plan.audited if not each.crossed]
    groups = {each.name: each.attribute for each in single}
    references = {
        each.name: each.groups[each.reference] for each in single if each.reference is not None
    }
    options: dict[str, Any] = {
        "reference": references or None,
        "leave_out_small": leave_out_small,
    }
    rows: list[dict[str, Any]] = []
    tables: list[dict[str, Any]] = []
    reasons: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    for at, decision in enumerate(plan.decisions):
        if plan.sums is not None:
            counts = partial(_summed_counts, plan.sums, at)
            found = counted_tables(profile, groups, counts, **options)
        else:
            selected = decision.selected
            if decision.among is not None:
                selected = np.where(decision.among, selected, np.nan)
            # The scores are the same for all decisions.
            score = plan.data.score if at == 0 else None
            found = profile_tables(profile, groups, selected=selected, score=score, **options)
        reasons, absent = (*reasons, *found.reasons), found.absent
        for table in found.tables:
            words = decision.name if table.kind == "selection" else "above the median score"
            rows += _rows(table, words)
            tables.append(_facts(table, words))
    if plan.sums is not None and any("scoring" in each.rates for each in profile.tables):
        reasons = (*reasons, "Rates above the median score need the rows of every list")
    facts: dict[str, Any] = {name: getattr(profile, name) for name in TEXTS}
    facts |= {
        "checked": str(profile.checked),
        "applies_from": str(profile.applies_from),
        "thresholds": [asdict(each) for each in profile.thresholds],
        "not_covered": list(profile.not_covered),
        "absent": list(absent),
        "lacking": profile.lacking(list(groups)),
        "reasons": list(dict.fromkeys(reasons)),
        "leave_out_small": leave_out_small,
        "tables": tables,
    }
    return ProfileReport(rows, facts, profile.outdated(date.fromisoformat(today)))


def _summed_counts(sums: ListSums, at: int, names: Sequence[str], kind: str) -> GroupCounts | None:
    """Return the numbers of people of one attribute or two crossed ones from sums over lists."""
    plan, some = sums.plan, sums.decided(at)
    key = tuple(sorted(names, key=list(plan.groups).index))
    if kind != "selection" or key not in plan.keys:
        return None
    index = plan.keys.index(key)
    mine = slice(*plan.first[index : index + 2].tolist())
    counted = sums if some is None else some
    table = np.stack([
        counted.sums["totals"][:, mine, TOTAL_COLUMNS.index("people")].sum(axis=0),
        sums.sums["totals"][:, mine, len(TOTAL_COLUMNS) + at].sum(axis=0),
    ])  # fmt: skip
    labels = [[str(label) for label in plan.groups[name]] for name in names]
    if len(names) > 1:
        table = table.reshape(2, *(len(plan.groups[name]) for name in key))
        table = (table if key == tuple(names) else table.swapaxes(1, 2)).reshape(2, -1)
    return GroupCounts(
        tuple(" & ".join(each) for each in product(*labels)),
        np.rint(table[0]).astype(np.int64),
        table[1],
        round(float(counted.sums["unknown"][index, 0])),
        float(sums.sums["unknown"][index, 4 + at]),
        0 if some is None else sums.n_rows - some.n_people,
    )


def profile_table(report: ProfileReport | None) -> Table:
    """Return the rows of all tables of a profile; none without a profile."""
    return make_table(COLUMNS, [] if report is None else report.rows)


def _rows(table: RateTable, decision: str) -> list[dict[str, Any]]:
    numbers = ("z", "low", "high", "fisher", "shortfall", "to_four_fifths", "score_gap")
    empty: dict[str, Any] = dict.fromkeys(numbers, np.nan) | {"flip": ""}
    head = {"by": " x ".join(table.by), "rate_of": table.kind, "decision": decision}
    rows = []
    for row in table.rows:
        moved = row.get("flip")
        flip = "" if moved is None else "yes" if moved else "no"
        rows.append(head | empty | dict(row) | {"flip": flip})
    return rows


def _facts(table: RateTable, decision: str) -> dict[str, Any]:
    return {
        "by": " x ".join(table.by),
        "rate_of": table.kind,
        "decision": decision,
        "reference": table.reference,
        "median": None if np.isnan(table.median) else table.median,
        "unknown_people": table.unknown_people,
        "unknown_selected": table.unknown_selected,
        "unknown_rate": None if np.isnan(table.unknown_rate) else table.unknown_rate,
        "undecided": table.undecided,
    }
