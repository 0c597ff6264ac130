"""K-medoids by FasterPAM on a matrix of distances (compiled)."""

import numpy as np

from .compiling import compiled

__all__ = ["faster_pam"]


@compiled
def _nearest(distance: np.ndarray, medoids: np.ndarray, item: int) -> tuple[int, int]:
    """Give the places of the nearest and the second nearest medoid among the medoids."""
    near, second = 0, -1
    for at in range(1, len(medoids)):
        if distance[item, medoids[at]] < distance[item, medoids[near]]:
            second = near
            near = at
        elif second < 0 or distance[item, medoids[at]] < distance[item, medoids[second]]:
            second = at
    return near, second


@compiled
def faster_pam(
    distance: np.ndarray, medoids: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Improve medoids by eager swaps: medoids, each item's nearest one, total distance.

    Each candidate is weighed against all medoids in one pass over the items; the best swap is
    taken at once. Ends after a whole turn without a swap, or after ``rounds`` turns.
    """
    n, k = len(distance), len(medoids)
    medoids = medoids.copy()
    near = np.zeros(n, dtype=np.int64)
    second = np.zeros(n, dtype=np.int64)
    is_medoid = np.zeros(n, dtype=np.bool_)
    for at in range(k):
        is_medoid[medoids[at]] = True
    for item in range(n):
        near[item], second[item] = _nearest(distance, medoids, item)
    change = np.empty(k)  # what replacing each medoid by the candidate costs the items it serves
    unchanged, candidate = 0, 0
    for _ in range(rounds * n):
        if unchanged >= n:
            break
        here = candidate
        candidate = (candidate + 1) % n
        unchanged += 1
        if is_medoid[here]:
            continue
        for at in range(k):
            change[at] = 0.0
        gain = 0.0
        for item in range(n):
            nearest = distance[item, medoids[near[item]]]
            other = np.inf if second[item] < 0 else distance[item, medoids[second[item]]]
            new = distance[item, here]
            if new < nearest:
                gain += new - nearest
            elif new < other:
                change[near[item]] += new - nearest
            else:
                change[near[item]] += other - nearest
        best = 0
        for at in range(1, k):
            if change[at] < change[best]:
                best = at
        if change[best] + gain < -1e-9 * max(1.0, abs(gain)):
            is_medoid[medoids[best]] = False
            is_medoid[here] = True
            medoids[best] = here
            for item in range(n):
                if near[item] == best or second[item] == best:
                    near[item], second[item] = _nearest(distance, medoids, item)
                elif distance[item, here] < distance[item, medoids[near[item]]]:
                    second[item] = near[item]
                    near[item] = best
                elif distance[item, here] < distance[item, medoids[second[item]]]:
                    second[item] = best
            unchanged = 0
    total = 0.0
    for item in range(n):
        total += distance[item, medoids[near[item]]]
    return medoids, near, total
