"""RegressionRanker and ClassifierRanker: the model's own numbers, weights, files without pickle."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from equirank import DataError, load
from equirank.core.errors import FormatError
from equirank.datasets import make_ranking
from equirank.rankers import ClassifierRanker, RegressionRanker


class OwnRidge(Ridge):
    """A model of the user's."""


def made(grades=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=200) + 1), 0, grades - 1)
    qid = rng.integers(0, 5, 200)
    return X, 2.0 * y, qid, rng.uniform(0.5, 2.0, 200)


def test_scores_are_the_regressors_predictions():
    X, y, qid, _ = made()
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = RegressionRanker(tree).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), tree.fit(X, y).predict(X))
    assert not hasattr(model, "coef_")
    assert np.allclose(RegressionRanker().fit(X, y).coef_, Ridge().fit(X, y).coef_)


@pytest.mark.parametrize("piped", [False, True])
def test_costs_and_query_weights_are_sample_weights(piped):
    X, y, qid, cost = made()
    wanted = LinearRegression().fit(X, y, sample_weight=cost * (1.0 + qid))
    base = make_pipeline(StandardScaler(), LinearRegression()) if piped else LinearRegression()
    model = RegressionRanker(base).fit(X, y, qid=qid, cost=cost, query_weight=1.0 + qid)
    np.testing.assert_allclose(model.predict(X), wanted.predict(X), rtol=1e-8)
    with pytest.raises(DataError, match="KNeighborsRegressor accepts no sample weights"):
        RegressionRanker(KNeighborsRegressor()).fit(X, y, cost=cost)
    RegressionRanker(KNeighborsRegressor()).fit(X, y)


def test_a_classifier_is_scored_by_expected_relevance():
    X, y, _, cost = made()
    wanted = LogisticRegression(max_iter=1000)
    wanted.fit(X, y / 2, sample_weight=cost / cost.mean())
    model = ClassifierRanker().fit(X, y, cost=cost)
    np.testing.assert_allclose(model.predict(X), wanted.predict_proba(X) @ wanted.classes_ * 2)
    assert not hasattr(model, "coef_")


def test_ordinal_classifiers_add_up_their_thresholds():
    X, y, _, _ = made()
    model = ClassifierRanker(scheme="ordinal").fit(X, y)
    chance = [
        LogisticRegression(max_iter=1000).fit(X, y > g).predict_proba(X)[:, 1] for g in (0, 2, 4)
    ]
    np.testing.assert_allclose(model.predict(X), 2 * np.sum(chance, axis=0))
    assert len(model.estimators_) == 3


def test_decision_values_are_linear_scores():
    X, y, _, _ = made(grades=2)
    svm = LinearSVC(random_state=0)
    model = ClassifierRanker(svm).fit(X, y)
    np.testing.assert_allclose(model.predict(X), svm.fit(X, y).decision_function(X))
    np.testing.assert_allclose(model.coef_, svm.coef_[0])
    X, y, _, _ = made()
    several = ClassifierRanker(svm, scheme="ordinal").fit(X, y)
    assert np.ptp(several.predict(X) - X @ several.coef_) == pytest.approx(0, abs=1e-9)
    with pytest.raises(DataError, match="scheme of ClassifierRanker must be 'ordinal'"):
        ClassifierRanker(svm).fit(X, y)
    with pytest.raises(DataError, match="must have predict_proba, got LinearSVC, which has not"):
        ClassifierRanker(svm, output="expected").fit(X, y).predict(X)
    forest = RandomForestClassifier(3, random_state=0)
    with pytest.raises(DataError, match="must have decision_function"):
        ClassifierRanker(forest, output="decision").fit(X, y)


def test_one_grade_is_the_score_of_all():
    X = made()[0]
    assert set(ClassifierRanker().fit(X, np.full(200, 3.0)).predict(X)) == {3.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        RegressionRanker(make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2))),
        ClassifierRanker(RandomForestClassifier(3, random_state=0), scheme="ordinal"),
        RegressionRanker(HistGradientBoostingRegressor(max_iter=3)),
    ],
)
def test_saved_models_predict_the_same_without_pickle(model, tmp_path):
    X, y, _, _ = made()
    model.fit(X, y)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert np.array_equal(back.predict(X), model.predict(X))
    assert repr(back.estimator) == repr(model.estimator)
    again = back.fit(X, y).predict(X)
    np.testing.assert_allclose(again, model.predict(X))


def test_classes_of_the_user_must_be_named(tmp_path):
    X, y, _, _ = made()
    model = RegressionRanker(OwnRidge()).fit(X, y)
    model.save(tmp_path / "model")
    with pytest.raises(FormatError, match="OwnRidge, which are not trusted"):
        load(tmp_path / "model")
    back = load(tmp_path / "model", classes=[OwnRidge])
    assert np.array_equal(back.predict(X), model.predict(X))
    (tmp_path / "model" / "estimators.skops").write_bytes(b"no zip")
    with pytest.raises(FormatError, match="is damaged"):
        load(tmp_path / "model", classes=[OwnRidge])


@pytest.mark.gate
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, HistGradientBoostingRegressor])
@pytest.mark.parametrize("fault", ["child", "circle", "feature"])
def test_trees_that_lead_nowhere_are_refused(kind, fault, tmp_path):
    X, y, _, _ = made()
    model = RegressionRanker(kind(random_state=0)).fit(X, y)
    inner = model.estimators_[0]
    if kind is DecisionTreeRegressor:
        state = inner.tree_.__getstate__()
        nodes, names = state["nodes"], ("left_child", "feature")
    else:
        nodes, names = inner._predictors[0][0].nodes, ("left", "feature_idx")
    name, value = {"child": (names[0], 10**6), "circle": (names[0], 0), "feature": (names[1], 3)}[
        fault
    ]
    nodes[name][0] = value
    if kind is DecisionTreeRegressor:
        inner.tree_.__setstate__(state)
    model.save(tmp_path / "model")
    with pytest.raises(FormatError, match="a tree has an invalid node"):
        load(tmp_path / "model")


def test_missing_values_are_the_models_business():
    X, y, _, _ = made()
    X[0, 0] = np.nan
    RegressionRanker(DecisionTreeRegressor(max_depth=2)).fit(X, y).predict(X)
    with pytest.raises(ValueError, match="NaN"):
        RegressionRanker().fit(X, y)
    data = make_ranking(n_queries=3, random_state=0)
    assert RegressionRanker().fit(data).rank(data).data.n_queries == 3
