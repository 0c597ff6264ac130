"""What the metrics of individuals share that hold scores against features."""

from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.slots import Slots
from ...kernels.division import divide

__all__ = ["features_of", "scaled_scores"]


def scaled_scores(slots: Slots) -> np.ndarray:
    """Scale the scores of each query to [0, 1]; all 0 where they are equal."""
    score = slots.score.astype(np.float64)
    low = np.repeat(np.minimum.reduceat(score, slots.offsets[:-1]), slots.sizes)
    high = np.repeat(np.maximum.reduceat(score, slots.offsets[:-1]), slots.sizes)
    return np.nan_to_num(divide(score - low, high - low))


def features_of(data: RankingData, rows: np.ndarray) -> np.ndarray:
    """Give the features of some stored rows as a dense array of float64."""
    some: Any = data.X[rows]
    dense = some.toarray() if hasattr(some, "toarray") else some
    points = np.ascontiguousarray(dense, dtype=np.float64)
    bad = ~np.isfinite(points)
    if bad.any():
        at, column = np.argwhere(bad)[0]
        row = data.place(int(rows[at]))[1]
        raise DataError(
            "X must be finite numbers, to measure distances, got "
            f"{points[at, column].item()!r} in row {row}, column {column}"
        )
    return points
