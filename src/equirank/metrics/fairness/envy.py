"""Envy: how much an item would gain by having the places of another."""

from typing import Any

from ...kernels.fair_division import item_envy, seen
from .user_item_policy import read_policy, read_relevance

__all__ = ["envy"]


def envy(relevance: Any, policy: Any, *, attention: Any) -> float:
    """Compute how much items would gain on average from the places of the one they envy most.

    ``1/n sum_i max_j (impact of item i with the places of j - impact of item i with its own)``: the
    mean max envy, at least 0 (an item does not envy itself), 0 where no item would swap. Lower is
    better. An item that is relevant to nobody envies nobody. O(users x items^2).

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
    float

    References
    ----------
    Saito and Joachims, Fair ranking as fair division: impact-based individual fairness in ranking,
    KDD 2022.

    Examples
    --------
    >>> from equirank.metrics import envy
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> best = [[[1], [0]], [[1], [0]]]  # both users see the first item
    >>> round(envy(relevance, best, attention=[1]), 4)  # item 2 would have 0.3 + 0.4: half of 0.7
    0.35
    >>> envy(relevance, [[[0.5], [0.5]], [[0.5], [0.5]]], attention=[1])
    0.0
    """
    r, e = read_relevance(relevance, attention)
    return float(item_envy(r, seen(read_policy(policy, r, e), e)).mean())
