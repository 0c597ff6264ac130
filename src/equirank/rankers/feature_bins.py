"""Quantile bins of features, which make the search for a stump one pass over small integers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..core.random import generator

__all__ = ["Bins", "Workers", "bin_features"]


#: Number of rows from which the quantiles of a feature with many values are computed.
SAMPLE = 200_000
#: Least work per thread; for less, a second thread costs more than it saves.
CHUNK = 1 << 15
#: Number of features whose columns are copied together.
COLUMNS = 16


class Workers:
    """Pool of threads for compiled loops; with one thread, work runs in the calling thread."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self.pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def share(self, work: Callable[[int, int], Any], count: int, cost: int) -> list[Any]:
        """Call ``work(begin, end)`` over parts of ``range(count)``; ``cost`` is the total work."""
        parts = 1 if self.pool is None else min(self.n_threads, count, max(1, cost // CHUNK))
        if parts <= 1 or self.pool is None:
            return [work(0, count)] if count else []
        cuts = [count * part // parts for part in range(parts + 1)]
        waiting = [self.pool.submit(work, *cuts[at : at + 2]) for at in range(parts)]
        return [job.result() for job in waiting]

    def __enter__(self) -> Self:
        """Return the pool."""
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the threads."""
        if self.pool is not None:
            self.pool.shutdown()


@dataclass(eq=False)
class Bins:
    """Bin codes (features x rows), and the thresholds between the bins.

    Attributes
    ----------
    codes : ndarray
        ``codes[f, i]`` is the number of thresholds of feature f below the value of row i; a missing
        value has the last code, ``missing``.
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
        """Allocate the histograms."""
        self.sums = np.zeros((len(self.codes), self.missing + 1))

    def histograms(self, potential: np.ndarray, workers: Workers) -> np.ndarray:
        """Sum the potentials by feature and bin."""
        from ..kernels.stumps import histograms

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

    A feature with at most ``max_bins`` distinct values has a threshold between any two neighbours;
    other features have quantiles, those of a sample if there are more than 200,000 rows.
    """
    n_rows, n_features = len(rows), X.shape[1]
    sample = None
    if n_rows > SAMPLE and max_bins is not None:
        sample = np.sort(generator(random_state, 1).choice(n_rows, SAMPLE, replace=False))
    found: list[np.ndarray] = [np.empty(0)] * n_features

    def find(begin: int, end: int) -> None:
        for at in range(begin, end, COLUMNS):
            columns = X[:, at : min(at + COLUMNS, end)]
            columns = columns if sample is None else columns[sample]
            for feature, values in enumerate(np.ascontiguousarray(columns.T), start=at):
                whole = None if sample is None else X[:, feature]
                found[feature] = _thresholds(values, whole, max_bins)

    workers.share(find, n_features, min(n_rows, SAMPLE) * n_features)
    n_edges = np.array([len(cuts) for cuts in found], dtype=np.int64)
    edges = np.full((n_features, max(1, int(n_edges.max(initial=0)))), np.inf)
    for feature, cuts in enumerate(found):
        edges[feature, : len(cuts)] = cuts
    codes = _codes(X, rows, edges, n_edges, workers)
    missing = int(n_edges.max(initial=0)) + 1
    return Bins(codes, edges, n_edges, missing, (codes == missing).any(axis=1))


def _codes(
    X: np.ndarray, rows: np.ndarray, edges: np.ndarray, n_edges: np.ndarray, workers: Workers
) -> np.ndarray:
    """Compute the bin of every value with a lookup table over an even grid of the feature."""
    from ..kernels.stumps import digitise

    n_features, missing = len(edges), int(n_edges.max(initial=0)) + 1
    cells = min(1 << 16, max(1 << 10, 4 * edges.shape[1]))
    table = np.zeros((n_features, cells + 2), dtype=np.int32)
    low, width = np.zeros(n_features), np.zeros(n_features)
    for feature, count in enumerate(n_edges.tolist()):
        if count == 0:
            continue
        cuts = edges[feature, :count]
        low[feature] = cuts[0]
        spread = cuts[-1] / 2 - cuts[0] / 2
        width[feature] = (cells - 1) / 2 / spread if spread > 0 else 0.0
        width[feature] = width[feature] if np.isfinite(width[feature]) else 0.0
        cell = np.clip((cuts - low[feature]) * width[feature], 0, cells).astype(np.int64)
        table[feature, 1:] = np.cumsum(np.bincount(cell, minlength=cells + 1))
    kind = np.uint8 if missing < 256 else np.uint16 if missing < 65536 else np.int32
    codes = np.empty((n_features, len(rows)), dtype=kind)
    workers.share(
        lambda begin, end: digitise(X, rows, begin, end, edges, low, width, table, missing, codes),
        len(rows),
        codes.size,
    )
    return codes


def _thresholds(values: np.ndarray, whole: np.ndarray | None, max_bins: int | None) -> np.ndarray:
    """Return the thresholds of one feature, given its values or a sample and the whole column."""
    values = np.sort(values)
    values = values[: len(values) - np.count_nonzero(np.isnan(values))]
    distinct = _distinct(values)
    if max_bins is not None and len(distinct) <= max_bins and whole is not None:
        found = np.unique(whole)
        distinct = found[~np.isnan(found)]
    if max_bins is None or len(distinct) <= max_bins:
        return _between(distinct[:-1], distinct[1:])
    ranks = np.linspace(0, len(values), max_bins + 1)[1:-1].astype(np.int64)
    upper = np.unique(values[ranks])
    upper = upper[upper > values[0]]
    return _between(distinct[np.searchsorted(distinct, upper) - 1], upper)


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return the distinct values of a sorted array."""
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values


def _between(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return thresholds in [lower, upper): the midpoint, or ``lower`` if rounding prevents it."""
    lower, upper = lower.astype(np.float64), upper.astype(np.float64)
    middle = 0.5 * lower + 0.5 * upper
    return np.where((middle >= lower) & (middle < upper), middle, lower)
