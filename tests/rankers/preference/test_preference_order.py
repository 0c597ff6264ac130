"""Ordering with a preference function: exact where it is transitive, counted, and by chance."""

import numpy as np
import pytest

from equirank.core.errors import DataError
from equirank.rankers import order_by_preference
from equirank.rankers.preference import preference_order as ordering
from equirank.theory import order_probabilities


class Counter:
    """A transitive preference function that counts."""

    def __init__(self, values):
        self.values, self.calls, self.pairs = values, 0, set()

    def __call__(self, u, v):
        self.calls += 1
        new = {frozenset(pair) for pair in zip(u.tolist(), v.tolist(), strict=True)}
        assert len(new) == len(u)
        assert not new & self.pairs
        self.pairs |= new
        return self.values[u] > self.values[v]


def random_preference(rng, n):
    h = np.triu(rng.random((n, n)), 1)
    return h + np.tril(1.0 - h.T, -1)


@pytest.mark.parametrize("pivoting", ["probabilistic", "deterministic"])
@pytest.mark.parametrize("order", ["quicksort", "degree"])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 200])
def test_transitive_preferences_are_sorted_exactly(n, order, pivoting):
    values = np.random.default_rng(n).normal(size=n)
    found = order_by_preference(
        lambda u, v: values[u] > values[v], n, order=order, pivoting=pivoting, random_state=0
    )
    np.testing.assert_array_equal(found.order, np.argsort(-values))
    np.testing.assert_array_equal(found.scores, values.argsort().argsort())


@pytest.mark.gate
def test_no_pair_is_asked_for_twice_and_all_is_counted():
    ask = Counter(np.random.default_rng(0).normal(size=300))
    found = order_by_preference(ask, 300, consistent=True, random_state=1)
    assert (found.n_compared, found.n_calls) == (len(ask.pairs), ask.calls)
    ask = Counter(ask.values)
    found = order_by_preference(ask, 300, consistent=True, order="degree", batch_size=10_000)
    assert (found.n_compared, found.n_calls) == (300 * 299 // 2, 5)
    assert (len(ask.pairs), ask.calls) == (300 * 299 // 2, 5)


def expected_pairs(most, small=8):
    """Expected pairs of lists of each length: all of a small one, else those with the pivot."""
    expected = [n * (n - 1) / 2 for n in range(small + 1)]
    for n in range(small + 1, most + 1):
        expected.append(n - 1 + 2 * sum(expected[:n]) / n)
    return np.array(expected)


def test_expected_pairs_are_below_the_bound():
    n = np.arange(2, 1500)
    harmonic = np.cumsum(1.0 / np.arange(1, 1500))[n - 1]
    np.testing.assert_allclose(expected_pairs(1499, 1)[2:], 2 * (n + 1) * harmonic - 4 * n)
    assert (expected_pairs(1499)[2:] <= 2 * n * np.log(n)).all()


def test_finishing_small_parts_changes_no_order(monkeypatch):
    h = random_preference(np.random.default_rng(9), 60)
    for seed in range(20):
        one = order_by_preference(h, random_state=seed)
        monkeypatch.setattr(ordering, "SMALL", 1)
        two = order_by_preference(h, random_state=seed)
        monkeypatch.undo()
        np.testing.assert_array_equal(one.order, two.order)
        assert one.n_calls < two.n_calls
        assert one.n_compared > two.n_compared


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 8, 50, 400])
def test_compared_pairs_stay_within_the_bound(n):
    values = np.random.default_rng(n).normal(size=n)
    compared = [
        order_by_preference(
            lambda u, v: values[u] > values[v], n, consistent=True, random_state=seed
        ).n_compared
        for seed in range(60)
    ]
    expected = expected_pairs(n)[n]
    assert abs(np.mean(compared) - expected) <= 4 * np.std(compared) / np.sqrt(60) + 1e-9


def test_one_call_per_level():
    values = np.random.default_rng(3).normal(size=5000)
    found = order_by_preference(
        lambda u, v: values[u] > values[v], 5000, consistent=True, random_state=0
    )
    assert np.log2(5000) <= found.n_calls <= 40
    narrow = order_by_preference(
        lambda u, v: values[u] > values[v], 5000, consistent=True, random_state=0, batch_size=500
    )
    assert narrow.n_calls > found.n_calls
    assert narrow.n_compared == found.n_compared
    np.testing.assert_array_equal(narrow.order, found.order)


@pytest.mark.slow
@pytest.mark.parametrize("pivoting", ["probabilistic", "deterministic"])
def test_draws_have_the_exact_odds(pivoting):
    h = random_preference(np.random.default_rng(4), 4)
    odds, n_draws = np.zeros((4, 4)), 1500
    for seed in range(n_draws):
        scores = order_by_preference(h, pivoting=pivoting, random_state=seed).scores
        odds += scores[:, None] > scores
    wanted = order_probabilities(h, pivoting=pivoting)
    assert np.abs(odds / n_draws - wanted).max() < 4 * 0.5 / np.sqrt(n_draws)


def test_top_k_works_out_only_what_it_needs():
    values = np.random.default_rng(5).normal(size=1000)
    given = {"consistent": True, "random_state": 2}
    prefer = lambda u, v: values[u] > values[v]  # noqa: E731
    whole = order_by_preference(prefer, 1000, **given)
    top = order_by_preference(prefer, 1000, k=10, **given)
    np.testing.assert_array_equal(top.order[:10], whole.order[:10])
    assert top.n_compared < 0.5 * whole.n_compared
    place = np.sort(-top.scores) + 999
    np.testing.assert_array_equal(place[:10], np.arange(10))
    assert len(np.unique(top.scores)) < 100
    # rows left in a part share its middle place, so that nothing is lost or made up
    assert top.scores.sum() == 1000 * 999 / 2
    in_order = values[top.order]
    for score in np.unique(top.scores):
        at = np.flatnonzero(top.scores[top.order] == score)
        assert in_order[at].max() <= in_order[: at[0]].min(initial=np.inf)


def test_top_k_is_what_the_whole_order_would_be():
    h = random_preference(np.random.default_rng(6), 30)
    for seed in range(20):
        whole = order_by_preference(h, random_state=seed).order
        for k in (1, 5, 30, 99):
            top = order_by_preference(h, k=k, random_state=seed)
            np.testing.assert_array_equal(top.order[:k], whole[:k])


def test_inconsistent_preferences_are_averaged():
    lopsided = np.array([[0.0, 0.9, 0.9], [0.8, 0.0, 0.9], [0.9, 0.9, 0.0]])
    found = order_by_preference(lopsided, order="degree")
    np.testing.assert_allclose(found.scores, [1.05, 0.95, 1.0])
    trusted = order_by_preference(lopsided, order="degree", consistent=True)
    np.testing.assert_allclose(trusted.scores, [1.8, 1.0, 0.2])


def test_ties_of_degree_stay_ties():
    h = np.full((50, 50), 0.1)
    found = order_by_preference(h, order="degree")
    assert (found.scores == found.scores[0]).all()


def test_rounding_makes_no_order():
    rng = np.random.default_rng(0)
    found = order_by_preference(
        lambda u, v: 0.3 + 1e-13 * rng.random(len(u)), 50, order="degree", batch_size=100
    )
    assert (found.scores == 24.5).all()


def test_the_seed_decides():
    h = random_preference(np.random.default_rng(7), 12)
    one, two = (order_by_preference(h, random_state=1).order for _ in range(2))
    np.testing.assert_array_equal(one, two)
    others = [order_by_preference(h, random_state=seed).order.tolist() for seed in range(2, 6)]
    assert any(other != one.tolist() for other in others)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"preference": [[0, 1.5], [0, 0]]}, r"values in \[0, 1\], got 1.5 for the rows"),
        ({"preference": [[0, np.nan], [0, 0]]}, r"in \[0, 1\], got nan"),
        ({"preference": [0.5]}, "square matrix or a function"),
        ({"preference": [[0.5]], "n_rows": 2}, "n_rows must be the size of the matrix"),
        ({"preference": lambda u, v: u}, "n_rows must be given"),
        ({"preference": lambda u, v: [0.5], "n_rows": 4}, r"one value per pair \(12\)"),
        ({"preference": [[0.5]], "k": 0}, "k of order_by_preference must be"),
        ({"preference": [[0.5]], "order": "bubble"}, "order of order_by_preference"),
    ],
)
def test_bad_input_is_refused(given, message):
    with pytest.raises(DataError, match=message):
        order_by_preference(**given)
