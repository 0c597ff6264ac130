"""What the metrics of individuals share that hold scores against features."""

from typing import Any

import numpy as np

from ...core.slots import Slots
from ...kernels.division import divide

__all__ = ["features_of", "scaled_scores"]


def scaled_scores(slots: Slots) -> np.ndarray:
    """Scale the scores of each query to [0, 1]; all 0 where they are equal."""
    score = slots.score.astype(np.float64)
    low = np.repeat(np.minimum.reduceat(score, slots.offsets[:-1]), slots.sizes)
    high = np.repeat(np.maximum.reduceat(score, slots.offsets[:-1]), slots.sizes)
    return np.nan_to_num(divide(score - low, high - low))


def features_of(X: Any, rows: np.ndarray) -> np.ndarray:
    """Give some rows as a dense array of float64."""
    some = X[rows]
    dense = some.toarray() if hasattr(some, "toarray") else some
    return np.ascontiguousarray(dense, dtype=np.float64)
