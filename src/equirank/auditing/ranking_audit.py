"""The audit of a ranking: plan, claims, measures and tables, put together."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.environment import stage
from ..core.errors import DataError
from ..core.evaluate import RESAMPLING, evaluate
from ..core.evaluation import Evaluation
from ..core.list_sums import ListSums
from ..core.metric import Metric
from ..core.outcomes import DecisionRule
from ..core.params import Flag, check_params
from ..core.random import as_seed
from ..core.ranking import Ranking
from ..core.table import Table
from ..metrics import NDCG
from ..reports.claims import claims_table
from ..reports.provenance import Provenance
from .audit_plan import Plan, make_plan
from .audit_result import AuditResult
from .compared import Compared, compare_groups
from .gates import (
    MetricGate,
    asks_for_scores,
    count_comparisons,
    read_gate,
    with_gate_references,
)
from .label_claims import label_rules
from .label_metrics import label_facts
from .measured import Measured, measure_all
from .notes import make_facts, make_notes
from .profiles.profile_report import ProfileReport, profile_report, profile_table
from .sums_audit import plan_of_sums, rows_of_sums
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
from .unpaired_claims import check_lists_differ

__all__ = [
    "MANY_GATES",
    "ask_profile",
    "audit_ranking",
    "check_resampling",
    "facts_of",
    "second_plan",
    "tables_and_notes",
    "with_focus",
]


#: Comparisons in gates beyond which more permutations are drawn.
MANY_GATES = 50


def audit_ranking(
    ranking: Ranking,
    *,
    against: Ranking | None,
    protected: Any,
    rule: DecisionRule,
    metrics: list[Metric],
    cross: bool,
    n_boot: int,
    n_permutations: int,
    level: float,
    random_state: Any,
    title: str | None,
    against_title: str,
    provenance: Provenance,
    reference: Any = None,
    scored: bool = False,
    shown: Any = None,
    unpaired: Ranking | ListSums | None = None,
    unpaired_title: str = "",
    lists_differ: bool = False,
    profile: str | None = None,
    leave_out_small: bool = False,
    gates: Sequence[str] = (),
    measure: Callable[..., Evaluation] = evaluate,
) -> AuditResult:
    """Audit a `Ranking`; ``measure`` has the signature of `evaluate`.

    ``provenance`` is completed with the files and settings. The other parameters are those of
    `audit`.
    """
    check_resampling(n_boot, n_permutations, level, cross)
    if lists_differ and unpaired is None:
        raise DataError("lists_differ must be False without unpaired")
    rules = [read_gate(text) for text in gates]
    settings: dict[str, Any] = {
        "rule": rule,
        "cross": cross,
        "level": level,
        "n_boot": n_boot,
        "n_permutations": n_permutations,
        "seed": as_seed(random_state),
        "reference": with_gate_references(reference, rules),
    }
    plan = make_plan(
        ranking,
        protected=protected,
        ordered=_has_order(ranking),
        scored=scored or asks_for_scores(rules),
        shown=shown,
        gains=[metric for metric in metrics if isinstance(metric, NDCG)],
        **settings,
    )
    second = None if unpaired is None else second_plan(unpaired, plan, lists_differ, settings)
    comparisons = count_comparisons(rules, plan)
    if comparisons > MANY_GATES and n_permutations:
        plan = replace(plan, n_permutations=max(n_permutations, 40 * comparisons - 1))
    metrics = [*metrics, *(rule.metric for rule in rules if isinstance(rule, MetricGate))]
    if against is not None:
        _check_attributes(against, plan, "against")
    asked, provenance = ask_profile(plan, profile, leave_out_small, provenance)
    if not plan.ordered and (metrics or against is not None):
        what = "metrics" if metrics else "against"
        raise DataError(f"{what} must be None for data without score or position")
    with stage(0.4, "comparing groups"):
        compared = compare_groups(plan, against, second)
    with stage(0.75, "measuring"):
        measured = _measured(plan, metrics, measure)
    other = None if against is None else _other(against, measured, metrics)
    facts = make_facts(measured, other, _name(title, ranking), against_title)
    if second is not None:
        facts["unpaired"] = facts_of(second, unpaired_title)
    facts["labels"] = {"attributes": label_facts(plan), "rules": label_rules()}
    with stage(1.0, "writing tables"):
        tables, notes = tables_and_notes(measured, other, compared, asked, facts)
    others = [each.data for each in (against, unpaired) if isinstance(each, Ranking)]
    record = provenance.with_inputs(
        ranking.data, *others,
        protected=protected, reference=reference, decisions=[d.name for d in plan.decisions],
        k=list(plan.ks), scored=plan.scored, lists_differ=lists_differ,
        leave_out_small=leave_out_small, metrics=metrics, gates=list(gates), cross=cross,
        level=level, n_boot=n_boot, n_permutations=plan.n_permutations, random_state=plan.seed,
    )  # fmt: skip
    return AuditResult(facts, compared.claims, tables, notes, record, lambda: measured.plan)


def facts_of(second: Plan, title: str) -> dict[str, Any]:
    """Return name and size of a file of other lists."""
    return {"title": title, "n_rows": second.n_rows, "n_queries": second.n_queries}


def second_plan(
    unpaired: Ranking | ListSums, plan: Plan, lists_differ: bool, settings: dict[str, Any]
) -> Plan:
    """Return the plan of a file of other lists, with the cutoffs of the first."""
    if isinstance(unpaired, ListSums) and unpaired.complete:
        unpaired = rows_of_sums(unpaired)
    if isinstance(unpaired, ListSums):
        return _second_sums(unpaired, plan, lists_differ, settings)
    _check_attributes(unpaired, plan, "unpaired")
    rule = settings["rule"]
    options = settings | {"rule": replace(rule, k=plan.ks) if plan.ks else rule}
    order = plan.ordered and _has_order(unpaired)
    second = make_plan(unpaired, protected=None, ordered=order, **options)
    if not lists_differ:
        check_lists_differ(plan, second)
    return second


def _second_sums(
    unpaired: ListSums, plan: Plan, lists_differ: bool, settings: dict[str, Any]
) -> Plan:
    """Return the plan of sums over other lists, after checking that they compare the same."""
    names = ("level", "n_boot", "n_permutations", "seed")
    options = {name: settings[name] for name in names}
    second = plan_of_sums(unpaired, protected=None, shown=None, **options)
    _check_attributes(second.ranking, plan, "unpaired")
    mine, theirs = ([(e.name, e.scope) for e in each.decisions] for each in (plan, second))
    references = [
        {e.name: None if e.reference is None else e.groups[e.reference] for e in each.audited}
        for each in (plan, second)
    ]
    what = "decisions" if mine != theirs else "reference groups" if _differ(*references) else ""
    if what:
        raise DataError(
            f"unpaired must be sums with the {what} of the others, got different ones; "
            "list_sums(like=) takes over the plan of sums"
        )
    if not lists_differ:
        check_lists_differ(plan, second)
    return second


def _differ(mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    return any(theirs.get(name) != group for name, group in mine.items() if name in theirs)


def _measured(plan: Plan, metrics: list[Metric], measure: Callable[..., Evaluation]) -> Measured:
    """Return the measures of an audit; none without an order."""
    if plan.ordered:
        return with_focus(measure_all(plan, metrics, measure=measure))
    data = plan.data
    empty = Evaluation((), data.qids, level=plan.level, sample_size=data.n_queries)
    return Measured(plan, empty, (), ())


def tables_and_notes(
    measured: Measured,
    other: Measured | None,
    compared: Compared,
    asked: ProfileReport | None,
    facts: dict[str, Any],
) -> tuple[dict[str, Table], list[dict[str, Any]]]:
    """Return the tables and the notes of an audit, and add those of its profile to the facts."""
    tables = _make_tables(measured, other, compared) | {"profile": profile_table(asked)}
    for table in tables.values():
        table.backend = measured.plan.data.backend
    facts["profile"] = None if asked is None else asked.facts
    notes = make_notes(measured, facts, tables, compared.claims)
    if asked is not None and asked.warning:
        notes.insert(0, {"kind": "warning", "text": asked.warning})
    return tables, notes


def ask_profile(
    plan: Plan, profile: str | None, leave_out_small: bool, provenance: Provenance
) -> tuple[ProfileReport | None, Provenance]:
    """Return what a profile adds to an audit, if there is one, and the record that names it."""
    if leave_out_small and profile is None:
        raise DataError("leave_out_small must be False without a profile, whose rule it applies")
    if profile is None:
        return None, provenance
    asked = profile_report(plan, profile, leave_out_small, provenance.date)
    return asked, replace(provenance, profile=asked.record)


def _name(title: str | None, ranking: Ranking) -> str:
    """Return the title, else the name of the file, else "ranking"."""
    if title is not None:
        return title
    source = ranking.data.source
    return "ranking" if source is None or not source.sha256 else source.name


def check_resampling(n_boot: Any, n_permutations: Any, level: Any, cross: Any) -> None:
    """Raise if a setting of the resampling is invalid."""
    given = {"n_boot": n_boot, "n_permutations": n_permutations, "level": level, "cross": cross}
    check_params("audit", given, RESAMPLING | {"cross": Flag()})


def with_focus(measured: Measured) -> Measured:
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


def _has_order(ranking: Ranking) -> bool:
    data = ranking.data
    return ranking.n_draws > 1 or data.score is not None or data.position is not None


def _check_attributes(against: Ranking, plan: Plan, argument: str) -> None:
    lacking = [name for name in plan.data.sensitive if name not in against.data.sensitive]
    if lacking:
        raise DataError(f"{argument} must have the attribute {lacking[0]!r} of data")


def _other(ranking: Ranking, measured: Measured, wanted: list[Metric]) -> Measured:
    """Evaluate the second ranking in the same way, without intervals."""
    plan, data = measured.plan, ranking.data
    audited = []
    for each in plan.audited:
        attribute = data.attribute(each.key)
        codes = [attribute.code(each.groups[code], "against") for code in each.protected]
        same = [str(c) == each.groups[each.focus] for c in attribute.categories]
        focus = same.index(True) if any(same) else 0
        audited.append(replace(each, attribute=attribute, protected=tuple(codes), focus=focus))
    other = replace(plan, ranking=ranking, audited=tuple(audited), n_boot=0, n_permutations=0)
    return measure_all(other, wanted)


def _make_tables(
    measured: Measured, other: Measured | None, compared: Compared
) -> dict[str, Table]:
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
        "comparison": comparison_table(measured, other),
    }
