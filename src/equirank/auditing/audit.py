"""audit: compare how groups of people are ranked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..core.data import RankingData, as_ranking_data, refuse_beside
from ..core.errors import DataError
from ..core.evaluate import RESAMPLING, evaluate
from ..core.evaluation import Evaluation
from ..core.metric import Metric
from ..core.params import Flag, check_params
from ..core.random import as_seed
from ..core.ranking import Ranking
from ..core.registry import find
from ..core.table import Table
from ..io.column_roles import assign
from ..kernels.resampling import weighted_means
from ..reports.claims import claims_table
from .audit_plan import Plan, make_plan
from .audit_result import AuditResult
from .compared import Compared, compare_groups
from .gates import MetricGate, count_comparisons, read_gate
from .measured import Measured, measure_all, parse_wanted
from .notes import make_facts, make_notes
from .tables.gap_tables import comparison_table, gaps_table, metrics_table, queries_table
from .tables.group_tables import exposure_merit_table, groups_table, pairwise_table, selection_table
from .tables.method_tables import blind_spots_table, methods_table
from .tables.position_tables import prefix_shares_table, scores_table, strip_table
from .tables.shape_tables import checks_table

__all__ = ["as_ranking", "audit", "audit_ranking"]


Ties = Literal["average", "stable"]
#: Comparisons in gates beyond which more permutations are drawn.
MANY_GATES = 50


def as_ranking(
    data: Any, columns: Mapping[str, Any], ties: Ties, max_groups: int | None = None
) -> Ranking:
    """Return the ranking that data states.

    ``columns`` (query, score, relevance, position, sensitive, id) are column names if ``data`` is a
    frame, arrays if it is None, and must be None if it is a `RankingData` or a `Ranking`, except
    a model as the score of a `RankingData`.
    """
    if isinstance(data, RankingData) and _is_model(columns["score"]):
        refuse_beside({name: v for name, v in columns.items() if name != "score"})
        ranker = find("as_ranker")(columns["score"], prefit=True)  # imported only here
        ranking: Ranking = ranker.rank(data)
        return ranking
    if isinstance(data, (RankingData, Ranking)):
        refuse_beside(columns, type(data).__name__)
        return data if isinstance(data, Ranking) else data.ranking(ties)
    if data is None:
        found = {role: values for role, values in columns.items() if values is not None}
    else:
        found = _from_frame(data, columns)
    if "score" not in found and "position" not in found:
        raise DataError("score or position must be given to define the order, got neither")
    return as_ranking_data(
        y=found.get("relevance"),
        qid=found.get("query"),
        score=found.get("score"),
        position=found.get("position"),
        sensitive_features=found.get("sensitive"),
        ids=found.get("id"),
        missing_sensitive="category",
        max_groups=max_groups,
    ).ranking(ties)


def _is_model(score: Any) -> bool:
    """Return whether a score is a fitted model or a function instead of a column."""
    return hasattr(score, "predict") or callable(score)


def _from_frame(data: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a frame by role; those not named are recognised as in `read_csv`."""
    for role, name in columns.items():
        if isinstance(name, np.ndarray):
            raise DataError(f"{role} must be the name of a column of data, got an array")
    names, column = _columns_of(data)
    named: dict[str, Any] = dict(columns)
    sensitive, given = named.pop("sensitive"), named.pop("id")
    ids: Any = False if given is None else given
    roles = assign("data", names, sensitive=sensitive, features=(), cost=False, ids=ids, **named)
    found: dict[str, Any] = {role: column(name) for role, name in roles.single.items()}
    if "ids" in found:
        found["id"] = found.pop("ids")
    if roles.sensitive:
        found["sensitive"] = {name: column(name) for name in roles.sensitive}
    return found


def _columns_of(data: Any) -> tuple[list[str], Any]:
    if isinstance(data, Table):
        return list(data.columns), data.columns.__getitem__
    if isinstance(data, Mapping):
        return [str(name) for name in data], dict(data).__getitem__
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise DataError(
            "data must be a RankingData, a Ranking, a data frame, a mapping of columns, or None "
            f"beside arrays, got {type(data).__name__}"
        ) from None
    return [str(name) for name in frame.columns], lambda name: frame[name].to_native()


def audit(
    data: Any = None,
    *,
    query: Any = None,
    score: Any = None,
    relevance: Any = None,
    position: Any = None,
    sensitive: Any = None,
    id: Any = None,
    protected: Any = None,
    k: Any = None,
    metrics: Any = None,
    against: Any = None,
    cross: bool = True,
    ties: Literal["average", "stable"] = "average",
    n_boot: int = 1000,
    n_permutations: int = 1999,
    level: float = 0.95,
    random_state: Any = 0,
    title: str = "ranking",
    against_title: str = "the other ranking",
    created: str | None = None,
    gates: Sequence[str] = (),
    max_groups: int | None = None,
) -> AuditResult:
    """Audit a ranking: compare how groups of people are ranked, with uncertainty.

    Parameters
    ----------
    data : RankingData, Ranking, data frame, mapping of columns, or None
        The ranking to audit. None if the columns are given as arrays.
    query, score, relevance, position : str or array-like, optional
        Column names of a frame (recognised as in `read_csv` if omitted, False for none), or arrays
        if ``data`` is None. Without ``query`` there is one list. Without ``relevance`` only
        representation and exposure are measured. A ``position`` (from 1; 0 is not shown) takes
        precedence over a ``score`` (higher is first). If ``data`` is a `RankingData` with features,
        the ``score`` may be a fitted ranker, or a model that `equirank.rankers.as_ranker` takes.
    sensitive : str, sequence of str, or arrays, optional
        The sensitive attributes: column names, or what `as_ranking_data` takes if ``data`` is None.
        Missing values form a separate group.
    id : str or array-like, optional
        The column of people's ids, which match the people of ``against``.
    protected : str, sequence of str or mapping, optional
        The groups to compare with everyone else: ``"sex=female"`` or ``{"sex": "female"}``. By
        default all groups are compared.
    k : int or sequence of int, optional
        Cutoffs: the top k are selected. By default 10 and 50, if lists are longer.
    metrics : metric, string, or a list of them, optional
        Further metrics, such as ``"RND@50"``; group metrics are computed for every attribute.
    against : optional
        A second ranking of the same people in the same lists to compare with, in any form of
        ``data`` (a frame needs the same columns, and ``id``). A ranking cut at k is compared with
        the first k of the other.
    cross : bool
        Whether to audit the intersections of every two attributes.
    ties : {"average", "stable"}
        Whether tied items share the mean of their positions or keep the input order.
    n_boot, n_permutations : int
        Bootstrap replicates of the intervals and draws of the permutation tests; 0 for none.
    level : float
        Level of the confidence intervals.
    random_state : int, Generator, RandomState or None
        Seed of the bootstrap and the permutations.
    title, against_title, created : str, optional
        Names of the two rankings and a date, for the report.
    gates : sequence of str
        Gates that `AuditResult.judge` will be asked; more than 50 comparisons increase
        ``n_permutations`` as far as their p-values need.
    max_groups : int, optional
        Most groups of an attribute, as in `as_ranking_data`.

    Returns
    -------
    AuditResult
        Its ``claims`` and ``findings``, ``verdict``, ``tables``, ``facts`` and ``notes``;
        ``to_html`` writes a report.

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
    columns = {"query": query, "score": score, "relevance": relevance}
    columns |= {"position": position, "sensitive": sensitive, "id": id}
    _check(n_boot, n_permutations, level, cross)
    wanted = parse_wanted(metrics)
    ranking = as_ranking(data, columns, ties, max_groups)
    other = None
    if against is not None:
        other = as_ranking(against, _columns_against(against, columns), ties, max_groups)
    return audit_ranking(
        ranking,
        against=other,
        protected=protected,
        k=k,
        metrics=wanted,
        cross=cross,
        n_boot=n_boot,
        n_permutations=n_permutations,
        level=level,
        random_state=random_state,
        title=title,
        against_title=against_title,
        created=created,
        gates=gates,
    )


def audit_ranking(
    ranking: Ranking,
    *,
    against: Ranking | None,
    protected: Any,
    k: Any,
    metrics: list[Metric],
    cross: bool,
    n_boot: int,
    n_permutations: int,
    level: float,
    random_state: Any,
    title: str,
    against_title: str,
    created: str | None,
    gates: Sequence[str] = (),
    measure: Callable[..., Evaluation] = evaluate,
) -> AuditResult:
    """Audit a `Ranking`; ``measure`` has the signature of `evaluate`.

    The other parameters are those of `audit`.
    """
    _check(n_boot, n_permutations, level, cross)
    plan = make_plan(
        ranking,
        protected=protected,
        k=k,
        cross=cross,
        level=level,
        n_boot=n_boot,
        n_permutations=n_permutations,
        seed=as_seed(random_state),
    )
    rules = [read_gate(text) for text in gates]
    comparisons = count_comparisons(rules, plan)
    if comparisons > MANY_GATES and n_permutations:
        plan = replace(plan, n_permutations=max(n_permutations, 40 * comparisons - 1))
    metrics = [*metrics, *(rule.metric for rule in rules if isinstance(rule, MetricGate))]
    if against is not None:
        _check_attributes(against, plan)
    compared = compare_groups(plan, against)
    measured = _with_focus(measure_all(plan, metrics, measure=measure))
    other = None if against is None else _other(against, measured, metrics)
    tables = _tables(measured, other, compared)
    for table in tables.values():
        table.backend = ranking.data.backend
    facts = make_facts(measured, other, title, against_title, created)
    notes = make_notes(measured, facts, tables, compared.claims)
    return AuditResult(facts, compared.claims, tables, notes, measured.plan)


def _check(n_boot: Any, n_permutations: Any, level: Any, cross: Any) -> None:
    given = {"n_boot": n_boot, "n_permutations": n_permutations, "level": level, "cross": cross}
    check_params("audit", given, RESAMPLING | {"cross": Flag()})


def _columns_against(against: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column names for a second frame; None for data and rankings."""
    own = isinstance(against, (RankingData, Ranking))
    return dict.fromkeys(columns) if own else dict(columns)


def _with_focus(measured: Measured) -> Measured:
    """Set the focus of each attribute: the protected group, else the one ranked lowest."""
    lowest = {}
    for each in measured.plan.audited:
        means = weighted_means(measured.position_differences(each))
        lowest[each.name] = int(np.where(np.isnan(means), -np.inf, means).argmax())
    audited = {
        each: each if each.protected else each.focused(lowest[each.name])
        for each in measured.plan.audited
    }
    plan = replace(measured.plan, audited=tuple(audited.values()))
    gaps = tuple(replace(gap, audited=audited[gap.audited]) for gap in measured.gaps)
    return replace(measured, plan=plan, gaps=gaps)


def _check_attributes(against: Ranking, plan: Plan) -> None:
    lacking = [name for name in plan.data.sensitive if name not in against.data.sensitive]
    if lacking:
        raise DataError(f"against must have the attribute {lacking[0]!r} of data")


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


def _tables(measured: Measured, other: Measured | None, compared: Compared) -> dict[str, Table]:
    checks = checks_table(measured)
    return {
        "claims": claims_table(compared.claims),
        "groups": groups_table(measured, compared),
        "selection": selection_table(measured),
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
