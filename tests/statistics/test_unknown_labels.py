"""Bounds over unknown labels: brute force over whole data, intervals, coverage, and bad input."""

from itertools import product
from math import inf, isnan, nan

import numpy as np
import pytest
from scipy import stats as scipy_stats

from equirank import DataError
from equirank.statistics import completion_bounds, imbens_manski, selection_ratio


def slow_measure(values, labels, lists, protected, measure, average, reference):
    """The measure of complete labels, by its definition."""
    if average == "lists":
        found = [
            slow_measure(*(part[lists == each] for part in (values, labels, lists)),
                         protected, measure, "people", reference)
            for each in dict.fromkeys(lists)
        ]  # fmt: skip
        found = [value for value in found if not isnan(value)]
        return sum(found) / len(found) if found else nan
    inside = labels == protected
    outside = ~inside if reference is None else labels == reference
    if measure == "share":
        return values[inside].sum() / values.sum() if values.sum() else nan
    if not inside.any() or (measure != "mean" and not outside.any()):
        return nan
    mean = values[inside].mean()
    if measure == "mean":
        return mean
    other = values[outside].mean()
    if measure == "difference":
        return mean - other
    return mean / other if other else (inf if mean else nan)


def slow_bounds(values, labels, lists, groups, *how):
    unknown = np.flatnonzero(labels == None)  # noqa: E711
    found = []
    for names in product(groups, repeat=len(unknown)):
        completed = labels.copy()
        completed[unknown] = names
        found.append(slow_measure(values, completed, lists, *how))
    defined = [value for value in found if not isnan(value)]
    return (min(defined), max(defined)) if defined else (nan, nan)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["share", "mean", "difference", "ratio"])
@pytest.mark.parametrize("average", ["lists", "people"])
def test_bounds_equal_brute_force_over_all_labels(measure, average):
    rng = np.random.default_rng(8)
    for case in range(30):
        n, groups = 10, ["a", "b", "c"][: 2 + case % 2]
        labels = rng.choice(np.array(groups, dtype=object), n)
        labels[rng.permutation(n)[: rng.integers(6)]] = None
        lists = rng.integers(0, 3, n)
        values = rng.choice([0.0, 0.5, 1.0], n) if case % 3 else rng.integers(1, 6, n) / 1.0
        for reference in (None, "b") if measure in ("difference", "ratio") else (None,):
            how = "a", measure, average, reference
            slow = slow_bounds(values, labels, lists, groups, *how)
            found = completion_bounds(
                values, labels, "a", measure=measure, average=average, reference=reference,
                groups=groups, qid=lists, n_boot=0,
            )  # fmt: skip
            np.testing.assert_allclose([found.low, found.high], slow, rtol=1e-12, atol=1e-12)
            assert found.sharp
            assert (found.n_known, found.n_unknown) == (sum(labels != None), sum(labels == None))  # noqa: E711


def test_nothing_unknown_is_the_value_itself():
    rng = np.random.default_rng(1)
    values, lists = rng.random(60), np.repeat(np.arange(6), 10)
    labels = rng.choice(np.array(["a", "b", "c"], dtype=object), 60)
    for measure in ("share", "mean", "difference", "ratio"):
        for average in ("lists", "people"):
            found = completion_bounds(values, labels, "a", measure=measure, average=average,
                                      qid=lists, n_boot=50)  # fmt: skip
            value = slow_measure(values, labels, lists, "a", measure, average, None)
            assert (found.low, found.high, found.known) == pytest.approx([value] * 3, rel=1e-12)
            assert found.low_error == found.high_error > 0
            half = scipy_stats.norm.ppf(0.975) * found.low_error
            farther = found.low - found.interval_low, found.interval_high - found.high
            assert min(farther) == pytest.approx(half)  # the other end is farther: lists are skewed


def test_ends_are_farther_where_lists_are_skewed():
    values = [1.0, 1.0, 1.2, 0.9, 1.1, 1.0, 4.0, 0.8]  # one list is far above the others
    found = completion_bounds(values * 2, ["a"] * 8 + ["b"] * 8, "a", measure="mean",
                              qid=[*range(8)] * 2, n_boot=300)  # fmt: skip
    z = scipy_stats.norm.ppf(0.975)
    assert found.low - found.interval_low == pytest.approx(z * found.low_error)
    longer = scipy_stats.skew(values) * (2 * z**2 + 1) / (6 * np.sqrt(8))
    assert found.interval_high - found.high == pytest.approx((z + longer) * found.high_error)
    below = completion_bounds([5 - v for v in values] * 2, ["a"] * 8 + ["b"] * 8, "a",
                              measure="mean", qid=[*range(8)] * 2, n_boot=300)  # fmt: skip
    assert 5 - below.interval_low == pytest.approx(found.interval_high)


def test_all_unknown_and_a_group_without_known_members():
    found = completion_bounds(
        [1, 2, 3, 4], [None] * 4, "f", groups=["f", "m"], measure="mean", n_boot=0
    )
    assert (found.low, found.high, found.n_known, found.undefined) == (1, 4, 0, 1)
    assert isnan(found.known)
    found = completion_bounds([1, 0, 1], ["m", "m", None], "f", groups=["f", "m"], measure="ratio")
    assert (found.low, found.high) == (2.0, 2.0)  # the unknown person must be "f"
    nobody = completion_bounds([1, 2], ["m", "m"], "f", groups=["f", "m"])
    assert isnan(nobody.low)
    assert nobody.reason == "the measure is undefined for all completions"


def test_the_known_need_not_be_between_the_bounds():
    found = completion_bounds([1, 2, 3], ["f", None, "m"], "f")
    assert (found.known, found.low, found.high) == (-2.0, -1.5, -1.5)


def test_infinite_ratios():
    labels = ["f", "f", "m", "m", None]
    assert selection_ratio(1, 2, 0, 2).reason == "nobody of the reference was selected"
    found = completion_bounds([1, 0, 0, 0, 1], labels, "f", measure="ratio")
    assert (found.low, found.high) == (pytest.approx(0.5 / (1 / 3)), inf)
    lists = np.arange(8).repeat(5)
    often = completion_bounds([1, 0, 0, 0, 1] * 8, labels * 8, "f", measure="ratio", qid=lists)
    assert (often.low, often.high) == (found.low, inf)
    assert (often.interval_low, often.interval_high) == (pytest.approx(found.low), inf)


def test_the_quantile_solves_its_equation_and_has_its_limits():
    normal = scipy_stats.norm
    for width in (0.01, 0.3, 1.0, 2.5):
        for level in (0.8, 0.95, 0.99):
            found = imbens_manski(1.0, 1.0 + width, 0.5, 0.2, level=level)
            c = found.quantile
            assert normal.cdf(c + width / 0.5) - normal.cdf(-c) == pytest.approx(level, abs=1e-12)
            assert (found.low, found.high) == pytest.approx((1 - c * 0.5, 1 + width + c * 0.2))
    assert imbens_manski(1, 1, 0.5, 0.5).quantile == pytest.approx(normal.ppf(0.975))
    assert imbens_manski(0, 9, 0.1, 0.1).quantile == pytest.approx(normal.ppf(0.95))
    assert imbens_manski(0, 9, 0.1, 0.1, cover="set").quantile == pytest.approx(normal.ppf(0.975))
    assert imbens_manski(2, 3, 0, 0)[:2] == (2, 3)
    assert imbens_manski(2, inf, 0.1, nan)[1] == inf
    assert imbens_manski(2, 3, inf, 0)[:2] == (-inf, 3)
    assert isnan(imbens_manski(2, 3, nan, 0).low)


@pytest.mark.slow
def test_standard_errors_are_those_of_means_over_lists():
    rng = np.random.default_rng(4)
    lists, values = np.repeat(np.arange(400), 6), np.tile(np.arange(1.0, 7.0), 400)
    labels = rng.choice(np.array(["a", "b", None], dtype=object), 2400)
    labels[::6], labels[5::6] = "a", "b"  # every list is always defined
    found = completion_bounds(values, labels, "a", qid=lists, n_boot=2000)
    lows = [completion_bounds(values[lists == q], labels[lists == q], "a").low for q in range(400)]
    assert found.low == pytest.approx(np.mean(lows), rel=1e-12)
    assert found.low_error == pytest.approx(scipy_stats.sem(lows), rel=0.06)
    assert completion_bounds(values, labels, "a", qid=lists, n_boot=300).high_error > 0
    many, few = (completion_bounds(np.tile(values, n), np.tile(labels, n), "a",
                                   qid=np.repeat(np.arange(400 * n), 6), n_boot=900)
                 for n in (6, 1))  # fmt: skip
    assert many.low == pytest.approx(few.low, rel=1e-12)
    assert many.low_error == pytest.approx(few.low_error / 6**0.5, rel=0.1)  # in buckets
    with_set = completion_bounds(values, labels, "a", qid=lists, cover="set")
    assert with_set.interval_low < found.interval_low


def selections(rng, n_lists, length=12):
    """Selections, true sides and hidden sides; the truth is the lower bound of the rate.

    Of the unknown people those not selected are in the group, and those selected are not.
    """
    lists = np.repeat(np.arange(n_lists), length)
    selected = (rng.random(len(lists)) < np.repeat(rng.beta(3, 5, n_lists), length)).astype(float)
    group = rng.random(len(lists)) < 0.4
    hidden = (rng.random(len(lists)) < 0.3) & (group == (selected == 0))
    labels = np.where(group, "a", "b").astype(object)
    known = labels.copy()
    known[hidden] = None
    return lists, selected, labels, known


@pytest.mark.gate
@pytest.mark.parametrize("measure", ["mean", "ratio"])
def test_intervals_cover_a_truth_on_the_edge(measure):
    rng = np.random.default_rng(12)
    lists, selected, labels, _ = selections(rng, 10_000)
    settings = {"measure": measure, "average": "people"}
    truth = completion_bounds(selected, labels, "a", n_boot=0, **settings).low
    covered, runs = 0, 300
    for _ in range(runs):
        lists, selected, labels, known = selections(rng, 40)
        found = completion_bounds(selected, known, "a", qid=lists, n_boot=100, **settings)
        own = slow_measure(selected, labels, lists, "a", measure, "people", None)
        assert own == pytest.approx(found.low, rel=1e-12)
        assert found.high > own
        covered += found.interval_low <= truth <= found.interval_high
    assert 0.92 <= covered / runs <= 0.98


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"measure": "median"},
            "measure of completion_bounds must be one of 'share', 'mean', 'difference', 'ratio'",
        ),
        ({"average": "all"}, "average of completion_bounds must be one of 'lists', 'people'"),
        ({"protected": "x"}, "protected must be one of the groups"),
        ({"reference": "a"}, "reference must be another group than protected, got 'a'"),
        ({"reference": "b", "measure": "mean"}, "reference must be None for measure='mean'"),
        ({"values": [1, -1, 2], "measure": "share"}, "at least 0 for 'share', got -1"),
        ({"values": [1, 2]}, "sensitive_features"),
        ({"values": None}, "values must be given, got None"),
        ({"values": [1, None, 2]}, "values"),
        ({"n_boot": -1}, "n_boot of completion_bounds must be an integer >= 0, got -1"),
        ({"level": 1.0}, "level of completion_bounds must be"),
        ({"cover": "both"}, "cover of completion_bounds must be one of 'value', 'set'"),
        ({"groups": ["b", "c"]}, "groups"),
    ],
)
def test_bad_input_is_refused(changed, told):
    given = {"values": [1, 0, 1], "sensitive_features": ["a", "b", None], "protected": "a"}
    with pytest.raises(DataError, match=told):
        completion_bounds(**(given | changed))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((2, 1, 0.1, 0.1), r"low must be at most high \(1\), got 2"),
        ((1, 2, -0.1, 0.1), "low_error of imbens_manski must be a number >= 0, got -0.1"),
        ((1, "2", 0.1, 0.1), "high of imbens_manski must be a number, got '2'"),
    ],
)
def test_bad_bounds_are_refused(given, told):
    with pytest.raises(DataError, match=told):
        imbens_manski(*given)
