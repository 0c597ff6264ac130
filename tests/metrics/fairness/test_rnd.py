from itertools import combinations
from math import isnan, log2

import numpy as np
import pytest

from equirank import Ranking, as_ranking_data
from equirank.metrics import RND, rnd

from .. import twins
from ..agreement import agree, longer_batches
from ..cases import same

OPTIONS = [
    {"step": 1},
    {"step": 2},
    {"step": 3, "k": 5},
    {"step": 2, "k": 1},
    {"step": 1, "discount": "code"},
    {"step": 2, "normalizer": "none"},
    {"step": 2, "normalizer": "last", "k": 6},
    {"step": 2, "normalizer": "exact", "discount": "code"},
    {"step": 1, "normalizer": "exact", "k": 4},
]


def one_group(blocks, hidden, groups, label, **options):
    return twins.prefix_metric("rnd", blocks, hidden, groups, label, **options)


def worst_group(blocks, hidden, groups, labels, **options):
    values = [one_group(blocks, hidden, groups, label, **options) for label in labels]
    return twins.worst(values, max)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_agrees_with_twin(options):
    metric = RND(protected="a", **options)
    agree(rnd, metric, one_group, ["groups", "a"], options, lists=longer_batches)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS[:4] + OPTIONS[6:8], ids=str)
def test_worst_of_three_groups_agrees_with_twin(options):
    twin_args = ["groups", ("a", "b", "c")]
    agree(rnd, RND(**options), worst_group, twin_args, options, labels="abc", lists=longer_batches)


def test_single_list():
    # prefixes of 2, 4 and 6; the share of the whole list is 3/6
    value = rnd([6, 5, 4, 3, 2, 1], list("aababb"), protected="a", step=2, normalizer="none")
    wanted = 1 / log2(2) * abs(2 / 2 - 3 / 6) + 1 / log2(4) * abs(3 / 4 - 3 / 6)
    assert value == pytest.approx(wanted)


def test_discount_of_the_code():
    value = rnd(
        [4, 3, 2, 1], list("aabb"), protected="a", step=2, normalizer="none", discount="code"
    )
    assert value == pytest.approx(1 / log2(3) * abs(2 / 2 - 2 / 4))


def test_step_of_one_begins_at_the_prefix_of_two():
    value = rnd([3, 2, 1], list("abb"), protected="a", step=1, normalizer="none")
    assert value == pytest.approx(
        1 / log2(2) * abs(1 / 2 - 1 / 3) + 1 / log2(3) * abs(1 / 3 - 1 / 3)
    )


def test_default_step_is_ten():
    groups = ["a"] * 10 + ["b"] * 30
    value = rnd(-np.arange(40), groups, protected="a", normalizer="none")
    wanted = sum(1 / log2(k) * abs(10 / k - 10 / 40) for k in (10, 20, 30, 40))
    assert value == pytest.approx(wanted)


def test_extremes_are_the_larger_of_first_and_last():
    # 1 of 5 protected, prefixes of 2 and 4
    first = 1 / log2(2) * abs(1 / 2 - 1 / 5) + 1 / log2(4) * abs(1 / 4 - 1 / 5)
    last = 1 / log2(2) * abs(0 - 1 / 5) + 1 / log2(4) * abs(0 - 1 / 5)
    middle = 1 / log2(2) * abs(0 - 1 / 5) + 1 / log2(4) * abs(1 / 4 - 1 / 5)
    scores, groups = [5, 4, 3, 2, 1], list("bbabb")
    value = rnd(scores, groups, protected="a", step=2)
    assert value == pytest.approx(middle / max(first, last))
    value = rnd(scores, groups, protected="a", step=2, normalizer="last")
    assert value == pytest.approx(middle / last)


def test_share_is_that_of_the_whole_list_under_a_cutoff():
    value = rnd([5, 4, 3, 2, 1], list("abbbb"), protected="a", step=2, k=3, normalizer="none")
    assert value == pytest.approx(1 / log2(2) * abs(1 / 2 - 1 / 5))


def test_list_tied_throughout_scores_zero():
    assert rnd([1] * 6, list("aabbbb"), step=2) == pytest.approx(0, abs=1e-12)


def test_tied_items_count_by_their_expected_number():
    # the block of places 2 to 4 holds two of the group: 1 + 2/3 in the first two
    value = rnd([2, 1, 1, 1], list("aaba"), protected="a", step=2, normalizer="none")
    assert value == pytest.approx(abs((1 + 2 / 3) / 2 - 3 / 4))


def test_undefined_for_one_group_or_a_short_list():
    values = rnd(
        [3, 2, 1, 2, 1, 1],
        ["a", "a", "a", "a", "b", "b"],
        qid=[1, 1, 1, 2, 2, 3],
        step=2,
        per_query=True,
    )
    assert np.isnan(values[[0, 2]]).all()
    # in query 2 the only prefix is the whole list, which cannot differ from itself
    assert isnan(values[1])


def test_short_queries_at_the_end_do_not_touch_the_others():
    scores, groups = [4, 3, 2, 1], list("aabb")
    alone = rnd(scores, groups, protected="a", step=1, normalizer="none")
    values = rnd(
        [*scores, 1, 1],
        [*groups, "a", "b"],
        qid=[1, 1, 1, 1, 2, 3],
        protected="a",
        step=1,
        normalizer="none",
        per_query=True,
    )
    same(values, [alone, np.nan, np.nan])


def test_rows_not_shown_end_the_prefixes_and_count_in_the_share():
    data = as_ranking_data(y=None, score=[0] * 5, sensitive_features=list("abbaa"))
    ranking = Ranking.from_positions(data, [1, 2, 3, 0, 0])
    value = RND(step=2, protected="a", normalizer="none").per_query(ranking).value[0]
    assert value == pytest.approx(abs(1 / 2 - 3 / 5))


@pytest.mark.parametrize("step", [1, 2, 3, 4])
@pytest.mark.parametrize("discount", ["paper", "code"])
def test_the_largest_value_over_all_lists_is_one(step, discount):
    for n, size, k in [(5, 2, None), (7, 3, 5), (8, 2, None), (8, 6, 7)]:
        lists = [
            ["a" if place in chosen else "b" for place in range(n)]
            for chosen in combinations(range(n), size)
        ]
        values = rnd(
            np.tile(-np.arange(n), len(lists)),
            np.concatenate(lists),
            qid=np.repeat(np.arange(len(lists)), n),
            protected="a",
            step=step,
            k=k,
            discount=discount,
            per_query=True,
        )
        assert values.max() == pytest.approx(1)
        assert values.min() >= 0


def test_groups_come_with_the_worst():
    value, groups = rnd([3, 2, 1], list("abc"), step=2, return_groups=True)
    assert list(groups) == ["a", "b", "c"]
    assert value == max(groups.values())
    assert groups["a"] == pytest.approx(abs(1 / 2 - 1 / 3) / abs(0 / 2 - 1 / 3))
    assert groups["c"] == pytest.approx(1.0)
