"""The ranking that data state: a Ranking, RankingData, file, frame, mapping or arrays."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, TypedDict

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.given_data import as_ranking_data, refuse_beside
from ..core.keywords import Default
from ..core.label_knowledge import with_details
from ..core.outcomes import DecisionRule
from ..core.ranking import Ranking
from ..core.registry import find
from ..core.source import IN_MEMORY, Source
from ..core.table import Table
from ..io.column_roles import assign
from ..io.table_file import read_file

__all__ = [
    "ColumnKeywords",
    "CutKeywords",
    "DecisionKeywords",
    "OrderKeywords",
    "ReferenceKeywords",
    "as_ranking",
    "columns_against",
    "data_of_file",
    "decision_rule",
    "ordered",
]


Ties = Literal["average", "stable"]
#: The top k of each list are selected, with the default k.
NO_RULE = DecisionRule()
#: Most texts of a column that become words of NumPy, and most letters of one.
MOST_WORDS, WIDEST = 64, 16


class ColumnKeywords(TypedDict, total=False):
    """The columns of a ranking.

    Parameters
    ----------
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
    """

    query: Any
    score: Any
    relevance: Any
    position: Any
    sensitive: Any


class OrderKeywords(TypedDict, total=False):
    """How ties and groups are read.

    Parameters
    ----------
    ties : {"average", "stable"}
        Whether tied items share the mean of their positions or keep the input order.
    max_groups : int, optional
        Most groups of an attribute, as in `as_ranking_data`.
    """

    ties: Annotated[Literal["average", "stable"], Default("average")]
    max_groups: int | None


class CutKeywords(TypedDict, total=False):
    """The top of each list.

    Parameters
    ----------
    k : int or sequence of int, optional
        The top k of each list are selected, a tied block by chance. By default 10 and 50, if lists
        are longer. One way decides who is selected.
    """

    k: Any


class DecisionKeywords(CutKeywords, total=False):
    """The ways to select people, of which one is used.

    Parameters
    ----------
    selected : str or array-like, optional
        Recorded decisions: yes or no, true or false, 1 or 0. A blank is undecided: it is left out
        and counted. No order is needed beside them.
    yes : str or sequence, optional
        The values of recorded decisions that mean yes; all others then mean no.
    cutoff : str, optional
        A comparison of the score or of a column of numbers, such as ``"score>=70"``.
    quota : str or array-like, optional
        How many of each list are selected, equal in all of its rows.
    stages : sequence of str or mapping of str to array-like, optional
        Recorded decisions one after the other, each about those who passed the one before.
    """

    selected: Any
    yes: Any
    cutoff: str | None
    quota: Any
    stages: Any


class ReferenceKeywords(TypedDict, total=False):
    """Whom groups are compared with.

    Parameters
    ----------
    reference : str, sequence of str or mapping, optional
        The group that the others of its attribute are compared with, such as ``"race=White"``. By
        default a group is compared with everyone else.
    """

    reference: Any


def as_ranking(
    data: Any,
    columns: Mapping[str, Any],
    ties: Ties,
    max_groups: int | None = None,
    rule: DecisionRule = NO_RULE,
    more: Sequence[str] = (),
) -> Ranking:
    """Return the ranking that data states.

    ``columns`` (query, score, relevance, position, sensitive, id; cost and features, if they are
    wanted) are column names if ``data`` is a file or a frame, arrays if it is None, and must be
    None if it is a `RankingData` or a `Ranking`, except a model as the score of the first.
    If ``rule`` reads recorded decisions, data without an order are one tie per list. ``more`` are
    further columns of outcomes.
    """
    if isinstance(data, (str, os.PathLike)):
        data = data_of_file(data, columns, rule, more, max_groups=max_groups)
        columns = dict.fromkeys(columns)
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
        return ordered(data, ties, rule)
    if data is not None and _is_model(columns["score"]):
        return _ranked_by(columns["score"], data, columns, max_groups, rule)
    chosen: dict[str, tuple[str, str]] = {}
    if data is None:
        found = {role: values for role, values in columns.items() if values is not None}
    else:
        found, chosen = _from_frame(data, columns, rule, more)
    if "score" not in found and "position" not in found and not rule.recorded:
        raise DataError("score or position must be given to define the order, got neither")
    made = as_ranking_data(
        found.get("features"),
        y=found.get("relevance"),
        qid=found.get("query"),
        cost=found.get("cost"),
        score=found.get("score"),
        position=found.get("position"),
        sensitive_features=found.get("sensitive"),
        ids=found.get("id"),
        outcomes=found.get("outcomes"),
        missing_sensitive="unknown",
        max_groups=max_groups,
    )
    if "feature_names" in found:
        made = replace(made, feature_names=found["feature_names"])
    if chosen:
        made = replace(made, source=Source(IN_MEMORY, "", made.n_rows, columns=chosen))
    return ordered(made, ties, rule)


def columns_against(against: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column names for a second frame or file; None for data and rankings."""
    own = isinstance(against, (RankingData, Ranking))
    return dict.fromkeys(columns) if own else dict(columns) | {"outcomes": None}


def data_of_file(
    path: str | os.PathLike[str],
    columns: Mapping[str, Any],
    rule: DecisionRule,
    more: Sequence[str] = (),
    **how: Any,
) -> RankingData:
    """Return the people of a file; ``how`` contains further arguments of `read_file`."""
    if _is_model(columns["score"]):
        raise DataError(
            f"score must be a column of {os.fspath(path)}, got a model; read the file as a frame, "
            "or rank it with equirank predict"
        )
    roles = {name: value for name, value in columns.items() if name != "outcomes"}
    for role, name in roles.items():
        if isinstance(name, np.ndarray):
            raise DataError(f"{role} must be the name of a column of the file, got an array")
    roles["relevance"] = False if roles["relevance"] is None else roles["relevance"]
    roles["score"] = rule.score_column(roles["score"], roles["position"])
    outcomes = [*rule.columns(), *more]
    return read_file(path, missing_sensitive="unknown", outcomes=outcomes, **how, **roles)


def ordered(data: RankingData, ties: Ties, rule: DecisionRule) -> Ranking:
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
    data: Any, columns: Mapping[str, Any], rule: DecisionRule, more: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """Return the columns of a frame by role, and for each role its name and why it was chosen.

    Columns that are not named are recognised as in `read_csv`.
    """
    for role, name in columns.items():
        if isinstance(name, np.ndarray):
            raise DataError(f"{role} must be the name of a column of data, got an array")
    names, column = _columns_of(data)
    named: dict[str, Any] = dict(columns)
    named.pop("outcomes", None)
    sensitive, given = with_details(names, named.pop("sensitive")), named.pop("id")
    ids: Any = False if given is None else given
    named["score"] = rule.score_column(named["score"], named["position"])
    named["relevance"] = False if named["relevance"] is None else named["relevance"]
    options: dict[str, Any] = {"features": named.pop("features", ()), "ids": ids}
    named.setdefault("cost", False)
    options["outcomes"] = [*rule.columns(), *more]
    roles = assign("data", names, sensitive=sensitive, **options, **named)
    found: dict[str, Any] = {role: column(name) for role, name in roles.single.items()}
    if "ids" in found:
        found["id"] = found.pop("ids")
    if roles.sensitive:
        found["sensitive"] = {name: _words(column(name)) for name in roles.sensitive}
    if roles.features:
        found["features"] = np.stack([np.asarray(column(n)) for n in roles.features], axis=1)
        found["feature_names"] = roles.features
    if roles.outcomes:
        found["outcomes"] = {name: column(name) for name in roles.outcomes}
    chosen = {
        role: (name, "named" if name == named.get(role, ids) else "recognised by its name")
        for role, name in roles.single.items()
    }
    chosen |= {f"sensitive ({name})": (name, "named") for name in roles.sensitive}
    return found, chosen


def _words(column: Any) -> Any:
    """Return a column of a few short texts of pandas as words of NumPy, which are encoded quickly.

    A missing label is the empty word, which names no group either. Other columns are returned as
    they are.
    """
    if not hasattr(column, "factorize") or getattr(column.dtype, "kind", "") != "O":
        return column
    try:
        codes, labels = column.factorize()
    except TypeError:  # the message about a list names the row
        return column
    labels = list(labels[: MOST_WORDS + 1])
    if len(labels) > MOST_WORDS or not all(type(word) is str for word in labels):
        return column
    # a word of NumPy loses NULs at its end, and all words are as wide as the longest
    if "\0" in "".join(labels) or max(map(len, labels), default=0) > WIDEST:
        return column
    return np.array([*labels, ""])[codes]


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
            "data must be a RankingData, a Ranking, a file, a data frame, a mapping of columns, or "
            f"None beside arrays, got {type(data).__name__}"
        ) from None
    return [str(name) for name in frame.columns], lambda name: frame[name].to_native()


def decision_rule(
    data: Any, given: Mapping[str, Any]
) -> tuple[DecisionRule, dict[str, Any] | None]:
    """Return the way in which people are selected, and its columns if they are given as arrays.

    ``given`` has the keys of `DecisionKeywords`.
    """
    names: dict[str, Any] = dict(given)
    stages = names.pop("stages", None)
    outcomes: dict[str, Any] = {}
    for role in ("selected", "quota"):
        if given[role] is not None and not isinstance(given[role], str):
            names[role], outcomes[role] = role, given[role]
    several = () if stages is None else stages.split(",") if isinstance(stages, str) else stages
    if isinstance(several, Mapping):
        outcomes |= several
    rule = DecisionRule(stages=tuple(str(each).strip() for each in several), **names)
    if outcomes and data is not None:
        name = next(iter(outcomes))
        raise DataError(f"{name} must be the name of a column of data, got an array")
    if data is None and set(rule.columns()) - set(outcomes):
        name = next(iter(set(rule.columns()) - set(outcomes)))
        raise DataError(f"{name!r} must be given as an array, since data is None")
    return rule, outcomes or None
