from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

import numpy as np
import pytest

from equirank.kernels.fa_star_ir_minimums import (
    adjusted_table,
    fail_probability,
    lowest_cdf,
    p_value,
    pool_adjusted_table,
    pool_fail_probability,
    pool_table,
    table,
)

# Exact twins in fractions, written from the definition


@cache
def cdf(m, k, p):
    return sum(comb(k, i) * p**i * (1 - p) ** (k - i) for i in range(m + 1))


def exact_table(k, p, alpha):
    """The smallest m with F(m; j, p) > alpha of every prefix j."""
    return [next(m for m in range(j + 1) if cdf(m, j, p) > alpha) for j in range(1, k + 1)]


def exact_fail(counts, p):
    """Follow the distribution of the count among lists that have not failed."""
    alive, failed = {0: Fraction(1)}, Fraction(0)
    for needed in counts:
        after = {}
        for count, chance in alive.items():
            after[count] = after.get(count, 0) + chance * (1 - p)
            after[count + 1] = after.get(count + 1, 0) + chance * p
        failed += sum(chance for count, chance in after.items() if count < needed)
        alive = {count: chance for count, chance in after.items() if count >= needed}
    return failed


@cache
def exact_adjusted(k, p, alpha):
    """Try all levels at which the table changes, from the highest: the first good one."""
    levels = {cdf(m, j, p) for j in range(1, k + 1) for m in range(j + 1)}
    for level in sorted((level for level in levels if level <= alpha), reverse=True):
        counts = exact_table(k, p, level)
        if exact_fail(counts, p) <= alpha:
            return counts
    return [0] * k


SHARES = [Fraction(s) for s in ("1/20", "1/10", "1/4", "3/10", "2/5", "1/2", "2/3", "3/4", "9/10")]
LEVELS = [Fraction(a) for a in ("1/1000", "1/100", "1/20", "1/10", "15/100", "1/4", "1/2")]


@pytest.mark.slow
@pytest.mark.parametrize("p", SHARES, ids=str)
def test_tables_are_exact(p):
    for alpha in [*LEVELS, Fraction(1, 8), Fraction(1, 10**12), Fraction(9, 10)]:
        wanted = exact_table(40, p, alpha)
        for k in (1, 2, 7, 40):
            found = table(k, float(p), float(alpha))
            assert found.counts.tolist() == wanted[:k], (k, alpha)
            assert found.counts.dtype == np.int32


@pytest.mark.parametrize("p", SHARES, ids=str)
def test_levels_around_a_table_give_it_and_no_others_do(p):
    for alpha in LEVELS:
        found = table(25, float(p), float(alpha))
        low = max(
            (cdf(m - 1, j, p) for j, m in enumerate(found.counts.tolist(), 1) if m > 0), default=0
        )
        high = min(cdf(m, j, p) for j, m in enumerate(found.counts.tolist(), 1))
        assert found.low == pytest.approx(float(low), rel=1e-9)
        assert found.high == pytest.approx(float(high), rel=1e-9)
        assert found.low <= float(alpha) * (1 + 1e-9) < found.high * (1 + 2e-9)


def test_a_value_of_f_equal_to_the_level_is_not_above_it():
    # F(0; 1, 1/2) = F(1; 3, 1/2) = F(2; 5, 1/2) = 1/2
    assert table(6, 0.5, 0.5).counts.tolist() == [1, 1, 2, 2, 3, 3]


def test_long_tables_agree_with_scipy():
    from scipy.special import bdtr

    for p, alpha in [(0.5, 0.1), (0.03, 0.01), (0.9, 1e-9), (0.25, 1e-40)]:
        counts = table(3000, p, alpha).counts.astype(int)
        length = np.arange(1, 3001)
        assert (bdtr(counts, length, p) > alpha).all()
        some = counts > 0
        assert (bdtr(counts[some] - 1, length[some], p) <= alpha).all()


@pytest.mark.slow
@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)], ids=str)
def test_fail_probability_is_that_of_all_lists(p):
    rng = np.random.default_rng(1)
    for k in range(1, 10):
        lists = list(product((0, 1), repeat=k))
        for _ in range(6):
            counts = np.sort(rng.integers(0, k + 1, size=k))
            wanted = sum(
                p ** sum(row) * (1 - p) ** (k - sum(row))
                for row in lists
                if any(sum(row[:j]) < counts[j - 1] for j in range(1, k + 1))
            )
            assert fail_probability(counts, float(p)) == pytest.approx(float(wanted), rel=1e-12)


def test_fail_probability_of_any_row_of_counts():
    assert fail_probability(np.zeros(5, dtype=int), 0.3) == 0
    assert fail_probability(np.array([2]), 0.3) == pytest.approx(1)
    assert fail_probability(np.array([1, 0]), 0.3) == pytest.approx(0.7)
    assert fail_probability(np.array([0, 0, 3]), 0.5) == pytest.approx(1 - 0.125)


@pytest.mark.slow
@pytest.mark.parametrize("p", SHARES, ids=str)
def test_fail_probability_agrees_with_fractions(p):
    for alpha in LEVELS[::2]:
        counts = exact_table(60, p, alpha)
        wanted = float(exact_fail(counts, p))
        assert fail_probability(np.array(counts), float(p)) == pytest.approx(wanted, rel=1e-12)
        got = fail_probability(np.array(counts), float(p), float(alpha))
        assert got == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", LEVELS, ids=str)
@pytest.mark.parametrize("p", SHARES, ids=str)
def test_adjusted_tables_are_the_largest_that_keep_the_level(p, alpha):
    for k in (1, 2, 3, 5, 8, 13, 21):
        found = adjusted_table(k, float(p), float(alpha))
        assert found.counts.tolist() == exact_adjusted(k, p, alpha), k
        assert exact_fail(found.counts.tolist(), p) <= alpha


def test_the_worked_case():
    p, alpha = 0.25, 0.1
    alone = table(20, p, alpha).counts
    assert alone.tolist() == [0] * 8 + [1] * 6 + [2] * 5 + [3]
    assert fail_probability(alone, p) == pytest.approx(0.146887, abs=5e-7)
    together = adjusted_table(20, p, alpha).counts
    assert together.tolist() == [0] * 9 + [1] * 6 + [2] * 5
    assert fail_probability(together, p) == pytest.approx(0.089722, abs=5e-7)


@pytest.mark.slow
@pytest.mark.parametrize("k", [100, 400, 1500, 10_000])
@pytest.mark.parametrize(("p", "alpha"), [(0.5, 0.1), (0.05, 0.01), (0.8, 0.2)])
def test_long_adjusted_tables_are_good_and_the_next_is_not(k, p, alpha):
    found = adjusted_table(k, p, alpha)
    assert fail_probability(found.counts, p) <= alpha * (1 + 1e-9)
    larger = table(k, p, found.high)
    assert (larger.counts >= found.counts).all()
    assert larger.counts.sum() > found.counts.sum()
    if found.high <= alpha:
        assert fail_probability(larger.counts, p) > alpha
    assert (table(k, p, (found.low + found.high) / 2).counts == found.counts).all()


def test_adjusting_changes_nothing_where_the_level_holds():
    assert (adjusted_table(1, 0.5, 0.3).counts == table(1, 0.5, 0.3).counts).all()
    # two places, p = 1/2: F(0; 2) = 1/4 is the only value at or below 0.3
    assert adjusted_table(2, 0.5, 0.3).counts.tolist() == [0, 1]
    # 0 then 1 protected: missed by the first list only, a quarter
    assert adjusted_table(2, 0.5, 0.25).counts.tolist() == [0, 1]
    assert adjusted_table(2, 0.5, 0.24).counts.tolist() == [0, 0]


def test_adjusted_tables_cannot_be_changed_by_their_readers():
    with pytest.raises(ValueError, match="read-only"):
        adjusted_table(10, 0.5, 0.1).counts[0] = 1


@pytest.mark.slow
def test_lowest_cdf_by_fractions():
    rng = np.random.default_rng(2)
    for _ in range(200):
        row = rng.integers(0, 2, size=int(rng.integers(1, 30)))
        counts, p = np.cumsum(row), Fraction(int(rng.integers(1, 20)), 20)
        wanted = min(cdf(int(c), j, p) for j, c in enumerate(counts, 1))
        assert lowest_cdf(counts, float(p)) == pytest.approx(float(wanted), rel=1e-10, abs=0)


@pytest.mark.slow
@pytest.mark.parametrize("p", [Fraction(1, 5), Fraction(1, 2), Fraction(3, 4)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_p_value_by_listing_all_lists(n, p):
    lowest, chance = {}, {}
    for row in product((0, 1), repeat=n):
        lowest[row] = min(cdf(sum(row[:j]), j, p) for j in range(1, n + 1))
        chance[row] = p ** sum(row) * (1 - p) ** (n - sum(row))
    for row, level in lowest.items():
        wanted = sum(chance[other] for other in lowest if lowest[other] <= level)
        got = p_value(np.cumsum(row), float(p))
        assert got == pytest.approx(float(wanted), rel=1e-10, abs=0), row


def test_p_value_of_an_extreme_list_keeps_its_digits():
    # no protected among 300: F = 2^-300 is reached by this list alone
    assert p_value(np.zeros(300, dtype=int), 0.5) == pytest.approx(0.5**300, rel=1e-9, abs=0)
    assert p_value(np.arange(1, 301), 0.5) == 1.0


@pytest.mark.slow
def test_p_value_far_in_the_tail_agrees_with_fractions():
    p, counts = Fraction(1, 2), np.arange(1, 201) // 25
    level = min(cdf(int(c), j, p) for j, c in enumerate(counts, 1))
    wanted = exact_fail(exact_table(200, p, level), p)
    assert wanted < 1e-40
    assert p_value(counts, 0.5) == pytest.approx(float(wanted), rel=1e-9, abs=0)


# drawing without replacement from a pool


@cache
def pool_cdf(m, j, n, size):
    low = max(0, j - (n - size))
    return sum(
        Fraction(comb(size, i) * comb(n - size, j - i), comb(n, j))
        for i in range(low, min(m, size, j) + 1)
    )


def exact_pool_table(k, n, size, alpha):
    return [
        next(m for m in range(j + 1) if pool_cdf(m, j, n, size) > alpha) for j in range(1, k + 1)
    ]


def exact_pool_fail(counts, n, size):
    alive, failed = {0: Fraction(1)}, Fraction(0)
    for j, needed in enumerate(counts):
        after = {}
        for count, chance in alive.items():
            left, others = size - count, n - j - (size - count)
            after[count + 1] = after.get(count + 1, 0) + chance * Fraction(left, n - j)
            after[count] = after.get(count, 0) + chance * Fraction(others, n - j)
        failed += sum(chance for count, chance in after.items() if count < needed)
        alive = {count: chance for count, chance in after.items() if count >= needed}
    return failed


def exact_pool_adjusted(k, n, size, alpha):
    levels = {pool_cdf(m, j, n, size) for j in range(1, k + 1) for m in range(j + 1)}
    for level in sorted((level for level in levels if level <= alpha), reverse=True):
        counts = exact_pool_table(k, n, size, level)
        if exact_pool_fail(counts, n, size) <= alpha:
            return counts
    return [0] * k


@pytest.mark.slow
def test_pool_tables_and_fail_probabilities_are_exact():
    rng = np.random.default_rng(5)
    for at in range(300):
        n = int(rng.integers(2, 25))
        size, k = int(rng.integers(1, n)), int(rng.integers(1, n + 1))
        alpha = Fraction(int(rng.integers(1, 60)), 100)
        counts = exact_pool_table(k, n, size, alpha)
        assert pool_table(k, n, size, float(alpha)).counts.tolist() == counts
        exact = exact_pool_fail(counts, n, size)
        assert pool_fail_probability(np.array(counts), n, size) == pytest.approx(float(exact))
        if at < 60:
            adjusted = pool_adjusted_table(k, n, size, float(alpha)).counts.tolist()
            assert adjusted == exact_pool_adjusted(k, n, size, alpha)


def test_a_large_pool_is_like_independent_draws():
    near = pool_adjusted_table(100, 10**7, 4 * 10**6, 0.1)
    assert near.counts.tolist() == adjusted_table(100, 0.4, 0.1).counts.tolist()
    assert pool_fail_probability(near.counts, 10**7, 4 * 10**6) == pytest.approx(
        fail_probability(near.counts, 0.4), rel=1e-4
    )


def test_a_whole_pool_settles_itself():
    found = pool_adjusted_table(10, 10, 4, 0.05)
    assert found.counts[-1] == 4
    assert pool_fail_probability(found.counts, 10, 4) <= 0.05
