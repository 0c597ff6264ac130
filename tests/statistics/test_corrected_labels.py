"""Estimates corrected for labels: slow twins, golden values, coverage, and refusals."""

from math import inf, isnan, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from equirank import DataError, LabelError
from equirank.core.attribute import Attribute, CheckedLabels
from equirank.statistics import completion_bounds, corrected_estimate, label_breakdown
from equirank.statistics import membership_sums as sums_module
from equirank.statistics.corrected_labels import (
    complete_values,
    extreme_memberships,
    given_model,
)
from equirank.statistics.label_model import label_model, position_bands
from equirank.statistics.membership_sums import _Classes, fieller, membership_sums, rubin

MEASURES = ("share", "mean", "difference", "ratio")
FLIPS = np.array([[0.85, 0.15], [0.25, 0.75]])


def drawn(rng, n_lists=30, length=20, effect=0.7):
    """Positions, true labels and lists; group "a" ranks lower."""
    group = rng.random((n_lists, length)) < 0.35
    score = rng.normal(size=group.shape) - effect * group
    position = (-score).argsort(axis=1).argsort(axis=1) + 1.0
    labels = np.where(group, "a", "b").astype(object)
    return position.ravel(), labels.ravel(), np.repeat(np.arange(n_lists), length)


def hidden(rng, labels, share=0.25):
    known = labels.copy()
    known[rng.random(len(labels)) < share] = None
    return known


def flipped(rng, labels, matrix=FLIPS):
    codes = (labels == "b").astype(int)
    recorded = rng.random(len(codes)) < matrix[codes, 1]
    return np.where(recorded, "b", "a").astype(object)


def slow_sums(values, a, lists):
    """Numerator and denominator of each measure, from the definition with memberships."""
    total = {name: np.zeros(2) for name in ("difference", "ratio")}
    for each in np.unique(lists):
        f, m = values[lists == each], a[lists == each]
        n = len(f)
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        inside = sum(m[i] * (1 - m[j]) * f[i] for i, j in pairs) / n
        other = sum(m[i] * (1 - m[j]) * f[j] for i, j in pairs) / n
        number = sum(m[i] * (1 - m[j]) for i, j in pairs) / n
        total["difference"] += inside - other, number
        total["ratio"] += inside, other
    total["share"] = np.array([(a * values).sum(), values.sum()])
    total["mean"] = np.array([(a * values).sum(), a.sum()])
    return total


def slow_memberships(recorded, lists, positions, inverse):
    """Memberships in "a" of recorded labels, unknown ones by tenth of the list."""
    length = np.bincount(lists)[0]
    band = np.minimum((10 * (positions - 0.5) / length).astype(int), 9)
    value = {"a": inverse[0, 0], "b": inverse[1, 0]}
    a = np.array([value.get(label, np.nan) for label in recorded])
    known = ~np.isnan(a)
    overall = a[known].mean()
    for each in range(10):
        inside = band == each
        share = (a[inside & known].sum() + overall) / ((inside & known).sum() + 1)
        a[inside & ~known] = share
    return a


@pytest.mark.parametrize("kind", ["missing", "matrix", "both"])
@pytest.mark.parametrize("measure", MEASURES)
def test_estimates_equal_sums_over_pairs(kind, measure):
    rng = np.random.default_rng(5)
    positions, labels, lists = drawn(rng, 15, 12)
    recorded = labels if kind == "missing" else flipped(rng, labels)
    recorded = recorded if kind == "matrix" else hidden(rng, recorded)
    error = None if kind == "missing" else LabelError(FLIPS)
    inverse = np.eye(2) if error is None else np.linalg.inv(FLIPS)
    a = slow_memberships(recorded, lists, positions, inverse)
    top, bottom = slow_sums(positions, a, lists)[measure]
    found = corrected_estimate(positions, recorded, "a", measure=measure, qid=lists,
                               label_error=error, n_boot=50)  # fmt: skip
    assert found.value == pytest.approx(top / bottom, rel=1e-10)
    assert found.method == "fieller"
    assert found.low < found.value < found.high


@pytest.mark.parametrize("measure", MEASURES)
def test_a_checked_sample_corrects_its_proxy(measure):
    rng = np.random.default_rng(7)
    positions, labels, lists = drawn(rng, 40, 15)
    recorded = flipped(rng, labels)
    truth = np.where(rng.random(len(labels)) < 0.6, labels, None)
    columns = {"race": recorded, "race[true]": truth}
    found = corrected_estimate(positions, columns, "a", measure=measure, qid=lists,
                               checked_rate=0.6, n_boot=50)  # fmt: skip
    proxy = (recorded == "a").astype(float)
    checked = np.array([label is not None for label in truth])
    a = proxy + checked / 0.6 * ((truth == "a") - proxy)
    top, bottom = slow_sums(positions, a, lists)[measure]
    assert found.value == pytest.approx(top / bottom, rel=1e-10)
    assert found.assumption == "who was checked was drawn with the given probabilities"


def test_nothing_unknown_is_the_value_itself():
    rng = np.random.default_rng(1)
    positions, labels, lists = drawn(rng)
    for measure in MEASURES:
        found = corrected_estimate(positions, labels, "a", measure=measure, qid=lists,
                                   average="people", n_boot=50)  # fmt: skip
        exact = completion_bounds(positions, labels, "a", measure=measure, qid=lists,
                                  average="people", n_boot=0)  # fmt: skip
        assert found.value == pytest.approx(exact.low, rel=1e-12)
    for measure in ("mean", "difference"):
        found = corrected_estimate(positions, labels, "a", measure=measure, qid=lists,
                                   average="lists")  # fmt: skip
        exact = completion_bounds(positions, labels, "a", measure=measure, qid=lists, n_boot=0)
        assert found.value == pytest.approx(exact.low, rel=1e-12)
    sure = {"race": [None] * len(labels), "race[a]": labels == "a", "race[b]": labels == "b"}
    assert corrected_estimate(positions, sure, "a", qid=lists).value == pytest.approx(
        corrected_estimate(positions, labels, "a", qid=lists).value, rel=1e-12
    )


def test_a_perfect_matrix_changes_nothing():
    rng = np.random.default_rng(2)
    positions, labels, lists = drawn(rng)
    plain = corrected_estimate(positions, labels, "a", qid=lists)
    found = corrected_estimate(positions, labels, "a", qid=lists, label_error=LabelError(np.eye(2)))
    assert (found.value, found.low, found.high) == (plain.value, plain.low, plain.high)


def test_fieller_contains_exactly_the_ratios_within_c_errors():
    rng = np.random.default_rng(0)
    for _ in range(50):
        value = rng.normal(3, 1, 2)
        root = rng.normal(0, 0.3, (2, 2))
        covariance, c = root @ root.T, 1.96
        found = fieller(value, covariance, c)
        if isnan(found.value):
            assert value[1] ** 2 <= c**2 * covariance[1, 1]
            continue
        for theta in (found.low, found.high):
            v = np.array([1.0, -theta])
            assert (v @ value) ** 2 == pytest.approx(c**2 * v @ covariance @ v, rel=1e-6)


def test_rubins_rule():
    values, within = np.array([1.0, 1.4, 0.9, 1.3]), np.array([0.02, 0.03, 0.02, 0.03])
    found = rubin(values, within, 0.95, inf)
    between = 1.25 * values.var(ddof=1)
    total = 0.025 + between
    df = 3 * (1 + 0.025 / between) ** 2
    assert found.value == pytest.approx(1.15)
    half = scipy_stats.t.ppf(0.975, df) * sqrt(total)
    assert found.high == pytest.approx(1.15 + half)
    assert rubin(values, within, 0.95, 5).high > found.high
    assert isnan(rubin(np.array([1.0]), np.array([0.1]), 0.95, 9).low)


def test_the_jackknife_is_that_of_left_out_lists():
    rng = np.random.default_rng(3)
    positions, labels, lists = drawn(rng, 9, 10)
    offsets = np.arange(10) * 10
    codes = (labels == "b").astype(np.int32)
    model = label_model(Attribute(codes, ("a", "b")), offsets, position_bands(positions, offsets))
    side = 1 - codes.astype(np.int8)
    value, variance = complete_values(positions, side, model, "difference", "within")
    left = []
    for each in range(9):
        keep = lists != each
        top, bottom = slow_sums(positions[keep], side[keep].astype(float), lists[keep])[
            "difference"
        ]
        left.append(top / bottom)
    assert variance == pytest.approx(8 / 9 * ((left - np.mean(left)) ** 2).sum(), rel=1e-9)
    top, bottom = slow_sums(positions, side.astype(float), lists)["difference"]
    assert value == pytest.approx(top / bottom, rel=1e-12)


def test_probabilities_alone_allow_a_range_and_no_value():
    rng = np.random.default_rng(4)
    positions, labels, lists = drawn(rng)
    p = np.where(labels == "a", 0.6, 0.3)
    columns = {"race": [None] * len(p), "race[a]": p, "race[b]": 1 - p}
    found = corrected_estimate(positions, columns, "a", qid=lists)
    assert isnan(found.value)
    assert found.low <= found.range_low <= found.weighted <= found.range_high <= found.high
    truth = corrected_estimate(positions, labels, "a", qid=lists).value
    assert found.range_low <= truth <= found.range_high
    assert (found.method, found.reason) == ("frechet", "")


def test_the_range_is_that_of_the_extreme_shares_in_each_bin():
    p = np.array([0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 1.0, 0.0])
    key = np.array([3.0, 1.0, 2.0, 9.0, 7.0, 8.0, 6.0, 5.0, 0.0])
    assert extreme_memberships(p, key).tolist() == [0, 1, 0.5, 0, 0, 0, 1, 1, 0]
    assert extreme_memberships(p, -key).tolist() == [1, 0, 0.5, 1, 0, 0, 0, 1, 0]
    assert extreme_memberships(np.array([np.nan, np.nan]), np.array([-1.0, 1.0])).tolist() == [1, 0]


def slow_breakdown(values, labels, lists):
    """The breakdown by its definition, with memberships of unknown people by tenth."""
    a = slow_memberships(labels, lists, values, np.eye(2))
    means = np.array([values[lists == each].mean() for each in np.unique(lists)])[lists]
    centred = values - means
    unknown = np.array([label is None for label in labels])
    n0 = (a * centred).sum()
    worst = a.copy()
    worst[unknown] = (centred[unknown] < 0) if n0 > 0 else (centred[unknown] > 0)
    n1 = (worst * centred).sum()
    return n0 / (n0 - n1) if n0 * n1 <= 0 else inf


def test_breakdown_equals_its_definition_and_agrees_with_the_bounds():
    rng = np.random.default_rng(6)
    seen = set()
    for case in range(30):
        positions, labels, lists = drawn(rng, 25, 12, effect=rng.choice([0.1, 0.5, 1.2]))
        known = hidden(rng, labels, rng.choice([0.05, 0.2, 0.5]))
        found = label_breakdown(positions, known, "a", qid=lists, n_boot=60, random_state=case)
        assert found.breakdown == pytest.approx(slow_breakdown(positions, known, lists), rel=1e-9)
        straddles = found.bounds_low <= 0 <= found.bounds_high
        assert (found.breakdown <= 1) == straddles
        assert found.breakdown_interval <= found.breakdown
        assert not found.holds_whatever or found.holds_unless
        assert (found.breakdown_interval == 0) == (not found.holds_unless)
        seen.add((straddles, found.holds_whatever, found.holds_unless))
    assert len(seen) >= 3


def test_the_tipping_share_makes_the_difference_vanish():
    rng = np.random.default_rng(8)
    positions, labels, lists = drawn(rng, 30, 20, effect=0.3)
    known = hidden(rng, labels, 0.4)
    found = label_breakdown(positions, known, "a", qid=lists, n_boot=60)
    unknown = np.array([label is None for label in known])
    assert found.expected_share == pytest.approx((labels[unknown] == "a").mean(), abs=0.1)
    nothing = label_breakdown(positions, hidden(rng, labels, 0.02), "a", qid=lists, n_boot=60)
    assert nothing.tipping_share == inf
    # Unknown people at the bottom only: with enough of them outside the group, the others differ.
    some = labels.copy()
    some[positions > 14] = None
    tip = label_breakdown(positions, some, "a", qid=lists, n_boot=60)
    a = (some == "a").astype(float)
    a[positions > 14] = tip.tipping_share  # equal chances here: one band and a half are alike
    assert 0 < tip.tipping_share < 1
    assert abs((a * (positions - 10.5)).sum()) < 0.05 * (a.sum() * 10)


def test_shares_do_not_depend_on_the_unit_of_the_values():
    positions, labels, lists = drawn(np.random.default_rng(8), 30, 20, effect=0.3)
    labels[positions > 14] = None
    one, other = (
        label_breakdown(scale * positions, labels, "a", qid=lists, n_boot=60)
        for scale in (1.0, 1 / 1024)
    )
    assert 0 < one.tipping_share < 1
    for name in ("breakdown", "breakdown_interval", "tipping_share", "expected_share"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9), name
    for name in ("value", "low", "high", "interval_low", "bounds_low", "bounds_high"):
        assert 1024 * getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9), name


def test_the_interval_of_a_difference_is_students_over_lists():
    """30 lists: t of 29 degrees, and deviations of replicates are too small by sqrt(29 / 30)."""
    positions, labels, lists = drawn(rng := np.random.default_rng(8))
    known = hidden(rng, labels)
    found = label_breakdown(positions, known, "a", qid=lists, n_boot=60, random_state=3)
    model, values = given_model(positions, known, lists, None, None, None, None)
    sums = membership_sums(model, model.attribute.code("a"), values)
    replicates = sums.replicates(60, 3)[:, sums_module.COLUMNS.index("centred")]
    half = scipy_stats.t.ppf(0.975, 29) * replicates.std(ddof=1) * sqrt(30 / 29)
    scale = sums.point()[sums_module.COLUMNS.index("pairs")]
    assert found.high - found.value == pytest.approx(half / scale, rel=1e-9)
    assert found.value - found.low == pytest.approx(half / scale, rel=1e-9)


def test_few_lists_have_intervals_for_their_people():
    rng = np.random.default_rng(9)
    positions, labels, lists = drawn(rng, 3, 60, effect=1.0)
    known = hidden(rng, labels, 0.1)
    found = label_breakdown(positions, known, "a", qid=lists)
    assert found.low < found.value < found.high
    one = corrected_estimate(positions[:60], known[:60], "a")
    assert one.method == "percentiles"
    assert one.low < one.value < one.high
    truth = corrected_estimate(positions[:60], labels[:60], "a")
    assert truth.low == truth.high == pytest.approx(truth.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"label_error": LabelError([[0.55, 0.45], [0.45, 0.55]])}, "J is 0.10, under 0.2"),
        ({"label_error": LabelError(counts=[[90, 9], [10, 990]])}, "only 99 people of one group"),
    ],
)
def test_corrections_that_rest_on_too_little_are_refused(options, reason):
    rng = np.random.default_rng(0)
    positions, labels, lists = drawn(rng)
    found = corrected_estimate(positions, labels, "a", qid=lists, **options)
    assert isnan(found.value)
    assert reason in found.reason


def test_other_refusals():
    rng = np.random.default_rng(0)
    positions, labels, lists = drawn(rng)
    truth = labels.copy()
    truth[200:] = None
    few = corrected_estimate(positions, {"r": labels, "r[true]": truth}, "a", qid=lists)
    assert "are checked, under 100" in few.reason
    never = corrected_estimate(positions, np.where(labels == "a", None, "b"), "a", qid=lists,
                               groups=["a", "b"])  # fmt: skip
    assert never.reason == "nobody of the group is known"
    unknown = np.full(len(labels), None)
    none = corrected_estimate(positions, unknown, "a", qid=lists, groups=["a", "b"])
    assert none.reason == "no label is known"
    singular = LabelError([[0.5, 0.2, 0.3], [0.2, 0.5, 0.3], [0.34, 0.34, 0.32]])
    three = np.array(["a", "b", "c"] * 200, dtype=object)
    found = corrected_estimate(positions, three, "a", qid=lists, label_error=singular)
    assert "tell too little" in found.reason


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"measure": "median"}, "measure of corrected_estimate must be one of"),
        ({"average": "all"}, "average of corrected_estimate must be one of"),
        ({"protected": "x"}, "protected must be one of the groups"),
        ({"values": None}, "values must be given"),
        ({"values": [1, -1, 2, 3], "measure": "share"}, "at least 0 for 'share'"),
        ({"n_boot": 1}, "n_boot of corrected_estimate must be an integer >= 2"),
        ({"sensitive_features": {"a": list("abab"), "b": list("abab")}}, "must be one attribute"),
    ],
)
def test_bad_input_is_refused(changed, told):
    given = {"values": [1, 2, 3, 4], "sensitive_features": list("abab"), "protected": "a"}
    with pytest.raises(DataError, match=told):
        corrected_estimate(**(given | changed))


def known_as(rng, how, labels, positions):
    """What a caller knows of labels, in one of four situations."""
    if how == "missing by position":
        rate = 0.5 * positions / positions.max()
        return {"sensitive_features": np.where(rng.random(len(labels)) < rate, None, labels)}
    if how == "matrix":
        error = LabelError(FLIPS, groups=["a", "b"])
        return {"sensitive_features": flipped(rng, labels), "label_error": error}
    if how == "matrix from counts":
        counts = np.stack([rng.multinomial(200, row) for row in FLIPS])
        error = LabelError(counts=counts, groups=["a", "b"])
        return {"sensitive_features": flipped(rng, labels), "label_error": error}
    truth = np.where(rng.random(len(labels)) < 0.5, labels, None)
    return {"sensitive_features": {"r": flipped(rng, labels), "r[true]": truth},
            "checked_rate": 0.5}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", ["missing by position", "matrix", "matrix from counts", "checked sample"]
)
def test_intervals_cover_where_their_assumption_is_true(how):
    rng = np.random.default_rng(13)
    positions, labels, lists = drawn(rng, 4000)
    measure = "mean" if how.startswith("missing") else "difference"
    truth = corrected_estimate(positions, labels, "a", measure=measure, qid=lists, n_boot=2).value
    covered, runs, naive = 0, 90, []
    for run in range(runs):
        positions, labels, lists = drawn(rng, 40)
        known = known_as(rng, how, labels, positions)
        found = corrected_estimate(positions, protected="a", qid=lists, n_boot=80,
                                   measure=measure, random_state=run, **known)  # fmt: skip
        covered += found.low <= truth <= found.high
        if run < 20:
            plain = known["sensitive_features"]
            plain = plain["r"] if isinstance(plain, dict) else plain
            bounds = completion_bounds(positions, plain, "a", qid=lists, measure=measure, n_boot=0)
            naive.append(bounds.known)
    assert 0.88 <= covered / runs <= 1
    assert abs(np.mean(naive) - truth) > 0.3  # without a correction, the value is another one


def test_sums_have_the_replicates_of_lists():
    rng = np.random.default_rng(3)
    positions, labels, _ = drawn(rng, 30, 20)
    offsets = np.arange(31) * 20
    codes = np.where(rng.random(600) < 0.2, -1, labels == "b").astype(np.int32)
    model = label_model(Attribute(codes, ("a", "b")), offsets, position_bands(positions, offsets))
    sums = membership_sums(model, 0, positions)
    drawn_sums = sums.replicates(400, 0)
    assert drawn_sums.shape == (400, len(sums.point()))
    error = drawn_sums.std(axis=0) / 20 + 1e-9
    assert (np.abs(drawn_sums.mean(axis=0) - sums.point()) < 4 * error + 0.01 * np.abs(
        sums.point())).all()  # fmt: skip


def unknown_model(rng, n_lists, length, probability=False):
    positions, labels, _ = drawn(rng, n_lists, length)
    offsets = np.arange(n_lists + 1) * length
    codes = np.where(rng.random(len(labels)) < 0.2, -1, labels == "b").astype(np.int32)
    share = rng.random(len(labels))
    known = np.stack([share, 1.0 - share], axis=1) if probability else None
    attribute = Attribute(codes, ("a", "b"), probability=known)
    return label_model(attribute, offsets, position_bands(positions, offsets)), positions


def test_verified_people_count_once_for_each_person_that_they_represent():
    recorded, offsets = np.array([0, 0, 1, 1, -1, 0], dtype=np.int32), np.array([0, 3, 6])
    truth = np.array([0, 1, 1, -1, 0, -1], dtype=np.int32)
    checked = CheckedLabels(truth, np.array([0.5, 0.25, 0.5, 0.5, 0.25, 0.5]))
    band = np.zeros(6, dtype=np.int64)
    model = label_model(Attribute(recorded, ("a", "b"), checked=checked), offsets, band)
    # by list and recorded label (unknown, a, b): people whose verified label is a, and b
    assert model.cell_counts.tolist() == [[[0, 0], [2, 4], [0, 2]], [[4, 0], [0, 0], [0, 0]]]
    rng = SimpleNamespace(exponential=lambda size: np.array([1.0, 3.0]))  # the weights of lists
    counts = np.array([[6, 0], [1, 2], [0, 1]])  # weights are taken to a mean of 1
    shares = (counts + np.array([0.7, 0.3])) / (counts.sum(axis=1, keepdims=True) + 1)
    np.testing.assert_allclose(model._cell_shares(None, rng), shares)
    drawn = np.array(model.imputed(200, 0))
    assert (drawn[:, truth >= 0] == truth[truth >= 0]).all()
    assert 0 < (drawn[:, 5] == 0).mean() < 0.7  # recorded a, of whom 2 of 6 are verified a
    unchecked = label_model(Attribute(recorded, ("a", "b")), offsets, band)
    assert unchecked.cell_counts.tolist() == [[[2, 1]], [[1, 1]]]


@pytest.mark.parametrize("n_lists", [1, 60])
def test_drawn_labels_have_the_share_behind_the_recorded_ones(n_lists):
    rng = np.random.default_rng(2)
    positions, labels, lists = drawn(rng, n_lists, 1200 // n_lists)
    recorded = flipped(rng, labels)
    error = LabelError(FLIPS)
    model, _ = given_model(positions, recorded, lists, positions, None, error, None)
    shares = (np.array(model.imputed(100, 0)) == 0).mean(axis=1)
    a = (recorded == "a").mean()
    assert shares.mean() == pytest.approx((a - FLIPS[1, 0]) / (FLIPS[0, 0] - FLIPS[1, 0]), abs=0.02)
    assert shares.mean() < a - 0.05
    assert 0.01 < shares.std() < 0.06


@pytest.mark.parametrize("mixed", [None, 0.3])
def test_sums_of_buckets_are_those_of_lists_with_one_weight_per_bucket(mixed):
    rng = np.random.default_rng(5)
    model, positions = unknown_model(rng, 30, 12)
    given = None if mixed is None else positions < 5
    sums = membership_sums(model, 0, positions, given, mixed)
    units, weights = rng.permutation(np.arange(30) % 7), rng.integers(0, 4, (9, 7)).astype(float)
    recorded = np.repeat(model.class_values(0, model.inverse)[None], 9, axis=0)
    lists = _Classes.of(sums)
    found = sums._class_sums(weights, recorded, lists.added_up(units))
    np.testing.assert_allclose(found, sums._class_sums(weights[:, units], recorded, lists))
    assert np.ptp(found, axis=0).min() > 0


@pytest.mark.slow
@pytest.mark.parametrize("probability", [False, True])
def test_many_lists_are_resampled_in_buckets_with_the_spread_of_lists(monkeypatch, probability):
    model, positions = unknown_model(np.random.default_rng(6), 2_400, 8, probability)
    bucketed = membership_sums(model, 0, positions)
    assert bucketed.n_units == 800
    drawn_sums = [bucketed.replicates(500, 0)]
    monkeypatch.setattr(sums_module, "query_units", np.arange)
    each = membership_sums(model, 0, positions)
    assert each.n_units == 2_400
    drawn_sums.append(each.replicates(500, 1))
    found, lists = (part.std(axis=0) for part in drawn_sums)
    fixed = [sums_module.COLUMNS.index(name) for name in ("people", "total")]
    assert found[fixed].max() < 1e-9  # lists are of one length, and buckets of three lists
    assert (abs(np.delete(found / np.maximum(lists, 1e-9), fixed) - 1) < 0.12).all()
    assert abs(drawn_sums[0].mean(axis=0) / each.point() - 1).max() < 0.05


@pytest.mark.parametrize("kind", ["missing", "both"])
def test_the_breakdown_of_a_threshold_is_where_the_ratio_reaches_it(kind):
    rng = np.random.default_rng(8)
    values, labels, lists = drawn(rng, 25, 12)
    selected = (values <= 4).astype(float)
    labels = flipped(rng, labels) if kind == "both" else labels
    labels = hidden(rng, labels, 0.3)
    error = LabelError(FLIPS) if kind == "both" else None
    options = {"qid": lists, "position": values, "label_error": error}
    whole = corrected_estimate(selected, labels, "a", measure="ratio", n_boot=60, **options)
    ratio = whole.value
    for threshold in (ratio + 0.15, max(ratio - 0.15, 0.05)):
        found = label_breakdown(selected, labels, "a", threshold=threshold, n_boot=60, **options)
        assert found.value == pytest.approx(ratio, rel=1e-9)
        assert (found.low, found.high) == pytest.approx((whole.low, whole.high), rel=1e-9)
        assert found.low < found.value < found.high
        assert 0 <= found.breakdown_interval <= found.breakdown
        model, column = given_model(selected, labels, lists, values, None, error, None)
        start = model.memberships(0)
        mean = np.array([column[lists == each].mean() for each in lists])
        given = (column > mean) if threshold > ratio else (column <= mean)

        def at(share, start=start, given=given, column=column, model=model):
            mixed = (1 - share) * start + share * given
            done = np.where(model.attribute.known, start, mixed)
            top, bottom = slow_sums(column, done, lists)["ratio"]
            return top / bottom

        if np.isinf(found.breakdown):
            assert (at(1.0) < threshold) == (ratio < threshold)
        else:
            before, after = at(found.breakdown - 0.001), at(found.breakdown)
            assert (before - threshold) * (after - threshold) <= 1e-12


def test_thresholds_need_lists_and_imputed_labels():
    rng = np.random.default_rng(1)
    values, labels, lists = drawn(rng, 25, 8)
    few = label_breakdown(values, hidden(rng, labels), "a", qid=lists % 3, threshold=0.8)
    assert few.reason == "fewer than 20 lists"
    known = label_breakdown(values, labels, "a", qid=lists, threshold=0.8)
    assert "not imputed" in known.reason
    with pytest.raises(DataError, match="threshold"):
        label_breakdown(values, labels, "a", qid=lists, threshold=-1)
    with pytest.raises(DataError, match="at least 0 with a threshold"):
        label_breakdown(-values, labels, "a", qid=lists, threshold=0.8)
