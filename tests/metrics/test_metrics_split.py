"""Additive metrics by group: sums over the group's items at their places in the full list."""

from math import log2, nan
from pathlib import Path

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.core.registry import metric_names, parse_metric
from equirank.metrics import (
    DCG,
    NDCG,
    RBP,
    AveragePrecision,
    AverageRank,
    ExposureByGroup,
    Precision,
    Recall,
)

from . import twins
from .agreement import batches, positions
from .cases import same


def masked(y, groups, label):
    """Keep the relevance of one group's items, all others irrelevant."""
    return [grade if group == label else 0 for grade, group in zip(y, groups, strict=True)]


def dcg_of_group(blocks, hidden, y, groups, label, **options):
    return twins.dcg(blocks, hidden, masked(y, groups, label), **options)


def ideal_of_group(y, groups, label, *, k=None, gain="exp2", discount="log2"):
    """The group's DCG in the ideal order of the whole list, equal grades sharing their places."""
    weights = [twins.weight_of_place(place, discount) for place in range(1, len(y) + 1)]
    weights = sorted((0.0 if k and at >= k else w for at, w in enumerate(weights)), reverse=True)
    total = 0.0
    for grade, group in zip(y, groups, strict=True):
        first = sum(other > grade for other in y)
        places = weights[first : first + sum(other == grade for other in y)]
        total += twins.gain_of(grade, gain) * sum(places) / len(places) * (group == label)
    return total


def ndcg_of_group(blocks, hidden, y, groups, label, **options):
    gained = twins.dcg(blocks, hidden, masked(y, groups, label), **options)
    return twins.ratio(gained, ideal_of_group(y, groups, label, **options))


def precision_of_group(blocks, hidden, y, groups, label, **options):
    if label not in groups:
        return nan
    return twins.precision(blocks, hidden, masked(y, groups, label), **options)


def recall_of_group(blocks, hidden, y, groups, label, **options):
    return twins.recall(blocks, hidden, masked(y, groups, label), **options)


def average_rank_of_group(blocks, hidden, y, groups, label, **options):
    return twins.average_rank(blocks, hidden, masked(y, groups, label), **options)


def rbp_of_group(blocks, hidden, y, groups, label, **options):
    return twins.rbp(blocks, hidden, masked(y, groups, label), **options)


def exposure_of_group(blocks, hidden, y, groups, label, **options):
    seen = twins.exposure(blocks, hidden, len(y), **options)
    return twins.mean_of(seen, twins.members(groups, label))


TABLE = [
    (DCG(), dcg_of_group, {}),
    (
        DCG(gain="linear", discount="zipf") @ 2,
        dcg_of_group,
        {"gain": "linear", "discount": "zipf", "k": 2},
    ),
    (NDCG(), ndcg_of_group, {}),
    (NDCG @ 2, ndcg_of_group, {"k": 2}),
    (NDCG(gain="linear"), ndcg_of_group, {"gain": "linear"}),
    (NDCG(discount=(0.2, 1.0, 0.5)) @ 4, ndcg_of_group, {"discount": (0.2, 1.0, 0.5), "k": 4}),
    (Precision(), precision_of_group, {}),
    (Precision @ 3, precision_of_group, {"k": 3}),
    (Precision(threshold=2) @ 9, precision_of_group, {"k": 9, "threshold": 2}),
    (Recall @ 2, recall_of_group, {"k": 2}),
    (Recall(threshold=2) @ 3, recall_of_group, {"k": 3, "threshold": 2}),
    (RBP(max_grade=3), rbp_of_group, {"max_grade": 3}),
    (RBP(p=0.5, max_grade=4) @ 2, rbp_of_group, {"max_grade": 4, "p": 0.5, "k": 2}),
    (AverageRank(), average_rank_of_group, {}),
    (AverageRank(weights="none"), average_rank_of_group, {"weights": "none"}),
    (ExposureByGroup(), exposure_of_group, {}),
    (ExposureByGroup @ 2, exposure_of_group, {"k": 2}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "twin", "options"), TABLE, ids=lambda value: getattr(value, "__name__", str(value))
)
@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_agrees_with_twin(metric, twin, options, labels):
    lists = [(Ranking.from_scores(b.data(), b.score), b) for b in batches(labels)]
    lists.append((positions(labels)[0].ranking, positions(labels)[0]))
    for ranking, source in lists:
        slots = ranking.slots()
        codes, known = slots.groups(None)
        got = metric.split(slots, codes, len(known))
        wanted = [source.twin(twin, "y", "groups", label, **options) for label in known]
        for column, label in enumerate(known):
            # a group that a query does not hold has nothing to add up: 0 or no value
            there = [label in case.groups for case in getattr(source, "batch", source).cases]
            same(got[there, column], wanted[column][there])


@pytest.mark.parametrize("name", metric_names())
def test_only_additive_metrics_have_values_by_group(name):
    metric = parse_metric(name)
    assert metric.additive == (name in {type(row[0]).__name__ for row in TABLE}), (
        f"TABLE of {Path(__file__).name} must have a row for {name} if and only if it is additive"
    )


def test_a_group_that_is_absent_has_no_value_in_any_metric():
    data = as_ranking_data(
        y=[1, 1, 1], score=[2, 1, 1], qid=[1, 1, 2], sensitive_features=list("aba")
    )
    slots = data.ranking().slots()
    codes, _ = slots.groups(None)
    for metric, _, _ in TABLE:
        assert np.isnan(metric.split(slots, codes, 2)[1, 1]), metric


def test_ndcg_of_a_group_by_hand():
    # group b is at positions 2 and 4 with relevance 1 and 2; in the ideal order at 3 and 2
    data = as_ranking_data(y=[3, 1, 0, 2], score=[4, 3, 2, 1], sensitive_features=list("abab"))
    slots = data.ranking().slots()
    codes, _ = slots.groups(None)
    got = NDCG().split(slots, codes, 2)[0]
    best = 3 / log2(3) + 1 / log2(4)
    assert got[1] == pytest.approx((1 / log2(3) + 3 / log2(5)) / best)
    assert got[0] == pytest.approx((7 / log2(2)) / (7 / log2(2)))


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"k": 3, "gain": "linear"}], ids=str)
def test_the_ideal_of_a_group_is_the_mean_over_all_orders_of_equal_grades(options):
    y, groups = [2, 1, 2, 0, 1, 2], list("aabbab")
    by_grade = [[i for i, grade in enumerate(y) if grade == one] for one in (2, 1, 0)]
    data = as_ranking_data(y=y, score=[1, 2, 3, 4, 5, 6], sensitive_features=groups)
    slots = data.ranking().slots()
    codes, _ = slots.groups(None)
    _, ideal = NDCG(**options).split_sums(slots, codes, 2)
    for at, label in enumerate("ab"):
        wanted = twins.dcg(by_grade, [], masked(y, groups, label), **options)
        assert ideal[0, at] == pytest.approx(wanted)


@pytest.mark.parametrize("metric", [DCG(), DCG @ 2, Precision(), Precision @ 2], ids=str)
def test_parts_add_up_to_the_whole(metric):
    for batch in batches("abc"):
        ranking = Ranking.from_scores(batch.data(), batch.score)
        slots = ranking.slots()
        codes, known = slots.groups(None)
        parts = metric.split(slots, codes, len(known))
        same(np.nansum(parts, axis=1), metric.per_query(ranking).value)


def test_others_say_that_they_have_none():
    data = as_ranking_data(y=[1, 0], score=[2, 1], sensitive_features=list("ab"))
    slots = data.ranking().slots()
    with pytest.raises(DataError, match="AveragePrecision is not a sum over items"):
        AveragePrecision().split(slots, np.array([0, 1]), 2)
