"""Dominance: how many items would be better off if chance decided."""

from typing import Any

from ...core.params import Number, check_params
from ...kernels.fair_division import item_impacts, seen, uniform_impacts
from .user_item_policy import read_policy, read_relevance

__all__ = ["dominance"]


def dominance(relevance: Any, policy: Any, *, attention: Any, margin: float = 0.0) -> float:
    """Compute the share of items that are worse off than under the uniform policy.

    ``share of i with impact_i < (1 - margin) impact_i(uniform)``, where the uniform policy shows
    every item equally often at every place. In [0, 1]; 0 is best: the policy dominates chance.
    Differences of one in 10^9 do not count. An item that is relevant to nobody is never worse off.

    Parameters
    ----------
    relevance : array-like of shape (n_users, n_items)
        What seeing item i is worth to user u, >= 0.
    policy : array-like of shape (n_users, n_items, K)
        The probability that user u sees item i at place k; at most 1 in sum over the items of a
        place and over the places of an item.
    attention : array-like of length K
        How much attention places 1 to K draw, >= 0.
    margin : float
        How much worse counts: 0 for any loss, 0.1 for more than 10 %.

    Returns
    -------
    float

    References
    ----------
    Saito and Joachims, Fair ranking as fair division: impact-based individual fairness in ranking,
    KDD 2022.

    Examples
    --------
    >>> from equirank.metrics import dominance
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> best = [[[1], [0]], [[1], [0]]]  # impacts 1.3 and 0 against 0.65 and 0.35
    >>> dominance(relevance, best, attention=[1])
    0.5
    """
    check_params("dominance", {"margin": margin}, {"margin": Number(0.0, 1.0, open_high=True)})
    r, e = read_relevance(relevance, attention)
    impact = item_impacts(r, seen(read_policy(policy, r, e), e))
    floor = (1.0 - margin) * uniform_impacts(r, e)
    return float((impact < floor * (1.0 - 1e-9)).mean())
