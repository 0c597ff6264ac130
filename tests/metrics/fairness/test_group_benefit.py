import math

import numpy as np
import pytest
from thorough import sized

from equirank import DataError, Ranking, as_ranking_data
from equirank.metrics import GroupBenefit, group_benefit, group_preferences
from equirank.testing import check_metric

from .. import pair_twins as twins
from ..cases import same
from ..pair_lists import SHARES, all_lists
from ..twins import worst


@pytest.mark.slow
@pytest.mark.parametrize("labels", list(SHARES))
def test_agrees_with_twin(labels):
    for lists in all_lists(labels, n=sized(200, 600)):
        batch = lists.batch

        def benefit(label, lists=lists):
            return lists.twin(
                lambda case, rows, blocks, hidden: twins.group_benefit(
                    case.score, case.groups, label
                )
            )

        columns = [benefit(label) for label in labels]
        wanted = [worst(row, min) for row in zip(*columns, strict=True)]
        found = GroupBenefit().per_query(lists.ranking)
        same(found.value, wanted)
        same(found.groups.T, columns)
        if lists.ties is not None:
            call = {"qid": batch.qid, "ties": lists.ties, "per_query": True}
            same(group_benefit(batch.score, batch.groups, **call), wanted)
            got = group_benefit(batch.score, batch.groups, protected="b", **call)
            same(got, columns[labels.index("b")])


def test_by_hand():
    score, groups = [3, 1, 0, 2], list("abbc")
    value, all_groups = group_benefit(score, groups, return_groups=True)
    assert all_groups == {
        "a": (3 - 1) + (3 - 0) + (3 - 2),
        "b": (1 - 3) + (1 - 2) + (0 - 3) + (0 - 2),
        "c": (2 - 3) + (2 - 1) + (2 - 0),
    }
    assert value == -8


def test_a_common_shift_keeps_all_digits():
    score = np.arange(300) * 3 % 7
    groups = np.where(np.arange(300) % 3 == 0, "a", "b")
    wanted = group_benefit(score, groups, protected="a")
    assert wanted != 0
    assert group_benefit(score + 2.0**50, groups, protected="a") == pytest.approx(wanted)


def test_two_groups_have_opposite_benefits():
    value, both = group_benefit([5, 2, 1], list("abb"), return_groups=True)
    assert both["a"] == -both["b"] == 7
    assert value == -7


def test_undefined_for_one_group_only_and_without_scores():
    values = group_benefit([2, 1, 2, 1], list("aaab"), qid=[1, 1, 2, 2], per_query=True)
    same(values, [np.nan, -1])
    ranking = Ranking.from_positions(
        as_ranking_data(y=[1, 1], sensitive_features=list("ab")), [1, 2]
    )
    with pytest.raises(DataError, match="needs scores"):
        GroupBenefit().per_query(ranking)


def test_direction():
    low = group_benefit([1, 2, 3], list("abb"), protected="a")
    high = group_benefit([2, 2, 3], list("abb"), protected="a")
    assert low < high
    assert GroupBenefit().direction == "higher"
    assert GroupBenefit().bounds == (-math.inf, math.inf)
    assert GroupBenefit().needs == {"sensitive", "score"}


@pytest.mark.slow
def test_keeps_every_promise():
    check_metric(GroupBenefit())
    check_metric(GroupBenefit(protected="a"))


# a set of rankers

GROUPS = list("aabb")
FOR_A, FOR_B, EVEN = [4, 3, 2, 1], [2, 1, 4, 3], [4, 2, 3, 1]


def test_each_group_prefers_its_own():
    found = group_preferences({"a": FOR_A, "b": FOR_B}, GROUPS, parity=EVEN)
    assert found.envy_free is True
    assert found.preferred is True
    assert found.benefit["group"].tolist() == ["a"] * 3 + ["b"] * 3
    assert found.benefit["ranker"].tolist() == ["a", "b", "parity"] * 2
    # a: (4 + 3) * 2 - (2 + 1) * 2 and so on
    assert found.benefit["benefit"].tolist() == [8, -8, 2 * 6 - 2 * 4, -8, 8, 2 * 4 - 2 * 6]


def test_envy():
    assert group_preferences({"a": FOR_B, "b": FOR_A}, GROUPS).envy_free is False
    # one envious group is enough
    assert group_preferences({"a": FOR_A, "b": FOR_A}, GROUPS).envy_free is True
    assert group_preferences({"a": EVEN, "b": FOR_B}, GROUPS).envy_free is True
    assert group_preferences({"a": FOR_A, "b": EVEN}, GROUPS).envy_free is True
    assert group_preferences({"a": EVEN, "b": FOR_A}, GROUPS).envy_free is False


def test_preferred_to_parity():
    assert group_preferences({"a": FOR_A, "b": FOR_B}, GROUPS).preferred is None
    assert group_preferences({"a": FOR_A, "b": FOR_A}, GROUPS, parity=EVEN).preferred is False
    assert group_preferences({"a": EVEN, "b": EVEN}, GROUPS, parity=EVEN).preferred is True
    assert group_preferences({"b": FOR_B, "a": FOR_B}, GROUPS, parity=EVEN).preferred is False


def test_a_group_may_be_called_parity():
    groups = ["parity", "parity", "b", "b"]
    found = group_preferences({"parity": FOR_A, "b": FOR_B}, groups, parity=EVEN)
    assert found.envy_free is True
    assert found.preferred is True


def test_means_over_queries():
    qid = [1, 1, 2, 2]
    found = group_preferences({"a": [2, 1, 4, 1], "b": [1, 2, 1, 2]}, list("abab"), qid=qid)
    assert found.benefit["benefit"].tolist() == [(1 + 3) / 2, -1, -2, 1]
    assert found.envy_free is True


def test_rounding_is_no_envy():
    third = 0.1 + 0.2
    found = group_preferences({"a": [0.3, 0], "b": [third, 0]}, ["a", "b"])
    assert found.envy_free is True
    assert group_preferences({"a": [0.3, 0], "b": [third, 0]}, ["a", "b"], tol=0).envy_free is False


def test_rankers_must_name_the_groups():
    for rankers in ({"a": FOR_A}, {"a": FOR_A, "b": FOR_B, "c": EVEN}, {"a": FOR_A, "x": EVEN}, {}):
        with pytest.raises(DataError, match="rankers must name each group"):
            group_preferences(rankers, GROUPS)
    assert group_preferences({1: FOR_A, 2: FOR_B}, [1, 1, 2, 2]).envy_free is True
    assert group_preferences({"1": FOR_A, "2": FOR_B}, [1, 1, 2, 2]).envy_free is True


def test_scores_near_the_largest_number():
    assert group_benefit([1e307, -1e307], ["a", "b"], protected="a") == pytest.approx(2e307)
    assert group_benefit([1.7e308] * 4, list("aabb"), protected="a") == 0
    with pytest.raises(DataError, match=r"exceeds 1\.8e308"):
        group_benefit([1.7e308, -1.7e308], ["a", "b"])
