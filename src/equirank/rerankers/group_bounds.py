"""Bounds on the counts of groups: as given by callers, and as checked by results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.errors import DataError
from ..core.inputs import frozen
from ..core.params import Check, Label, Number, Vector

__all__ = [
    "POSITION_BOUNDS",
    "PREFIX_BOUNDS",
    "Bounds",
    "GroupBound",
    "KnownBounds",
    "NoBounds",
    "OverlappingBounds",
    "ShareBounds",
    "TableBounds",
    "find_bounds",
    "position_counts",
    "prefix_rows",
]


#: A share times a length that is this close to a whole number is that number.
ROUNDING = 1e-9


def _are_bounds(value: Any, allowed: Callable[[Any], bool]) -> bool:
    """Return whether the value is a mapping of groups (by attribute) to allowed values, or None."""
    if value is None:
        return True
    if not isinstance(value, Mapping) or not all(Label().accepts(label) for label in value):
        return False
    return all(
        _are_bounds(part, allowed) if isinstance(part, Mapping) else allowed(part)
        for part in value.values()
    )


def _is_prefix_bound(value: Any) -> bool:
    """Return whether the value is a share, or integers >= 0."""
    return Number(0.0, 1.0).accepts(value) or (Vector(0.0).accepts(value) and _whole(value))


def _is_position_bound(value: Any) -> bool:
    """Return whether the value is a share below 1, or an integer >= 0."""
    return Number(0.0).accepts(value) and (value < 1 or _whole(value))


def _whole(value: Any) -> bool:
    array = np.asarray(value, dtype=float)
    return bool((array == np.floor(array)).all())


#: Bounds on the counts of groups in every prefix.
PREFIX_BOUNDS = Check(
    lambda value: _are_bounds(value, _is_prefix_bound),
    "a mapping of group to a share in [0, 1] or to the counts of its first 1, 2, ... positions, "
    "or None",
)
#: Bounds on the counts of groups among all selected items.
POSITION_BOUNDS = Check(
    lambda value: _are_bounds(value, _is_position_bound),
    "a mapping of group to a number of positions or to a share of them below 1, or None",
)


@dataclass(frozen=True)
class GroupBound:
    """The bound on one group: the name of the attribute, code and label of the group, the value."""

    attribute: Any
    code: int
    label: Any
    value: Any


def find_bounds(
    owner: str, name: str, given: Mapping[Any, Any] | None, data: RankingData, by: Any
) -> list[GroupBound]:
    """Return the bounds of a mapping, with the codes of their groups in the data.

    Parameters
    ----------
    owner, name : str
        The class and its parameter, for messages.
    given : mapping or None
        Group to value, or attribute to such a mapping.
    data : RankingData
        Data with the attributes.
    by : str, sequence of str or None
        The attribute; None for the only one, or the one that has the group.
    """
    found: list[GroupBound] = []
    for label, value in (given or {}).items():
        if isinstance(value, Mapping):
            attribute = data.attribute(label)
            pairs = [(label, attribute, inner, part) for inner, part in value.items()]
        else:
            key = by if by is not None else _only(owner, name, label, data)
            pairs = [(key, data.attribute(key), label, value)]
        for key, attribute, group, part in pairs:
            code = attribute.code(group, f"{name} of {owner}")
            found.append(GroupBound(key, code, attribute.categories[code], part))
    seen = [(str(bound.attribute), bound.code) for bound in found]
    for at, bound in enumerate(found):
        if seen.index(seen[at]) < at:
            raise DataError(
                f"{name} of {owner} must name each group once, got {bound.label!r} twice"
            )
    return found


def _only(owner: str, name: str, label: Any, data: RankingData) -> str:
    """Return the only attribute that has a group."""
    if len(data.sensitive) == 1:
        return next(iter(data.sensitive))
    having = [key for key, known in data.sensitive.items() if _has(known, label)]
    if len(having) == 1:
        return having[0]
    if having:
        raise DataError(
            f"{name} of {owner} must name the attribute of the group {label!r}, since "
            f"{' and '.join(having)} have it: write {{{having[0]!r}: {{{label!r}: ...}}}}"
        )
    groups = ", ".join(
        str(group) for known in data.sensitive.values() for group in known.categories
    )
    raise DataError(
        f"{name} of {owner} must be one of the groups {groups}, got {label!r}; name its attribute, "
        f"{{attribute: {{{label!r}: ...}}}}, for lists that lack it"
    )


def _has(attribute: Attribute, label: Any) -> bool:
    return any(str(known) == str(label) for known in attribute.categories)


def prefix_rows(value: Any, size: int, lower: bool) -> np.ndarray:
    """Return the counts that bound the first 1, 2, ..., ``size`` positions.

    A share p means ``floor(j p)`` as a lower and ``ceil(j p)`` as an upper bound. Prefixes longer
    than the given counts are not bounded.
    """
    if np.ndim(value) == 0:
        exact = np.arange(1, size + 1) * float(value)
        counts = np.floor(exact + ROUNDING) if lower else np.ceil(exact - ROUNDING)
        return counts.astype(np.int64)
    rows = np.full(size, 0 if lower else size + 1, dtype=np.int64)
    known = np.asarray(value, dtype=np.int64)[:size]
    rows[: len(known)] = known
    return rows


def position_counts(value: Any, k: np.ndarray, lower: bool) -> np.ndarray:
    """Return the number of ``k`` positions that a number or a share below 1 means."""
    if isinstance(value, Integral) or value >= 1:
        return np.full(len(k), int(value), dtype=np.int64)
    exact = k * float(value)
    counts = np.floor(exact + ROUNDING) if lower else np.ceil(exact - ROUNDING)
    return counts.astype(np.int64)


class Bounds(Protocol):
    """The guarantee of a re-ranker, from which its result derives ``holds`` and ``explain``.

    Prefix j of a list must hold at least ``lower(query, counts)[j - 1, g]`` and at most
    ``upper(query, counts)[j - 1, g]`` items of the group with code g; None is no bound. ``counts``
    are the counts of the prefixes (prefix x group): a bound may depend on other groups.

    Examples
    --------
    At least one item of the group with code 1 in the first two positions:

    >>> import numpy as np
    >>> from equirank.rerankers import Bounds
    >>> class OneInTwo(Bounds):
    ...     words = "the first two positions hold an item of group 1"
    ...
    ...     def lower(self, query, counts):
    ...         return np.array([[0, 0], [0, 1]])[: len(counts)]
    ...
    ...     def upper(self, query, counts):
    ...         return None
    ...
    ...     def holds(self, codes, offsets):
    ...         return np.array([1 in codes[at : at + 2] for at in offsets[:-1]])
    >>> OneInTwo().holds(np.array([0, 1, 0, 0, 0, 1]), np.array([0, 3, 6]))
    array([ True, False])
    """

    @property
    def words(self) -> str:
        """The guarantee in one sentence."""

    def lower(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Return the least counts of a list (prefix x group), or None."""

    def upper(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Return the largest counts of a list (prefix x group), or None."""

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether the guarantee holds, given the group at each position."""

    def binding(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether some order of its length would break the guarantee."""
        return np.ones(len(offsets) - 1, dtype=bool)


@dataclass(frozen=True, eq=False)
class StatedBounds:
    """Base of bounds that are stated in words; without more, no prefix is bounded.

    Attributes
    ----------
    words : str
        What is guaranteed, as part of a sentence.
    """

    words: str

    def lower(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Return the least counts of a list (prefix x group), or None."""
        return None

    def upper(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Return the largest counts of a list (prefix x group), or None."""
        return None

    def binding(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return True for each list: the guarantee says something about all."""
        return np.ones(len(offsets) - 1, dtype=bool)


@dataclass(frozen=True, eq=False)
class NoBounds(StatedBounds):
    """No guarantee about prefixes."""

    words: str = "no prefix is bound"

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return True for each list."""
        return np.ones(len(offsets) - 1, dtype=bool)


@dataclass(frozen=True, eq=False)
class KnownBounds:
    """Bounds on the list of people with a known label; the others keep their positions.

    Attributes
    ----------
    known : Bounds
        The bounds, whose prefixes count people with a known label only.
    """

    known: Bounds

    @property
    def words(self) -> str:
        """The guarantee in one sentence."""
        return f"{self.known.words}, of the people with a known label"

    def lower(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Return the least counts of a list (prefix x group), or None."""
        return self._spread(self.known.lower, query, counts, 0)

    def upper(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Return the largest counts of a list (prefix x group), or None."""
        return self._spread(self.known.upper, query, counts, len(counts) + 1)

    def _spread(
        self,
        table_of: Callable[[int, np.ndarray], np.ndarray | None],
        query: int,
        counts: np.ndarray,
        free: int,
    ) -> np.ndarray | None:
        """Return the row of each prefix by its number of people with a known label."""
        people = counts.sum(axis=1)
        table = table_of(query, counts[np.diff(people, prepend=0) > 0])
        if table is None:
            return None
        rows = np.concatenate([np.full((1, table.shape[1]), free, dtype=table.dtype), table])
        return rows[people[people <= len(table)]]

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether the bounds hold, given the group at each position."""
        return self.known.holds(*_known(codes, offsets))

    def binding(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether some order of its known people would break the bounds."""
        return self.known.binding(*_known(codes, offsets))


def _known(codes: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups of people with a known label, and where each list begins in them."""
    known = codes >= 0
    return codes[known], np.concatenate([[0], np.cumsum(known)])[offsets]


@dataclass(frozen=True, eq=False)
class TableBounds(StatedBounds):
    """Bounds in tables, which several lists may share.

    Attributes
    ----------
    least, most : ndarray of int or None
        The tables of all lists, concatenated (row x group).
    start : ndarray of int64
        First row of the table of each list.
    lengths : ndarray of int64
        Number of rows of the table of each list.

    Examples
    --------
    At least one item of group 1 in the first two positions of a list:

    >>> import numpy as np
    >>> from equirank.rerankers import TableBounds
    >>> least = np.array([[0, 0], [0, 1]])
    >>> bounds = TableBounds("one of group 1", least, None, np.array([0]), np.array([2]))
    >>> bounds.holds(np.array([0, 0, 1]), np.array([0, 3]))
    array([False])
    """

    least: np.ndarray | None
    most: np.ndarray | None
    start: np.ndarray
    lengths: np.ndarray

    def lower(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Return the least counts of a list (prefix x group), or None."""
        return None if self.least is None else self._rows(self.least, query, len(counts))

    def upper(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Return the largest counts of a list (prefix x group), or None."""
        return None if self.most is None else self._rows(self.most, query, len(counts))

    def _rows(self, table: np.ndarray, query: int, length: int) -> np.ndarray:
        begin = int(self.start[query])
        return table[begin : begin + min(length, int(self.lengths[query]))]

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether the bounds hold, given the group at each position."""
        from ..kernels.prefix_lists import tables_hold

        none = np.zeros((0, 0))
        # One type of each, so one compiled function.
        least, most = (
            np.ascontiguousarray(none if table is None else table, dtype=np.int64)
            for table in (self.least, self.most)
        )
        return tables_hold(codes, frozen(offsets), least, most, self.start, self.lengths)

    def binding(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether a prefix has a minimum above 0 or a maximum below it."""
        lengths = np.minimum(self.lengths, np.diff(offsets))
        found = np.zeros(len(lengths), dtype=bool)
        if self.least is not None:
            rows = np.concatenate([[0], np.cumsum((self.least > 0).any(axis=1))])
            found |= rows[self.start + lengths] > rows[self.start]
        if self.most is not None:
            for begin, size in set(zip(self.start.tolist(), lengths.tolist(), strict=True)):
                prefix = np.arange(1, size + 1)[:, None]
                if (self.most[begin : begin + size] < prefix).any():
                    found |= (self.start == begin) & (lengths == size)
        return found


@dataclass(frozen=True, eq=False)
class ShareBounds(StatedBounds):
    """Bounds by shares: prefix j holds ``floor(j p)`` to ``ceil(j p)`` items of a group.

    The lower bound is the guarantee; the upper bound limits which group may come next.
    """

    shares: np.ndarray

    def lower(self, query: int, counts: np.ndarray) -> np.ndarray:
        """Return ``floor(j p)`` (prefix x group)."""
        j = np.arange(1, len(counts) + 1)[:, None]
        return np.floor(j * self.shares[query] + ROUNDING).astype(np.int64)

    def upper(self, query: int, counts: np.ndarray) -> np.ndarray:
        """Return ``ceil(j p)`` (prefix x group)."""
        j = np.arange(1, len(counts) + 1)[:, None]
        return np.ceil(j * self.shares[query] - ROUNDING).astype(np.int64)

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether every prefix holds ``floor(j p)`` of every group."""
        from ..kernels.prefix_lists import shares_hold

        return shares_hold(codes, offsets, np.ascontiguousarray(self.shares, dtype=np.float64))

    def binding(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether the share of a group makes up one whole item."""
        least = np.floor(np.diff(offsets)[:, None] * self.shares + ROUNDING)
        return np.asarray((least > 0).any(axis=1))


@dataclass(frozen=True, eq=False)
class OverlappingBounds(StatedBounds):
    """Bounds on the groups of several attributes; an item belongs to one group of each.

    No crossed group is bounded by itself.

    Attributes
    ----------
    parts : dict of str to TableBounds
        The bounds of each attribute.
    members : dict of str to ndarray
        For each attribute, the group that each crossed group belongs to.
    """

    parts: dict[Any, TableBounds]
    members: dict[Any, np.ndarray]

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether all bounds hold, given the crossed groups in order."""
        kept = [part.holds(self.members[key][codes], offsets) for key, part in self.parts.items()]
        return np.logical_and.reduce(kept)

    def binding(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether the bounds of an attribute could be broken."""
        some = [part.binding(self.members[k][codes], offsets) for k, part in self.parts.items()]
        return np.logical_or.reduce(some)
