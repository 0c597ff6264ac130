"""DetGreedy: the best item next, unless a group would fall below its share."""

from typing import ClassVar

import numpy as np

from ..guaranteed import Pool
from .filling import fill
from .share_reranker import ShareReranker

__all__ = ["DetGreedy"]


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
        from ...kernels.det_greedy import GREEDY

        return fill(self, pool, shares, GREEDY)
