"""The worked examples of the sources, recomputed."""

import numpy as np

from equirank.allocation import ExposureAllocation, NashAllocation, UserItemPolicy
from equirank.metrics import exposure_by_group, rank_equality_error, rank_parity_error
from equirank.metrics.properties import statistical_independence


def worked_examples():
    """Return one row per value; the names are those of expected.toml."""
    found = {}
    relevance = np.array([[0.8, 0.3], [0.5, 0.4]])
    nobody = np.zeros((0, 2, 1), dtype=int)
    policies = {
        "maximal": NashAllocation(k=1, aversion=0.0).fit_policy(relevance),
        "exposure-fair": ExposureAllocation(k=1).fit_policy(relevance),
        "uniform": UserItemPolicy(nobody, [], [1.0], n_items=2, uniform=1.0),
        "Nash welfare": NashAllocation(k=1, tol=1e-6).fit_policy(relevance),
    }
    for name, policy in policies.items():
        found[f"two users, {name}: utility"] = policy.user_utility(relevance).sum()
        for item, impact in enumerate(policy.impact(relevance), 1):
            found[f"two users, {name}: impact of item {item}"] = impact
    for name, merit, half in (("job seekers", np.linspace(0.8, 0.75, 6), 3),
                              ("ten candidates", np.repeat([0.89, 0.88], 5), 5)):  # fmt: skip
        group, order = np.repeat(["1", "2"], half), np.linspace(1e-6, 0, 2 * half)
        _, each = exposure_by_group(merit + order, group, return_groups=True)
        first, second = each["1"], each["2"]
        found[f"{name}: mean exposure of the first group"] = first
        found[f"{name}: mean exposure of the second group"] = second
        found[f"{name}: exposure that the second group lacks"] = 1 - second / first
        found[f"{name}: share of all exposure, first group"] = first / (first + second)
        found[f"{name}: share of all exposure, second group"] = second / (first + second)
    liked = np.tile([0.55, 0.53, 0.51, 0.49, 0.47, 0.45], (1000, 1))
    top = NashAllocation(k=1, aversion=0.0).fit_policy(liked).exposure() / 1000
    found["six items by taste: how often the first item is ranked first"] = top[0]
    found.update(_positions())
    return [{"name": name, "value": float(value)} for name, value in found.items()]


def _positions():
    """Return the known results of the property bench."""
    found, n = {}, 100
    for name, places in {
        "45..55 without 50": [*range(45, 50), *range(51, 56)],
        "1..5, 95..99": [*range(1, 6), *range(95, 100)],
        "2, 3, 5, 67..73": [2, 3, 5, *range(67, 74)],
        "5, 15, .., 95": range(5, 100, 10),
    }.items():
        result = statistical_independence(np.arange(1, n + 1), np.isin(np.arange(1, n + 1), places))
        found[f"positions {name}: mean position"] = round(result.protected * n + 0.5, 9)
    truth = np.arange(5, 100, 10)
    for name, places in {
        "clustering": [14, 15, 16, 44, 45, 46, 79, 80, 81, 82],
        "noise": [15, 4, 33, 22, 54, 70, 49, 81, 90, 82],
        "tokenisation": [1, 8, 16, 22, 31, 72, 79, 83, 92, 100],
    }.items():
        found[f"{name}: mean displacement"] = np.mean(places - truth)
        if name == "tokenisation":
            found[f"{name}: mean displacement, upper five"] = np.mean(places[:5] - truth[:5])
            found[f"{name}: mean displacement, lower five"] = np.mean(places[5:] - truth[5:])
    for words, protected in (("B9 A0 A2 B1 B3 A5 B4 A8 B6 B7", "AB"),):
        group = [word[0] for word in words.split()]
        merit = [9 - int(word[1]) for word in words.split()]
        for who in protected:
            value = rank_equality_error(merit, np.arange(10, 0, -1), group, protected=who)
            found[f"{words}: rank equality error of {who}"] = value
    words = "A0 A2 B1 B3 B4 B6 B7 B9 A5 A8"
    group = [word[0] for word in words.split()]
    found[f"{words}: rank parity"] = rank_parity_error(np.arange(10, 0, -1), group, protected="A")
    return found
