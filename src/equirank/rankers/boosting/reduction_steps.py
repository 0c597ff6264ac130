"""The steps of the fairness reduction: rankers found so far, and the best mixture of them."""

from typing import Any

import numpy as np

from ...core.errors import DataError
from .pairwise_constraint import PairwiseConstraint

__all__ = ["ReductionSteps"]

#: The part of eps that a single ranker aims at, so as not to land just outside.
INSIDE = 0.9
#: How many times tol a single ranker may have more error than the mixture.
NEARLY = 10.0


class ReductionSteps:
    """The rankers found so far and what is known of them."""

    def __init__(self, rule: PairwiseConstraint, eps: float, bound: float) -> None:
        self.rule, self.eps, self.bound = rule, eps, bound
        self.members: list[Any] = []
        self.net: list[np.ndarray] = []
        self.errors: list[float] = []
        self.differences: list[np.ndarray] = []
        self.history: list[tuple[float, ...]] = []
        self.gap = np.inf

    def multipliers(self, theta: np.ndarray) -> np.ndarray:
        """Give the net multiplier of each difference."""
        top = float(theta.max(initial=0.0))
        raised = np.exp(theta - top)
        both = self.bound * raised / (np.exp(-top) + raised.sum())
        return both[0] - both[1]

    def priced(self) -> np.ndarray | None:
        """Give the multipliers that the mixture so far asks for.

        Of two groups the mean multiplier of the mixture that stays somewhat within eps, None where
        that is a single ranker, whose multiplier was tried already. Of more groups the prices of
        the linear program: the ranker that is best by them is the one that helps it most.
        """
        if len(self.rule.labels) == 1:
            weights = self.mix(INSIDE * self.eps)[0]
            return np.asarray(weights @ np.array(self.net)) if (weights > 0).sum() > 1 else None
        net = self.prices()
        size = float(np.abs(net).sum())
        return net * min(1.0, self.bound / size) if size > 0 else None

    def prices(self) -> np.ndarray:
        """Give by how much the mixture's error would fall per unit of each difference."""
        errors, table = np.array(self.errors), np.array(self.differences).T
        excess = _program(np.append(np.zeros(len(errors)), 1.0), table, self.eps, np.inf).x[-1]
        found = _program(np.append(errors, 0.0), table, self.eps, excess + 1e-9)
        both = -np.asarray(found.ineqlin.marginals)
        half = len(both) // 2
        return both[:half] - both[half:]

    def add(self, model: Any, net: np.ndarray, error: float, difference: np.ndarray) -> None:
        """Take in the ranker of a step and note how matters stand."""
        self.members.append(model)
        self.net.append(net)
        self.errors.append(error)
        self.differences.append(difference)
        _, mixed_error, mixed_violation = self.mix()
        primal = mixed_error + self.bound * max(0.0, mixed_violation - self.eps)
        violation = float(np.abs(difference).max(initial=0.0))
        self.gap = primal - self.dual()
        self.history.append((error, violation, mixed_error, mixed_violation, self.gap))

    def dual(self) -> float:
        """Give the largest Lagrangian value of a step's multipliers, each with its best ranker."""
        net, table = np.array(self.net), np.array(self.differences)
        value = np.array(self.errors) + net @ table.T - self.eps * np.abs(net).sum(1)[:, None]
        return float(value.min(axis=1).max())

    def mix(self, eps: float | None = None) -> tuple[np.ndarray, float, float]:
        """Find the mixture of least violation beyond eps, then of least error.

        Gives weights, error and violation.
        """
        errors, table = np.array(self.errors), np.array(self.differences).T
        eps = self.eps if eps is None else eps
        excess = _program(np.append(np.zeros(len(errors)), 1.0), table, eps, np.inf).x[-1]
        weights = _program(np.append(errors, 0.0), table, eps, excess + 1e-9).x[:-1]
        weights = np.where(weights < 1e-9, 0.0, weights)
        weights = weights / weights.sum()
        return weights, float(errors @ weights), float(np.abs(table @ weights).max(initial=0.0))

    def violations(self) -> np.ndarray:
        """Give the violation of each ranker."""
        return np.abs(np.array(self.differences)).max(axis=1, initial=0.0)

    def within(self) -> np.ndarray:
        """Say which rankers keep to eps."""
        return self.violations() <= self.eps + 1e-12

    def done(self, tol: float) -> bool:
        """Say whether nothing is to be gained: for the mixture within tol, nearly so for one."""
        if not self.within().any():
            return False
        behind = self.errors[self.best()] - self.history[-1][2]
        return len(self.members) == 1 or (self.gap <= tol and behind <= NEARLY * tol)

    def best(self) -> int:
        """Find the ranker of least error within eps, else the one of least violation."""
        within = self.within()
        if within.any():
            return int(np.argmin(np.where(within, self.errors, np.inf)))
        return int(np.argmin(self.violations()))


def _program(price: np.ndarray, table: np.ndarray, eps: float, most: float) -> Any:
    """Find shares and an excess over eps of least price, the excess being at most so much."""
    from scipy.optimize import linprog

    size, both = len(price) - 1, np.concatenate([table, -table])
    found = linprog(
        price,
        A_ub=np.hstack([both, -np.ones((len(both), 1))]),
        b_ub=np.full(len(both), eps),
        A_eq=np.append(np.ones(size), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * size + [(0.0, most)],
        method="highs",
    )
    if found.x is None:
        raise DataError(f"no mixture could be found: {found.message}")
    return found
