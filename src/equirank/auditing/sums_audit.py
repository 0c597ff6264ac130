"""audit_sums: the audit of sums over lists, of any number of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ..core.errors import DataError
from ..core.keywords import chosen_keywords, shared_keywords
from ..core.list_sums import ListSums
from ..core.random import as_seed
from ..reports.provenance import HeadingKeywords, Provenance
from .audit_keywords import ComparedKeywords, ResamplingKeywords, SumsAuditKeywords

if TYPE_CHECKING:
    from .audit_result import AuditResult
    from .gates import Gate

__all__ = ["audit_sums"]


@shared_keywords(ComparedKeywords, ResamplingKeywords, HeadingKeywords, SumsAuditKeywords)
def audit_sums(
    sums: ListSums,
    *,
    unpaired: ListSums | None = None,
    lists_differ: bool = False,
    unpaired_title: str = "the other file",
    against_title: str = "the other ranking",
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
    unpaired_title, against_title : str
        Names of ``unpaired``, and of the second ranking that the sums contain, for the report.
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
    >>> from equirank.core.summed_lists import sum_data
    >>> from equirank.datasets import load_hiring
    >>> sums = sum_data(load_hiring())
    >>> result = audit_sums(sums, protected="sex=female", n_boot=100, n_permutations=99)
    >>> result.tables["groups"]["position_difference"][:2].round(1)
    array([ 6.3, -6.3])
    """
    from .compared import Other
    from .measured import gains_of, parse_wanted
    from .planned_audit import audit_planned
    from .source_plans import check_resampling, plan_of_sums, second_plan

    for name, each in (("sums", sums), ("unpaired", unpaired)):
        if not isinstance(each, ListSums) and (name == "sums" or each is not None):
            raise DataError(f"{name} must be a ListSums, got {type(each).__name__}")
    if not sums.plan.groups:
        raise DataError("sums must have an attribute to be audited; name sensitive in list_sums")
    if unpaired is not None and set(sums.sources) & set(unpaired.sources):
        raise DataError("unpaired must be sums of another file, got the same")
    made, wanted = sums.plan, parse_wanted(given["metrics"])
    rules = _checked_gates(sums, given["gates"])
    check_resampling(dict(given), made.cross)
    settings: dict[str, Any] = {
        "protected": given["protected"], "shown": given["shown"], "level": given["level"],
        "n_boot": given["n_boot"], "n_permutations": given["n_permutations"],
        "seed": as_seed(given["random_state"]), "gains": gains_of(wanted),
    }  # fmt: skip
    plan = plan_of_sums(sums, settings)
    second = None
    if unpaired is not None:
        more = {"rule": made.rule, "cross": made.cross, "reference": made.reference or None}
        second = second_plan(unpaired, plan, lists_differ, settings | more, made.ties)
    elif lists_differ:
        raise DataError("lists_differ must be False without unpaired")
    against = None
    if sums.paired:
        before = sums.kept.before(plan.data) if plan.sums is None else None
        against = Other(against_title, before, sums.refused, sums)
    heading = chosen_keywords(HeadingKeywords, given)
    digests = {"sums": list(sums.sources)}
    if sums.against_sources:
        digests["against"] = list(sums.against_sources)
    provenance = Provenance.given(**heading).with_inputs(ties=made.ties, **digests)
    return audit_planned(
        plan, rules=rules, metrics=wanted, provenance=provenance, title=given["title"],
        against=against, second=second, unpaired_title=unpaired_title, profile=given["profile"],
        leave_out_small=given["leave_out_small"], protected=given["protected"],
        reference=made.reference or None, lists_differ=lists_differ, gates=list(given["gates"]),
        cross=made.cross,
    )  # fmt: skip


def _checked_gates(sums: ListSums, gates: Sequence[str]) -> "list[Gate]":
    """Return the gates; those that the sums cannot answer are errors."""
    from .gates import GroupGate, asks_for_scores, read_gate

    rules = [read_gate(text) for text in gates]
    if asks_for_scores(rules) and sums.plan.median is None:
        raise DataError("gates must not compare scores, which need sums made with scored=True")
    known = {"rest", *sums.plan.reference.values()}
    for rule in rules:
        if isinstance(rule, GroupGate) and rule.against not in known:
            raise DataError(
                f"gates of sums must compare with everyone else or the reference that they were "
                f"made with, got {rule.text!r}"
            )
    return rules
