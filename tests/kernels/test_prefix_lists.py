"""Lists under bounds of every prefix against all orders and plain loops."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from rerankers.bounded_twins import best_by_all_orders, discounted, keeps

from equirank.core.inputs import frozen
from equirank.kernels.prefix_clashes import arrange_meeting
from equirank.kernels.prefix_lists import arrange, shares_hold, tables_hold, worst_drops


def run(codes, values, offsets, cuts, least, most, closest=False):
    """Arrange lists, the quick way where it is enough."""
    zeros = np.zeros(len(offsets) - 1, dtype=np.int64)
    offsets = frozen(np.array(offsets))
    given = (offsets, np.diff(offsets), np.array(cuts), least, most, zeros)
    codes, values = codes.astype(np.int32), np.ascontiguousarray(values)
    order, solved = arrange(codes, *given)
    left = np.flatnonzero(solved < 1)
    return order, solved, arrange_meeting(codes, values, *given, left, closest, order, solved)


def one(codes, values, k, least, most, closest=False):
    """Arrange one list."""
    found = run(codes, values, [0, len(codes)], [0, k], least, most, closest)
    return found[0], int(found[1][0]), int(found[2][0])


def case(rng, kind):
    n, n_groups = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    k = int(rng.integers(1, n + 1))
    codes = rng.integers(0, n_groups, n)
    values = rng.normal(size=n) if rng.random() < 0.7 else rng.integers(0, 3, n).astype(float)
    values = np.sort(values)[::-1].copy()
    place = np.arange(1, k + 1)[:, None]
    least = np.zeros((k, n_groups), dtype=np.int64)
    most = np.full((k, n_groups), n, dtype=np.int64)
    if kind in ("floors", "both"):
        least = np.floor(place * rng.random(n_groups) * rng.random()).astype(np.int64)
        if rng.random() < 0.3:
            least = rng.integers(0, 2, (k, n_groups)) * rng.integers(0, 3, (k, n_groups))
    if kind in ("ceilings", "both"):
        most = np.ceil(place * rng.random(n_groups) * 1.3).astype(np.int64)
        if rng.random() < 0.3:
            most = rng.integers(0, 4, (k, n_groups))
    return codes, values, k, least, most


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["floors", "ceilings", "both"])
def test_against_all_orders(kind):
    rng = np.random.default_rng(len(kind))
    met = 0
    for _ in range(150):
        codes, values, k, least, most = case(rng, kind)
        member = codes[:, None] == np.arange(least.shape[1])
        best = best_by_all_orders(values, member, k, least, most)
        order, solved, widened = one(codes, values, k, least, most)
        if best is None:
            assert solved == -1
            order, solved, widened = one(codes, values, k, least, most, closest=True)
            able = np.minimum(least, member.sum(axis=0))
            wide = [(np.maximum(able - w, 0), most + w) for w in range(widened + 1)]
            values_of = [best_by_all_orders(values, member, k, *bounds) for bounds in wide]
            assert values_of[:-1] == [None] * widened  # none of the narrower bounds is enough
            assert discounted(values[order]) == pytest.approx(values_of[-1], abs=1e-9)
            continue
        met += 1
        assert (solved, widened) == (1, -1)
        assert len(set(order.tolist())) == k
        assert keeps(member[order], least, most)
        assert discounted(values[order]) == pytest.approx(best, abs=1e-9)
    assert met > 50


def test_the_greedy_list_is_not_always_the_best_and_is_then_improved():
    # a may come from place 2 on, b must come by place 2: c first would leave a the last place.
    codes, values = np.array([0, 1, 2]), np.array([100.0, 5.0, 1.0])
    most = np.array([[0, 3, 3], [1, 3, 3], [1, 3, 3]])
    least = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1]])
    order, solved, _ = one(codes, values, 3, least, most)
    assert (order.tolist(), solved) == ([2, 0, 1], 1)
    values = np.array([6.0, 5.0, 1.0])  # now a gains less from place 2 than c loses by place 3
    assert one(codes, values, 3, least, most)[0].tolist() == [1, 2, 0]


def test_lists_do_not_touch_each_other():
    rng = np.random.default_rng(4)
    cases = []
    while len(cases) < 30:
        codes, values = rng.integers(0, 3, 12), np.sort(rng.random(12))[::-1]
        cases.append((codes, values))
    place = np.arange(1, 13)[:, None]
    least = np.floor(place * np.array([0.2, 0.1, 0.1])).astype(np.int64)
    most = np.ceil(place * np.array([0.9, 0.9, 0.7])).astype(np.int64)
    many = len(cases)
    offsets, cuts = np.arange(many + 1) * 12, np.arange(many + 1) * 7
    everybody = np.concatenate([c for c, _ in cases])
    worth = np.concatenate([v for _, v in cases])
    order, solved, _ = run(everybody, worth, offsets, cuts, least, most)
    for q, (codes, values) in enumerate(cases):
        alone, state, _ = one(codes, values, 7, least, most)
        assert solved[q] == state
        if state == 1:
            assert (order[q * 7 : q * 7 + 7] - q * 12).tolist() == alone.tolist()
    assert (solved == 1).sum() > 10


def test_the_quick_way_knows_what_it_cannot_do():
    codes = np.array([0, 1, 2], dtype=np.int32)
    most = np.array([[0, 3, 3], [1, 3, 3], [1, 3, 3]])
    least = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1]])
    given = (frozen(np.array([0, 3])), np.array([3]), np.array([0, 3]))
    start = np.zeros(1, dtype=np.int64)
    for floors, ceilings, state in (
        (least, most, 0),
        (least, most + 3, 1),
        (0 * least, most, 1),
        (0 * least, 0 * most, -1),
        (least + 1, most + 3, -1),
    ):
        assert arrange(codes, *given, floors, ceilings, start)[1].tolist() == [state]


def test_a_long_list_of_many_groups_ends():
    rng = np.random.default_rng(5)
    codes, values = rng.integers(0, 8, 3000), np.sort(rng.random(3000))[::-1]
    place = np.arange(1, 1001)[:, None]
    least = np.floor(place * np.full(8, 0.11)).astype(np.int64)
    most = np.ceil(place * np.full(8, 0.14)).astype(np.int64)
    order, solved, _ = one(codes, values, 1000, least, most)
    assert solved == 1
    assert keeps(codes[order][:, None] == np.arange(8), least, most)


def lists(seed, n_groups=3):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 9, size=6)
    offsets = frozen(np.concatenate([[0], np.cumsum(sizes)]))
    return rng, offsets, rng.integers(0, n_groups, size=offsets[-1]).astype(np.int32)


@pytest.mark.parametrize("seed", range(20))
def test_tables(seed):
    rng, offsets, codes = lists(seed)
    lengths = rng.integers(0, 9, size=6)
    start = rng.integers(0, 4, size=6)
    rows = int((start + lengths).max())
    lower = np.sort(rng.integers(0, 2, size=(rows, 3)), axis=0)
    upper = np.sort(rng.integers(2, 6, size=(rows, 3)), axis=0)
    none = np.zeros((0, 0), dtype=lower.dtype)
    expected = {"lower": [], "upper": [], "both": []}
    for q in range(6):
        row = codes[offsets[q] : offsets[q + 1]]
        low = high = True
        for j in range(1, min(len(row), lengths[q]) + 1):
            counts = np.bincount(row[:j], minlength=3)
            low &= bool((counts >= lower[start[q] + j - 1]).all())
            high &= bool((counts <= upper[start[q] + j - 1]).all())
        expected["lower"].append(low)
        expected["upper"].append(high)
        expected["both"].append(low and high)
    assert tables_hold(codes, offsets, lower, none, start, lengths).tolist() == expected["lower"]
    assert tables_hold(codes, offsets, none, upper, start, lengths).tolist() == expected["upper"]
    assert tables_hold(codes, offsets, lower, upper, start, lengths).tolist() == expected["both"]


@pytest.mark.parametrize("seed", range(20))
def test_shares(seed):
    rng, offsets, codes = lists(seed)
    parts = rng.integers(0, 4, size=(6, 3)) + np.array([1, 0, 0])
    shares = parts / parts.sum(axis=1, keepdims=True)
    expected = []
    for q in range(6):
        row, good = codes[offsets[q] : offsets[q + 1]], True
        for j in range(1, len(row) + 1):
            for g in range(3):
                exact = Fraction(int(parts[q, g]), int(parts[q].sum()))
                good &= int((row[:j] == g).sum()) >= floor(j * exact)
        expected.append(good)
    assert shares_hold(codes, offsets, shares).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_drops(seed):
    rng, offsets, codes = lists(seed)
    values = rng.normal(size=len(codes))
    shown = np.array([rng.integers(0, n + 1) for n in np.diff(offsets)])
    expected = np.zeros(6)
    for q in range(6):
        row = values[offsets[q] : offsets[q + 1]]
        pairs = [row[j] - row[i] for i in range(shown[q]) for j in range(i + 1, len(row))]
        expected[q] = max([0.0, *pairs])
    assert worst_drops(values, offsets, shown).tolist() == pytest.approx(expected.tolist())
