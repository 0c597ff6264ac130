"""Welfare of items and users under a policy over users and items."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.docstrings import describe_as
from ..core.errors import DataError, EquirankWarning
from ..core.params import Number, check_params

__all__ = [
    "dominance",
    "envy",
    "expected_exposure",
    "item_envy",
    "item_impact",
    "item_impacts",
    "nash_welfare",
    "pareto_dominated",
    "read_policy",
    "read_relevance",
    "uniform_impacts",
    "user_utility",
]


#: Number of cells of a block of envies.
CELLS = 1 << 22
#: Probabilities may sum to this much more than 1.
ROUNDING = 1e-6


def item_impact(relevance: Any, policy: Any, *, attention: Any) -> np.ndarray:
    """Compute the impact of each item: relevance times exposure, over all users.

    ``impact_i = sum_u sum_k relevance(u, i) attention(k) policy(u, i, k)``, such as the clicks an
    item expects. At least 0, higher is better for the item. A position may show nothing.

    Parameters
    ----------
    relevance : array-like of shape (n_users, n_items)
        Value of item i to user u, >= 0.
    policy : array-like of shape (n_users, n_items, K)
        Probability that user u is shown item i at position k; sums over the items of a position and
        over the positions of an item are at most 1.
    attention : array-like of length K
        Exposure of positions 1 to K, >= 0.

    Returns
    -------
    ndarray of shape (n_items,)

    References
    ----------
    Saito and Joachims, KDD 2022, as in `NashAllocation`.

    Examples
    --------
    >>> from equirank.allocation import item_impact
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> best = [[[1], [0]], [[1], [0]]]  # both users see the first item
    >>> item_impact(relevance, best, attention=[1])
    array([1.3, 0. ])
    """
    r, e = read_relevance(relevance, attention)
    return item_impacts(r, expected_exposure(read_policy(policy, r, e), e))


@describe_as(item_impact, sections=("References",))
def dominance(relevance: Any, policy: Any, *, attention: Any, margin: float = 0.0) -> float:
    """Compute the share of items that are worse off than under the uniform policy.

    ``share of i with impact_i < (1 - margin) impact_i(uniform)``, where the uniform policy shows
    every item equally often at every position. In [0, 1]; 0 is best: the policy dominates the
    uniform one. Relative differences of 1e-9 do not count. An item that is relevant to nobody is
    never worse off.

    Parameters
    ----------
    margin : float
        Relative loss that does not count: 0 for none, 0.1 for up to 10%.

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
    impact = item_impacts(r, expected_exposure(read_policy(policy, r, e), e))
    floor = (1.0 - margin) * uniform_impacts(r, e)
    return float((impact < floor * (1.0 - 1e-9)).mean())


@describe_as(item_impact, sections=("References",))
def envy(relevance: Any, policy: Any, *, attention: Any) -> float:
    """Compute the mean gain of items from the exposure of the item they envy most.

    ``1/n sum_i max_j (impact of item i with the exposure of j - impact of item i with its own)``:
    the mean max envy, at least 0, and 0 if no item would swap. Lower is better. An item that is
    relevant to nobody envies nobody. O(users x items^2).

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
    return float(item_envy(r, expected_exposure(read_policy(policy, r, e), e)).mean())


@describe_as(item_impact, sections=("References",))
def nash_welfare(relevance: Any, policy: Any, *, attention: Any) -> float:
    """Compute the geometric mean of the impacts of all items.

    ``exp(mean_i log impact_i)``, computed in logs, so that small impacts neither vanish nor
    overflow. Higher is better; 0 if any item has no impact. Items that are relevant to nobody are
    left out with a warning; if no item is left the result is NaN.

    Examples
    --------
    >>> from equirank.allocation import nash_welfare
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> each_their_own = [[[1], [0]], [[0], [1]]]
    >>> round(nash_welfare(relevance, each_their_own, attention=[1]), 4)  # sqrt(0.8 * 0.4)
    0.5657
    """
    r, e = read_relevance(relevance, attention)
    impact = item_impacts(r, expected_exposure(read_policy(policy, r, e), e))
    wanted = r.max(axis=0) > 0
    if not wanted.all():
        left_out = int((~wanted).sum())
        warnings.warn(
            f"nash_welfare leaves out {left_out} of {len(wanted)} items that are relevant to "
            f"nobody (the first is item {int(np.argmin(wanted))})",
            EquirankWarning,
            stacklevel=2,
        )
    if not wanted.any():
        return float("nan")
    some = impact[wanted]
    return float(np.exp(np.log(some).mean())) if (some > 0).all() else 0.0


@describe_as(item_impact, sections=("References",))
def pareto_dominated(
    relevance: Any, policy: Any, others: Sequence[Any], *, attention: Any
) -> np.ndarray:
    """Return for each other policy whether it is better for some item and worse for none.

    Policy Y dominates X if ``impact_i(Y) >= impact_i(X)`` for all items and ``>`` for one; relative
    differences of 1e-9 do not count. A policy that no other one dominates is Pareto optimal among
    them.

    Parameters
    ----------
    others : sequence of array-like
        Policies of the same shape.

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
    own = item_impacts(r, expected_exposure(read_policy(policy, r, e), e))
    result = np.zeros(len(others), dtype=bool)
    for at, other in enumerate(others):
        impact = item_impacts(r, expected_exposure(read_policy(other, r, e, f"others[{at}]"), e))
        slack = 1e-9 * np.maximum(impact, own)
        result[at] = (impact >= own - slack).all() and (impact > own + slack).any()
    return result


@describe_as(item_impact, sections=("References",))
def user_utility(relevance: Any, policy: Any, *, attention: Any) -> np.ndarray:
    """Compute the utility of each user: relevance times exposure, over all items.

    ``utility_u = sum_i sum_k relevance(u, i) attention(k) policy(u, i, k)``. At least 0, higher is
    better. Summed over the users it is the sum of all impacts.

    Examples
    --------
    >>> from equirank.allocation import user_utility
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> each_their_own = [[[1], [0]], [[0], [1]]]
    >>> user_utility(relevance, each_their_own, attention=[1])
    array([0.8, 0.4])
    """
    r, e = read_relevance(relevance, attention)
    utility: np.ndarray = np.einsum("ui,ui->u", r, expected_exposure(read_policy(policy, r, e), e))
    return utility


def expected_exposure(policy: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Return the expected exposure of each item to each user (user x item)."""
    return policy @ attention


def item_impacts(relevance: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Return the impact of each item, given its exposure (user x item)."""
    return np.einsum("ui,ui->i", relevance, attention)


def uniform_impacts(relevance: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Return the impact of each item under the uniform policy."""
    return relevance.sum(axis=0) * (attention.sum() / relevance.shape[1])


def item_envy(relevance: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Return the largest gain of each item from the exposure of another item, at least 0."""
    n_items = relevance.shape[1]
    envy = np.empty(n_items)
    step = max(1, CELLS // n_items)
    for at in range(0, n_items, step):
        some = np.arange(at, min(at + step, n_items))
        impact = relevance[:, some].T @ attention
        envy[some] = impact.max(axis=1) - impact[some - at, some]
    return envy


def read_relevance(relevance: Any, attention: Any) -> tuple[np.ndarray, np.ndarray]:
    """Check relevance (user x item) and the exposure of positions 1 to K."""
    r = _numbers("relevance", relevance, 2, "users x items")
    e = _numbers("attention", attention, 1, "one value per position")
    if len(e) > r.shape[1]:
        raise DataError(
            f"attention must have at most one value per item ({r.shape[1]}), got {len(e)}"
        )
    return r, e


def read_policy(
    policy: Any, relevance: np.ndarray, attention: np.ndarray, name: str = "policy"
) -> np.ndarray:
    """Check the probabilities of a policy (user x item x position)."""
    x = _numbers(name, policy, 3, "users x items x positions")
    wanted = (*relevance.shape, len(attention))
    if x.shape != wanted:
        raise DataError(
            f"{name} must have the shape {wanted} (users, items, positions), got {x.shape}"
        )
    for axis, words in ((1, "at a position"), (2, "of an item over the positions")):
        total = x.sum(axis=axis)
        if (total > 1 + ROUNDING).any():
            at = np.unravel_index(int(np.argmax(total)), total.shape)
            user, other = int(at[0]), int(at[1])
            what = "position" if axis == 1 else "item"
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
