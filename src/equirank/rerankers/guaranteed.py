"""Guaranteed: the base of re-rankers with a guarantee about groups, and their shared steps."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ..core.attribute import Attribute
from ..core.errors import DataError, EquirankWarning, InfeasibleError, outer_stacklevel
from ..core.inputs import frozen
from ..core.label_probability import GroupProbability, depth_by_value, group_probability
from ..core.params import Check, Choice, Integer, Label, Number, Optional
from ..core.random import RandomState
from ..core.ranking import Ranking
from ..core.reranker import ORDER_TARGETS, Reranker
from .group_bounds import Bounds, KnownBounds

__all__ = [
    "HELD",
    "LABELS",
    "OPEN_SHARES",
    "SHARES",
    "DrawnReranker",
    "Guaranteed",
    "ListedReranker",
    "Missed",
    "Pool",
    "candidates",
    "first_missing",
    "group_values",
    "guess_groups",
    "protected_shares",
    "target_shares",
    "warn_of_guesses",
]


@dataclass(frozen=True, eq=False)
class Pool:
    """The items of every list, best first, with their groups.

    A slot is an index into ``order``.

    Attributes
    ----------
    ranking : Ranking
        The ranking before, from which all items come.
    order : ndarray
        Stored rows, best first, list after list; rows that are not shown come last in their list.
    offsets : ndarray
        Where each list begins in ``order``.
    shown : ndarray
        Number of candidates of each list: the items that the ranking shows.
    limit : ndarray
        Number of positions to fill in each list: the candidates, at most the cutoff.
    groups : Attribute
        The sensitive attribute.
    codes : ndarray
        The group of each element of ``order``; of people with an unknown label the number of
        groups, if ``free``.
    free : bool
        Whether a last class, behind the groups, has the people with an unknown label.
    fixed : ndarray or None
        The stored row that keeps each position to fill, -1 where the pool fills it; None if the
        pool fills all.
    fixed_offsets : ndarray or None
        Where each list begins in ``fixed``.
    """

    ranking: Ranking
    order: np.ndarray
    offsets: np.ndarray
    shown: np.ndarray
    limit: np.ndarray
    groups: Attribute
    codes: np.ndarray
    free: bool = False
    fixed: np.ndarray | None = None
    fixed_offsets: np.ndarray | None = None

    @property
    def n_groups(self) -> int:
        """Number of groups, and of the class of people with an unknown label."""
        return len(self.groups.categories) + self.free

    @property
    def labels(self) -> tuple[Any, ...]:
        """The groups, for messages, and the class of people with an unknown label."""
        return (*self.groups.categories, *(["(unknown)"] if self.free else []))

    @cached_property
    def sizes(self) -> np.ndarray:
        """Items of each group in each list (query x group), including rows that are not shown."""
        n_queries = len(self.offsets) - 1
        cell = np.repeat(np.arange(n_queries) * self.n_groups, np.diff(self.offsets))
        flat = np.bincount(cell + self.codes, minlength=n_queries * self.n_groups)
        return flat.reshape(n_queries, self.n_groups)

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of each group among those with a known label, by list (query x group)."""
        known = self.sizes[:, : len(self.groups.categories)].sum(axis=1, keepdims=True)
        return self.sizes / np.maximum(known, 1)

    @cached_property
    def present(self) -> np.ndarray:
        """Whether each list has a candidate of each group: one that it lacks is not bounded."""
        return candidates(self)[:, : len(self.groups.categories)] > 0

    @cached_property
    def alone(self) -> np.ndarray:
        """Whether all candidates of a list are known to be of one group: nothing is bounded."""
        some = candidates(self) > 0
        return np.asarray((some.sum(axis=1) == 1) & (self.present.sum(axis=1) == 1))

    @cached_property
    def out_offsets(self) -> np.ndarray:
        """Where each list begins in the result."""
        return np.concatenate([[0], np.cumsum(self.limit)])

    def placed(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the stored rows of all positions from the slots of the pool, and their offsets."""
        if self.fixed is None or self.fixed_offsets is None:
            return self.order[slots], self.out_offsets
        rows = self.fixed.copy()
        rows[rows < 0] = self.order[slots]
        return rows, self.fixed_offsets

    def bounds(self, bounds: Bounds) -> Bounds:
        """Return bounds on the pool as bounds on its lists."""
        return bounds if self.fixed is None else KnownBounds(bounds)


#: Prefix of a list in which nothing is missed.
HELD = -1


@dataclass(frozen=True, eq=False)
class Missed:
    """Where a guarantee cannot hold: per query the first prefix and its group.

    A prefix of `HELD` says that the guarantee holds; 0 says that the list has no position to fill.
    """

    prefix: np.ndarray
    group: np.ndarray


class ListedReranker(Reranker):
    """Base of the re-rankers that ``equirank rerank --list`` lists; see `Guaranteed`.

    Parameters
    ----------
    k : int, optional
        Cutoff; rows behind it are not shown. None ranks whole lists, and shorter lists are ranked
        whole.
    on_infeasible : {"error", "best"}
        What to do if the guarantee cannot hold in a list: raise an error that names the list and
        the prefix, or return the closest ranking with a warning.
    """

    k: Annotated[int | None, Optional(Integer(1))] = None
    on_infeasible: Annotated[Literal["error", "best"], Choice("error", "best")] = "error"

    guarantee: ClassVar[str] = ""
    needs_text: ClassVar[str] = ""
    cost: ClassVar[str] = ""
    keeps_order: ClassVar[bool] = True
    reads_order: ClassVar[bool] = True

    #: Positions to fill in each list, instead of k.
    _limits: ClassVar[np.ndarray | None] = None

    def with_limits(self, limits: np.ndarray) -> Self:
        """Return a copy that fills a number of positions of its own in each list, instead of k.

        Parameters
        ----------
        limits : ndarray of int
            The number of positions of each list; shorter lists are filled.
        """
        made = type(self)(**self.get_params(deep=False))
        made.__dict__["_limits"] = np.asarray(limits)
        return made

    def _limit(self, shown: np.ndarray) -> np.ndarray:
        """Return the number of positions to fill in each list."""
        limit = self.k if self._limits is None else self._limits
        return shown if limit is None else np.minimum(shown, limit)


class DrawnReranker(ListedReranker):
    """Base of the re-rankers that draw rankings at random and use no groups.

    Parameters
    ----------
    n_draws : int
        Number of rankings drawn; with several, ``moves`` and ``price`` are means over them.
    on_infeasible : {"error", "best"}
        As in the other re-rankers; here every list is feasible.
    """

    n_draws: Annotated[int, Integer(1)] = 1
    random_state: RandomState = None

    acts_on: ClassVar[frozenset[str]] = ORDER_TARGETS
    random: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False
    reads_order: ClassVar[bool] = False

    def _shown_and_limit(self, ranking: Ranking) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of items shown before and of positions to fill, list by list."""
        slots = ranking.slots()
        shown = np.asarray(slots.sizes if slots.shown is None else slots.shown, dtype=np.int64)
        return shown, np.asarray(self._limit(shown), dtype=np.int64)


class Guaranteed(ListedReranker):
    """Base of the re-rankers with a guarantee about groups.

    A subclass writes ``_rerank(ranking)``. ``self._pool(ranking)`` returns the candidates of every
    list best first, with their groups; ``self._report`` raises or warns if the guarantee cannot
    hold. The result is a `Reranking` with the `Bounds` that it guarantees.

    Parameters
    ----------
    by : str or sequence of str, optional
        The sensitive attribute, if there are several; several names are crossed.

    Attributes
    ----------
    guarantee, needs_text, cost : str
        What the re-ranker guarantees, needs and costs, in a few words each.
    keeps_order : bool
        Whether the order within every group is kept.
    reads_order : bool
        Whether only the order of the items is used, not their scores.
    unknown : {"refused", "fixed", "free"}
        Treatment of people with an unknown label: an error; they keep their positions, and the
        guarantee is about the list of all others; or they are ranked without a bound of their own.

    Examples
    --------
    A re-ranker that moves the best item of a group to the first position:

    >>> import numpy as np
    >>> from equirank.rerankers import Guaranteed, Reranking, TableBounds
    >>> class FirstOf(Guaranteed):
    ...     group: str = "f"
    ...     guarantee = "the first position goes to the group"
    ...
    ...     def _rerank(self, ranking):
    ...         pool = self._pool(ranking)
    ...         code = pool.groups.code(self.group)
    ...         order = []
    ...         for begin, size in zip(pool.offsets, pool.limit):
    ...             slots = np.arange(begin, begin + size)
    ...             best = slots[pool.codes[slots] == code][:1]
    ...             order += [*best, *np.setdiff1d(slots, best)]
    ...         least = np.zeros((1, pool.n_groups), dtype=np.int64)
    ...         least[0, code] = 1
    ...         start = np.zeros(len(pool.limit), dtype=np.int64)
    ...         bounds = TableBounds(self.guarantee, least, None, start, start + 1)
    ...         return Reranking.from_order(
    ...             ranking, pool.order[order], pool.out_offsets, bounds=bounds, reranker=self
    ...         )
    >>> result = FirstOf(group="f").rerank([4, 3, 2], sensitive_features=list("mmf"))
    >>> result.order(), result.holds
    (array([2, 0, 1]), True)
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})

    unknown: ClassVar[Literal["refused", "fixed", "free"]] = "refused"

    by: Annotated[Any, Optional(Label(many=True))] = None

    def _pool(self, ranking: Ranking, by: Any = None) -> Pool:
        """Return the candidates of a ranking best first, ties in input order.

        The groups are those of ``by``, else those of the parameter ``by``.
        """
        key = self.by if by is None else by
        self._check_guesses(ranking, key)
        if self.unknown == "refused":
            ranking.data.known_attribute(key, type(self).__name__)
        pool = self._all_candidates(ranking, key)
        groups = pool.groups
        if not groups.n_unknown:
            return pool
        if self.unknown == "fixed":
            return _with_fixed(pool)
        codes = np.where(pool.codes < 0, len(groups.categories), pool.codes)
        return replace(pool, codes=codes.astype(pool.codes.dtype), free=True)

    def _all_candidates(self, ranking: Ranking, by: Any) -> Pool:
        """Return the candidates of a ranking best first, with code -1 for an unknown label."""
        slots, groups = ranking.slots(), ranking.data.attribute(by)
        shown = slots.sizes if slots.shown is None else slots.shown
        limit = self._limit(shown)
        codes = groups.codes[slots.order]
        # Frozen offsets, also of lists that hide nothing: one type, so one compiled function.
        return Pool(ranking, slots.order, frozen(slots.offsets), shown, limit, groups, codes)

    def _check_guesses(self, ranking: Ranking, by: Any) -> None:
        """Warn if probabilities or errors of labels are known, which known labels replace."""
        warn_of_guesses(self, ranking.data.attribute(by))

    def _report(self, pool: Pool, missed: Missed, needed: Any, advice: str) -> None:
        """Raise or warn, depending on ``on_infeasible``, if the guarantee cannot hold in a list.

        Parameters
        ----------
        pool : Pool
            The candidates.
        missed : Missed
            Where the guarantee fails.
        needed : callable
            Returns the count that a group needs: ``needed(query, prefix, group)``.
        advice : str
            What the caller can do, apart from ``on_infeasible``.
        """
        failed = np.flatnonzero(missed.prefix != HELD)
        if len(failed) == 0:
            return
        at = int(failed[0])
        prefix, group = int(missed.prefix[at]), int(missed.group[at])
        label = pool.groups.categories[group]
        query = pool.ranking.data.qids[at : at + 1].tolist()[0]
        there = pool.codes[pool.offsets[at] : pool.offsets[at] + pool.shown[at]] == group
        top = f"the first {prefix} positions need" if prefix > 1 else "the first position needs"
        message = (
            f"{type(self).__name__} cannot keep its guarantee in query {query!r}: "
            f"{top if prefix else 'it needs'} {needed(at, prefix, group)} of group {label!r}, and "
            f"the list has {int(there.sum())}"
        )
        if self.on_infeasible == "error":
            raise InfeasibleError(
                f"{message}; {advice}, or pass on_infeasible='best' for the closest ranking"
            )
        more = f" (and in {len(failed) - 1} more queries)" if len(failed) > 1 else ""
        warnings.warn(f"{message}{more}; the closest ranking is returned", EquirankWarning, 4)


def warn_of_guesses(reranker: Reranker, groups: Attribute) -> None:
    """Warn that a re-ranker takes labels as they are, if probabilities or errors are known."""
    if not groups.guessed and groups.error is None:
        return
    takes = "takes recorded labels as true" if groups.error else "uses known labels only"
    what = "errors of recording" if groups.error else "probabilities"
    can = "; its parameter labels can use them" if "labels" in reranker.params else ""
    warnings.warn(
        f"{type(reranker).__name__} {takes} and leaves the {what} of the data aside{can}",
        EquirankWarning,
        stacklevel=outer_stacklevel(),
    )


def guess_groups(ranking: Ranking, by: Any, owner: str) -> GroupProbability:
    """Return the probabilities of the groups of ranked rows; positions choose the tenth."""
    data = ranking.data
    if not data.attribute(by).categories:
        raise DataError(
            f"{owner} needs a label or probabilities of the groups of every row, and no row has "
            "either; leave these rows out"
        )
    if ranking.n_draws > 1:
        mean = -ranking.position.mean(axis=1)
        return group_probability(data, by, owner, depth_by_value(mean, data.offsets))
    slots, depth = ranking.slots(), np.empty(data.n_rows)
    depth[slots.order] = (slots.position - 0.5) / np.repeat(slots.sizes, slots.sizes)
    return group_probability(data, by, owner, depth)


def _with_fixed(pool: Pool) -> Pool:
    """Return the pool of people with a known label; the others keep their positions."""
    known, begin = pool.codes >= 0, pool.offsets[:-1]
    before = np.concatenate([[0], np.cumsum(known)])
    sizes = np.diff(pool.offsets)
    head = np.arange(len(known)) - np.repeat(begin, sizes) < np.repeat(pool.limit, sizes)
    return replace(
        pool,
        order=pool.order[known],
        offsets=frozen(before[pool.offsets]),
        shown=before[begin + pool.shown] - before[begin],
        limit=before[begin + pool.limit] - before[begin],
        codes=pool.codes[known],
        fixed=np.where(known, -1, pool.order)[head],
        fixed_offsets=pool.out_offsets,
    )


def _are_shares(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, Mapping) or not all(Label().accepts(label) for label in value):
        return False
    known = all(Number(0.0, 1.0).accepts(share) for share in value.values())
    return known and abs(float(sum(value.values())) - 1.0) < 1e-9


#: Target shares of all groups, or None.
SHARES = Check(
    _are_shares,
    "a mapping of every group to its share, summing to 1, or None for the pool's shares",
)


def group_values(owner: str, name: str, given: Mapping[Any, Any], pool: Pool) -> dict[int, Any]:
    """Return the values of a mapping by the code of their group; an unknown group is an error."""
    found: dict[int, Any] = {}
    for label, value in given.items():
        code = pool.groups.code(label, f"{name} of {owner}")
        if code in found:
            raise DataError(f"{name} of {owner} must name each group once, got {label!r} twice")
        found[code] = value
    return found


def target_shares(owner: str, proportions: Mapping[Any, float] | None, pool: Pool) -> np.ndarray:
    """Return the target share of each group in each list (query x group), 0 where it lacks one."""
    if proportions is None:
        return pool.shares * (candidates(pool) > 0)
    found = group_values(owner, "proportions", proportions, pool)
    for code, label in enumerate(pool.groups.categories):
        if code not in found:
            raise DataError(
                f"proportions of {owner} must name every group, and {label!r} is missing "
                "(a share of 0 is allowed)"
            )
    shares = np.zeros(pool.n_groups)
    for code, share in found.items():
        shares[code] = float(share)
    return shares * (candidates(pool) > 0)


def first_missing(pool: Pool, shares: np.ndarray) -> Missed:
    """Find the first prefix j that needs more of a group, ``floor(j p)``, than the list has."""
    from ..kernels.prefix_lists import ROUNDING

    there = candidates(pool)
    if there.shape[1] == 0:
        return Missed(np.full(len(there), HELD), np.zeros(len(there), dtype=np.int64))
    prefix = np.full(there.shape, np.iinfo(np.int64).max)
    short = np.floor(pool.limit[:, None] * shares + ROUNDING) > there
    wanted = np.ceil((there[short] + 1 - ROUNDING) / shares[short]).astype(np.int64)
    prefix[short] = wanted
    group = np.argmin(prefix, axis=1)
    first = prefix[np.arange(len(prefix)), group]
    return Missed(np.where(short.any(axis=1), first, HELD), group)


def candidates(pool: Pool) -> np.ndarray:
    """Return the number of candidates of each group in each list (query x group)."""
    if (pool.shown == np.diff(pool.offsets)).all():
        return pool.sizes
    n_queries = len(pool.shown)
    query = np.repeat(np.arange(n_queries), np.diff(pool.offsets))
    rank = np.arange(len(query)) - pool.offsets[:-1][query]
    cell = (query * pool.n_groups + pool.codes)[rank < pool.shown[query]]
    flat = np.bincount(cell, minlength=n_queries * pool.n_groups)
    return flat.reshape(n_queries, pool.n_groups)


def _are_labels(value: Any) -> bool:
    names = value if isinstance(value, (tuple, list)) else [value]
    return len(names) > 0 and all(Label().accepts(name) for name in names)


#: One group or several.
LABELS = Check(_are_labels, "a group's name or a list of names")


def _are_open_shares(value: Any) -> bool:
    if not isinstance(value, Mapping) or not value:
        return False
    inside = Number(0, 1, open_low=True, open_high=True)
    good = all(Label().accepts(name) for name in value)
    good = good and all(inside.accepts(share) for share in value.values())
    return good and sum(float(share) for share in value.values()) < 1.0 + 1e-9


#: Probabilities of groups.
OPEN_SHARES = Check(
    _are_open_shares, "a mapping of groups to numbers in (0, 1) that sum to at most 1"
)


def protected_shares(reranker: Any, pool: Pool) -> tuple[list[int], np.ndarray]:
    """Return the codes of the protected groups and their probabilities (query x group).

    The probability is 0 where a list has nobody of the group.
    """
    name, p, named = type(reranker).__name__, reranker.p, reranker.protected
    given = group_values(name, "p", p, pool) if isinstance(p, Mapping) else None
    if named is not None:
        labels = named if isinstance(named, (tuple, list)) else [named]
        codes = [pool.groups.code(label, f"protected of {name}") for label in labels]
        if len(set(codes)) < len(codes):
            raise DataError(f"protected of {name} must name each group once, got {named!r}")
    elif given is not None:
        codes = _without_largest(given, pool)
    else:
        codes = _all_but_largest(pool)
    if given is not None:
        return codes, _given_shares(name, given, codes, pool)
    if p is None:
        return codes, pool.shares[:, codes] * pool.present[:, codes]
    if len(codes) > 1:
        raise DataError(
            f"p of {name} must be a mapping of the protected groups to probabilities, since there "
            f"are {len(codes)} of them ({_names(pool, codes)}), or protected must name one; got {p}"
        )
    return codes, float(p) * pool.present[:, codes]


def _given_shares(name: str, given: dict[int, float], codes: list[int], pool: Pool) -> np.ndarray:
    missing = [code for code in codes if code not in given]
    if missing:
        raise DataError(
            f"p of {name} must name every protected group, and {_names(pool, missing)} is missing"
        )
    shares = np.array([float(given[code]) for code in codes])
    if len(codes) > 1 and shares.sum() >= 1.0 - 1e-9:
        raise DataError(
            f"p of {name} must sum to less than 1 over the protected groups, and those of "
            f"{_names(pool, codes)} sum to 1: leave one out, or name the protected groups in "
            "protected"
        )
    return shares * pool.present[:, codes]


def _without_largest(given: dict[int, float], pool: Pool) -> list[int]:
    """Return the named groups; if all groups are named, all but the one with the largest share."""
    codes = list(given)
    whole = sum(float(share) for share in given.values()) >= 1.0 - 1e-9
    if whole and len(codes) == pool.n_groups and len(codes) > 1:
        codes.remove(max(codes, key=lambda code: given[code]))
    return codes


def _all_but_largest(pool: Pool) -> list[int]:
    """Return all groups that occur except the largest, in a tie the one ranked higher."""
    sizes = pool.sizes[:, : len(pool.groups.categories)].sum(axis=0)
    there = np.flatnonzero(sizes).tolist()
    if len(there) < 2:
        return there
    rank = np.arange(len(pool.codes)) - np.repeat(pool.offsets[:-1], np.diff(pool.offsets))
    depth = np.bincount(pool.codes, weights=rank, minlength=pool.n_groups)
    depth = depth[: len(sizes)] / np.maximum(sizes, 1)
    largest = max(there, key=lambda code: (sizes[code], -depth[code]))
    return [code for code in there if code != largest]


def _names(pool: Pool, codes: list[int]) -> str:
    return ", ".join(repr(pool.groups.categories[code]) for code in codes)
