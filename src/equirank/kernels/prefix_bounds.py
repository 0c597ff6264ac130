"""Group counts of prefixes held against their bounds (compiled: one pass along every list)."""

import numpy as np

from .compiling import compiled

__all__ = ["ROUNDING", "shares_hold", "tables_hold", "worst_drops"]

#: A share times a length that misses a whole number by less is that number, rounded apart.
ROUNDING = 1e-9


@compiled
def tables_hold(
    codes: np.ndarray,
    offsets: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    start: np.ndarray,
    lengths: np.ndarray,
) -> np.ndarray:
    """Say for each list whether every prefix has its counts within the bounds.

    The bounds of prefix j of list q stand in row ``start[q] + j - 1`` (row x group) for prefixes up
    to ``lengths[q]``. A list that ends before is held against the bounds it reaches. Tables without
    columns bind nobody.
    """
    n_queries = len(offsets) - 1
    holds = np.ones(n_queries, dtype=np.bool_)
    n_groups = max(lower.shape[1], upper.shape[1])
    counts = np.zeros(n_groups, dtype=np.int64)
    for q in range(n_queries):
        counts[:] = 0
        length = min(offsets[q + 1] - offsets[q], lengths[q])
        for j in range(length):
            counts[codes[offsets[q] + j]] += 1
            row = start[q] + j
            for g in range(lower.shape[1]):
                if counts[g] < lower[row, g]:
                    holds[q] = False
            for g in range(upper.shape[1]):
                if counts[g] > upper[row, g]:
                    holds[q] = False
            if not holds[q]:
                break
    return holds


@compiled
def shares_hold(codes: np.ndarray, offsets: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Say for each list whether prefix j holds at least ``floor(j * share)`` of every group."""
    n_queries, n_groups = shares.shape
    holds = np.ones(n_queries, dtype=np.bool_)
    counts = np.zeros(n_groups, dtype=np.int64)
    for q in range(n_queries):
        counts[:] = 0
        for j in range(offsets[q + 1] - offsets[q]):
            counts[codes[offsets[q] + j]] += 1
            for g in range(n_groups):
                if counts[g] < int((j + 1) * shares[q, g] + ROUNDING):
                    holds[q] = False
            if not holds[q]:
                break
    return holds


@compiled
def worst_drops(values: np.ndarray, offsets: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Give for each list the largest amount by which a value stands behind a smaller one.

    Only the first ``shown[q]`` values stand in an order; the others are behind all of those.
    """
    result = np.zeros(len(offsets) - 1)
    for q in range(len(offsets) - 1):
        lowest = np.inf
        for i in range(offsets[q], offsets[q + 1]):
            result[q] = max(result[q], values[i] - lowest)
            if i - offsets[q] < shown[q]:
                lowest = min(lowest, values[i])
    return result
