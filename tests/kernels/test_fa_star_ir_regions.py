"""FA*IR for several groups against all lists, one by one, in fractions."""

from fractions import Fraction
from itertools import permutations, product
from math import factorial, prod

import numpy as np
import pytest

from equirank.kernels import fa_star_ir_regions
from equirank.kernels.fa_star_ir_minimums import SAME, adjusted_table
from equirank.kernels.fa_star_ir_regions import (
    Region,
    group_fail_probability,
    group_region,
    group_search,
    reachable,
)


def exact_cdf(counts, j, shares):
    """Chance that j independent draws hold at most so many of each protected group."""
    rest, total = 1 - sum(shares), Fraction(0)
    for some in product(*(range(min(c, j) + 1) for c in counts)):
        left = j - sum(some)
        if left >= 0:
            ways = factorial(j) // prod(map(factorial, (*some, left)))
            total += ways * prod(s**c for s, c in zip(shares, some, strict=True)) * rest**left
    return total


def exact_passes(k, shares, alpha):
    cells = {}
    for j in range(1, k + 1):
        for counts in product(range(j + 1), repeat=len(shares)):
            if sum(counts) <= j:
                cells[j, counts] = exact_cdf(counts, j, shares) > alpha
    return cells


def exact_fail(cells, k, shares):
    """Go through all lists of draws."""
    chances, failed = [1 - sum(shares), *shares], Fraction(0)
    for draws in product(range(len(chances)), repeat=k):
        counts = [0] * len(shares)
        for j, draw in enumerate(draws, start=1):
            if draw:
                counts[draw - 1] += 1
            if not cells[j, tuple(counts)]:
                failed += prod(chances[draw] for draw in draws)
                break
    return failed


CASES = [
    (5, (Fraction(1, 4), Fraction(1, 3)), Fraction(1, 10)),
    (6, (Fraction(1, 5), Fraction(1, 5)), Fraction(1, 5)),
    (7, (Fraction(3, 10), Fraction(1, 2)), Fraction(3, 10)),
    (5, (Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)), Fraction(1, 5)),
    (6, (Fraction(2, 5),), Fraction(1, 4)),
]


@pytest.mark.parametrize(("k", "shares", "alpha"), CASES)
def test_regions_and_their_fail_probability_are_exact(k, shares, alpha):
    cells = exact_passes(k, shares, alpha)
    region = group_region(k, np.array([float(s) for s in shares]), float(alpha))
    for (j, counts), passes in cells.items():
        assert (region.need[(j - 1, *counts[1:])] <= counts[0]) == passes
    exact = float(exact_fail(cells, k, shares))
    assert region.fail == pytest.approx(exact)
    again = group_fail_probability(region.need, np.array([float(s) for s in shares]))
    assert again == pytest.approx(exact)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "shares", "alpha"), [*CASES[:2], pytest.param(*CASES[2], marks=pytest.mark.gate)]
)
def test_the_corrected_region_is_the_smallest_good_one(k, shares, alpha):
    levels = {
        exact_cdf(counts, j, shares)
        for j in range(1, k + 1)
        for counts in product(range(j + 1), repeat=len(shares))
        if sum(counts) <= j
    }
    best = exact_passes(k, shares, Fraction(0))
    for level in sorted((level for level in levels if level <= alpha), reverse=True):
        cells = exact_passes(k, shares, level)
        if exact_fail(cells, k, shares) <= alpha:
            best = cells
            break
    found = group_search(k, np.array([float(s) for s in shares]), float(alpha))
    assert found.fail <= float(alpha)
    for (j, counts), passes in best.items():
        assert (found.need[(j - 1, *counts[1:])] <= counts[0]) == passes


@pytest.mark.parametrize("k", [1, 2, 10, 60])
@pytest.mark.parametrize("p", [0.1, 0.4, 0.7])
def test_one_group_is_the_usual_table(k, p):
    found, usual = group_search(k, np.array([p]), 0.1), adjusted_table(k, p, 0.1)
    assert found.need.tolist() == usual.counts.tolist()
    assert found.low == pytest.approx(usual.low, abs=1e-12)
    assert found.high == pytest.approx(usual.high)


def test_a_finite_pool_against_all_its_orders():
    pool, shares = "aabbcc", np.array([2.0, 2.0])
    region = group_region(4, shares, 0.3, pool=6)
    failed, orders = 0, list(permutations(pool))
    passing = {j: {} for j in range(1, 5)}
    for order in orders:
        for j in range(1, 5):
            counts = order[:j].count("a"), order[:j].count("b")
            passing[j][counts] = passing[j].get(counts, 0) + 1
    for order in orders:
        fails = False
        for j in range(1, 5):
            a, b = order[:j].count("a"), order[:j].count("b")
            below = sum(n for (c, d), n in passing[j].items() if c <= a and d <= b)
            good = Fraction(below, len(orders)) > Fraction(3, 10)
            assert (region.need[j - 1, b] <= a) == good
            fails |= not good
        failed += fails
    assert region.fail == pytest.approx(failed / len(orders))
    assert group_fail_probability(region.need, shares, 6) == pytest.approx(region.fail)


@pytest.mark.parametrize("seed", range(6))
def test_reachable_counts_against_all_ways_on(seed):
    rng = np.random.default_rng(seed)
    k = 5
    need = group_search(k, np.array([0.3, 0.35]), 0.45).need
    most = rng.integers(0, k + 1, size=2)

    def can(j, a, b):
        if a > most[0] or b > most[1] or need[j - 1, b] > a:
            return False
        return j == k or can(j + 1, a, b) or can(j + 1, a + 1, b) or can(j + 1, a, b + 1)

    found = reachable(need, most)
    for j in range(1, k + 1):
        for a, b in product(range(j + 1), repeat=2):
            if a + b <= j and a <= most[0] and b <= most[1]:
                assert (found[j - 1, b] <= a) == can(j, a, b)


def step(current, shares, pool):
    """Return the distribution of the counts of the next prefix, over the whole cube."""
    j = len(current)
    after = np.zeros((j + 1,) * current.ndim)
    inner = (slice(0, j),) * current.ndim
    taken = 0
    for group, share in enumerate(shares.tolist()):
        moved = list(inner)
        moved[group] = slice(1, j + 1)
        count = np.arange(j).reshape([-1 if axis == group else 1 for axis in range(current.ndim)])
        probability = np.maximum(share - count, 0.0) / (pool - j + 1) if pool else share
        taken = taken + count
        after[tuple(moved)] += probability * current
    rest = max(0.0, (pool or 1.0) - float(shares.sum()))
    if pool:
        rest = np.maximum(rest - np.maximum(j - 1 - taken, 0), 0.0) / (pool - j + 1)
    after[inner] += rest * current
    return after


def cumulated(values):
    for axis in range(values.ndim):
        values = np.cumsum(values, axis=axis)
    return values


def slow_region(k, shares, alpha, pool=0):
    shares = np.asarray(shares, dtype=np.float64)
    need = np.empty((k, *(k + 1,) * (len(shares) - 1)), dtype=np.int32)
    low, high, missed = 0.0, 1.0, 0.0
    alive = probabilities = np.ones((1,) * len(shares))
    for j in range(1, k + 1):
        probabilities = step(probabilities, shares, pool)
        values = cumulated(probabilities)
        passes = values > alpha * (1.0 + SAME)
        low = max(low, float(values[~passes].max(initial=0.0)))
        high = min(high, float(values[passes].min(initial=1.0)))
        short = np.asarray(j + 1 - passes.sum(axis=0))
        short = np.where(short > j, k + 1, short)
        # Counts above j are impossible and repeat the entry of j.
        edge = np.minimum(np.arange(k + 1), j)
        need[j - 1] = short[np.ix_(*(edge,) * short.ndim)] if short.ndim else short
        alive = step(alive, shares, pool)
        missed += float(alive[~passes].sum())
        alive[~passes] = 0.0
    return Region(need, low, high, missed)


def slow_search(k, shares, alpha, pool=0):
    """The slow twin: every level computes the whole distribution again."""
    limit = alpha * (1.0 + SAME)
    best = slow_region(k, shares, alpha, pool)
    if best.fail <= limit:
        return best
    bad = best.low
    best = slow_region(k, shares, 0.0, pool)
    level = min(bad, alpha / k)
    while True:
        tried = slow_region(k, shares, level, pool)
        if tried.fail <= limit:
            best = tried
        else:
            bad = min(bad, tried.low)
            if level <= best.high:
                return best
        if best.high >= bad * (1.0 - SAME):
            return best
        level = max(best.high, np.sqrt(best.high * bad))


def assert_same(found, twin):
    assert found.need.dtype == twin.need.dtype == np.int32
    np.testing.assert_array_equal(found.need, twin.need)
    np.testing.assert_allclose(found[1:], twin[1:], rtol=1e-12)


@pytest.mark.parametrize("depth", [20.0, 0.02])
@pytest.mark.parametrize(
    ("k", "shares", "alpha", "pool"),
    [
        (1, [0.4, 0.3], 0.1, 0),
        (12, [0.35], 0.1, 0),
        (25, [0.3, 0.2], 0.1, 0),
        (25, [0.1, 0.05], 0.3, 0),
        (14, [0.25, 0.2, 0.15], 0.1, 0),
        (8, [0.3, 0.3, 0.3], 0.05, 0),
        (6, [0.2, 0.2, 0.2, 0.2], 0.1, 0),
        (20, [9.0, 6.0], 0.1, 25),
        (12, [4.0, 3.0, 5.0], 0.1, 14),
    ],
)
def test_searches_are_those_of_the_whole_cube(monkeypatch, k, shares, alpha, pool, depth):
    monkeypatch.setattr(fa_star_ir_regions, "DEPTH", depth)  # a small one lowers the floor later
    shares = np.array(shares)
    assert_same(group_search(k, shares, alpha, pool), slow_search(k, shares, alpha, pool))
    for level in (0.0, 0.003, alpha):
        assert_same(group_region(k, shares, level, pool), slow_region(k, shares, level, pool))
