"""UserItemPolicy: the items shown to each user, as a mixture of lists."""

from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.params import Integer, check_params
from ..core.persistence import save
from ..core.random import generator
from ..core.table import Table

__all__ = ["UserItemPolicy"]


class UserItemPolicy:
    """Lists of items for every user: a mixture of a few lists and of random items.

    It is the result of `NashAllocation` and `ExposureAllocation`, and stores a few lists per user
    and their common weights, not users x items x positions numbers.

    Parameters
    ----------
    lists : array-like of int of shape (n_lists, n_users, n_places)
        Item numbers, best first.
    weights : array-like of shape (n_lists,)
        The probability of each list.
    attention : array-like of shape (n_places,)
        Exposure of each position.
    n_items : int
        Number of items.
    uniform : float
        Probability that all positions are filled at random instead.

    Examples
    --------
    Two users, two items and one position; each item is shown to one user:

    >>> from equirank.allocation import UserItemPolicy
    >>> policy = UserItemPolicy([[[0], [1]]], [1.0], [1.0], n_items=2)
    >>> policy.impact([[0.8, 0.3], [0.5, 0.4]])
    array([0.8, 0.4])
    >>> policy.exposure()
    array([1., 1.])
    """

    def __init__(
        self, lists: Any, weights: Any, attention: Any, n_items: int, uniform: float = 0.0
    ) -> None:
        self.lists = np.asarray(lists, dtype=np.int32)
        self.weights = np.asarray(weights, dtype=np.float64)
        self.attention = np.asarray(attention, dtype=np.float64)
        self.n_items = n_items
        self.uniform = uniform
        if self.lists.ndim != 3 or self.lists.shape[2] != len(self.attention):
            raise DataError(
                f"lists must have the shape (lists, users, {len(self.attention)}), with a position "
                f"per value of attention, got {self.lists.shape}"
            )
        if self.weights.shape != (len(self.lists),) or (self.weights < 0.0).any():
            raise DataError("weights must be one number >= 0 per list")
        if abs(float(self.weights.sum()) + uniform - 1.0) > 1e-6:
            raise DataError(
                f"weights and uniform must add up to 1, got {self.weights.sum() + uniform:.6g}"
            )

    @property
    def n_users(self) -> int:
        """Number of users."""
        return int(self.lists.shape[1])

    def impact(self, relevance: Any) -> np.ndarray:
        """Return the impact of each item: exposure times relevance, over users and positions."""
        values = _dense(relevance)
        result = np.zeros(self.n_items)
        users = np.arange(self.n_users)[:, None]
        for weight, shown in zip(self.weights, self.lists, strict=True):
            impact = weight * values[users, shown] * self.attention
            result += np.bincount(shown.ravel(), impact.ravel(), minlength=self.n_items)
        if self.uniform > 0.0:
            result += self.uniform * values.sum(axis=0) * self.attention.sum() / self.n_items
        return result

    def user_utility(self, relevance: Any) -> np.ndarray:
        """Return the utility of each user."""
        values = _dense(relevance)
        users = np.arange(self.n_users)[:, None]
        result = np.zeros(self.n_users)
        for weight, shown in zip(self.weights, self.lists, strict=True):
            result += weight * (values[users, shown] @ self.attention)
        return result + self.uniform * values.mean(axis=1) * self.attention.sum()

    def exposure(self) -> np.ndarray:
        """Return the exposure of each item, summed over users and positions."""
        result = np.zeros(self.n_items)
        for weight, shown in zip(self.weights, self.lists, strict=True):
            drawn = np.broadcast_to(weight * self.attention, shown.shape)
            result += np.bincount(shown.ravel(), drawn.ravel(), minlength=self.n_items)
        return result + self.uniform * self.n_users * self.attention.sum() / self.n_items

    def sample(self, random_state: Any = None) -> np.ndarray:
        """Draw a list for every user: item numbers (users x positions)."""
        rng = generator(random_state)
        edges = np.cumsum(self.weights)
        chosen = np.searchsorted(edges, rng.random(self.n_users), side="right")
        result = np.empty((self.n_users, len(self.attention)), dtype=np.int32)
        for user, at in enumerate(chosen):
            if at < len(self.lists):
                result[user] = self.lists[at, user]
            else:
                result[user] = rng.choice(self.n_items, len(self.attention), replace=False)
        return result

    def to_array(self) -> np.ndarray:
        """Return the probabilities (users x items x positions), for small data and for metrics."""
        result = np.zeros((self.n_users, self.n_items, len(self.attention)))
        users = np.arange(self.n_users)[:, None]
        positions = np.arange(len(self.attention))
        for weight, shown in zip(self.weights, self.lists, strict=True):
            result[users, shown, positions] += weight
        return result + self.uniform / self.n_items

    def to_table(self, user: int = 0) -> Table:
        """Return the lists of one user: list, weight, place, item."""
        check_params("to_table", {"user": user}, {"user": Integer(0, self.n_users - 1)})
        count, size = len(self.lists), len(self.attention)
        return Table(
            {
                "list": np.repeat(np.arange(count), size),
                "weight": np.repeat(self.weights, size),
                "place": np.tile(np.arange(1, size + 1), count),
                "item": self.lists[:, user].ravel(),
            },
            None,
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the policy."""
        names = ("lists", "weights", "attention", "n_items", "uniform")
        return {name: getattr(self, name) for name in names}

    def save(self, folder: str | Path) -> None:
        """Save the policy to a folder that `equirank.load` reads, without pickle."""
        save(self, folder)


def _dense(relevance: Any) -> np.ndarray:
    values = relevance.toarray() if hasattr(relevance, "toarray") else relevance
    return np.asarray(values, dtype=np.float64)
