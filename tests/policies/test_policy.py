"""Mixture: exact expectations over a few rankings."""

import numpy as np
import pytest

import equirank
from equirank import DataError, Ranking, as_ranking_data
from equirank.policies import Mixture

LOG3 = 1 / np.log2(3)


def test_exposure_and_marginals_by_hand():
    policy = Mixture([[1, 2], [2, 1]], weights=[0.25, 0.75])
    assert policy.exposure() == pytest.approx([0.25 + 0.75 * LOG3, 0.75 + 0.25 * LOG3])
    assert policy.marginals()[0] == pytest.approx(np.array([[0.25, 0.75], [0.75, 0.25]]))
    assert policy.marginals(1)[0] == pytest.approx(np.array([[0.25], [0.75]]))


def test_ties_share_their_places_and_hidden_rows_have_none():
    policy = Mixture([1, 1, 0])
    assert policy.marginals()[0] == pytest.approx(np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0] * 3]))
    assert policy.sample(3, 0).n_draws == 1


def test_samples_follow_the_weights_list_by_list():
    weights = [[0.1, 0.9], [0.6, 0.4]]
    policy = Mixture([[1, 2], [2, 1], [1, 2], [2, 1]], weights, qid=[0, 0, 1, 1])
    drawn = policy.sample(4000, random_state=1).position
    assert (drawn[0] == 1).mean() == pytest.approx(0.1, abs=0.025)
    assert (drawn[2] == 1).mean() == pytest.approx(0.6, abs=0.04)
    assert ((drawn[0] == 1) == (drawn[1] == 2)).all()


def test_expected_metrics_are_exact():
    data = as_ranking_data(None, [1, 0], qid=[3, 3])
    ranking = Ranking.from_positions(data, [[1, 2], [2, 1]], weights=[0.5, 0.5])
    policy = Mixture(ranking)
    assert policy.expected("NDCG@2") == pytest.approx((1 + LOG3) / 2)


def test_saved_and_read_back(tmp_path):
    policy = Mixture([[1, 2], [1, 1], [2, 1]], [[0.5, 0.5], [1, 0]], qid=["a", "b", "a"])
    policy.save(tmp_path / "policy")
    again = equirank.load(tmp_path / "policy")
    assert (again.exposure() == policy.exposure()).all()


def test_bad_input():
    ranking = as_ranking_data(score=[1.0, 0.0]).ranking()
    with pytest.raises(DataError, match="must be None if a Ranking is given"):
        Mixture(ranking, weights=[1.0])
    with pytest.raises(DataError, match="weights"):
        Mixture([[1, 2], [2, 1]], weights=[-1, 2])
