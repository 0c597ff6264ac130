"""MART and McRank: weights of rows, the cumulative loss and expected relevance."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.datasets import make_ranking
from equirank.rankers import McRank
from equirank.rankers.lambdamart.mart import row_weights

GRADES = np.array([0.0, 1.0, 4.0])
Y = np.array([0, 4, 1, 1, 0, 4])


def sample(**more):
    return as_ranking_data(np.zeros((6, 1)), Y, qid=[1, 1, 1, 2, 2, 2], **more)


def fitted(method, grades=GRADES, start=(0.0, 0.0)):
    model = McRank(method=method)
    model.grades_, model.start_ = grades, np.array(start)
    return model


def test_weights_are_products_with_a_mean_of_one():
    assert row_weights(sample()) is None
    data = sample(cost=[1, 2, 3, 1, 2, 3], query_weight=[1, 1, 1, 3, 3, 3])
    found = row_weights(data, np.array([1, 1, 1, 1, 1, 2.0]))
    expected = np.array([1 * 1, 2 * 1, 3 * 1, 1 * 3, 2 * 3, 3 * 3 * 2.0])
    np.testing.assert_allclose(found, expected / expected.mean())
    np.testing.assert_array_equal(row_weights(sample(), np.zeros(6)), np.zeros(6))


def test_the_gradient_of_the_cumulative_loss_is_that_of_finite_differences():
    model, data = fitted("ordinal"), sample(cost=[1, 2, 1, 2, 1, 2])
    objective = model.objective(data)
    above = Y[:, None] > GRADES[:-1]
    share = above.mean(axis=0)
    np.testing.assert_allclose(model.start_, np.log(share / (1 - share)))
    weight = row_weights(data)[:, None]

    def loss(score):
        raw = model.start_ + score
        return weight * (np.logaddexp(0.0, raw) - above * raw)

    score, step = np.random.default_rng(0).normal(size=(6, 2)), 1e-4
    grad, hess = objective(score, None)
    ends = loss(score - step), loss(score), loss(score + step)
    np.testing.assert_allclose(grad, (ends[2] - ends[0]) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(hess, (ends[2] - 2 * ends[1] + ends[0]) / step**2, atol=1e-6)


def test_one_threshold_has_a_gradient_of_one_column():
    model = fitted("ordinal", np.array([0.0, 1.0]), (0.0,))
    data = as_ranking_data(np.zeros((6, 1)), Y > 0, qid=np.ones(6))
    grad, hess = model.objective(data)(np.zeros(6), None)
    assert grad.shape == hess.shape == (6,)
    np.testing.assert_allclose(grad, 4 / 6 - (Y > 0))


def test_expected_relevance_is_the_mean_of_the_grades():
    chances = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    found = fitted("multiclass")._expected(chances)
    np.testing.assert_allclose(found, [0.25 * 1 + 0.25 * 4, 1.0])
    # P(above 0) = 1/2 and P(above 1) = 1/4 have the log odds 0 and -log 3
    found = fitted("ordinal", start=(0.0, -np.log(3.0)))._expected(np.zeros((1, 2)))
    np.testing.assert_allclose(found, [0 + 1 / 2 * (1 - 0) + 1 / 4 * (4 - 1)])
    shifted = fitted("ordinal", GRADES + 2.0, (0.0, -np.log(3.0)))._expected(np.zeros((1, 2)))
    np.testing.assert_allclose(shifted, found + 2.0)
    np.testing.assert_array_equal(fitted("ordinal", np.array([3.0]))._expected(np.zeros(2)), [3, 3])


def test_labels_are_numbers_of_grades_and_unseen_ones_count_as_the_next_higher():
    data = as_ranking_data(np.zeros((5, 1)), [0, 1, 2, 4, 9], qid=np.ones(5))
    assert fitted("ordinal")._label(data).tolist() == [0, 1, 2, 2, 2]


def test_too_many_grades_are_refused():
    data = as_ranking_data(np.zeros((101, 1)), np.arange(101), qid=[1] * 100 + [2])
    with pytest.raises(DataError, match="at most 100 different values for McRank, got 101"):
        McRank().fit(data)
    assert len(McRank(n_estimators=1, n_jobs=1).fit(data.select([0])).grades_) == 100


@pytest.mark.parametrize("method", ["multiclass", "ordinal"])
def test_scores_are_expected_relevances(method):
    pytest.importorskip("lightgbm")
    data = make_ranking(n_queries=20, n_items=15, random_state=0)
    model = McRank(method=method, n_estimators=20, n_jobs=1).fit(data)
    score = model.predict(data)
    assert score.min() >= model.grades_[0]
    assert score.max() <= model.grades_[-1]
    assert score.mean() == pytest.approx(np.mean(data.y), abs=0.1)
