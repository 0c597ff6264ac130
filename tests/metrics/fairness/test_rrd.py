import warnings
from itertools import combinations
from math import log2

import numpy as np
import pytest

from equirank import EquirankWarning
from equirank.metrics import RRD, rrd

from .. import twins
from ..agreement import agree, longer_batches
from .test_rnd import OPTIONS


def one_group(blocks, hidden, groups, label, *, normalizer="exact", **options):
    return twins.prefix_metric(
        "rrd", blocks, hidden, groups, label, normalizer=normalizer, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize("options", [*OPTIONS, {"step": 2, "normalizer": "extremes"}], ids=str)
def test_agrees_with_twin(options):
    metric = RRD(protected="a", **options)
    agree(rrd, metric, one_group, ["groups", "a"], options, lists=longer_batches)


def test_single_list():
    value = rrd([6, 5, 4, 3, 2, 1], list("abbabb"), protected="a", step=2, normalizer="none")
    wanted = 1 / log2(2) * abs(1 / 1 - 2 / 4) + 1 / log2(4) * abs(2 / 2 - 2 / 4) + 0
    assert value == pytest.approx(wanted)


def test_zero_denominator_takes_the_ratio_zero():
    # only protected in the prefix of two: the ratio is 0, not infinite
    value = rrd([5, 4, 3, 2, 1], list("aabbb"), protected="a", step=2, normalizer="none")
    wanted = 1 / log2(2) * abs(0 - 2 / 3) + 1 / log2(4) * abs(2 / 2 - 2 / 3)
    assert value == pytest.approx(wanted)


def test_sorted_lists_are_not_the_worst():
    groups = [*"aaabab", *"bbbbbbbb"]
    assert groups.count("a") == 4
    call = {"protected": "a", "step": 4, "k": 7}
    value = rrd(-np.arange(14), groups, normalizer="extremes", **call)
    assert value == pytest.approx(abs(3 / 1 - 4 / 10) / abs(0 - 4 / 10))
    assert value == pytest.approx(6.5)
    assert rrd(-np.arange(14), groups, normalizer="exact", **call) == pytest.approx(1)
    assert rrd(-np.arange(14), groups, **call) == pytest.approx(1)


@pytest.mark.parametrize("step", [1, 2, 3, 4])
@pytest.mark.parametrize("discount", ["paper", "code"])
def test_the_largest_value_over_all_lists_is_one(step, discount):
    for n, size, k in [(5, 2, None), (7, 3, 5), (8, 2, None), (9, 4, 8)]:
        lists = [
            ["a" if place in chosen else "b" for place in range(n)]
            for chosen in combinations(range(n), size)
        ]
        values = rrd(
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


def test_warns_where_the_protected_group_is_the_majority():
    with pytest.warns(EquirankWarning, match=r"minority.*'a' is 75%"):
        rrd([4, 3, 2, 1], list("aaab"), protected="a", step=2)
    with pytest.warns(EquirankWarning, match="name the protected group"):
        rrd([4, 3, 2, 1], list("aaab"), step=2)


def test_does_not_warn_for_a_minority_or_equal_halves():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rrd([4, 3, 2, 1], list("aaab"), protected="b", step=2)
        rrd([4, 3, 2, 1], list("aabb"), protected="b", step=2)


def test_exact_is_the_default():
    assert RRD().normalizer == "exact"
    assert repr(RRD(step=4)) == "RRD(step=4)"
