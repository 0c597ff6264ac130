"""What re-rankers with a guarantee share: the pool they choose from, and what to do if it fails."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..core.data import Attribute
from ..core.errors import DataError, EquirankWarning, InfeasibleError
from ..core.params import Choice, Constraint, Integer, Label, Optional
from ..core.ranking import Ranking
from ..core.reranker import Reranker

__all__ = ["COMMON", "Guaranteed", "Missed", "Pool"]

#: Parameters that most re-rankers with a guarantee have.
COMMON: dict[str, Constraint] = {
    "k": Optional(Integer(1)),
    "by": Optional(Label(many=True)),
    "on_infeasible": Choice("error", "best"),
}


@dataclass(frozen=True, eq=False)
class Pool:
    """The items of every list, best first, with their groups.

    Attributes
    ----------
    ranking : Ranking
        Where they come from.
    order : ndarray
        Stored rows, best first, list after list; rows not shown stand last in their list.
    offsets : ndarray
        Where each list begins in ``order``.
    shown : ndarray
        How many items of each list are candidates: those the ranking shows.
    limit : ndarray
        How many places each list has to fill: the candidates, or the cutoff.
    groups : Attribute
        The attribute that is looked at.
    codes : ndarray
        The group of each slot.
    """

    ranking: Ranking
    order: np.ndarray
    offsets: np.ndarray
    shown: np.ndarray
    limit: np.ndarray
    groups: Attribute
    codes: np.ndarray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups.categories)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Items of each group in each list (query x group), rows not shown among them."""
        n_queries = len(self.offsets) - 1
        cell = np.repeat(np.arange(n_queries) * self.n_groups, np.diff(self.offsets))
        flat = np.bincount(cell + self.codes, minlength=n_queries * self.n_groups)
        return flat.reshape(n_queries, self.n_groups)

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of each group in each list (query x group)."""
        return self.sizes / np.diff(self.offsets)[:, None]

    @cached_property
    def out_offsets(self) -> np.ndarray:
        """Where each list begins in the result."""
        return np.concatenate([[0], np.cumsum(self.limit)])


@dataclass(frozen=True, eq=False)
class Missed:
    """Where a guarantee could not be kept: per query the first prefix (0: none) and its group."""

    prefix: np.ndarray
    group: np.ndarray


class Guaranteed(Reranker):
    """Base of the re-rankers with a stated guarantee.

    Attributes
    ----------
    guarantee, needs_text, cost : str
        What it guarantees, what it needs and what it costs, for the chooser of methods.
    keeps_order : bool
        Whether the order inside every group stays.
    reads_order : bool
        Whether it reads the order of the items only, not the scores behind it.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    guarantee: ClassVar[str] = ""
    needs_text: ClassVar[str] = ""
    cost: ClassVar[str] = ""
    keeps_order: ClassVar[bool] = True
    reads_order: ClassVar[bool] = True

    def _pool(self, ranking: Ranking) -> Pool:
        """Read a ranking: candidates best first, ties in the caller's order."""
        slots = ranking.slots()
        groups = ranking.data.attribute(getattr(self, "by", None))
        shown = slots.sizes if slots.shown is None else slots.shown
        return Pool(
            ranking,
            slots.order,
            slots.offsets,
            shown,
            self._limit(ranking, shown),
            groups,
            groups.codes[slots.order],
        )

    def _limit(self, ranking: Ranking, shown: np.ndarray) -> np.ndarray:
        k = getattr(self, "k", None)
        if k is None:
            return shown
        short = np.flatnonzero(shown < k)
        if len(short) and getattr(self, "on_infeasible", "error") == "error":
            query = ranking.data.qids[short[:1]].tolist()[0]
            raise DataError(
                f"k of {type(self).__name__} must be at most the length of every list, got {k}, "
                f"and query {query!r} has {int(shown[short[0]])} items to rank: take a smaller k, "
                "leave it out to rank whole lists, or say on_infeasible='best'"
            )
        return np.minimum(shown, k)

    def _report(self, pool: Pool, missed: Missed, needed: Any, advice: str) -> None:
        """Raise for a guarantee that cannot be kept, or warn, as ``on_infeasible`` says.

        Parameters
        ----------
        pool : Pool
            What was chosen from.
        missed : Missed
            Where it failed.
        needed : callable
            Gives the count a group needs: ``needed(query, prefix, group)``.
        advice : str
            What the caller can do, beside ``on_infeasible``.
        """
        failed = np.flatnonzero(missed.prefix)
        if len(failed) == 0:
            return
        at = int(failed[0])
        prefix, group = int(missed.prefix[at]), int(missed.group[at])
        label = pool.groups.categories[group]
        query = pool.ranking.data.qids[at : at + 1].tolist()[0]
        there = pool.codes[pool.offsets[at] : pool.offsets[at] + pool.shown[at]] == group
        places = f"first {prefix} places" if prefix > 1 else "first place"
        message = (
            f"{type(self).__name__} cannot keep its guarantee in query {query!r}: the {places} "
            f"need {needed(at, prefix, group)} of group {label!r}, and the list has "
            f"{int(there.sum())}"
        )
        if getattr(self, "on_infeasible", "error") == "error":
            raise InfeasibleError(
                f"{message}; {advice}, or say on_infeasible='best' for the closest ranking"
            )
        more = f" (and in {len(failed) - 1} more queries)" if len(failed) > 1 else ""
        warnings.warn(f"{message}{more}; the closest ranking is given", EquirankWarning, 4)
