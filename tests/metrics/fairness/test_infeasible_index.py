from fractions import Fraction
from math import floor, nan

import numpy as np
import pytest

from equirank.metrics import InfeasibleIndex, infeasible_index
from equirank.testing import check_metric

from .comparing import agree_on_blocks


def count_in(blocks, inside, cut):
    """The expected number of ``inside`` items among the first ``cut``, as a fraction."""
    count, place = Fraction(0), 0
    for block in blocks:
        taken = min(len(block), max(0, cut - place))
        count += Fraction(taken * sum(item in inside for item in block), len(block))
        place += len(block)
    return count


def twin(
    blocks, hidden, y, groups, labels, protected, *, k=None, per_group=False, proportions=None
):
    n = len(groups)
    if proportions is None:
        target = {label: Fraction(groups.count(label), n) for label in labels}
    else:
        target = {label: Fraction(str(share)) for label, share in proportions.items()}
    limit = n - len(hidden) if k is None else min(k, n - len(hidden))
    if limit == 0 or sum(share > 0 for share in target.values()) < 2:
        return nan, dict.fromkeys(labels, nan)
    short = {label: set() for label in labels}
    for label in labels:
        inside = {item for item, group in enumerate(groups) if group == label}
        for i in range(1, limit + 1):
            if count_in(blocks, inside, i) < floor(target[label] * i):
                short[label].add(i)
    found = {g: float(len(short[g])) if target[g] > 0 else nan for g in labels}
    if protected is not None:
        return found[protected], found
    if per_group:
        return float(sum(map(len, short.values()))), found
    return float(len(set().union(*short.values()))), found


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"k": 3}, {"k": 20, "per_group": True}], ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "b"])
def test_agrees_with_twin(options, labels, protected):
    metric = InfeasibleIndex(protected=protected, **options)
    agree_on_blocks(infeasible_index, metric, twin, labels, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "proportions", [{"a": 0.3, "b": 0.3, "c": 0.4}, {"a": 0.7, "b": 0.3, "c": 0.0}], ids=str
)
def test_given_proportions_agree_with_twin(proportions):
    options = {"proportions": proportions}
    agree_on_blocks(infeasible_index, InfeasibleIndex(**options), twin, "abc", **options)


def test_single_list():
    # b should have 1 of the first 2, 1 of 3, 2 of 4 and 2 of 5, and has 0, 0, 1 and 2
    scores, groups = [6, 5, 4, 3, 2, 1], list("aaabbb")
    assert infeasible_index(scores, groups, return_groups=True) == (3.0, {"a": 0.0, "b": 3.0})


def test_prefixes_and_pairs_of_prefix_and_group():
    # shares 1/2, 1/4, 1/4: after four places a should have 2, b and c 1 each
    scores, groups = [8, 7, 6, 5, 4, 3, 2, 1], list("aaaabbcc")
    value, known = infeasible_index(scores, groups, return_groups=True)
    assert known == {"a": 0.0, "b": 1.0, "c": 3.0}
    assert value == 3  # prefixes of 4, 5, 6: c; of 4 also b
    assert infeasible_index(scores, groups, per_group=True) == 4
    assert infeasible_index(scores, groups, protected="c") == 3
    assert infeasible_index(scores, groups, k=4) == 1


@pytest.mark.slow
def test_shares_that_come_out_whole_are_not_rounded_away():
    n = 98  # 49 * (2 / 98) falls short of 1 in floating point
    for size in range(1, n):
        groups = ["b"] * (n - size) + ["a"] * size
        wanted = sum(max(0, i - (n - size)) < i * size // n for i in range(1, n + 1))
        assert infeasible_index(-np.arange(n), groups, protected="a") == wanted, size
        assert infeasible_index([1] * n, groups) == 0, size


def test_direction():
    scores = [6, 5, 4, 3, 2, 1]
    values = [infeasible_index(scores, list(row)) for row in ("ababab", "aabbab", "aaabbb")]
    assert InfeasibleIndex.direction == "lower"
    assert values[0] < values[1] < values[2]


@pytest.mark.slow
def test_never_more_than_there_are_prefixes():
    rng = np.random.default_rng(6)
    for _ in range(50):
        n = int(rng.integers(2, 40))
        groups = rng.choice(list("abc"), size=n)
        groups[:2] = ["a", "b"]
        assert 0 <= infeasible_index(rng.random(n), groups) <= n
        assert infeasible_index(rng.random(n), groups, per_group=True) <= 3 * n


@pytest.mark.slow
@pytest.mark.parametrize("metric", [InfeasibleIndex(), InfeasibleIndex(per_group=True) @ 4])
def test_keeps_its_promises(metric):
    check_metric(metric)
