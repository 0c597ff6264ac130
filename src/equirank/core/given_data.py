"""What callers give, arrays, frames or columns, as RankingData: `as_ranking_data` and its kin."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from . import inputs
from .attribute import Attribute, LabelError
from .data import RankingData
from .encoding import Unseen, align, check_width, encoding_of, known_groups
from .errors import DataError, OneListWarning, listed, routing_line, suggest
from .frames import FrameFeatures, as_frame, frame_features, take_named
from .label_knowledge import Knowledge, detail_columns, known_attribute, split_details
from .labels import check_groups, encode, group_rows, query_weights
from .params import Label
from .unknown_words import CleanedLabels, warn_of_labels

__all__ = [
    "LONG_REQUEST",
    "MANY_ROWS",
    "DeclaredGroups",
    "as_empty_data",
    "as_given_data",
    "as_ranking_data",
    "as_scored_data",
    "refuse_beside",
    "warn_of_one_list",
    "with_declared",
]

#: Rows above which one list to learn from or to score is likely a forgotten ``qid``.
MANY_ROWS = 200
#: Rows above which one list to rank is, as a single request may be long.
LONG_REQUEST = 1000
#: Who has warned in each running cross-validation.
_SAID: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()


class DeclaredGroups(dict[Any, Sequence[Any]]):
    """Groups that exist beside those that occur, by attribute; None is the only attribute.

    As ``groups`` of `as_ranking_data`, where no row needs a known label either.
    """

    def of(self, name: str, seen: Sequence[Any], alone: bool) -> list[Any] | None:
        """Return the groups of an attribute and those declared for it; None if there are no more.

        Parameters
        ----------
        name : str
            The attribute.
        seen : sequence
            Its groups.
        alone : bool
            Whether it is the only attribute.
        """
        told = [*self.get(name, ()), *(self.get(None, ()) if alone else ())]
        known = {str(group).strip().casefold() for group in seen}  # others are misspelt
        more = {str(group): group for group in told if str(group).strip().casefold() not in known}
        return [*seen, *more.values()] if more else None


def as_ranking_data(
    X: Any = None,
    y: Any = None,
    *,
    qid: Any = None,
    sensitive_features: Any = None,
    cost: Any = None,
    query_weight: Any = None,
    ids: Any = None,
    score: Any = None,
    position: Any = None,
    outcomes: Any = None,
    features: Sequence[str] | None = None,
    categorical: Any = "auto",
    unseen: Literal["error", "missing"] = "error",
    like: Any = None,
    missing_sensitive: Literal["error", "unknown", "category"] = "error",
    groups: Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
    missing_relevance: Literal["error", "irrelevant"] = "error",
    max_groups: int | None = None,
    label_error: Mapping[str, LabelError] | None = None,
    checked_rate: Mapping[str, float] | float | None = None,
) -> RankingData:
    """Validate data and sort it by query: the entry point for data.

    If X is a data frame, every other argument may name a column of it:
    ``as_ranking_data(frame, y="grade", qid="query", sensitive_features=["seller"], ids="sku")``.

    Parameters
    ----------
    X : array-like, scipy sparse array, data frame, RankingData or None
        Features, or None (an audit needs none). A `RankingData` is returned as it is, as ``like``
        encodes it, or with the policy ``unseen="missing"``. Rows that are already grouped by query
        are not copied, and float32 and CSR are kept.
    y : array-like or str, optional
        Relevance, >= 0, higher is better.
    qid : array-like, str or int, optional
        Query of each row; rows of a query need not be adjacent. None makes all rows one list, and
        so does an integer, such as 0, which states it: rankers then do not warn of many rows.
    sensitive_features : array-like, data frame, dict, str or list of str, optional
        One or several attributes of people: 1-D, 2-D, a frame with one column each, a dict, or
        columns of X. A numeric attribute with more than 20 values is an error that asks for bins;
        see ``max_groups`` for others. Columns such as ``race[white]`` are probabilities of the
        groups of ``race``, ``race[true]`` are labels that were verified, empty where nobody
        checked, and ``race[rate]`` the probability of each row to be checked.
    cost : array-like or str, optional
        Cost of a mistake about the item, > 0.
    query_weight : array-like, dict or str, optional
        Per row (equal within a query) or a dict from query to weight.
    ids : array-like or str, optional
        An id per row.
    score, position : array-like or str, optional
        A given score (higher first) or a given 1-based position (0: not shown).
    outcomes : mapping of str to array-like, or list of str, optional
        Recorded decisions by name, such as ``{"hired": [...]}``; `audit` reads them.
    features : sequence of str, optional
        Columns of the data frame in X. None: all columns that no other argument names. Columns of
        text, categories and enums become codes (see ``RankingData.categories``), missing ones NaN;
        dates and lists are an error.
    categorical : "auto", sequence of str or None
        Further columns that are categories, such as numbers of shops; their values must be whole.
        None: a feature that is no number is an error.
    unseen : {"error", "missing"}
        Treatment of a category or a group that ``like`` does not contain: an error that names it;
        or a missing category and an unknown group, with one warning. Rankers that are fitted to
        the data store it for `predict`.
    like : RankingData or fitted ranker, optional
        Use its columns, by name and in its order, its categories and its groups.
    missing_sensitive : {"error", "unknown", "category"}
        Treatment of a group that is None, NaN, NaT, NA, masked or empty text: an error, an unknown
        label (the row keeps its position and is in no group), or the group ``"(missing)"``, which
        is never a reference.
    groups : mapping of attribute to groups, or sequence of groups, optional
        All groups of an attribute, or of the only one, also those without a row; other labels are
        an error. None, or an attribute that is not named: the groups that occur.
    missing_relevance : {"error", "irrelevant"}
        Treatment of a missing relevance: an error, or 0.
    max_groups : int, optional
        Most groups of an attribute; more are an error, since a column of names or ids is rarely
        one of groups. None: 100, or 20 if they are more than a tenth of the rows, or 20 numbers.
    label_error : mapping of attribute to LabelError, optional
        How the labels of an attribute were recorded, if with errors.
    checked_rate : float or mapping of attribute to float, optional
        The probability of each row to be checked, beside columns such as ``race[true]``. None: the
        share of rows with a verified label, as if they were drawn at random.

    Returns
    -------
    RankingData

    Raises
    ------
    DataError
        If an argument is invalid; the message names the argument, the first invalid row and what
        was expected.

    Examples
    --------
    >>> data = as_ranking_data([[0.5], [1.0]], [0, 1], qid=[3, 3], sensitive_features=["f", "m"])
    >>> data
    RankingData(2 rows, 1 query, 1 features, y, sensitive (2 groups))
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"price": [9.5, 4.0], "brand": ["Ora", "Ivo"], "grade": [0, 1], "seller": ["s", "t"]}
    ... )
    >>> data = as_ranking_data(frame, y="grade", qid=0, sensitive_features="seller")
    >>> data.feature_names, data.categories
    (('price', 'brand'), {'brand': ('Ivo', 'Ora')})
    """
    beside = {"y": y, "qid": qid, "sensitive_features": sensitive_features, "cost": cost}
    beside |= {"query_weight": query_weight, "ids": ids, "score": score, "position": position}
    beside["outcomes"] = outcomes
    inputs.choose("unseen", unseen, ("error", "missing"))
    encoding, policy = encoding_of(like), Unseen(unseen)
    if isinstance(X, RankingData):
        told = {"label_error": label_error, "checked_rate": checked_rate}
        refuse_beside(beside | {"features": features, "groups": groups} | told)
        made = X if encoding is None else align(X, encoding, policy)
        policy.warn()
        return made if unseen == "error" else replace(made, unseen=unseen)
    inputs.choose("missing_sensitive", missing_sensitive, ("error", "unknown", "category"))
    inputs.choose("missing_relevance", missing_relevance, ("error", "irrelevant"))
    frame = as_frame(X)
    beside["sensitive_features"] = detail_columns(frame, sensitive_features)
    table = frame_features(frame, beside, features, categorical, encoding, policy)
    known = {} if encoding is None else encoding.groups
    made = _made(
        inputs.features(X) if frame is None else table,
        take_named(frame, beside),
        missing_sensitive,
        _Groups(groups, max_groups, frozenset(known), label_error, checked_rate),
        np.nan if missing_relevance == "error" else 0.0,
        inputs.backend_of(X, sensitive_features, y, score, position, qid),
    )
    if encoding is not None:
        check_width(made, encoding, frame)
        people = {name: known_groups(made, name, encoding, policy) for name in made.sensitive}
        made = replace(made, sensitive=people)
    elif table is not None:
        table.warn_of_ids()
    policy.warn()
    return replace(made, unseen=unseen)


@dataclass(frozen=True)
class _Groups:
    """What is known of the groups: those named, the most of an attribute, and known attributes."""

    named: Mapping[str, Sequence[Any]] | Sequence[Any] | None
    most: int | None
    known: frozenset[str]
    errors: Mapping[str, LabelError] | None = None
    rates: Mapping[str, float] | float | None = None

    def attributes(
        self, columns: Mapping[str, np.ndarray], missing: str, cleaned: bool
    ) -> dict[str, Attribute]:
        """Return the attributes of columns of labels and of what else is told of them."""
        people, details = split_details(columns)
        named = self._named(people, details)
        errors = _by_attribute("label_error", self.errors, people)
        rates = self.rates
        if rates is not None and not isinstance(rates, Mapping):
            rates = {name: rates for name in details if "true" in details[name]}
            if not rates:
                raise DataError("checked_rate needs verified labels, such as in 'race[true]'")
        rates = _by_attribute("checked_rate", rates, people)
        made = {}
        for name, values in people.items():
            told = Knowledge(details.get(name, {}), errors.get(name), rates.get(name))
            made[name] = known_attribute(name, values, missing, named.get(name), told)
            declared = isinstance(self.named, DeclaredGroups)
            sure = made[name].known.any() or details.get(name)
            if name not in self.known and (sure if declared else name not in named):
                groups = made[name].categories if sure else ()
                check_groups(name, groups, len(values), self.most)
            if not cleaned:
                warn_of_labels(name, made[name].categories)
        return made

    def _named(
        self, people: Mapping[str, np.ndarray], details: Mapping[str, Any]
    ) -> Mapping[str, Sequence[Any]]:
        """Return all groups of the attributes whose groups are named or declared."""
        named = self.named
        if isinstance(named, DeclaredGroups):
            found = {
                name: named.of(name, encode(name, values, "unknown")[1], len(people) == 1)
                for name, values in people.items()
                if named and name not in details  # whose columns name the groups
            }
            return {name: groups for name, groups in found.items() if groups is not None}
        if isinstance(named, Sequence) and not isinstance(named, str) and len(people) == 1:
            return dict.fromkeys(people, named)
        return _by_attribute("groups", named, people)


def _made(
    features: Any,
    given: Mapping[str, Any],
    missing_sensitive: str,
    groups: _Groups,
    no_relevance: float,
    backend: str | None,
) -> RankingData:
    """Return the data of validated columns, sorted by query."""
    relevance = inputs.numbers("y", given["y"], missing=no_relevance)
    inputs.refuse("y", relevance, relevance is not None and ~(relevance >= 0), "a relevance >= 0")
    costs = inputs.numbers("cost", given["cost"])
    inputs.refuse("cost", costs, costs is not None and ~(costs > 0), "a number > 0")
    scores, places = inputs.numbers("score", given["score"]), inputs.positions(given["position"])
    people = inputs.attributes(given["sensitive_features"])
    labels, qid = inputs.label_column("ids", given["ids"]), given["qid"]
    decided = {
        name: inputs.vector(f"outcomes[{name!r}]", values)
        for name, values in (given["outcomes"] or {}).items()
    }
    one_list = inputs.is_one_list(qid)
    queries = None if one_list else inputs.label_column("qid", qid)
    columns = {"X": features, "y": relevance, "qid": queries, "cost": costs, "ids": labels}
    columns |= {"score": scores, "position": places}
    columns |= {f"sensitive_features[{n!r}]": v for n, v in people.items()}
    columns |= {f"outcomes[{n!r}]": v for n, v in decided.items()}
    n_rows = inputs.same_length(columns)
    order, offsets, qids = group_rows(queries, n_rows)
    qids = np.array([qid]) if one_list else qids

    def sort(values: Any) -> Any:
        if values is None:
            return None
        return inputs.frozen(values if order is None else values[order])

    cleaned = isinstance(given["sensitive_features"], CleanedLabels)
    coded = groups.attributes(people, missing_sensitive, cleaned)
    table = features if isinstance(features, FrameFeatures) else None
    return RankingData(
        X=_sorted_matrix(features, order),
        y=sort(relevance),
        offsets=inputs.frozen(offsets),
        qids=inputs.frozen(qids),
        sensitive={
            name: each.take(slice(None) if order is None else order) for name, each in coded.items()
        },
        cost=sort(costs),
        query_weight=query_weights(given["query_weight"], qids, offsets, order, n_rows),
        ids=sort(labels),
        score=sort(scores),
        position=sort(places),
        outcomes={name: sort(values) for name, values in decided.items()},
        rows=None if order is None else inputs.frozen(order),
        feature_names=None if table is None else table.names,
        max_grade=float(relevance.max()) if relevance is not None else 0.0,
        backend=backend,
        categories={} if table is None else table.categories,
    )


def _sorted_matrix(features: Any, order: np.ndarray | None) -> Any:
    if isinstance(features, FrameFeatures):
        return features.matrix(order)
    if features is None or order is None:
        return features
    return inputs.frozen_matrix(features[order])


def _by_attribute(argument: str, given: Any, people: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is given by attribute, or raise if an attribute does not exist."""
    if given is not None and not isinstance(given, Mapping):
        what = "their groups" if argument == "groups" else "a value each"
        raise DataError(f"{argument} must map attributes to {what}, got {given!r}")
    for name in given or {}:
        if name not in people:
            hint = suggest(str(name), list(people))
            raise DataError(
                f"{argument} must name attributes of sensitive_features "
                f"({listed(dict(people)) or 'none'}), got {name!r}{hint}"
            )
    return given or {}


def refuse_beside(given: Mapping[str, Any], what: str = "RankingData") -> None:
    """Raise if arguments are given beside a RankingData or Ranking, which would be ignored."""
    for name, value in given.items():
        if value is not None:
            raise DataError(f"{name} must be None beside a {what}, which brings its own")


def warn_of_one_list(
    X: Any, qid: Any, n_rows: int, owner: str, stacklevel: int = 3, above: int = MANY_ROWS
) -> None:
    """Warn if more than ``above`` rows are one list only because ``qid`` was not given.

    A `RankingData` states its lists. In scikit-learn's cross-validation and searches any number of
    rows is too many, and the message names the line that passes ``qid`` through them.
    ``stacklevel`` is that of `warnings.warn` as seen from here.
    """
    if qid is not None or isinstance(X, RankingData):
        return
    line, call = routing_line()
    said = set() if call is None else _SAID.setdefault(call, set())
    if owner not in said and (n_rows > above or (line is not None and "cv=" in line)):
        way = "pass the list of each row as qid"
        if line is not None:
            way = f"with sklearn.set_config(enable_metadata_routing=True) write {line}"
        warnings.warn(
            f"qid was not given: {owner} takes all {n_rows:,} rows as one list; {way}, or qid=0 if "
            "they are one list",
            OneListWarning,
            stacklevel=stacklevel,
        )
        said.add(owner)  # once per cross-validation, not per fold


def with_declared(data: RankingData, groups: DeclaredGroups, by: Any) -> RankingData:
    """Return data with the groups that are declared, also those of an intersection.

    Parameters
    ----------
    data : RankingData
        The data.
    groups : DeclaredGroups
        Groups by attribute; None has those of ``by``.
    by : str, sequence of str or None
        The attribute, or those that are crossed.
    """
    people = {}
    for name, attribute in data.sensitive.items():
        own = groups.of(name, attribute.categories, len(data.sensitive) == 1)
        if own is not None:
            known = encode(name, np.array(own, dtype=object))[1]
            lookup = [known.index(group) for group in attribute.categories]
            people[name] = attribute.with_categories(known, lookup)
    made = replace(data, sensitive=data.sensitive | people) if people else data
    names = tuple(by) if isinstance(by, list | tuple) else ()
    if len(names) > 1 and None in groups and Label(many=True).accepts(names):
        crossed = DeclaredGroups({None: groups[None]}).of("", made.cross(*names).categories, True)
        if crossed is not None:
            made = replace(made)  # the intersection is stored in the data
            made.keep_crossing(names, tuple(crossed))
    return made


def as_given_data(data: Any, owner: str, columns: Mapping[str, Any]) -> RankingData:
    """Return a RankingData as it is, and a data frame with its columns by `as_ranking_data`.

    Parameters
    ----------
    data : RankingData or data frame
        What the caller gave.
    owner : str
        The function that it was given to.
    columns : mapping of str to Any
        The arguments of `as_ranking_data` that were given, for a data frame only.
    """
    for name in columns:
        if name not in COLUMNS:
            hint = suggest(name, COLUMNS)
            raise TypeError(f"{owner}() got an unexpected keyword argument {name!r}{hint}")
    if isinstance(data, RankingData):
        refuse_beside(columns)
        return data
    if not inputs.is_frame(data):
        raise DataError(
            f"data must be a RankingData or a data frame, got {type(data).__name__}; "
            "as_ranking_data makes one from arrays, equirank.io.read_file from a file"
        )
    return as_ranking_data(data, **columns)


#: Arguments of `as_ranking_data` beside the data frame.
COLUMNS = tuple(signature(as_ranking_data).parameters)[1:]


def as_empty_data(
    given: Mapping[str, Any],
    groups: Mapping[str, Sequence[Any]] | Sequence[Any] | None,
) -> RankingData:
    """Return the data of one list without items, with the groups that are named or declared.

    Parameters
    ----------
    given : mapping of str to Any
        The columns, all empty: those of `as_ranking_data` from ``y`` to ``outcomes``.
    groups : mapping, sequence or None
        As in `as_ranking_data`.
    """
    columns = {name: inputs.vector(name, given.get(name)) for name in ("score", "y", "position")}
    people = inputs.attributes(given.get("sensitive_features"))
    qid = None if inputs.is_one_list(given.get("qid")) else inputs.vector("qid", given.get("qid"))
    inputs.same_length({**columns, **people, "qid": qid}, least=0)
    none = inputs.frozen(np.zeros(0))
    coded = _Groups(groups, None, frozenset(people)).attributes(people, "unknown", True)
    return RankingData(
        X=None,
        y=None if columns["y"] is None else none,
        offsets=inputs.frozen(np.zeros(2, dtype=np.int64)),
        qids=np.array([given["qid"] if inputs.is_one_list(given.get("qid")) else 0]),
        sensitive=coded,
        score=none,
        backend=inputs.backend_of(*given.values()),
    )


def as_scored_data(
    y_score: Any,
    y_true: Any = None,
    *,
    qid: Any = None,
    sensitive_features: Any = None,
    **given: Any,
) -> RankingData:
    """Create RankingData from plain arrays, with errors that name ``y_score`` and ``y_true``."""
    score = inputs.numbers("y_score", y_score)
    truth = inputs.numbers("y_true", y_true)
    inputs.refuse("y_true", truth, truth is not None and ~(truth >= 0), "a relevance >= 0")
    queries = None if inputs.is_one_list(qid) else inputs.vector("qid", qid)
    inputs.same_length({"y_score": score, "y_true": truth, "qid": queries})
    return as_ranking_data(
        y=truth, qid=qid, sensitive_features=sensitive_features, score=score, **given
    )
