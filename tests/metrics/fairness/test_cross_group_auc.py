from itertools import combinations

import numpy as np
import pytest

from equirank import DataError
from equirank.metrics import CrossGroupAUC, auc, cross_group_auc, group_pairwise_accuracy
from equirank.testing import check_metric

from .. import pair_twins as twins
from ..twins import worst
from .pairwise_agreement import LABELS, agree


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [1, 2, 0.5])
@pytest.mark.parametrize("labels", LABELS)
def test_agrees_with_twin(labels, threshold):
    def binary(case):
        return [int(value >= threshold) for value in case.y]

    def others(label):
        return labels.replace(label, "")

    def accuracy(case, blocks, hidden, label):
        return twins.accuracy(blocks, hidden, binary(case), case.groups, label, others(label))

    def gap(case, blocks, hidden, label):
        return twins.accuracy_gap(blocks, hidden, binary(case), case.groups, label, others(label))

    def largest(case, blocks, hidden):
        y = binary(case)
        gaps = [
            twins.accuracy_gap(blocks, hidden, y, case.groups, g, h)
            for g, h in combinations(labels, 2)
        ]
        return worst(gaps, max)

    agree(
        cross_group_auc,
        CrossGroupAUC,
        labels,
        accuracy,
        largest,
        gap,
        truth=True,
        threshold=threshold,
    )


def test_is_the_auc_of_one_groups_relevant_and_the_others_irrelevant():
    rng = np.random.default_rng(0)
    y, score, groups = rng.integers(0, 2, 80), rng.integers(0, 20, 80), rng.choice(list("ab"), 80)
    parts = {}
    for g, h in ("ab", "ba"):
        keep = ((groups == g) & (y == 1)) | ((groups == h) & (y == 0))
        parts[g] = auc(y[keep], score[keep])
    value, both = cross_group_auc(y, score, groups, return_groups=True)
    assert both == pytest.approx(parts)
    assert value == pytest.approx(abs(parts["a"] - parts["b"]))
    assert value == pytest.approx(group_pairwise_accuracy(y, score, groups))


def test_grades_above_the_threshold_are_equal():
    # 3 and 1 are both relevant, so only pairs with a 0 count
    y, score, groups = [3, 1, 0, 0], [1, 3, 2, 4], list("abba")
    assert cross_group_auc(y, score, groups) == pytest.approx(0)
    assert cross_group_auc([3, 1, 0, 0], [1, 5, 2, 4], groups) == pytest.approx(1)


def test_undefined():
    assert np.isnan(cross_group_auc([1, 0], [1, 2], ["a", "b"], per_query=True)).all()
    with pytest.raises(DataError, match="threshold of CrossGroupAUC"):
        cross_group_auc([1, 0], [1, 2], ["a", "b"], threshold=0)


@pytest.mark.slow
def test_direction_and_promises():
    fair = cross_group_auc([1, 0, 1, 0], [4, 1, 3, 2], list("abba"))
    unfair = cross_group_auc([1, 0, 1, 0], [4, 1, 2, 3], list("abba"))
    assert 0 == fair < unfair
    assert CrossGroupAUC().direction == "lower"
    check_metric(CrossGroupAUC())
