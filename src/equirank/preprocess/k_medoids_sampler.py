"""K-medoids by FasterPAM on a matrix of distances (compiled)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.params import Constraint, Integer
from ..core.random import generator
from ..kernels.compiled import compiled
from .query_samplers import QuerySampler

__all__ = ["KMedoidsSampler", "faster_pam"]


@compiled
def _nearest(distance: np.ndarray, medoids: np.ndarray, item: int) -> tuple[int, int]:
    """Return the places of the nearest and the second nearest medoid among the medoids."""
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


class KMedoidsSampler(QuerySampler):
    """Take the medoids of clusters of queries, each weighing as many queries as its cluster has.

    The medoids minimise the sum of Euclidean distances from the queries' vectors to the nearest
    medoid, by FasterPAM from a random start. A summary, not a random sample: sums weighed by it are
    not unbiased.

    Parameters
    ----------
    size : int or float
        How many queries, or which share of them.
    max_iter : int
        Most turns through all candidates.
    represent : {"mean", "top"} or callable
        A query's vector: the mean of its rows, its first ``n_top`` rows side by side, or a function
        of the data that gives one vector per query.
    n_top : int
        See above.
    max_queries : int
        The matrix of distances has as many rows and columns as there are queries; above this an
        error says how much memory it would take.
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

    params: ClassVar[Mapping[str, Constraint]] = {
        **{name: QuerySampler.params[name] for name in ("size", "represent", "n_top")},
        "max_iter": Integer(1),
        "max_queries": Integer(1),
    }

    def __init__(
        self,
        size: int | float = 0.1,
        *,
        max_iter: int = 20,
        represent: Any = "mean",
        n_top: int = 1,
        max_queries: int = 30_000,
        random_state: Any = None,
    ) -> None:
        self.size = size
        self.max_iter = max_iter
        self.represent = represent
        self.n_top = n_top
        self.max_queries = max_queries
        self.random_state = random_state

    def _draw(self, data: RankingData, size: int) -> tuple[np.ndarray, np.ndarray]:

        n = data.n_queries
        if n > self.max_queries:
            raise DataError(
                f"max_queries of KMedoidsSampler is {self.max_queries}, and {n} queries would take "
                f"{n * n * 4 / 2**30:.1f} GiB of distances"
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
