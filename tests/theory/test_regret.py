"""What is known of orders made with preferences, checked on every case of small lists."""

from itertools import permutations, product

import numpy as np
import pytest

from equirank.core.errors import DataError
from equirank.rankers import order_by_preference
from equirank.theory import order_probabilities, preference_loss, ranking_regret

CIRCLE = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
ROWS = 4


def tournaments(n):
    """All ways in which n rows may beat each other."""
    above = np.triu_indices(n, 1)
    for results in product([0.0, 1.0], repeat=len(above[0])):
        h = np.zeros((n, n))
        h[above] = results
        yield h + np.tril(1.0 - h.T, -1)


def two_levels(n):
    return [y for y in product([0, 1], repeat=n) if 0 < sum(y) < n]


def slow_loss(h, y, weight=None):
    place = {row: at + 1 for at, row in enumerate(np.argsort(-np.asarray(y), kind="stable"))}
    wrong = total = 0.0
    for u, v in permutations(range(len(y)), 2):
        if y[u] > y[v]:
            w = 1.0 if weight is None else weight(place[u], place[v])
            wrong, total = wrong + w * h[v][u], total + w
    return wrong / total


def as_matrix(order):
    h = np.zeros((len(order), len(order)))
    for at, row in enumerate(order):
        h[row, list(order[at + 1 :])] = 1.0
    return h


# losses


def test_loss_is_the_share_of_turned_pairs():
    h = np.array([[0, 0.9, 0.2], [0.1, 0, 0.6], [0.8, 0.4, 0]])
    assert preference_loss(h, [2, 1, 0]) == pytest.approx((0.1 + 0.8 + 0.4) / 3)
    assert preference_loss(h, [1, 0, 0]) == pytest.approx((0.1 + 0.8) / 2)
    weight = lambda i, j: i + 10 * j  # noqa: E731
    wanted = (21 * 0.1 + 31 * 0.8 + 32 * 0.4) / (21 + 31 + 32)
    assert preference_loss(h, [2, 1, 0], weight=weight) == pytest.approx(wanted)


def test_loss_against_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(2, 7))
        h = np.triu(rng.random((n, n)), 1)
        h += np.tril(1.0 - h.T, -1)
        y = rng.permutation(n)
        for weight in (None, lambda i, j: abs(i - j) + 0.5 * min(i, j)):
            w = None if weight is None else np.vectorize(weight)
            assert preference_loss(h, y, weight=w) == pytest.approx(slow_loss(h, y, weight))


def test_loss_of_an_order_counts_ties_half():
    assert preference_loss([5.0, 5.0, 1.0], [0, 1, 2]) == pytest.approx((0.5 + 1 + 1) / 3)


# what is known of two levels


@pytest.mark.slow
@pytest.mark.parametrize(("order", "factor"), [("quicksort", 1.0), ("degree", 2.0)])
def test_two_levels_every_tournament_of_four(order, factor):
    worst = 0.0
    for h in tournaments(ROWS):
        odds = order_probabilities(h, order)
        for y in two_levels(ROWS):
            given, made = preference_loss(h, y), preference_loss(odds, y)
            assert made <= factor * given + 1e-12
            worst = max(worst, made / given if given else 0.0)
    assert worst == pytest.approx(1.0 if order == "quicksort" else 4 / 3)
    found = ranking_regret(h, y, order=order)
    assert found.regret_factor == factor
    assert found.best_order_loss == found.best_preference_loss == 0.0
    assert (found.preference_loss, found.order_loss) == pytest.approx((given, made))


def test_degree_comes_close_to_twice():
    doubtful = [[0.0, 0.51], [0.49, 0.0]]
    found = ranking_regret(doubtful, [0, 1], order="degree")
    assert found.order_loss / found.preference_loss == pytest.approx(1 / 0.51)
    assert ranking_regret(doubtful, [0, 1]).order_loss == pytest.approx(0.51)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["quicksort", "degree"])
def test_two_levels_when_the_truth_is_uncertain(order):
    rng = np.random.default_rng(1)
    for _ in range(60):
        n = int(rng.integers(2, 6))
        h = rng.random((n, n))
        truths = rng.permutation(two_levels(n))[: rng.integers(1, 4)]
        found = ranking_regret(h, truths, rng.random(len(truths)) + 0.01, order=order)
        assert found.order_regret <= found.regret_factor * found.preference_regret + 1e-12
        assert found.holds


@pytest.mark.slow
def test_two_levels_in_simulation_on_a_longer_list():
    rng = np.random.default_rng(2)
    n = 40
    h = np.triu(np.clip(rng.normal(0.5, 0.4, (n, n)), 0, 1), 1)
    h += np.tril(1.0 - h.T, -1)
    y = rng.integers(0, 2, n)
    loss = preference_loss(h, y)
    drawn = [
        preference_loss(order_by_preference(h, random_state=seed).scores, y) for seed in range(300)
    ]
    assert np.mean(drawn) <= loss + 3 * np.std(drawn) / np.sqrt(len(drawn))
    assert preference_loss(order_by_preference(h, order="degree").scores, y) <= 2 * loss


def test_three_levels_break_it():
    found = ranking_regret(CIRCLE, [3, 2, 1])
    assert found.preference_loss == pytest.approx(1 / 3)
    assert found.order_loss == pytest.approx(4 / 3 * 1 / 3)
    assert found.regret_factor is None
    assert found.loss_factor == 2.0
    assert found.holds


def test_no_order_made_without_chance_does_better_than_twice():
    for order in permutations(range(3)):
        losses = [
            (preference_loss(as_matrix(order), y), preference_loss(CIRCLE, y))
            for y in two_levels(3)
        ]
        assert max(made - 2 * given for made, given in losses) == pytest.approx(0.0)
        assert max(made / given for made, given in losses) >= 2.0


# what is known of any grades


@pytest.mark.slow
@pytest.mark.parametrize(
    "weight", [None, lambda i, j: abs(i - j), lambda i, j: np.minimum(i, j) <= 2]
)
def test_quicksort_loses_at_most_twice_as_much(weight):
    y = range(ROWS, 0, -1)
    for h in tournaments(ROWS):
        found = ranking_regret(h, y, weight=weight)
        assert found.loss_factor == 2.0
        assert found.order_loss <= 2 * found.preference_loss + 1e-12


def test_weights_that_break_the_rules_promise_nothing():
    ends = lambda i, j: (np.minimum(i, j) == 1) & (np.maximum(i, j) == 3)  # noqa: E731
    found = ranking_regret(CIRCLE.T, [3, 2, 1], weight=ends)
    assert found.preference_loss == 0.0
    assert found.order_loss == pytest.approx(1 / 3)
    assert found.loss_factor is None


def test_best_losses_against_all_orders():
    rng = np.random.default_rng(3)
    for _ in range(10):
        n = int(rng.integers(2, 6))
        truths, chances = rng.integers(0, 3, (3, n)), rng.random(3)
        truths[:, :2] = [0, 2]
        found = ranking_regret(rng.random((n, n)), truths, chances)

        def loss(h, truths=truths, chances=chances):
            parts = [slow_loss(h, y) for y in truths]
            return float(np.average(parts, weights=chances))

        best = min(loss(as_matrix(order)) for order in permutations(range(n)))
        assert found.best_order_loss == pytest.approx(best)
        free = min(loss(h) for h in tournaments(n)) if n < 5 else None
        assert free is None or found.best_preference_loss == pytest.approx(free)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"truths": [1, 1, 1]}, "must order a pair"),
        ({"truths": [1, 2]}, r"one row per grade \(2\), got 3"),
        ({"truths": [1, np.nan, 2]}, "truth must be"),
        ({"truths": [1, 2, 2], "weight": lambda i, j: 1.0}, "must hold different grades"),
        ({"truths": [1, 2, 3], "chances": [0.5, 0.5]}, "chances must be 1 numbers"),
        ({"truths": [[1, 2, 3], [3, 2, 1]], "chances": [-1, 2]}, "chances must be 2 numbers"),
    ],
)
def test_bad_input_is_refused(given, message):
    with pytest.raises(DataError, match=message):
        ranking_regret(CIRCLE, **given)


def test_scores_of_another_length_are_refused():
    with pytest.raises(DataError, match=r"one score per row \(3\)"):
        preference_loss([1.0, 2.0], [1, 2, 3])
