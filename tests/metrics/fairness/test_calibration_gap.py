from fractions import Fraction
from functools import cache
from math import nan

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.metrics import CalibrationGap, calibration_gap
from equirank.testing import check_metric

from .. import twins
from .comparing import agree_on_blocks


def twin(blocks, hidden, y, groups, labels, protected, *, n_bins=10):
    everyone = [*blocks, hidden] if hidden else blocks
    bins = [part.tolist() for part in np.array_split(np.arange(len(y)), n_bins)]
    bin_of = {place: number for number, part in enumerate(bins) for place in part}
    chance = {}  # of an item to lie in a bin
    place = 0
    for block in everyone:
        for there in range(place, place + len(block)):
            for item in block:
                key = item, bin_of[there]
                chance[key] = chance.get(key, 0) + Fraction(1, len(block))
        place += len(block)

    @cache
    def mean(items, number):
        n = sum(chance.get((item, number), 0) for item in items)
        total = sum(chance.get((item, number), 0) * y[item] for item in items)
        return float(total / n) if n > 0 else nan

    found, spread = {}, []
    for label in labels:
        own, rest = tuple(twins.members(groups, label)), tuple(twins.others(groups, label))
        differences = [abs(mean(own, b) - mean(rest, b)) for b in range(n_bins)]
        found[label] = twins.worst(differences, max)
    for number in range(n_bins):
        means = [mean(tuple(twins.members(groups, label)), number) for label in labels]
        means = [value for value in means if value == value]
        if len(means) > 1:
            spread.append(max(means) - min(means))
    value = twins.worst(spread, max) if protected is None else found[protected]
    return value, found


@pytest.mark.slow
@pytest.mark.parametrize("n_bins", [1, 2, 3, 5])
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "a"])
def test_agrees_with_twin(n_bins, labels, protected):
    metric = CalibrationGap(n_bins=n_bins, protected=protected)
    agree_on_blocks(calibration_gap, metric, twin, labels, n_bins=n_bins)


def test_single_list():
    # bins of 3, 2 and 2 items
    y, groups = [3, 1, 2, 0, 1, 0, 2], list("abbabab")
    value, known = calibration_gap(y, -np.arange(7), groups, n_bins=3, return_groups=True)
    gaps = [3 - (1 + 2) / 2, 1 - 0, 2 - 0]
    assert value == max(gaps)
    assert known == {"a": max(gaps), "b": max(gaps)}


def test_two_groups_are_compared_with_each_other_and_one_with_the_rest():
    y, groups = [4, 1, 2], list("abc")
    value, known = calibration_gap(y, [3, 2, 1], groups, n_bins=1, return_groups=True)
    assert value == 4 - 1
    assert known == {"a": 4 - 3 / 2, "b": 3 - 1, "c": 5 / 2 - 2}
    assert calibration_gap(y, [3, 2, 1], groups, n_bins=1, protected="c") == 5 / 2 - 2


def test_bins_are_shared_and_need_two_groups():
    with pytest.warns(match="no bin contains items of two groups"):
        assert np.isnan(calibration_gap([1, 0, 1, 0], [4, 3, 2, 1], list("aabb"), n_bins=2))
    assert calibration_gap([1, 0, 1, 1], [4, 3, 2, 1], list("abab"), n_bins=2) == 1


def test_tied_items_lie_in_bins_by_their_chance():
    # the tied items at places 2 and 3 lie in either bin with chance 1/2
    y, scores, groups = [2, 0, 1, 3], [3, 2, 2, 1], list("abab")
    value = calibration_gap(y, scores, groups, n_bins=2)
    first = abs((2 + 0.5 * 1) / 1.5 - (0.5 * 0) / 0.5)
    second = abs((0.5 * 1) / 0.5 - (0.5 * 0 + 3) / 1.5)
    assert value == pytest.approx(max(first, second))


def test_items_not_shown_lie_behind_all_others():
    data = as_ranking_data(y=[1, 0, 1, 0], sensitive_features=list("abab"))
    ranking = Ranking.from_positions(data, [0, 0, 1, 2])
    assert CalibrationGap(n_bins=2).per_query(ranking).value[0] == 1


def test_direction():
    assert CalibrationGap.direction == "lower"
    scores, groups = [4, 3, 2, 1], list("abab")
    values = [calibration_gap(y, scores, groups, n_bins=2) for y in ([1, 1, 0, 0], [3, 1, 0, 0])]
    assert values == [0, 2]


def test_has_bins_and_no_cutoff():
    with pytest.raises(DataError, match=r"k of CalibrationGap.*no cutoff"):
        CalibrationGap @ 5
    with pytest.raises(DataError, match=r"n_bins of CalibrationGap"):
        CalibrationGap(n_bins=0)


def test_never_more_than_the_largest_relevance():
    rng = np.random.default_rng(10)
    y, groups = rng.integers(0, 4, size=3000), rng.choice(list("abc"), size=3000)
    values = calibration_gap(
        y, rng.random(3000), groups, qid=rng.integers(0, 200, size=3000), per_query=True, n_bins=4
    )
    assert np.nanmax(values) <= 3
    assert np.nanmin(values) >= 0


def test_large_relevance_hides_no_other():
    # the only bin with two groups is the second, behind a relevance of 1e300
    assert calibration_gap([1e300, 0, 3, 1], [4, 3, 2, 1], list("aaab"), n_bins=2) == 2
    # another query, and its place among the rows, changes nothing
    y, groups = np.array([1e300, 0, 3, 1]), np.array(list("aaab"))
    for order in ([0, 1, 2, 3], [2, 3, 0, 1], [2, 0, 3, 1]):
        qid = np.array([0, 0, 1, 1])[order]
        value = calibration_gap(y[order], [1] * 4, groups[order], qid=qid, protected="b")
        assert value == 2
    # everyone else is summed, not what is left of the whole
    value = calibration_gap([1e300, 3, 1], [1, 1, 1], list("abc"), n_bins=1, protected="a")
    assert value == pytest.approx(1e300)
    _, by_group = calibration_gap(
        [1e300, 3, 1], [1, 1, 1], list("abb"), n_bins=1, return_groups=True
    )
    assert by_group["a"] == by_group["b"]


def test_relevance_near_the_largest_number():
    most = np.finfo(float).max
    assert calibration_gap([most, most, 0, 0], [1] * 4, list("aabb")) == most
    values = calibration_gap(
        [most, 0, most, 0], [1] * 4, list("abab"), qid=[0, 0, 1, 1], per_query=True
    )
    assert values.tolist() == [most, most]
    assert calibration_gap([most, 0, most, 0], [1] * 4, list("abab"), qid=[0, 0, 1, 1]) == most


@pytest.mark.slow
@pytest.mark.parametrize("metric", [CalibrationGap(), CalibrationGap(n_bins=2)])
def test_keeps_its_promises(metric):
    check_metric(metric)
