"""Nash welfare: the geometric mean of what a policy is worth to the items."""

import warnings
from typing import Any

import numpy as np

from ...core.errors import EquirankWarning
from ...kernels.fair_division import item_impacts, seen
from .user_item_policy import read_policy, read_relevance

__all__ = ["nash_welfare"]


def nash_welfare(relevance: Any, policy: Any, *, attention: Any) -> float:
    """Compute the geometric mean of the impacts of all items.

    ``exp(mean_i log impact_i)``, worked out in logs, so that many small impacts neither vanish nor
    overflow. Higher is better; 0 as soon as one item has no impact at all. An item that is relevant
    to nobody has none under any policy: it is left out, with a warning, and where no item is left
    the result is NaN.

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
    >>> from equirank.metrics import nash_welfare
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> each_their_own = [[[1], [0]], [[0], [1]]]
    >>> round(nash_welfare(relevance, each_their_own, attention=[1]), 4)  # sqrt(0.8 * 0.4)
    0.5657
    """
    r, e = read_relevance(relevance, attention)
    impact = item_impacts(r, seen(read_policy(policy, r, e), e))
    wanted = r.max(axis=0) > 0
    if not wanted.all():
        left_out = int((~wanted).sum())
        warnings.warn(
            f"nash_welfare leaves out {left_out} of {len(wanted)} items: they are relevant to "
            f"nobody (the first is item {int(np.argmin(wanted))})",
            EquirankWarning,
            stacklevel=2,
        )
    if not wanted.any():
        return float("nan")
    some = impact[wanted]
    return float(np.exp(np.log(some).mean())) if (some > 0).all() else 0.0
