"""Kernels of sorting by comparisons, against plain loops."""

from itertools import combinations

import numpy as np

from equirank.kernels.comparison_sort import (
    add_wins,
    draw_keys,
    drawn_before,
    finish_parts,
    later_pairs,
    row_marks,
    row_priorities,
    split_parts,
)

KEYS = np.array([5, 2**63 + 7], dtype=np.uint64)


def test_marks_depend_on_every_word_and_its_place():
    bits = np.random.default_rng(0).integers(0, 2**63, (50, 3)).astype(np.uint64)
    marks = row_marks(bits)
    assert len(set(marks.tolist())) == 50
    np.testing.assert_array_equal(row_marks(bits[::-1].copy()), marks[::-1])
    assert not (row_marks(bits[:, ::-1].copy()) == marks).any()
    changed = bits.copy()
    changed[:, 2] += np.uint64(1)
    assert not (row_marks(changed) == marks).any()


def test_priorities_are_uniform_and_belong_to_their_list():
    draws = row_priorities(KEYS, np.array([0, 3, 4000]))
    assert ((draws >= 0) & (draws < 1)).all()
    assert abs(draws.mean() - 0.5) < 0.03
    np.testing.assert_array_equal(row_priorities(KEYS[1:], np.array([0, 3997])), draws[3:])


def test_keys_of_draws():
    keys = draw_keys(KEYS, np.array([0, 1, 2], dtype=np.uint64))
    assert len(set(keys.tolist())) == 6
    np.testing.assert_array_equal(draw_keys(KEYS, np.array([1], dtype=np.uint64)), keys[2:4])


def decide(chance, deterministic, n=4000):
    first, second = np.arange(1, n + 1), np.zeros(n, dtype=np.int64)
    lists, begins = np.zeros(n, dtype=np.int64), np.array([0, n + 1])
    return drawn_before(
        KEYS, begins, lists, first, second, np.full(n, chance), deterministic
    ).mean()


def test_coins_fall_as_often_as_they_should():
    assert abs(decide(0.3, False) - 0.3) < 0.03
    assert decide(0.0, False) == 0.0
    assert decide(1.0, False) == 1.0
    assert decide(0.3, True) == 0.0
    assert decide(0.51, True) == 1.0
    assert abs(decide(0.5, True) - 0.5) < 0.03


def test_a_row_has_a_coin_of_its_own_for_each_pivot_and_list():
    n = 4000
    row, many, none = np.full(n, 7), np.arange(10, n + 10), np.zeros(n, dtype=np.int64)
    begins, chance = np.array([0, 2 * n]), np.full(n, 0.3)
    first = drawn_before(KEYS, begins, none, row, many, chance, False)
    second = drawn_before(KEYS, begins, none, many, row, chance, False)
    third = drawn_before(KEYS, begins, none + 1, row + 2 * n, many + 2 * n, chance, False)
    for coins in (first, second, third):
        assert abs(coins.mean() - 0.3) < 0.03
    for coins in (second, third):
        assert abs((first & coins).mean() - 0.09) < 0.02


def test_parts_are_split_as_a_list_would_be():
    rng = np.random.default_rng(1)
    for _ in range(30):
        order = rng.permutation(20)
        begins, ends = np.array([0, 6, 9]), np.array([6, 8, 20])
        before = rng.random(int((ends - begins - 1).sum())) < 0.5
        wanted, at, cuts = order.tolist(), 0, []
        for begin, end in zip(begins, ends, strict=True):
            pivot, *others = wanted[begin:end]
            mine = before[at : at + len(others)]
            at += len(others)
            left = [row for row, goes in zip(others, mine, strict=True) if goes]
            right = [row for row, goes in zip(others, mine, strict=True) if not goes]
            wanted[begin:end] = [*left, pivot, *right]
            cuts.append(begin + len(left))
        found = split_parts(order, begins, ends, before)
        assert order.tolist() == wanted
        assert found.tolist() == cuts


def test_small_parts_are_sorted_as_quicksort_would():
    rng = np.random.default_rng(2)
    for _ in range(50):
        order = rng.permutation(15)
        begins, ends = np.array([0, 5, 9]), np.array([5, 6, 15])
        before, wanted, decided = {}, order.tolist(), []
        for begin, end in zip(begins, ends, strict=True):
            part = wanted[begin:end]
            for a, b in combinations(part, 2):
                before[b, a] = bool(rng.random() < 0.5)
                decided.append(before[b, a])

            def quicksort(rows, before=before):
                if len(rows) < 2:
                    return rows
                pivot, *others = rows
                left = [row for row in others if before[row, pivot]]
                right = [row for row in others if not before[row, pivot]]
                return [*quicksort(left), pivot, *quicksort(right)]

            wanted[begin:end] = quicksort(part)
        finish_parts(order, begins, ends, np.array(decided))
        assert order.tolist() == wanted


def test_later_pairs_are_all_pairs_once():
    offsets = np.array([0, 4, 5, 5, 8])
    wanted = [*combinations(range(4), 2), *combinations(range(5, 8), 2)]
    for size in (1, 2, 5, 100):
        blocks = list(later_pairs(offsets, size))
        assert all(len(a) <= size for a, _ in blocks)
        found = [(int(a), int(b)) for x, y in blocks for a, b in zip(x, y, strict=True)]
        assert found == wanted


def test_wins_are_shared_out():
    wins = np.zeros(3)
    add_wins(wins, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0.75, 1.0, 0.5]))
    assert wins.tolist() == [1.75, 0.75, 0.5]
