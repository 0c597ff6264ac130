"""Users and items: who is seen by whom, and what it is worth to the items."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.errors import DataError, EquirankWarning
from ..core.params import Number, check_params

__all__ = [
    "dominance",
    "envy",
    "item_envy",
    "item_impact",
    "item_impacts",
    "nash_welfare",
    "pareto_dominated",
    "read_policy",
    "read_relevance",
    "seen",
    "uniform_impacts",
    "user_utility",
]


CELLS = 1 << 22


def seen(policy: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Return the attention of each user that each item expects (user x item)."""
    return policy @ attention


def item_impacts(relevance: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Return what the attention (user x item) is worth to each item."""
    return np.einsum("ui,ui->i", relevance, attention)


def uniform_impacts(relevance: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Return what each item would have if every place showed every item equally often."""
    return relevance.sum(axis=0) * (attention.sum() / relevance.shape[1])


def item_envy(relevance: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Return by how much each item would gain most from another's attention; 0 where from none's."""
    n_items = relevance.shape[1]
    envy = np.empty(n_items)
    step = max(1, CELLS // n_items)
    for at in range(0, n_items, step):
        some = np.arange(at, min(at + step, n_items))
        worth = relevance[:, some].T @ attention
        envy[some] = worth.max(axis=1) - worth[some - at, some]
    return envy


#: Probabilities may add up to this much more than 1.
ROUNDING = 1e-6


def read_relevance(relevance: Any, attention: Any) -> tuple[np.ndarray, np.ndarray]:
    """Check relevance (user x item) and the attention of places 1 to K."""
    r = _numbers("relevance", relevance, 2, "users x items")
    e = _numbers("attention", attention, 1, "one value per place")
    if len(e) > r.shape[1]:
        raise DataError(
            f"attention must have no more places than there are items ({r.shape[1]}), got {len(e)}"
        )
    return r, e


def read_policy(
    policy: Any, relevance: np.ndarray, attention: np.ndarray, name: str = "policy"
) -> np.ndarray:
    """Check the probability that user u sees item i at place k (user x item x place)."""
    x = _numbers(name, policy, 3, "users x items x places")
    wanted = (*relevance.shape, len(attention))
    if x.shape != wanted:
        raise DataError(
            f"{name} must have the shape {wanted} (users, items, places), got {x.shape}"
        )
    for axis, words in ((1, "at a place"), (2, "of an item over the places")):
        total = x.sum(axis=axis)
        if (total > 1 + ROUNDING).any():
            at = np.unravel_index(int(np.argmax(total)), total.shape)
            user, other = int(at[0]), int(at[1])
            what = "place" if axis == 1 else "item"
            raise DataError(
                f"{name} must be probabilities that add up to at most 1 {words}, got "
                f"{total[at]:.6g} for user {user}, {what} {other}"
            )
    return x


def _numbers(name: str, values: Any, dimensions: int, words: str) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers ({words})") from None
    if array.ndim != dimensions or array.size == 0:
        raise DataError(
            f"{name} must have {dimensions} dimension{'s' * (dimensions > 1)} ({words}) and at "
            f"least one value, got shape {array.shape}"
        )
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        where = at[0] if dimensions == 1 else at
        raise DataError(f"{name} must be finite numbers >= 0, got {array[at]!s} at {where}")
    return array


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
    >>> from equirank.allocation import dominance
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
    >>> from equirank.allocation import envy
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> best = [[[1], [0]], [[1], [0]]]  # both users see the first item
    >>> round(envy(relevance, best, attention=[1]), 4)  # item 2 would have 0.3 + 0.4: half of 0.7
    0.35
    >>> envy(relevance, [[[0.5], [0.5]], [[0.5], [0.5]]], attention=[1])
    0.0
    """
    r, e = read_relevance(relevance, attention)
    return float(item_envy(r, seen(read_policy(policy, r, e), e)).mean())


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
    >>> from equirank.allocation import item_impact
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> best = [[[1], [0]], [[1], [0]]]  # both users see the first item
    >>> item_impact(relevance, best, attention=[1])
    array([1.3, 0. ])
    """
    r, e = read_relevance(relevance, attention)
    return item_impacts(r, seen(read_policy(policy, r, e), e))


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
    >>> from equirank.allocation import nash_welfare
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
    >>> from equirank.allocation import pareto_dominated
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
    >>> from equirank.allocation import user_utility
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> each_their_own = [[[1], [0]], [[0], [1]]]
    >>> user_utility(relevance, each_their_own, attention=[1])
    array([0.8, 0.4])
    """
    r, e = read_relevance(relevance, attention)
    utility: np.ndarray = np.einsum("ui,ui->u", r, seen(read_policy(policy, r, e), e))
    return utility
