import numpy as np
import pytest

from equirank import DataError
from equirank.metrics import RankEqualityError, rank_equality_error
from equirank.testing import check_metric

from .. import pair_twins as twins
from ..cases import same
from .pairwise_agreement import LABELS, agree, over_labels


@pytest.mark.slow
@pytest.mark.parametrize("denominator", ["all", "comparable"])
@pytest.mark.parametrize("labels", LABELS)
def test_agrees_with_twin(labels, denominator):
    def twin(case, blocks, hidden, label):
        return twins.rank_equality_error(
            blocks, hidden, case.y, case.groups, label, denominator=denominator
        )

    agree(
        rank_equality_error,
        RankEqualityError,
        labels,
        twin,
        over_labels(labels, twin),
        twin,
        truth=True,
        denominator=denominator,
    )


def test_worked_example():
    """B9 A0 A2 B1 B3 A5 B4 A8 B6 B7, the number being the true position: 4/24 both ways."""
    ranked = ["B9", "A0", "A2", "B1", "B3", "A5", "B4", "A8", "B6", "B7"]
    groups = [word[0] for word in ranked]
    truth = [9 - int(word[1]) for word in ranked]
    score = list(range(10, 0, -1))
    for group in "AB":
        value = rank_equality_error(truth, score, groups, protected=group)
        assert value == pytest.approx(4 / 24)
    value, both = rank_equality_error(truth, score, groups, return_groups=True)
    assert value == pytest.approx(4 / 24)
    assert both == {"A": pytest.approx(4 / 24), "B": pytest.approx(4 / 24)}


def test_by_hand():
    # a is tied with a better b (half wrong), above a better b (wrong), equal to a third
    y, score, groups = [1, 2, 3, 1], [5, 5, 4, 9], list("abbb")
    assert rank_equality_error(y, score, groups, protected="a") == pytest.approx(1.5 / 3)
    assert rank_equality_error(y, score, groups, protected="b") == 0
    value = rank_equality_error(y, score, groups, protected="a", denominator="comparable")
    assert value == pytest.approx(1.5 / 2)


def test_equal_relevance_is_never_wrong():
    assert rank_equality_error([1, 1], [2, 1], ["a", "b"]) == 0
    one = {"per_query": True, "denominator": "comparable"}
    assert np.isnan(rank_equality_error([1, 1], [2, 1], ["a", "b"], **one)).all()


def test_undefined_for_one_group_only():
    values = rank_equality_error(
        [1, 0, 0, 1], [2, 1, 2, 1], list("aaab"), qid=[1, 1, 2, 2], per_query=True
    )
    same(values, [np.nan, 1])
    with pytest.raises(DataError, match="only one group"):
        rank_equality_error([1, 0], [2, 1], ["a", "a"], undefined="raise")


def test_direction():
    truth, groups = [4, 3, 2, 1], list("abab")
    better = rank_equality_error(truth, [4, 3, 2, 1], groups)
    worse = rank_equality_error(truth, [4, 1, 3, 2], groups)
    assert 0 == better < worse
    assert RankEqualityError().direction == "lower"


@pytest.mark.slow
@pytest.mark.parametrize("denominator", ["all", "comparable"])
def test_keeps_every_promise(denominator):
    check_metric(RankEqualityError(protected="a", denominator=denominator))
    check_metric(RankEqualityError(denominator=denominator))


def test_unknown_denominator():
    with pytest.raises(DataError, match=r"denominator of RankEqualityError.*'all', 'comparable'"):
        rank_equality_error([1, 0], [1, 2], ["a", "b"], denominator="none")
