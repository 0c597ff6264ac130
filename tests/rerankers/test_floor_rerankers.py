"""The gain under implicit bias: against plain arithmetic, and the way theory says it goes."""

import numpy as np
import pytest

from equirank import DataError
from equirank.rerankers import EpsilonGreedy, ImplicitBiasFloor, RooneyRule, implicit_bias_gain


def test_without_bias_nothing_is_lost_and_a_floor_costs():
    found = implicit_bias_gain(
        ImplicitBiasFloor(0.5, "protected", k=5), beta=1.0, k=5, n_lists=300, random_state=0
    )
    assert found.biased == pytest.approx(found.best)
    assert found.gain < 1
    assert np.isnan(found.recovered)


def test_a_floor_of_the_groups_share_wins_back_most_of_what_strong_bias_takes():
    weak, strong = (
        implicit_bias_gain(
            ImplicitBiasFloor(0.3, "protected", k=20),
            beta=beta,
            k=20,
            n_lists=400,
            random_state=1,
        )
        for beta in (0.7, 0.1)
    )
    assert strong.gain > weak.gain
    assert strong.gain > 1.1
    assert strong.reranked - strong.biased > 5 * strong.error
    assert strong.recovered > 0.7
    assert strong.best == pytest.approx(weak.best)  # the same lists for the same seed


def test_doing_nothing_wins_nothing():
    found = implicit_bias_gain(EpsilonGreedy(0.0), beta=0.3, n_lists=50, random_state=2)
    assert found.reranked == pytest.approx(found.biased)
    assert found.error == pytest.approx(0.0)
    assert found.recovered == pytest.approx(0.0)


def test_utility_against_plain_loops():
    given = {"n_items": 12, "share": 0.25, "beta": 0.4, "delta": 0.5, "k": 4, "n_lists": 40}
    rule = RooneyRule("protected", k=4)
    found = implicit_bias_gain(rule, **given, utility="discounted", random_state=3)
    rng = np.random.default_rng(np.random.SeedSequence(3))
    worth = rng.pareto(1.5, size=(40, 12)) + 1
    totals = []
    for people in worth:
        score = [u * (0.4 if i < 3 else 1.0) for i, u in enumerate(people)]
        order = sorted(range(12), key=lambda i: -score[i])
        first = order[:4]
        if all(i >= 3 for i in first):
            first[3] = next(i for i in order if i < 3)
        totals.append(sum(people[i] / np.log2(2 + j) for j, i in enumerate(first)))
    assert found.reranked == pytest.approx(np.mean(totals))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"beta": 0.0}, "beta of implicit_bias_gain must be"),
        ({"delta": 0.0}, "delta of implicit_bias_gain must be a number > 0"),
        ({"share": 1.0}, "share of implicit_bias_gain"),
        ({"k": 101}, "k of implicit_bias_gain must be an integer from 1 to 100"),
        ({"utility": "log"}, "utility of implicit_bias_gain"),
        ({"n_items": 1}, "n_items of implicit_bias_gain"),
    ],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(DataError, match=message):
        implicit_bias_gain(RooneyRule("protected", k=1), **given)
