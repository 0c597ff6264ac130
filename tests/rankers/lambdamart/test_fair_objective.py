"""The objective in the caller's row order, metrics for other trainers, and Newton boosting."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from equirank import DataError, EquirankWarning, as_ranking_data, evaluate
from equirank.core.ranking import Ranking
from equirank.datasets import make_ranking
from equirank.rankers import FairLambdaMART, fair_boost, fair_metric, fair_objective
from equirank.rankers.lambdamart.newton_boost import AdditiveModel

OPTIONS = {"step": 5, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=20, n_items=20, feature_bias=1.0, random_state=0)


def shuffled(data, seed=0):
    """The same rows in another order, with words for lists, and the order."""
    order = np.random.default_rng(seed).permutation(data.n_rows)
    query = np.array([f"q{q}" for q in data.query_of_rows()])
    groups = np.array(data.attribute().categories)[data.attribute().codes]
    mixed = as_ranking_data(
        data.X[order], data.y[order], qid=query[order], sensitive_features=groups[order]
    )
    return mixed, order


def measures(data, score):
    found = evaluate(Ranking.from_scores(data, score), metrics=["NDCG@10", "RND(step=5)"], n_boot=0)
    return found["NDCG@10"], found["RND(step=5)"]


def test_rows_are_in_the_order_of_the_caller(data):
    mixed, order = shuffled(data)
    score = np.random.default_rng(1).normal(size=data.n_rows)
    wanted = fair_objective(data, 0.4, **OPTIONS)(score)
    found = fair_objective(mixed, 0.4, **OPTIONS)(score[order])
    for right, got in zip(wanted, found, strict=True):
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, right[order], rtol=1e-12, atol=1e-15)


def test_it_is_the_object_of_the_ranker(data):
    score = np.random.default_rng(1).normal(size=data.n_rows)
    options = {"strategy": "fair_first", "cutoff": 15, "truncation": 7, "sigma": 2.0, **OPTIONS}
    own = FairLambdaMART(0.3, **options).objective(data)
    found = fair_objective(data, 0.3, **options)
    assert type(own) is type(found)
    assert np.array_equal(own(score)[0], found(score)[0])


def test_reset_forgets_the_damping(data):
    objective = fair_objective(data, 0.3, **OPTIONS)
    score = np.random.default_rng(1).normal(size=data.n_rows)
    first = objective(score)[0]
    later = [objective(s)[0] for s in (-score, score)][-1]
    assert not np.array_equal(first, later)
    objective.reset()
    assert np.array_equal(objective(score)[0], first)


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (np.zeros(3), "one number per row \\(400\\), got 3"),
        (np.r_[np.zeros(7), np.nan, np.zeros(392)], "finite, got nan in row 7"),
    ],
)
def test_wrong_scores_are_refused(data, score, words):
    with pytest.raises(DataError, match=words):
        fair_objective(data, **OPTIONS)(score)


def test_wrong_options_are_refused(data):
    with pytest.raises(DataError, match="alpha of fair_objective must be a number in"):
        fair_objective(data, 2.0)
    with pytest.raises(DataError, match="data of fair_objective must be"):
        fair_objective(np.zeros((3, 2)))
    with pytest.raises(DataError, match="must have a relevance"):
        fair_objective(as_ranking_data(None, qid=[1, 1], sensitive_features=["a", "b"]))
    with pytest.warns(EquirankWarning, match="steady of FairLambdaMART has no effect"):
        fair_objective(data, strategy="fair_first", steady=False)


def test_lightgbm_grows_the_trees_of_the_ranker(data):
    lightgbm = pytest.importorskip("lightgbm")
    ranker = FairLambdaMART(0.5, n_estimators=30, num_leaves=7, **OPTIONS).fit(data)
    params = ranker.lightgbm_params() | {"objective": fair_objective(data, 0.5, **OPTIONS)}
    booster = lightgbm.train(params, lightgbm.Dataset(data.X, params=params), 30)
    np.testing.assert_allclose(booster.predict(data.X), ranker.predict(data), rtol=0, atol=1e-12)


def test_lightgbm_watches_a_metric(data):
    lightgbm = pytest.importorskip("lightgbm")
    mixed, order = shuffled(data)
    record = {}
    params = {
        "objective": fair_objective(mixed, 0.5, **OPTIONS), "num_threads": 1, "verbosity": -1,
        "metric": "none",
    }  # fmt: skip
    rows = lightgbm.Dataset(data.X[order])
    booster = lightgbm.train(
        params, rows, 4, valid_sets=[rows], valid_names=["rows"],
        feval=fair_metric(mixed, "RND(step=5)"), callbacks=[lightgbm.record_evaluation(record)],
    )  # fmt: skip
    last = record["rows"]["RND(step=5)"][-1]
    assert last == pytest.approx(measures(data, booster.predict(data.X))[1], abs=1e-12)


def test_xgboost_takes_objective_and_metric(data):
    xgboost = pytest.importorskip("xgboost")
    mixed, order = shuffled(data)
    params = {
        "base_score": 0.0, "min_child_weight": 1e-3, "nthread": 1, "max_depth": 3,
        "disable_default_eval_metric": True,
    }  # fmt: skip
    found = {}
    for alpha in (1.0, 0.2):
        record = {}
        rows = xgboost.DMatrix(data.X[order])
        booster = xgboost.train(
            params, rows, 20, obj=fair_objective(mixed, alpha, **OPTIONS),
            custom_metric=fair_metric(mixed, "RND(step=5)"), evals=[(rows, "rows")],
            evals_result=record, verbose_eval=False,
        )  # fmt: skip
        found[alpha] = measures(data, booster.predict(xgboost.DMatrix(data.X)))
        assert record["rows"]["RND(step=5)"][-1] == pytest.approx(found[alpha][1], abs=1e-5)
    assert found[1.0][0] > 0.8
    assert found[0.2][1] < found[1.0][1] - 0.1


def test_metric_refuses_other_rows_and_undefined_values(data):
    with pytest.raises(DataError, match=r"one number per row \(400\), got 3"):
        fair_metric(data, "NDCG@10")(np.zeros(3))
    empty = as_ranking_data(None, [0, 0], qid=[1, 1])
    with pytest.raises(DataError, match="undefined in every query"):
        fair_metric(empty, "NDCG@10")(np.zeros(2))
    with pytest.raises(DataError, match="metric of fair_metric must be"):
        fair_metric(data, 3)


# Newton boosting


def test_boosting_is_a_sum_of_weighted_newton_steps(data):
    objective = fair_objective(data, 0.5, **OPTIONS)
    model = fair_boost(LinearRegression(), objective, data.X, n_estimators=3, learning_rate=0.5)
    objective.reset()
    score = np.zeros(data.n_rows)
    for _ in range(3):
        grad, hess = objective(score)
        h = np.maximum(hess, 1e-12)
        root = np.sqrt(h)[:, None]
        A = np.column_stack([np.ones(data.n_rows), data.X])
        beta = np.linalg.lstsq(root * A, root[:, 0] * -grad / h, rcond=None)[0]
        score += 0.5 * (A @ beta)
    assert isinstance(model, AdditiveModel)
    assert len(model.models) == 3
    np.testing.assert_allclose(model.predict(data.X), score, rtol=1e-7, atol=1e-9)


def test_boosted_trees_trade_relevance_for_fairness(data):
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    plain, fair = (
        measures(
            data,
            fair_boost(tree, fair_objective(data, alpha, **OPTIONS), data.X, 25).predict(data.X),
        )
        for alpha in (1.0, 0.2)
    )
    assert fair[1] < plain[1] - 0.1
    assert plain[0] > 0.8


def test_boosting_refuses_what_it_cannot_use(data):
    objective = fair_objective(data, **OPTIONS)
    tree = DecisionTreeRegressor()
    with pytest.raises(DataError, match="rows of the objective \\(400\\), got 399"):
        fair_boost(tree, objective, data.X[:-1])
    with pytest.raises(DataError, match=r"regressor of fair_boost must be .* sample_weight"):
        fair_boost(KNeighborsRegressor(), objective, data.X)
    with pytest.raises(DataError, match="objective of fair_boost must be a result of"):
        fair_boost(tree, len, data.X)
    with pytest.raises(DataError, match="n_estimators of fair_boost"):
        fair_boost(tree, objective, data.X, 0)


@pytest.mark.slow
def test_catboost_is_one_joined_model(data, tmp_path):
    catboost = pytest.importorskip("catboost")
    objective = fair_objective(data, 0.5, **OPTIONS)
    given = {"depth": 3, "thread_count": 1, "border_count": 20}
    regressor = catboost.CatBoostRegressor(**given)
    model = fair_boost(regressor, objective, data.X, 8, 0.3)
    assert regressor.get_params() == catboost.CatBoostRegressor(**given).get_params()
    assert isinstance(model, catboost.CatBoost)
    assert model.tree_count_ == 8
    objective.reset()
    score = np.zeros(data.n_rows)  # the same with borders that every tree finds for itself
    for _ in range(8):
        grad, hess = objective(score)
        one = catboost.CatBoostRegressor(
            iterations=1, learning_rate=1.0, boost_from_average=False, bootstrap_type="No",
            random_strength=0, logging_level="Silent", allow_writing_files=False, **given,
        ).fit(data.X, -grad / hess, sample_weight=hess)  # fmt: skip
        score += 0.3 * one.predict(data.X)
    np.testing.assert_allclose(model.predict(data.X), score, rtol=0, atol=1e-12)
    model.save_model(str(tmp_path / "model.cbm"))
    loaded = catboost.CatBoost().load_model(str(tmp_path / "model.cbm"))
    assert np.array_equal(loaded.predict(data.X), model.predict(data.X))


def test_catboost_refuses_categories_that_cannot_be_joined(data):
    catboost = pytest.importorskip("catboost")
    objective = fair_objective(data, 0.5, **OPTIONS)
    edges = np.quantile(data.X[:, 0], np.linspace(0.1, 0.9, 9))
    X = np.array(list("abcdefghij"))[np.digitize(data.X[:, :1], edges)]
    given = {"depth": 2, "thread_count": 1, "cat_features": [0]}
    with pytest.raises(DataError, match="encoded one-hot"):
        fair_boost(catboost.CatBoostRegressor(**given), objective, X, 8)
    one_hot = catboost.CatBoostRegressor(one_hot_max_size=50, **given)
    assert np.ptp(fair_boost(one_hot, objective, X, 4).predict(X)) > 0
