"""Re-rankers that fill every prefix by target shares: the four Det algorithms."""

import warnings
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.errors import EquirankWarning
from ..core.inputs import frozen
from ..core.label_probability import group_probability
from ..core.ranking import Ranking
from ..core.reranker import ORDER_TARGETS, Control
from .group_bounds import ShareBounds
from .guaranteed import SHARES, Guaranteed, Pool, first_missing, target_shares
from .reranking import Reranking
from .uncertain_groups import refuse_guesses

__all__ = ["DetCons", "DetConstSort", "DetGreedy", "DetRelaxed", "ShareReranker", "fill"]


#: What all do, in plain words.
NEAR_A_SHARE = "Near a share"


def fill(reranker: Any, pool: Pool, shares: np.ndarray, rule: str) -> np.ndarray:
    """Return the slots in their new order; warn if a share is missed that could be kept.

    ``rule`` is the name of a constant of `kernels.group_queues`: how a group is chosen.
    """
    from ..kernels import group_queues

    chosen, missed = group_queues.det_greedy(
        pool.codes, pool.offsets, pool.shown, pool.limit, frozen(shares),
        getattr(group_queues, rule),
    )  # fmt: skip
    late = np.flatnonzero(missed)
    if len(late):
        query = pool.ranking.data.qids[late[:1]].tolist()[0]
        more = f" (and in {len(late) - 1} more)" if len(late) > 1 else ""
        warnings.warn(
            f"{type(reranker).__name__} misses a share at position {int(missed[late[0]])} of query "
            f"{query!r}{more}, which can happen with 4 or more groups; DetConstSort keeps them all",
            EquirankWarning,
            5,
        )
    return chosen


class ShareReranker(Guaranteed):
    """Base of the re-rankers that fill prefixes by target shares.

    A subclass names the ``rule`` by which a group is chosen, or writes ``_chosen(pool, shares)``,
    which returns the slots in their new order.

    Parameters
    ----------
    proportions : mapping of group to share, optional
        Target shares of all groups, summing to 1; None takes the shares of each list.
    """

    positional = ("proportions", "k", "by", "on_infeasible")
    proportions: Annotated[Mapping[Any, float] | None, SHARES] = None

    test_params: ClassVar[Mapping[str, Any]] = {}
    unknown: ClassVar[Literal["refused", "fixed", "free"]] = "fixed"
    acts_on: ClassVar[frozenset[str]] = ORDER_TARGETS
    strength: ClassVar[str] = "proportions"
    controls: ClassVar[Mapping[str, Control]] = {
        "proportions": Control("Target share", 0.0, 1.0, 0.01)
    }
    two_sided: ClassVar[bool] = True
    no_guarantee: ClassVar[str] = "where no share of a group makes up one whole person"
    needs_text: ClassVar[str] = "groups; target shares, or those of the list"
    #: How a group is chosen among those below their upper bound, unless `_chosen` is defined.
    rule: ClassVar[str] = ""

    def _rerank(self, ranking: Ranking) -> Reranking:
        self._refuse_guesses(ranking)
        pool = self._pool(ranking)
        shares = target_shares(type(self).__name__, self.proportions, pool)
        self._report(
            pool,
            first_missing(pool, shares),
            lambda query, prefix, group: int(np.floor(prefix * shares[query, group] + 1e-9)),
            "lower its share (proportions), choose a smaller k",
        )
        chosen = self._chosen(pool, shares)
        words = "prefix j holds at least floor(j p) of every group"
        return Reranking.from_order(
            ranking,
            *pool.placed(chosen),
            bounds=pool.bounds(ShareBounds(words, shares)),
            reranker=self,
        )

    def _refuse_guesses(self, ranking: Ranking) -> None:
        """Raise if groups are known as probabilities only."""
        groups = ranking.data.attribute(self.by)
        if not groups.guessed and groups.error is None:
            return
        shares = self.proportions
        if shares is None:
            top, data = np.zeros(ranking.data.n_rows), ranking.data
            found = group_probability(data, self.by, type(self).__name__, top, impute=True).table
            shares = dict(zip(groups.categories, found.mean(axis=0).tolist(), strict=True))
        refuse_guesses(type(self).__name__, shares, "it has one queue of people per group")

    def _chosen(self, pool: Pool, shares: np.ndarray) -> np.ndarray:
        if not self.rule:
            raise TypeError(
                f"{type(self).__name__} must define _chosen or rule; ShareReranker is abstract"
            )
        return fill(self, pool, shares, self.rule)


class DetCons(ShareReranker):
    """Fill each position from a group below its share, else from the group that is due first.

    Position j goes to the best item of the groups with fewer than ``floor(j p)`` items. If there is
    none, it goes to the group with the smallest ``ceil(j p) / p`` among those with fewer than
    ``ceil(j p)``, in a tie to the best item; if groups are exhausted, to the best remaining item.
    This is the earliest-deadline rule, so every prefix holds at least ``floor(j p)`` of every
    group, for any number of groups.

    The order within groups is kept, ties are taken in input order, and only the order of scores is
    used. Rows that were not shown stay so. A list has no share of a group that it lacks. People
    with an unknown label keep their positions; shares and prefixes are those of all others.

    References
    ----------
    Geyik, Ambler and Kenthapadi, Fairness-aware ranking in search and recommendation systems with
    application to LinkedIn talent search, KDD 2019, algorithm 2.

    Examples
    --------
    >>> from equirank.rerankers import DetCons
    >>> shares = {"m": 0.75, "f": 0.25}
    >>> result = DetCons(shares, k=4).rerank([5, 4, 3, 2, 1], sensitive_features=list("mmmff"))
    >>> result.order()
    array([0, 1, 2, 3])
    """

    plain_name: ClassVar[str] = f"{NEAR_A_SHARE}, most pressing group first"
    guarantee: ClassVar[str] = "prefix j holds at least floor(j p) of every group, any number"
    cost: ClassVar[str] = "more score than DetRelaxed: it looks at deadlines before scores"

    rule: ClassVar[str] = "CONSERVATIVE"


class DetConstSort(ShareReranker):
    """Add items when the minimum of their group rises, then sort by score within the deadlines.

    For j = 1, 2, ... the groups whose ``floor(j p)`` rises add their next item to the end of the
    list, the best first, with j as its deadline. Each item moves up past worse items as long as
    those still meet their deadlines. Every prefix then holds at least ``floor(j p)`` of every
    group, for any number of groups. An item may move to position j only if its deadline is at least
    j; with positions from 0 the published condition is late by one and breaks the guarantee.

    Groups without a share come last; otherwise details are those of `DetCons`.

    References
    ----------
    As `DetCons`, algorithm 3.

    Examples
    --------
    >>> from equirank.rerankers import DetConstSort
    >>> result = DetConstSort().rerank([6, 5, 4, 3, 2, 1], sensitive_features=list("mmmfff"))
    >>> result.order()
    array([0, 3, 1, 4, 2, 5])
    """

    plain_name: ClassVar[str] = f"{NEAR_A_SHARE}, by sorting"
    guarantee: ClassVar[str] = "prefix j holds at least floor(j p) of every group, any number"
    cost: ClassVar[str] = "more score than DetGreedy in small prefixes; never misses a share"

    def _chosen(self, pool: Pool, shares: np.ndarray) -> np.ndarray:
        from ..kernels.group_queues import det_const_sort

        return det_const_sort(pool.codes, pool.offsets, pool.shown, pool.limit, frozen(shares))


class DetGreedy(ShareReranker):
    """Fill each position with the best item of the groups below their share.

    Position j goes to the best item of the groups with fewer than ``floor(j p)`` items. If there is
    none, it goes to the best item of those with fewer than ``ceil(j p)``; if groups are exhausted,
    to the best remaining item. Every prefix then holds at least ``floor(j p)`` of every group for
    up to three groups. With four or more it may miss one; a warning and ``holds`` report that
    (`DetConstSort` never misses one). Details are those of `DetCons`.

    References
    ----------
    As `DetCons`, algorithm 1.

    Examples
    --------
    >>> from equirank.rerankers import DetGreedy
    >>> DetGreedy().rerank([4, 3, 2, 1], sensitive_features=list("mmff")).order()
    array([0, 2, 1, 3])
    """

    plain_name: ClassVar[str] = NEAR_A_SHARE
    guarantee: ClassVar[str] = "prefix j holds at least floor(j p) of every group, up to 3 groups"
    cost: ClassVar[str] = "least score among the four; may fail with 4 or more groups"

    rule: ClassVar[str] = "GREEDY"


class DetRelaxed(ShareReranker):
    """Fill each position from a group below its share, else from the groups that are due first.

    Position j goes to the best item of the groups with fewer than ``floor(j p)`` items. If there is
    none, it goes to the best item of the groups with the smallest ``ceil(ceil(j p) / p)`` among
    those with fewer than ``ceil(j p)``; if groups are exhausted, to the best remaining item. This
    is the earliest-deadline rule with positions as deadlines, so every prefix holds at least
    ``floor(j p)`` of every group, for any number of groups. Details are those of `DetCons`.

    References
    ----------
    As `DetCons`, algorithm 2.

    Examples
    --------
    >>> from equirank.rerankers import DetRelaxed
    >>> shares = {"m": 0.6, "f": 0.4}
    >>> result = DetRelaxed(shares, k=4).rerank([5, 4, 3, 2, 1], sensitive_features=list("mmmff"))
    >>> result.order()
    array([0, 3, 1, 2])
    """

    plain_name: ClassVar[str] = f"{NEAR_A_SHARE}, relaxed"
    guarantee: ClassVar[str] = "prefix j holds at least floor(j p) of every group, any number"
    cost: ClassVar[str] = "between DetGreedy and DetCons in score; never misses a share"

    rule: ClassVar[str] = "RELAXED"
