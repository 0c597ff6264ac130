"""A ranker and a re-ranker as one estimator."""

import pickle

import numpy as np
import pytest
import sklearn
from reference_ranker import GroupRidgeRanker, RidgeRanker
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from equirank import DataError, FormatError, QueryKFold, Ranking, as_ranking_data, load
from equirank.metrics import NDCG, FAStarIRTest
from equirank.rerankers import (
    DetConstSort,
    DetGreedy,
    EpsilonGreedy,
    ExposureOptimal,
    FAStarIR,
    Reranked,
    Reranking,
)
from equirank.testing import check_ranker, with_groups

RNG = np.random.default_rng(0)
N = 160
X = RNG.normal(size=(N, 3))
Y = np.clip(np.round(X[:, 0] + X[:, 1]), 0, 4)
QID = np.array([f"q{j}" for j in RNG.permutation(np.arange(N) % 8)])
SEX = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, "m", "f")


def model(**given):
    return Reranked(RidgeRanker(), FAStarIR(protected="f", **given))


@pytest.mark.slow
def test_it_passes_the_checks_of_rankers():
    check_ranker(Reranked(RidgeRanker(), FAStarIR()))
    check_ranker(Reranked(RidgeRanker(), DetGreedy()))


@pytest.mark.slow
def test_it_passes_the_checks_of_scikit_learn():
    check_estimator(with_groups(Reranked(RidgeRanker(), FAStarIR())), on_skip=None)


def test_what_the_pair_cost_needs_comes_through():
    from equirank.costs import GroupPairCost
    from equirank.rankers import RankBoost

    boost = RankBoost(n_estimators=3, pair_cost=GroupPairCost([[1.0, 5.0], [1.0, 1.0]]))
    fitted = Reranked(boost, DetGreedy()).fit(X, Y, qid=QID, sensitive_features=SEX)
    alone = clone(boost).fit(X, Y, qid=QID, sensitive_features=SEX)
    np.testing.assert_array_equal(fitted.estimator_.predict(X), alone.predict(X))
    with pytest.raises(DataError, match="sensitive_features must be given"):
        Reranked(boost, DetGreedy()).fit(X, Y, qid=QID)


def test_it_ranks_and_reranks():
    fitted = model().fit(X, Y, qid=QID)
    result = fitted.rank(X, Y, qid=QID, sensitive_features=SEX)
    scores = RidgeRanker().fit(X, Y, qid=QID).predict(X)
    expected = FAStarIR(protected="f").rerank(scores, sensitive_features=SEX, qid=QID, y_true=Y)
    assert isinstance(result, Reranking)
    assert np.array_equal(result.position, expected.position)
    assert len(result.moves) > 0
    assert result.holds
    assert result.price.gain == "relevance"


def test_predict_gives_scores_in_the_new_order():
    fitted = model().fit(X, Y, qid=QID)
    result = fitted.rank(X, qid=QID, sensitive_features=SEX)
    scores = fitted.predict(X, qid=QID, sensitive_features=SEX)
    again = Ranking.from_scores(as_ranking_data(None, Y, qid=QID), scores)
    assert np.array_equal(again.position, result.position)
    own = RidgeRanker().fit(X, Y, qid=QID).predict(X)
    for query in np.unique(QID):
        rows = np.equal(QID, query)
        assert np.array_equal(np.sort(scores[rows]), np.sort(own[rows]))
    alone = fitted.predict(X, qid=QID, sensitive_features=np.full(N, "f"))
    assert np.array_equal(alone, own)


def test_tied_scores_are_told_apart_where_items_moved():
    constant = Reranked(Ridge(), DetGreedy()).fit(np.ones((4, 1)), [1, 1, 1, 1])
    scores = constant.predict(np.ones((4, 1)), sensitive_features=list("mmff"))
    assert np.argsort(-scores, kind="stable").tolist() == [0, 2, 1, 3]
    assert len(set(scores.tolist())) == 4


def test_items_behind_the_cutoff_come_last():
    fitted = Reranked(Ridge(), DetGreedy(k=2)).fit([[4], [3], [2], [1]], [3, 2, 1, 0])
    given = {"sensitive_features": list("mmff")}
    assert fitted.rank([[4], [3], [2], [1]], **given).order().tolist() == [0, 2]
    scores = fitted.predict([[4], [3], [2], [1]], **given)
    assert np.argsort(-scores).tolist() == [0, 2, 1, 3]


def test_groups_are_needed_to_predict_but_not_to_fit():
    fitted = model().fit(X, Y, qid=QID)
    with pytest.raises(DataError, match="sensitive_features must be given: Reranked needs it"):
        fitted.predict(X, qid=QID)
    with pytest.raises(DataError, match="sensitive_features must be given"):
        fitted.rank(X, qid=QID)


def test_the_ranker_inside_stays_blind():
    fitted = model().fit(X, Y, qid=QID, sensitive_features=SEX)
    assert not fitted.estimator_.saw_groups_
    needy = Reranked(GroupRidgeRanker(), DetGreedy())
    with pytest.raises(
        DataError, match="sensitive_features must be given: Reranked needs it to fit"
    ):
        needy.fit(X, Y, qid=QID)
    assert needy.fit(X, Y, qid=QID, sensitive_features=SEX).estimator_.saw_groups_


def test_data_objects_and_rows_in_any_order():
    data = as_ranking_data(X, Y, qid=QID, sensitive_features=SEX)
    fitted = model().fit(data)
    same = model().fit(X, Y, qid=QID)
    assert np.allclose(
        fitted.predict(data), same.predict(X, qid=QID, sensitive_features=SEX), atol=1e-12
    )
    assert np.array_equal(
        fitted.rank(data).position, same.rank(X, qid=QID, sensitive_features=SEX).position
    )


def test_pipelines_inside_and_outside():
    inside = Reranked(make_pipeline(StandardScaler(), Ridge()), DetConstSort())
    order = inside.fit(X, Y).rank(X, sensitive_features=SEX).order()
    assert sorted(order.tolist()) == list(range(N))
    with sklearn.config_context(enable_metadata_routing=True):
        deep = Reranked(make_pipeline(StandardScaler(), RidgeRanker()), DetConstSort())
        first = deep.fit(X, Y, qid=QID).rank(X, qid=QID, sensitive_features=SEX)
        outside = make_pipeline(StandardScaler(), Reranked(RidgeRanker(), DetConstSort()))
        outside.fit(X, Y, qid=QID)
        scores = outside.predict(X, qid=QID, sensitive_features=SEX)
    again = Ranking.from_scores(as_ranking_data(None, Y, qid=QID), scores)
    assert np.array_equal(again.position, first.position)


def test_routing_finds_queries_and_groups():
    metric = FAStarIRTest(protected="f")
    with sklearn.config_context(enable_metadata_routing=True):
        given = {"qid": QID, "sensitive_features": SEX}
        scores = cross_val_score(
            model(),
            X,
            Y,
            params=given,
            cv=QueryKFold(4),
            scoring=metric.scorer(),
            error_score="raise",
        )
        assert scores.tolist() == [1.0] * 4
        search = GridSearchCV(
            Reranked(RidgeRanker(), FAStarIR(protected="f")),
            {"reranker__alpha": [0.05, 0.4], "estimator__penalty": [1.0, 2.0]},
            cv=QueryKFold(2),
            scoring=NDCG(k=5).scorer(),
            error_score="raise",
        )
        search.fit(X, Y, qid=QID, sensitive_features=SEX)
        assert search.best_params_["reranker__alpha"] in (0.05, 0.4)
        own = cross_val_score(model(), X, Y, params=given, cv=QueryKFold(4), error_score="raise")
        assert np.isfinite(own).all()


def test_it_is_cloned_saved_and_pickled(tmp_path):
    fitted = model(p=0.4).fit(X, Y, qid=QID)
    assert repr(clone(fitted).get_params()) == repr(fitted.get_params())
    fitted.save(tmp_path / "model")
    classes = [RidgeRanker]
    back = load(tmp_path / "model", classes=classes)
    given = {"qid": QID, "sensitive_features": SEX}
    assert isinstance(back.reranker, FAStarIR)
    assert back.reranker.p == 0.4
    assert np.array_equal(back.predict(X, **given), fitted.predict(X, **given))
    assert np.array_equal(
        pickle.loads(pickle.dumps(fitted)).predict(X, **given), fitted.predict(X, **given)
    )
    (tmp_path / "model" / "models" / "estimator_" / "model.json").write_text("{}")
    with pytest.raises(FormatError):
        load(tmp_path / "model", classes=classes)


def test_what_cannot_be_saved_says_so(tmp_path):
    with pytest.raises(DataError, match="model cannot be saved: function is unknown"):
        Reranked(lambda X: X[:, 0], DetGreedy()).fit(X, Y).save(tmp_path / "model")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((Ridge, DetGreedy()), "estimator of Reranked must be a ranker"),
        ((object(), DetGreedy()), "estimator of Reranked must be a ranker"),
        (("ridge", DetGreedy()), "X must be a data frame with a column 'ridge'|column of the data"),
        ((Ridge(), DetGreedy), "reranker of Reranked must be a re-ranker"),
        ((Ridge(), None), "reranker of Reranked must be a re-ranker"),
    ],
)
def test_bad_parts_are_refused(parts, message):
    with pytest.raises(DataError, match=message):
        Reranked(*parts).fit(X, Y)


def test_it_ranks_in_one_draw():
    with pytest.raises(DataError, match=r"n_draws of Reranked\.rank must be None, got"):
        model().fit(X, Y).rank(X, sensitive_features=SEX, n_draws=3)


@pytest.mark.parametrize(
    "estimator", [RidgeRanker(), Ridge(), make_pipeline(StandardScaler(), Ridge())]
)
def test_it_explains_by_the_estimator_and_the_reranker(estimator):
    fitted = Reranked(estimator, FAStarIR(0.5, protected="f")).fit(X, Y, qid=QID)
    given = {"qid": QID, "sensitive_features": SEX}
    scores, ranking = fitted.predict(X, **given), fitted.rank(X, **given)
    own = clone(estimator).fit(X, Y).predict(X)
    moved = ranking.data.to_original(ranking.places_before) - ranking.data.to_original(
        ranking.places
    )
    a = int(np.argmax(moved))
    b = int(next(row for row in np.flatnonzero(QID[a] == QID) if row != a))
    explanation = fitted.explain_pair(X, a, b, **given)
    part = dict(zip(explanation["feature"], explanation["contribution"], strict=True))
    assert sum(part.values()) == pytest.approx(scores[a] - scores[b])
    assert explanation.difference == pytest.approx(scores[a] - scores[b])
    wanted = (scores[a] - scores[b]) - (own[a] - own[b])
    assert part.pop("(re-ranker)") == pytest.approx(wanted)
    assert sum(part.values()) == pytest.approx(own[a] - own[b])
    assert [reason.facts["row"] for reason in explanation.reasons] == [a, b]
    assert explanation.reasons[0].facts["move"] == "up"
    assert f"Row {a} (f) moved up" in str(explanation)
    data = as_ranking_data(X, ids=[f"p{row}" for row in range(N)], **given)
    named = fitted.explain_pair(data, a, b)
    assert named.reasons[1].facts["item"] == f"p{b}"
    np.testing.assert_allclose(named["contribution"], explanation["contribution"])


def test_a_reranker_without_reasons_is_still_explained():
    from reference_ranker import ReverseReranker

    fitted = Reranked(RidgeRanker(), ReverseReranker()).fit(X, Y, qid=QID)
    a, b = np.flatnonzero(QID == "q0")[:2].tolist()
    explanation = fitted.explain_pair(X, a, b, qid=QID)
    scores = fitted.predict(X, qid=QID)
    assert explanation["contribution"].sum() == pytest.approx(scores[a] - scores[b])
    assert explanation.reasons == ()


def test_scores_of_several_draws_follow_the_mean_place():
    reranker = EpsilonGreedy(0.8, n_draws=5, random_state=0)
    fitted = Reranked(RidgeRanker(), reranker).fit(X, Y, qid=QID)
    given = {"qid": QID, "sensitive_features": SEX}
    drawn, scores = fitted.rank(X, **given), fitted.predict(X, **given)
    for query in np.unique(QID):
        rows = np.flatnonzero(np.asarray(QID) == query)
        mean = np.mean([[drawn.order(query, draw).tolist().index(row) for row in rows]
                        for draw in range(5)], axis=0)  # fmt: skip
        for a in range(len(rows)):
            for b in range(len(rows)):
                if mean[a] < mean[b]:
                    assert scores[rows[a]] > scores[rows[b]]


def test_scores_of_a_weighted_mixture_and_groups_by_its_constraint():
    parity = Reranked(RidgeRanker(), ExposureOptimal("parity")).fit(X, Y, qid=QID)
    assert parity.predict_needs == {"qid", "sensitive_features"}
    with pytest.raises(DataError, match="sensitive_features must be given"):
        parity.predict(X, qid=QID)
    mixture = parity.rank(X, qid=QID, sensitive_features=SEX)
    assert mixture.weights is not None
    query = [mixture.data.query_index(name) for name in QID]
    mean = (mixture.data.to_original(mixture.position) * mixture.weights[query]).sum(axis=1)
    scores = parity.predict(X, qid=QID, sensitive_features=SEX)
    for a in range(len(X)):
        for b in range(len(X)):
            if QID[a] == QID[b] and mean[a] < mean[b] - 1e-9:
                assert scores[a] > scores[b]
    free = Reranked(RidgeRanker(), ExposureOptimal(None)).fit(X, Y, qid=QID)
    assert free.predict_needs == {"qid"}
    assert np.array_equal(free.predict(X, qid=QID), free.estimator_.predict(X))
