"""Smallest and largest divergence of group shares in prefixes over all completions of labels."""

from collections.abc import Callable

import numpy as np

from .prefixes import cut_points, cut_weights, exact_maximum

__all__ = ["PrefixRange", "prefix_range"]

#: Smallest and largest value of a list, whether they are attained, and whether it can be undefined.
PrefixRange = tuple[float, float, bool, bool]
Distance = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
#: Each cut point with its weight.
Cuts = list[tuple[int, float]]
#: Most steps of the exact programme for one list.
MOST_STEPS = 1e8


def prefix_range(
    side: np.ndarray,
    begin: np.ndarray | None,
    end: np.ndarray | None,
    *,
    distance: Distance,
    limit: int,
    step: int = 10,
    discount: str = "paper",
    normalizer: str = "extremes",
) -> PrefixRange:
    """Return the range of rND or rKL of one list over all labels of its unknown people.

    For each number m of unknown people in the group, dynamic programming over cut points and counts
    finds the extreme sum, which the normaliser of that m divides. Between cut points the count
    grows by at most the unknown people there, so that each step is a sliding extreme. Ties, and
    lists with over 1e8 steps, have outer bounds: each cut by itself.

    Parameters
    ----------
    side : ndarray of int
        1, 0 or -1 (unknown) for each position, best first.
    begin, end : ndarray or None
        Begin and end of the tied block of each position; None without ties.
    distance : callable
        Convex in the count, with its minimum where the prefix has the share of the list.
    limit, step, discount, normalizer
        As in the metrics.

    Returns
    -------
    tuple
        Low, high, whether both are attained, and whether some labels leave it undefined.

    Examples
    --------
    >>> from equirank.kernels.prefixes import share_distance
    >>> side = np.array([0, 1, -1, 0, -1, 0])
    >>> prefix_range(side, None, None, distance=share_distance, limit=6, step=2)[2:]
    (True, False)
    """
    n, unknown = len(side), side < 0
    _, cuts, _ = cut_points(np.array([limit]), step)
    free, sure = int(unknown.sum()), int((side == 1).sum())
    sizes = sure + np.arange(free + 1)
    mixed = (sizes > 0) & (sizes < n)
    if len(cuts) == 0 or not mixed.any():
        return np.nan, np.nan, True, True
    weights = cut_weights(cuts, discount)
    worst = _worst(n, sizes, cuts, weights, distance, limit, step, discount, normalizer)
    defined = mixed & (worst > 0)
    if not defined.any():
        return np.nan, np.nan, True, True
    tied = begin is not None and end is not None and _through(cuts, begin, end)
    sharp = not tied and len(cuts) * (free + 1.0) ** 2 <= MOST_STEPS
    reach = _reach(side, cuts, begin, end)
    ends = (_exact if sharp else _outer)(
        reach, sizes, n, list(zip(cuts.tolist(), weights, strict=True)), distance
    )
    low, high = (np.where(defined, part / np.where(defined, worst, 1.0), np.nan) for part in ends)
    return float(np.nanmin(low)), float(np.nanmax(high)), sharp or free == 0, not defined.all()


def _through(cuts: np.ndarray, begin: np.ndarray, end: np.ndarray) -> bool:
    """Return whether a cut is inside a tied block."""
    return bool(np.any((begin[cuts - 1] < cuts) & (cuts < end[cuts - 1])))


def _reach(
    side: np.ndarray, cuts: np.ndarray, begin: np.ndarray | None, end: np.ndarray | None
) -> np.ndarray:
    """Return per cut: known members, unknown people inside, unknown in its block, their chance."""
    members = np.concatenate([[0], np.cumsum(side == 1)])
    unknown = np.concatenate([[0], np.cumsum(side < 0)])
    if begin is None or end is None:
        zero = np.zeros(len(cuts))
        return np.stack([members[cuts], unknown[cuts], zero, zero]).astype(np.float64)
    low, high = begin[cuts - 1], end[cuts - 1]
    chance = (cuts - low) / (high - low)
    whole = high <= cuts
    low = np.where(whole, cuts, low)
    known = members[low] + np.where(whole, 0.0, chance * (members[high] - members[low]))
    block = np.where(whole, 0, unknown[high] - unknown[low])
    return np.stack([known, unknown[low], block, np.where(whole, 0.0, chance)]).astype(np.float64)


def _terms(count: np.ndarray, cut: int, n: int, size: np.ndarray, distance: Distance) -> np.ndarray:
    """Return the distances of counts and sizes that broadcast against each other."""
    count, size = np.broadcast_arrays(count, size)
    flat = count.ravel().astype(np.float64), size.ravel().astype(np.float64)
    ones = np.ones(len(flat[0]))
    return distance(flat[0], cut * ones, n * ones, flat[1]).reshape(count.shape)


def _worst(
    n: int,
    sizes: np.ndarray,
    cuts: np.ndarray,
    weights: np.ndarray,
    distance: Distance,
    limit: int,
    step: int,
    discount: str,
    normalizer: str,
) -> np.ndarray:
    """Return the divisor for each size of the group."""
    if normalizer == "none":
        return np.ones(len(sizes))
    if normalizer == "exact":
        inside = (sizes > 0) & (sizes < n)
        return np.array(
            [
                exact_maximum(n, int(size), limit, step, discount, distance) if some else 0.0
                for size, some in zip(sizes, inside, strict=True)
            ]
        )
    last, first = np.zeros(len(sizes)), np.zeros(len(sizes))
    for cut, weight in zip(cuts.tolist(), weights, strict=True):
        last += weight * _terms(np.maximum(0, cut - (n - sizes)), cut, n, sizes, distance)
        first += weight * _terms(np.minimum(cut, sizes), cut, n, sizes, distance)
    return last if normalizer == "last" else np.maximum(last, first)


def _exact(
    reach: np.ndarray, sizes: np.ndarray, n: int, cuts: Cuts, distance: Distance
) -> list[np.ndarray]:
    """Return the smallest and largest sum for each size, by dynamic programming."""
    free = len(sizes) - 1
    count, m = np.arange(free + 1)[None], np.arange(free + 1)[:, None]
    ends = []
    for sign in (1.0, -1.0):
        best = np.full((free + 1, free + 1), np.inf)
        best[:, 0] = 0.0
        before = 0
        for at, (cut, weight) in enumerate(cuts):
            known, inside = reach[0, at], int(reach[1, at])
            best = _sliding_minimum(best, inside - before)
            allowed = (count <= np.minimum(inside, m)) & (m - count <= free - inside)
            term = _terms(np.minimum(known + count, cut), cut, n, sizes[:, None], distance)
            best = np.where(allowed, best + sign * weight * term, np.inf)
            before = inside
        ends.append(sign * best.min(axis=1))
    return ends


def _sliding_minimum(values: np.ndarray, reach: int) -> np.ndarray:
    """Return the minimum of each value and the ``reach`` values before it, along the last axis."""
    result, covered = values.copy(), 0
    while covered < reach:
        shift = min(covered + 1, reach - covered)
        result[:, shift:] = np.minimum(result[:, shift:], result[:, :-shift].copy())
        covered += shift
    return result


def _outer(
    reach: np.ndarray, sizes: np.ndarray, n: int, cuts: Cuts, distance: Distance
) -> list[np.ndarray]:
    """Return sums of the extremes of each cut by itself, for each size."""
    m, free = np.arange(len(sizes)), len(sizes) - 1
    low, high = np.zeros(len(sizes)), np.zeros(len(sizes))
    for at, (cut, weight) in enumerate(cuts):
        known, inside, block, chance = reach[:, at]
        left = np.maximum(m - (free - inside - block), 0)
        least = chance * np.minimum(left, block) + np.maximum(left - block, 0)
        most = np.minimum(m, inside) + chance * np.minimum(np.maximum(m - inside, 0), block)
        nearest = np.clip(sizes / n * cut, known + least, known + most)
        near, a, b = (
            _terms(np.clip(part, 0, cut), cut, n, sizes, distance)
            for part in (nearest, known + least, known + most)
        )
        low += weight * near
        high += weight * np.maximum(a, b)
    return [low, high]
