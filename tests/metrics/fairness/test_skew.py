from math import inf, isinf, log, nan

import numpy as np
import pytest

from equirank import DataError, EquirankWarning, Ranking, as_ranking_data
from equirank.core.registry import parse_metric
from equirank.metrics import Skew, skew
from equirank.testing import check_metric

from .comparing import agree_on_chances


def shares(groups, labels, proportions):
    if proportions is not None:
        return {label: proportions[label] for label in labels}
    return {label: groups.count(label) / len(groups) for label in labels}


def twin(
    chances, y, groups, labels, protected, *, k=None, extreme="min", smoothing=0, proportions=None
):
    inside = chances(k, (1.0,) * len(groups))
    filled, target = sum(inside), shares(groups, labels, proportions)
    if filled == 0 or sum(share > 0 for share in target.values()) < 2:
        return nan, dict.fromkeys(labels, nan)
    found = {}
    for label in labels:
        count = sum(c for c, group in zip(inside, groups, strict=True) if group == label)
        share = (count + smoothing * target[label]) / (filled + smoothing)
        if target[label] == 0:
            found[label] = nan
        else:
            found[label] = log(share / target[label]) if share > 0 else -inf
    known = [value for value in found.values() if value == value]
    value = {"min": min, "max": max}[extreme](known) if protected is None else found[protected]
    return nan if isinf(value) else value, {g: nan if isinf(v) else v for g, v in found.items()}


OPTIONS = [
    {},
    {"k": 1},
    {"k": 2},
    {"k": 3, "extreme": "max"},
    {"k": 2, "smoothing": 1.5},
    {"k": 9, "smoothing": 0.5, "extreme": "max"},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "b"])
def test_agrees_with_twin(options, labels, protected):
    agree_on_chances(skew, Skew(protected=protected, **options), twin, labels, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "proportions", [{"a": 0.5, "b": 0.25, "c": 0.25}, {"a": 0, "b": 1, "c": 0}]
)
@pytest.mark.parametrize("protected", [None, "a"])
def test_given_proportions_agree_with_twin(proportions, protected):
    options = {"k": 2, "proportions": proportions}
    agree_on_chances(skew, Skew(protected=protected, **options), twin, "abc", **options)
    options["smoothing"] = 1.0
    agree_on_chances(skew, Skew(protected=protected, **options), twin, "abc", **options)


def test_single_list():
    scores, groups = [6, 5, 4, 3, 2, 1], list("aabacb")
    value, known = skew(scores, groups, k=5, return_groups=True)
    wanted = {
        "a": log((3 / 5) / (3 / 6)),
        "b": log((1 / 5) / (2 / 6)),
        "c": log((1 / 5) / (1 / 6)),
    }
    assert known == pytest.approx(wanted)
    assert value == pytest.approx(wanted["b"])
    assert skew(scores, groups, k=5, extreme="max") == pytest.approx(wanted["c"])
    assert skew(scores, groups, k=5, protected="a") == pytest.approx(wanted["a"])


def test_a_list_shorter_than_the_cutoff_fills_its_own_places():
    assert skew([2, 1], list("ab"), k=10) == pytest.approx(0, abs=1e-12)


def test_a_group_that_is_shut_out_has_no_skew_and_spoils_the_lowest():
    with pytest.warns(EquirankWarning, match=r"smoothing"):
        value, groups = skew([3, 2, 1], list("aab"), k=2, return_groups=True)
    assert np.isnan(value)
    assert np.isnan(groups["b"])
    assert groups["a"] == pytest.approx(log(1 / (2 / 3)))
    assert skew([3, 2, 1], list("aab"), k=2, extreme="max") == pytest.approx(log(1 / (2 / 3)))
    smooth = skew([3, 2, 1], list("aab"), k=2, smoothing=1)
    assert smooth == pytest.approx(log(((0 + 1 / 3) / 3) / (1 / 3)))


def test_policies_are_worth_their_expected_shares():
    data = as_ranking_data(sensitive_features=list("ab"), y=[0, 0])
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    assert (Skew @ 1).per_query(fair).value[0] == pytest.approx(0, abs=1e-12)


def test_direction():
    # b moves up: less skew against it
    worse, better = list("aaabab"), list("abaaab")
    scores = [6, 5, 4, 3, 2, 1]
    assert (Skew @ 4).direction == "higher"
    assert skew(scores, better, k=3, smoothing=1) > skew(scores, worse, k=3, smoothing=1)
    assert (Skew(extreme="max") @ 3).direction == "lower"
    assert skew(scores, better, k=3, extreme="max") < skew(scores, worse, k=3, extreme="max")
    assert Skew(extreme="max", protected="b").direction == "higher"
    assert skew(scores, better, k=4, extreme="max", protected="b", smoothing=1) == skew(
        scores, better, k=4, protected="b", smoothing=1
    )


def test_min_is_at_most_zero_and_max_at_least():
    rng = np.random.default_rng(3)
    groups, qid = rng.choice(list("abc"), size=2000), rng.integers(0, 150, size=2000)
    call = {"qid": qid, "per_query": True, "k": 5, "smoothing": 0.1}
    low = skew(rng.random(2000), groups, **call)
    high = skew(rng.random(2000), groups, extreme="max", **call)
    assert np.nanmax(low) <= 1e-12
    assert np.nanmin(high) >= -1e-12


def test_proportions_are_part_of_the_string():
    metric = Skew(proportions={"m": 0.25, "f": 0.75}) @ 5
    assert repr(metric) == 'Skew(proportions=(("f", 0.75), ("m", 0.25)))@5'
    assert parse_metric(repr(metric)) == metric
    assert Skew(proportions=[["f", 0.75], ["m", 0.25]], k=5) == metric
    assert hash(metric) == hash(parse_metric(repr(metric)))


@pytest.mark.parametrize(
    ("proportions", "words"),
    [
        ({"a": 0.5, "b": 0.6}, r"proportions of Skew must be .* summing to 1"),
        ({"a": 1.5, "b": -0.5}, r"proportions of Skew must be a mapping"),
        ({"a": "x", "b": 0.5}, r"proportions of Skew must be a mapping"),
        ({"a": 0.5, "b": 0.5, None: 0.0}, r"proportions of Skew must be a mapping"),
        ((("a", 0.5), ("b", 0.5), ("a", 0.0)), r"proportions of Skew must be a mapping"),
        (0.5, r"proportions of Skew must be a mapping"),
        ({"a": 1.0}, r"proportions of .* must name every group, and 'b' is missing"),
        ({"a": 0.5, "b": 0.25, "z": 0.25}, r"proportions must be one of the groups 'a', 'b'"),
    ],
)
def test_bad_proportions_are_refused(proportions, words):
    with pytest.raises(DataError, match=words):
        skew([2, 1], list("ab"), proportions=proportions)


def test_bad_options_are_refused():
    with pytest.raises(DataError, match=r"extreme of Skew.*'min', 'max'"):
        Skew(extreme="mean")
    with pytest.raises(DataError, match=r"smoothing of Skew"):
        Skew(smoothing=-1)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [Skew() @ 2, Skew(extreme="max") @ 3, Skew(smoothing=1.0) @ 2])
def test_keeps_its_promises(metric):
    check_metric(metric)
