from math import exp, log, log2, sqrt

import numpy as np
import pytest

from equirank.kernels.prefixes import (
    discounted_divergence,
    jensen_shannon,
    least_counts,
    log_ratio_interval,
    log_shares,
    prefix_places,
    wilson_interval,
)


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


def test_log_ratio_interval():
    one = [np.array([value]) for value in (4.0, 10.0, 6.0, 8.0)]
    low, high = log_ratio_interval(*one, 2.0)
    error = sqrt(1 / 4 - 1 / 10 + 1 / 6 - 1 / 8)
    assert low[0] == pytest.approx((4 / 10) / (6 / 8) * exp(-2 * error))
    assert high[0] == pytest.approx((4 / 10) / (6 / 8) * exp(2 * error))


@pytest.mark.parametrize("numbers", [(0, 0, 3, 5), (2, 4, 0, 5), (0, 4, 0, 0)])
def test_log_ratio_interval_where_there_is_none(numbers):
    ends = log_ratio_interval(*(np.array([float(value)]) for value in numbers), 2.0)
    assert np.isnan(ends).all()


def test_whole_counts_look_their_logarithms_up():
    count, place = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1, 2, 3, 7])
    looked_up = log_shares(count, place, whole=True)
    computed = log_shares(count, place, whole=False)
    assert np.allclose(looked_up[1:], computed[1:])
    assert np.isfinite(looked_up).all()
