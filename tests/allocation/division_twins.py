"""Users, items and places: slow, obvious twins, and random policies."""

import numpy as np

EXAMPLE = [[0.8, 0.3], [0.5, 0.4]]
MAXIMAL = [[[1], [0]], [[1], [0]]]
EXPOSURE_FAIR = [[[1], [0]], [[0.3], [0.7]]]
UNIFORM = [[[0.5], [0.5]], [[0.5], [0.5]]]
NASH = [[[1], [0]], [[0], [1]]]
POLICIES = {"maximal": MAXIMAL, "fair": EXPOSURE_FAIR, "uniform": UNIFORM, "nash": NASH}


def impact(relevance, policy, attention, worth=None, places=None):
    """What the places of one item are worth to another (or to itself)."""
    total = 0.0
    for u in range(len(relevance)):
        for k in range(len(attention)):
            total += relevance[u][worth] * attention[k] * policy[u][places][k]
    return total


def impacts(relevance, policy, attention):
    n = len(relevance[0])
    return [impact(relevance, policy, attention, i, i) for i in range(n)]


def random_cases(n_cases, seed=0):
    """Return relevance, a mixture of rankings per user, and attention."""
    rng = np.random.default_rng(seed)
    for number in range(n_cases):
        users, items = int(rng.integers(1, 5)), int(rng.integers(1, 6))
        places = int(rng.integers(1, items + 1))
        relevance = np.round(rng.random((users, items)), 2) * (rng.random((users, items)) > 0.1)
        policy = np.zeros((users, items, places))
        for user in range(users):
            weights = rng.dirichlet(np.ones(3))
            for weight in weights:
                for place, item in enumerate(rng.permutation(items)[:places]):
                    policy[user, item, place] += weight
        if number % 5 == 0:
            policy = np.full_like(policy, 1 / items)
        if number % 7 == 0:
            policy[0] = 0  # a user who is shown nothing
        attention = (
            np.sort(rng.random(places))[::-1] if number % 3 else 1 / np.arange(1, places + 1)
        )
        yield relevance, policy, attention
