"""Position bias against LightGBM's own lambdarank, and on lists where it was planted."""

import lightgbm
import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.datasets import make_ranking
from equirank.rankers import MART, FairLambdaMART, LambdaMART
from equirank.rankers.lambdamart.position_bias import PositionBias


def clicked_lists(seed, n_queries=150, n_items=10):
    """Lists of a logged ranking, with clicks on relevant items that were looked at.

    The logging ranker uses a feature of no relevance and noise, so that position and relevance
    are independent. Position p is looked at with probability 1/p.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_items, 3))
    utility = X[:, 0] + 0.5 * X[:, 1]
    relevant = rng.random(len(X)) < 1.0 / (1.0 + np.exp(1.0 - 2.0 * utility))
    shown = (X[:, 2] + rng.normal(size=len(X))).reshape(n_queries, -1)
    position = np.argsort(np.argsort(-shown, axis=1), axis=1).ravel() + 1
    click = relevant & (rng.random(len(X)) < 1.0 / position)
    qid = np.repeat(np.arange(n_queries), n_items)
    return as_ranking_data(X, click.astype(float), qid=qid), position, utility


@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_biases_and_trees_are_those_of_lightgbm(strength):
    data, position, _ = clicked_lists(0, n_queries=60)
    given = {"lambdarank_position_bias_regularization": strength}
    ours = LambdaMART(n_estimators=5, num_leaves=5, n_jobs=1, **given).fit(data, position=position)
    params = {
        "objective": "lambdarank", "num_leaves": 5, "verbosity": -1, "num_threads": 1,
        "deterministic": True, "force_col_wise": True, **given,
    }  # fmt: skip
    sizes = np.diff(data.offsets)
    dataset = lightgbm.Dataset(data.X, data.y, group=sizes, position=position)
    other = lightgbm.train(params, dataset, 5).predict(data.X)
    np.testing.assert_allclose(ours.predict(data), other, atol=2e-3)
    plain = LambdaMART(n_estimators=5, num_leaves=5, n_jobs=1).fit(data)
    assert np.abs(plain.predict(data) - other).max() > 0.02
    assert ours.positions_.tolist() == list(range(1, 11))


def test_a_step_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    position, grad, hess = rng.integers(1, 4, size=20), rng.normal(size=20), rng.random(20)
    bias = PositionBias(position, learning_rate=0.3, regularization=0.7)
    b = dict.fromkeys((1, 2, 3), 0.0)
    for _ in range(3):
        bias.update(grad, hess)
        for p in b:
            mine = position == p
            d1 = -sum(grad[mine]) - 0.7 * sum(mine) * b[p]
            d2 = -sum(hess[mine]) - 0.7 * sum(mine)
            b[p] += 0.3 * d1 / (abs(d2) + 0.001)
    np.testing.assert_allclose(bias.values, list(b.values()), rtol=1e-12)
    np.testing.assert_array_equal(bias.of_rows(), bias.values[position - 1])


def test_a_planted_bias_is_found_and_kept_out_of_the_score():
    data, position, utility = clicked_lists(1)
    options = {"n_estimators": 20, "num_leaves": 5, "n_jobs": 1}
    model = LambdaMART(**options).fit(data, position=position)
    bias = model.position_bias_
    assert np.corrcoef(bias, -np.log(model.positions_))[0, 1] > 0.8
    assert (bias[0] > bias[1:]).all()
    plain = LambdaMART(**options).fit(data)
    # the third feature decides the position, not the relevance
    plain_share, share = (m.feature_importances_[2] for m in (plain, model))
    assert share < 0.7 * plain_share
    agreement = [np.corrcoef(m.predict(data), utility)[0, 1] for m in (plain, model)]
    assert agreement[1] > agreement[0] + 0.04


def test_positions_of_the_training_rows_are_used():
    data, position, _ = clicked_lists(2, n_queries=40)
    options = {"n_estimators": 5, "num_leaves": 5, "n_jobs": 1, "random_state": 0}
    split = LambdaMART(validation=0.5, metric="NDCG@10", **options).fit(data, position=position)
    train = np.zeros(40, dtype=bool)
    from equirank import query_train_test_split

    part, _ = query_train_test_split(data, test_size=0.5, random_state=0)
    train[part.qids] = True
    rows = np.repeat(train, 10)
    alone = LambdaMART(**options).fit(part, position=position[rows])
    np.testing.assert_array_equal(split.position_bias_, alone.position_bias_)
    order = np.arange(400).reshape(40, 10).T.ravel()
    moved = LambdaMART(**options).fit(
        data.X[order], data.y[order], qid=data.query_of_rows()[order], position=position[order]
    )
    whole = LambdaMART(**options).fit(data, position=position)
    np.testing.assert_array_equal(moved.position_bias_, whole.position_bias_)


def test_fair_trees_and_means_have_biases_too():
    data = make_ranking(n_queries=20, n_items=10, feature_bias=1.0, random_state=0)
    position = np.tile(np.arange(1, 11), 20)
    options = {"n_estimators": 4, "num_leaves": 5, "n_jobs": 1, "random_state": 3}
    model = FairLambdaMART(0.5, step=5, n_models=2, **options).fit(data, position=position)
    assert model.position_bias_.shape == (10,)
    assert (model.position_bias_ != 0).any()
    assert not hasattr(model.fit(data), "position_bias_")


def test_bad_positions_are_refused():
    data, position, _ = clicked_lists(0, n_queries=20)
    model = LambdaMART(n_estimators=2, n_jobs=1)
    with pytest.raises(DataError, match=r"position must be a position >= 1 .*, got 0 in row 3"):
        model.fit(data, position=np.where(np.arange(200) == 3, 0, position))
    with pytest.raises(DataError, match=r"position must have one value per row \(200\), got 2"):
        model.fit(data, position=[1, 2])
    with pytest.raises(DataError, match=r"position_bias of LambdaMART.fit must be .*additive"):
        model.fit(data, position=position, position_bias="multiplicative")
    with pytest.raises(TypeError, match="position"):
        MART().fit(data, position=position)
