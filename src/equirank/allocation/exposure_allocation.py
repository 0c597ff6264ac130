"""ExposureAllocation: lists for many users with exposure in proportion to merit."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, cast

import numpy as np
from sklearn.base import BaseEstimator

from ..core.errors import DataError, EquirankWarning, InfeasibleError
from ..core.metric import DISCOUNT
from ..core.params import Choice, Constraint, Instance, Integer, Number, Optional, check_params
from ..kernels.permutahedron import excess, nearest_reachable
from .frank_wolfe import Mixed, Users, climb, mixture_policy, pairwise_steps, read_users
from .user_item_policy import UserItemPolicy

__all__ = ["ExposureAllocation"]


class ExposureAllocation(BaseEstimator):  # type: ignore[misc]
    """Lists of the largest utility under which exposure, over all users, follows merit.

    Maximises ``sum_{u, i, k} r(u, i) e(k) X(u, i, k)`` subject to ``sum_{u, k} e(k) X(u, i, k) =
    T_i``, ``T_i`` proportional to ``link(merit_i)`` with ``merit_i = sum_u r(u, i)``. Solved by
    Frank-Wolfe on the augmented Lagrangian; the gap is the dual bound less the utility reached.
    Infeasible where some items ask for more than as many first places of all lists hold. Equal
    items: the lowest number first.

    Parameters
    ----------
    k : int, optional
        Places of each list; all items by default.
    link : callable, optional
        From the array of merits to what exposure is proportional to; merit itself by default.
    discount : {"log2", "zipf"} or sequence
        Attention of the places; it must not rise.
    on_infeasible : {"error", "best"}
        Raise, or take the nearest reachable exposures and warn.
    tol : float
        Largest deviation from T, in parts of its mean, and largest relative gap.
    max_iter : int
        Most rounds; a warning says where it did not suffice.

    Attributes
    ----------
    gap_, violation_ : float
        What was reached.

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

    params: ClassVar[Mapping[str, Constraint]] = {
        "k": Optional(Integer(1)),
        "link": Optional(Instance(cast(type, Callable), "a function of the merits")),
        "discount": DISCOUNT,
        "on_infeasible": Choice("error", "best"),
        "tol": Number(0.0, open_low=True),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        k: int | None = None,
        *,
        link: Callable[[np.ndarray], Any] | None = None,
        discount: str | Sequence[float] = "log2",
        on_infeasible: Literal["error", "best"] = "error",
        tol: float = 1e-3,
        max_iter: int = 2000,
    ) -> None:
        self.k = k
        self.link = link
        self.discount = discount
        self.on_infeasible = on_infeasible
        self.tol = tol
        self.max_iter = max_iter

    def fit_policy(self, relevance: Any) -> UserItemPolicy:
        """Find the policy for relevances, users x items, dense or sparse."""
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
                "link of ExposureAllocation must give a number >= 0 for each item, one > 0"
            )
        attention = np.zeros(users.n_items)
        attention[: len(users.attention)] = users.attention * users.n_users
        target = wanted * (attention.sum() / wanted.sum())
        over = excess(target, attention)
        if over > 1e-9 * attention.sum():
            worst = int(np.argmax(target))
            what = (
                "ExposureAllocation cannot give every item exposure in proportion to its merit: "
                f"some ask for {over:.4g} more than the first places of all lists hold (item "
                f"{worst} alone asks for {target[worst]:.4g} and can have {attention[0]:.4g})"
            )
            if self.on_infeasible == "error":
                raise InfeasibleError(f"{what}; take the nearest with on_infeasible='best'")
            warnings.warn(what, EquirankWarning, stacklevel=3)
            return nearest_reachable(target, attention)
        return target

    @staticmethod
    def _dual_gap(users: Users, multiplier: np.ndarray, target: np.ndarray, mixed: Mixed) -> float:
        """Return how much more utility than reached any policy with these exposures could have."""
        n = users.n_items
        best = users.atom(np.ones(n), multiplier)
        bound = float(best.point[:n].sum() + multiplier @ (best.point[n:] - target))
        reached = float(mixed.point[:n].sum())
        return (bound - reached) / max(abs(bound), 1e-300)


class _Lagrangian:
    """Utility, less the price of missing the exposures, plus multipliers times what is missed."""

    def __init__(self, target: np.ndarray, price: float) -> None:
        self.target, self.price, self.n = target, price, len(target)
        self.multiplier = np.zeros(len(target))

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient at a point."""
        pull = self.multiplier - self.price * (point[self.n :] - self.target)
        return np.concatenate([np.ones(self.n), pull])

    def keys(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rank a user's items by relevance plus what an item's exposure is worth."""
        return gradient[: self.n], gradient[self.n :]

    def reweigh(self, table: np.ndarray, weights: np.ndarray, gap: float) -> np.ndarray:
        """Return better weights of atoms."""
        return pairwise_steps(self, table, weights, gap)

    def relative(self, gradient: np.ndarray, point: np.ndarray) -> float:
        """Return the factor that makes a gap relative to the utility."""
        return 1.0 / max(float(point[: self.n].sum()), 1e-300)
