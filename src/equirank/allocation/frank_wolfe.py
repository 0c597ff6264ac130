"""Frank-Wolfe over mixtures of lists for many users."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..core.environment import progress
from ..core.errors import DataError
from ..kernels.compiled import compiled
from ..kernels.discounts import discounts
from .user_item_policy import UserItemPolicy

__all__ = [
    "AnyImpact",
    "Atom",
    "Concave",
    "Mixed",
    "Users",
    "add_impact",
    "climb",
    "mixture_policy",
    "pairwise_steps",
    "read_users",
    "top_lists",
]


@compiled
def top_lists(
    relevance: np.ndarray, scale: np.ndarray, shift: np.ndarray, size: int, lists: np.ndarray
) -> None:
    """Write the items of each user with the largest ``relevance * scale + shift``, best first.

    Ties are broken by item number. ``lists`` is users x positions.
    """
    best = np.empty(size)
    for user in range(relevance.shape[0]):
        filled = 0
        for item in range(relevance.shape[1]):
            value = relevance[user, item] * scale[item] + shift[item]
            if filled == size and value <= best[size - 1]:
                continue
            at = filled if filled < size else size - 1
            while at > 0 and best[at - 1] < value:
                best[at] = best[at - 1]
                lists[user, at] = lists[user, at - 1]
                at -= 1
            best[at] = value
            lists[user, at] = item
            if filled < size:
                filled += 1


@compiled
def add_impact(
    relevance: np.ndarray, lists: np.ndarray, attention: np.ndarray, impact: np.ndarray,
    exposure: np.ndarray,
) -> None:  # fmt: skip
    """Add the impact and exposure of these users' lists to those of the items."""
    for user in range(lists.shape[0]):
        for position in range(lists.shape[1]):
            item = lists[user, position]
            exposure[item] += attention[position]
            impact[item] += attention[position] * relevance[user, item]


class Concave(Protocol):
    """A concave objective to be maximised."""

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient at a point."""

    def keys(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scale and shift: the best items have the largest relevance * scale + shift."""

    def reweigh(self, table: np.ndarray, weights: np.ndarray, gap: float) -> np.ndarray:
        """Return improved weights of the atoms, whose vectors are the rows of the table."""


@dataclass(frozen=True, eq=False)
class Atom:
    """Lists for all users (None: random items) and their vector."""

    lists: np.ndarray | None
    point: np.ndarray


@dataclass(eq=False)
class Mixed:
    """A mixture of atoms, with a bound on its gap to the optimum."""

    atoms: list[Atom]
    weights: np.ndarray
    point: np.ndarray
    gap: float
    steps: int


class Users:
    """The relevances of the users, processed in blocks so that sparse ones stay sparse."""

    def __init__(self, relevance: np.ndarray, attention: np.ndarray) -> None:
        self.relevance, self.attention = relevance, attention
        self.n_users, self.n_items = relevance.shape

    def atom(self, scale: np.ndarray, shift: np.ndarray) -> Atom:
        """Return the best list of every user for these keys."""
        lists = np.empty((self.n_users, len(self.attention)), dtype=np.int32)
        impact, exposure = np.zeros(self.n_items), np.zeros(self.n_items)
        for begin in range(0, self.n_users, 1024):
            block = self.block(begin)
            part = lists[begin : begin + 1024]
            top_lists(block, scale, shift, len(self.attention), part)
            add_impact(block, part, self.attention, impact, exposure)
        return Atom(lists, np.concatenate([impact, exposure]))

    def uniform(self) -> Atom:
        """Return random items for every user."""
        share = self.attention.sum() / self.n_items
        impact = np.asarray(self.relevance.sum(axis=0), dtype=np.float64).ravel() * share
        return Atom(None, np.concatenate([impact, np.full(self.n_items, self.n_users * share)]))

    def block(self, begin: int) -> np.ndarray:
        """Return the relevances of a block of users as a dense array."""
        part = self.relevance[begin : begin + 1024]
        return part.toarray() if hasattr(part, "toarray") else part


class AnyImpact(Users):
    """Users with an arbitrary impact ``impact[u, i, k]`` of item i at position k.

    The best list of a user is an assignment of items to positions, which suits small data.
    """

    def __init__(self, impact: np.ndarray, attention: np.ndarray) -> None:
        super().__init__(impact.mean(axis=2), attention)
        self.impact = impact

    def atom(self, scale: np.ndarray, shift: np.ndarray) -> Atom:
        """Return the best list of every user for these keys."""
        lists = np.empty((self.n_users, len(self.attention)), dtype=np.int32)
        gained, exposure = np.zeros(self.n_items), np.zeros(self.n_items)
        for user in range(self.n_users):
            value = self.impact[user] * scale[:, None] + shift[:, None] * self.attention
            items, positions = linear_sum_assignment(value, maximize=True)
            lists[user, positions] = items
            gained[items] += self.impact[user, items, positions]
            exposure[items] += self.attention[positions]
        return Atom(lists, np.concatenate([gained, exposure]))

    def uniform(self) -> Atom:
        """Return random items for every user."""
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

    Each iteration adds the best lists for the gradient; the gap between them and the mixture bounds
    the possible gain. Then weight moves from the worst to the best atom, by exact line search, as
    long as the gain exceeds half the gap.
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
    """Move weight between atoms, and drop those without weight."""
    table = np.array([atom.point for atom in mixed.atoms])
    weights = objective.reweigh(table, mixed.weights, gap)
    kept = np.flatnonzero(weights > 0.0)
    mixed.atoms = [mixed.atoms[at] for at in kept]
    mixed.weights = weights[kept] / weights[kept].sum()
    mixed.point = mixed.weights @ table[kept]


def pairwise_steps(
    objective: Concave, table: np.ndarray, weights: np.ndarray, gap: float
) -> np.ndarray:
    """Move weight from the worst atom to the best until no pair gains half the gap."""
    weights = weights.copy()
    point = weights @ table
    for _ in range(50 * len(table)):
        slope = table @ objective.gradient(point)
        toward = int(np.argmax(slope))
        away = int(np.argmin(np.where(weights > 0.0, slope, np.inf)))
        if slope[toward] - slope[away] <= 0.5 * gap:
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
    """Return where the derivative along the step vanishes, by bisection, at most ``most``."""
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


def read_users(owner: str, relevance: Any, k: int | None, discount: Any) -> Users:
    """Check relevances (users x items) and the exposure of the positions."""
    if hasattr(relevance, "tocsr"):
        table: Any = relevance.tocsr()
        values = table.data
    else:
        table = np.asarray(relevance)
        if table.dtype not in (np.float32, np.float64):
            table = np.asarray(table, dtype=np.float64)
        values = table
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(f"relevance of {owner} must be users x items, got shape {table.shape}")
    if not (np.isfinite(values).all() and (values >= 0.0).all()):
        bad = ~(np.isfinite(values) & (values >= 0.0))
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise DataError(
            f"relevance of {owner} must be finite numbers >= 0, got {values[where]} at {where}"
        )
    size = table.shape[1] if k is None else k
    if size > table.shape[1]:
        raise DataError(
            f"k of {owner} must be at most the number of items ({table.shape[1]}), got {k}"
        )
    attention = np.asarray(discounts(size, discount), dtype=np.float64)
    if (np.diff(attention) > 0.0).any():
        raise DataError(f"discount of {owner} must not increase from one position to the next")
    return Users(table, attention)


def mixture_policy(users: Users, mixed: Mixed) -> UserItemPolicy:
    """Return a mixture of atoms as a policy."""
    shown = [at for at, atom in enumerate(mixed.atoms) if atom.lists is not None]
    lists = [mixed.atoms[at].lists for at in shown]
    empty = np.zeros((0, users.n_users, len(users.attention)), dtype=np.int32)
    weights = mixed.weights[shown]
    return UserItemPolicy(
        np.array(lists) if lists else empty,
        weights,
        users.attention,
        users.n_items,
        uniform=max(0.0, 1.0 - float(weights.sum())) if len(shown) < len(mixed.atoms) else 0.0,
    )
