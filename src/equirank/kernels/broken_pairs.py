"""Pairs whose scores lie further apart than their features allow (compiled: all pairs)."""

import numpy as np

from .compiling import compiled

__all__ = ["broken_pairs"]


@compiled
def broken_pairs(
    points: np.ndarray, score: np.ndarray, offsets: np.ndarray, slope: float
) -> np.ndarray:
    """Count in each list the pairs with ``|score_i - score_j| > slope * |points_i - points_j|``.

    A difference of 1e-12 is none. A distance is added up only until it is large enough.
    """
    result = np.zeros(len(offsets) - 1)
    n_features = points.shape[1]
    for q in range(len(offsets) - 1):
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], i):
                apart = (abs(score[i] - score[j]) - 1e-12) / slope
                if apart <= 0.0:
                    continue
                limit = apart * apart
                square = 0.0
                for f in range(n_features):
                    step = points[i, f] - points[j, f]
                    square += step * step
                    if square >= limit:
                        break
                if square < limit:
                    result[q] += 1.0
    return result
