"""Division that is undefined instead of wrong."""

from typing import Any

import numpy as np

__all__ = ["divide"]


def divide(a: Any, b: Any, defined: Any = None) -> np.ndarray:
    """Divide where ``defined`` (by default where ``b > 0``) and give NaN elsewhere."""
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    where = np.asarray(b) > 0 if defined is None else defined
    result: np.ndarray = np.divide(a, b, out=np.full(shape, np.nan), where=where)
    return result
