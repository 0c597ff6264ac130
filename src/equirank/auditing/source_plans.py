"""Plans of audits: of a ranking in memory, which many lists turn into sums, and of sums."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

from ..core.environment import available_threads
from ..core.errors import DataError
from ..core.evaluate import RESAMPLING
from ..core.labels import MISSING
from ..core.list_samples import MOST_LISTS, MOST_ROWS
from ..core.list_sums import ListSums
from ..core.metric import Metric
from ..core.outcomes import DecisionRule
from ..core.params import Flag, check_params
from ..core.ranking import Ranking
from ..core.recurrence import Recurrence
from ..core.summed_lists import Before, sum_data
from ..core.sums_plan import SumsPlan, Survey
from ..engines.given_ranking import ordered
from .audit_plan import Plan, make_plan
from .compared import Other
from .summed_measures import extra_metrics
from .unpaired_claims import check_lists_differ

__all__ = ["check_resampling", "plan_of_ranking", "plan_of_sums", "second_plan"]


def check_resampling(given: dict[str, Any], cross: Any) -> None:
    """Raise if a setting of the resampling is invalid."""
    some = {name: given[name] for name in RESAMPLING}
    check_params("audit", some | {"cross": cross}, RESAMPLING | {"cross": Flag()})


def plan_of_ranking(
    ranking: Ranking,
    settings: dict[str, Any],
    *,
    ties: Literal["average", "stable"],
    metrics: Sequence[Metric],
    against: Other | None = None,
) -> tuple[Plan, Other | None]:
    """Return the plan of a ranking in memory, and the second ranking with why it is refused.

    Parameters
    ----------
    ranking : Ranking
        The ranking; beyond 2,048 lists or 1,000,000 rows, its sums are made.
    settings : dict
        Arguments of `make_plan`.
    ties, metrics
        As in `audit`; with those of gates.
    against : Other, optional
        The second ranking of the same lists.
    """
    plan = make_plan(ranking, ordered=has_order(ranking), **settings)
    if against is not None and against.ranking is not None:
        check_attributes(against.ranking, plan, "against")
    data = ranking.data
    if not _many(ranking) or not _summable(ranking, settings["rule"], metrics, against):
        people = None if data.ids is None else Recurrence.of(data.ids)
        return replace(plan, recurrence=people), against
    made = SumsPlan.of(
        Survey.of(data, plan.scored), rule=settings["rule"], cross=settings["cross"], ties=ties,
        metrics=extra_metrics(plan, metrics) if metrics and plan.ordered else [],
        seed=settings["seed"], reference=settings["reference"], scored=plan.scored,
    )  # fmt: skip
    before = None
    if against is not None and against.ranking is not None and plan.ordered:
        before, made = Before.paired(ranking, against.ranking, made)
        against = replace(against, refused=before.refused)
    sums = sum_data(ranking, made, before=before, n_jobs=available_threads())
    return plan_of_sums(sums, settings, rows=plan), against


def _many(ranking: Ranking) -> bool:
    """Return whether a ranking has so many lists or rows that sums replace it."""
    data = ranking.data
    return data.n_queries > 1 and (data.n_queries > MOST_LISTS or data.n_rows > MOST_ROWS)


def _summable(
    ranking: Ranking, rule: DecisionRule, metrics: Sequence[Metric], against: Other | None
) -> bool:
    """Return whether sums have all that an audit needs: one draw, means over lists, labels."""
    several = [ranking, *([] if against is None or against.ranking is None else [against.ranking])]
    if any(each.n_draws > 1 for each in several):
        return False
    if not has_order(ranking) and not rule.recorded:
        return False
    people = ranking.data.sensitive.values()
    if any(MISSING in attribute.categories for attribute in people):
        return False
    return all(type(each).summarize is Metric.summarize for each in metrics)


def has_order(ranking: Ranking) -> bool:
    """Return whether a ranking has an order, or only recorded decisions."""
    data = ranking.data
    return ranking.n_draws > 1 or data.score is not None or data.position is not None


def check_attributes(other: Ranking, plan: Plan, argument: str) -> None:
    """Raise if a second ranking lacks an attribute of the first."""
    lacking = [name for name in plan.data.sensitive if name not in other.data.sensitive]
    if lacking:
        raise DataError(f"{argument} must have the attribute {lacking[0]!r} of data")


def rule_of_sums(sums: ListSums) -> DecisionRule:
    """Return the rule of sums, with the cutoffs of their plan."""
    return DecisionRule(k=sums.plan.ks) if sums.plan.ks else sums.plan.rule


def plan_of_sums(sums: ListSums, settings: dict[str, Any], rows: Plan | None = None) -> Plan:
    """Return the plan of an audit of sums: of their rows if they have those of every list.

    Parameters
    ----------
    sums : ListSums
        The sums.
    settings : dict
        Arguments of `make_plan`; what the plan of the sums states is taken from there.
    rows : Plan, optional
        The plan of all rows, if they are in memory.
    """
    made = sums.plan
    settings = settings | {
        "rule": rule_of_sums(sums), "cross": made.cross, "reference": made.reference or None,
        "ordered": made.score or made.position, "scored": made.median is not None,
    }  # fmt: skip
    data = sums.kept.to_data(made)
    if sums.complete:
        plan = make_plan(ordered(data, made.ties, settings["rule"]), **settings)
        return replace(plan, recurrence=sums.recurrence)
    for names in combinations(made.groups, 2) if made.cross else ():
        key = made.keys.index(names)
        people = sums.sums["totals"][:, made.first[key] : made.first[key + 1], 2].sum(axis=0)
        labels = [label for label, n in zip(made.labels(names), people, strict=True) if n > 0]
        data.keep_crossing(names, tuple(labels))
    sample = ordered(data, made.ties, settings["rule"])
    plan = make_plan(sample, sums=sums, **settings)
    rows = make_plan(sample, **settings) if rows is None else rows
    return replace(plan, rows=rows, recurrence=sums.recurrence)


def second_plan(
    unpaired: Ranking | ListSums,
    plan: Plan,
    lists_differ: bool,
    settings: dict[str, Any],
    ties: Literal["average", "stable"],
) -> Plan:
    """Return the plan of other lists, with the cutoffs of the first."""
    settings = settings | {"protected": None, "shown": None, "scored": False, "gains": ()}
    if plan.ks:
        settings["rule"] = DecisionRule(k=plan.ks)
    if isinstance(unpaired, ListSums):
        second = plan_of_sums(unpaired, settings)
        check_attributes(second.ranking, plan, "unpaired")
        if second.sums is not None:
            _check_same(plan, second)
        else:
            unpaired = second.ranking  # its cutoffs are those of the first
    if isinstance(unpaired, Ranking):
        check_attributes(unpaired, plan, "unpaired")
        second, _ = plan_of_ranking(unpaired, settings, ties=ties, metrics=())
        second = replace(second, ordered=plan.ordered and second.ordered)
    if not lists_differ:
        check_lists_differ(plan, second)
    return second


def _check_same(plan: Plan, second: Plan) -> None:
    """Raise unless sums over other lists compare the same."""
    mine, theirs = ([(e.name, e.scope) for e in each.decisions] for each in (plan, second))
    references = [
        {e.name: None if e.reference is None else e.groups[e.reference] for e in each.audited}
        for each in (plan, second)
    ]
    known = references[0].keys() & references[1].keys()
    differ = any(references[0][name] != references[1][name] for name in known)
    what = "decisions" if mine != theirs else "reference groups" if differ else ""
    if what:
        raise DataError(
            f"unpaired must be sums with the {what} of the others, got different ones; "
            "list_sums(like=) takes over the plan of sums"
        )
