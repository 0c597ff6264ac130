"""The tables of FA*IR as users call them."""

from fractions import Fraction

import numpy as np
import pytest

from equirank import DataError
from equirank.rerankers import fa_star_ir_alpha, fa_star_ir_fail_probability, fa_star_ir_table
from equirank.rerankers.fa_star_ir_table import CorrectedAlpha


def test_the_worked_case():
    plain = fa_star_ir_table(20, 0.25, 0.1, adjusted=False)
    assert plain.tolist() == [0] * 8 + [1] * 6 + [2] * 5 + [3]
    assert fa_star_ir_fail_probability(plain, 0.25) == pytest.approx(0.146887, abs=5e-7)
    adjusted = fa_star_ir_table(20, 0.25, 0.1)
    assert adjusted.tolist() == [0] * 9 + [1] * 6 + [2] * 5
    assert adjusted.dtype.kind == "i"
    assert fa_star_ir_fail_probability(adjusted, 0.25) == pytest.approx(0.089722, abs=5e-7)


def exact_fail(counts, p):
    alive, failed = {0: Fraction(1)}, Fraction(0)
    for needed in counts:
        after = {}
        for count, chance in alive.items():
            after[count] = after.get(count, 0) + chance * (1 - p)
            after[count + 1] = after.get(count + 1, 0) + chance * p
        failed += sum(chance for count, chance in after.items() if count < needed)
        alive = {count: chance for count, chance in after.items() if count >= needed}
    return failed


@pytest.mark.parametrize("k", [1, 2, 5, 10, 25, 40])
def test_the_level_is_kept_and_the_next_table_breaks_it(k):
    for p in (Fraction(1, 10), Fraction(1, 4), Fraction(2, 5), Fraction(1, 2), Fraction(4, 5)):
        for alpha in (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(3, 10)):
            args = k, float(p), float(alpha)
            table, level = fa_star_ir_table(*args), fa_star_ir_alpha(*args)
            assert exact_fail(table.tolist(), p) <= alpha
            assert 0 <= level.low <= level < level.high
            if level > 0:
                same = fa_star_ir_table(k, float(p), float(level), adjusted=False)
                assert same.tolist() == table.tolist()
            if level.high <= float(alpha):
                following = fa_star_ir_table(k, float(p), level.high, adjusted=False)
                assert exact_fail(following.tolist(), p) > alpha


def test_the_level_unpacks_into_its_interval():
    level = fa_star_ir_alpha(20, 0.25, 0.1)
    low, high = level
    assert isinstance(level, float)
    assert isinstance(level, CorrectedAlpha)
    assert (low, high) == (level.low, level.high)
    assert low <= level < high <= 0.1
    assert fa_star_ir_alpha(1, 0.25, 0.1) == 0.1  # one prefix needs no correction


def test_the_caller_may_write_into_a_table():
    table = fa_star_ir_table(10, 0.5, 0.1)
    table[:] = 0
    assert fa_star_ir_table(10, 0.5, 0.1).sum() > 0


def test_pools():
    table = fa_star_ir_table(10, 0.5, 0.1, pool=10)
    assert table[-1] == 5
    assert fa_star_ir_fail_probability(table, 0.5, pool=10) <= 0.1
    assert fa_star_ir_table(10, 0.4, 0.1, pool=10**7).tolist() == (
        fa_star_ir_table(10, 0.4, 0.1).tolist()
    )
    assert fa_star_ir_alpha(10, 0.5, 0.1, pool=10) <= 0.1


def test_several_groups(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIRANK_CACHE", str(tmp_path))
    shares = {"a": 0.2, "b": 0.3}
    table = fa_star_ir_table(12, shares, 0.1)
    assert table.shape == (12, 13)
    assert fa_star_ir_fail_probability(table, shares) <= 0.1
    assert fa_star_ir_fail_probability(table, [0.2, 0.3]) <= 0.1
    plain = fa_star_ir_table(12, (0.2, 0.3), 0.1, adjusted=False)
    assert fa_star_ir_fail_probability(plain, shares) > 0.1
    assert (plain >= table).all()
    drawn = fa_star_ir_table(12, shares, 0.1, pool=20)
    assert fa_star_ir_fail_probability(drawn, shares, pool=20) <= 0.1
    low, high = fa_star_ir_alpha(12, shares, 0.1)
    assert 0 < low < high < 0.1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((0, 0.5, 0.1), "k of fa_star_ir_table must be an integer >= 1"),
        ((5, 0.0, 0.1), r"p of fa_star_ir_table must be a number in \(0, 1\), got 0.0"),
        ((5, 1, 0.1), "p of fa_star_ir_table"),
        ((5, 0.5, 0), "alpha of fa_star_ir_table"),
        ((5, 0.5, 1.0), "alpha of fa_star_ir_table"),
        ((5, 0.5, np.nan), "alpha of fa_star_ir_table"),
        ((5, [0.5, 0.5], 0.1), "sum to less than 1"),
        ((5, [0.5, 0], 0.1), "p of fa_star_ir_table must be a number"),
        ((5, 0.5, 0.1, "yes"), "adjusted of fa_star_ir_table must be True or False"),
    ],
)
def test_bad_arguments(args, message):
    with pytest.raises(DataError, match=message):
        fa_star_ir_table(*args)


def test_bad_pools_and_tables():
    with pytest.raises(DataError, match=r"pool of fa_star_ir_alpha must be at least k \(5\)"):
        fa_star_ir_alpha(5, 0.5, 0.1, pool=4)
    with pytest.raises(DataError, match="whole numbers >= 0"):
        fa_star_ir_fail_probability([0, -1], 0.5)
    with pytest.raises(DataError, match="whole numbers >= 0"):
        fa_star_ir_fail_probability([0, 0.5], 0.5)
    with pytest.raises(DataError, match="must have 2 dimension"):
        fa_star_ir_fail_probability([0, 1], [0.2, 0.3])
    with pytest.raises(DataError, match="table must have 1 dimension"):
        fa_star_ir_fail_probability([], 0.5)
