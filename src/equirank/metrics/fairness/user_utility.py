"""User utility: what a policy shows each user is worth to that user."""

from typing import Any

import numpy as np

from ...kernels.fair_division import seen
from .user_item_policy import read_policy, read_relevance

__all__ = ["user_utility"]


def user_utility(relevance: Any, policy: Any, *, attention: Any) -> np.ndarray:
    """Compute what the items shown to each user are worth to that user.

    ``utility_u = sum_i sum_k relevance(u, i) attention(k) policy(u, i, k)``. At least 0, higher is
    better. Summed over the users it is the sum of all impacts.

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
    ndarray of shape (n_users,)

    References
    ----------
    Saito and Joachims, Fair ranking as fair division: impact-based individual fairness in ranking,
    KDD 2022.

    Examples
    --------
    >>> from equirank.metrics import user_utility
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> each_their_own = [[[1], [0]], [[0], [1]]]
    >>> user_utility(relevance, each_their_own, attention=[1])
    array([0.8, 0.4])
    """
    r, e = read_relevance(relevance, attention)
    utility: np.ndarray = np.einsum("ui,ui->u", r, seen(read_policy(policy, r, e), e))
    return utility
