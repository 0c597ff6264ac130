"""Calibration: from the scores of a classifier to probabilities."""

from typing import Literal

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

__all__ = ["calibrated", "fit_calibration"]

Map = tuple[np.ndarray, np.ndarray]


def fit_calibration(
    score: np.ndarray, positive: np.ndarray, method: Literal["sigmoid", "isotonic"]
) -> Map:
    """Fit Platt's sigmoid or an isotonic curve to scores and labels (True: positive).

    Returns
    -------
    tuple of two ndarrays
        Of the sigmoid its slope (one value) and its intercept; of the curve its corners.
    """
    if method == "isotonic":
        curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        curve.fit(score, positive.astype(float))
        return curve.X_thresholds_.astype(float), curve.y_thresholds_.astype(float)
    plus, minus = int(positive.sum()), int((~positive).sum())
    # Platt's targets: not quite 0 and 1, so that separable scores have a finite slope
    target = np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))
    spread = float(score.std()) or 1.0
    model = LogisticRegression(C=1e6, max_iter=1000)
    twice = np.concatenate([score, score])[:, None] / spread
    label = np.repeat([1, 0], len(score))
    model.fit(twice, label, sample_weight=np.concatenate([target, 1.0 - target]))
    return model.coef_[0] / spread, model.intercept_.astype(float)


def calibrated(score: np.ndarray, curve: Map, method: str) -> np.ndarray:
    """Give the probabilities that belong to scores."""
    if method == "isotonic":
        return np.interp(score, *curve)
    slope, intercept = curve
    # half of 1 + tanh(z/2) is the sigmoid, without overflow
    return 0.5 * (1.0 + np.tanh(0.5 * (slope[0] * score + intercept[0])))
