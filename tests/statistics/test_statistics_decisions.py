"""Statistics of decisions: worked examples, other libraries, definitions, and bad counts."""

import subprocess
import sys
from itertools import pairwise
from math import erfc, inf, isnan, sqrt

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.optimize import minimize_scalar
from scipy.special import xlog1py, xlogy

from equirank import DataError
from equirank.kernels import hypergeometric, prefixes
from equirank.statistics import (
    breslow_day,
    exact_over_lists,
    exact_tests,
    fisher_exact,
    flips,
    mantel_haenszel,
    selection_ratio,
    shortfall,
    two_proportion_z,
)

POOL = 24, 120, 45, 130
JOBS = [12, 9, 3], [60, 30, 50], [5, 36, 6], [20, 90, 60]
ALL = [selection_ratio, two_proportion_z, fisher_exact, exact_over_lists, mantel_haenszel]
ALL += [breslow_day, shortfall, flips]
WHOLE = [fisher_exact, exact_over_lists, flips]


def lists_of(least=0, most=30, n_lists=(1, 6)):
    """Counts of one to six lists."""
    sizes = st.tuples(st.integers(least, most), st.integers(least, most))
    one = sizes.flatmap(
        lambda n: st.tuples(
            st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1])
        )
    )
    return st.lists(one, min_size=n_lists[0], max_size=n_lists[1]).map(
        lambda rows: [list(column) for column in zip(*rows, strict=True)]
    )


# worked examples


def test_the_worked_pool():
    ratio = selection_ratio(*POOL)
    assert [round(x, 4) for x in (ratio.estimate, ratio.low, ratio.high)] == [
        0.5778,
        0.3734,
        0.8819,
    ]
    assert (ratio.rate, ratio.reference_rate) == (24 / 120, 45 / 130)
    assert ratio.reason == ""
    z = two_proportion_z(*POOL)
    assert (round(z.statistic, 3), round(z.p_value, 4)) == (-2.583, 0.0098)
    fisher = fisher_exact(*POOL)
    assert (round(fisher.p_value, 5), round(fisher.mid_p, 5)) == (0.01095, 0.00894)
    lacking = shortfall(*POOL)
    assert round(lacking.estimate, 2) == 9.12
    assert round(lacking.against_reference, 2) == 17.54
    moved = flips(*POOL)
    assert (moved.flip, moved.to_four_fifths, moved.reason) == (False, 6, "")


def test_the_worked_jobs():
    pooled = [sum(column) for column in JOBS]
    assert round(selection_ratio(*pooled).estimate, 4) == 0.6201
    z = two_proportion_z(*pooled)
    assert (round(z.statistic, 3), round(z.p_value, 4)) == (-2.190, 0.0285)
    found = mantel_haenszel(*JOBS)
    assert [round(x, 4) for x in (found.estimate, found.low, found.high)] == [
        0.7357,
        0.4528,
        1.1638,
    ]
    assert round(found.odds_ratio, 4) == 0.6552
    assert (round(found.statistic, 3), round(found.p_value, 3)) == (1.686, 0.194)
    assert round(found.pooled, 4) == 0.6201
    assert "unevenly over lists" in found.note
    assert (found.lists, found.people) == (3, 310)
    assert round(exact_over_lists(*JOBS).p_value, 4) == 0.2069
    assert round(shortfall(*JOBS).estimate, 2) == 4.09
    test = breslow_day(*JOBS, least_expected=0)
    assert (round(test.statistic, 4), round(test.p_value, 3), test.df) == (0.0831, 0.959, 2)


def test_the_worked_jobs_are_too_small_for_breslow_and_day():
    absent = breslow_day(*JOBS)
    assert isnan(absent.statistic)
    assert isnan(absent.tarone_p_value)
    assert absent.smallest_expected == pytest.approx(3.25, abs=0.005)
    assert absent.reason == "an expected cell is 3.25, fewer than 5"


def test_the_worked_scores():
    assert round(fisher_exact(3, 10, 8, 12).p_value, 4) == 0.1984


# other libraries


@settings(max_examples=80)
@given(counts=lists_of(1, n_lists=(1, 1)))
def test_fisher_is_that_of_scipy(counts):
    a, n1, b, n2 = (column[0] for column in counts)
    expected = scipy_stats.fisher_exact([[a, n1 - a], [b, n2 - b]]).pvalue
    assert fisher_exact(a, n1, b, n2).p_value == pytest.approx(expected, rel=1e-9)


def test_two_proportions_are_those_of_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for a, n1, b, n2 in [POOL, (1, 7, 3, 4), (50, 60, 10, 70)]:
        statistic, p = proportion.proportions_ztest([a, b], [n1, n2])
        found = two_proportion_z(a, n1, b, n2)
        assert (found.statistic, found.p_value) == pytest.approx((statistic, p), rel=1e-12)


def stratified_of(counts):
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    cells = [
        np.array([[a, n1 - a], [b, n2 - b]], dtype=float)
        for a, n1, b, n2 in zip(*counts, strict=True)
    ]
    return tables.StratifiedTable(cells)


@pytest.mark.parametrize("seed", range(5))
def test_strata_are_those_of_statsmodels(seed):
    rng = np.random.default_rng(seed)
    n1, n2 = (rng.integers(20, 60, 7) for _ in "ab")
    counts = rng.binomial(n1, 0.4), n1, rng.binomial(n2, 0.5), n2
    expected, found = stratified_of(counts), mantel_haenszel(*counts)
    assert found.estimate == pytest.approx(expected.riskratio_pooled, rel=1e-12)
    assert found.odds_ratio == pytest.approx(expected.oddsratio_pooled, rel=1e-12)
    null = expected.test_null_odds(correction=False)
    assert (found.statistic, found.p_value) == pytest.approx((null.statistic, null.pvalue))
    both = breslow_day(*counts, least_expected=0)
    plain, adjusted = expected.test_equal_odds(), expected.test_equal_odds(adjust=True)
    assert (both.statistic, both.p_value) == pytest.approx((plain.statistic, plain.pvalue))
    assert (both.tarone, both.tarone_p_value) == pytest.approx(
        (adjusted.statistic, adjusted.pvalue)
    )


# definitions


def test_one_list_is_one_table():
    """Stratified over one list: the plain ratio and its interval, Fisher's p."""
    one, ratio = mantel_haenszel(*POOL), selection_ratio(*POOL)
    assert one.estimate == pytest.approx(ratio.estimate, rel=1e-14)
    assert (one.low, one.high) == pytest.approx((ratio.low, ratio.high), rel=1e-12)
    assert one.pooled == pytest.approx(ratio.estimate)
    assert one.note == ""
    assert exact_over_lists(*POOL).p_value == fisher_exact(*POOL).p_value
    z = two_proportion_z(*POOL).statistic
    assert one.statistic == pytest.approx(z**2 * 249 / 250, rel=1e-12)


def slow_score(ratio, counts, correction=True):
    """The distance of a ratio from the data in standard errors, with rates found numerically."""
    x = y = spread = weights = 0.0
    variances = np.zeros(2)
    for a, n1, b, n2 in zip(*counts, strict=True):

        def unlikely(p2, a=a, n1=n1, b=b, n2=n2):
            p1 = ratio * p2
            return -(xlogy(a, p1) + xlog1py(n1 - a, -p1) + xlogy(b, p2) + xlog1py(n2 - b, -p2))

        most = min(1.0, 1.0 / ratio)
        inside = minimize_scalar(unlikely, bounds=(0, most), method="bounded",
                                 options={"xatol": 1e-12}).x  # fmt: skip
        p2 = min((0.0, inside, most), key=unlikely)
        p1, n = ratio * p2, n1 + n2
        w = n1 * n2 / n
        x, y, weights = x + a * n2 / n, y + b * n1 / n, weights + w
        spread += w**2 * n / (n - 1) * (p1 * (1 - p1) / n1 + ratio**2 * p2 * (1 - p2) / n2)
        variances += n1 * p1 * (1 - p1), n2 * p2 * (1 - p2)
    half = 1.0 / ((2 + variances) * [sum(counts[1]), sum(counts[3])])
    step = weights * (half[0] + ratio * half[1]) if correction else 0.0
    distance = max(abs(x - ratio * y) - step, 0.0)
    return distance / sqrt(spread) if spread > 1e-15 else distance * inf if distance else 0.0


@pytest.mark.gate
@settings(max_examples=25)
@given(counts=lists_of(1, 12, (1, 4)), level=st.sampled_from([0.8, 0.95]))
@example(counts=[[8], [8], [500], [1000]], level=0.95)
@example(counts=[[1], [1], [500], [1000]], level=0.95)
@example(counts=[[0], [12], [1], [30]], level=0.95)
@example(counts=[[10], [10], [12], [12]], level=0.95)
@example(counts=[[10], [20], [0], [20]], level=0.95)
def test_the_interval_is_all_ratios_that_are_near_the_data(counts, level):
    found = mantel_haenszel(*counts, level=level)
    z = scipy_stats.norm.ppf((1 + level) / 2)
    if found.estimate >= 0:
        assert found.low <= found.estimate <= found.high
    assert (found.high == inf) == (sum(counts[2]) == 0)
    assert found.low < found.high
    for end, outwards in ((found.low, 1 - 1e-3), (found.high, 1 + 1e-3)):
        if 0 < end < inf:
            assert slow_score(end, counts) == pytest.approx(z, abs=1e-4)
            assert slow_score(end * outwards, counts) > z
            assert slow_score(end / outwards, counts) < z
    for ratio in np.geomspace(1e-3, 1e3, 25):
        assert (slow_score(ratio, counts) <= z) == (found.low <= ratio <= found.high)


#: `confint_proportions_2indep(*counts, compare="ratio", method="score", correction=True)` of
#: statsmodels 0.15.0, an implementation of Miettinen and Nurminen's interval.
SCORE_INTERVALS = {
    POOL: (0.37472184668344655, 0.8799253494518137),
    (160, 286, 620, 923): (0.7404108383788338, 0.9270420730828285),
    (12, 40, 60, 100): (0.2942210452072413, 0.7873811495521849),
    (95, 100, 400, 500): (1.1005525018856825, 1.259207255572059),
    (3, 20, 10, 25): (0.11945429950711019, 1.0696605425202967),
}


@pytest.mark.parametrize("counts", SCORE_INTERVALS)
def test_the_interval_is_that_of_koopman_miettinen_and_nurminen(counts, monkeypatch):
    expected = SCORE_INTERVALS[counts]
    corrected = selection_ratio(*counts)
    assert expected[0] * 0.98 < corrected.low < expected[0] or min(counts) < 5
    assert expected[1] < corrected.high < expected[1] * 1.02 or min(counts) < 5
    whole = prefixes._score_spread
    monkeypatch.setattr(prefixes, "_score_spread", lambda *given: (whole(*given)[0], 0.0))
    found = selection_ratio(*counts)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-5)


def test_a_ratio_of_one_is_left_out_where_the_test_rejects_it(monkeypatch):
    """Without the correction for continuity, the interval inverts the test."""
    whole = prefixes._score_spread
    monkeypatch.setattr(prefixes, "_score_spread", lambda *given: (whole(*given)[0], 0.0))
    found = mantel_haenszel(*JOBS)
    level = 1.0 - found.p_value
    for each, inside in ((level + 1e-6, True), (level - 1e-6, False)):
        again = mantel_haenszel(*JOBS, level=each)
        assert (again.low < 1.0 < again.high) == inside


def coverage_of(n1, n2, p1, p2):
    """The share of samples whose interval contains p1 / p2, from all samples that are possible."""
    a, b = (np.arange(n + 1.0) for n in (n1, n2))
    chance = [scipy_stats.binom.pmf(side, n, p) for side, n, p in ((a, n1, p1), (b, n2, p2))]
    rows, columns = (np.flatnonzero(each > 1e-9) for each in chance)
    found = selection_ratio(
        np.repeat(a[rows], len(columns)), n1, np.tile(b[columns], len(rows)), n2
    )
    inside = (found.low <= p1 / p2) & (p1 / p2 <= found.high)
    return chance[0][rows] @ inside.reshape(len(rows), -1) @ chance[1][columns]


@pytest.mark.parametrize(
    ("n1", "p1", "n2", "p2"),
    [
        *((8, 0.95, 1000, 0.5), (10, 0.9, 1000, 0.5), (20, 0.95, 1000, 0.5), (8, 0.5, 1000, 0.95)),
        *((10, 0.01, 1000, 0.1), (8, 0.01, 8, 0.9), (20, 0.05, 100, 0.95), (8, 0.45, 8, 0.35)),
        *((9, 0.005, 30, 0.95), (100, 0.01, 1000, 0.99), (30, 0.5, 30, 0.5), (12, 0.99, 60, 0.98)),
    ],
)
def test_intervals_of_small_cells_contain_the_truth(n1, p1, n2, p2):
    """`benchmarks/score_intervals.py` does so for many cells."""
    assert coverage_of(n1, n2, p1, p2) >= 0.93
    assert coverage_of(n2, n1, p2, p1) >= 0.93


@pytest.mark.parametrize(
    "ratio", [1.05, *(pytest.param(ratio, marks=pytest.mark.gate) for ratio in (0.5, 1.0))]
)
@pytest.mark.parametrize(
    ("n1", "n2", "rates"),
    [
        ([8, 8], [30, 30], [0.95, 0.3]),
        ([1] * 12, [3] * 12, [0.9] * 12),
        ([2] * 15, [5] * 15, [0.1, 0.5, 0.9] * 5),
        ([20] * 3, [20] * 3, [0.1, 0.5, 0.95]),
    ],
)
@pytest.mark.gate
def test_intervals_over_small_lists_contain_the_truth(n1, n2, rates, ratio):
    rng, rates, hits = np.random.default_rng(1), np.array(rates), 0
    for _ in range(300):
        a, b = rng.binomial(n1, ratio * rates), rng.binomial(n2, rates)
        found = mantel_haenszel(a, n1, b, n2)
        hits += found.low <= ratio <= found.high
    assert hits >= 0.93 * 300


@pytest.mark.gate
@settings(max_examples=40)
@given(counts=lists_of())
def test_arrays_are_lists_one_by_one(counts):
    for function in (selection_ratio, two_proportion_z, fisher_exact, flips):
        together = vars(function(*counts))
        for at, row in enumerate(zip(*counts, strict=True)):
            alone = vars(function(*row))
            for name, value in alone.items():
                assert isinstance(value, bool | int | float | str)
                np.testing.assert_equal(together[name][at], value)


@pytest.mark.slow
@settings(max_examples=30)
@given(counts=lists_of())
def test_lists_of_one_side_change_nothing(counts):
    more = [[*column, extra] for column, extra in zip(counts, (0, 0, 3, 8), strict=True)]
    more = [[*column, extra] for column, extra in zip(more, (2, 5, 0, 0), strict=True)]
    for function in (mantel_haenszel, breslow_day, shortfall, exact_over_lists):
        found, wider = vars(function(*counts)), vars(function(*more))
        for name in set(found) - {"pooled", "note", "statistic", "expected"}:
            np.testing.assert_allclose(wider[name], found[name], rtol=1e-12) if not isinstance(
                found[name], str
            ) else np.testing.assert_equal(wider[name], found[name])


@pytest.mark.slow
@settings(max_examples=30)
@given(counts=lists_of(1))
def test_sides_may_be_exchanged(counts):
    a, n1, b, n2 = counts
    here, there = mantel_haenszel(a, n1, b, n2), mantel_haenszel(b, n2, a, n1)
    assume(here.estimate > 0)
    assume(there.estimate > 0)
    assert here.estimate * there.estimate == pytest.approx(1.0)
    assert here.low * there.high == pytest.approx(1.0)
    np.testing.assert_allclose(here.p_value, there.p_value, rtol=1e-9)
    assert exact_over_lists(*counts).p_value == pytest.approx(
        exact_over_lists(b, n2, a, n1).p_value, rel=1e-9
    )
    assert shortfall(*counts).estimate == pytest.approx(-shortfall(b, n2, a, n1).estimate)


def slow_moves(a, n1, b, n2):
    """The fewest moves, tried one by one in whole numbers."""
    return next(j for j in range(b + 1) if 5 * (a + j) * n2 >= 4 * (b - j) * n1)


@pytest.mark.slow
@settings(max_examples=50)
@given(counts=lists_of(1, 12, (1, 1)))
def test_moves_are_the_fewest(counts):
    a, n1, b, n2 = (column[0] for column in counts)
    found = flips(a, n1, b, n2)
    assert found.to_four_fifths == slow_moves(a, n1, b, n2)
    rates = a * n2, b * n1
    moved = ((a + 1) * n2, (b - 1) * n1) if rates[0] < rates[1] else ((a - 1) * n2, (b + 1) * n1)
    reverses = (rates[0] < rates[1] and moved[0] > moved[1]) or (
        rates[0] > rates[1] and moved[0] < moved[1]
    )
    assert found.flip == reverses


def test_four_fifths_exactly_needs_no_move():
    assert flips(4, 10, 5, 10).to_four_fifths == 0
    assert flips(39, 100, 50, 100).to_four_fifths == 1
    assert flips(2, 10, 3, 10).flip
    assert not flips(2, 10, 4, 10).flip


@pytest.mark.slow
def test_a_p_value_falls_with_distance():
    p = [fisher_exact(a, 200, 100, 200).p_value for a in range(100, 20, -1)]
    assert p[0] == 1.0
    assert all(near > far for near, far in pairwise(p[1:]))
    assert p[-1] < 1e-14


def test_expected_counts_need_not_be_whole():
    found = mantel_haenszel([1.5, 2.25], [4, 6], [2.5, 3.75], [5, 7])
    x = 1.5 * 5 / 9 + 2.25 * 7 / 13
    y = 2.5 * 4 / 9 + 3.75 * 6 / 13
    assert found.estimate == pytest.approx(x / y)
    assert mantel_haenszel(3 + 1e-10, 3, 1, 3).estimate == pytest.approx(3.0)
    assert fisher_exact(3 - 1e-11, 3, 1, 3).p_value == fisher_exact(3, 3, 1, 3).p_value


# undefined


def test_nobody_of_the_reference_selected():
    ratio, strata = selection_ratio(3, 10, 0, 10), mantel_haenszel([3, 2], 10, [0, 0], 10)
    for found in (ratio, strata):
        assert isnan(found.estimate)
        assert 0 < found.low < found.high == inf
        assert found.reason == "nobody of the reference was selected"
    assert strata.odds_ratio == inf
    assert strata.p_value == pytest.approx(erfc(sqrt(strata.statistic / 2)))
    assert fisher_exact(3, 10, 0, 10).p_value == pytest.approx(0.2105263)


def test_nobody_of_the_group_selected():
    found = selection_ratio(0, 12, 1, 30)
    assert (found.estimate, found.low, found.reason) == (0.0, 0.0, "")
    assert 1 < found.high < 50
    strata = mantel_haenszel([0, 0], [4, 6], [2, 2], [5, 7])
    assert (strata.estimate, strata.low) == (0.0, 0.0)
    assert 0 < strata.high < 2
    assert breslow_day([0, 0], [4, 6], [2, 2], [5, 7]).reason.startswith("the Mantel-Haenszel")
    nobody = selection_ratio(0, 5, 0, 5)
    assert (nobody.low, nobody.high) == (0.0, inf)
    # An expected count of a third of a person does not show that anybody can be selected.
    assert selection_ratio(1 / 3, 12, 1, 30).low == 0.0


def test_full_cells_have_intervals_with_a_width():
    every = selection_ratio(10, 10, 12, 12)
    assert (every.estimate, every.reason) == (1.0, "")
    assert every.low < 0.7
    assert every.high > 1.3
    group = selection_ratio(8, 8, 500, 1000)
    assert (group.estimate, round(group.low, 2), round(group.high, 2)) == (2.0, 1.26, 2.26)
    one = selection_ratio(1, 1, 500, 1000)
    assert one.low < 1 < one.high  # Fisher's p is 1
    strata = mantel_haenszel([10, 4], [10, 4], [12, 1], [12, 1])
    assert strata.low < 0.75 < strata.estimate == 1.0 < 1.3 < strata.high


def test_everyone_or_nobody_selected():
    assert two_proportion_z(10, 10, 12, 12).reason == "everyone was selected"
    assert two_proportion_z(0, 10, 0, 12).reason == "nobody was selected"
    assert isnan(two_proportion_z(0, 10, 0, 12).p_value)
    nothing = "only one outcome is possible: there is nothing to test"
    assert (fisher_exact(0, 10, 0, 12).p_value, fisher_exact(0, 10, 0, 12).reason) == (1, nothing)
    assert exact_over_lists([5, 0], [5, 3], [2, 0], [2, 4]).reason == nothing
    assert "nothing to test" in mantel_haenszel([10, 4], [10, 4], [12, 1], [12, 1]).reason


def test_no_people():
    assert selection_ratio(0, 0, 4, 12).reason == "the group has no people"
    assert selection_ratio(1, 2, 0, 0).reason == "the reference has no people"
    assert two_proportion_z(0, 0, 4, 12).reason == "the group has no people"
    assert flips(0, 0, 4, 12).reason == "the group has no people"
    assert fisher_exact(0, 0, 0, 0).p_value == 1.0
    for function in (mantel_haenszel, shortfall):
        found = function([0, 2], [0, 5], [3, 0], [4, 0])
        assert isnan(found.estimate)
        assert found.reason == "no list contains people of both sides"
    assert breslow_day([0, 2], [0, 5], [3, 1], [4, 2]).reason.startswith("fewer than two lists")


def test_too_large_has_a_reason(monkeypatch):
    monkeypatch.setattr(exact_tests, "_kept_tails", exact_tests._kept_tails.__wrapped__)
    monkeypatch.setattr(hypergeometric, "MOST_STEPS", 10)
    found = exact_over_lists(*JOBS)
    assert isnan(found.p_value)
    assert isnan(found.mid_p)
    assert "multiplications" in found.reason
    assert "mantel_haenszel" in found.reason


def test_a_thousand_lists_take_no_time():
    rng = np.random.default_rng(0)
    n1 = rng.integers(5, 45, 1000)
    counts = rng.binomial(n1, 0.3), n1, rng.binomial(50 - n1, 0.3), 50 - n1
    found = exact_over_lists(*counts)
    assert 0 < found.p_value <= 1
    assert found.p_value == pytest.approx(mantel_haenszel(*counts).p_value, rel=0.1)


# bad counts


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((5, 3, 1, 2), "a must be at most n1, got 5 of 3$"),
        (([1, 5], [3, 3], [1, 1], [2, 2]), "a must be at most n1, got 5 of 3 in list 1"),
        (([1, 1], [3, 3], [1, 9], [2, 2]), "b must be at most n2, got 9 of 2 in list 1"),
        ((-1, 3, 1, 2), "a must be a count >= 0, got -1$"),
        (([1, 2], [3, 3], [1, 1], [2, -2]), "n2 must be a count >= 0, got -2 in list 1"),
        (([1, 2], [3, 3, 3], [1, 1], [2, 2]), r"a must have one count per list of n1 \(3\), got 2"),
        (([1, 2], [3, 3], [1, 1], [2, np.nan]), "n2 must be a finite number, got nan in row 1"),
        ((1, 3, "x", 2), "b must be a number, got 'x'"),
        (([], [], [], []), "a must have at least one count, got none"),
        (([[1]], 3, [[1, 2]], 3), "b must be one-dimensional"),
        ((1, 3, None, 2), "b must be a finite number"),
    ],
)
def test_impossible_counts_are_named(function, counts, message):
    with pytest.raises(DataError, match=message):
        function(*counts)


@pytest.mark.parametrize("function", WHOLE)
def test_exact_functions_need_whole_counts(function):
    with pytest.raises(DataError, match=r"b must be a whole number, got 1\.5 in list 1"):
        function([1, 2], [3, 3], [1, 1.5], [2, 2])


def test_only_rounding_is_forgiven():
    with pytest.raises(DataError, match=r"a must be at most n1, got 3\.0001 of 3"):
        mantel_haenszel(3.0001, 3, 1, 3)
    with pytest.raises(DataError, match=r"a must be a whole number, got 2\.9999"):
        fisher_exact(2.9999, 3, 1, 3)


def test_bad_settings_are_named():
    for function in (selection_ratio, mantel_haenszel):
        with pytest.raises(DataError, match="level"):
            function(*POOL, level=1.0)
    with pytest.raises(DataError, match="least_expected"):
        breslow_day(*JOBS, least_expected=-1)


@pytest.mark.slow
def test_importing_stays_light():
    program = (
        "import sys, equirank.statistics as s; s.fisher_exact(1, 3, 2, 4); "
        "s.mantel_haenszel(1, 3, 2, 4); print('scipy.stats' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_the_claims_of_an_audit_have_these_numbers():
    import equirank

    rng = np.random.default_rng(3)
    qid = np.repeat(np.arange(4), [9, 12, 10, 15])
    sex = rng.choice(["f", "m"], len(qid))
    score = rng.normal(size=len(qid)) + (sex == "m")
    data = equirank.as_ranking_data(None, qid=qid, score=score, sensitive_features={"sex": sex})
    result = equirank.audit(data, k=3, protected="f", n_permutations=9, n_boot=9)
    (claim,) = (each for each in result.claims if each.quantity == "selected")
    top = data.ranking().position.ravel() <= 3
    female = np.asarray(data.sensitive["sex"].codes) == 0
    query = np.repeat(np.arange(4), np.diff(data.offsets))
    masks = (female & top, female, ~female & top, ~female)
    counts = [np.bincount(query[mask], minlength=4) for mask in masks]
    found = mantel_haenszel(*counts)
    assert (claim.estimate, claim.low, claim.high) == pytest.approx(
        (found.estimate, found.low, found.high), rel=1e-9
    )
