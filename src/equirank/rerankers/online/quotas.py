"""Floors and ceilings of a choice: what can be met, and in words what cannot."""

import numpy as np

__all__ = ["closest_quotas", "why_not"]


def closest_quotas(
    floors: np.ndarray, ceilings: np.ndarray, sizes: np.ndarray, limit: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give floors and ceilings (query x group) that can be met, and the queries that were changed.

    No group is asked for more than its members; then all bounds of a query are widened by the
    smallest number that is enough.
    """
    least, most = floors.copy(), np.minimum(ceilings, sizes)
    failed = np.flatnonzero(~_possible(least, most, sizes, limit))
    for query in failed.tolist():
        need, k = np.minimum(floors[query], sizes[query]), limit[query : query + 1]
        wide = 0
        while True:
            low = np.maximum(need - wide, 0)[None]
            high = np.minimum(ceilings[query] + wide, sizes[query])[None]
            if _possible(low, high, sizes[query : query + 1], k)[0]:
                break
            wide += 1
        least[query], most[query] = low[0], high[0]
    return least, most, failed


def _possible(
    least: np.ndarray, most: np.ndarray, sizes: np.ndarray, limit: np.ndarray
) -> np.ndarray:
    inside = (least <= most).all(axis=1)
    return inside & (least.sum(axis=1) <= limit) & (most.sum(axis=1) >= limit)


def why_not(
    floors: np.ndarray,
    ceilings: np.ndarray,
    sizes: np.ndarray,
    k: int,
    labels: tuple[object, ...],
) -> str:
    """Say which group makes the bounds of one choice impossible."""
    for g, label in enumerate(labels):
        if floors[g] > sizes[g]:
            return f"{floors[g]} of group {label!r} are asked for, and the list has {sizes[g]}"
        if floors[g] > ceilings[g]:
            return f"at least {floors[g]} and at most {ceilings[g]} of group {label!r}"
    if floors.sum() > k:
        asked = ", ".join(f"{floors[g]} of {labels[g]!r}" for g in np.flatnonzero(floors))
        return f"the {k} places need {asked}: {floors.sum()} in all"
    short = " and ".join(repr(labels[g]) for g in np.flatnonzero(ceilings < sizes))
    room = int(np.minimum(ceilings, sizes).sum())
    return f"{k} places are to be filled, and the ceilings of {short} leave {room}"
