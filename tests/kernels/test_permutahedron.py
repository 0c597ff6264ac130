"""Reachable exposures: majorisation, projection and the mixture of rankings that reaches them."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from equirank.kernels.permutahedron import excess, nearest_reachable, peel


def attention(n):
    return 1 / np.log2(np.arange(2, n + 2))


def worst_set(target, v):
    """The largest excess over all sets of items, set by set."""
    n = len(target)
    return max(
        sum(target[list(chosen)]) - v[:size].sum()
        for size in range(1, n + 1)
        for chosen in combinations(range(n), size)
    )


def test_excess_is_that_of_the_worst_set():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 7):
        target = rng.random(n)
        assert excess(target, attention(n)) == pytest.approx(worst_set(target, attention(n)))


def test_projection_is_the_nearest_point():
    rng = np.random.default_rng(1)
    v = attention(3)
    for _ in range(5):
        target = rng.random(3) * 2
        target *= v.sum() / target.sum()
        got = nearest_reachable(target, v)
        assert excess(got, v) < 1e-12
        rules = [{"type": "eq", "fun": lambda e: e.sum() - v.sum()}]
        for size in (1, 2):
            for chosen in combinations(range(3), size):
                rules.append(
                    {
                        "type": "ineq",
                        "fun": lambda e, c=list(chosen), s=size: v[:s].sum() - e[c].sum(),
                    }
                )
        found = minimize(
            lambda e, t=target: ((e - t) ** 2).sum(), np.full(3, v.mean()), constraints=rules
        )
        assert got == pytest.approx(found.x, abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 40])
@pytest.mark.parametrize("power", [0.0, 0.3, 2.0])
def test_peeling_gives_the_target_with_at_most_n_rankings(n, power):
    rng = np.random.default_rng(n)
    v = attention(n)
    target = rng.random(n) ** power
    target = nearest_reachable(target * (v.sum() / target.sum()), v)
    weights, places = peel(target, v)
    assert len(weights) <= n
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0).all()
    assert (np.sort(places, axis=1) == np.arange(n)).all()
    assert weights @ v[places] == pytest.approx(target, abs=1e-10)


def test_peeling_with_a_cutoff_and_ties():
    v = np.array([1.0, 0.5, 0.0, 0.0])
    weights, places = peel(np.array([0.5, 0.5, 0.25, 0.25]), v)
    assert weights @ v[places] == pytest.approx([0.5, 0.5, 0.25, 0.25], abs=1e-12)
