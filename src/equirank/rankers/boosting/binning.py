"""Features cut into bins once, so that the search for a stump is one pass over small integers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.random import generator

__all__ = ["Bins", "Workers", "bin_features"]

#: Rows from which the quantiles of a feature with many values are taken.
SAMPLE = 200_000
#: Rows one thread works on at a time, and so few that a second thread does not pay.
CHUNK = 1 << 15


class Workers:
    """Threads that share out compiled loops; one thread works in the caller's own."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self.pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def share(self, work: Callable[[int, int], Any], count: int, cost: int) -> list[Any]:
        """Call ``work(begin, end)`` over parts of ``range(count)``; ``cost`` is all of the work."""
        parts = 1 if self.pool is None else min(self.n_threads, count, max(1, cost // CHUNK))
        if parts <= 1 or self.pool is None:
            return [work(0, count)] if count else []
        cuts = [count * part // parts for part in range(parts + 1)]
        waiting = [self.pool.submit(work, *cuts[at : at + 2]) for at in range(parts)]
        return [job.result() for job in waiting]

    def close(self) -> None:
        """Let the threads go."""
        if self.pool is not None:
            self.pool.shutdown()


@dataclass(eq=False)
class Bins:
    """Bin codes, feature by row, and the thresholds between the bins.

    Attributes
    ----------
    codes : ndarray
        ``codes[f, i]`` counts the thresholds of feature f below row i's value; a missing value has
        the last code, ``missing``.
    edges : ndarray
        ``edges[f, :n_edges[f]]`` are the thresholds, ascending.
    """

    codes: np.ndarray
    edges: np.ndarray
    n_edges: np.ndarray
    missing: int
    has_missing: np.ndarray
    sums: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        """Make room for the histograms."""
        self.sums = np.zeros((len(self.codes), self.missing + 1))

    def histograms(self, potential: np.ndarray, workers: Workers) -> np.ndarray:
        """Sum the potentials by feature and bin."""
        from ...kernels.stumps import histograms

        n_features = len(self.codes)
        workers.share(
            lambda begin, end: histograms(self.codes, potential, begin, end, self.sums),
            n_features,
            self.codes.size,
        )
        return self.sums


def bin_features(
    X: np.ndarray, rows: np.ndarray, max_bins: int | None, random_state: Any, workers: Workers
) -> Bins:
    """Bin the features of the rows, in the order of ``rows``.

    A feature with at most ``max_bins`` distinct values gets a threshold between any two of them;
    others get quantiles (of a sample of 200,000 rows where there are more).
    """
    from ...kernels.stumps import digitise

    n_rows, n_features = len(rows), X.shape[1]
    sample = np.sort(rows)
    if n_rows > SAMPLE and max_bins is not None:
        sample = np.sort(generator(random_state, 1).choice(sample, SAMPLE, replace=False))
    found: list[Any] = [None] * n_features

    def find(begin: int, end: int) -> None:
        for feature in range(begin, end):
            found[feature] = _thresholds(X[:, feature], rows, sample, max_bins)

    workers.share(find, n_features, len(sample) * n_features)
    n_edges = np.array([len(cuts) for cuts, _ in found], dtype=np.int64)
    missing = int(n_edges.max(initial=0)) + 1
    edges = np.full((n_features, max(1, int(n_edges.max(initial=0)))), np.inf)
    for feature, (cuts, _) in enumerate(found):
        edges[feature, : len(cuts)] = cuts
    kind = np.uint8 if missing < 256 else np.uint16 if missing < 65536 else np.int32
    codes = np.empty((n_features, n_rows), dtype=kind)
    workers.share(
        lambda begin, end: digitise(X, rows, begin, end, edges, n_edges, missing, codes),
        n_rows,
        n_rows * n_features,
    )
    return Bins(codes, edges, n_edges, missing, (codes == missing).any(axis=1))


def _thresholds(
    column: np.ndarray, rows: np.ndarray, sample: np.ndarray, max_bins: int | None
) -> tuple[np.ndarray, bool]:
    """Give the thresholds of one feature and whether they separate all its values."""
    values = _distinct(column[sample])
    exact = max_bins is None or len(values) <= max_bins
    if exact and len(sample) < len(rows):
        values = _distinct(column[rows])
        exact = max_bins is None or len(values) <= max_bins
    if exact or max_bins is None:
        return _between(values[:-1], values[1:]), True
    seen = np.sort(column[sample])
    seen = seen[~np.isnan(seen)]
    places = np.linspace(0, len(seen), max_bins + 1)[1:-1].astype(np.int64)
    upper = np.unique(seen[places])
    upper = upper[upper > seen[0]]
    lower = values[np.searchsorted(values, upper) - 1]
    return _between(lower, upper), False


def _distinct(values: np.ndarray) -> np.ndarray:
    found = np.unique(values)
    return found[~np.isnan(found)].astype(np.float64)


def _between(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Give numbers from ``lower`` on and below ``upper``: the middle, where there is one."""
    lower, upper = lower.astype(np.float64), upper.astype(np.float64)
    middle = 0.5 * lower + 0.5 * upper
    return np.where((middle >= lower) & (middle < upper), middle, lower)
