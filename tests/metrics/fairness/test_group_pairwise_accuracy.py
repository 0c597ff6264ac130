from itertools import combinations, product

import numpy as np
import pytest
from thorough import sized

from equirank import DataError
from equirank.metrics import (
    GroupPairwiseAccuracy,
    auc,
    group_pairwise_accuracy,
    pairwise_accuracy_matrix,
)
from equirank.testing import check_metric

from .. import pair_twins as twins
from ..cases import same
from ..pair_lists import all_lists
from ..twins import worst
from .pairwise_agreement import LABELS, agree


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS)
def test_agrees_with_twin(labels):
    def others(label):
        return labels.replace(label, "")

    def accuracy(case, blocks, hidden, label):
        return twins.accuracy(blocks, hidden, case.y, case.groups, label, others(label))

    def gap(case, blocks, hidden, label):
        return twins.accuracy_gap(blocks, hidden, case.y, case.groups, label, others(label))

    def largest(case, blocks, hidden):
        gaps = [
            twins.accuracy_gap(blocks, hidden, case.y, case.groups, g, h)
            for g, h in combinations(labels, 2)
        ]
        return worst(gaps, max)

    agree(
        group_pairwise_accuracy, GroupPairwiseAccuracy, labels, accuracy, largest, gap, truth=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS)
def test_matrix_agrees_with_twin(labels):
    for lists in all_lists(labels, n=sized(200, 600))[:3]:
        batch = lists.batch
        table = pairwise_accuracy_matrix(
            batch.y, batch.score, batch.groups, qid=batch.qid, ties=lists.ties
        )
        cells = [(better, worse) for better in labels for worse in [*labels, "(others)"]]
        assert list(zip(table["better"], table["worse"], strict=True)) == cells
        for at, (better, worse) in enumerate(cells):
            below = labels.replace(better, "") if worse == "(others)" else worse

            def one(case, rows, blocks, hidden, better=better, below=below):
                return twins.accuracy(blocks, hidden, case.y, case.groups, better, below)

            values = np.array(lists.twin(one))
            known = values[~np.isnan(values)]
            assert table["accuracy"][at] == pytest.approx(known.mean())
            assert table["queries"][at] == len(known)
            pairs = [
                (a, b)
                for case in batch.cases
                for a, b in twins.better_pairs(case.y)
                if case.groups[a] == better and case.groups[b] in below
            ]
            assert table["pairs"][at] == len(pairs)
            kind = "inter" if worse == "(others)" else "intra" if better == worse else "pair"
            assert table["kind"][at] == kind


def test_by_hand():
    # better a over worse b: 3 over 2 right, 3 over 0 right, 1 over 0 tied: 2.5 of 3
    # better b over worse a: 2 over 1 right: 1 of 1
    y, score, groups = [3, 1, 2, 0], [9, 2, 5, 2], list("aabb")
    value, both = group_pairwise_accuracy(y, score, groups, return_groups=True)
    assert value == pytest.approx(1 - 2.5 / 3)
    assert both == {"a": pytest.approx(2.5 / 3), "b": 1.0}


def test_three_groups_take_the_largest_gap_of_two_or_the_rest():
    # a beats b always, b never beats a; c is treated as a
    y = [1, 0, 1, 0, 1, 0]
    groups = list("aabbcc")
    score = [6, 4, 3, 1, 5, 2]
    # a>b 1, b>a 0; a>c 1, c>a 1; b>c 1, c>b 1
    assert group_pairwise_accuracy(y, score, groups) == 1
    # c against a and b: 1 both ways
    assert group_pairwise_accuracy(y, score, groups, protected="c") == 0
    # b against a and c: (0 + 1)/2 against 1
    assert group_pairwise_accuracy(y, score, groups, protected="b") == pytest.approx(1 / 2)


def test_one_direction_alone_is_no_gap():
    values = group_pairwise_accuracy([1, 0], [2, 1], ["a", "b"], per_query=True)
    assert np.isnan(values).all()
    with pytest.raises(DataError, match="in both directions"):
        group_pairwise_accuracy([1, 0], [2, 1], ["a", "b"], undefined="raise")
    # with a third group the defined pair of groups counts
    y, score, groups = [2, 1, 0, 3], [4, 1, 3, 2], list("abac")
    assert group_pairwise_accuracy(y, score, groups) == 1


def test_a_single_group_has_only_itself():
    y, score = [1, 0, 1, 0], [4, 3, 2, 1]
    assert np.isnan(group_pairwise_accuracy(y, score, ["a"] * 4, per_query=True)).all()
    table = pairwise_accuracy_matrix(y, score, ["a"] * 4)
    same(table["accuracy"], [auc(y, score), np.nan])
    assert table["pairs"].tolist() == [4, 0]
    assert table["queries"].tolist() == [1, 0]


def test_matrix_of_crossed_attributes():
    people = {"sex": list("ffmm"), "age": list("oyoy")}
    table = pairwise_accuracy_matrix(
        [3, 2, 1, 0], [4, 3, 2, 1], people, by=("sex", "age"), ties="stable"
    )
    assert len(table) == 4 * 5
    assert set(table["better"]) == {"f & o", "f & y", "m & o", "m & y"}


def test_direction():
    y, groups = [1, 0, 1, 0], list("abba")
    fair = group_pairwise_accuracy(y, [4, 1, 3, 2], groups)
    unfair = group_pairwise_accuracy(y, [4, 1, 2, 3], groups)
    assert 0 == fair < unfair
    assert GroupPairwiseAccuracy().direction == "lower"


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 3, 7])
@pytest.mark.parametrize("n_grades", [2, 5, 12, 40, None])
def test_every_way_of_counting(n_groups, n_grades):
    """Few cells, a short table and a tree must count the same pairs."""
    rng = np.random.default_rng([n_groups, n_grades or 0])
    n = 400
    y = rng.random(n) if n_grades is None else rng.integers(0, n_grades, n).astype(float)
    score, group = rng.integers(0, 60, n), rng.integers(0, n_groups, n)
    qid = rng.integers(0, 3, n)
    table = pairwise_accuracy_matrix(y, score, group, qid=qid)
    for at, (g, h) in enumerate(product(range(n_groups), [*range(n_groups), None])):
        values = []
        for query in range(3):
            a = (qid == query) & (group == g)
            b = (qid == query) & ((group != g) if h is None else (group == h))
            better = y[a][:, None] > y[b]
            won = (score[a][:, None] > score[b]) + (score[a][:, None] == score[b]) / 2
            if better.any():
                values.append(won[better].mean())
        same([table["accuracy"][at]], [np.mean(values) if values else np.nan])


@pytest.mark.slow
def test_keeps_every_promise():
    check_metric(GroupPairwiseAccuracy())
    check_metric(GroupPairwiseAccuracy(protected="a"))
