"""KMedoidsSampler: the medoids of clusters of queries, by FasterPAM."""

from typing import Annotated

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.params import Integer
from ..core.random import generator
from ..kernels.compiled import compiled
from .query_samplers import VectorSampler

__all__ = ["KMedoidsSampler", "faster_pam"]


@compiled
def _nearest(distance: np.ndarray, medoids: np.ndarray, item: int) -> tuple[int, int]:
    """Return the indices of the nearest and the second nearest medoid among the medoids."""
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
    """Improve medoids by eager swaps; return them, the nearest one per item, the total distance.

    Each candidate is compared with all medoids in one pass over the items; an improving swap is
    made at once. Stops after a pass over all candidates without a swap, or ``rounds`` passes.
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
    change = np.empty(k)  # in the distance of its items if the candidate replaces a medoid
    unchanged, candidate = 0, 0
    for _ in range(rounds * n):
        if unchanged >= n:
            break
        tried = candidate
        candidate = (candidate + 1) % n
        unchanged += 1
        if is_medoid[tried]:
            continue
        for at in range(k):
            change[at] = 0.0
        gain = 0.0
        for item in range(n):
            nearest = distance[item, medoids[near[item]]]
            other = np.inf if second[item] < 0 else distance[item, medoids[second[item]]]
            new = distance[item, tried]
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
            is_medoid[tried] = True
            medoids[best] = tried
            for item in range(n):
                if near[item] == best or second[item] == best:
                    near[item], second[item] = _nearest(distance, medoids, item)
                elif distance[item, tried] < distance[item, medoids[near[item]]]:
                    second[item] = near[item]
                    near[item] = best
                elif distance[item, tried] < distance[item, medoids[second[item]]]:
                    second[item] = best
            unchanged = 0
    total = 0.0
    for item in range(n):
        total += distance[item, medoids[near[item]]]
    return medoids, near, total


class KMedoidsSampler(VectorSampler):
    """Take the medoids of clusters of queries, weighted by the size of their cluster.

    The medoids minimise the sum of Euclidean distances from the queries' vectors to the nearest
    medoid, by FasterPAM from a random start. They are a summary, not a random sample: weighted sums
    are not unbiased.

    Parameters
    ----------
    max_iter : int
        Maximum number of passes over all candidates.
    max_queries : int
        Largest number of queries; the distance matrix has a row and a column per query.
    random_state : int, Generator, RandomState or None
        Seed of the start.

    References
    ----------
    Schubert and Rousseeuw, Fast and eager k-medoids clustering: O(k) runtime improvement of the
    PAM, CLARA, and CLARANS algorithms, Information Systems 2021.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.preprocess import KMedoidsSampler
    >>> drawn = KMedoidsSampler(5, random_state=0).sample(make_ranking(n_queries=40))
    >>> float(drawn.weights.sum())
    40.0
    """

    max_iter: Annotated[int, Integer(1)] = 20
    max_queries: Annotated[int, Integer(1)] = 30_000

    def shares(self, data: RankingData) -> np.ndarray:
        """Raise: medoids are not drawn at random, so no query has a share in the draws."""
        raise DataError("KMedoidsSampler must not be asked for shares: it draws nothing at random")

    def _draw(self, data: RankingData, size: int) -> tuple[np.ndarray, np.ndarray]:
        n = data.n_queries
        if n > self.max_queries:
            raise DataError(
                f"max_queries of KMedoidsSampler must be at least the number of queries ({n}, with "
                f"{n * n * 4 / 2**30:.1f} GiB of distances), got {self.max_queries}"
            )
        vectors = self.represented(data)
        start = generator(self.random_state).choice(n, size, replace=False)
        medoids, nearest, _ = faster_pam(distances(vectors), start, self.max_iter)
        return medoids, np.bincount(nearest, minlength=size).astype(np.float64)


def distances(vectors: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances between all rows, in float32."""
    square = np.einsum("ij,ij->i", vectors, vectors)
    result = np.empty((len(vectors), len(vectors)), dtype=np.float32)
    for begin in range(0, len(vectors), 512):
        block = slice(begin, begin + 512)
        table = square[block, None] + square[None] - 2.0 * (vectors[block] @ vectors.T)
        result[block] = np.sqrt(np.maximum(table, 0.0))
    np.fill_diagonal(result, 0.0)
    return result
