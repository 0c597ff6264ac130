"""ExposureAllocation: lists for many users with exposure in proportion to merit."""

import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, cast

import numpy as np
from sklearn.base import BaseEstimator

from ..core.declared import Declared
from ..core.errors import DataError, EquirankWarning, InfeasibleError
from ..core.metric import DISCOUNT
from ..core.params import Choice, Instance, Integer, Number, Optional, check_params
from ..kernels.permutahedron import excess, nearest_reachable
from .frank_wolfe import Mixed, Users, climb, mixture_policy, pairwise_steps, read_users
from .user_item_policy import UserItemPolicy

__all__ = ["ExposureAllocation"]


class ExposureAllocation(Declared, BaseEstimator):  # type: ignore[misc]
    """Lists of maximum utility with exposure, over all users, in proportion to merit.

    Maximises ``sum_{u, i, k} r(u, i) e(k) X(u, i, k)`` subject to ``sum_{u, k} e(k) X(u, i, k) =
    T_i``, with ``T_i`` proportional to ``link(merit_i)`` and ``merit_i = sum_u r(u, i)``. Solved by
    Frank-Wolfe on the augmented Lagrangian; the gap is the dual bound minus the utility reached.
    It is infeasible if some items need more exposure than as many first positions of all lists
    have. Ties are broken by item number.

    Parameters
    ----------
    k : int, optional
        Number of positions of each list; all items by default.
    link : callable, optional
        Function of the array of merits to which exposure is proportional; identity by default.
    discount : {"log2", "zipf"} or sequence
        Exposure of the positions; it must not increase.
    on_infeasible : {"error", "best"}
        Raise, or use the nearest reachable exposures and warn.
    tol : float
        Largest deviation from T, relative to its mean, and largest relative gap.
    max_iter : int
        Maximum number of iterations; a warning reports if it was too small.

    Attributes
    ----------
    gap_, violation_ : float
        Gap and deviation reached.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018.

    Examples
    --------
    Exposure in proportion to merit leaves item 2 with less impact than showing items at random
    would (0.28 against 0.35):

    >>> from equirank.allocation import ExposureAllocation
    >>> relevance = [[0.8, 0.3], [0.5, 0.4]]
    >>> policy = ExposureAllocation(k=1).fit_policy(relevance)
    >>> policy.impact(relevance).round(2)
    array([0.95, 0.28])
    """

    positional = ("k",)
    k: Annotated[int | None, Optional(Integer(1))] = None
    link: Annotated[
        Callable[[np.ndarray], Any] | None,
        Optional(Instance(cast(type, Callable), "a function of the merits")),
    ] = None
    discount: Annotated[str | Sequence[float], DISCOUNT] = "log2"
    on_infeasible: Annotated[Literal["error", "best"], Choice("error", "best")] = "error"
    tol: Annotated[float, Number(0.0, open_low=True)] = 1e-3
    max_iter: Annotated[int, Integer(1)] = 2000

    def fit_policy(self, relevance: Any) -> UserItemPolicy:
        """Return the policy for relevances (users x items, dense or sparse)."""
        check_params("ExposureAllocation", self.get_params(), self.params)
        users = read_users("ExposureAllocation", relevance, self.k, self.discount)
        target = self._target(users)
        n = users.n_items
        scale = max(float(users.relevance.max()), 1e-300)
        price = scale / float(target.mean())  # utility per unit of exposure, roughly
        lagrangian = _Lagrangian(target, price)
        mixed: Mixed | None = None
        self.violation_, self.gap_ = np.inf, np.inf
        for _ in range(100):
            mixed = climb(
                users,
                lagrangian,
                users.uniform(),
                tol=0.2 * self.tol,
                max_iter=self.max_iter if mixed is None else mixed.steps + 200,
                relative=lagrangian.relative,
                mixed=mixed,
            )
            missed = mixed.point[n:] - target
            self.violation_ = float(np.abs(missed).max() / target.mean())
            lagrangian.multiplier = lagrangian.multiplier - lagrangian.price * missed
            self.gap_ = self._dual_gap(users, lagrangian.multiplier, target, mixed)
            if max(self.violation_, self.gap_) <= self.tol or mixed.steps >= self.max_iter:
                break
        if mixed is None or max(self.violation_, self.gap_) > self.tol:
            warnings.warn(
                f"ExposureAllocation stopped with exposures off by {self.violation_:.3g} of their "
                f"mean and a gap of {self.gap_:.3g}, above tol={self.tol:g}",
                EquirankWarning,
                stacklevel=2,
            )
        return mixture_policy(users, cast(Mixed, mixed))

    def _target(self, users: Users) -> np.ndarray:
        merit = np.asarray(users.relevance.sum(axis=0), dtype=np.float64).ravel()
        wanted = merit if self.link is None else np.asarray(self.link(merit), dtype=np.float64)
        if wanted.shape != merit.shape or not (wanted >= 0.0).all() or wanted.sum() <= 0.0:
            raise DataError(
                "link of ExposureAllocation must return numbers >= 0, one per item, not all 0"
            )
        attention = np.zeros(users.n_items)
        attention[: len(users.attention)] = users.attention * users.n_users
        target = wanted * (attention.sum() / wanted.sum())
        over = excess(target, attention)
        if over > 1e-9 * attention.sum():
            worst = int(np.argmax(target))
            what = (
                "ExposureAllocation cannot give every item exposure in proportion to its merit: "
                f"some need {over:.4g} more than the first positions of all lists have (item "
                f"{worst} alone needs {target[worst]:.4g} and can have {attention[0]:.4g})"
            )
            if self.on_infeasible == "error":
                raise InfeasibleError(f"{what}; pass on_infeasible='best' for the nearest")
            warnings.warn(what, EquirankWarning, stacklevel=3)
            return nearest_reachable(target, attention)
        return target

    @staticmethod
    def _dual_gap(users: Users, multiplier: np.ndarray, target: np.ndarray, mixed: Mixed) -> float:
        """Return the relative gap between the dual bound and the utility reached."""
        n = users.n_items
        best = users.atom(np.ones(n), multiplier)
        bound = float(best.point[:n].sum() + multiplier @ (best.point[n:] - target))
        reached = float(mixed.point[:n].sum())
        return (bound - reached) / max(abs(bound), 1e-300)


class _Lagrangian:
    """Utility minus a penalty on missed exposures plus multipliers times the missed exposures."""

    def __init__(self, target: np.ndarray, price: float) -> None:
        self.target, self.price, self.n = target, price, len(target)
        self.multiplier = np.zeros(len(target))

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient at a point."""
        shift = self.multiplier - self.price * (point[self.n :] - self.target)
        return np.concatenate([np.ones(self.n), shift])

    def keys(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys that rank the items of a user: relevance plus the value of exposure."""
        return gradient[: self.n], gradient[self.n :]

    def reweigh(self, table: np.ndarray, weights: np.ndarray, gap: float) -> np.ndarray:
        """Return improved weights of the atoms."""
        return pairwise_steps(self, table, weights, gap)

    def relative(self, gradient: np.ndarray, point: np.ndarray) -> float:
        """Return the factor that makes a gap relative to the utility."""
        return 1.0 / max(float(point[: self.n].sum()), 1e-300)
