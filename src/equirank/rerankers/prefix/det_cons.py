"""DetCons: the group whose ceiling comes due first, unless a group would fall below its share."""

from typing import ClassVar

import numpy as np

from ..guaranteed import Pool
from .filling import fill
from .share_reranker import ShareReranker

__all__ = ["DetCons"]


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
        from ...kernels.det_greedy import CONSERVATIVE

        return fill(self, pool, shares, CONSERVATIVE)
