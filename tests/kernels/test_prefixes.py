"""Counts and shares in prefixes against slow versions, and intervals of rates."""

from itertools import permutations
from math import log, log2, sqrt

import numpy as np
import pytest

from equirank.kernels.prefixes import (
    cut_points,
    cut_weights,
    discounted_divergence,
    exact_maximum,
    expected_counts,
    jensen_shannon,
    kl_divergence,
    least_counts,
    log_shares,
    prefix_places,
    ratio_distance,
    ratio_interval,
    share_distance,
    sorted_lists_maximum,
    two_group_divergence,
    wilson_interval,
)

from ..metrics import twins

DISTANCES = {"rnd": share_distance, "rkl": two_group_divergence, "rrd": ratio_distance}


@pytest.mark.parametrize("step", [1, 2, 3, 10])
def test_cut_points(step):
    limits = [0, 1, 2, 3, 9, 10, 11, 20, 0]
    query, cut, offsets = cut_points(np.array(limits), step)
    wanted = [twins.cut_points(limit, step) for limit in limits]
    assert np.diff(offsets).tolist() == [len(cuts) for cuts in wanted]
    assert cut.tolist() == [cut for cuts in wanted for cut in cuts]
    assert query.tolist() == [q for q, cuts in enumerate(wanted) for _ in cuts]


def test_cut_weights():
    assert cut_weights(np.array([2, 8]), "paper").tolist() == pytest.approx([1, 1 / 3])
    assert cut_weights(np.array([3, 7]), "code").tolist() == pytest.approx([1 / 2, 1 / 3])


def test_expected_counts():
    # blocks: one member; then three items with two members
    member = np.array([True, True, False, True])
    begin, end = np.array([0, 1, 1, 1]), np.array([1, 4, 4, 4])
    slot = np.arange(4)
    got = expected_counts(member, slot, np.zeros(4, int), begin, end)
    assert got.tolist() == pytest.approx([1, 1 + 2 / 3, 1 + 4 / 3, 3])


def test_expected_counts_begin_anew_in_each_query():
    member, slot = np.array([True, True, True]), np.arange(3)
    for blocks in ((slot, slot + 1), ()):
        got = expected_counts(member, slot, np.array([0, 1, 1]), *blocks)
        assert got.tolist() == [1, 1, 2]


@pytest.mark.parametrize("kind", sorted(DISTANCES))
def test_distances(kind):
    for n in range(2, 9):
        for size in range(1, n):
            for cut in range(2, n + 1):
                low, high = max(0, cut - (n - size)), min(cut, size)
                count = np.unique(np.concatenate([np.arange(low, high + 1), [(low + high) / 2]]))
                ones = np.ones(len(count))
                got = DISTANCES[kind](count, cut * ones, n * ones, size * ones)
                wanted = [twins.prefix_term(kind, c, cut, size, n) for c in count.tolist()]
                np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_divergence_of_several_groups():
    counts = np.array([[1.0, 2.0, 0.0]])
    got = kl_divergence(counts, np.array([3]), np.array([6]), np.array([[3, 2, 1]]))
    wanted = 1 / 3 * log2((1 / 3) / (3 / 6)) + 2 / 3 * log2((2 / 3) / (2 / 6))
    assert got.tolist() == pytest.approx([wanted])


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(DISTANCES))
@pytest.mark.parametrize("discount", ["paper", "code"])
def test_exact_maximum_against_all_lists(kind, discount):
    for n in (2, 5, 8, 10):
        for size in range(1, n):
            for step in (1, 2, 3, 5):
                for limit in {2, n // 2 + 1, n - 1, n}:
                    got = exact_maximum(n, size, limit, step, discount, DISTANCES[kind])
                    wanted = twins.normalizer_value(kind, "exact", n, size, limit, step, discount)
                    assert got == pytest.approx(wanted, abs=1e-12), (n, size, step, limit)


@pytest.mark.parametrize("size", [3, 6, 8])
@pytest.mark.parametrize("step", [1, 4])
def test_exact_maximum_against_all_lists_of_twelve(size, step):
    got = exact_maximum(12, size, 12, step, "paper", ratio_distance)
    wanted = twins.normalizer_value("rrd", "exact", 12, size, 12, step, "paper")
    assert got == pytest.approx(wanted)


def slow_maximum(kind, n, size, limit, step):
    """Go over the counts at the cut points one by one."""
    best, at = {0: 0.0}, 0
    for cut in twins.cut_points(limit, step):
        reached = {}
        for count, total in best.items():
            for more in range(min(cut - at, size - count) + 1):
                now = count + more
                if cut - now <= n - size:
                    value = total + twins.cut_weight(cut, "paper") * twins.prefix_term(
                        kind, now, cut, size, n
                    )
                    reached[now] = max(reached.get(now, 0.0), value)
        best, at = reached, cut
    return max(best.values())


@pytest.mark.parametrize("kind", sorted(DISTANCES))
@pytest.mark.parametrize(
    ("n", "size", "limit", "step"), [(60, 17, 60, 7), (90, 60, 71, 1), (40, 3, 40, 10)]
)
def test_exact_maximum_of_longer_lists(kind, n, size, limit, step):
    got = exact_maximum(n, size, limit, step, "paper", DISTANCES[kind])
    assert got == pytest.approx(slow_maximum(kind, n, size, limit, step))


@pytest.mark.parametrize("kind", ["rnd", "rkl"])
def test_sorted_lists_are_the_worst_for_shares_and_divergence(kind):
    for n, size, step in [(40, 13, 1), (40, 30, 3), (37, 5, 10), (33, 16, 4)]:
        for limit in (n, 2 * n // 3):
            exact = exact_maximum(n, size, limit, step, "paper", DISTANCES[kind])
            extreme = twins.normalizer_value(kind, "extremes", n, size, limit, step, "paper")
            assert exact == pytest.approx(extreme)


@pytest.mark.parametrize("n_groups", [2, 3, 4])
def test_sorted_lists_maximum(n_groups):
    rng = np.random.default_rng(n_groups)
    sizes = rng.integers(0, 5, size=(30, n_groups))
    sizes[-1] = 0  # nobody, at the end
    limits = np.minimum(sizes.sum(axis=1), rng.integers(1, 14, size=30))
    query, cut, offsets = cut_points(limits, 2)
    weight = cut_weights(cut, "code")
    n_at, sizes_at = sizes.sum(axis=1)[query], sizes[query]

    def distance(counts):
        return kl_divergence(counts, cut, n_at, sizes_at)

    got = sorted_lists_maximum(sizes, query, cut, offsets, weight, distance)
    wanted = np.zeros(30)
    for order in permutations(range(n_groups)):
        counts, room = np.zeros((len(cut), n_groups)), cut.astype(float)
        for group in order:
            counts[:, group] = np.minimum(room, sizes_at[:, group])
            room = room - counts[:, group]
        terms = weight * distance(counts)
        wanted = np.maximum(wanted, [terms[query == q].sum() for q in range(30)])
    np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_prefixes_of_every_query():
    query, place, offsets = prefix_places(np.array([2, 0, 3]))
    assert query.tolist() == [0, 0, 2, 2, 2]
    assert place.tolist() == [1, 2, 1, 2, 3]
    assert offsets.tolist() == [0, 2, 2, 5]
    assert all(part.size == 0 for part in prefix_places(np.array([0, 0]))[:2])


def test_least_counts_put_tied_members_last():
    # blocks 0:1, 1:4, 4:5 of one query and 5:7 of another
    member = np.array([0, 1, 1, 0, 1, 1, 0], dtype=bool)
    begin = np.array([0, 1, 1, 1, 4, 5, 5])
    end = np.array([1, 4, 4, 4, 5, 7, 7])
    slot, first = np.arange(7), np.array([0, 0, 0, 0, 0, 5, 5])
    assert least_counts(member, slot, first, begin, end).tolist() == [0, 0, 1, 2, 3, 0, 1]
    assert least_counts(member, slot, first).tolist() == [0, 1, 2, 2, 3, 1, 1]


def test_divergence_is_added_up_per_query():
    share, weight = np.array([1.0, 0.5, 0.0, 0.25]), np.array([1.0, 0.5, 2.0, 3.0])
    got = discounted_divergence(
        share, np.log(np.maximum(share, 1e-300)), weight, np.array([0.5, 0.1]), np.array([0, 2, 4])
    )
    wanted = [log(1 / 0.5) + 0.5 * 0.5 * log(0.5 / 0.5), 3 * 0.25 * log(0.25 / 0.1)]
    assert got == pytest.approx(wanted)


def test_divergence_from_a_target_of_zero():
    offsets, target = np.array([0, 1, 2]), np.zeros(2)
    got = discounted_divergence(
        np.array([0.0, 0.5]), np.array([0.0, np.log(0.5)]), np.ones(2), target, offsets
    )
    assert got.tolist() == [0.0, np.inf]


def test_jensen_shannon_in_bits():
    share, target = np.array([[1.0, 0.0], [0.5, 0.5], [0.75, 0.25]]), np.array([[0.0, 1.0]] * 3)
    got = jensen_shannon(share, target)
    middle = -(0.25 * log2(0.25) + 0.75 * log2(0.75))
    assert got[:2] == pytest.approx([1.0, middle - 0.5])
    rng = np.random.default_rng(1)
    from scipy.spatial.distance import jensenshannon

    for _ in range(50):
        a, b = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
        assert jensen_shannon(a, b) == pytest.approx(jensenshannon(a, b, base=2) ** 2)
        assert jensen_shannon(a, a) == 0


@pytest.mark.parametrize(("hits", "n"), [(3, 10), (1, 2), (50, 60), (0, 7), (7, 7)])
def test_wilson_interval_solves_its_equation(hits, n):
    z = 1.96
    low, high = wilson_interval(np.array([hits]), np.array([n]), z)
    for end in (low[0], high[0]):
        # the ends are the rates from which the rate seen lies z standard errors away
        if 0 < end < 1:
            assert abs(hits / n - end) == pytest.approx(z * sqrt(end * (1 - end) / n))
    assert low[0] <= hits / n <= high[0]
    assert (low[0] == 0) == (hits == 0)
    assert (high[0] == 1) == (hits == n)


def test_rates_of_none_and_of_all_end_exactly():
    n = np.arange(1.0, 300.0)
    assert (wilson_interval(np.zeros(299), n, 1.96)[0] == 0).all()
    assert (wilson_interval(n, n, 1.96)[1] == 1).all()


def test_wilson_interval_of_nobody():
    assert np.isnan(wilson_interval(np.array([0.0]), np.array([0.0]), 1.96)).all()


def interval(*counts, z=2.0, terms=None):
    parts = tuple(np.array([value], dtype=float) for value in counts)
    return ratio_interval(parts, z, terms)


def test_ratio_intervals_of_any_shape_are_those_one_by_one():
    a, n1 = (
        np.array([[4.0, 0.0, 6.0], [8.0, 8.0, 1.0]]),
        np.array([[10.0, 9.0, 6.0], [8.0, 8.0, 1.0]]),
    )
    b, n2 = np.array([[6.0], [5.0]]), np.array([[8.0], [10.0]])
    low, high = ratio_interval(tuple(part[..., None] for part in (a, n1, b, n2)), 2.0)
    assert low.shape == high.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        ends = interval([a[i, j]], [n1[i, j]], [b[i, 0]], [n2[i, 0]])
        assert (low[i, j], high[i, j]) == (ends[0][0], ends[1][0])
        assert low[i, j] <= a[i, j] / n1[i, j] / (b[i, 0] / n2[i, 0]) < high[i, j]


def test_an_interval_from_totals_is_that_of_one_list_and_near_that_of_alike_lists():
    one = [[12.0], [40.0], [30.0], [60.0]]
    x, y, variance = 12 * 60 / 100, 30 * 40 / 100, 40 * 60 * 42 * 58 / (100**2 * 99)
    assert np.allclose(interval(*one, terms=(x, y, variance)), interval(*one), rtol=1e-12)
    rng = np.random.default_rng(0)
    n1, n2 = np.full(300, 4.0), np.full(300, 12.0)
    a, b = rng.binomial(4, 0.2, 300).astype(float), rng.binomial(12, 0.3, 300).astype(float)
    n, m = n1 + n2, a + b
    variance = (n1 * n2 * m * (n - m) / (n**2 * (n - 1))).sum()
    totals = [[part.sum()] for part in (a, n1, b, n2)]
    found = interval(*totals, terms=((a * n2 / n).sum(), (b * n1 / n).sum(), variance))
    assert np.allclose(found, interval(a, n1, b, n2), rtol=0.01)


@pytest.mark.parametrize("numbers", [(0, 0, 3, 5), (0, 4, 0, 0)])
def test_a_ratio_without_people_has_no_interval(numbers):
    assert np.isnan(interval(*([value] for value in numbers))).all()


def test_whole_counts_look_their_logarithms_up():
    count, place = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1, 2, 3, 7])
    looked_up = log_shares(count, place, whole=True)
    computed = log_shares(count, place, whole=False)
    assert np.allclose(looked_up[1:], computed[1:])
    assert np.isfinite(looked_up).all()
