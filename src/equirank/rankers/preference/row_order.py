"""An order of the rows of each query that follows from their features, not from their places."""

import numpy as np

from ...core.data import RankingData
from ...core.random import label_keys
from ...kernels.preference_sorting import draw_keys, row_marks, row_priorities
from ..boosting.ensemble import dense

__all__ = ["row_order"]

#: The draw that is used for nothing but the order of equal rows.
EQUALS = 2**63


def row_order(data: RankingData, seed: int) -> np.ndarray:
    """Give the stored rows, query by query, in an order that the order of the input cannot change.

    Rows are ordered by a number made of all their features; equal rows are put in a random order.
    """
    X = np.array(dense(data.X), dtype=np.float64)
    X += 0.0  # a negative zero is a zero
    X[np.isnan(X)] = np.nan
    keys = draw_keys(label_keys(seed, data.qids.tolist()), np.array([EQUALS], dtype=np.uint64))
    among_equals = row_priorities(keys, data.offsets)
    return np.lexsort((among_equals, row_marks(X.view(np.uint64)), data.query_of_rows()))
