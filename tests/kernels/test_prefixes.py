from itertools import permutations
from math import log2

import numpy as np
import pytest

from equirank.kernels.prefixes import (
    cut_points,
    cut_weights,
    exact_maximum,
    expected_counts,
    kl_divergence,
    ratio_distance,
    share_distance,
    sorted_lists_maximum,
    two_group_divergence,
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
