"""What the re-rankers of users x items share: reading the input and giving back a policy."""

from typing import Any

import numpy as np

from ...core.errors import DataError
from ...kernels.discounts import discounts
from ...policies.user_item_policy import UserItemPolicy
from .frank_wolfe import Mixed, Users

__all__ = ["mixture_policy", "read_users"]


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
    """Give a mixture of atoms as a policy."""
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
