"""DetCons: the group whose ceiling comes due first, unless a group would fall below its share."""

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..core.errors import EquirankWarning
from ..core.params import Constraint
from ..core.ranking import Ranking
from .group_bounds import ShareBounds
from .guaranteed import COMMON, Guaranteed, Pool, Shares, first_missing, target_shares
from .reranking import Reranking

__all__ = ["DetCons", "DetConstSort", "DetGreedy", "DetRelaxed", "ShareReranker", "fill"]


def fill(reranker: Any, pool: Pool, shares: np.ndarray, mode: int) -> np.ndarray:
    """Return the slots in their new order; warn where a floor was missed that could be kept."""
    from ..kernels.group_queues import det_greedy

    chosen, missed = det_greedy(pool.codes, pool.offsets, pool.shown, pool.limit, shares, mode)
    late = np.flatnonzero(missed)
    if len(late):
        query = pool.ranking.data.qids[late[:1]].tolist()[0]
        more = f" (and in {len(late) - 1} more)" if len(late) > 1 else ""
        warnings.warn(
            f"{type(reranker).__name__} misses a share at place {int(missed[late[0]])} of query "
            f"{query!r}{more}: with 4 or more groups its rule can; DetConstSort keeps them all",
            EquirankWarning,
            5,
        )
    return chosen


class ShareReranker(Guaranteed):
    """Base of the re-rankers that fill prefixes by target shares.

    A subclass writes ``_chosen(pool, shares)``: the slots in their new order.
    """

    params: ClassVar[Mapping[str, Constraint]] = {"proportions": Shares(), **COMMON}
    test_params: ClassVar[Mapping[str, Any]] = {}
    needs_text: ClassVar[str] = "groups; target shares, or the pool's"

    def __init__(
        self,
        proportions: Mapping[Any, float] | None = None,
        k: int | None = None,
        by: Any = None,
        on_infeasible: str = "error",
    ) -> None:
        self.proportions = proportions
        self.k = k
        self.by = by
        self.on_infeasible = on_infeasible

    def _rerank(self, ranking: Ranking) -> Reranking:
        pool = self._pool(ranking)
        shares = target_shares(type(self).__name__, self.proportions, pool)
        self._report(
            pool,
            first_missing(pool, shares),
            lambda query, prefix, group: int(np.floor(prefix * shares[query, group] + 1e-9)),
            "lower its share, take a smaller k",
        )
        chosen = self._chosen(pool, shares)
        words = "prefix j holds at least floor(j p) of every group"
        return Reranking.from_order(
            ranking,
            pool.order[chosen],
            pool.out_offsets,
            bounds=ShareBounds(words, shares),
            reranker=self,
        )

    def _chosen(self, pool: Pool, shares: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define _chosen; ShareReranker is abstract")


class DetCons(ShareReranker):
    """Fill each place for the group that falls short of its share, else for the one due first.

    Place j goes to the best item of the groups with fewer than ``floor(j p)`` places; where there
    is none, to the group with the smallest ``ceil(j p) / p`` among those with fewer than ``ceil(j
    p)``, of equal ones to the best item; where there is none (groups have run out), to the best
    item that is left. That is the rule of the earliest deadline, so every prefix holds at least
    ``floor(j p)`` of every group, for any number of groups. The order inside groups stays, ties
    stand in the caller's order, and only the order of scores counts. Rows behind the cutoff are not
    shown; rows not shown before stay so. An empty group needs a share of 0, or is reported as
    infeasible.

    Parameters
    ----------
    proportions : mapping of group to share, optional
        Target shares of all groups, summing to 1; None takes those of each list.
    k : int, optional
        Cutoff; None ranks whole lists.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where a list has too few of a group: an error that names the list and the
        prefix, or the closest ranking with a warning.

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

    guarantee: ClassVar[str] = "prefix j holds at least floor(j p) of every group, any number"
    cost: ClassVar[str] = "more score than DetRelaxed: it looks at deadlines before scores"

    def _chosen(self, pool: Pool, shares: np.ndarray) -> np.ndarray:
        from ..kernels.group_queues import CONSERVATIVE

        return fill(self, pool, shares, CONSERVATIVE)


class DetConstSort(ShareReranker):
    """Place items when the floor of their group rises, then sort by score within the deadlines.

    Counts j upwards. Where ``floor(j p)`` of groups rises, their next items join the end of the
    list, the best first, each with j as its deadline; each climbs past worse items as long as those
    still meet theirs. Every prefix then holds at least ``floor(j p)`` of every group, for any
    number of groups. An item may move to place j only if its deadline is at least j: read with
    places from 0 the published condition is late by one and breaks the guarantee. The order inside
    groups stays, ties stand in the caller's order, and only the order of scores counts. Groups
    without a share come last. Rows behind the cutoff are not shown; rows not shown before stay so.
    An empty group needs a share of 0, or is reported as infeasible.

    Parameters
    ----------
    proportions : mapping of group to share, optional
        Target shares of all groups, summing to 1; None takes those of each list.
    k : int, optional
        Cutoff; None ranks whole lists.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where a list has too few of a group: an error that names the list and the
        prefix, or the closest ranking with a warning.

    References
    ----------
    Geyik, Ambler and Kenthapadi, Fairness-aware ranking in search and recommendation systems with
    application to LinkedIn talent search, KDD 2019, algorithm 3.

    Examples
    --------
    >>> from equirank.rerankers import DetConstSort
    >>> result = DetConstSort().rerank([6, 5, 4, 3, 2, 1], sensitive_features=list("mmmfff"))
    >>> result.order()
    array([0, 3, 1, 4, 2, 5])
    """

    guarantee: ClassVar[str] = "prefix j holds at least floor(j p) of every group, any number"
    cost: ClassVar[str] = "more score than DetGreedy in small prefixes; never misses a share"

    def _chosen(self, pool: Pool, shares: np.ndarray) -> np.ndarray:
        from ..kernels.group_queues import det_const_sort

        return det_const_sort(pool.codes, pool.offsets, pool.shown, pool.limit, shares)


class DetGreedy(ShareReranker):
    """Fill each place with the best item among the groups that fall short of their share.

    Place j goes to the best item of the groups with fewer than ``floor(j p)`` places; where there
    is none, to the best of those with fewer than ``ceil(j p)``; where there is none (groups have
    run out), to the best that is left. Every prefix then holds at least ``floor(j p)`` of every
    group for up to three groups; with four or more it may miss one, which a warning and ``holds``
    say (`DetConstSort` never does). The order inside groups stays, ties stand in the caller's
    order, and only the order of scores counts. Rows behind the cutoff are not shown; rows not shown
    before stay so. An empty group needs a share of 0, or is reported as infeasible.

    Parameters
    ----------
    proportions : mapping of group to share, optional
        Target shares of all groups, summing to 1; None takes those of each list.
    k : int, optional
        Cutoff; None ranks whole lists.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where a list has too few of a group: an error that names the list and the
        prefix, or the closest ranking with a warning.

    References
    ----------
    Geyik, Ambler and Kenthapadi, Fairness-aware ranking in search and recommendation systems with
    application to LinkedIn talent search, KDD 2019, algorithm 1.

    Examples
    --------
    >>> from equirank.rerankers import DetGreedy
    >>> DetGreedy().rerank([4, 3, 2, 1], sensitive_features=list("mmff")).order()
    array([0, 2, 1, 3])
    """

    guarantee: ClassVar[str] = "prefix j holds at least floor(j p) of every group, up to 3 groups"
    cost: ClassVar[str] = "least score among the four; may fail with 4 or more groups"

    def _chosen(self, pool: Pool, shares: np.ndarray) -> np.ndarray:
        from ..kernels.group_queues import GREEDY

        return fill(self, pool, shares, GREEDY)


class DetRelaxed(ShareReranker):
    """Fill each place for the group that falls short of its share, else from those due first.

    Place j goes to the best item of the groups with fewer than ``floor(j p)`` places; where there
    is none, to the best item of the groups with the smallest ``ceil(ceil(j p) / p)`` among those
    with fewer than ``ceil(j p)``; where there is none (groups have run out), to the best item that
    is left. That is the rule of the earliest deadline, deadlines being places, so every prefix
    holds at least ``floor(j p)`` of every group, for any number of groups. The order inside groups
    stays, ties stand in the caller's order, and only the order of scores counts. Rows behind the
    cutoff are not shown; rows not shown before stay so. An empty group needs a share of 0, or is
    reported as infeasible.

    Parameters
    ----------
    proportions : mapping of group to share, optional
        Target shares of all groups, summing to 1; None takes those of each list.
    k : int, optional
        Cutoff; None ranks whole lists.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where a list has too few of a group: an error that names the list and the
        prefix, or the closest ranking with a warning.

    References
    ----------
    Geyik, Ambler and Kenthapadi, Fairness-aware ranking in search and recommendation systems with
    application to LinkedIn talent search, KDD 2019, algorithm 2.

    Examples
    --------
    >>> from equirank.rerankers import DetRelaxed
    >>> shares = {"m": 0.6, "f": 0.4}
    >>> result = DetRelaxed(shares, k=4).rerank([5, 4, 3, 2, 1], sensitive_features=list("mmmff"))
    >>> result.order()
    array([0, 3, 1, 2])
    """

    guarantee: ClassVar[str] = "prefix j holds at least floor(j p) of every group, any number"
    cost: ClassVar[str] = "between DetGreedy and DetCons in score; never misses a share"

    def _chosen(self, pool: Pool, shares: np.ndarray) -> np.ndarray:
        from ..kernels.group_queues import RELAXED

        return fill(self, pool, shares, RELAXED)
