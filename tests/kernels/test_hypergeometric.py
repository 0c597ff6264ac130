"""Exact tails over 2 x 2 tables against rational arithmetic, mirrored tables, and tiny tails."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb, erfc, exp, isclose, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from equirank.kernels import hypergeometric
from equirank.kernels.hypergeometric import TooLarge, conditional_tails, expected_cell, log_pmf

TABLES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 18)), min_size=1, max_size=4
)


def pmf(n1, n2, m):
    """The hypergeometric distribution as fractions."""
    whole = comb(n1 + n2, m)
    return [Fraction(comb(n1, k) * comb(n2, m - k), whole) if k <= m else Fraction(0)
            for k in range(n1 + 1)]  # fmt: skip


def slow_tails(total, tables):
    """The convolution by its definition, in fractions."""
    whole = [Fraction(1)]
    for table in tables:
        part, wider = pmf(*table), [Fraction(0)] * (len(whole) + table[0])
        for i, left in enumerate(whole):
            for j, right in enumerate(part):
                wider[i + j] += left * right
        whole = wider
    observed = whole[total]
    limit = observed * (1 + Fraction(1, 10**7))
    return float(observed), float(sum(each for each in whole if each <= limit))


def columns(tables):
    return (np.array(column, dtype=float) for column in zip(*tables, strict=True))


@pytest.mark.slow
@settings(max_examples=50)
@given(tables=TABLES, share=st.floats(0, 1))
def test_tails_are_those_of_the_definition(tables, share):
    tables = [(n1, n2, min(m, n1 + n2)) for n1, n2, m in tables]
    low = sum(max(m - n2, 0) for _, n2, m in tables)
    high = sum(min(n1, m) for n1, _, m in tables)
    total = low + round(share * (high - low))
    found = conditional_tails(total, *columns(tables))
    assert found == pytest.approx(slow_tails(total, tables), rel=1e-12)


def test_log_probabilities_match_scipy_and_sum_to_one():
    for n1, n2, m in [(7, 5, 6), (40, 100, 70), (1, 50, 3), (300, 20, 310)]:
        k = np.arange(max(m - n2, 0), min(n1, m) + 1, dtype=float)
        logs = log_pmf(k, *(np.full(len(k), float(x)) for x in (n1, n2, m)))
        assert np.allclose(logs, hypergeom.logpmf(k, n1 + n2, n1, m), rtol=1e-10, atol=1e-11)
        assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-13)


def test_large_tables_keep_their_digits():
    """C(2n, n) terms of a table of two million people, against logs of exact integers."""
    n1, n2, m, k = 1_000_000, 1_000_000, 30, 3
    exact = log(comb(n1, k)) + log(comb(n2, m - k)) - log(comb(n1 + n2, m))
    found = log_pmf(*(np.array([float(x)]) for x in (k, n1, n2, m)))
    assert found[0] == pytest.approx(exact, rel=1e-12)


def test_a_tail_near_the_smallest_float():
    """One list of a million people, summed with 40 digits; other software loses the second tail."""
    a, n1, b, n2 = 180_000, 400_000, 249_340, 510_000
    m = a + b
    with localcontext() as context:
        context.prec = 40
        tied, tiny = Decimal("1.0000001"), Decimal("1e-30")
        term = lower = Decimal(1)
        for k in range(a, 0, -1):
            term = term * k * (n2 - m + k) / ((n1 - k + 1) * (m - k + 1))
            lower += term
            if term < tiny:
                break
        term, whole, upper = Decimal(1), lower, Decimal(0)
        for k in range(a, min(n1, m)):
            term = term * (n1 - k) * (m - k) / ((k + 1) * (n2 - m + k + 1))
            whole += term
            upper += term if term <= tied else 0
            if term < tiny:
                break
        expected = float((lower + upper) / whole)
    found = conditional_tails(a, *(np.array([float(x)]) for x in (n1, n2, m)))
    assert found.p_value == pytest.approx(expected, rel=1e-10)
    assert 3.65e-298 < expected < 3.66e-298


@pytest.mark.parametrize("n", [10, 1_000, 100_000, 10_000_000])
def test_mirrored_tables_tie_at_any_size(n):
    """With equal sides both tails have the same probability."""
    size, m = np.array([float(n)]), np.array([float(n)])
    k = n // 2 - max(1, round(n**0.5))
    found, mirrored = (conditional_tails(x, size, size, m) for x in (k, n - k))
    assert found.p_value == pytest.approx(mirrored.p_value, rel=1e-11)
    tail = conditional_tails(k, size, size, m).p_value
    one_sided = float(hypergeom.cdf(k, 2 * n, n, n))
    assert tail == pytest.approx(2 * one_sided, rel=1e-7)


def test_a_plateau_counts_whole():
    """Both of two equally probable totals: nothing is less probable than either."""
    n1, n2, m = (np.array([x]) for x in (1.0, 1.0, 1.0))
    assert conditional_tails(0, n1, n2, m) == pytest.approx((0.5, 1.0))
    assert conditional_tails(1, n1, n2, m) == pytest.approx((0.5, 1.0))


def test_steep_ends():
    """Everyone of a large group selected: one table, and nobody of it."""
    n1, n2, m = (np.array([x]) for x in (500.0, 500.0, 500.0))
    one = 1 / comb(1000, 500)
    assert conditional_tails(500, n1, n2, m) == pytest.approx((one, 2 * one), rel=1e-11)
    n2 = np.array([600.0])
    assert isclose(conditional_tails(0, n1, n2, m).probability, comb(600, 500) / comb(1100, 500),
                   rel_tol=1e-11)  # fmt: skip
    # five people are not selected, none of a million: 252 of all choices of five
    n1, n2, m = (np.array([x]) for x in (1e6, 10.0, 1e6 + 5))
    one = 252 / comb(1_000_010, 5)
    assert conditional_tails(1_000_000, n1, n2, m) == pytest.approx((one, one), rel=1e-11)


def test_expected_cells_have_the_odds_ratio_and_margins():
    rng = np.random.default_rng(0)
    n1, n2 = (rng.integers(1, 60, 500).astype(float) for _ in "ab")
    m = np.array([float(rng.integers(1, total)) for total in (n1 + n2).astype(int)])
    for odds in (1e-6, 0.3, 1.0, 2.5, 1e6):
        cell = expected_cell(n1, n2, m, odds)
        left, right = cell * (n2 - m + cell), odds * (n1 - cell) * (m - cell)
        assert np.allclose(left, right, rtol=1e-6, atol=1e-6 * odds)
        assert (cell >= np.maximum(m - n2, 0)).all()
        assert (cell <= np.minimum(n1, m)).all()
    assert np.array_equal(expected_cell(n1, n2, m, 0.0), np.maximum(m - n2, 0.0))
    assert np.array_equal(expected_cell(n1, n2, m, np.inf), np.minimum(n1, m))


def test_too_many_steps_are_refused(monkeypatch):
    tables = [(50, 50, 40)] * 40
    monkeypatch.setattr(hypergeometric, "MOST_STEPS", 1000)
    with pytest.raises(TooLarge) as caught:
        conditional_tails(800, *columns(tables))
    assert caught.value.args[0] > 1000
    monkeypatch.setattr(hypergeometric, "MOST_ENTRIES", 10)
    with pytest.raises(TooLarge):
        conditional_tails(800, *columns(tables))


def test_many_lists_agree_with_the_normal_limit():
    rng = np.random.default_rng(1)
    n1 = rng.integers(12, 25, 1000).astype(float)
    n2, m = 50 - n1, rng.integers(5, 25, 1000).astype(float)
    mean = (n1 * m / 50).sum()
    deviation = np.sqrt((n1 * n2 * m * (50 - m) / (2500 * 49)).sum())
    total = round(mean - 2 * deviation)
    z = (total + 0.5 - mean) / deviation
    found = conditional_tails(total, n1, n2, m)
    assert found.p_value == pytest.approx(erfc(-z / 2**0.5), rel=0.03)
    assert found.probability == pytest.approx(
        exp(-(((total - mean) / deviation) ** 2) / 2) / (deviation * (2 * np.pi) ** 0.5), rel=1e-3
    )
