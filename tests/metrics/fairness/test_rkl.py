from math import log2

import numpy as np
import pytest

from equirank import DataError
from equirank.metrics import RKL, rkl

from .. import twins
from ..agreement import agree, longer_batches
from .test_rnd import OPTIONS


def one_group(blocks, hidden, groups, label, **options):
    return twins.prefix_metric("rkl", blocks, hidden, groups, label, **options)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_agrees_with_twin(options):
    metric = RKL(protected="a", **options)
    agree(rkl, metric, one_group, ["groups", "a"], options, lists=longer_batches)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS[:6], ids=str)
def test_two_groups_at_once_agree_with_one_against_the_rest(options):
    agree(rkl, RKL(**options), one_group, ["groups", "a"], options, lists=longer_batches)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS[:6], ids=str)
def test_three_groups_at_once_agree_with_twin(options):
    args = ["groups", ("a", "b", "c")]
    metric = RKL(**options)
    agree(rkl, metric, twins.many_group_rkl, args, options, labels="abc", lists=longer_batches)


def test_single_list():
    value = rkl([4, 3, 2, 1], list("aaab"), protected="a", step=2, normalizer="none")
    wanted = 1 / log2(2) * (1 * log2(1 / (3 / 4)) + 0) + 1 / log2(4) * 0
    assert value == pytest.approx(wanted)


def test_share_against_the_whole_list():
    value = rkl([6, 5, 4, 3, 2, 1], list("abbbaa"), protected="a", step=3, normalizer="none")
    wanted = 1 / log2(3) * (1 / 3 * log2((1 / 3) / (3 / 6)) + 2 / 3 * log2((2 / 3) / (3 / 6)))
    assert value == pytest.approx(wanted)


def test_three_groups():
    value = rkl([6, 5, 4, 3, 2, 1], list("abcaab"), step=3, normalizer="none")
    shares = {"a": (1 / 3, 3 / 6), "b": (1 / 3, 2 / 6), "c": (1 / 3, 1 / 6)}
    wanted = 1 / log2(3) * sum(s * log2(s / p) for s, p in shares.values())
    assert value == pytest.approx(wanted)
    # the worst sorted list puts b and then c first
    worst = 1 / log2(3) * (2 / 3 * log2((2 / 3) / (2 / 6)) + 1 / 3 * log2((1 / 3) / (1 / 6)))
    value = rkl([6, 5, 4, 3, 2, 1], list("abcaab"), step=3)
    assert value == pytest.approx(wanted / worst)


def all_lists(sizes):
    """List all arrangements of groups of these sizes."""
    if not any(sizes):
        return [[]]
    found = []
    for group, size in enumerate(sizes):
        if size:
            rest = [s - (g == group) for g, s in enumerate(sizes)]
            found += [["abc"[group], *tail] for tail in all_lists(rest)]
    return found


@pytest.mark.parametrize("sizes", [(1, 1, 2), (2, 2, 2), (1, 2, 4), (3, 4, 0)], ids=str)
@pytest.mark.parametrize(("step", "k"), [(1, None), (2, None), (2, 4)])
def test_the_largest_value_over_all_lists_is_one(sizes, step, k):
    lists, n = all_lists(sizes), sum(sizes)
    values = rkl(
        np.tile(-np.arange(n), len(lists)),
        np.concatenate(lists),
        qid=np.repeat(np.arange(len(lists)), n),
        step=step,
        k=k,
        per_query=True,
    )
    assert values.max() == pytest.approx(1)
    assert values.min() >= -1e-12


def test_list_tied_throughout_scores_zero():
    assert rkl([1] * 6, list("aabbcc"), step=2) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("normalizer", ["exact", "last"])
def test_normalizers_of_one_group_need_protected(normalizer):
    with pytest.raises(DataError, match="protected must name one"):
        rkl([3, 2, 1], list("abc"), step=2, normalizer=normalizer)


def test_many_groups_are_refused_where_too_many_lists_would_be_sorted():
    labels = [f"g{i}" for i in range(11)]
    with pytest.raises(DataError, match=r"10 groups.*got 11"):
        rkl(np.arange(11), labels, step=2)
    assert rkl(np.arange(11), labels, step=2, normalizer="none") > 0


def test_each_group_against_the_rest_stands_beside():
    scores, labels = [6, 5, 4, 3, 2, 1], list("abcaab")
    _, groups = rkl(scores, labels, step=3, return_groups=True)
    for label, value in groups.items():
        assert value == pytest.approx(rkl(scores, labels, step=3, protected=label))
