from math import inf

import numpy as np
import pytest

from equirank import DataError
from equirank.metrics import IGFAggregated, igf_aggregated
from equirank.testing import check_metric

from .. import twins
from .comparing import agree_on_blocks
from .test_igf_ratio import OPTIONS, acceptances, finish


def twin(blocks, hidden, y, groups, labels, protected, *, k=None):
    """Expected sums over the choices at the border; i runs over all that may be accepted."""
    choices = acceptances(blocks, hidden, k)
    chance = [sum(item in some for some in choices) / len(choices) for item in range(len(y))]
    found = {}
    for label in labels:
        members, found[label] = twins.members(groups, label), inf
        for i in members:
            above = [item for item in members if y[item] >= y[i]]
            whole = sum(y[item] for item in above)
            if chance[i] > 0 and whole > 0:
                taken = sum(chance[item] * y[item] for item in above)
                found[label] = min(found[label], taken / whole)
    return finish(found, y, labels, protected)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "b"])
def test_agrees_with_twin(options, labels, protected):
    metric = IGFAggregated(protected=protected, **options)
    agree_on_blocks(igf_aggregated, metric, twin, labels, lift=1, **options)


@pytest.mark.slow
def test_lists_with_a_merit_of_zero_are_undefined():
    agree_on_blocks(None, IGFAggregated @ 3, twin, "ab", k=3)


def test_single_list():
    value, groups = igf_aggregated(
        [9, 4, 3, 8, 6, 5], [6, 5, 4, 3, 2, 1], list("aabaab"), k=3, return_groups=True
    )
    # a: accepted 9 and 4; at or above 9: 9/9, at or above 4: (9 + 4) / (9 + 8 + 6 + 4)
    assert groups == pytest.approx({"a": 13 / 27, "b": 3 / 8})
    assert value == pytest.approx(3 / 8)


def test_equal_merits_are_at_or_above_each_other():
    assert igf_aggregated([5, 5], [2, 1], list("aa"), k=1) == pytest.approx(5 / 10)


def test_no_value_where_none_is_accepted():
    value, groups = igf_aggregated([1, 2, 3], [3, 2, 1], list("abc"), k=2, return_groups=True)
    assert value == 1
    assert np.isnan(groups["c"])


def test_ties_at_the_border_are_accepted_in_part():
    # each of the two is accepted with chance 1/2: (4/2) / 4 and (4/2 + 2/2) / 6
    assert igf_aggregated([4, 2], [1, 1], list("aa"), k=1) == pytest.approx(1 / 2)


def test_direction():
    assert IGFAggregated.direction == "higher"
    values = [
        igf_aggregated(merit, [3, 2, 1], list("aaa"), k=2) for merit in ([1, 2, 9], [8, 7, 9])
    ]
    assert values == pytest.approx([2 / 11, 8 / 17])
    assert igf_aggregated([9, 8, 7], [3, 2, 1], list("aaa"), k=2) == 1


def test_merit_must_be_above_zero():
    with pytest.raises(DataError, match=r"y_true.*> 0.*row 2"):
        igf_aggregated([2, 1, 0], [3, 2, 1], list("abb"), k=1)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 3, 0, 1], [2, 0, 3, 1]])
def test_large_merit_of_another_query_changes_nothing(order):
    merit, qid = np.array([1e300, 1e300, 3, 1])[order], np.array(["a", "a", "b", "b"])[order]
    values = igf_aggregated(merit, [1] * 4, list("mmmm"), qid=qid, k=1, per_query=True)
    assert values.tolist() == [0.5, 0.5]


def test_merit_near_the_largest_number():
    most = np.finfo(float).max
    assert igf_aggregated([most] * 4, [4, 3, 2, 1], list("mmmm"), k=3) == pytest.approx(3 / 4)
    assert igf_aggregated([most, 5e-324], [2, 1], list("mm"), k=2) == 1


@pytest.mark.slow
@pytest.mark.parametrize("metric", [IGFAggregated(), IGFAggregated @ 2])
def test_keeps_its_promises(metric):
    check_metric(metric)
