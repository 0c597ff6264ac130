"""Rules of the AdaBoost variants: weights, votes and updates with costs, and stumps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..feature_bins import Bins, Workers

__all__ = ["RULES", "Rule", "best_edge", "stump_output", "vote_parts", "vote_sum"]


Pass = Callable[[np.ndarray, np.ndarray, np.ndarray], float]
Step = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]


@dataclass(frozen=True)
class Rule:
    """The rule of one variant.

    Attributes
    ----------
    start : callable
        Maps costs and number of rounds to the first weights, not normalised.
    looks : int
        The weak learner is trained on the weights D c^looks.
    vote : callable
        Maps weights, costs and margins y h (+-1) to the weight of the weak learner.
    step : callable
        Maps costs, margins, vote and number of rounds to the factors of the weights.
    unit : bool
        Whether costs are divided by the largest, for rules that need costs <= 1.
    """

    start: Callable[[np.ndarray, int], np.ndarray]
    looks: int
    vote: Pass
    step: Step
    unit: bool = False


def _half_log(weight: np.ndarray, margin: np.ndarray) -> float:
    """Return 1/2 ln((1 - err) / err) of the weighted error, bounded away from 0."""
    total = float(weight.sum())
    return _odds(float((weight * margin).sum()) / total, len(weight))


def _odds(edge: float, rows: int) -> float:
    """Return 1/2 ln((1 + r) / (1 - r)), with r at most 1 - 1/rows in absolute value."""
    edge = float(np.clip(edge, -1.0 + 1.0 / rows, 1.0 - 1.0 / rows))
    return 0.5 * float(np.log((1.0 + edge) / (1.0 - edge)))


def exact_vote(weight: np.ndarray, cost: np.ndarray, margin: np.ndarray) -> float:
    """Return the minimiser a of sum D exp(-c y a h), a root of its derivative."""
    from scipy.optimize import brentq

    levels, level = np.unique(cost, return_inverse=True)
    right = np.bincount(level, weights=weight * (margin > 0))
    wrong = np.bincount(level, weights=weight * (margin < 0))

    def derivative(a: float) -> float:
        return float((levels * (wrong * np.exp(levels * a) - right * np.exp(-levels * a))).sum())

    # bounded as if one example in twice the rows were wrong
    bound = 0.5 * float(np.log(2.0 * len(weight))) / float(levels[0])
    if derivative(-bound) > 0:
        return -bound
    return (
        bound
        if derivative(bound) < 0
        else float(brentq(derivative, -bound, bound, xtol=1e-14, rtol=1e-14))
    )


def _on(power: int) -> Pass:
    return lambda D, c, m: _half_log(D * c**power, m)


def _ada_c3(D: np.ndarray, c: np.ndarray, m: np.ndarray) -> float:
    return _odds(float((c * c * D * m).sum() / (c * D).sum()), len(D))


def _ada_cost(D: np.ndarray, c: np.ndarray, m: np.ndarray) -> float:
    return _odds(float((D * _leaning(c, m) * m).sum()), len(D))


def _leaning(c: np.ndarray, m: np.ndarray) -> np.ndarray:
    return np.where(m < 0, (1.0 + c) / 2.0, (1.0 - c) / 2.0)


def _penalty(c: np.ndarray, m: np.ndarray) -> np.ndarray:
    return np.where(m < 0, c, 1.0)


def _even(c: np.ndarray, rounds: int) -> np.ndarray:
    return np.ones(len(c))


def _costs(c: np.ndarray, rounds: int) -> np.ndarray:
    return c


#: The rule of each variant.
RULES: Mapping[str, Rule] = {
    "AdaBoost": Rule(_even, 0, _on(0), lambda c, m, a, n: np.exp(-a * m)),
    "AdaMEC": Rule(_even, 0, _on(0), lambda c, m, a, n: np.exp(-a * m)),
    "CGAda": Rule(_costs, 0, _on(0), lambda c, m, a, n: np.exp(-a * m)),
    "CSAda": Rule(_costs, 1, exact_vote, lambda c, m, a, n: np.exp(-c * a * m)),
    "AdaC1": Rule(
        _costs,
        1,
        lambda D, c, m: _odds(float((D * c * m).sum()), len(D)),
        lambda c, m, a, n: np.exp(-c * a * m),
        unit=True,
    ),
    "AdaC2": Rule(_costs, 1, _on(1), lambda c, m, a, n: c * np.exp(-a * m)),
    "AdaC3": Rule(_costs, 2, _ada_c3, lambda c, m, a, n: c * np.exp(-c * a * m), unit=True),
    "AsymAda": Rule(
        lambda c, n: c ** (1.0 / n), 0, _on(0), lambda c, m, a, n: c ** (1.0 / n) * np.exp(-a * m)
    ),
    "CSB0": Rule(_costs, 0, _on(0), lambda c, m, a, n: _penalty(c, m)),
    "CSB1": Rule(_costs, 0, _on(0), lambda c, m, a, n: _penalty(c, m) * np.exp(-m)),
    "CSB2": Rule(_costs, 0, _on(0), lambda c, m, a, n: _penalty(c, m) * np.exp(-a * m)),
    "AdaCost": Rule(
        _costs, 0, _ada_cost, lambda c, m, a, n: np.exp(-_leaning(c, m) * a * m), unit=True
    ),
}


def vote_sum(
    X: np.ndarray, feature: np.ndarray, threshold: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the sum of the votes; stumps of one feature and threshold are merged."""
    cuts, stump = np.unique(np.stack([feature, threshold], axis=1), axis=0, return_inverse=True)
    total = np.bincount(stump.reshape(-1), weights=weight, minlength=len(cuts))
    score = np.full(len(X), -weight.sum())
    for (column, cut), vote in zip(cuts, total, strict=True):
        score += np.where(X[:, int(column)] > cut, 2.0 * vote, 0.0)
    return score


def vote_parts(
    X: np.ndarray, feature: np.ndarray, threshold: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the contribution of each feature to the sum of each row (rows x features)."""
    parts = np.zeros(X.shape)
    for column in np.unique(feature).tolist():
        chosen = feature == column
        parts[:, column] = vote_sum(X, feature[chosen], threshold[chosen], weight[chosen])
    return parts


def best_edge(bins: Bins, potential: np.ndarray, workers: Workers) -> tuple[int, int, float, float]:
    """Return the stump with the largest edge: feature, cut (-1: always +1), side and edge."""
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
    """Return +1 above the cut and -1 up to it."""
    return np.where(bins.codes[feature] > cut, 1.0, -1.0)
