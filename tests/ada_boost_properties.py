"""The four properties of cost-sensitive AdaBoost, each measured on the code itself."""

import warnings

import numpy as np

from equirank import EquirankWarning
from equirank.rankers import CostSensitiveAdaBoost
from equirank.rankers.boosting.ada_boost_rules import RULES

COSTS = (0.2, 0.5, 1.0, 2.0, 5.0)


def run(variant, cost, sign, outputs, rounds, votes=None):
    """Boost through given outputs; gives the weights the next learner sees, F and the slopes."""
    rule = RULES[variant]
    c = cost / cost.max() if rule.unit else cost
    weight = rule.start(c, rounds)
    weight = weight / weight.sum()
    score, slopes = np.zeros(len(c)), []
    for at, output in enumerate(outputs):
        margin = sign * output
        vote = rule.vote(weight, c, margin) if votes is None else votes[at]
        score = score + vote * output
        weight = weight * rule.step(c, margin, vote, rounds)
        if variant == "AsymAda":
            weight = weight / c ** (1 / rounds)  # the next round's cost comes after the step
        seen = weight * c**rule.looks
        slopes.append(abs(float((seen * margin).sum() / seen.sum())))
        if variant == "AsymAda" and at + 1 < len(outputs):
            weight = weight * c ** (1 / rounds)
        weight = weight / weight.sum()
    seen = weight * c**rule.looks
    return seen / seen.sum(), score, slopes


def gradient(variant):
    """Measure gradient descent of a loss, by two numbers that must be 0.

    The slope of the loss along the chosen output after its vote, the weights being the gradient;
    and how far weights depend on the path by which the same margins were reached.
    """
    rng = np.random.default_rng(0)
    sign = np.where(rng.random(400) < 0.4, 1.0, -1.0)
    cost = np.where(sign > 0, 3.0, 1.0)
    outputs = [sign * np.where(rng.random(400) < 0.7, 1.0, -1.0) for _ in range(4)]
    slope = max(run(variant, cost, sign, outputs, 4)[2])
    one, two = outputs[:2]
    seen, score, _ = run(variant, cost, sign, [one, two], 2, [0.4, 0.6])
    other, same, _ = run(variant, cost, sign, [one, two, one, two], 4, [0.2, 0.3, 0.2, 0.3])
    np.testing.assert_allclose(score, same)
    return slope, float(np.abs(seen / other - 1.0).max())


def wrong_decisions(variant):
    """Count decisions against the cheaper class, in a world of one kind of row (of 90)."""
    wrong, X = 0, np.zeros((200, 1))
    for ratio in COSTS:
        for share in np.arange(0.05, 1.0, 0.05):
            if abs(share * ratio - (1.0 - share)) < 1e-9:
                continue
            y = (np.arange(200) < round(share * 200)).astype(int)
            model = CostSensitiveAdaBoost(
                variant, n_estimators=8, class_cost=(1.0, ratio), calibration=None
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EquirankWarning)
                choice = model.fit(X, y).predict(X[:1])[0]
            wrong += choice != (share * ratio > 1.0 - share)
    return int(wrong)


def least_emphasis(variant):
    """Return the least weight of a row five times as costly as another with the same history."""
    rule, least = RULES[variant], np.inf
    c = np.array([5.0, 1.0])
    c = c / c.max() if rule.unit else c
    for margin in (np.ones(2), -np.ones(2)):
        for vote in (0.1, 0.5, 2.0):
            weight = rule.start(c, 20)
            for _ in range(20):
                weight = weight * rule.step(c, margin, vote, 20)
                least = min(least, weight[0] / weight[1])
    return float(least)


def calibration_error(variant, calibration):
    """Return the expected calibration error of probabilities against the known truth."""
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(400, 10)), rng.normal(size=(20_000, 10))

    def truth(rows):
        return 1.0 / (1.0 + np.exp(-rows[:, 0] - rows[:, 1]))

    y = (rng.random(len(X)) < truth(X)).astype(int)
    model = CostSensitiveAdaBoost(
        variant, n_estimators=500, class_cost=(1.0, 3.0), calibration=calibration, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        said = model.fit(X, y).predict_proba(Z)[:, 1]
    place = np.minimum((said * 20).astype(int), 19)
    gaps = np.bincount(place, weights=said - truth(Z), minlength=20)
    return float(np.abs(gaps).sum() / len(Z))


def verdicts(variant):
    """Say which of the four properties hold: gradient, consistent, preserving, calibrated."""
    slope, path = gradient(variant)
    return (
        slope < 1e-9 and path < 1e-9,
        wrong_decisions(variant) == 0,
        least_emphasis(variant) >= 1.0 - 1e-12,
        calibration_error(variant, None) < 0.05,
    )
