"""Scoring: a trained network on raw rows, in NumPy alone."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...core.errors import DataError
from .network import Model, Net
from .rows import BLOCK

__all__ = ["dense", "run_rows"]


def run_rows(
    model: Model, weights: Mapping[str, np.ndarray], X: Any, use: Callable[[Net, Any], np.ndarray]
) -> np.ndarray:
    """Use a network on raw rows, block by block, in double precision and without PyTorch."""
    net = Net(model, {name: values.astype(np.float64) for name, values in weights.items()})
    mean, scale = net.weights["input.mean"], net.weights["input.scale"]
    X = dense(X)
    parts = [use(net, (X[at : at + BLOCK] - mean) / scale) for at in range(0, len(X), BLOCK)]
    return np.concatenate(parts) if parts else use(net, np.zeros((0, X.shape[1])))


def dense(X: Any) -> np.ndarray:
    """Give X as an array; a sparse one is refused."""
    if hasattr(X, "tocsr"):
        raise DataError("X must be dense for a neural ranker, got a sparse array: use X.toarray()")
    return np.asarray(X)
