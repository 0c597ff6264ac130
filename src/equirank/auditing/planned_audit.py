"""The audit of a plan, of rows or of sums: claims, measures and tables, put together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.environment import stage
from ..core.errors import DataError
from ..core.evaluation import Evaluation
from ..core.metric import Metric
from ..core.table import Table
from ..reports.claims import claims_table
from ..reports.provenance import Provenance
from .audit_plan import Plan
from .audit_result import AuditResult
from .compared import Compared, Other, compare_groups
from .gates import Gate, MetricGate, count_comparisons
from .label_claims import label_rules
from .label_metrics import label_facts
from .measured import Measured, measure_all
from .notes import make_facts, make_notes, people_facts, untested_words
from .profiles.profile_report import ProfileReport, profile_report, profile_table
from .summed_measures import measure_sums
from .tables.decision_tables import decisions_table
from .tables.gap_tables import comparison_table, gaps_table, metrics_table, queries_table
from .tables.group_tables import (
    exposure_merit_table,
    groups_table,
    pairwise_table,
    selection_table,
    unknown_table,
)
from .tables.label_tables import labels_table
from .tables.method_tables import blind_spots_table, methods_table
from .tables.position_tables import prefix_shares_table, scores_table, strip_table
from .tables.shape_tables import checks_table

__all__ = ["MANY_GATES", "audit_planned"]


#: Comparisons in gates beyond which more permutations are drawn.
MANY_GATES = 50


def audit_planned(
    plan: Plan,
    *,
    rules: Sequence[Gate],
    metrics: list[Metric],
    provenance: Provenance,
    title: str | None,
    against: Other | None = None,
    second: Plan | None = None,
    unpaired_title: str = "",
    profile: str | None = None,
    leave_out_small: bool = False,
    **recorded: Any,
) -> AuditResult:
    """Audit the rows or the sums of a plan.

    Parameters
    ----------
    plan : Plan
        Whom to compare.
    rules : sequence of Gate
        The gates that will be asked.
    metrics, provenance, title, unpaired_title, profile, leave_out_small
        As in `audit`; ``provenance`` is completed with the settings.
    against : Other, optional
        The second ranking of the same lists.
    second : Plan, optional
        The plan of other lists to compare with.
    **recorded
        Further settings for the record.
    """
    comparisons = count_comparisons(rules, plan)
    if comparisons > MANY_GATES and plan.n_permutations:
        plan = replace(plan, n_permutations=max(plan.n_permutations, 40 * comparisons - 1))
    metrics = [*metrics, *(rule.metric for rule in rules if isinstance(rule, MetricGate))]
    asked, provenance = _ask_profile(plan, profile, leave_out_small, provenance)
    if not plan.ordered and (metrics or against is not None):
        what = "metrics" if metrics else "against"
        raise DataError(f"{what} must be None for data without score or position")
    draws = {"n_boot": plan.n_boot, "n_permutations": plan.n_permutations}
    untested = _why_untested(plan, second)
    if untested:
        plan = plan.without_tests(untested)
    with stage(0.4, "comparing groups"):
        compared = compare_groups(plan, against, second)
    with stage(0.75, "measuring"):
        measured = _measured(plan, metrics)
    compares = None if against is None else _compared_with(against, measured, metrics)
    facts = make_facts(measured, None if compares is None else compares.facts, _name(title, plan))
    if second is not None:
        sizes: dict[str, Any] = {"n_rows": second.n_rows, "n_queries": second.n_queries}
        facts["unpaired"] = {"title": unpaired_title, **sizes, **people_facts(second)}
    facts["labels"] = {"attributes": label_facts(plan), "rules": label_rules()}
    with stage(1.0, "writing tables"):
        table = comparison_table(measured, None if compares is None else compares.other)
        tables, notes = _tables_and_notes(measured, table, compared, asked, facts)
        if untested:
            tables = {name: _without_tests(name, table) for name, table in tables.items()}
    record = provenance.with_inputs(
        decisions=[d.name for d in plan.decisions], k=list(plan.ks), scored=plan.scored,
        leave_out_small=leave_out_small, metrics=metrics, level=plan.level,
        random_state=plan.seed, **draws, **recorded,
    )  # fmt: skip
    rows = None if plan.sampled else lambda: measured.plan.of_rows
    return AuditResult(facts, compared.claims, tables, notes, record, rows)


def _why_untested(plan: Plan, second: Plan | None) -> str:
    """Return why nothing is tested: too many people have several rows, in one file or in both."""
    people, n_rows, n_lists = plan.recurrence, plan.n_rows, plan.n_queries
    if second is not None and second.recurrence is not None:
        n_rows, n_lists = n_rows + second.n_rows, n_lists + second.n_queries
        people = second.recurrence if people is None else people + second.recurrence
        if plan.recurrence is None:
            n_rows, n_lists = second.n_rows, second.n_queries
    return untested_words(people, n_rows, n_lists)


#: Tables whose intervals and p-values assume that everybody appears once, and their columns.
TESTED_TABLES = {
    *("groups", "selection", "decisions", "profile", "pairwise", "prefix_shares", "labels"),
}
TESTED_COLUMNS = {
    *("low", "high", "ratio_low", "ratio_high", "band_low", "band_high", "p_value", "z", "z_p"),
    *("exact_p", "mid_p", "mh_test", "mh_p", "breslow_day_p", "fisher"),
}


def _without_tests(name: str, table: Table) -> Table:
    """Return a table without the tests and intervals that need no draws."""
    if name not in TESTED_TABLES:
        return table
    tested: Any = True
    if name == "labels":  # bounds over all labels are no intervals
        tested = table["answer"] != "bounds"
    columns = {
        column: np.where(tested, np.nan, values) if column in TESTED_COLUMNS else values
        for column, values in table.columns.items()
    }
    return Table(columns, table.backend)


def _measured(plan: Plan, metrics: list[Metric]) -> Measured:
    """Return the measures of an audit; none without an order."""
    if plan.sums is not None:
        measured: Measured = measure_sums(plan, metrics)
        return _with_focus(measured) if plan.ordered else measured
    if plan.ordered:
        return _with_focus(measure_all(plan, metrics))
    data = plan.data
    empty = Evaluation((), data.qids, level=plan.level, sample_size=data.n_queries)
    return Measured(plan, empty, (), ())


def _tables_and_notes(
    measured: Measured,
    comparison: Table,
    compared: Compared,
    asked: ProfileReport | None,
    facts: dict[str, Any],
) -> tuple[dict[str, Table], list[dict[str, Any]]]:
    """Return the tables and the notes of an audit, and add those of its profile to the facts."""
    tables = _make_tables(measured, comparison, compared) | {"profile": profile_table(asked)}
    for table in tables.values():
        table.backend = measured.plan.data.backend
    facts["profile"] = None if asked is None else asked.facts
    notes = make_notes(measured, facts, tables, compared.claims)
    if asked is not None and asked.warning:
        notes.insert(0, {"kind": "warning", "text": asked.warning})
    return tables, notes


def _ask_profile(
    plan: Plan, profile: str | None, leave_out_small: bool, provenance: Provenance
) -> tuple[ProfileReport | None, Provenance]:
    """Return what a profile adds to an audit, if there is one, and the record that names it."""
    if leave_out_small and profile is None:
        raise DataError("leave_out_small must be False without a profile, whose rule it applies")
    if profile is None:
        return None, provenance
    asked = profile_report(plan, profile, leave_out_small, provenance.date)
    return asked, replace(provenance, profile=asked.record)


def _name(title: str | None, plan: Plan) -> str:
    """Return the title, else the name of the file, else "ranking"."""
    if title is not None:
        return title
    source = plan.of_rows.data.source
    return "ranking" if source is None or not source.sha256 else source.name


def _with_focus(measured: Measured) -> Measured:
    """Set the focus of each attribute: the protected group, else the one ranked lowest."""
    lowest = {}
    for each in measured.plan.audited:
        means = measured.mean_differences(each)
        lowest[each.name] = int(np.where(np.isnan(means), -np.inf, means).argmax())
    audited = {
        each: each if each.protected else each.focused(lowest[each.name])
        for each in measured.plan.audited
    }
    plan = replace(measured.plan, audited=tuple(audited.values()))
    gaps = tuple(replace(gap, audited=audited[gap.audited]) for gap in measured.gaps)
    return replace(measured, plan=plan, gaps=gaps)


@dataclass(frozen=True, eq=False)
class _ComparedWith:
    """The measures of a second ranking, and its facts.

    There are none if the audited sums have the differences; if only its sums are known, the
    measures are the differences that these have.
    """

    other: Measured | None
    facts: dict[str, Any]


def _compared_with(against: Other, measured: Measured, wanted: list[Metric]) -> _ComparedWith:
    """Measure the second ranking in the same way, without intervals."""
    plan = measured.plan
    sizes = plan.n_rows, plan.n_queries
    shared = plan.n_queries
    if against.sums is not None:
        *counts, shared = map(int, against.sums.sums["against"])
        sizes = counts[0], counts[1]
    elif against.ranking is not None:
        data = against.ranking.data
        sizes = data.n_rows, data.n_queries
        shared = _shared_lists(plan.of_rows.data, data)
    facts = {"title": against.title, "n_rows": sizes[0], "n_queries": sizes[1]}
    facts["shared_queries"] = shared
    if plan.sums is not None:
        return _ComparedWith(None, facts)
    if against.ranking is None:
        if against.sums is None:
            return _ComparedWith(None, facts)
        known = replace(plan, sums=against.sums, step=against.sums.plan.step)
        return _ComparedWith(measure_sums(known, wanted), facts)
    audited = []
    for each in plan.audited:
        attribute = against.ranking.data.attribute(each.key)
        codes = [attribute.code(each.groups[code], "against") for code in each.protected]
        same = [str(c) == each.groups[each.focus] for c in attribute.categories]
        focus = same.index(True) if any(same) else 0
        audited.append(replace(each, attribute=attribute, protected=tuple(codes), focus=focus))
    options: dict[str, Any] = {"audited": tuple(audited), "n_boot": 0, "n_permutations": 0}
    other = replace(plan, ranking=against.ranking, **options)
    return _ComparedWith(measure_all(other, wanted), facts)


def _shared_lists(data: RankingData, other: RankingData) -> int:
    """Return the number of shared lists; none is an error."""
    both = set(data.qids.tolist()) & set(other.qids.tolist())
    if not both:
        raise DataError("against must share at least one list with data, got none")
    return len(both)


def _make_tables(measured: Measured, comparison: Table, compared: Compared) -> dict[str, Table]:
    """Return all tables; those of an order have no rows if there is none."""
    unknown, decided = unknown_table(measured.plan), decisions_table(measured.plan)
    labels = labels_table(measured)
    if not measured.plan.ordered:
        measured = replace(measured, plan=replace(measured.plan, audited=()))
    checks = checks_table(measured)
    return {
        "claims": claims_table(compared.claims),
        "groups": groups_table(measured, compared),
        "selection": selection_table(measured),
        "unknown": unknown,
        "labels": labels,
        "decisions": decided,
        "gaps": gaps_table(measured),
        "metrics": metrics_table(measured),
        "prefix_shares": prefix_shares_table(measured),
        "exposure_merit": exposure_merit_table(measured),
        "pairwise": pairwise_table(measured),
        "scores": scores_table(measured),
        "strip": strip_table(measured),
        "checks": checks,
        "queries": queries_table(measured),
        "blind_spots": blind_spots_table(measured, checks),
        "methods": methods_table(measured),
        "comparison": comparison,
    }
