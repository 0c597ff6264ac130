import numpy as np
import pytest

from equirank import DataError
from equirank.metrics import RankParityError, rank_parity_error
from equirank.testing import check_metric

from .. import pair_twins as twins
from ..cases import same
from .pairwise_agreement import LABELS, agree, over_labels


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS)
def test_agrees_with_twin(labels):
    def twin(case, blocks, hidden, label):
        return twins.rank_parity_error(blocks, hidden, case.groups, label)

    value = over_labels(labels, twin)
    agree(rank_parity_error, RankParityError, labels, twin, value, twin, truth=False)


def test_worked_example():
    """A0 A2 B1 B3 B4 B6 B7 B9 A5 A8: parity although the As stand at both ends."""
    groups = [word[0] for word in ["A0", "A2", "B1", "B3", "B4", "B6", "B7", "B9", "A5", "A8"]]
    score = list(range(10, 0, -1))
    for group in "AB":
        assert rank_parity_error(score, groups, protected=group) == 1 / 2
    assert rank_parity_error(score, groups) == 1 / 2


def test_by_hand():
    # a above one b, tied with another, below a third
    score, groups = [3, 1, 3, 5], list("abbb")
    assert rank_parity_error(score, groups, protected="a") == pytest.approx(1.5 / 3)
    assert rank_parity_error([9, 1, 3, 5], groups, protected="a") == 1
    assert rank_parity_error([0, 1, 3, 5], groups, protected="a") == 0
    assert rank_parity_error([0, 1, 3, 5], groups) == 1


def test_two_groups_add_up_to_one_and_the_larger_counts():
    rng = np.random.default_rng(0)
    for _ in range(50):
        score, groups = rng.integers(0, 9, 20), rng.choice(list("ab"), 20)
        value, both = rank_parity_error(score, groups, return_groups=True)
        assert both["a"] + both["b"] == pytest.approx(1)
        assert value == max(both.values()) >= 1 / 2


def test_the_largest_of_many_groups_is_never_under_a_half():
    rng = np.random.default_rng(1)
    for _ in range(50):
        score, groups = rng.integers(0, 9, 20), rng.choice(list("abcd"), 20)
        assert rank_parity_error(score, groups) >= 1 / 2 - 1e-12


def test_undefined_for_one_group_only():
    values = rank_parity_error([2, 1, 2, 1], list("aaab"), qid=[1, 1, 2, 2], per_query=True)
    same(values, [np.nan, 1])
    with pytest.raises(DataError, match="only one group"):
        rank_parity_error([2, 1], ["a", "a"], undefined="raise")


def test_direction():
    mixed = rank_parity_error([4, 3, 2, 1], list("abba"))
    apart = rank_parity_error([4, 3, 2, 1], list("aabb"))
    assert mixed < apart
    assert RankParityError().direction == "lower"


@pytest.mark.slow
def test_keeps_every_promise():
    check_metric(RankParityError(protected="a"))
    check_metric(RankParityError())
