from dataclasses import FrozenInstanceError
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import comb, nan

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.metrics import FAStarIRTest, fa_star_ir_test
from equirank.testing import check_metric

from .comparing import agree_on_blocks


@cache
def cdf(m, k, p):
    return sum(comb(k, i) * p**i * (1 - p) ** (k - i) for i in range(m + 1))


@cache
def minimum(k, p, alpha, adjusted):
    """Minimum counts, exact; adjusted by trying every level at which the table changes."""

    def at(level):
        return [next(m for m in range(j + 1) if cdf(m, j, p) > level) for j in range(1, k + 1)]

    def fails(row, counts):
        return any(sum(row[:j]) < counts[j - 1] for j in range(1, k + 1))

    if not adjusted:
        return at(alpha)
    levels = {cdf(m, j, p) for j in range(1, k + 1) for m in range(j + 1)}
    for level in sorted((level for level in levels if level <= alpha), reverse=True):
        counts = at(level)
        chance = sum(
            p ** sum(row) * (1 - p) ** (k - sum(row))
            for row in product((0, 1), repeat=k)
            if fails(row, counts)
        )
        if chance <= alpha:
            return counts
    return [0] * k


def against(blocks, inside):
    """Put the members of each block behind its others: 1 for a member."""
    row = []
    for block in blocks:
        members = sum(item in inside for item in block)
        row += [0] * (len(block) - members) + [1] * members
    return row


def twin(blocks, hidden, y, groups, labels, protected, *, k=None, p=None, alpha=0.1, adjusted=True):
    n, found = len(groups), {}
    limit = n - len(hidden) if k is None else min(k, n - len(hidden))
    for label in labels if protected is None else [protected]:
        inside = {item for item, group in enumerate(groups) if group == label}
        if limit == 0 or not inside or (p is None and len(inside) == n):
            found[label] = nan
            continue
        share = Fraction(len(inside), n) if p is None else Fraction(str(p))
        needed = minimum(limit, share, Fraction(str(alpha)), adjusted)
        row = against(blocks, inside)
        found[label] = float(all(sum(row[:j]) >= needed[j - 1] for j in range(1, limit + 1)))
    known = [value for value in found.values() if value == value]
    return (min(known) if known else nan), found


OPTIONS = [
    {},
    {"alpha": 0.4},
    {"alpha": 0.3, "k": 4},
    {"alpha": 0.25, "adjusted": False},
    {"alpha": 0.3, "k": 20, "adjusted": False},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "a"])
def test_agrees_with_twin(options, labels, protected):
    agree_on_blocks(None, FAStarIRTest(protected=protected, **options), twin, labels, **options)


@pytest.mark.slow
@pytest.mark.parametrize("adjusted", [True, False])
def test_a_given_share_agrees_with_twin(adjusted):
    options = {"p": 0.6, "alpha": 0.35, "adjusted": adjusted}
    agree_on_blocks(None, FAStarIRTest(protected="b", **options), twin, "abc", **options)


def a_list(row):
    return -np.arange(len(row)), list(row)


def test_the_worked_case():
    # minimum 0 x 9, 1 x 6, 2 x 5 for 20 places, p = 1/4, alpha = 1/10
    result = fa_star_ir_test(
        *a_list("m" * 9 + "f" + "m" * 5 + "f" + "m" * 4), protected="f", p=0.25
    )
    assert result.passed is True
    assert result.first_failing_prefix is None
    assert result.p_value > 0.1
    assert result.minimum.tolist() == [0] * 9 + [1] * 6 + [2] * 5
    assert result.counts.tolist() == [0] * 9 + [1] * 6 + [2] * 5
    assert (result.p, result.alpha) == (0.25, 0.1)
    low, high = result.alpha_range
    assert low <= 0.0635 < 0.075 < high
    late = fa_star_ir_test(*a_list("m" * 9 + "f" + "m" * 6 + "f" + "m" * 3), protected="f", p=0.25)
    assert late.passed is False
    assert late.first_failing_prefix == 16
    assert late.p_value <= 0.1
    alone = fa_star_ir_test(*a_list("m" * 9 + "f" * 11), protected="f", p=0.25, adjusted=False)
    assert alone.minimum.tolist() == [0] * 8 + [1] * 6 + [2] * 5 + [3]
    assert alone.first_failing_prefix == 9


def test_p_value_by_listing_all_lists():
    for p, text in [(Fraction(1, 4), "abba"), (Fraction(1, 2), "bbaab"), (Fraction(2, 5), "baab")]:
        n = len(text)

        def lowest(row, p=p):
            return min(cdf(sum(row[:j]), j, p) for j in range(1, len(row) + 1))

        observed = lowest([int(sign == "a") for sign in text])
        wanted = sum(
            p ** sum(row) * (1 - p) ** (n - sum(row))
            for row in product((0, 1), repeat=n)
            if lowest(row) <= observed
        )
        result = fa_star_ir_test(*a_list(text), protected="a", p=float(p))
        assert result.p_value == pytest.approx(float(wanted))


@pytest.mark.slow
def test_adjusted_test_passes_where_the_p_value_lies_above_alpha():
    rng = np.random.default_rng(9)
    seen = set()
    for _ in range(300):
        n, alpha = int(rng.integers(2, 40)), float(rng.choice([0.05, 0.1, 0.3]))
        row = rng.permutation(["a"] * int(rng.integers(1, n)) + ["b"] * n)[:n]
        if len(set(row)) < 2:
            continue
        row = np.sort(row)[::-1] if rng.random() < 0.3 else row
        result = fa_star_ir_test(*a_list(row), protected="a", alpha=alpha)
        assert result.passed == (result.p_value > alpha)
        assert result.passed == (result.first_failing_prefix is None)
        seen.add(result.passed)
    assert seen == {True, False}


def test_share_of_the_list_and_cutoff():
    result = fa_star_ir_test(*a_list("bbbaab"), protected="a", k=4)
    assert result.p == pytest.approx(2 / 6)
    assert result.counts.tolist() == [0, 0, 0, 1]
    assert fa_star_ir_test(*a_list("bbbaab"), protected="a", k=50).counts.size == 6


def test_ties_are_broken_against_the_protected():
    result = fa_star_ir_test([2, 1, 1, 1], list("baab"), protected="a")
    assert result.counts.tolist() == [0, 0, 1, 2]
    result = fa_star_ir_test([1, 1, 1], list("aab"), protected="b")
    assert result.counts.tolist() == [0, 0, 1]


def test_other_groups_are_the_rest():
    result = fa_star_ir_test(*a_list("bcacb"), protected="a")
    assert result.counts.tolist() == [0, 0, 1, 1, 1]
    assert result.p == pytest.approx(1 / 5)


def test_takes_a_ranking():
    data = as_ranking_data(y=[0] * 4, sensitive_features=list("abab"))
    ranking = Ranking.from_positions(data, [3, 1, 0, 2])
    result = fa_star_ir_test(ranking, None, protected="a")
    assert result.counts.tolist() == [0, 0, 1]
    assert result.p == 0.5


def test_one_list_of_several():
    data = as_ranking_data(
        score=[3, 2, 1, 2, 1], qid=list("xxxyy"), sensitive_features=list("abbba")
    )
    metric = FAStarIRTest(protected="a")
    assert metric.result(data.ranking(), "x").counts.tolist() == [1, 1, 1]
    assert metric.result(data.ranking(), "y").counts.tolist() == [0, 1]
    with pytest.raises(DataError, match="query must be named"):
        metric.result(data.ranking())


def test_direction():
    assert FAStarIRTest.direction == "higher"
    metric = FAStarIRTest(protected="a")
    rows = ["b" * 10 + "a" * 10, "ab" * 10]
    data = as_ranking_data(
        score=np.tile(-np.arange(20), 2),
        qid=np.repeat([1, 2], 20),
        sensitive_features=list("".join(rows)),
    )
    assert metric.per_query(data.ranking()).value.tolist() == [0.0, 1.0]
    better, worse = (fa_star_ir_test(*a_list(row), protected="a").p_value for row in rows[::-1])
    assert better > worse


def test_result_is_frozen():
    result = fa_star_ir_test(*a_list("ab"), protected="a")
    with pytest.raises(FrozenInstanceError):
        result.passed = False


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fa_star_ir_test(*a_list("ab"), protected="c"), r"protected.*'c'"),
        (lambda: fa_star_ir_test(*a_list("ab"), protected=None), r"protected of .*got None"),
        (lambda: fa_star_ir_test(*a_list("ab"), protected=None, p=0.5), r"whose share p is"),
        (
            lambda: fa_star_ir_test(*a_list("ab"), protected="a", p=0),
            r"p of FAStarIRTest.*\(0, 1\)",
        ),
        (lambda: fa_star_ir_test(*a_list("ab"), protected="a", p=1), r"p of FAStarIRTest"),
        (lambda: fa_star_ir_test(*a_list("ab"), protected="a", alpha=0), r"alpha of FAStarIRTest"),
        (lambda: fa_star_ir_test(*a_list("ab"), protected="a", alpha=1), r"alpha of FAStarIRTest"),
        (lambda: fa_star_ir_test(*a_list("ab"), protected="a", k=0), r"k of FAStarIRTest"),
        (lambda: fa_star_ir_test(*a_list("aa"), protected="a"), r"'a' and of others.* 2 of 2"),
        (lambda: fa_star_ir_test([1, np.nan], list("ab"), protected="a"), r"y_score.*row 1"),
        (lambda: fa_star_ir_test([1, 2, 3], list("ab"), protected="a"), r"sensitive"),
        (lambda: fa_star_ir_test([], [], protected="a"), r"at least one row"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("metric", [FAStarIRTest(), FAStarIRTest(alpha=0.4, adjusted=False) @ 3])
def test_keeps_its_promises(metric):
    check_metric(metric)


# drawing the list's own items without replacement


def pool_values(member, k):
    """For every prefix, how likely a random order of the list has so few members, exactly."""
    n, size = len(member), sum(member)
    values = []
    for j in range(1, k + 1):
        ways = [comb(size, i) * comb(n - size, j - i) for i in range(sum(member[:j]) + 1)]
        values.append(Fraction(sum(ways), comb(n, j)))
    return values


@pytest.mark.slow
@pytest.mark.parametrize("text", ["mmmffmff", "mmmmffff", "ffmmmm", "mfmfmf", "mmmmmf"])
@pytest.mark.parametrize("k", [None, 4])
def test_the_law_of_a_pool_against_all_orders(text, k):
    n, shown = len(text), k or len(text)
    orders = list({tuple(order) for order in permutations(text)})
    lowest = {order: min(pool_values([g == "f" for g in order], shown)) for order in orders}
    mine = lowest[tuple(text)]
    chance = Fraction(sum(value <= mine for value in lowest.values()), len(orders))
    result = fa_star_ir_test(range(n, 0, -1), list(text), protected="f", k=k, law="pool", alpha=0.2)
    assert result.p_value == pytest.approx(float(chance))
    assert result.passed == (chance > Fraction(1, 5))
    metric = FAStarIRTest(protected="f", law="pool", alpha=0.2, k=k)
    data = as_ranking_data(score=range(n, 0, -1), sensitive_features=list(text))
    assert metric.per_query(data.ranking()).value[0] == result.passed


@pytest.mark.slow
def test_a_given_share_of_a_pool_is_the_nearest_number_of_items():
    scores, groups = a_list("mmmmmmff")
    given = fa_star_ir_test(scores, groups, protected="f", p=0.3, law="pool")
    own = fa_star_ir_test(scores, groups, protected="f", law="pool")
    assert given.minimum.tolist() == own.minimum.tolist()
    other = fa_star_ir_test(scores, groups, protected="f", p=0.2, law="pool")  # 0.2 * 8 = 1.6 -> 2
    assert other.minimum.tolist() == own.minimum.tolist()
    assert other.p_value == own.p_value
    with pytest.raises(DataError, match="law of FAStarIRTest must be one of 'binomial', 'pool'"):
        FAStarIRTest(law="normal")
    check_metric(FAStarIRTest(law="pool"))
