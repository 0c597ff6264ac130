"""A classifier of pairs: what it is shown of two rows, and the chance it gives."""

from typing import Any

import numpy as np

__all__ = ["pair_chance", "pair_features"]


def pair_features(first: np.ndarray, second: np.ndarray, kind: str) -> np.ndarray:
    """Give the features of pairs: ``u - v``, ``(u, v)``, or ``(u, v, u - v)``.

    Examples
    --------
    >>> pair_features(np.array([[3.0, 1.0]]), np.array([[1.0, 1.0]]), "both")
    array([[3., 1., 1., 1., 2., 0.]])
    """
    if kind == "difference":
        return first - second
    parts = [first, second] if kind == "rows" else [first, second, first - second]
    return np.concatenate(parts, axis=1)


def pair_chance(model: Any, features: np.ndarray) -> np.ndarray:
    """Give the chance of class 1, or a decision for 0 or 1 where the model has no chances.

    A decision value of 0 counts one half.
    """
    if hasattr(model, "predict_proba"):
        column = int(np.flatnonzero(model.classes_ == 1)[0])
        return np.clip(model.predict_proba(features)[:, column], 0.0, 1.0)
    if hasattr(model, "decision_function"):
        return (np.sign(model.decision_function(features)) + 1.0) / 2.0
    return (model.predict(features) == 1).astype(np.float64)
