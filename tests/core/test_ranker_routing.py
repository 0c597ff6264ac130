"""Metadata routing: queries, groups and costs find their way through scikit-learn's tools."""

import pickle
import re
import warnings

import numpy as np
import pytest
import sklearn
from reference_ranker import GroupRidgeRanker, RidgeRanker
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equirank import DataError, OneListWarning, QueryKFold, as_ranking_data
from equirank.metrics import NDCG, RND, ExposureGap
from equirank.rerankers import DetGreedy, Reranked

RNG = np.random.default_rng(0)
N = 80
X = RNG.normal(size=(N, 3)) * [1, 10, 100]
Y = np.clip(np.round(X[:, 0] + X[:, 1] / 10 + 2 * RNG.normal(size=N)), 0, 4)
QID = np.array([f"q{j}" for j in RNG.permutation(np.arange(N) % 8)])
SEX = np.where(X[:, 2] > 0, "f", "m")
RACE = np.array(list("xyz"))[RNG.integers(0, 3, N)]
GROUPS = {
    "1-D": (SEX, None),
    "list": (SEX.tolist(), None),
    "column": (SEX[:, None], None),
    "pandas": (lambda: frame("pandas", {"sex": SEX, "race": RACE}), "sex"),
    "polars": (lambda: frame("polars", {"sex": SEX, "race": RACE}), "sex"),
    "2-D": (np.stack([SEX, RACE], axis=1), "sensitive_0"),
    "pandas, odd index": (
        lambda: frame("pandas", {"sex": SEX}, index=np.arange(N)[::-1]),
        "sex",
    ),
}


def frame(library, columns, **options):
    return pytest.importorskip(library).DataFrame(columns, **options)


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(model, metric=None, cv=None, people=None):
    """What each fold scores, without scikit-learn's tools."""
    scores = []
    for train, test in (cv or QueryKFold(4)).split(X, qid=QID):
        fitted = clone(model).fit(X[train], Y[train], qid=QID[train])
        if metric is None:
            scores.append(fitted.score(X[test], Y[test], qid=QID[test]))
            continue
        given = {} if people is None else {"sensitive_features": people[test]}
        ranking = fitted.rank(X[test], Y[test], qid=QID[test], **given)
        value = float(metric.summarize(metric.per_query(ranking))[0])
        scores.append(value if metric.direction == "higher" else -value)
    return scores


def validate(model=None, params=None, **options):
    given = {"qid": QID} | (params or {})
    options = {"cv": QueryKFold(4), "error_score": "raise"} | options
    return cross_validate(model or RidgeRanker(), X, Y, params=given, **options)


# its own score


def test_cross_validate_with_its_own_score():
    result = validate()
    np.testing.assert_allclose(result["test_score"], by_hand(RidgeRanker()), rtol=1e-12)
    one_list = RidgeRanker().fit(X, Y, qid=0).score(X, Y, qid=0)
    assert not np.isclose(result["test_score"].mean(), one_list)


def test_cross_val_score_and_predict():
    scores = cross_val_score(
        RidgeRanker(), X, Y, params={"qid": QID}, cv=QueryKFold(4), error_score="raise"
    )
    np.testing.assert_allclose(scores, by_hand(RidgeRanker()), rtol=1e-12)
    predicted = cross_val_predict(RidgeRanker(), X, Y, params={"qid": QID}, cv=QueryKFold(4))
    train, test = next(iter(QueryKFold(4).split(X, qid=QID)))
    expected = RidgeRanker().fit(X[train], Y[train], qid=QID[train]).predict(X[test])
    np.testing.assert_allclose(predicted[test], expected, rtol=1e-12)


def test_a_pipeline_passes_queries_to_fit_and_score():
    pipe = make_pipeline(StandardScaler(), RidgeRanker())
    pipe.fit(X, Y, qid=QID)
    Z = StandardScaler().fit_transform(X)
    alone = RidgeRanker().fit(Z, Y, qid=QID)
    np.testing.assert_allclose(pipe.predict(X), alone.predict(Z), rtol=1e-12)
    assert pipe.score(X, Y, qid=QID) == pytest.approx(alone.score(Z, Y, qid=QID), rel=1e-12)
    assert pipe.score(X, Y, qid=QID) != pipe.score(X, Y, qid=0)


def test_a_pipeline_inside_cross_validate():
    pipe = make_pipeline(StandardScaler(), RidgeRanker())
    result = validate(pipe)
    assert len(result["test_score"]) == 4
    assert (result["test_score"] > 0.5).all()


def test_a_search_with_its_own_score():
    search = GridSearchCV(
        RidgeRanker(), {"penalty": [0.1, 1e4]}, cv=QueryKFold(4), error_score="raise"
    )
    search.fit(X, Y, qid=QID)
    means = [np.mean(by_hand(RidgeRanker(penalty))) for penalty in (0.1, 1e4)]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-12)
    assert search.score(X, Y, qid=QID) == search.best_estimator_.score(X, Y, qid=QID)
    assert search.predict(X).shape == (N,)


def test_a_search_over_a_pipeline():
    pipe = make_pipeline(StandardScaler(), RidgeRanker())
    grid = {"ridgeranker__penalty": [0.1, 1e4]}
    search = GridSearchCV(
        pipe, grid, cv=QueryKFold(4), scoring=(NDCG @ 5).scorer(), error_score="raise"
    )
    search.fit(X, Y, qid=QID)
    assert set(search.best_params_) == set(grid)


# one metric


@pytest.mark.parametrize("metric", [NDCG @ 3, NDCG(undefined="zero")])
def test_one_relevance_metric(metric):
    result = validate(scoring=metric.scorer())
    np.testing.assert_allclose(result["test_score"], by_hand(RidgeRanker(), metric), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROUPS)
def test_one_fairness_metric_with_groups_of_every_shape(kind):
    people, by = GROUPS[kind]
    people = people() if callable(people) else people
    metric = RND(step=3, by=by)
    result = validate(params={"sensitive_features": people}, scoring=metric.scorer())
    expected = by_hand(RidgeRanker(), RND(step=3), people=SEX)
    np.testing.assert_allclose(result["test_score"], expected, rtol=1e-12)
    assert (result["test_score"] < 0).all()


def test_crossed_groups_in_a_search():
    people = GROUPS["pandas"][0]()
    search = GridSearchCV(
        RidgeRanker(),
        {"penalty": [0.1, 1e4]},
        cv=QueryKFold(4),
        scoring=ExposureGap(by=("sex", "race")).scorer(),
        error_score="raise",
    )
    search.fit(X, Y, qid=QID, sensitive_features=people)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# two metrics


def test_two_metrics_in_cross_validate():
    scoring = {"fair": RND(step=3).scorer(), "good": (NDCG @ 3).scorer()}
    result = validate(params={"sensitive_features": SEX}, scoring=scoring, return_estimator=True)
    fair = by_hand(RidgeRanker(), RND(step=3), people=SEX)
    np.testing.assert_allclose(result["test_fair"], fair, rtol=1e-12)
    np.testing.assert_allclose(result["test_good"], by_hand(RidgeRanker(), NDCG @ 3), rtol=1e-12)
    # the scorer had the groups, the ranker had not
    assert not any(model.saw_groups_ for model in result["estimator"])


@pytest.mark.slow
def test_two_metrics_in_a_search_over_a_pipeline():
    pipe = make_pipeline(StandardScaler(), RidgeRanker())
    search = GridSearchCV(
        pipe,
        {"ridgeranker__penalty": [0.1, 1e4]},
        cv=QueryKFold(4),
        scoring={"fair": RND(step=3).scorer(), "good": (NDCG @ 3).scorer()},
        refit="good",
        error_score="raise",
    )
    search.fit(X, Y, qid=QID, sensitive_features=frame("pandas", {"sex": SEX}))
    assert (search.cv_results_["mean_test_fair"] < 0).all()
    assert (search.cv_results_["mean_test_good"] > 0).all()
    assert not search.best_estimator_[-1].saw_groups_


# who sees the groups


def test_a_ranker_that_needs_groups_gets_them():
    result = validate(GroupRidgeRanker(), params={"sensitive_features": SEX}, return_estimator=True)
    assert all(model.saw_groups_ for model in result["estimator"])
    assert all(model.groups_ == {"sensitive": ["f", "m"]} for model in result["estimator"])


def test_groups_nobody_asks_for_are_an_error_of_scikit_learn():
    class NoItems(QueryKFold):
        __metadata_request__split = {"sensitive_features": False}  # noqa: RUF012

    with pytest.raises((TypeError, UnsetMetadataPassedError), match="sensitive_features"):
        validate(params={"sensitive_features": SEX}, cv=NoItems(4))


def test_a_dict_of_groups_is_caught_by_the_length_check():
    people = {"sex": SEX, "race": RACE}
    with pytest.raises(DataError, match=r"sensitive_features\['sex'\] must have one value per row"):
        validate(params={"sensitive_features": people}, scoring=RND(by="sex").scorer())
    search = GridSearchCV(
        GroupRidgeRanker(), {"penalty": [1.0]}, cv=QueryKFold(4), error_score="raise"
    )
    with pytest.raises(DataError, match=r"sensitive_features\['sex'\]"):
        search.fit(X, Y, qid=QID, sensitive_features=people)


def test_folds_by_item_are_spread_over_groups():
    cv = QueryKFold(4, by="item")
    result = validate(params={"sensitive_features": SEX}, cv=cv, return_indices=True)
    for group in ("f", "m"):
        counts = [(SEX[test] == group).sum() for test in result["indices"]["test"]]
        # within one per list, so within eight in all
        assert max(counts) - min(counts) <= 8


# what is said without the lists, and that the line it names works

PIPE = make_pipeline(StandardScaler(), RidgeRanker())
GRID = {"penalty": [0.1, 1e4]}
CURVE = {"param_name": "penalty", "param_range": [1.0]}
#: A tool, called with its splitter and with what it gets of the lists; and the line to write.
TOOLS = {
    "cross_val_score": lambda **o: cross_val_score(RidgeRanker(), X, Y, **o),
    "cross_validate": lambda **o: cross_validate(RidgeRanker(), X, Y, **o),
    "cross_val_predict": lambda **o: cross_val_predict(RidgeRanker(), X, Y, **o),
    "learning_curve": lambda **o: learning_curve(RidgeRanker(), X, Y, train_sizes=[1.0], **o),
    "validation_curve": lambda **o: validation_curve(RidgeRanker(), X, Y, **CURVE, **o),
    "permutation_test_score": lambda **o: permutation_test_score(
        RidgeRanker(), X, Y, n_permutations=1, **o
    ),
}


def messages(work):
    """The texts of the warnings of a call, once each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    assert all(each.category is OneListWarning for each in caught)
    return list(dict.fromkeys(str(each.message) for each in caught))


def line_of(message):
    return message.partition("with sklearn.set_config(enable_metadata_routing=True) write ")[2]


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_cross_validation_without_lists_names_the_line_and_the_line_works(tool):
    call, line = TOOLS[tool], f'{tool}(..., cv=QueryKFold(5), params={{"qid": qid}})'
    end = line + ", or qid=0 if they are one list"
    with sklearn.config_context(enable_metadata_routing=False):
        fits = [f"qid was not given: RidgeRanker.fit takes all {n} rows" for n in (40, 64)]
        for cv in (5, QueryKFold(5, by="item")):
            said = messages(lambda cv=cv: call(cv=cv))
            assert {line_of(each) for each in said} == {end}
            assert said[0].startswith(tuple(fits))
        for given in ({}, {"params": {"qid": QID}}):
            with pytest.raises(DataError) as caught:
                call(cv=QueryKFold(5), **given)
            assert line_of(str(caught.value)) == line
        # queries to fit alone
        said = messages(lambda: call(cv=GroupKFold(5), groups=QID, params={"qid": QID}))
        wanted = [] if tool == "cross_val_predict" else {end}
        assert {line_of(each) for each in said} == set(wanted)
        assert all("RidgeRanker.score takes" in each for each in said)
    assert messages(lambda: call(cv=QueryKFold(5), params={"qid": QID})) == []
    assert messages(lambda: call(cv=QueryKFold(5, by="item"), params={"qid": 0})) == []


def test_each_cross_validation_says_it_once():
    def said():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            GridSearchCV(RidgeRanker(), GRID, cv=4, n_jobs=1).fit(X, Y)
        return [str(each.message).partition(" takes")[0] for each in caught]

    each = ["qid was not given: RidgeRanker.fit", "qid was not given: RidgeRanker.score"]
    with sklearn.config_context(enable_metadata_routing=False):
        assert said() == said() == each


@pytest.mark.parametrize("scoring", [None, (NDCG @ 5).scorer()])
def test_a_search_without_lists_names_the_line_and_the_line_works(scoring):
    def search(cv):
        return GridSearchCV(RidgeRanker(), GRID, cv=cv, scoring=scoring, error_score="raise")

    line = "GridSearchCV(..., cv=QueryKFold(5)).fit(X, y, qid=qid)"
    later = "GridSearchCV.score(X, y, qid=qid)"
    end = ", or qid=0 if they are one list"
    with sklearn.config_context(enable_metadata_routing=False):
        said = messages(lambda: search(GroupKFold(4)).fit(X, Y, groups=QID, qid=QID))
        assert {line_of(each) for each in said} == {line + end}
        assert all("score" in each for each in said)
        with pytest.raises(DataError) as caught:
            search(QueryKFold(5)).fit(X, Y, qid=QID)
        assert line_of(str(caught.value)) == line
    found = []
    assert messages(lambda: found.append(search(QueryKFold(5)).fit(X, Y, qid=QID))) == []
    assert [line_of(each) for each in messages(lambda: found[0].score(X, Y))] == [later + end]
    assert messages(lambda: found[0].score(X, Y, qid=QID)) == []


def test_a_pipeline_without_lists_names_the_line_and_the_line_works():
    many = np.tile(X, (3, 1)), np.tile(Y, 3)
    lines = [
        f"Pipeline.{name}(X, y, qid=qid), or qid=0 if they are one list"
        for name in ("fit", "score")
    ]
    with sklearn.config_context(enable_metadata_routing=False):
        said = messages(lambda: clone(PIPE).fit(*many).score(*many))
        assert [line_of(each) for each in said] == lines
        pipe = clone(PIPE).fit(X, Y, ridgeranker__qid=QID)
        assert [line_of(each) for each in messages(lambda: pipe.score(X, Y))] == lines[1:]
    assert messages(lambda: clone(PIPE).fit(X, Y, qid=QID).score(X, Y, qid=QID)) == []


def test_predictions_by_list_are_never_those_of_one_list_in_silence():
    model = Reranked(RidgeRanker(), DetGreedy()).fit(X, Y, qid=QID, sensitive_features=SEX)
    scorer, given = (NDCG @ 5).scorer(), {"sensitive_features": SEX}
    (said,) = messages(lambda: scorer(model, X, Y, **given))
    assert said.startswith("qid was not given: NDCG@5.scorer() takes all 80 rows as one list")
    assert messages(lambda: scorer(model, X, Y, qid=QID, **given)) == []
    many = np.tile(X, (13, 1)), np.tile(Y, 13)  # predict alone would warn, too
    (said,) = messages(lambda: scorer(model, *many, sensitive_features=np.tile(SEX, 13)))
    assert said.startswith("qid was not given: NDCG@5.scorer() takes all 1,040 rows as one list")
    data = as_ranking_data(X, Y, qid=QID, sensitive_features=SEX)
    assert scorer(model, data) == scorer(model, X, Y, qid=QID, **given)


@pytest.mark.gate
def test_other_processes_name_a_line_too():
    """A warning is an error there, too."""
    line = re.escape('write cross_validate(..., cv=QueryKFold(5), params={"qid": qid})')
    without = sklearn.config_context(enable_metadata_routing=False)
    with without, pytest.raises(OneListWarning, match=line):
        cross_val_score(RidgeRanker(), X, Y, cv=2, n_jobs=2, error_score="raise")


# the scorers themselves


def test_scorers_pickle():
    scorer = RND(step=3).scorer()
    again = pickle.loads(pickle.dumps(scorer))
    model = RidgeRanker().fit(X, Y, qid=QID)
    given = {"qid": QID, "sensitive_features": SEX}
    assert again(model, X, Y, **given) == scorer(model, X, Y, **given)


@pytest.mark.gate
def test_scorers_go_to_other_processes():
    scorer = RND(step=3).scorer()
    serial = validate(params={"sensitive_features": SEX}, scoring=scorer)
    parallel = validate(params={"sensitive_features": SEX}, scoring=scorer, n_jobs=2)
    assert serial["test_score"].tolist() == parallel["test_score"].tolist()


def test_a_scorer_tells_which_groups_it_lacks():
    with pytest.raises(DataError, match="RND needs groups"):
        validate(scoring=RND().scorer())


def test_without_routing_scorers_still_work_by_hand():
    with sklearn.config_context(enable_metadata_routing=False):
        model = RidgeRanker().fit(X, Y, qid=QID)
        value = (NDCG @ 10).scorer()(model, X, Y, qid=QID)
        assert value == pytest.approx(model.score(X, Y, qid=QID), rel=1e-12)
