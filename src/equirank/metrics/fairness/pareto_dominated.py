"""Pareto test: whether a policy is better for some items and worse for none."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernels.fair_division import item_impacts, seen
from .user_item_policy import read_policy, read_relevance

__all__ = ["pareto_dominated"]


def pareto_dominated(
    relevance: Any, policy: Any, others: Sequence[Any], *, attention: Any
) -> np.ndarray:
    """Say of each other policy whether it is better for some item and worse for none.

    Policy Y dominates X where ``impact_i(Y) >= impact_i(X)`` for all items and ``>`` for one;
    differences of one in 10^9 do not count. A policy that none of the others dominates is Pareto
    optimal among them.

    Parameters
    ----------
    relevance : array-like of shape (n_users, n_items)
        What seeing item i is worth to user u, >= 0.
    policy : array-like of shape (n_users, n_items, K)
        The probability that user u sees item i at place k; at most 1 in sum over the items of a
        place and over the places of an item.
    others : sequence of array-like
        Policies of the same shape.
    attention : array-like of length K
        How much attention places 1 to K draw, >= 0.

    Returns
    -------
    ndarray of bool, one per policy of ``others``

    References
    ----------
    Saito and Joachims, Fair ranking as fair division: impact-based individual fairness in ranking,
    KDD 2022.

    Examples
    --------
    >>> from equirank.metrics import pareto_dominated
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> uniform = [[[0.5], [0.5]], [[0.5], [0.5]]]  # impacts 0.65 and 0.35
    >>> best = [[[1], [0]], [[1], [0]]]  # 1.3 and 0
    >>> each_their_own = [[[1], [0]], [[0], [1]]]  # 0.8 and 0.4
    >>> pareto_dominated(relevance, uniform, [best, each_their_own], attention=[1])
    array([False,  True])
    """
    r, e = read_relevance(relevance, attention)
    own = item_impacts(r, seen(read_policy(policy, r, e), e))
    result = np.zeros(len(others), dtype=bool)
    for at, other in enumerate(others):
        impact = item_impacts(r, seen(read_policy(other, r, e, f"others[{at}]"), e))
        slack = 1e-9 * np.maximum(impact, own)
        result[at] = (impact >= own - slack).all() and (impact > own + slack).any()
    return result
