"""An order of the rows of each query that follows from their features, not from their places."""

import numpy as np

from ...core.data import RankingData
from ...kernels.preference_sorting import row_marks
from ..boosting.ensemble import dense

__all__ = ["row_order"]


def row_order(data: RankingData) -> np.ndarray:
    """Give the stored rows, query by query, in an order that the order of the input cannot change.

    Rows are ordered by a number made of all their features; equal rows keep their order, and what
    is drawn for their places treats them alike.
    """
    X = np.array(dense(data.X), dtype=np.float64)
    X += 0.0  # a negative zero is a zero
    X[np.isnan(X)] = np.nan
    return np.lexsort((row_marks(X.view(np.uint64)), data.query_of_rows()))
