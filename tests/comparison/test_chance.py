"""What a random order is worth, held against exact expectations."""

import numpy as np
import pytest
from comparison_methods import Weights, small_data

from equirank import Ranking, as_ranking_data, compare, evaluate


def test_linear_metrics_are_near_their_exact_expectation():
    data = small_data()
    found = compare({"a": Weights()}, data, ["NDCG@5", "AverageRank", "RND(step=3)@9"], cv=3).chance
    tied = evaluate(Ranking.from_scores(data, np.zeros(data.n_rows)), "NDCG@5", n_boot=0)
    assert found["NDCG@5"] == pytest.approx(tied["NDCG@5"], abs=0.03)
    assert found["RND(step=3)@9"] > 0.05  # a list tied throughout would have 0


def test_exposure_is_that_of_the_random_policy():
    data = small_data()
    found = compare({"a": Weights()}, data, "ExposureGap", cv=3)
    rng = np.random.default_rng(0)
    alone = evaluate(Ranking.from_scores(data, rng.random(data.n_rows)), "ExposureGap", n_boot=0)
    assert found.chance["ExposureGap"] < alone["ExposureGap"] / 2


def test_it_depends_on_the_lists_only():
    data = small_data()
    one = compare({"a": Weights()}, data, "NDCG@5", cv=3, seeds=[3]).chance
    other = compare({"b": Weights(noise=2.0)}, data, "NDCG@5", cv=3, seeds=[3, 4]).chance
    assert one == other


def test_metrics_of_scores_have_none():
    data = small_data()
    found = compare({"a": Weights()}, data, ["NDCG@5", "CalibrationGap"], cv=2)
    assert set(found.chance) == {"NDCG@5"}
    assert not np.isnan(found.table["value"]).all()


def test_one_list():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    data = as_ranking_data(X, np.maximum(0, X[:, 0]))
    found = compare({"a": Weights()}, data, "NDCG@5", cv=3, by="item")
    assert 0.1 < found.chance["NDCG@5"] < 0.6
