"""Categories of a frame in every learner, comparison, re-ranker, search and audit."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import equirank
from equirank import DataError, EquirankWarning, QueryKFold, as_ranking_data, audit, compare
from equirank.metrics import NDCG
from equirank.rankers import LambdaMART, RankSVM, RegressionRanker, as_ranker
from equirank.rerankers import DetGreedy, Reranked
from equirank.search import TradeoffSearch

pd = pytest.importorskip("pandas")
lightgbm = pytest.importorskip("lightgbm")
N_ROWS = 240
TREES = {
    "n_jobs": 1,
    "n_estimators": 8,
    "min_child_samples": 5,
    "min_data_per_group": 5,
    "cat_smooth": 1,
}
NAMES = {"y": "grade", "qid": "query", "sensitive_features": "seller", "ids": "sku"}
GOOD = {"ash": 0, "birch": 2, "cedar": 0, "oak": 1}


def items(seed=0, brands=tuple(GOOD)):
    rng = np.random.default_rng(seed)
    brand = rng.choice(list(brands), N_ROWS)
    frame = pd.DataFrame({"sku": [f"i{at:03d}" for at in range(N_ROWS)], "brand": brand})
    frame["price"] = rng.random(N_ROWS)
    frame["query"] = [f"q{at % 12}" for at in range(N_ROWS)]
    frame["seller"] = rng.choice(["large", "small"], N_ROWS)
    frame["grade"] = [GOOD[each] for each in brand]
    return frame


def model_of(library):
    module = pytest.importorskip(library)
    return {
        "lightgbm": lambda: module.LGBMRanker(n_estimators=8, min_child_samples=5, n_jobs=1),
        "xgboost": lambda: module.XGBRanker(n_estimators=8, n_jobs=1),
        "catboost": lambda: module.CatBoostRanker(iterations=8, thread_count=1, random_seed=0),
    }[library]()


@pytest.mark.slow
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_libraries_never_see_an_unseen_category(library, tmp_path):
    frame, model = items(), as_ranker(model_of(library))
    data = as_ranking_data(frame, **NAMES)
    model.fit(data)
    by_frame = as_ranker(model_of(library)).fit(frame.drop(columns=["seller", "sku"]), "grade",
                                                qid="query")  # fmt: skip
    np.testing.assert_array_equal(model.predict(frame), by_frame.predict(frame))
    assert model.score(data) > 0.9
    model.save(tmp_path / "model")
    again = equirank.load(tmp_path / "model")
    new = frame.assign(brand="elm")
    with pytest.raises(DataError, match=r"X\['brand'\].*got 'elm' in row 0 \(unseen in 240 of 240"):
        again.predict(new)
    with pytest.warns(EquirankWarning, match="'elm'"):
        found = again.predict(new, unseen="missing")
    np.testing.assert_array_equal(found, model.predict(frame.assign(brand=None)))


def test_own_codes_of_other_data_are_translated():
    data = as_ranking_data(items(), **NAMES)
    model = LambdaMART(**TREES).fit(data)
    few = items(1, ("birch", "oak"))
    np.testing.assert_array_equal(model.predict(as_ranking_data(few, **NAMES)), model.predict(few))


def test_validation_lists_are_encoded_like_the_training_data():
    train, few = as_ranking_data(items(), **NAMES), items(1, ("birch", "oak"))
    other, same = as_ranking_data(few, **NAMES), as_ranking_data(few, **NAMES, like=train)
    assert other.categories != same.categories
    for more in ({}, {"early_stopping": 3}):
        found = LambdaMART(**TREES, **more, validation=other).fit(train)
        expected = LambdaMART(**TREES, **more, validation=same).fit(train)
        np.testing.assert_array_equal(found.validation_scores_, expected.validation_scores_)
        assert found.validation_scores_[-1] > 0.99
    new = as_ranking_data(few.assign(brand="elm"), **NAMES)
    with pytest.raises(DataError, match="got 'elm' in row 0"):
        LambdaMART(**TREES, validation=new).fit(train)


def test_learners_without_categories_and_what_helps():
    frame = items()
    data = as_ranking_data(frame, **NAMES)
    for model in (RankSVM(), RegressionRanker(), as_ranker(Ridge())):
        with pytest.raises(DataError, match=r"categories in 'brand'.*OneHotEncoder"):
            model.fit(data)
    encode = ColumnTransformer([("brand", OneHotEncoder(), ["brand"])], remainder="passthrough")
    pipeline = as_ranker(make_pipeline(encode, Ridge())).fit(data)
    assert pipeline.score(data) > 0.99
    np.testing.assert_array_equal(pipeline.predict(frame), pipeline.predict(data))
    with pytest.raises(DataError, match=r"the pipeline must encode the categories in 'brand'"):
        as_ranker(make_pipeline(Ridge())).fit(data)
    trees = RegressionRanker(lightgbm.LGBMRegressor(**TREES))
    assert trees.fit(data).score(data) > 0.99


def test_a_fitted_model_of_another_library_takes_no_texts():
    data = as_ranking_data(items(), **NAMES)
    booster = as_ranker(lightgbm.LGBMRegressor(n_estimators=4, n_jobs=1)).fit(data).model_.booster_
    with pytest.raises(DataError, match="'brand' has type"):
        as_ranker(booster).predict(items()[["brand", "price"]])
    ranker = LambdaMART(**TREES).fit(data)
    frozen = as_ranker(ranker, prefit=True)
    few = items(1, ("birch", "oak"))
    np.testing.assert_array_equal(frozen.predict(few), ranker.predict(few))
    new = as_ranking_data(few.assign(brand="elm"), **NAMES)
    with pytest.warns(EquirankWarning, match="'elm'"):
        assert len(frozen.predict(new, unseen="missing")) == N_ROWS


@pytest.mark.slow
def test_compare_takes_a_frame():
    frame = items()
    methods = {"trees": LambdaMART(**TREES), "price": "price"}
    methods["fair"] = Reranked(lightgbm.LGBMRanker(n_estimators=8, n_jobs=1), DetGreedy())
    methods["linear"] = RankSVM()
    grid = {"num_leaves": [4]}
    methods["grid"] = GridSearchCV(LambdaMART(**TREES), grid, cv=QueryKFold(2))
    found = compare(methods, frame, "NDCG@10", **NAMES, cv=3)
    expected = compare(methods, as_ranking_data(frame, **NAMES), "NDCG@10", cv=3)
    assert found.summary()["value"].tolist()[:3] == expected.summary()["value"].tolist()[:3]
    assert found.summary()["value"][0] > 0.99
    assert set(found.errors["method"]) == {"linear", "grid"}
    assert all("OneHotEncoder" in error for error in found.errors["error"])
    with pytest.raises(DataError, match="y must be None beside a RankingData"):
        compare(methods, as_ranking_data(frame, **NAMES), "NDCG@10", y="grade")


def test_a_reranked_model_knows_the_groups_of_training():
    frame = items()
    model = Reranked(LambdaMART(**TREES), DetGreedy())
    model.fit(as_ranking_data(frame, **NAMES))
    names = {"qid": "query", "sensitive_features": "seller"}
    assert model.rank(frame, **names).data.n_queries == 12
    new = frame.assign(seller=frame["seller"].where(frame.index != 7, "huge"))
    with pytest.raises(DataError, match=r"\['seller'\].*got 'huge' in row 7 \(unseen in 1 of 240"):
        model.rank(new, **names)
    with pytest.warns(EquirankWarning, match=r"\['seller'\] \(1 of 240 rows, first 'huge'"):
        found = model.rank(new, **names, unseen="missing")
    assert found.data.attribute("seller").n_unknown == 1


@pytest.mark.slow
def test_a_search_uses_the_encoding_of_the_whole_data():
    data = as_ranking_data(items(), **NAMES)
    few = as_ranking_data(items(1, ("birch", "oak")), **NAMES)
    for cv in (3, few):
        search = TradeoffSearch(
            ranker=LambdaMART(**TREES),
            param_grid={"n_estimators": [4, 8]},
            relevance=NDCG(),
            unfairness="ExposureGap",
            cv=cv,
        ).fit(data)
        assert search.cv_results_["mean_test_relevance"].min() > 0.99
    forgiving = as_ranking_data(items(), **NAMES, unseen="missing")
    search.set_params(cv=as_ranking_data(items(1).replace("oak", "elm"), **NAMES))
    with pytest.warns(EquirankWarning, match="'elm'") as caught:
        search.fit(forgiving)
    assert len(caught) == 1
    like = as_ranking_data(items(1, ("birch", "oak")), **NAMES, like=search)
    np.testing.assert_array_equal(search.predict(few), search.predict(like))


def test_an_audit_ranks_a_frame_by_a_model():
    frame = items()
    data = as_ranking_data(frame, **NAMES)
    model = LambdaMART(**TREES).fit(data)
    options = {"n_boot": 0, "n_permutations": 0, "k": 5}
    names = {"query": "query", "relevance": "grade", "sensitive": "seller", "id": "sku"}
    found = audit(frame, score=model, **names, **options)
    expected = audit(model.rank(data), **options)
    for column in ("group", "n", "position_difference"):
        if column in expected.tables["groups"].columns:
            assert list(found.tables["groups"][column]) == list(expected.tables["groups"][column])
    with pytest.raises(DataError, match="data must be a RankingData if score is a model"):
        audit(frame, score=lambda X: X[:, 0], **names, **options)
