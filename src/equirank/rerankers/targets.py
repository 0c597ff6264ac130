"""Target shares of groups, given or taken from the pool."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.params import Label, Number
from .guaranteed import Missed, Pool

__all__ = ["Shares", "candidates", "first_missing", "group_values", "target_shares"]


class Shares:
    """A mapping of group to share that sums to 1, or None."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is such a mapping."""
        if value is None:
            return True
        if not isinstance(value, Mapping) or not all(Label().accepts(label) for label in value):
            return False
        known = all(Number(0.0, 1.0).accepts(share) for share in value.values())
        return known and abs(float(sum(value.values())) - 1.0) < 1e-9

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a mapping of every group to its share, summing to 1, or None for the pool's shares"


def group_values(owner: str, name: str, given: Mapping[Any, Any], pool: Pool) -> dict[int, Any]:
    """Give the values of a mapping by the code of their group; an unknown group is an error."""
    found: dict[int, Any] = {}
    for label, value in given.items():
        code = pool.groups.code(label, f"{name} of {owner}")
        if code in found:
            raise DataError(f"{name} of {owner} must name each group once, got {label!r} twice")
        found[code] = value
    return found


def target_shares(owner: str, proportions: Mapping[Any, float] | None, pool: Pool) -> np.ndarray:
    """Give the target share of each group in each list (query x group)."""
    if proportions is None:
        return pool.shares
    found = group_values(owner, "proportions", proportions, pool)
    for code, label in enumerate(pool.groups.categories):
        if code not in found:
            raise DataError(
                f"proportions of {owner} must name every group, and {label!r} is missing "
                "(a share of 0 is allowed)"
            )
    shares = np.zeros(pool.n_groups)
    for code, share in found.items():
        shares[code] = float(share)
    return np.ascontiguousarray(np.broadcast_to(shares, pool.sizes.shape))


def first_missing(pool: Pool, shares: np.ndarray) -> Missed:
    """Find the first prefix j that asks for more of a group, ``floor(j p)``, than the list has."""
    from ..kernels.prefix_bounds import ROUNDING

    there = candidates(pool)
    prefix = np.full(there.shape, np.iinfo(np.int64).max)
    short = np.floor(pool.limit[:, None] * shares + ROUNDING) > there
    wanted = np.ceil((there[short] + 1 - ROUNDING) / shares[short]).astype(np.int64)
    prefix[short] = wanted
    group = np.argmin(prefix, axis=1)
    first = prefix[np.arange(len(prefix)), group]
    return Missed(np.where(short.any(axis=1), first, 0), group)


def candidates(pool: Pool) -> np.ndarray:
    """Count the candidates of each group in each list (query x group): those that are shown."""
    if (pool.shown == np.diff(pool.offsets)).all():
        return pool.sizes
    n_queries = len(pool.shown)
    query = np.repeat(np.arange(n_queries), np.diff(pool.offsets))
    place = np.arange(len(query)) - pool.offsets[:-1][query]
    cell = (query * pool.n_groups + pool.codes)[place < pool.shown[query]]
    flat = np.bincount(cell, minlength=n_queries * pool.n_groups)
    return flat.reshape(n_queries, pool.n_groups)
