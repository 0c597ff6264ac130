"""The tables of FA*IR as users call them."""

import pickle
from copy import copy, deepcopy
from fractions import Fraction

import numpy as np
import pytest

from equirank import DataError
from equirank.rerankers import fa_star_ir_table
from equirank.rerankers.fa_star_ir_tables import CorrectedAlpha


def test_the_worked_case():
    plain = fa_star_ir_table(20, 0.25, 0.1, adjusted=False)
    assert plain.tolist() == [0] * 8 + [1] * 6 + [2] * 5 + [3]
    assert plain.fail_probability == pytest.approx(0.146887, abs=5e-7)
    adjusted = fa_star_ir_table(20, 0.25, 0.1)
    assert adjusted.tolist() == [0] * 9 + [1] * 6 + [2] * 5
    assert adjusted.dtype.kind == "i"
    assert adjusted.fail_probability == pytest.approx(0.089722, abs=5e-7)


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


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 5, 10, 25, 40])
def test_the_level_is_kept_and_the_next_table_breaks_it(k):
    for p in (Fraction(1, 10), Fraction(1, 4), Fraction(2, 5), Fraction(1, 2), Fraction(4, 5)):
        for alpha in (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(3, 10)):
            table = fa_star_ir_table(k, float(p), float(alpha))
            level = table.alpha
            assert table.fail_probability == pytest.approx(float(exact_fail(table.tolist(), p)))
            assert exact_fail(table.tolist(), p) <= alpha
            assert 0 <= level.low <= level < level.high
            if level > 0:
                same = fa_star_ir_table(k, float(p), float(level), adjusted=False)
                assert same.tolist() == table.tolist()
            if level.high <= float(alpha):
                following = fa_star_ir_table(k, float(p), level.high, adjusted=False)
                assert exact_fail(following.tolist(), p) > alpha


def test_the_level_unpacks_into_its_interval():
    level = fa_star_ir_table(20, 0.25, 0.1).alpha
    low, high = level
    assert isinstance(level, float)
    assert isinstance(level, CorrectedAlpha)
    assert (low, high) == (level.low, level.high)
    assert low <= level < high <= 0.1
    assert fa_star_ir_table(1, 0.25, 0.1).alpha == 0.1  # one prefix needs no correction
    assert fa_star_ir_table(20, 0.25, 0.1, adjusted=False).alpha == 0.1


def test_the_caller_may_write_into_a_table():
    table = fa_star_ir_table(10, 0.5, 0.1)
    table[:] = 0
    assert fa_star_ir_table(10, 0.5, 0.1).sum() > 0
    assert table.fail_probability == 0.0
    table[1] = 1
    assert table.fail_probability == 0.25  # only the list that begins with two others


def test_a_table_is_an_array_and_arithmetic_gives_plain_arrays():
    table = fa_star_ir_table(10, 0.5, 0.1)
    assert isinstance(table, np.ndarray)
    for result in (table[:5], table + 1, table >= 2, np.maximum(table, 1)):
        assert type(result) is np.ndarray
    assert isinstance(table[3], np.integer)
    assert repr(table) == repr(np.asarray(table))


@pytest.mark.parametrize(
    "copied", [copy, deepcopy, np.copy, lambda table: pickle.loads(pickle.dumps(table))]
)
def test_copies_are_equal(copied):
    table = fa_star_ir_table(10, 0.5, 0.1, pool=20)
    again = copied(table)
    assert np.array_equal(again, table)
    if copied is not np.copy:
        assert again.alpha == table.alpha
        assert tuple(again.alpha) == tuple(table.alpha)
        assert again.fail_probability == table.fail_probability


def test_pools():
    table = fa_star_ir_table(10, 0.5, 0.1, pool=10)
    assert table[-1] == 5
    assert table.fail_probability <= 0.1
    assert fa_star_ir_table(10, 0.4, 0.1, pool=10**7).tolist() == (
        fa_star_ir_table(10, 0.4, 0.1).tolist()
    )
    assert table.alpha <= 0.1


def test_a_share_of_a_pool_is_the_nearest_number_of_items():
    """0.35 * 8 = 2.8 -> 3 items, 0.4 * 8 = 3.2 -> 3 items."""
    own = fa_star_ir_table(8, 3 / 8, 0.1, pool=8)
    for share in (0.35, 0.4):
        table = fa_star_ir_table(8, share, 0.1, pool=8)
        assert table[-1] == 3
        assert table.tolist() == own.tolist()
        assert table.fail_probability == own.fail_probability


def test_several_groups(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIRANK_CACHE", str(tmp_path))
    shares = {"a": 0.2, "b": 0.3}
    table = fa_star_ir_table(12, shares, 0.1)
    assert table.shape == (12, 13)
    assert table.fail_probability <= 0.1
    assert fa_star_ir_table(12, [0.2, 0.3], 0.1).fail_probability == table.fail_probability
    plain = fa_star_ir_table(12, (0.2, 0.3), 0.1, adjusted=False)
    assert plain.fail_probability > 0.1
    assert (plain >= table).all()
    drawn = fa_star_ir_table(12, shares, 0.1, pool=20)
    assert drawn.fail_probability <= 0.1
    low, high = table.alpha
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


def test_bad_pools():
    with pytest.raises(DataError, match=r"pool of fa_star_ir_table must be at least k \(5\)"):
        fa_star_ir_table(5, 0.5, 0.1, pool=4)
