"""Impact: what the attention of all users is worth to each item."""

from typing import Any

import numpy as np

from ...kernels.fair_division import item_impacts, seen
from .user_item_policy import read_policy, read_relevance

__all__ = ["item_impact"]


def item_impact(relevance: Any, policy: Any, *, attention: Any) -> np.ndarray:
    """Compute what the attention of all users is worth to each item.

    ``impact_i = sum_u sum_k relevance(u, i) attention(k) policy(u, i, k)``, such as the clicks an
    item expects. At least 0, higher is better for the item. A place that shows nothing is allowed.

    Parameters
    ----------
    relevance : array-like of shape (n_users, n_items)
        What seeing item i is worth to user u, >= 0.
    policy : array-like of shape (n_users, n_items, K)
        The probability that user u sees item i at place k; at most 1 in sum over the items of a
        place and over the places of an item.
    attention : array-like of length K
        How much attention places 1 to K draw, >= 0.

    Returns
    -------
    ndarray of shape (n_items,)

    References
    ----------
    Saito and Joachims, Fair ranking as fair division: impact-based individual fairness in ranking,
    KDD 2022.

    Examples
    --------
    >>> from equirank.metrics import item_impact
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> best = [[[1], [0]], [[1], [0]]]  # both users see the first item
    >>> item_impact(relevance, best, attention=[1])
    array([1.3, 0. ])
    """
    r, e = read_relevance(relevance, attention)
    return item_impacts(r, seen(read_policy(policy, r, e), e))
