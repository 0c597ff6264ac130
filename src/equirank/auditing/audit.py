"""audit: compare how groups of people are ranked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..core.data import RankingData, as_ranking_data, refuse_beside
from ..core.errors import DataError
from ..core.outcomes import DecisionRule
from ..core.ranking import Ranking
from ..core.registry import find
from ..core.source import Source
from ..core.table import Table

if TYPE_CHECKING:
    from .audit_result import AuditResult

__all__ = ["as_ranking", "audit"]


Ties = Literal["average", "stable"]
#: The top k of each list are selected, with the default k.
NO_RULE = DecisionRule()


def as_ranking(
    data: Any,
    columns: Mapping[str, Any],
    ties: Ties,
    max_groups: int | None = None,
    rule: DecisionRule = NO_RULE,
) -> Ranking:
    """Return the ranking that data states.

    ``columns`` (query, score, relevance, position, sensitive, id) are column names if ``data`` is a
    frame, arrays if it is None, and must be None if it is a `RankingData` or a `Ranking`, except
    a model as the score of a `RankingData`. If ``rule`` reads recorded decisions, data without an
    order are one tie per list.
    """
    if isinstance(data, Ranking):
        refuse_beside(columns, "Ranking")
        return data
    if isinstance(data, RankingData) and _is_model(columns["score"]):
        refuse_beside({name: v for name, v in columns.items() if name != "score"})
        ranker = find("as_ranker")(columns["score"], prefit=True)  # imported only here
        ranking: Ranking = ranker.rank(data)
        return ranking
    if isinstance(data, RankingData):
        refuse_beside(columns, "RankingData")
        return _ordered(data, ties, rule)
    if data is not None and _is_model(columns["score"]):
        return _ranked_by(columns["score"], data, columns, max_groups, rule)
    chosen: dict[str, tuple[str, str]] = {}
    if data is None:
        found = {role: values for role, values in columns.items() if values is not None}
    else:
        found, chosen = _from_frame(data, columns, rule)
    if "score" not in found and "position" not in found and not rule.recorded:
        raise DataError("score or position must be given to define the order, got neither")
    made = as_ranking_data(
        y=found.get("relevance"),
        qid=found.get("query"),
        score=found.get("score"),
        position=found.get("position"),
        sensitive_features=found.get("sensitive"),
        ids=found.get("id"),
        outcomes=found.get("outcomes"),
        missing_sensitive="unknown",
        max_groups=max_groups,
    )
    if chosen:
        from ..reports.provenance import IN_MEMORY

        made = replace(made, source=Source(IN_MEMORY, "", made.n_rows, columns=chosen))
    return _ordered(made, ties, rule)


def _ordered(data: RankingData, ties: Ties, rule: DecisionRule) -> Ranking:
    """Return the ranking of data; if it has no order and needs none, everyone is tied."""
    if data.score is None and data.position is None and rule.recorded:
        ranking = Ranking.from_scores(data, np.zeros(data.n_rows))
        return replace(ranking, data=data)
    return data.ranking(ties)


def _ranked_by(
    model: Any, data: Any, columns: Mapping[str, Any], max_groups: int | None, rule: DecisionRule
) -> Ranking:
    """Return the ranking of a frame by a fitted ranker, which finds its features by name."""
    encoding = getattr(model, "encoding", None)
    if encoding is None or encoding.names is None:
        raise DataError(
            "data must be a RankingData if score is a model that was not fitted to named columns "
            "as a ranker of equirank; as_ranking_data makes one"
        )
    found, _ = _from_frame(data, dict(columns) | {"score": False}, rule)
    found.pop("score", None)
    made = as_ranking_data(
        data,
        y=found.get("relevance"),
        qid=found.get("query"),
        sensitive_features=found.get("sensitive"),
        ids=found.get("id"),
        outcomes=found.get("outcomes"),
        like=replace(encoding, groups={}),
        unseen=getattr(model, "unseen_", "error"),
        missing_sensitive="unknown",
        max_groups=max_groups,
    )
    ranking: Ranking = model.rank(made)
    return ranking


def _is_model(score: Any) -> bool:
    """Return whether a score is a fitted model or a function instead of a column."""
    return hasattr(score, "predict") or callable(score)


def _from_frame(
    data: Any, columns: Mapping[str, Any], rule: DecisionRule
) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """Return the columns of a frame by role, and for each role its name and why it was chosen.

    Columns that are not named are recognised as in `read_csv`.
    """
    from ..io.column_roles import assign

    for role, name in columns.items():
        if isinstance(name, np.ndarray):
            raise DataError(f"{role} must be the name of a column of data, got an array")
    names, column = _columns_of(data)
    named: dict[str, Any] = dict(columns)
    named.pop("outcomes", None)
    sensitive, given = named.pop("sensitive"), named.pop("id")
    ids: Any = False if given is None else given
    named["score"] = rule.score_column(named["score"], named["position"])
    named["relevance"] = False if named["relevance"] is None else named["relevance"]
    options: dict[str, Any] = {"features": (), "cost": False, "ids": ids}
    options["outcomes"] = rule.columns()
    roles = assign("data", names, sensitive=sensitive, **options, **named)
    found: dict[str, Any] = {role: column(name) for role, name in roles.single.items()}
    if "ids" in found:
        found["id"] = found.pop("ids")
    if roles.sensitive:
        found["sensitive"] = {name: column(name) for name in roles.sensitive}
    if roles.outcomes:
        found["outcomes"] = {name: column(name) for name in roles.outcomes}
    chosen = {
        role: (name, "named" if name == named.get(role, ids) else "recognised by its name")
        for role, name in roles.single.items()
    }
    chosen |= {f"sensitive ({name})": (name, "named") for name in roles.sensitive}
    return found, chosen


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
    selected: Any = None,
    yes: Any = None,
    cutoff: str | None = None,
    quota: Any = None,
    stages: Any = None,
    reference: Any = None,
    scored: bool = False,
    shown: Mapping[str, Mapping[Any, str]] | None = None,
    metrics: Any = None,
    against: Any = None,
    unpaired: Any = None,
    lists_differ: bool = False,
    profile: str | None = None,
    leave_out_small: bool = False,
    cross: bool = True,
    ties: Literal["average", "stable"] = "average",
    n_boot: int = 1000,
    n_permutations: int = 1999,
    level: float = 0.95,
    random_state: Any = 0,
    title: str | None = None,
    against_title: str = "the other ranking",
    unpaired_title: str = "the other file",
    purpose: str | None = None,
    period: str | None = None,
    author: str | None = None,
    date: Any = None,
    gates: Sequence[str] = (),
    max_groups: int | None = None,
) -> "AuditResult":
    """Audit a ranking: compare how groups of people are ranked, with uncertainty.

    Parameters
    ----------
    data : RankingData, Ranking, data frame, mapping of columns, or None
        The ranking to audit. None if the columns are given as arrays.
    query, score, relevance, position : str or array-like, optional
        Column names of a frame, or arrays if ``data`` is None. Omitted columns of a frame are
        recognised as in `read_csv` (False for none), except ``relevance``, which counts only if it
        is named. Without ``query`` there is one list. Without ``relevance`` only representation and
        exposure are measured. A ``position`` (from 1; 0 is not shown) takes
        precedence over a ``score`` (higher is first). If ``data`` is a frame with the columns of
        training or a `RankingData` with features, the ``score`` may be a fitted ranker, and for a
        `RankingData` any model that `equirank.rankers.as_ranker` takes.
    sensitive : str, sequence of str, or arrays, optional
        The sensitive attributes: column names, or what `as_ranking_data` takes if ``data`` is None.
        A missing label is unknown: the person is in no group and counted beside the tables.
    id : str or array-like, optional
        The column of people's ids, which match the people of ``against``.
    protected : str, sequence of str or mapping, optional
        The groups to compare with everyone else: ``"sex=female"`` or ``{"sex": "female"}``. By
        default all groups are compared.
    k : int or sequence of int, optional
        The top k of each list are selected, a tied block by chance. By default 10 and 50, if lists
        are longer. One way decides who is selected: k or one of the next four.
    selected : str or array-like, optional
        Recorded decisions: yes or no, true or false, 1 or 0. A blank is undecided: it is left out
        and counted. No order is needed beside them.
    yes : str or sequence, optional
        The values of ``selected`` or ``stages`` that mean yes; all others then mean no.
    cutoff : str, optional
        A comparison of the score or of a column of numbers, such as ``"score>=70"``.
    quota : str or array-like, optional
        How many of each list are selected, equal in all of its rows.
    stages : sequence of str or mapping of str to array-like, optional
        Recorded decisions one after the other, each about those who passed the one before.
    reference : str, sequence of str or mapping, optional
        The group that the others of its attribute are compared with, such as ``"race=White"``. By
        default a group is compared with everyone else.
    scored : bool
        Whether to compare scores, too: the share of people above the median score of everybody,
        and the gap between mean scores in standard deviations.
    shown : mapping, optional
        Names of groups in sentences, such as ``{"sex": {"female": "women"}}``; without it they say
        ``group "female" (sex)``.
    metrics : metric, string, or a list of them, optional
        Further metrics, such as ``"RND@50"``; group metrics are computed for every attribute. An
        `NDCG` is also compared by group, given relevance, if that has at most 10 grades.
    against : optional
        A second ranking of the same people in the same lists to compare with, in any form of
        ``data`` (a frame needs the same columns, and ``id``). A ranking cut at k is compared with
        the first k of the other.
    unpaired : optional
        A file of other lists to compare with, such as another period or another system, in any form
        of ``data``. A list that both have is an error, unless ``lists_differ`` is True.
    lists_differ : bool
        Whether equal labels of lists in ``data`` and ``unpaired`` are different lists.
    profile : str, optional
        The id of a profile (``equirank profiles`` lists them) or the path of one: the tables and
        the text that a law or guideline asks for are added.
    leave_out_small : bool
        Whether groups under the profile's small share are left out of its ratios.
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
    title, against_title, unpaired_title : str, optional
        Names of the rankings, for the report; by default the name of the file.
    purpose, period, author : str, optional
        What the audit is for, the time that the data cover, and who made it, for the report.
    date : str or date, optional
        The date of the report, such as ``"2026-07-31"``; by default that of the environment
        variable ``SOURCE_DATE_EPOCH``, else today.
    gates : sequence of str
        Gates that `AuditResult.judge` will be asked; more than 50 comparisons increase
        ``n_permutations`` as far as their p-values need.
    max_groups : int, optional
        Most groups of an attribute, as in `as_ranking_data`.

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
    columns = {"query": query, "score": score, "relevance": relevance}
    columns |= {"position": position, "sensitive": sensitive, "id": id}
    # Late, so that the import of `audit` is quick.
    from ..reports.provenance import Provenance
    from .measured import parse_wanted
    from .ranking_audit import audit_ranking

    provenance = Provenance.given(
        title=title, purpose=purpose, period=period, author=author, date=date
    ).with_inputs(ties=ties, max_groups=max_groups)
    wanted = parse_wanted(metrics)
    rule, outcomes = _rule(
        data, {"selected": selected, "quota": quota}, stages, cutoff=cutoff, yes=yes, k=k
    )
    columns["outcomes"] = outcomes
    ranking = as_ranking(data, columns, ties, max_groups, rule)
    other = None
    if against is not None:
        other = as_ranking(against, _columns_against(against, columns), ties, max_groups)
    second = None
    if unpaired is not None:
        if data is None:
            raise DataError("unpaired must be None beside arrays; pass frames or RankingData")
        names = _columns_against(unpaired, columns)
        second = as_ranking(unpaired, names, ties, max_groups, rule)
    return audit_ranking(
        ranking,
        against=other,
        unpaired=second,
        lists_differ=lists_differ,
        profile=profile,
        leave_out_small=leave_out_small,
        protected=protected,
        rule=rule,
        reference=reference,
        scored=scored,
        shown=shown,
        metrics=wanted,
        cross=cross,
        n_boot=n_boot,
        n_permutations=n_permutations,
        level=level,
        random_state=random_state,
        title=title,
        against_title=against_title,
        unpaired_title=unpaired_title,
        provenance=provenance,
        gates=gates,
    )


def _rule(
    data: Any, given: Mapping[str, Any], stages: Any, **options: Any
) -> tuple[DecisionRule, dict[str, Any] | None]:
    """Return the way in which people are selected, and its columns if they are given as arrays."""
    names: dict[str, Any] = dict(given)
    outcomes: dict[str, Any] = {}
    for role, values in given.items():
        if values is not None and not isinstance(values, str):
            names[role], outcomes[role] = role, values
    several = () if stages is None else stages.split(",") if isinstance(stages, str) else stages
    if isinstance(several, Mapping):
        outcomes |= several
    rule = DecisionRule(stages=tuple(str(each).strip() for each in several), **names, **options)
    if outcomes and data is not None:
        name = next(iter(outcomes))
        raise DataError(f"{name} must be the name of a column of data, got an array")
    if data is None and set(rule.columns()) - set(outcomes):
        name = next(iter(set(rule.columns()) - set(outcomes)))
        raise DataError(f"{name!r} must be given as an array, since data is None")
    return rule, outcomes or None


def _columns_against(against: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column names for a second frame; None for data and rankings."""
    own = isinstance(against, (RankingData, Ranking))
    return dict.fromkeys(columns) if own else dict(columns) | {"outcomes": None}
