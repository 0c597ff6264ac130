"""RankingData, the validated input data."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..kernels.segments import sort_within, tie_blocks
from . import inputs
from .attribute import Attribute
from .encoding import Encoding
from .errors import DataError, listed, suggest
from .source import Source

if TYPE_CHECKING:
    from .ranking import Ranking

__all__ = ["RankingData", "counted_anew"]


#: Rows worked on at once: few enough to stay in cache, many enough for NumPy to be fast.
BLOCK = 1 << 18


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
            words = listed(self.categories)
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
                    f"by must name one of the attributes {listed(self.sensitive)} "
                    "(or several, to cross them), got None"
                )
            return next(iter(self.sensitive.values()))
        if not isinstance(by, str):
            return self.cross(*by)
        if by not in self.sensitive:
            hint = suggest(by, list(self.sensitive))
            raise DataError(
                f"by must be one of the attributes {listed(self.sensitive)}, got {by!r}{hint}"
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

        A row with an unknown label of one of them is unknown in the intersection; `audit` bounds
        its groups by the label that is known. Probabilities are not multiplied, which would take
        the attributes as independent: the intersection has none, no errors and no checked labels.

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
            sensitive={name: each.take(rows) for name, each in self.sensitive.items()},
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
            parts += attribute.arrays()
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


def _sampled(X: Any) -> list[np.ndarray]:
    """Return at most about a million evenly spaced values of X, with indices if X is sparse."""
    if X is None:
        return []
    parts = [X.data, X.indices, X.indptr] if hasattr(X, "tocsr") else [np.asarray(X).reshape(-1)]
    return [part[:: max(1, part.size // 2**20)] for part in parts]
