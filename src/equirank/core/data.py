"""RankingData, the validated input data, and `as_ranking_data`, which creates it."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..kernels.segments import sort_within, tie_blocks
from . import inputs
from .encoding import Encoding, Unseen, align, check_width, encoding_of, known_groups
from .errors import DataError, OneListWarning, suggest
from .frames import FrameFeatures, as_frame, frame_features, take_named
from .labels import check_groups, encode, group_rows, query_weights
from .source import Source
from .unknown_words import CleanedLabels, warn_of_labels

if TYPE_CHECKING:
    from .ranking import Ranking

__all__ = [
    "Attribute",
    "RankingData",
    "as_given_data",
    "as_ranking_data",
    "as_scored_data",
    "counted_anew",
    "refuse_beside",
    "warn_of_one_list",
]


#: Rows worked on at once: few enough to stay in cache, many enough for NumPy to be fast.
BLOCK = 1 << 18
#: Rows above which one list is likely a forgotten ``qid``.
MANY_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Attribute:
    """One sensitive attribute: a code per row and the category of each code.

    The code -1 is an unknown label: the row is in no group, and no category stands for it. It keeps
    its position, but is not part of a group, of everyone else or of a reference. Selections keep
    the categories, so a code means the same group in a fold as in the whole data, even if the fold
    contains nobody of that group.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> sex = {"sex": ["f", None, "m"]}
    >>> data = as_ranking_data(score=[3, 2, 1], sensitive_features=sex, missing_sensitive="unknown")
    >>> data.attribute("sex")
    Attribute(codes=array([ 0, -1,  1], dtype=int32), categories=('f', 'm'))
    >>> data.attribute("sex").n_unknown, data.attribute("sex").sizes
    (1, array([1, 1]))
    """

    codes: np.ndarray
    categories: tuple[Any, ...]

    @cached_property
    def n_unknown(self) -> int:
        """Number of rows whose label is unknown."""
        return int((self.codes < 0).sum())

    @cached_property
    def known(self) -> np.ndarray:
        """Whether the label of each row is known."""
        return np.asarray(self.codes >= 0)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows of each group."""
        codes = self.codes[self.known] if self.n_unknown else self.codes
        return np.bincount(codes, minlength=len(self.categories))

    def labels(self) -> np.ndarray:
        """Return the group of each row, None where it is unknown."""
        names = np.empty(len(self.categories) + 1, dtype=object)
        names[:-1] = self.categories  # the last one, None, has the code -1
        return names[self.codes]

    def code(self, category: Any, argument: str = "protected") -> int:
        """Return the code of a category, or raise an error that lists the categories."""
        alike = [type(known) is type(category) and known == category for known in self.categories]
        alike = alike if any(alike) else [str(known) == str(category) for known in self.categories]
        if any(alike):
            return alike.index(True)
        hint = suggest(str(category), [str(known) for known in self.categories])
        raise DataError(
            f"{argument} must be one of the groups {_words(self.categories)}, "
            f"got {category!r}{hint}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """Input data for ranking: rows sorted by query, read-only.

    `as_ranking_data` creates and validates it; the rest of the library relies on that.

    Attributes
    ----------
    X : ndarray, scipy CSR array or None
        Features, one row per item.
    y : ndarray or None
        Relevance, >= 0.
    offsets : ndarray of int64
        Query ``q`` consists of the rows ``offsets[q]:offsets[q + 1]``.
    qids : ndarray
        The label of each query, in the order of first appearance.
    sensitive : dict of str to Attribute
        The sensitive attributes by name.
    cost, score, position, ids : ndarray or None
        Per row: the cost of a mistake, a given score, a given position (0: not shown), an id.
    outcomes : dict of str to ndarray
        Recorded decisions by name, per row, as given: what was decided about the item.
    query_weight : ndarray or None
        Per query.
    rows : ndarray or None
        Input row number of each stored row; None if the rows are stored in input order.
    feature_names : tuple of str or None
        Names of the columns of X, if any.
    categories : dict of str to tuple of str
        Sorted categories of the features that are no numbers; X holds their places in the tuple,
        and NaN where the category is missing.
    unseen : {"error", "missing"}
        What rankers that are fitted to the data do with unseen categories and groups.
    max_grade : float
        The largest relevance of the whole data set; selections keep it.
    source : Source or None
        The file that the data were read from.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(None, [1, 0, 2], qid=["a", "b", "a"], score=[0.1, 0.5, 0.9])
    >>> data
    RankingData(3 rows, 2 queries, y, score)
    >>> data.y
    array([1., 2., 0.])
    >>> data.to_original(data.y)
    array([1., 0., 2.])
    """

    X: Any
    y: np.ndarray | None
    offsets: np.ndarray
    qids: np.ndarray
    sensitive: dict[str, Attribute] = field(default_factory=dict)
    cost: np.ndarray | None = None
    query_weight: np.ndarray | None = None
    ids: np.ndarray | None = None
    score: np.ndarray | None = None
    position: np.ndarray | None = None
    rows: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None
    max_grade: float = 0.0
    backend: str | None = None
    outcomes: dict[str, np.ndarray] = field(default_factory=dict)
    source: Source | None = None
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unseen: Literal["error", "missing"] = "error"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.offsets[-1])

    @property
    def n_queries(self) -> int:
        """Number of queries (lists)."""
        return len(self.offsets) - 1

    @property
    def n_features(self) -> int:
        """Number of features, 0 without X."""
        return 0 if self.X is None else int(self.X.shape[1])

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.n_rows

    def __repr__(self) -> str:
        """Return a summary of the contents."""
        parts = [f"{self.n_rows} rows", f"{self.n_queries} {self.queries_word}"]
        parts += [f"{self.n_features} features"] if self.X is not None else []
        parts += [n for n in ("y", "cost", "score", "position") if getattr(self, n) is not None]
        parts += [f"{n} ({len(a.categories)} groups)" for n, a in self.sensitive.items()]
        return f"RankingData({', '.join(parts)})"

    @property
    def queries_word(self) -> str:
        """``"query"`` or ``"queries"``, to follow their number."""
        return "query" if self.n_queries == 1 else "queries"

    @property
    def encoding(self) -> Encoding:
        """The features, categories and groups, for ``like`` of `as_ranking_data`."""
        groups = {name: attribute.categories for name, attribute in self.sensitive.items()}
        return Encoding(self.feature_names, self.categories, groups)

    def refuse_categories(self, owner: str) -> None:
        """Raise if features are categories, which ``owner`` would take as numbers."""
        if self.categories:
            words = _words(self.categories)
            raise DataError(
                f"{owner} needs features that are numbers, and X has categories in {words}; encode "
                "them first, such as with scikit-learn's OneHotEncoder, or leave them out"
            )

    def to_original(self, values: np.ndarray) -> np.ndarray:
        """Return values given per stored row in input order."""
        if self.rows is None:
            return values
        result = np.empty_like(values)
        result[self.caller_rank] = values
        return result

    @cached_property
    def caller_rank(self) -> np.ndarray:
        """Index of each stored row in input order."""
        if self.rows is None:
            return np.arange(self.n_rows)
        whole = int(self.rows.max()) == self.n_rows - 1 and np.bincount(self.rows).min() == 1
        return self.rows if whole else np.argsort(np.argsort(self.rows))

    def query_of_rows(self) -> np.ndarray:
        """Return the index of the query of each stored row."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.offsets))

    def place(self, row: int) -> tuple[Any, int]:
        """Return the query label and the input row number of a stored row, for messages."""
        at = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return self.qids[at : at + 1].tolist()[0], int(row if self.rows is None else self.rows[row])

    def query_index(self, query: Any) -> int:
        """Return the index of a query by its label."""
        found = np.flatnonzero(self.qids == query)
        if len(found) == 0:
            hint = suggest(str(query), [str(q) for q in self.qids[:1000]])
            raise DataError(f"query must be one of the data's queries, got {query!r}{hint}")
        return int(found[0])

    def query_blocks(self, rows: int = BLOCK) -> Iterator[slice]:
        """Yield runs of whole queries with about this many rows each."""
        begin = 0
        while begin < self.n_queries:
            target = self.offsets[begin] + rows
            end = int(np.searchsorted(self.offsets, target, side="right")) - 1
            end = min(max(end, begin + 1), self.n_queries)
            yield slice(begin, end)
            begin = end

    def attribute(self, by: str | tuple[str, ...] | list[str] | None = None) -> Attribute:
        """Return an attribute by name, the intersection of several, or the only one.

        Examples
        --------
        >>> from equirank import as_ranking_data
        >>> data = as_ranking_data(None, qid=[1, 1], sensitive_features={"sex": ["f", "m"]})
        >>> data.attribute().categories
        ('f', 'm')
        """
        if not self.sensitive:
            raise DataError("sensitive_features must be given for this, and the data has none")
        if by is None:
            if len(self.sensitive) > 1:
                raise DataError(
                    f"by must name one of the attributes {_words(self.sensitive)} "
                    "(or several, to cross them), got None"
                )
            return next(iter(self.sensitive.values()))
        if not isinstance(by, str):
            return self.cross(*by)
        if by not in self.sensitive:
            hint = suggest(by, list(self.sensitive))
            raise DataError(
                f"by must be one of the attributes {_words(self.sensitive)}, got {by!r}{hint}"
            )
        return self.sensitive[by]

    def known_attribute(self, by: Any, owner: str) -> Attribute:
        """Return an attribute, or raise for its first unknown label, which ``owner`` cannot use.

        Examples
        --------
        >>> from equirank import as_ranking_data
        >>> data = as_ranking_data(None, qid=[1, 1], sensitive_features={"sex": ["f", "m"]})
        >>> data.known_attribute("sex", "DELTR").categories
        ('f', 'm')
        """
        attribute = self.attribute(by)
        if attribute.n_unknown:
            name = " & ".join(self.sensitive if by is None else [by] if isinstance(by, str) else by)
            _, row = self.place(int(attribute.known.argmin()))
            raise DataError(
                f"{owner} needs the group of every row, and {name} is unknown in row {row} "
                f"({attribute.n_unknown} of {self.n_rows} rows); leave these rows out, or keep "
                'them as a group with missing_sensitive="category"'
            )
        return attribute

    def cross(self, *names: str) -> Attribute:
        """Return the intersection of attributes: all combinations of groups that occur.

        A row with an unknown label of one of them is unknown in the intersection.

        Examples
        --------
        >>> from equirank import as_ranking_data
        >>> groups = {"sex": ["f", "m", "f"], "race": ["x", "y", "y"]}
        >>> as_ranking_data(None, qid=[1, 1, 1], sensitive_features=groups).cross("sex", "race")
        Attribute(codes=array([0, 2, 1], dtype=int32), categories=('f & x', 'f & y', 'm & y'))
        """
        known: dict[tuple[str, ...], Attribute] = self.__dict__.setdefault("_crossed", {})
        if names not in known:
            known[names] = self._cross([self.attribute(name) for name in names])
        return known[names]

    def keep_crossing(self, names: tuple[str, ...], categories: tuple[Any, ...]) -> None:
        """Fix the categories of an intersection and their order, including those without rows.

        A part of a larger data set needs this, so that codes mean the same in every part. A
        selection does not keep it.

        Examples
        --------
        >>> from equirank import as_ranking_data
        >>> groups = {"sex": ["f", "m"], "race": ["x", "y"]}
        >>> data = as_ranking_data(None, qid=[1, 1], sensitive_features=groups)
        >>> data.keep_crossing(("sex", "race"), ("f & x", "f & y", "m & x", "m & y"))
        >>> data.cross("sex", "race").codes
        array([0, 3], dtype=int32)
        """
        here = self._cross([self.attribute(name) for name in names])
        code = {label: at for at, label in enumerate(categories)}
        lookup = np.array([code[label] for label in here.categories], dtype=np.int32)
        known: dict[tuple[str, ...], Attribute] = self.__dict__.setdefault("_crossed", {})
        codes = lookup[here.codes] if not here.n_unknown else np.append(lookup, -1)[here.codes]
        known[names] = Attribute(codes.astype(np.int32), tuple(categories))

    def _cross(self, parts: list[Attribute]) -> Attribute:
        if len(parts) == 1:
            return parts[0]
        code = np.zeros(self.n_rows, dtype=np.int64)
        for part in parts:
            code = code * len(part.categories) + part.codes
        for part in parts:
            code[part.codes < 0] = -1
        present, codes = np.unique(code, return_inverse=True)
        if len(present) and present[0] < 0:
            present, codes = present[1:], codes - 1
        labels = []
        for value in present.tolist():
            words = []
            for part in reversed(parts):
                value, code_of = divmod(value, len(part.categories))
                words.append(str(part.categories[code_of]))
            labels.append(" & ".join(reversed(words)))
        return Attribute(codes.astype(np.int32), tuple(labels))

    def select(self, queries: Any) -> "RankingData":
        """Return the data of some queries: a boolean mask, a slice or indices into `qids`.

        Examples
        --------
        >>> from equirank import as_ranking_data
        >>> as_ranking_data(None, [1, 0, 2], qid=[7, 8, 8]).select([1])
        RankingData(2 rows, 1 query, y)
        """
        chosen = np.arange(self.n_queries)[queries]
        sizes = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        starts = np.repeat(self.offsets[:-1][chosen] - offsets[:-1], sizes)
        weight = None if self.query_weight is None else self.query_weight[chosen]
        return self._take(starts + np.arange(offsets[-1]), offsets, self.qids[chosen], weight)

    def select_items(self, items: np.ndarray) -> "RankingData":
        """Return the data of some stored rows, given by index.

        Queries without a remaining row are dropped. For data that is one list of people.
        """
        items = np.sort(np.asarray(items))
        query = self.query_of_rows()[items]
        sizes = np.bincount(query, minlength=self.n_queries)
        kept = np.flatnonzero(sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes[kept])])
        weight = None if self.query_weight is None else self.query_weight[kept]
        chosen = self._take(items, offsets, self.qids[kept], weight)
        if chosen.position is None:
            return chosen
        return replace(chosen, position=counted_anew(chosen.position, chosen.offsets))

    def _take(
        self, rows: np.ndarray, offsets: np.ndarray, qids: np.ndarray, weight: np.ndarray | None
    ) -> "RankingData":
        if len(rows) == 0:
            raise DataError("a selection must keep at least one row, and this one keeps none")

        def cut(values: Any) -> Any:
            return None if values is None else inputs.frozen(values[rows])

        return replace(
            self,
            X=None if self.X is None else inputs.frozen_matrix(self.X[rows]),
            y=cut(self.y),
            offsets=inputs.frozen(offsets.astype(np.int64)),
            qids=inputs.frozen(qids),
            sensitive={
                name: Attribute(cut(a.codes), a.categories) for name, a in self.sensitive.items()
            },
            cost=cut(self.cost),
            query_weight=None if weight is None else inputs.frozen(weight),
            ids=cut(self.ids),
            score=cut(self.score),
            position=cut(self.position),
            outcomes={name: cut(values) for name, values in self.outcomes.items()},
            rows=inputs.frozen(rows if self.rows is None else self.rows[rows]),
        )

    def fingerprint(self) -> str:
        """Return a short hash of the data: lists, relevance, groups, costs, and a sample of X.

        Of a large X, about a million evenly spaced values are hashed.
        """
        digest = blake2b(digest_size=16)
        parts: list[Any] = [self.offsets, self.y, self.cost, self.query_weight, self.score]
        parts += [self.position, self.qids, self.ids, *_sampled(self.X)]
        for name, attribute in sorted(self.sensitive.items()):
            digest.update(repr((name, [str(label) for label in attribute.categories])).encode())
            parts.append(attribute.codes)
        for name, outcome in sorted(self.outcomes.items()):
            digest.update(repr(name).encode())
            parts.append(outcome)
        for name, labels in sorted(self.categories.items()):
            digest.update(repr((name, labels)).encode())
        for part in parts:
            array = np.asarray([] if part is None else part)
            digest.update(f"|{part is None}{array.shape}".encode())
            text = array.dtype.kind in "OU"
            digest.update(repr(array.tolist()).encode() if text else array.tobytes())
        digest.update(repr((self.n_rows, self.n_features)).encode())
        return digest.hexdigest()

    def ranking(self, ties: Literal["average", "stable"] = "average") -> "Ranking":
        """Return the ranking given by the positions, or else by the scores.

        If both are given, the positions decide.
        """
        from .ranking import Ranking

        if self.position is not None:
            return Ranking.from_positions(self, self.to_original(self.position))
        if self.score is not None:
            return Ranking.from_scores(self, ties=ties)
        raise DataError(
            "score or position must be given to know the order, and the data has neither"
        )


# Long, since every kind of column is a parameter.
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
    groups: Mapping[str, Sequence[Any]] | None = None,
    missing_relevance: Literal["error", "irrelevant"] = "error",
    max_groups: int | None = None,
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
        see ``max_groups`` for others.
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
    groups : mapping of attribute to groups, optional
        All groups of an attribute, also those without a row; other labels are an error. None, or an
        attribute that is not named: the groups that occur.
    missing_relevance : {"error", "irrelevant"}
        Treatment of a missing relevance: an error, or 0.
    max_groups : int, optional
        Most groups of an attribute; more are an error, since a column of names or ids is rarely
        one of groups. None: 100, or 20 if they are more than a tenth of the rows, or 20 numbers.

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
        refuse_beside(beside | {"features": features, "groups": groups})
        made = X if encoding is None else align(X, encoding, policy)
        policy.warn()
        return made if unseen == "error" else replace(made, unseen=unseen)
    inputs.choose("missing_sensitive", missing_sensitive, ("error", "unknown", "category"))
    inputs.choose("missing_relevance", missing_relevance, ("error", "irrelevant"))
    frame = as_frame(X)
    table = frame_features(frame, beside, features, categorical, encoding, policy)
    known = {} if encoding is None else encoding.groups
    made = _made(
        inputs.features(X) if frame is None else table,
        take_named(frame, beside),
        missing_sensitive,
        _Groups(groups, max_groups, frozenset(known)),
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

    named: Mapping[str, Sequence[Any]] | None
    most: int | None
    known: frozenset[str]


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

    named = _named_groups(groups.named, people)
    coded = {n: encode(n, v, missing_sensitive, named.get(n)) for n, v in people.items()}
    for name, (codes, seen) in coded.items():
        if name not in groups.known:
            check_groups(name, seen if (codes >= 0).any() else (), n_rows, groups.most)
        if not isinstance(given["sensitive_features"], CleanedLabels):
            warn_of_labels(name, seen)
    table = features if isinstance(features, FrameFeatures) else None
    return RankingData(
        X=_sorted_matrix(features, order),
        y=sort(relevance),
        offsets=inputs.frozen(offsets),
        qids=inputs.frozen(qids),
        sensitive={name: Attribute(sort(codes), seen) for name, (codes, seen) in coded.items()},
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


def _named_groups(
    groups: Mapping[str, Sequence[Any]] | None, people: Mapping[str, Any]
) -> Mapping[str, Sequence[Any]]:
    if groups is not None and not isinstance(groups, Mapping):
        raise DataError(f"groups must map attributes to their groups, got {groups!r}")
    for name in groups or {}:
        if name not in people:
            hint = suggest(str(name), list(people))
            raise DataError(
                f"groups must name attributes of sensitive_features "
                f"({_words(dict(people)) or 'none'}), got {name!r}{hint}"
            )
    return groups or {}


def counted_anew(position: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Renumber the positions of each list without gaps; ties stay tied and 0 stays 0."""
    hidden = position == 0
    key = np.where(hidden, np.iinfo(np.int32).max, position)
    order = sort_within(-key.astype(np.float64), offsets)
    lo, _ = tie_blocks(key[order], offsets)
    first = (np.arange(len(order)) if lo is None else lo) - np.repeat(
        offsets[:-1], np.diff(offsets)
    )
    place = np.empty(len(order), dtype=np.int32)
    place[order] = first + 1
    return inputs.frozen(np.where(hidden, 0, place).astype(np.int32))


def refuse_beside(given: Mapping[str, Any], what: str = "RankingData") -> None:
    """Raise if arguments are given beside a RankingData or Ranking, which would be ignored."""
    for name, value in given.items():
        if value is not None:
            raise DataError(f"{name} must be None beside a {what}, which brings its own")


def warn_of_one_list(X: Any, qid: Any, n_rows: int, owner: str, stacklevel: int = 3) -> None:
    """Warn if more than 1,000 rows are one list only because ``qid`` was not given.

    A `RankingData` states its lists. ``stacklevel`` is that of `warnings.warn` as seen from here.
    """
    if qid is None and n_rows > MANY_ROWS and not isinstance(X, RankingData):
        warnings.warn(
            f"qid was not given: {owner} takes all {n_rows:,} rows as one list; pass the list of "
            "each row as qid, or qid=0 if they are one list",
            OneListWarning,
            stacklevel=stacklevel,
        )


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
            "as_ranking_data makes one from arrays"
        )
    return as_ranking_data(data, **columns)


#: Arguments of `as_ranking_data` beside the data frame.
COLUMNS = tuple(signature(as_ranking_data).parameters)[1:]


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


def _sampled(X: Any) -> list[np.ndarray]:
    """Return at most about a million evenly spaced values of X, with indices if X is sparse."""
    if X is None:
        return []
    parts = [X.data, X.indices, X.indptr] if hasattr(X, "tocsr") else [np.asarray(X).reshape(-1)]
    return [part[:: max(1, part.size // 2**20)] for part in parts]


def _words(names: Mapping[str, Any] | tuple[Any, ...]) -> str:
    shown = [repr(name) for name in list(names)[:10]]
    return ", ".join(shown) + (", ..." if len(names) > 10 else "")
