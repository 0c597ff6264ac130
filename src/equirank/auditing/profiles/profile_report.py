"""What a profile adds to an audit: its tables, its text, and what the data lack for it."""

from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import numpy as np

from ...core.table import Table, make_table
from ..audit_plan import Plan
from ..tables.profile_tables import RateTable, profile_tables
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
    score = plan.data.score
    for at, decision in enumerate(plan.decisions):
        selected = decision.selected
        if decision.among is not None:
            selected = np.where(decision.among, selected, np.nan)
        # The scores are the same for all decisions.
        found = profile_tables(
            profile, groups, selected=selected, score=score if at == 0 else None, **options
        )
        reasons, absent = (*reasons, *found.reasons), found.absent
        for table in found.tables:
            words = decision.name if table.kind == "selection" else "above the median score"
            rows += _rows(table, words)
            tables.append(_facts(table, words))
    facts: dict[str, Any] = {name: getattr(profile, name) for name in TEXTS}
    facts |= {
        "checked": str(profile.checked),
        "applies_from": str(profile.applies_from),
        "thresholds": [asdict(each) for each in profile.thresholds],
        "not_covered": list(profile.not_covered),
        "absent": list(absent),
        "reasons": list(dict.fromkeys(reasons)),
        "leave_out_small": leave_out_small,
        "tables": tables,
    }
    return ProfileReport(rows, facts, profile.outdated(date.fromisoformat(today)))


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
