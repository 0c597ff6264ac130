"""The door for policies of users and items: who sees what at which place."""

from typing import Any

import numpy as np

from ...core.errors import DataError

__all__ = ["read_policy", "read_relevance"]

#: Probabilities may add up to this much more than 1.
ROUNDING = 1e-6


def read_relevance(relevance: Any, attention: Any) -> tuple[np.ndarray, np.ndarray]:
    """Check relevance (user x item) and the attention of places 1 to K."""
    r = _numbers("relevance", relevance, 2, "users x items")
    e = _numbers("attention", attention, 1, "one value per place")
    if len(e) > r.shape[1]:
        raise DataError(
            f"attention must have no more places than there are items ({r.shape[1]}), got {len(e)}"
        )
    return r, e


def read_policy(
    policy: Any, relevance: np.ndarray, attention: np.ndarray, name: str = "policy"
) -> np.ndarray:
    """Check the probability that user u sees item i at place k (user x item x place)."""
    x = _numbers(name, policy, 3, "users x items x places")
    wanted = (*relevance.shape, len(attention))
    if x.shape != wanted:
        raise DataError(
            f"{name} must have the shape {wanted} (users, items, places), got {x.shape}"
        )
    for axis, words in ((1, "at a place"), (2, "of an item over the places")):
        total = x.sum(axis=axis)
        if (total > 1 + ROUNDING).any():
            at = np.unravel_index(int(np.argmax(total)), total.shape)
            user, other = int(at[0]), int(at[1])
            what = "place" if axis == 1 else "item"
            raise DataError(
                f"{name} must be probabilities that add up to at most 1 {words}, got "
                f"{total[at]:.6g} for user {user}, {what} {other}"
            )
    return x


def _numbers(name: str, values: Any, dimensions: int, words: str) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers ({words})") from None
    if array.ndim != dimensions or array.size == 0:
        raise DataError(
            f"{name} must have {dimensions} dimension{'s' * (dimensions > 1)} ({words}) and at "
            f"least one value, got shape {array.shape}"
        )
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        where = at[0] if dimensions == 1 else at
        raise DataError(f"{name} must be finite numbers >= 0, got {array[at]!s} at {where}")
    return array
