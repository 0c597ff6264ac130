"""The stumps of AdaBoost: +1 above a threshold of one feature and -1 up to it, or always +1."""

import numpy as np

from .binning import Bins, Workers

__all__ = ["best_edge", "stump_output", "vote_parts", "vote_sum"]


def vote_sum(
    X: np.ndarray, feature: np.ndarray, threshold: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Add up the votes; stumps of one feature and threshold are added once."""
    cuts, place = np.unique(np.stack([feature, threshold], axis=1), axis=0, return_inverse=True)
    total = np.bincount(place.reshape(-1), weights=weight, minlength=len(cuts))
    score = np.full(len(X), -weight.sum())
    for (column, cut), vote in zip(cuts, total, strict=True):
        score += np.where(X[:, int(column)] > cut, 2.0 * vote, 0.0)
    return score


def vote_parts(
    X: np.ndarray, feature: np.ndarray, threshold: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Give what the votes of each feature add to each row's sum (rows x features)."""
    parts = np.zeros(X.shape)
    for column in np.unique(feature).tolist():
        mine = feature == column
        parts[:, column] = vote_sum(X, feature[mine], threshold[mine], weight[mine])
    return parts


def best_edge(bins: Bins, potential: np.ndarray, workers: Workers) -> tuple[int, int, float, float]:
    """Find the stump with the largest edge: feature, cut (-1: always +1), side and edge."""
    sums = bins.histograms(potential, workers)
    total = float(potential.sum())
    above = total - np.cumsum(sums[:, : bins.edges.shape[1]], axis=1)
    edge = 2.0 * above - total
    edge[np.arange(edge.shape[1]) >= bins.n_edges[:, None]] = 0.0
    size = np.abs(edge)
    largest = max(float(size.max(initial=0.0)), abs(total))
    tie = largest - 1e-12 * float(np.abs(potential).sum())
    if abs(total) >= tie:
        return 0, -1, 1.0 if total >= 0 else -1.0, abs(total)
    feature, cut = np.unravel_index(int(np.argmax(size >= tie)), size.shape)
    side = 1.0 if edge[feature, cut] > 0 else -1.0
    return int(feature), int(cut), side, float(size[feature, cut])


def stump_output(bins: Bins, feature: int, cut: int) -> np.ndarray:
    """Give +1 above the cut and -1 up to it."""
    return np.where(bins.codes[feature] > cut, 1.0, -1.0)
