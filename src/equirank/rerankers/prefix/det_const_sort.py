"""DetConstSort: items placed when their group's share asks for them, then sorted by score."""

from typing import ClassVar

import numpy as np

from ..guaranteed import Pool
from .share_reranker import ShareReranker

__all__ = ["DetConstSort"]


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
        from ...kernels.det_const_sort import det_const_sort

        return det_const_sort(pool.codes, pool.offsets, pool.shown, pool.limit, shares)
