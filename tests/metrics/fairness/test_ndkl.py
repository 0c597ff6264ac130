from math import inf, log, log2, nan

import numpy as np
import pytest

from equirank.metrics import NDKL, ndkl
from equirank.testing import check_metric

from .. import twins
from .comparing import agree_on_blocks
from .test_skew import shares


def divergence(have, want):
    total = 0.0
    for share, base in zip(have, want, strict=True):
        if share > 1e-12:
            total += share * log(share / base) if base > 0 else inf
    return total


def twin(blocks, hidden, y, groups, labels, protected, *, k=None, proportions=None):
    target = shares(groups, labels, proportions)
    shown = len(groups) - len(hidden)
    limit = shown if k is None else min(k, shown)
    if limit == 0 or sum(share > 0 for share in target.values()) < 2:
        return nan, dict.fromkeys(labels, nan)
    sets = {label: set(twins.members(groups, label)) for label in labels}

    def mean(terms):
        weights = [1 / log2(i + 1) for i in range(1, limit + 1)]
        total = sum(w * t for w, t in zip(weights, terms, strict=True)) / sum(weights)
        return nan if total == inf else total

    def have(label, i):
        return twins.expected_count(blocks, sets[label], i) / i

    prefixes = range(1, limit + 1)
    alone = {}
    for label in labels:
        p = target[label]
        terms = [divergence([have(label, i), 1 - have(label, i)], [p, 1 - p]) for i in prefixes]
        alone[label] = mean(terms) if 0 < p < 1 else nan
    if protected is not None:
        return alone[protected], alone
    terms = [divergence([have(g, i) for g in labels], target.values()) for i in prefixes]
    return mean(terms), alone


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"k": 1}, {"k": 3}, {"k": 20}], ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "a"])
def test_agrees_with_twin(options, labels, protected):
    agree_on_blocks(ndkl, NDKL(protected=protected, **options), twin, labels, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "proportions", [{"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.5, "b": 0.5, "c": 0}], ids=str
)
@pytest.mark.parametrize("protected", [None, "c"])
def test_given_proportions_agree_with_twin(proportions, protected):
    options = {"k": 4, "proportions": proportions}
    agree_on_blocks(ndkl, NDKL(protected=protected, **options), twin, "abc", **options)


def test_single_list():
    value = ndkl([4, 3, 2, 1], list("aabb"))
    weights = [1 / log2(i + 1) for i in (1, 2, 3, 4)]
    third = 2 / 3 * log((2 / 3) / (1 / 2)) + 1 / 3 * log((1 / 3) / (1 / 2))
    wanted = (weights[0] * log(2) + weights[1] * log(2) + weights[2] * third) / sum(weights)
    assert value == pytest.approx(wanted)
    wanted = (weights[0] * log(2) + weights[1] * log(2)) / sum(weights[:2])
    assert ndkl([4, 3, 2, 1], list("aabb"), k=2) == pytest.approx(wanted)


def test_three_groups_at_once():
    value, groups = ndkl([3, 2, 1], list("abc"), return_groups=True)
    norm = 1 + 1 / log2(3) + 1 / log2(4)
    assert value == pytest.approx((log(3) + 1 / log2(3) * log(3 / 2)) / norm)
    second = 1 / 2 * log((1 / 2) / (1 / 3)) + 1 / 2 * log((1 / 2) / (2 / 3))
    assert groups["a"] == pytest.approx((log(3) + 1 / log2(3) * second) / norm)
    assert ndkl([3, 2, 1], list("abc"), protected="a") == pytest.approx(groups["a"])


def test_list_tied_throughout_scores_zero():
    assert ndkl([1] * 6, list("aabbcc")) == pytest.approx(0, abs=1e-12)


def test_value_is_at_most_the_surprise_of_the_rarest_group():
    rng = np.random.default_rng(5)
    for _ in range(50):
        groups = rng.choice(list("abc"), size=12, p=[0.6, 0.3, 0.1])
        rarest = min(np.unique(groups, return_counts=True)[1]) / 12
        assert 0 <= ndkl(rng.random(12), groups) <= log(1 / rarest) + 1e-12


def test_direction():
    scores = [6, 5, 4, 3, 2, 1]
    values = [ndkl(scores, list(row)) for row in ("ababab", "aababb", "aaabbb")]
    assert NDKL.direction == "lower"
    assert values[0] < values[1] < values[2]


def test_one_group_or_nothing_is_undefined():
    values = ndkl([2, 1, 1, 2, 1], list("aabab"), qid=[1, 1, 2, 3, 3], per_query=True)
    assert np.isnan(values[:2]).all()
    assert values[2] == pytest.approx(log(2) / (1 + 1 / log2(3)))


@pytest.mark.slow
@pytest.mark.parametrize("metric", [NDKL(), NDKL @ 2])
def test_keeps_its_promises(metric):
    check_metric(metric)
