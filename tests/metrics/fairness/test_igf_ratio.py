from itertools import combinations
from math import inf, nan

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.metrics import IGFRatio, igf_ratio
from equirank.testing import check_metric

from .. import twins
from .comparing import agree_on_blocks


def acceptances(blocks, hidden, k):
    """List who may be accepted: whole blocks, and every choice from the one at the border."""
    everyone = [item for block in [*blocks, hidden] for item in block]
    room, sure = len(everyone) if k is None else k, []
    for block in blocks:
        if len(block) > room:
            return [{*sure, *some} for some in combinations(block, room)]
        sure += block
        room -= len(block)
    return [set(sure)]


def finish(found, y, labels, protected):
    """Undefined where a merit is 0; a group of which nobody is accepted has no value."""
    if min(y) <= 0:
        return nan, dict.fromkeys(labels, nan)
    found = {group: nan if value == inf else value for group, value in found.items()}
    value = twins.worst(list(found.values()), min) if protected is None else found[protected]
    return value, found


def twin(blocks, hidden, y, groups, labels, protected, *, k=None):
    """The lowest value over the choices at the border."""
    found = {}
    for label in labels:
        members, found[label] = twins.members(groups, label), inf
        for accepted in acceptances(blocks, hidden, k):
            taken = [y[item] for item in members if item in accepted]
            left = [y[item] for item in members if item not in accepted]
            if taken and min(y) > 0:
                ratio = min(1.0, min(taken) / max(left)) if left else 1.0
                found[label] = min(found[label], ratio)
    return finish(found, y, labels, protected)


OPTIONS = [{}, {"k": 1}, {"k": 2}, {"k": 4}, {"k": 20}]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "b"])
def test_agrees_with_twin(options, labels, protected):
    metric = IGFRatio(protected=protected, **options)
    agree_on_blocks(igf_ratio, metric, twin, labels, lift=1, **options)


@pytest.mark.slow
def test_lists_with_a_merit_of_zero_are_undefined():
    agree_on_blocks(None, IGFRatio @ 3, twin, "ab", k=3)


def test_single_list():
    value, groups = igf_ratio(
        [9, 4, 3, 8, 6, 5], [6, 5, 4, 3, 2, 1], list("aabaab"), k=3, return_groups=True
    )
    # a: accepted 9 and 4, rejected 8 and 6; b: accepted 3, rejected 5
    assert groups == {"a": 4 / 8, "b": 3 / 5}
    assert value == 0.5
    assert igf_ratio([9, 4, 3], [3, 2, 1], list("abb"), k=2, protected="b") == 1.0


def test_one_where_none_is_rejected_and_no_value_where_none_is_accepted():
    value, groups = igf_ratio([1, 2, 3], [3, 2, 1], list("abc"), k=2, return_groups=True)
    assert value == 1
    assert (groups["a"], groups["b"]) == (1, 1)
    assert np.isnan(groups["c"])


def test_ties_at_the_border_are_taken_for_both():
    # one of the two tied items is accepted, in the worst case the lower one
    assert igf_ratio([4, 2], [1, 1], list("aa"), k=1) == 2 / 4
    assert igf_ratio([4, 2], [1, 1], list("aa"), k=1, ties="stable") == 1
    assert igf_ratio([2, 4], [1, 1], list("aa"), k=1, ties="stable") == 2 / 4


def test_direction():
    assert IGFRatio.direction == "higher"
    worse, better = (
        igf_ratio([1, 9], [2, 1], list("aa"), k=1),
        igf_ratio([8, 9], [2, 1], list("aa"), k=1),
    )
    assert worse == 1 / 9
    assert better == 8 / 9


@pytest.mark.parametrize("merit", [0, -1, np.nan])
def test_merit_must_be_above_zero(merit):
    with pytest.raises(DataError, match=r"y_true.*row 1"):
        igf_ratio([2, merit, 1], [3, 2, 1], list("abb"), k=1)


def test_needs_merit():
    with pytest.raises(DataError, match="needs relevance"):
        igf_ratio(None, [3, 2, 1], list("abb"), k=1)
    data = as_ranking_data(y=[1, 2], score=[2, 1])
    with pytest.raises(DataError, match="needs groups"):
        IGFRatio().per_query(data.ranking())


@pytest.mark.slow
@pytest.mark.parametrize("metric", [IGFRatio(), IGFRatio @ 2])
def test_keeps_its_promises(metric):
    check_metric(metric)
