"""The search finds the best combined score, whichever way the points of its grid are trained."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, ParameterSampler

from equirank import DataError, EquirankWarning, QueryKFold, Ranker, as_ranking_data, evaluate
from equirank.datasets import make_ranking
from equirank.plots import tradeoff
from equirank.rankers import DirectRanker
from equirank.search import TradeoffScorer, TradeoffSearch
from equirank.search import tradeoff_search as module

DATA = make_ranking(n_queries=16, n_items=12, feature_bias=1.0, random_state=0)
OTHER = make_ranking(n_queries=8, n_items=12, feature_bias=1.0, random_state=1)
SMALL = {"layers": (4,), "n_epochs": 3, "batch_size": 32, "learning_rate": 0.02}
RANKER = DirectRanker("flipped", **SMALL, random_state=0)
GRID = {"gamma": [0.1, 1.0], "max_steps": [3, 9]}
BY = {"unfairness": "RND(step=4)"}


class ByColumn(Ranker):
    """Rank by one column, up or down."""

    def __init__(self, column=0, sign=1.0):
        self.column, self.sign = column, sign

    def _fit(self, data):
        self.seen_ = data.n_rows

    def _scores(self, data):
        return self.sign * data.X[:, self.column]


def worth(ranker, data):
    found = evaluate(ranker.rank(data), metrics=["NDCG", "RND(step=4)"])
    return float(found["NDCG"]), float(found["RND(step=4)"])


@pytest.mark.slow
def test_every_point_is_measured_as_if_it_were_alone():
    search = TradeoffSearch(RANKER, GRID, cv=OTHER, **BY).fit(DATA)
    found = search.cv_results_
    assert found["params"] == [{"gamma": g, "max_steps": n} for g in (0.1, 1.0) for n in (3, 9)]
    for at, point in enumerate(found["params"]):
        good, bad = worth(clone(RANKER).set_params(**point).fit(DATA), OTHER)
        assert found["mean_test_relevance"][at] == pytest.approx(good, abs=1e-6)
        assert found["mean_test_unfairness"][at] == pytest.approx(bad, abs=1e-6)
        assert found["mean_test_score"][at] == pytest.approx(0.5 * good + 0.5 * (1 - bad))
        assert found["mean_test_distance"][at] == pytest.approx(abs(1 - good) + abs(bad))
    best = int(np.argmax(found["mean_test_score"]))
    assert best == int(np.argmin(found["mean_test_distance"])) == search.best_index_
    assert search.best_params_ == found["params"][best]
    assert search.best_score_ == found["mean_test_score"][best]
    assert found["rank_test_score"][best] == 1
    assert sorted(found["rank_test_score"]) == [1, 2, 3, 4]
    assert search.score(OTHER) == pytest.approx(search.best_score_, abs=1e-6)
    np.testing.assert_allclose(search.predict(OTHER), search.best_estimator_.predict(OTHER))
    assert search.transform(OTHER).shape == (96, 4)


@pytest.mark.slow
def test_it_agrees_with_scikit_learn_s_search_fold_by_fold():
    folds = QueryKFold(2)
    ours = TradeoffSearch(RANKER, GRID, cv=folds, **BY).fit(DATA)
    given = {"qid": DATA.query_of_rows(), "sensitive_features": DATA.attribute("group").codes}
    scorer = TradeoffScorer("NDCG", "RND(step=4)")
    with config_context(enable_metadata_routing=True):
        theirs = GridSearchCV(RANKER, GRID, scoring=scorer, cv=folds).fit(DATA.X, DATA.y, **given)
    assert theirs.cv_results_["params"] == ours.cv_results_["params"]
    for name in ("split0_test_score", "split1_test_score", "mean_test_score", "std_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-6)
    np.testing.assert_array_equal(
        ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"]
    )
    assert (ours.best_params_, ours.best_index_) == (theirs.best_params_, theirs.best_index_)
    np.testing.assert_allclose(ours.predict(DATA.X), theirs.predict(DATA.X), atol=1e-4)


def test_each_split_trains_all_points_at_once(monkeypatch):
    runs = []
    fit_all = module.fit_all
    monkeypatch.setattr(module, "fit_all", lambda *a: runs.append(len(a[0])) or fit_all(*a))
    TradeoffSearch(RANKER, GRID, cv=2, random_state=0, **BY).fit(DATA)
    assert runs == [4, 4]


@pytest.mark.parametrize("refit", [True, False])
def test_the_best_is_fitted_again_or_kept(refit):
    search = TradeoffSearch(ByColumn(), {"column": [0, 9]}, refit=refit, random_state=0, **BY)
    search.fit(DATA)
    assert search.best_params_ in ({"column": 0}, {"column": 9})
    assert search.best_estimator_.seen_ == (192 if refit else 144)
    assert not hasattr(search, "transform")


def test_weights_decide_and_ties_go_to_the_first():
    grid = {"column": [9, 0, 0], "sign": [1.0]}
    relevance = TradeoffSearch(ByColumn(), grid, weight=1.0, cv=OTHER, **BY).fit(DATA)
    assert relevance.best_index_ == 1
    fairness = TradeoffSearch(ByColumn(), grid, weight=0.0, cv=OTHER, **BY).fit(DATA)
    assert fairness.best_index_ == 0  # the column that knows nothing


def test_grids_lists_of_grids_and_points():
    several = [{"column": [0, 1]}, {"sign": [-1.0]}]
    search = TradeoffSearch(ByColumn(), several, cv=OTHER, **BY).fit(DATA)
    assert search.cv_results_["param_sign"].mask.tolist() == [True, True, False]
    assert search.table["column"].tolist() == [0, 1, None]
    drawn = ParameterSampler({"column": range(10)}, 3, random_state=0)
    assert len(TradeoffSearch(ByColumn(), drawn, cv=OTHER, **BY).fit(DATA).table) == 3
    for wrong in ("gamma", [], [1], 3):
        with pytest.raises(DataError, match="param_grid must be"):
            TradeoffSearch(ByColumn(), wrong, cv=OTHER, **BY).fit(DATA)


def test_folds_hold_whole_lists_whatever_the_order_of_rows():
    rows = np.random.default_rng(0).permutation(DATA.n_rows)
    qid = DATA.query_of_rows()[rows]
    group = DATA.attribute("group").codes[rows]
    mixed = as_ranking_data(DATA.X[rows], DATA.y[rows], qid=qid, sensitive_features=group)
    for train, test in TradeoffSearch(ByColumn(), {}, cv=4)._splits(mixed):
        assert (train.n_queries, test.n_queries) == (12, 4)
        assert not set(train.qids) & set(test.qids)


def test_data_that_is_one_list_is_split_by_person():
    people = make_ranking(n_queries=1, n_items=80, feature_bias=1.0, random_state=0)
    for cv in (0.25, 4):
        search = TradeoffSearch(ByColumn(), {"column": [0, 1]}, cv=cv, refit=False, random_state=0)
        assert search.fit(people).best_estimator_.seen_ == 60


def test_whoever_fails_has_no_score():
    grid = {"learning_rate": [0.01, 1e200]}
    ranker = clone(RANKER).set_params(tau="identity")
    search = TradeoffSearch(ranker, grid, cv=OTHER, **BY)
    with pytest.warns(EquirankWarning, match="1 of 2 points of param_grid could not be fitted"):
        search.fit(DATA)
    assert search.best_params_ == {"learning_rate": 0.01}
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    assert search.cv_results_["rank_test_score"].tolist() == [1, 2]
    with pytest.raises(DataError, match="no longer finite"):
        TradeoffSearch(ranker, {"learning_rate": [1e200]}, cv=OTHER, **BY).fit(DATA)


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="ranker of TradeoffSearch must be a ranker"):
        TradeoffSearch(object(), GRID).fit(DATA)
    with pytest.raises(DataError, match="gamma of DirectRanker must be"):
        TradeoffSearch(RANKER, {"gamma": [-1.0, 1.0]}, **BY).fit(DATA)
    with pytest.raises(DataError, match="needs groups"):
        TradeoffSearch(ByColumn(), {"column": [0]}).fit(DATA.X, DATA.y, qid=DATA.query_of_rows())
    with pytest.raises(DataError, match="cv of TradeoffSearch must be"):
        TradeoffSearch(ByColumn(), {"column": [0]}, cv=1.5).fit(DATA)


@pytest.mark.slow
def test_the_picture_has_all_points_and_the_best_one_s_line():
    pytest.importorskip("altair")
    search = TradeoffSearch(ByColumn(), {"column": range(10)}, cv=OTHER, **BY).fit(DATA)
    spec = tradeoff(search).to_dict()
    points = [
        row
        for layer in spec["layer"]
        if layer["mark"]["type"] == "point"
        for row in layer["data"]["values"]
    ]
    assert len(points) == 10
    assert {row["name"] for row in points} == {f"column {at}" for at in range(10)}
    (best,) = [row for row in points if row["label"]]
    assert best["name"] == f"column {search.best_params_['column']}"
    texts = [layer["encoding"].get("text", {}).get("value", "") for layer in spec["layer"]]
    assert f"best of all: {min(search.table['distance']):.3f}" in texts


def test_it_is_a_scikit_learn_estimator():
    search = TradeoffSearch(RANKER, GRID, cv=OTHER, **BY)
    assert search.get_params()["ranker__gamma"] == 0.5
    copy = pickle.loads(pickle.dumps(clone(search).fit(DATA)))
    assert not hasattr(search, "best_params_")
    np.testing.assert_array_equal(copy.predict(OTHER), copy.best_estimator_.predict(OTHER))
    with pytest.raises(NotFittedError):
        search.predict(OTHER)
