"""Frank-Wolfe over mixtures of lists: new lists by sorting, weights by pairwise steps.

All that counts of a set of lists is a vector of sums over users (the impact of each item, then the
exposure of each), which is linear in the mixture. The objective is a concave function of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...core.extras import progress
from ...kernels.top_lists import add_worth, top_lists

__all__ = ["AnyImpact", "Atom", "Concave", "Mixed", "Users", "climb", "pairwise_steps"]


class Concave(Protocol):
    """An objective to be maximised."""

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Give the gradient at a point."""

    def keys(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give scale and shift: a user's best items have the largest relevance * scale + shift."""

    def reweigh(self, table: np.ndarray, weights: np.ndarray, gap: float) -> np.ndarray:
        """Give better weights of atoms, whose vectors are the rows of the table."""


@dataclass(frozen=True, eq=False)
class Atom:
    """Lists for all users (None: any items at random) and their vector."""

    lists: np.ndarray | None
    point: np.ndarray


@dataclass(eq=False)
class Mixed:
    """A mixture of atoms, and how far from the best it can be at most."""

    atoms: list[Atom]
    weights: np.ndarray
    point: np.ndarray
    gap: float
    steps: int


class Users:
    """The users' relevances, worked through in blocks: sparse ones are never dense at once."""

    def __init__(self, relevance: np.ndarray, attention: np.ndarray) -> None:
        self.relevance, self.attention = relevance, attention
        self.n_users, self.n_items = relevance.shape

    def atom(self, scale: np.ndarray, shift: np.ndarray) -> Atom:
        """Give every user the best list at these keys."""
        lists = np.empty((self.n_users, len(self.attention)), dtype=np.int32)
        impact, exposure = np.zeros(self.n_items), np.zeros(self.n_items)
        for begin in range(0, self.n_users, 1024):
            block = self.block(begin)
            part = lists[begin : begin + 1024]
            top_lists(block, scale, shift, len(self.attention), part)
            add_worth(block, part, self.attention, impact, exposure)
        return Atom(lists, np.concatenate([impact, exposure]))

    def uniform(self) -> Atom:
        """Give every user any items at random."""
        share = self.attention.sum() / self.n_items
        impact = np.asarray(self.relevance.sum(axis=0), dtype=np.float64).ravel() * share
        return Atom(None, np.concatenate([impact, np.full(self.n_items, self.n_users * share)]))

    def block(self, begin: int) -> np.ndarray:
        """Give some users' relevances as a plain array."""
        part = self.relevance[begin : begin + 1024]
        return part.toarray() if hasattr(part, "toarray") else part


class AnyImpact(Users):
    """Users for whom item i at place k is worth ``impact[u, i, k]``, whatever that may be.

    A user's best list is then an assignment of items to places, not a sort: for small sets.
    """

    def __init__(self, impact: np.ndarray, attention: np.ndarray) -> None:
        super().__init__(impact.mean(axis=2), attention)
        self.impact = impact

    def atom(self, scale: np.ndarray, shift: np.ndarray) -> Atom:
        """Give every user the best list at these keys."""
        lists = np.empty((self.n_users, len(self.attention)), dtype=np.int32)
        gained, exposure = np.zeros(self.n_items), np.zeros(self.n_items)
        for user in range(self.n_users):
            worth = self.impact[user] * scale[:, None] + shift[:, None] * self.attention
            items, places = linear_sum_assignment(worth, maximize=True)
            lists[user, places] = items
            gained[items] += self.impact[user, items, places]
            exposure[items] += self.attention[places]
        return Atom(lists, np.concatenate([gained, exposure]))

    def uniform(self) -> Atom:
        """Give every user any items at random."""
        gained = self.impact.sum(axis=(0, 2)) / self.n_items
        share = self.n_users * self.attention.sum() / self.n_items
        return Atom(None, np.concatenate([gained, np.full(self.n_items, share)]))


def climb(
    users: Users,
    objective: Concave,
    start: Atom,
    *,
    tol: float,
    max_iter: int,
    relative: Callable[[np.ndarray, np.ndarray], float],
    mixed: Mixed | None = None,
) -> Mixed:
    """Maximise a concave function of the mixture's vector.

    Each round takes the lists that are best for the gradient: the gap between them and the mixture
    bounds how much can still be won. Then weight is moved from the worst to the best atom, by exact
    line search, as long as that promises more than half the gap.
    """
    if mixed is None:
        mixed = Mixed([start], np.ones(1), start.point.copy(), np.inf, 0)
    for _ in progress(range(max_iter), "sharing attention", total=max_iter):
        gradient = objective.gradient(mixed.point)
        found = users.atom(*objective.keys(gradient))
        gap = float(gradient @ (found.point - mixed.point))
        mixed.gap = relative(gradient, mixed.point) * gap
        mixed.steps += 1
        if mixed.gap <= tol:
            break
        mixed.atoms.append(found)
        mixed.weights = np.append(mixed.weights, 0.0)
        _reweigh(mixed, objective, gap)
    return mixed


def _reweigh(mixed: Mixed, objective: Concave, gap: float) -> None:
    """Move weight between atoms; drop the ones that have none left."""
    table = np.array([atom.point for atom in mixed.atoms])
    weights = objective.reweigh(table, mixed.weights, gap)
    kept = np.flatnonzero(weights > 0.0)
    mixed.atoms = [mixed.atoms[at] for at in kept]
    mixed.weights = weights[kept] / weights[kept].sum()
    mixed.point = mixed.weights @ table[kept]


def pairwise_steps(
    objective: Concave, table: np.ndarray, weights: np.ndarray, gap: float
) -> np.ndarray:
    """Move weight from the worst atom to the best until no pair promises half the gap."""
    weights = weights.copy()
    point = weights @ table
    for _ in range(50 * len(table)):
        worth = table @ objective.gradient(point)
        toward = int(np.argmax(worth))
        away = int(np.argmin(np.where(weights > 0.0, worth, np.inf)))
        if worth[toward] - worth[away] <= 0.5 * gap:
            break
        step = table[toward] - table[away]
        size = _line_search(objective, point, step, float(weights[away]))
        weights[toward] += size
        weights[away] -= size
        if weights[away] < 1e-15:
            weights[away] = 0.0
        point = point + size * step
    return weights


def _line_search(objective: Concave, point: np.ndarray, step: np.ndarray, most: float) -> float:
    """Find where the slope along the step vanishes, by bisection; ``most`` if it never does."""
    if objective.gradient(point + most * step) @ step >= 0.0:
        return most
    low, high = 0.0, most
    for _ in range(60):
        middle = 0.5 * (low + high)
        if objective.gradient(point + middle * step) @ step > 0.0:
            low = middle
        else:
            high = middle
        if high - low <= 1e-4 * high:
            break
    return low
