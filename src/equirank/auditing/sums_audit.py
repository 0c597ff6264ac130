"""audit_sums: the audit of sums over lists, of any number of them."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Unpack

from ..core.data import RankingData
from ..core.environment import stage
from ..core.errors import DataError
from ..core.keywords import chosen_keywords, shared_keywords
from ..core.labels import MISSING
from ..core.list_samples import MOST_LISTS, MOST_ROWS
from ..core.list_sums import ListSums, sum_data
from ..core.metric import Metric
from ..core.outcomes import DecisionRule
from ..core.random import as_seed
from ..core.ranking import Ranking
from ..engines.given_ranking import ordered
from ..reports.provenance import HeadingKeywords, Provenance
from .audit_keywords import ComparedKeywords, ResamplingKeywords, SumsAuditKeywords
from .label_answers import FEW_UNKNOWN

if TYPE_CHECKING:
    from .audit_plan import Plan
    from .audit_result import AuditResult

__all__ = [
    "audit_list_sums",
    "audit_many_lists",
    "audit_sums",
    "can_be_summed",
    "plan_of_sums",
    "rows_of_sums",
    "sums_suffice",
]


@shared_keywords(ComparedKeywords, ResamplingKeywords, HeadingKeywords, SumsAuditKeywords)
def audit_sums(
    sums: ListSums,
    *,
    unpaired: ListSums | None = None,
    lists_differ: bool = False,
    unpaired_title: str = "the other file",
    **given: Unpack[SumsAuditKeywords],
) -> "AuditResult":
    """Audit sums over lists, as `audit` does with rows.

    If the sums contain the rows of every list (up to 2,048 lists and 1,000,000 rows), the result is
    that of `audit` for these lists. Beyond that, p-values come from the closed covariance of
    shuffled labels and from relabelled lists, intervals from a bootstrap over 1,024 buckets of
    lists, and tables of single people describe a sample of lists.

    Parameters
    ----------
    sums : ListSums
        The sums; attributes, cutoffs and intersections are those of their plan.
    unpaired : ListSums, optional
        Sums over other lists to compare with, such as another period or another system, with the
        same decisions and references: ``list_sums(like=sums)`` makes them so.
    lists_differ : bool
        Whether equal labels of lists in ``sums`` and ``unpaired`` are different lists.
    unpaired_title : str
        Name of ``unpaired``, for the report.
    metrics : metric, string, or a list of them, optional
        Further metrics that the sums contain.
    n_permutations : int
        Draws of the permutation tests; 0 for none. Beyond the rows of every list, any other number
        only says that there are tests.

    Returns
    -------
    AuditResult

    Raises
    ------
    DataError
        If an argument is invalid, or needs something that the sums do not contain.

    Examples
    --------
    >>> from equirank import audit_sums
    >>> from equirank.core.list_sums import sum_data
    >>> from equirank.datasets import load_hiring
    >>> sums = sum_data(load_hiring())
    >>> result = audit_sums(sums, protected="sex=female", n_boot=100, n_permutations=99)
    >>> result.tables["groups"]["position_difference"][:2].round(1)
    array([ 6.3, -6.3])
    """
    from .measured import parse_wanted
    from .ranking_audit import audit_ranking

    for name, each in (("sums", sums), ("unpaired", unpaired)):
        if not isinstance(each, ListSums) and (name == "sums" or each is not None):
            raise DataError(f"{name} must be a ListSums, got {type(each).__name__}")
    if unpaired is not None and set(sums.sources) & set(unpaired.sources):
        raise DataError("unpaired must be sums of another file, got the same")
    heading = chosen_keywords(HeadingKeywords, given)
    provenance = Provenance.given(**heading).with_inputs(
        ties=sums.plan.ties, sums=list(sums.sources)
    )
    settings: dict[str, Any] = dict(given) | {"metrics": parse_wanted(given["metrics"])}
    settings = {name: value for name, value in settings.items() if name not in heading}
    settings |= {"title": given["title"], "provenance": provenance}
    settings |= {"unpaired": unpaired, "lists_differ": lists_differ}
    settings["unpaired_title"] = unpaired_title
    if not sums.complete:
        return audit_list_sums(sums, **settings)
    made = sums.plan
    return audit_ranking(
        rows_of_sums(sums), against=None, against_title="", rule=_rule(sums), cross=made.cross,
        reference=made.reference or None, **settings,
    )  # fmt: skip


def _rule(sums: ListSums) -> DecisionRule:
    """Return the rule of sums, with the cutoffs of their plan."""
    return DecisionRule(k=sums.plan.ks) if sums.plan.ks else sums.plan.rule


def rows_of_sums(sums: ListSums) -> Ranking:
    """Return the rows of sums that have those of every list."""
    return ordered(sums.kept.to_data(sums.plan), sums.plan.ties, _rule(sums))


def can_be_summed(
    ranking: Ranking, rule: DecisionRule, metrics: Sequence[Metric], gates: Sequence[str]
) -> bool:
    """Return whether a ranking has so many lists or rows that sums replace it, and they suffice."""
    many = ranking.data.n_queries > MOST_LISTS or ranking.data.n_rows > MOST_ROWS
    return many and sums_suffice(ranking, rule, metrics, gates)


def sums_suffice(
    ranking: Ranking,
    rule: DecisionRule,
    metrics: Sequence[Metric] = (),
    gates: Sequence[str] = (),
) -> bool:
    """Return whether sums over lists have all that an audit needs."""
    from ..metrics import NDCG
    from .gates import asks_for_scores, read_gate

    data = ranking.data
    if data.n_queries == 1 or ranking.n_draws > 1 or not data.sensitive:
        return False
    if data.score is None and data.position is None and not rule.recorded:
        return False
    if asks_for_scores([read_gate(text) for text in gates]):
        return False
    people = data.sensitive.values()
    if any(MISSING in attribute.categories for attribute in people):
        return False
    # what labels leave open needs the rows of every list
    open_labels = (each.guessed or each.error or each.checked is not None for each in people)
    if any(open_labels) or any(each.n_unknown > FEW_UNKNOWN * data.n_rows for each in people):
        return False
    plain = all(type(each).summarize is Metric.summarize for each in metrics)
    return plain and not any(isinstance(each, NDCG) for each in metrics)


def audit_many_lists(
    ranking: Ranking,
    *,
    rule: DecisionRule,
    reference: Any,
    ties: Literal["average", "stable"],
    cross: bool,
    metrics: list[Metric],
    gates: Sequence[str],
    provenance: Provenance,
    unpaired: Ranking | None = None,
    **settings: Any,
) -> "AuditResult":
    """Audit a ranking of many lists through their sums; the parameters are those of `audit`."""
    from .gates import MetricGate, read_gate, with_gate_references
    from .ranking_audit import check_resampling
    from .summed_measures import extra_metrics

    names = ("n_boot", "n_permutations", "level")
    n_boot, n_permutations, level = (settings[name] for name in names)
    check_resampling(n_boot, n_permutations, level, cross)
    settings["random_state"] = as_seed(settings["random_state"])
    asked = [read_gate(text) for text in gates]
    reference = with_gate_references(reference, asked)

    def rows() -> "Plan":
        from .audit_plan import make_plan

        options = {name: settings[name] for name in (*names, "protected", "shown")}
        options |= {"reference": reference, "ordered": has_order(ranking.data)}
        return make_plan(ranking, rule=rule, cross=cross, seed=settings["random_state"], **options)

    wanted = [*metrics, *(gate.metric for gate in asked if isinstance(gate, MetricGate))]
    extra = extra_metrics(rows(), wanted) if wanted and has_order(ranking.data) else []
    options: dict[str, Any] = {"reference": reference, "cross": cross, "ties": ties}
    options["seed"] = settings["random_state"]
    sums = sum_data(ranking, rule=rule, metrics=extra, **options)
    files = [ranking.data] if unpaired is None else [ranking.data, unpaired.data]
    record = provenance.with_inputs(*files)
    second: Any = unpaired
    if unpaired is not None and can_be_summed(unpaired, rule, (), ()):
        second = sum_data(unpaired, rule=_rule(sums), **options)
    result = audit_list_sums(
        sums, metrics=metrics, gates=gates, provenance=record, unpaired=second, **settings
    )
    result.plan_of_rows = rows
    return result


def audit_list_sums(
    sums: ListSums,
    *,
    protected: Any,
    metrics: list[Metric],
    n_boot: int,
    n_permutations: int,
    level: float,
    random_state: Any,
    title: str | None,
    provenance: Provenance,
    gates: Sequence[str] = (),
    shown: Any = None,
    profile: str | None = None,
    leave_out_small: bool = False,
    unpaired: Ranking | ListSums | None = None,
    lists_differ: bool = False,
    unpaired_title: str = "",
) -> "AuditResult":
    """Audit sums without the rows of every list; the parameters are those of `audit`."""
    from .audit_result import AuditResult
    from .compared import compare_groups
    from .gates import GroupGate, MetricGate, asks_for_scores, read_gate
    from .notes import make_facts
    from .ranking_audit import (
        ask_profile,
        check_resampling,
        facts_of,
        second_plan,
        tables_and_notes,
        with_focus,
    )
    from .summed_measures import measure_sums

    check_resampling(n_boot, n_permutations, level, sums.plan.cross)
    if lists_differ and unpaired is None:
        raise DataError("lists_differ must be False without unpaired")
    rules = [read_gate(text) for text in gates]
    if asks_for_scores(rules):
        raise DataError("gates of sums must not compare scores, which need every row")
    for rule in rules:
        known = {"rest", *sums.plan.reference.values()}
        if isinstance(rule, GroupGate) and rule.against not in known:
            raise DataError(
                f"gates of sums must compare with everyone else or the reference that they were "
                f"made with, got {rule.text!r}"
            )
    plan = plan_of_sums(
        sums, protected=protected, shown=shown, level=level, n_boot=n_boot,
        n_permutations=n_permutations, seed=as_seed(random_state),
    )  # fmt: skip
    metrics = [*metrics, *(rule.metric for rule in rules if isinstance(rule, MetricGate))]
    if metrics and not plan.ordered:
        raise DataError("metrics must be None for data without score or position")
    second = None
    if unpaired is not None:
        options: dict[str, Any] = {"level": level, "n_boot": n_boot}
        options["n_permutations"] = n_permutations
        options |= {"rule": _rule(sums), "cross": sums.plan.cross, "seed": plan.seed}
        options["reference"] = sums.plan.reference or None
        second = second_plan(unpaired, plan, lists_differ, options)
    with stage(0.5, "comparing groups"):
        compared = compare_groups(plan, None, second)
    with stage(0.8, "measuring"):
        measured: Any = measure_sums(plan, metrics)
        measured = with_focus(measured) if plan.ordered else measured
    asked, provenance = ask_profile(plan, profile, leave_out_small, provenance)
    facts = make_facts(measured, None, "ranking" if title is None else title, "")
    if second is not None:
        facts["unpaired"] = facts_of(second, unpaired_title)
    with stage(1.0, "writing tables"):
        tables, notes = tables_and_notes(measured, None, compared, asked, facts)
    record = provenance.with_inputs(
        protected=protected, reference=sums.plan.reference or None,
        decisions=[each.name for each in plan.decisions], k=list(plan.ks), metrics=metrics,
        leave_out_small=leave_out_small, gates=list(gates), cross=sums.plan.cross, level=level,
        lists_differ=lists_differ, n_boot=n_boot, n_permutations=n_permutations,
        random_state=plan.seed,
    )  # fmt: skip
    return AuditResult(facts, compared.claims, tables, notes, record, None)


def plan_of_sums(sums: ListSums, **settings: Any) -> "Plan":
    """Return the plan of an audit, with the sample of lists as its ranking."""
    from .audit_plan import make_plan

    made = sums.plan
    data = sums.kept.to_data(made)
    for names in combinations(made.groups, 2) if made.cross else ():
        key = made.keys.index(names)
        people = sums.sums["totals"][:, made.first[key] : made.first[key + 1], 2].sum(axis=0)
        labels = [label for label, n in zip(made.labels(names), people, strict=True) if n > 0]
        data.keep_crossing(names, tuple(labels))
    rule = _rule(sums)
    return make_plan(
        ordered(data, made.ties, rule), rule=rule, cross=made.cross, sums=sums,
        reference=made.reference or None, ordered=made.score or made.position, **settings,
    )  # fmt: skip


def has_order(data: RankingData) -> bool:
    """Return whether data have scores or positions, or only recorded decisions."""
    return data.score is not None or data.position is not None
