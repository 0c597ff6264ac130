"""Who is protected by FA*IR, and with which chance."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.params import Label, Number
from ..guaranteed import Pool
from ..targets import group_values

__all__ = ["Labels", "OpenShares", "protected_shares"]


class Labels:
    """The name of a group, or a list of names."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value can be such a name or list."""
        names = value if isinstance(value, (tuple, list)) else [value]
        return len(names) > 0 and all(Label().accepts(name) for name in names)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a group's name or a list of names"


class OpenShares:
    """A mapping of groups to chances in (0, 1) that sum to at most 1."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is such a mapping."""
        if not isinstance(value, Mapping) or not value:
            return False
        inside = Number(0, 1, open_low=True, open_high=True)
        good = all(Label().accepts(name) for name in value)
        good = good and all(inside.accepts(share) for share in value.values())
        return good and sum(float(share) for share in value.values()) < 1.0 + 1e-9

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a mapping of groups to numbers in (0, 1) that sum to at most 1"


def protected_shares(reranker: Any, pool: Pool) -> tuple[list[int], np.ndarray]:
    """Give the codes of the protected groups and their chances (query x protected group)."""
    name, p, named = type(reranker).__name__, reranker.p, reranker.protected
    given = group_values(name, "p", p, pool) if isinstance(p, Mapping) else None
    if named is not None:
        labels = named if isinstance(named, (tuple, list)) else [named]
        codes = [pool.groups.code(label, f"protected of {name}") for label in labels]
        if len(set(codes)) < len(codes):
            raise DataError(f"protected of {name} must name each group once, got {named!r}")
    elif given is not None:
        codes = _without_largest(given, pool)
    else:
        codes = _usual(pool)
    if given is not None:
        return codes, _given_shares(name, given, codes, pool)
    if p is None:
        return codes, pool.shares[:, codes]
    if len(codes) > 1:
        raise DataError(
            f"p of {name} must be a mapping of the protected groups to their chances, since there "
            f"are {len(codes)} of them ({_names(pool, codes)}), or protected must name one; got {p}"
        )
    return codes, np.full((len(pool.limit), 1), float(p))


def _given_shares(name: str, given: dict[int, float], codes: list[int], pool: Pool) -> np.ndarray:
    missing = [code for code in codes if code not in given]
    if missing:
        raise DataError(
            f"p of {name} must name every protected group, and {_names(pool, missing)} is missing"
        )
    shares = np.array([float(given[code]) for code in codes])
    if len(codes) > 1 and shares.sum() >= 1.0 - 1e-9:
        raise DataError(
            f"p of {name} must leave a chance to others than the protected groups, and those of "
            f"{_names(pool, codes)} sum to 1: leave one out, or name the others in protected"
        )
    return np.broadcast_to(shares, (len(pool.limit), len(codes)))


def _without_largest(given: dict[int, float], pool: Pool) -> list[int]:
    """Take the groups named; of all groups, those without the one that has the largest share."""
    codes = list(given)
    whole = sum(float(share) for share in given.values()) >= 1.0 - 1e-9
    if whole and len(codes) == pool.n_groups and len(codes) > 1:
        codes.remove(max(codes, key=lambda code: given[code]))
    return codes


def _usual(pool: Pool) -> list[int]:
    """Take all groups that occur but the largest; of two equally large, the one that is lower."""
    sizes = pool.sizes.sum(axis=0)
    there = np.flatnonzero(sizes).tolist()
    if len(there) < 2:
        return there
    place = np.arange(len(pool.codes)) - np.repeat(pool.offsets[:-1], np.diff(pool.offsets))
    depth = np.bincount(pool.codes, weights=place, minlength=pool.n_groups) / np.maximum(sizes, 1)
    largest = max(there, key=lambda code: (sizes[code], -depth[code]))
    return [code for code in there if code != largest]


def _names(pool: Pool, codes: list[int]) -> str:
    return ", ".join(repr(pool.groups.categories[code]) for code in codes)
