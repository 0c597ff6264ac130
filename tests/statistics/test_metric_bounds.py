"""Bounds of rND, rKL, pairwise accuracy and the best ratio: brute force over all labels."""

from itertools import product
from math import isnan

import numpy as np
import pytest

from equirank import DataError
from equirank.kernels import pair_bounds
from equirank.kernels import prefix_bounds as kernel
from equirank.metrics import rkl, rnd
from equirank.statistics import best_ratio_bounds, pairwise_bounds, prefix_bounds

METRICS = {"rnd": rnd, "rkl": rkl}


def completions(labels, groups):
    unknown = [at for at, label in enumerate(labels) if label is None]
    for names in product(groups, repeat=len(unknown)):
        done = list(labels)
        for at, name in zip(unknown, names, strict=True):
            done[at] = name
        yield done


def slow_prefix(metric, score, labels, groups, **options):
    found = []
    for done in completions(labels, groups):
        if "a" not in done or len(set(done)) < 2:
            continue
        value = METRICS[metric](score, done, protected="a", **options)
        if not isnan(value):
            found.append(value)
    return (min(found), max(found)) if found else (np.nan, np.nan)


def drawn_labels(rng, n, groups, unknown):
    labels = rng.choice(np.array(groups, dtype=object), n)
    labels[rng.permutation(n)[:unknown]] = None
    return labels.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*undefined.*")
@pytest.mark.parametrize("cases", [12, pytest.param(40, marks=pytest.mark.gate)])
@pytest.mark.parametrize("metric", ["rnd", "rkl"])
def test_prefix_bounds_equal_brute_force(metric, cases):
    rng = np.random.default_rng(3)
    for case in range(cases):
        n = int(rng.integers(4, 11))
        groups = ["a", "b", "c"][: 2 + case % 2]
        labels = drawn_labels(rng, n, groups, int(rng.integers(0, 6)))
        score, step = rng.permutation(n), int(rng.integers(1, 4))
        options = {"step": step, "k": None if case % 3 else max(2, n - 2)}
        low, high = slow_prefix(metric, score, labels, groups, **options)
        found = prefix_bounds(score, labels, "a", metric=metric, groups=groups, **options)
        assert found.sharp
        np.testing.assert_allclose([found.low, found.high], [low, high], atol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*undefined.*")
@pytest.mark.parametrize("metric", ["rnd", "rkl"])
def test_ties_and_long_lists_have_outer_bounds(metric, monkeypatch):
    rng = np.random.default_rng(5)
    for case in range(20):
        tied = case % 2 == 0
        labels = drawn_labels(rng, 9, ["a", "b"], 4)
        score = rng.integers(0, 4, 9) if tied else rng.permutation(9)
        low, high = slow_prefix(metric, score, labels, ["a", "b"], step=2)
        monkeypatch.setattr(kernel, "MOST_STEPS", 1e8 if tied else 0)
        found = prefix_bounds(score, labels, "a", metric=metric, groups=["a", "b"], step=2)
        assert found.low <= low + 1e-12
        assert found.high >= high - 1e-12
        assert tied or not found.sharp


def test_the_largest_rnd_is_not_always_unknown_first_or_last():
    labels, score = [None, "a", None, None, "b", "a", "a", "a", None, "a"], np.arange(10, 0, -1)
    unknown = [at for at, label in enumerate(labels) if label is None]
    simple = []
    for m in range(len(unknown) + 1):
        for inside in (unknown[:m], unknown[len(unknown) - m :]):
            done = ["a" if at in inside else label or "b" for at, label in enumerate(labels)]
            simple.append(rnd(score, done, protected="a", step=2))
    found = prefix_bounds(score, labels, "a", step=2)
    assert found.high == pytest.approx(0.48899, abs=1e-5)
    assert found.high > max(simple) + 0.009


def test_means_over_lists_leave_out_lists_that_can_be_undefined():
    score, lists = [*range(6, 0, -1)] * 2, [0] * 6 + [1] * 6
    labels = ["b", "a", None, "b", "a", "b", None, "b", "b", "b", "b", "b"]
    one = prefix_bounds(score[:6], labels[:6], "a", step=2)
    two = prefix_bounds(score[6:], labels[6:], "a", step=2, groups=["a", "b"])
    assert one.low < one.high < two.low == two.high == 1
    both = prefix_bounds(score, labels, "a", step=2, qid=lists)
    assert both.low == one.low  # the second list is left out
    assert both.high == pytest.approx((one.high + two.high) / 2)
    assert both.undefined == 1
    assert isnan(both.interval_low)  # one list only at the lower end


def slow_best(selected, labels, groups):
    found = []
    for done in completions(labels, groups):
        rates = {
            g: np.mean([s for s, d in zip(selected, done, strict=True) if d == g])
            for g in set(done)
        }
        if "a" in rates and max(rates.values()) > 0:
            found.append(rates["a"] / max(rates.values()))
    return min(found), max(found)


@pytest.mark.slow
def test_the_ratio_to_the_best_group_equals_brute_force():
    rng = np.random.default_rng(2)
    for case in range(60):
        groups = ["a", "b", "c"][: 2 + case % 2]
        n = int(rng.integers(6, 11))
        labels = drawn_labels(rng, n, groups, int(rng.integers(0, 5)))
        selected = (rng.random(n) < 0.5).astype(float)
        if selected.sum() == 0 or "a" not in labels:
            continue
        low, high = slow_best(selected, labels, groups)
        found = best_ratio_bounds(selected, labels, "a", groups=groups)
        assert found.low == pytest.approx(low, abs=1e-12), (selected, labels)
        assert found.high == pytest.approx(high, abs=1e-12), (selected, labels)
        assert found.sharp


def test_chances_of_selection_have_outer_bounds():
    labels = ["a", "b", "c", None, None]
    selected = [0.5, 0.5, 1.0, 0.25, 0.75]
    low, high = slow_best(selected, labels, ["a", "b", "c"])
    found = best_ratio_bounds(selected, labels, "a")
    assert found.low == pytest.approx(low)
    assert found.high >= high - 1e-12
    assert not found.sharp


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: prefix_bounds([1, 2], ["a", "b"], "a", metric="rrd"), "must be one of 'rnd'"),
        (lambda: prefix_bounds([1, 2], ["a", "b"], "x"), "protected must be one of the groups"),
        (lambda: best_ratio_bounds([1, 2], ["a", "b"], "a"), "between 0 and 1, got 2"),
        (lambda: best_ratio_bounds(None, ["a", "b"], "a"), "selected must be given"),
    ],
)
def test_bad_input_is_refused(call, told):
    with pytest.raises(DataError, match=told):
        call()


def slow_accuracy(y, score, labels, measure):
    """Return the accuracy of pairs by definition, or the gap of both directions; NaN undefined."""
    found = []
    for group in (True, False):
        pairs = [
            (score[i] > score[j]) + (score[i] == score[j]) / 2
            for i, j in product(range(len(y)), repeat=2)
            if y[i] > y[j] and (labels[i] == "a") is group and (labels[j] == "a") is not group
        ]
        found.append(sum(pairs) / len(pairs) if pairs else np.nan)
    return found[0] if measure == "accuracy" else abs(found[0] - found[1])


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["gap", "accuracy"])
def test_pairwise_bounds_equal_brute_force_or_hold_it(measure, monkeypatch):
    rng, wider = np.random.default_rng(11), 0
    for case in range(60):
        n = int(rng.integers(4, 10))
        labels = drawn_labels(rng, n, ["a", "b", "c"][: 2 + case % 2], case % 6)
        if case % 10 == 0:
            labels = [None] * min(n, 6)
        y, score = rng.integers(0, 3, len(labels)), rng.integers(0, 5, len(labels))
        values = [slow_accuracy(y, score, done, measure) for done in completions(labels, "ab")]
        values = [value for value in values if not isnan(value)] or [np.nan]
        options = {"measure": measure, "groups": ["a", "b", "c"]}
        found = pairwise_bounds(y, score, labels, "a", **options)
        ends = min(values), max(values)
        np.testing.assert_allclose([found.low, found.high], ends, atol=1e-12)
        assert found.sharp
        with monkeypatch.context() as patched:
            patched.setattr(pair_bounds, "MOST_UNKNOWN", -1)
            outer = pairwise_bounds(y, score, labels, "a", **options)
        assert outer.sharp == (None not in labels)
        if not isnan(ends[0]):
            assert outer.low <= ends[0] + 1e-12
            assert outer.high >= ends[1] - 1e-12
            wider += outer.high - outer.low > ends[1] - ends[0] + 1e-9
        if outer.sharp:
            np.testing.assert_allclose([outer.low, outer.high], ends, atol=1e-12)
    assert wider  # some outer bounds are not attained, which is why `sharp` is False


def test_pairwise_bounds_of_several_lists_and_bad_input():
    rng = np.random.default_rng(2)
    labels = [["a", "b", *drawn_labels(rng, 6, ["a", "b"], 2)] for _ in range(12)]
    y, score = rng.integers(0, 3, (12, 8)), rng.permutation(96).reshape(12, 8)
    y[:, :2] = [2, 0]
    each = [
        pairwise_bounds(*part, "a", measure="accuracy")
        for part in zip(y, score, labels, strict=True)
    ]
    assert not any(one.undefined for one in each)
    lists = np.repeat(np.arange(12), 8)
    found = pairwise_bounds(
        y.ravel(), score.ravel(), np.concatenate(labels), "a", measure="accuracy", qid=lists
    )
    ends = [np.mean([one.low for one in each]), np.mean([one.high for one in each])]
    np.testing.assert_allclose([found.low, found.high], ends)
    assert found.interval_low < found.low < found.high < found.interval_high
    with pytest.raises(DataError, match="y_true must be given"):
        pairwise_bounds(None, [1, 2], ["a", "b"], "a")
    with pytest.raises(DataError, match="measure"):
        pairwise_bounds([1, 0], [1, 2], ["a", "b"], "a", measure="share")
