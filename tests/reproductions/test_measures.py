"""How the prefix measures behave, in its quick form."""

import numpy as np
import pytest

from .studies import load, run_quick


@pytest.mark.gate
def test_all_claims_hold(tmp_path):
    pytest.importorskip("altair")
    results = run_quick("measures", tmp_path)
    assert len(results["verdicts"]) == 10
    assert {row["verdict"] for row in results["verdicts"]} == {"confirmed"}


def test_shape_of_a_curve():
    shape = load("measures").shape
    curve = [0.5, 0.2, 0.1, 0.3, 0.25, 0.8]
    rows = [{"metric": "rnd", "share": 0.3, "f": i / 10, "mean": m, "interval": 0.01}
            for i, m in enumerate(curve)]  # fmt: skip
    assert shape(rows, "rnd", 0.3, 1.0) == (0.2, 1, pytest.approx(0.5 / 0.8))
    assert shape(rows, "rnd", 0.3, 0.35) == (0.2, 0, 1.0)


def make_fairness_probability(*args, **options):
    return load("measures").make_fairness_probability(*args, **options)


def protected_of(data):
    attribute = data.attribute()
    return (attribute.codes == attribute.code("protected")).reshape(data.n_queries, -1)


def one_list(n, n_protected, f, rng):
    """The definition, place by place."""
    left, places = {True: n_protected, False: n - n_protected}, []
    for _ in range(n):
        both = left[True] > 0 and left[False] > 0
        chosen = bool(rng.random() < f) if both else left[True] > 0
        left[chosen] -= 1
        places.append(chosen)
    return places


@pytest.mark.slow
@pytest.mark.parametrize(("n_protected", "f"), [(3, 0.3), (8, 0.5), (5, 0.95), (1, 0.02)])
def test_fairness_probability_is_that_of_the_plain_loop(n_protected, f):
    rng = np.random.default_rng(0)
    slow = np.array([one_list(10, n_protected, f, rng) for _ in range(4000)])
    data = make_fairness_probability(10, n_protected, f, n_lists=4000, random_state=1)
    fast = protected_of(data)
    assert (fast.sum(axis=1) == n_protected).all()
    chance = 4 * np.sqrt(2 * 0.25 / 4000)
    assert fast.mean(axis=0) == pytest.approx(slow.mean(axis=0), abs=chance)
    # places depend on each other; compare pairs of them, too
    assert fast.T.astype(float) @ fast / 4000 == pytest.approx(
        slow.T.astype(float) @ slow / 4000, abs=chance
    )


def test_fairness_probability_follows_the_coins_of_the_loop_one_by_one():
    for f in (0.1, 0.5, 0.9):
        coins = np.random.default_rng([7]).random((50, 12))
        data = make_fairness_probability(12, 5, f, n_lists=50, random_state=7)
        for places, row in zip(protected_of(data), coins, strict=True):
            assert places.tolist() == one_list(12, 5, f, iter_rng(row))


def iter_rng(numbers):
    """Return an object whose ``random`` hands out these numbers in turn."""

    class Numbers:
        rest = iter(numbers.tolist())

        def random(self):
            return next(self.rest)

    return Numbers()


def test_fairness_probability_at_its_ends():
    first = protected_of(make_fairness_probability(6, 2, 1, n_lists=3))
    assert (first == [True, True, False, False, False, False]).all()
    last = protected_of(make_fairness_probability(6, 2, 0, n_lists=3))
    assert (last == [False, False, False, False, True, True]).all()


def test_fairness_probability_without_one_of_the_groups():
    assert make_fairness_probability(3, 0, 0.5).attribute().categories == ("other",)
    assert make_fairness_probability(3, 3, 0.5).attribute().categories == ("protected",)


def test_fairness_probability_scores_descend_and_are_ranked_so():
    data = make_fairness_probability(4, 2, 0.5, n_lists=2, random_state=0)
    assert data.score.tolist() == [4, 3, 2, 1, 4, 3, 2, 1]
    assert data.ranking().position.tolist() == [1, 2, 3, 4, 1, 2, 3, 4]


@pytest.mark.parametrize("wrong", [(0, 0, 0.5), (5, 6, 0.5), (5, 2, 1.5)])
def test_fairness_probability_wrong_parameters(wrong):
    with pytest.raises(ValueError, match="not a list"):
        make_fairness_probability(*wrong)
