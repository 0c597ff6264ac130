"""UncertainMerit and merit_gap: chances by enumeration, phi-fairness, the best of all phi-fair."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from equirank import DataError, EquirankWarning, Ranking, as_ranking_data
from equirank.metrics import merit_gap
from equirank.policies import Mixture
from equirank.rerankers import UncertainMerit


def chances(draws):
    """Return the chance of each item to be among the first j, ties broken in all ways."""
    n = len(draws)
    found = np.zeros((n, n))
    for column in np.asarray(draws, dtype=float).T:
        orders = [
            order
            for order in itertools.permutations(range(n))
            if all(column[a] >= column[b] for a, b in itertools.pairwise(order))
        ]
        for order in orders:
            for place, item in enumerate(order):
                found[item, place:] += 1 / len(orders) / draws.shape[1]
    return found


@pytest.mark.parametrize("seed", range(12))
def test_chances_and_gap_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, phi = int(rng.integers(1, 6)), rng.random()
    draws = rng.integers(0, 4, size=(n, 7)).astype(float)
    order = rng.integers(0, 4, size=(n, 1)).astype(float)
    wanted = max(0.0, float((phi * chances(draws) - chances(order)).max()))
    assert merit_gap(order[:, 0], draws, phi=phi) == pytest.approx(wanted, abs=1e-12)
    policy = UncertainMerit(phi=1.0).fit_policy(draws)
    found = np.cumsum(policy.marginals()[0], axis=1)
    np.testing.assert_allclose(found, chances(draws), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mixture", "program"])
def test_results_are_phi_fair_in_every_list(method):
    rng = np.random.default_rng(3)
    draws, qid = rng.normal(size=(30, 9)).round(1), np.repeat([4, 7, 1], 10)
    merit = Ranking.from_scores(as_ranking_data(qid=qid, score=draws[:, 0]), draws)
    for phi in (0.0, 0.4, 1.0):
        result = UncertainMerit(phi, method=method)(merit)
        gaps = merit_gap(result, merit, phi=phi, per_query=True)
        assert gaps.shape == (3,)
        assert gaps.max() < 1e-9
        if phi < 1:
            assert merit_gap(result, merit) > 0.05


def utility(policy, mean):
    table = policy.marginals()[0]
    return float(mean @ table @ (1 / np.log2(2 + np.arange(table.shape[1]))))


@pytest.mark.parametrize("seed", range(6))
def test_the_program_is_the_best_of_all_phi_fair_rankings(seed):
    """The twin puts a weight on each of the 24 orders instead of a doubly stochastic matrix."""
    rng = np.random.default_rng(seed)
    draws, phi = rng.normal(size=(4, 8)), rng.uniform(0.2, 1)
    mean, deserved = draws.mean(axis=1), chances(draws)
    orders = list(itertools.permutations(range(4)))
    attention = 1 / np.log2(2 + np.arange(4))
    worth = [sum(mean[item] * attention[place] for place, item in enumerate(o)) for o in orders]
    tops = [[[item in o[: j + 1] for j in range(4)] for item in range(4)] for o in orders]
    solved = linprog(-np.array(worth), A_ub=-np.array(tops, float).reshape(24, 16).T,
                     b_ub=-phi * deserved.ravel(), A_eq=np.ones((1, 24)), b_eq=[1])  # fmt: skip
    best = UncertainMerit(phi, method="program").fit_policy(draws)
    assert utility(best, mean) == pytest.approx(-solved.fun, abs=1e-8)
    mixed = UncertainMerit(phi).fit_policy(draws)
    assert utility(mixed, mean) <= utility(best, mean) + 1e-9


def test_phi_0_is_the_order_of_expected_merit_and_certain_merit_stays():
    draws = np.array([[1.0, 5.0], [2.0, 2.0], [0.0, 1.0]])
    result = UncertainMerit(0.0).fit_policy(draws)
    np.testing.assert_allclose(result.marginals()[0], np.eye(3))
    certain = as_ranking_data(score=[1.0, 1.0, 3.0]).ranking()
    kept = UncertainMerit()(certain)
    assert kept.position.tolist() == certain.position.tolist()
    assert kept.last.tolist() == certain.last.tolist()


def test_hidden_items_stay_hidden():
    data = as_ranking_data(score=[3.0, 2.0, 1.0])
    ranking = Ranking.from_positions(data, [[1, 2], [0, 0], [2, 1]])
    for method in ("mixture", "program"):
        result = UncertainMerit(method=method)(ranking)
        assert (result.position[1] == 0).all()
        np.testing.assert_allclose(result.expect(lambda place: place == 1), [0.5, 0.0, 0.5])


def test_draws_of_scores_make_a_ranking_with_draws():
    data = as_ranking_data(qid=[2, 1, 2, 1], score=[0.0, 0, 0, 0])
    draws = np.array([[1.0, 2], [5, 5], [3, 0], [5, 6]])
    ranking = Ranking.from_scores(data, draws)
    assert ranking.n_draws == 2
    alone = [Ranking.from_scores(data, column) for column in draws.T]
    for draw, (_, found) in zip(alone, ranking.draws(), strict=True):
        assert draw.position.tolist() == found.position.tolist()
    np.testing.assert_allclose(ranking.data.to_original(ranking.data.score), draws.mean(axis=1))
    assert Ranking.from_scores(data, draws[:, :1]).n_draws == 1
    assert merit_gap(Mixture(ranking).ranking, ranking) == 0.0


def test_bad_input_is_refused():
    with pytest.raises(DataError, match=r"phi of UncertainMerit must be a number in \[0, 1\]"):
        UncertainMerit(1.5).fit_policy([[1.0, 2.0]])
    with pytest.raises(DataError, match="one column per draw"):
        Ranking.from_scores(as_ranking_data(score=[1.0]), np.zeros((1, 0)))
    with pytest.raises(DataError, match="score"):
        UncertainMerit().fit_policy([[1.0, np.nan], [1.0, 2.0]])
    with pytest.raises(DataError, match="phi"):
        merit_gap([1, 2], [[1], [2]], phi=-1)
    with pytest.warns(EquirankWarning, match="discount of UncertainMerit has no effect"):
        UncertainMerit(discount="zipf").fit_policy([[1.0, 2.0]])
