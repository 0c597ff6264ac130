"""Differences in scores: the worked example, definitions, lists, and bad input."""

from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from equirank import DataError
from equirank.statistics import score_gap, scoring_rate

WOMEN = [71, 64, 64, 58, 80, 55, 64, 49, 62, 77]
MEN = [64, 69, 83, 90, 64, 72, 58, 66, 75, 61, 88, 70]
UNKNOWN = [64, 59, 93]
SCORES = np.array(WOMEN + MEN + UNKNOWN, dtype=float)
SIDE = np.repeat([1, 0, -1], [10, 12, 3])
SEX = np.array(["F"] * 10 + ["M"] * 12 + [None] * 3, dtype=object)


def test_the_worked_scores():
    found = scoring_rate(SCORES, SEX)
    assert (found.median, found.groups) == (64.0, ("F", "M"))
    assert (found.above.tolist(), found.people.tolist()) == ([3, 8], [10, 12])
    assert found.rate[0] / found.rate[1] == pytest.approx(0.45)
    assert (found.unknown_above, found.unknown_people, found.unscored) == (1, 3, 0)
    gap = score_gap(SCORES, SIDE)
    assert [round(x, 4) for x in (gap.d, gap.g)] == [-0.7229, -0.6954]
    assert [round(x, 3) for x in (gap.low, gap.high)] == [-1.589, 0.143]
    assert (gap.group_size, gap.reference_size, gap.lists) == (10, 12, 1)


def test_the_gap_is_the_formula_and_scipys_t():
    gap = score_gap(SCORES, SIDE, level=0.9)
    t = scipy_stats.ttest_ind(WOMEN, MEN).statistic
    assert gap.d == pytest.approx(t * sqrt(1 / 10 + 1 / 12))
    error = sqrt(1 / 10 + 1 / 12 + gap.d**2 / 44)
    z = scipy_stats.norm.ppf(0.95)
    assert (gap.error, gap.high) == pytest.approx((error, gap.d + z * error))
    assert gap.g == pytest.approx(gap.d * (1 - 3 / (4 * 20 - 1)))
    assert gap.g_low / gap.low == pytest.approx(gap.g / gap.d)
    assert gap.difference == pytest.approx(np.mean(WOMEN) - np.mean(MEN))


def slow_gap(score, side, lists):
    """Weighted differences of the lists, and squares around the means of cells, one by one."""
    squares, freedom, top, weights = 0.0, 0, 0.0, 0.0
    for each in sorted(set(lists)):
        parts = [
            [s for s, g, q in zip(score, side, lists, strict=True) if q == each and g == wanted]
            for wanted in (1, 0)
        ]
        if not all(parts):
            continue
        means = [sum(part) / len(part) for part in parts]
        squares += sum(
            (x - mean) ** 2 for part, mean in zip(parts, means, strict=True) for x in part
        )
        n1, n2 = map(len, parts)
        freedom += n1 + n2 - 2
        top += n1 * n2 / (n1 + n2) * (means[0] - means[1])
        weights += n1 * n2 / (n1 + n2)
    return top / weights / sqrt(squares / freedom) if freedom and squares > 1e-9 else None


ROWS = st.lists(
    st.tuples(st.integers(-5, 9), st.sampled_from([1, 0, -1]), st.sampled_from("abc")),
    min_size=1,
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=50)
@given(rows=ROWS)
def test_the_gap_over_lists_is_that_of_loops(rows):
    score, side, lists = zip(*rows, strict=True)
    both = [q for q in "abc" if {1, 0} <= {g for _, g, r in rows if r == q}]
    found = score_gap(score, side, qid=list(lists))
    expected = slow_gap(score, side, lists) if both else None
    assert found.lists == len(both)
    if expected is None:
        assert isnan(found.d)
        assert found.reason
    else:
        assert found.d == pytest.approx(expected, abs=1e-12)
        assert not found.reason


@pytest.mark.slow
@settings(max_examples=40)
@given(
    rows=ROWS,
    factor=st.sampled_from([2.0**-600, 0.5, 2.0**600]),
    shift=st.sampled_from([0, -7, 10**9]),
)
def test_units_and_zero_do_not_matter(rows, factor, shift):
    score, side, lists = zip(*rows, strict=True)
    found = score_gap(score, side, qid=list(lists))
    assume(not found.reason)
    other = score_gap((np.array(score) + shift) * factor, side, qid=list(lists))
    assert (other.d, other.low, other.g) == pytest.approx((found.d, found.low, found.g), abs=1e-9)
    assert other.difference == pytest.approx(
        found.difference * factor, rel=1e-9, abs=1e-10 * factor
    )


def test_lists_are_levelled():
    """A list of higher scores for all, with more men, makes no gap within lists."""
    score = [1.0, 2, 3, 1, 2, 3, 101, 102, 103, 101, 102, 103, 101, 102, 103]
    side = [1, 1, 1, 0, 0, 0, 1, 1, 1] + [0] * 6
    lists = np.repeat(["low", "high"], [6, 9])
    assert score_gap(score, side, qid=lists).d == pytest.approx(0.0, abs=1e-12)
    assert score_gap(score, side).d < -0.3
    mixed = np.random.default_rng(0).permutation(15)
    again = score_gap(np.array(score)[mixed], np.array(side)[mixed], qid=lists[mixed])
    assert again.deviation == pytest.approx(score_gap(score, side, qid=lists).deviation)


def test_people_without_a_score_do_not_count():
    score = [*SCORES, np.nan, np.nan]
    gap = score_gap(score, [*SIDE, 1, 0])
    assert gap == score_gap(SCORES, SIDE)
    found = scoring_rate([*SCORES.tolist(), None], [*SEX, "F"])
    assert (found.unscored, found.people.tolist(), found.median) == (1, [10, 12], 64.0)


def test_undefined_gaps_have_reasons():
    assert "both sides" in score_gap([1.0, 2.0], [1, 1]).reason
    assert "both sides" in score_gap([1.0, 2.0], [-1, -1]).reason
    assert "no score differs" in score_gap([1.0, 2.0], [1, 0]).reason
    assert "no score differs" in score_gap([0.1] * 3 + [0.7] * 3, [1] * 3 + [0] * 3).reason


def test_rates_of_groups_without_scores_or_labels():
    found = scoring_rate([1.0, 2.0, np.nan], ["a", "a", "b"])
    assert found.people.tolist() == [2, 0]
    assert isnan(found.rate[1])
    nobody = scoring_rate([1.0, 2.0], [None, None])
    assert (nobody.groups, nobody.unknown_above, nobody.unknown_people) == ((), 1, 2)
    same = scoring_rate([5, 5, 5, 5], ["a", "b", "a", "b"])
    assert same.above.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score_gap([1, 2], [1, 2]), "side must be 1, 0 or -1, got 2.0 in row 1"),
        (lambda: score_gap([1, 2], [1]), "side must have one value per row of y_score"),
        (lambda: score_gap([1, np.inf], [1, 0]), "y_score must be a finite number"),
        (lambda: score_gap(None, [1, 0]), "y_score must be given"),
        (lambda: score_gap([1, 2], None), "side must be given"),
        (lambda: score_gap(["x", 2], [1, 0]), "y_score must be a number, got 'x'"),
        (lambda: score_gap([1, 2], [1, 0], level=2), "level"),
        (lambda: scoring_rate([np.nan], ["a"]), "y_score must hold at least one score"),
        (lambda: scoring_rate([1, 2], ["a"]), "sensitive_features must have one value per row"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(DataError, match=message):
        call()
