"""The rules of cost-sensitive AdaBoost: where each variant puts the cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["RULES", "Rule"]

Pass = Callable[[np.ndarray, np.ndarray, np.ndarray], float]
Step = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]


@dataclass(frozen=True)
class Rule:
    """One variant.

    Attributes
    ----------
    start : callable
        Costs and number of rounds to the first weights, not yet normalised.
    looks : int
        The weak learner sees D c^looks.
    vote : callable
        Weights, costs and margins y h (+-1) to the weight of the weak learner.
    step : callable
        Costs, margins, vote and number of rounds to the factors the weights are multiplied by.
    unit : bool
        Whether costs are divided by the largest, since the rule needs them <= 1.
    """

    start: Callable[[np.ndarray, int], np.ndarray]
    looks: int
    vote: Pass
    step: Step
    unit: bool = False


def _half_log(weight: np.ndarray, margin: np.ndarray) -> float:
    """Give 1/2 ln((1 - err) / err) on weights, err kept off 0."""
    total = float(weight.sum())
    return _odds(float((weight * margin).sum()) / total, len(weight))


def _odds(edge: float, rows: int) -> float:
    """Give 1/2 ln((1 + r) / (1 - r)), r kept off +-1 by one part in the number of rows."""
    edge = float(np.clip(edge, -1.0 + 1.0 / rows, 1.0 - 1.0 / rows))
    return 0.5 * float(np.log((1.0 + edge) / (1.0 - edge)))


def exact_vote(weight: np.ndarray, cost: np.ndarray, margin: np.ndarray) -> float:
    """Give the minimiser of sum D exp(-c y a h), found where its slope is 0."""
    from scipy.optimize import brentq

    levels, level = np.unique(cost, return_inverse=True)
    right = np.bincount(level, weights=weight * (margin > 0))
    wrong = np.bincount(level, weights=weight * (margin < 0))

    def slope(a: float) -> float:
        return float((levels * (wrong * np.exp(levels * a) - right * np.exp(-levels * a))).sum())

    # no farther than one wrong example in twice the rows would allow
    far = 0.5 * float(np.log(2.0 * len(weight))) / float(levels[0])
    if slope(-far) > 0:
        return -far
    return far if slope(far) < 0 else float(brentq(slope, -far, far, xtol=1e-14, rtol=1e-14))


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


#: The table, variant by variant.
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
