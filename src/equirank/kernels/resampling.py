"""Resampling: bootstrap counts, weighted means over queries, shuffles within cells."""

import numpy as np

from .segments import LARGE, SHIFT, divide, sort_within

__all__ = [
    "bootstrap_counts",
    "distinct_orders",
    "picked_means",
    "shuffle_within",
    "stratified_counts",
    "weighted_means",
]


def weighted_means(values: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Return column means over rows, ignoring NaN; with counts, one mean per row of counts.

    The mean of a column without a defined row is NaN.
    """
    defined = ~np.isnan(values)
    clean = np.where(defined, values, 0.0)
    scale = 2.0**SHIFT if np.abs(clean).max(initial=0.0) >= LARGE else 1.0
    clean = clean / scale
    if counts is None:
        total, n = clean.sum(axis=0), defined.sum(axis=0).astype(np.float64)
    elif defined.all():
        total = counts @ clean
        n = np.broadcast_to(counts.sum(axis=1)[:, None], total.shape)
    else:
        total, n = counts @ clean, counts @ defined.astype(counts.dtype)
    return divide(total, n) * scale


def bootstrap_counts(rng: np.random.Generator, n_replicates: int, n: int) -> np.ndarray:
    """Draw n of n with replacement, ``n_replicates`` times, and count how often each was drawn."""
    drawn = rng.integers(0, n, size=(n_replicates, n), dtype=np.int32 if n < 2**31 else np.int64)
    drawn = drawn + (np.arange(n_replicates, dtype=np.int64) * n)[:, None]
    return np.bincount(drawn.ravel(), minlength=n_replicates * n).reshape(n_replicates, n)


def stratified_counts(
    rng: np.random.Generator, n_replicates: int, strata: np.ndarray
) -> np.ndarray:
    """Draw with replacement within each stratum, whose size stays the same."""
    counts = np.empty((n_replicates, len(strata)), dtype=np.int64)
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        counts[:, rows] = bootstrap_counts(rng, n_replicates, len(rows))
    return counts


def shuffle_within(
    rng: np.random.Generator, n_replicates: int, cells: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Permute values within cells (numbers >= 0 per row), independently per replicate."""
    n = len(cells)
    by_cell = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[by_cell], prepend=-1))
    offsets = np.append((starts + np.arange(n_replicates)[:, None] * n).ravel(), n_replicates * n)
    order = sort_within(rng.random(n_replicates * n), offsets).reshape(n_replicates, n)
    order -= np.arange(n_replicates)[:, None] * n
    result = np.empty((n_replicates, n), dtype=values.dtype)
    result[:, by_cell] = values[by_cell][order]
    return result


def picked_means(rng: np.random.Generator, n_draws: int, pool: np.ndarray) -> np.ndarray:
    """Draw one of the values of every row and average columns over rows, ``n_draws`` times.

    ``pool`` has the shape (n_values, n_rows, n_columns); the means ignore NaN.
    """
    n_values, n_rows, n_columns = pool.shape
    defined = ~np.isnan(pool)
    clean = np.where(defined, pool, 0.0)
    whole = bool(defined.all())
    result = np.empty((n_draws, n_columns))
    block = max(1, (1 << 20) // (n_rows * n_columns))
    rows = np.arange(n_rows)
    for at in range(0, n_draws, block):
        picks = rng.integers(0, n_values, size=(min(block, n_draws - at), n_rows))
        total = clean[picks, rows].sum(axis=1)
        n = np.full(total.shape, n_rows) if whole else defined[picks, rows].sum(axis=1)
        result[at : at + len(picks)] = divide(total, n)
    return result


def distinct_orders(values: np.ndarray) -> list[np.ndarray]:
    """Return all distinct orders of a few values."""
    orders: list[list[int]] = [[]]
    left = [dict(zip(*np.unique(values, return_counts=True), strict=True))]
    for _ in range(len(values)):
        grown = [
            ([*order, value], {**rest, value: rest[value] - 1})
            for order, rest in zip(orders, left, strict=True)
            for value in rest
            if rest[value] > 0
        ]
        orders, left = [order for order, _ in grown], [rest for _, rest in grown]
    return [np.array(order, dtype=values.dtype) for order in orders]
