"""Logistic regression by Newton's method."""

import numpy as np

__all__ = ["logistic", "logistic_coefficients"]

#: A ridge this small moves no estimate and stops the ones that would go to infinity.
RIDGE = 1e-6
FAR = 30.0


def logistic(eta: np.ndarray) -> np.ndarray:
    """Give ``1 / (1 + exp(-eta))``, eta cut off at 30 either way."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(eta, -FAR, FAR))))


def logistic_coefficients(design: np.ndarray, hit: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """Give the coefficients of largest likelihood; ``hit`` is 0 or 1 per row of the design.

    Examples
    --------
    >>> design = np.ones((4, 1))
    >>> share = logistic(logistic_coefficients(design, np.array([1, 1, 1, 0])))
    >>> share.round(4)
    array([0.75])
    """
    coef = np.zeros(design.shape[1])
    ridge = RIDGE * np.eye(design.shape[1])
    for _ in range(max_iter):
        p = logistic(design @ coef)
        bend = (design * (p * (1.0 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(bend, design.T @ (hit - p) - RIDGE * coef)
        length = float(np.abs(step).max())
        coef = coef + step * min(1.0, 5.0 / max(length, 1e-300))
        if length < 1e-10:
            break
    return np.asarray(coef)
