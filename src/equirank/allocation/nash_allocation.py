"""NashAllocation: lists for many users that maximise the welfare of the items."""

import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator

from ..core.declared import Declared
from ..core.errors import DataError, EquirankWarning
from ..core.metric import DISCOUNT
from ..core.params import Integer, Number, Optional, check_params
from ..kernels.compiled import compiled
from .frank_wolfe import AnyImpact, Users, climb, mixture_policy, read_users
from .user_item_policy import UserItemPolicy

__all__ = ["NashAllocation", "reweigh"]


@compiled
def _slopes(point: np.ndarray, weight: np.ndarray, aversion: float, slope: np.ndarray) -> None:
    """Write the derivative of the welfare in each item's impact: ``w / impact^aversion``."""
    for item in range(len(weight)):
        if weight[item] <= 0.0:
            slope[item] = 0.0
            continue
        impact = max(point[item], 1e-300)
        if aversion == 1.0:
            slope[item] = weight[item] / impact
        else:
            slope[item] = weight[item] * min(impact**-aversion, 1e250)


@compiled
def _rise(
    point: np.ndarray, step: np.ndarray, size: float, weight: np.ndarray, aversion: float
) -> float:
    """Return the derivative of the welfare along a step, at a given size of it."""
    total = 0.0
    for item in range(len(weight)):
        if weight[item] > 0.0 and step[item] != 0.0:
            impact = max(point[item] + size * step[item], 1e-300)
            if aversion == 1.0:
                total += weight[item] * step[item] / impact
            else:
                total += weight[item] * step[item] * min(impact**-aversion, 1e250)
    return total


@compiled
def reweigh(
    table: np.ndarray, shares: np.ndarray, weight: np.ndarray, aversion: float, gap: float
) -> None:
    """Move shares between the rows of a table of impacts until no pair gains half the gap.

    Each step moves share from the worst row with a share to the best row, as long as the welfare
    increases (bisection). Changes ``shares`` in place.
    """
    count, n = table.shape
    point = np.zeros(n)
    for row in range(count):
        for item in range(n):
            point[item] += shares[row] * table[row, item]
    slope, step = np.empty(n), np.empty(n)
    for _ in range(50 * count):
        _slopes(point, weight, aversion, slope)
        best, worst = -1, -1
        high, low = -np.inf, np.inf
        for row in range(count):
            value = 0.0
            for item in range(n):
                value += slope[item] * table[row, item]
            if value > high:
                best, high = row, value
            if shares[row] > 0.0 and value < low:
                worst, low = row, value
        if high - low <= 0.5 * gap:
            break
        for item in range(n):
            step[item] = table[best, item] - table[worst, item]
        near, far = 0.0, shares[worst]
        size = far
        if _rise(point, step, far, weight, aversion) < 0.0:
            for _ in range(60):
                size = 0.5 * (near + far)
                if _rise(point, step, size, weight, aversion) > 0.0:
                    near = size
                else:
                    far = size
                if far - near <= 1e-4 * far:
                    break
            size = near
        shares[best] += size
        shares[worst] -= size
        if shares[worst] < 1e-15:
            shares[worst] = 0.0
        for item in range(n):
            point[item] += size * step[item]


class NashAllocation(Declared, BaseEstimator):  # type: ignore[misc]
    """Lists for all users that maximise the welfare of the items, by default Nash welfare.

    Maximises ``sum_i w_i log(impact_i)``, ``impact_i = sum_{u, k} r(u, i) e(k) X(u, i, k)``, over
    all policies X that show each user a random list; ``w_i = merit_i^alpha`` with
    ``merit_i = sum_u r(u, i)``. With another ``aversion`` f the objective is
    ``sum_i w_i impact_i^(1-f) / (1-f)``: 0 is the total utility, 1 Nash welfare, and a larger f
    gives more weight to the worst off. Solved by Frank-Wolfe with pairwise steps from the uniform
    policy; the reported gap bounds the gain of the optimum. Ties are broken by item number. Items
    that are relevant to nobody are left out.

    Parameters
    ----------
    alpha : float
        Exponent of merit in the weights; 0 weights all items equally.
    k : int, optional
        Number of positions of each list; all items by default.
    aversion : float
        Aversion to inequality, f above.
    discount : {"log2", "zipf"} or sequence
        Exposure of the positions; it must not increase.
    tol : float
        Relative gap at which to stop; for Nash welfare, of the weighted mean of log impact.
    max_iter : int
        Maximum number of iterations; a warning reports a larger gap.

    Attributes
    ----------
    gap_ : float
        The relative gap reached.
    n_iter_ : int
        Number of iterations.

    References
    ----------
    Saito and Joachims, Fair ranking as fair division: impact-based individual fairness in ranking,
    KDD 2022.

    Examples
    --------
    >>> from equirank.allocation import NashAllocation
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> policy = NashAllocation(k=1, tol=1e-6).fit_policy(relevance)
    >>> policy.impact(relevance).round(3)
    array([0.8, 0.4])
    """

    positional = ("alpha", "k")
    alpha: Annotated[float, Number(0.0)] = 0.0
    k: Annotated[int | None, Optional(Integer(1))] = None
    aversion: Annotated[float, Number(0.0)] = 1.0
    discount: Annotated[str | Sequence[float], DISCOUNT] = "log2"
    tol: Annotated[float, Number(0.0, open_low=True)] = 1e-3
    max_iter: Annotated[int, Integer(1)] = 1000

    def fit_policy(self, relevance: Any, *, impact: Any = None) -> UserItemPolicy:
        """Return the policy.

        Parameters
        ----------
        relevance : array-like or sparse array of shape (n_users, n_items)
            Value of an item to a user, >= 0; its sums over users are the merits.
        impact : array-like of shape (n_users, n_items, k), optional
            Gain of item i at position k of the list of user u, if it is not relevance times
            exposure. The best list of a user is then an assignment, which suits small data.
        """
        check_params("NashAllocation", self.get_params(), self.params)
        users = read_users("NashAllocation", relevance, self.k, self.discount)
        merit = np.asarray(users.relevance.sum(axis=0), dtype=np.float64).ravel()
        if impact is not None:
            users = _any_impact(impact, users)
            merit = np.where(users.impact.max(axis=(0, 2)) > 0.0, np.maximum(merit, 1e-300), 0.0)
        wanted = merit > 0.0
        if not wanted.any():
            raise DataError("relevance of NashAllocation must include a number > 0, got zeros only")
        if not wanted.all():
            warnings.warn(
                f"NashAllocation leaves out {int((~wanted).sum())} of {len(wanted)} items that are "
                f"relevant to nobody (the first is item {int(np.argmin(wanted))})",
                EquirankWarning,
                stacklevel=2,
            )
        weight = np.where(wanted, np.where(wanted, merit, 1.0) ** self.alpha, 0.0)
        welfare = _Welfare(weight, self.aversion)
        mixed = climb(
            users,
            welfare,
            users.uniform(),
            tol=self.tol,
            max_iter=self.max_iter,
            relative=welfare.relative,
        )
        self.gap_, self.n_iter_ = mixed.gap, mixed.steps
        if mixed.gap > self.tol:
            warnings.warn(
                f"NashAllocation stopped after {mixed.steps} iterations at a gap of "
                f"{mixed.gap:.3g}, above tol={self.tol:g}",
                EquirankWarning,
                stacklevel=2,
            )
        return mixture_policy(users, mixed)


def _any_impact(impact: Any, users: Users) -> AnyImpact:
    values = np.asarray(impact, dtype=np.float64)
    wanted = (users.n_users, users.n_items, len(users.attention))
    if values.shape != wanted:
        raise DataError(f"impact of NashAllocation must have shape {wanted}, got {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0.0).all()):
        at = tuple(int(i) for i in np.argwhere(~(np.isfinite(values) & (values >= 0.0)))[0])
        raise DataError(
            f"impact of NashAllocation must be finite numbers >= 0, got {values[at]} at {at}"
        )
    return AnyImpact(values, users.attention)


class _Welfare:
    """Welfare of the impacts, which are the first half of a point."""

    def __init__(self, weight: np.ndarray, aversion: float) -> None:
        self.weight, self.aversion, self.n = weight, aversion, len(weight)

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient at a point."""
        result = np.zeros(len(point))
        impact = np.where(self.weight > 0.0, np.maximum(point[: self.n], 1e-300), 1.0)
        if self.aversion == 1.0:
            result[: self.n] = self.weight / impact
        else:
            with np.errstate(over="ignore"):
                steep = np.minimum(impact**-self.aversion, 1e250)
            result[: self.n] = self.weight * steep
        return result

    def keys(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys that rank the items of a user: relevance times the value of impact."""
        return gradient[: self.n], np.zeros(self.n)

    def reweigh(self, table: np.ndarray, weights: np.ndarray, gap: float) -> np.ndarray:
        """Return improved weights of the atoms, by compiled code."""
        result = weights.copy()
        impacts = np.ascontiguousarray(table[:, : self.n])
        reweigh(impacts, result, self.weight, float(self.aversion), gap)
        return result

    def relative(self, gradient: np.ndarray, point: np.ndarray) -> float:
        """Return the factor that makes a gap relative."""
        return 1.0 / float(gradient @ point)
