"""The best few items of every user, and what a list of them is worth to the items (compiled)."""

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
    "add_worth",
    "climb",
    "mixture_policy",
    "pairwise_steps",
    "read_users",
    "top_lists",
]


@compiled
def top_lists(
    relevance: np.ndarray, scale: np.ndarray, shift: np.ndarray, places: int, lists: np.ndarray
) -> None:
    """Write each user's items with the largest ``relevance * scale + shift``, best first.

    Equal items: the lowest number first. ``lists`` is users x places.
    """
    best = np.empty(places)
    for user in range(relevance.shape[0]):
        filled = 0
        for item in range(relevance.shape[1]):
            value = relevance[user, item] * scale[item] + shift[item]
            if filled == places and value <= best[places - 1]:
                continue
            at = filled if filled < places else places - 1
            while at > 0 and best[at - 1] < value:
                best[at] = best[at - 1]
                lists[user, at] = lists[user, at - 1]
                at -= 1
            best[at] = value
            lists[user, at] = item
            if filled < places:
                filled += 1


@compiled
def add_worth(
    relevance: np.ndarray, lists: np.ndarray, attention: np.ndarray, impact: np.ndarray,
    exposure: np.ndarray,
) -> None:  # fmt: skip
    """Add to each item's impact and exposure what these users' lists give it."""
    for user in range(lists.shape[0]):
        for place in range(lists.shape[1]):
            item = lists[user, place]
            exposure[item] += attention[place]
            impact[item] += attention[place] * relevance[user, item]


class Concave(Protocol):
    """An objective to be maximised."""

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient at a point."""

    def keys(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scale and shift: a user's best items have the largest relevance * scale + shift."""

    def reweigh(self, table: np.ndarray, weights: np.ndarray, gap: float) -> np.ndarray:
        """Return better weights of atoms, whose vectors are the rows of the table."""


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
        """Return every user the best list at these keys."""
        lists = np.empty((self.n_users, len(self.attention)), dtype=np.int32)
        impact, exposure = np.zeros(self.n_items), np.zeros(self.n_items)
        for begin in range(0, self.n_users, 1024):
            block = self.block(begin)
            part = lists[begin : begin + 1024]
            top_lists(block, scale, shift, len(self.attention), part)
            add_worth(block, part, self.attention, impact, exposure)
        return Atom(lists, np.concatenate([impact, exposure]))

    def uniform(self) -> Atom:
        """Return every user any items at random."""
        share = self.attention.sum() / self.n_items
        impact = np.asarray(self.relevance.sum(axis=0), dtype=np.float64).ravel() * share
        return Atom(None, np.concatenate([impact, np.full(self.n_items, self.n_users * share)]))

    def block(self, begin: int) -> np.ndarray:
        """Return some users' relevances as a plain array."""
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
        """Return every user the best list at these keys."""
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
        """Return every user any items at random."""
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


def read_users(owner: str, relevance: Any, k: int | None, discount: Any) -> Users:
    """Check users x items relevances and the attention of the places."""
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
    places = table.shape[1] if k is None else k
    if places > table.shape[1]:
        raise DataError(
            f"k of {owner} must be at most the number of items ({table.shape[1]}), got {k}"
        )
    attention = np.asarray(discounts(places, discount), dtype=np.float64)
    if (np.diff(attention) > 0.0).any():
        raise DataError(f"discount of {owner} must not rise from one place to the next")
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
