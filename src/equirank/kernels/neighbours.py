"""Nearest neighbours of the points of one list, whatever their order."""

import numpy as np

__all__ = ["neighbour_means"]

#: Distances that differ by less than this share are equal.
SAME = 1e-9
CELLS = 1 << 20


def neighbour_means(points: np.ndarray, values: np.ndarray, k: int) -> np.ndarray:
    """Give the mean value of the k points nearest to each, itself left out.

    All others where there are fewer than k, NaN where there is none. Points as far away as the
    k-th share the places that are left, so the order of the rows does not matter. Equal points are
    merged first, so that a list of copies costs no more than any other.
    """
    from scipy.spatial import cKDTree

    n = len(points)
    k = min(k, n - 1)
    if k < 1:
        return np.full(n, np.nan)
    spots, spot, size = _merged(points)
    total = np.bincount(spot, weights=values)
    tree = cKDTree(spots)
    reach = min(k + 2, len(spots))
    result = np.empty((5, len(spots)))
    step = max(1, CELLS // reach)
    for at in range(0, len(spots), step):
        some = np.arange(at, min(at + step, len(spots)))
        distance, near = tree.query(spots[some], k=np.arange(1, reach + 1))
        own = near == some[:, None]
        held = size[near] - own
        enough = np.argmax(np.cumsum(held, axis=1) >= k, axis=1)
        radius = distance[np.arange(len(some)), enough]
        closer, tied = _shells(distance, radius[:, None])
        result[:, some] = _sums(closer, tied, own, held, total[near])
        cut = np.flatnonzero(tied[:, -1]) if reach < len(spots) else np.empty(0, dtype=np.int64)
        for row in cut:
            others = np.sort(tree.query_ball_point(spots[some[row]], radius[row] * (1 + SAME)))
            far = np.sqrt(((spots[others] - spots[some[row]]) ** 2).sum(axis=1))[None]
            mine = (others == some[row])[None]
            shells = _shells(far, radius[row])
            result[:, some[row]] = _sums(*shells, mine, size[others] - mine, total[others])[:, 0]
    n_closer, sum_closer, n_tied, sum_tied, own_tied = result[:, spot]
    sum_closer = sum_closer - np.where(own_tied > 0, 0.0, values)
    sum_tied = sum_tied - np.where(own_tied > 0, values, 0.0)
    return (sum_closer + (k - n_closer) * sum_tied / n_tied) / k


def _merged(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the different points, which of them each row is, and how many rows each is."""
    if points.shape[1] == 0:
        points = np.zeros((len(points), 1))
    packed = np.ascontiguousarray(points + 0.0)
    rows = packed.view(np.dtype((np.void, packed.itemsize * packed.shape[1])))[:, 0]
    _, first, spot, size = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    return points[first], spot, size


def _shells(distance: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Say what is closer than the radius, and what is as far away."""
    closer = distance < radius * (1 - SAME)
    return closer, (distance <= radius * (1 + SAME)) & ~closer


def _sums(
    closer: np.ndarray, tied: np.ndarray, own: np.ndarray, held: np.ndarray, total: np.ndarray
) -> np.ndarray:
    """Count and add up both shells, and say whether the point itself is in the outer one."""
    return np.stack(
        [
            (held * closer).sum(axis=1),
            (total * closer).sum(axis=1),
            (held * tied).sum(axis=1),
            (total * tied).sum(axis=1),
            (own & tied).any(axis=1),
        ]
    )
