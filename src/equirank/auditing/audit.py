"""audit: compare how groups of people are ranked."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

from ..core.environment import listening
from ..core.errors import DataError
from ..core.keywords import chosen_keywords, shared_keywords
from ..core.random import as_seed
from ..engines.given_ranking import (
    ColumnKeywords,
    CutKeywords,
    DecisionKeywords,
    OrderKeywords,
    ReferenceKeywords,
    as_ranking,
    columns_against,
    decision_rule,
)
from ..reports.provenance import HeadingKeywords, Provenance
from .audit_keywords import (
    AuditKeywords,
    ComparedKeywords,
    ResamplingKeywords,
    SumsAuditKeywords,
)

if TYPE_CHECKING:
    from .audit_result import AuditResult

__all__ = ["audit"]


@shared_keywords(
    ColumnKeywords, CutKeywords, DecisionKeywords, ReferenceKeywords, OrderKeywords,
    ComparedKeywords, ResamplingKeywords, HeadingKeywords, SumsAuditKeywords, AuditKeywords,
)  # fmt: skip
def audit(
    data: Any = None,
    *,
    id: Any = None,
    scored: bool = False,
    against: Any = None,
    unpaired: Any = None,
    lists_differ: bool = False,
    cross: bool = True,
    against_title: str = "the other ranking",
    unpaired_title: str = "the other file",
    progress: Callable[[float, str], None] | None = None,
    **given: Unpack[AuditKeywords],
) -> "AuditResult":
    """Audit a ranking: compare how groups of people are ranked, with uncertainty.

    Beyond 2,048 lists or 1,000,000 rows the audit is that of `audit_sums`. One list, a ranking of
    several draws, and metrics that are no means over lists are audited by their rows.

    Parameters
    ----------
    data : RankingData, Ranking, path, data frame, mapping of columns, or None
        The ranking to audit. A path names a file that `equirank.io.read_file` takes. None if the
        columns are given as arrays.
    id : str or array-like, optional
        The column of people's ids, which match the people of ``against``.
    scored : bool
        Whether to compare scores, too: the share of people above the median score of everybody,
        and the gap between mean scores in standard deviations.
    against : optional
        A second ranking of the same people in the same lists to compare with, in any form of
        ``data`` (a frame needs the same columns, and ``id``). A ranking cut at k is compared with
        the first k of the other.
    unpaired : optional
        A file of other lists to compare with, such as another period or another system, in any form
        of ``data``. A list that both have is an error, unless ``lists_differ`` is True.
    lists_differ : bool
        Whether equal labels of lists in ``data`` and ``unpaired`` are different lists.
    cross : bool
        Whether to audit the intersections of every two attributes.
    against_title, unpaired_title : str
        Names of ``against`` and ``unpaired``, for the report.
    title : str, optional
        Name of the ranking, for the report; by default that of the file.
    progress : callable, optional
        Called with the share done (0 to 1) and what is computed, at every block of resamples; what
        it raises ends the audit.

    Returns
    -------
    AuditResult
        Its ``claims`` and ``findings``, ``verdict``, ``tables``, ``facts``, ``notes`` and
        ``provenance``; ``to_html`` writes a report.

    Raises
    ------
    DataError
        If an argument is invalid; the message names the argument and the row.

    Examples
    --------
    >>> from equirank import audit
    >>> from equirank.datasets import load_hiring
    >>> result = audit(load_hiring(), protected="sex=female", n_boot=100, n_permutations=99)
    >>> result.tables["groups"]["position_difference"][:2].round(1)
    array([ 6.3, -6.3])
    >>> [claim.status for claim in result.claims if claim.quantity == "position"][:1]
    ['finding']
    >>> result.fails("ExposureGap>0.1")
    False
    """
    # Late, so that the import of `audit` is quick.
    from .compared import Other
    from .gates import MetricGate, asks_for_scores, read_gate, with_gate_references
    from .measured import gains_of, parse_wanted
    from .planned_audit import audit_planned
    from .source_plans import check_resampling, plan_of_ranking, second_plan

    ties, max_groups = given["ties"], given["max_groups"]
    wanted = parse_wanted(given["metrics"])
    rule, outcomes = decision_rule(data, chosen_keywords(DecisionKeywords, given))
    columns = chosen_keywords(ColumnKeywords, given) | {"id": id, "outcomes": outcomes}
    ranking = as_ranking(data, columns, ties, max_groups, rule)
    files, other = [ranking.data], None
    if against is not None:
        before = as_ranking(against, columns_against(against, columns), ties, max_groups)
        other = Other(against_title, before)
        files.append(before.data)
    if unpaired is not None and data is None:
        raise DataError("unpaired must be None beside arrays; pass frames or RankingData")
    if lists_differ and unpaired is None:
        raise DataError("lists_differ must be False without unpaired")
    check_resampling(dict(given), cross)
    rules = [read_gate(text) for text in given["gates"]]
    settings: dict[str, Any] = {
        "rule": rule, "cross": cross, "reference": with_gate_references(given["reference"], rules),
        "protected": given["protected"], "shown": given["shown"], "level": given["level"],
        "n_boot": given["n_boot"], "n_permutations": given["n_permutations"],
        "seed": as_seed(given["random_state"]), "gains": gains_of(wanted),
        "scored": scored or asks_for_scores(rules),
    }  # fmt: skip
    with listening(progress):
        measured = [*wanted, *(gate.metric for gate in rules if isinstance(gate, MetricGate))]
        plan, other = plan_of_ranking(ranking, settings, ties=ties, metrics=measured, against=other)
        second = None
        if unpaired is not None:
            later = as_ranking(unpaired, columns_against(unpaired, columns), ties, max_groups, rule)
            files.append(later.data)
            second = second_plan(later, plan, lists_differ, settings, ties)
        provenance = Provenance.given(**chosen_keywords(HeadingKeywords, given))
        return audit_planned(
            plan, rules=rules, metrics=wanted, title=given["title"], against=other, second=second,
            provenance=provenance.with_inputs(*files, ties=ties, max_groups=max_groups),
            unpaired_title=unpaired_title, profile=given["profile"],
            leave_out_small=given["leave_out_small"], protected=given["protected"],
            reference=given["reference"], lists_differ=lists_differ, gates=list(given["gates"]),
            cross=cross,
        )  # fmt: skip
