"""PreferenceRanker: what it learns, how it orders, and that nothing else changes an order."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import equirank
from equirank import QueryKFold, as_ranking_data
from equirank.core.errors import DataError, EquirankWarning
from equirank.costs import ClassPairCost
from equirank.metrics import auc
from equirank.rankers import PreferenceRanker, order_by_preference
from equirank.rankers.preference.preference_ranker import pair_features, pair_probability
from equirank.testing import check_ranker
from equirank.theory import order_probabilities


def sample(seed=0, n=120, n_queries=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.clip(np.round(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=n)), 0, 3)
    return X, y, rng.integers(0, n_queries, n)


# what the classifier sees


def test_pair_features():
    u, v = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 5.0], [1.0, 0.0]])
    np.testing.assert_array_equal(pair_features(u, v, "difference"), u - v)
    np.testing.assert_array_equal(pair_features(u, v, "rows"), np.hstack([u, v]))
    np.testing.assert_array_equal(pair_features(u, v, "both"), np.hstack([u, v, u - v]))


def test_every_pair_of_unequal_relevance_is_shown_in_both_directions():
    X, y, qid = sample(n=30, n_queries=3)
    model = PreferenceRanker(random_state=0).fit(X, y, qid=qid)
    pairs = [(a, b) for a in range(30) for b in range(30) if qid[a] == qid[b] and y[a] > y[b]]
    first, second = np.array(pairs).T
    features = np.concatenate([X[first] - X[second], X[second] - X[first]])
    other = LogisticRegression().fit(features, np.repeat([1, 0], len(pairs)))
    np.testing.assert_allclose(model.classifier_.coef_, other.coef_, atol=1e-4)
    again = PreferenceRanker(random_state=0).fit_pairs(X, pairs)
    np.testing.assert_allclose(model.classifier_.coef_, again.classifier_.coef_, atol=1e-4)


@pytest.mark.slow
def test_preferences_are_made_consistent():
    X, y, qid = sample()
    model = PreferenceRanker(
        HistGradientBoostingClassifier(max_iter=5), pair_features="both", random_state=0
    ).fit(X, y, qid=qid)
    u, v = X[:40], X[40:80]
    h, other = model.preference(u, v), model.preference(v, u)
    np.testing.assert_allclose(h + other, 1.0, atol=1e-9)
    raw = pair_probability(model.classifier_, pair_features(u, v, "both"))
    back = pair_probability(model.classifier_, pair_features(v, u, "both"))
    np.testing.assert_allclose(h, (raw + 1 - back) / 2, atol=1e-9)
    with pytest.raises(DataError, match="one row per pair, got 40 and 39"):
        model.preference(u, v[:-1])


def test_contradictions_become_chances():
    X = np.array([[0.0], [1.0]])
    pairs, sign = [[0, 1]] * 4, [1, 1, 1, -1]
    model = PreferenceRanker(LogisticRegression(C=1e6)).fit_pairs(X, pairs, sign)
    assert model.preference(X[:1], X[1:])[0] == pytest.approx(0.75, abs=1e-3)
    weighed = PreferenceRanker(LogisticRegression(C=1e6)).fit_pairs(X, pairs[:2], [1, -1], [3, 1])
    assert weighed.preference(X[:1], X[1:])[0] == pytest.approx(0.75, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "classifier",
    [
        LinearSVC(),
        Perceptron(),
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        HistGradientBoostingClassifier(max_iter=10),
        CalibratedClassifierCV(LinearSVC(), cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("shape", ["difference", "rows", "both"])
def test_any_classifier_will_do(classifier, shape):
    X, y, qid = sample(1, n=90)
    model = PreferenceRanker(
        classifier, "degree", pair_features=shape, max_pairs=400, random_state=0
    ).fit(X, y, qid=qid)
    X, y, qid = sample(2)
    assert auc(y, model.predict(X, qid=qid), qid=qid) > 0.75


def test_a_model_without_chances_decides():
    class Decided:
        def decision_function(self, features):
            return features[:, 0]

    class Said:
        def predict(self, features):
            return (features[:, 0] > 0).astype(int)

    features = np.array([[2.0], [0.0], [-1.0]])
    assert pair_probability(Decided(), features).tolist() == [1.0, 0.5, 0.0]
    assert pair_probability(Said(), features).tolist() == [1.0, 0.0, 0.0]


# weights


def direction(model):
    return model.classifier_.coef_ / np.linalg.norm(model.classifier_.coef_)


def test_query_weights_and_costs_weigh_pairs():
    X, y, qid = sample(3)
    y[qid >= 3] = 3 - y[qid >= 3]  # these lists say the opposite
    few = qid < 3
    wanted = direction(PreferenceRanker(random_state=0).fit(X[few], y[few], qid=qid[few]))
    model = PreferenceRanker(random_state=0)
    plain = direction(model.fit(X, y, qid=qid))
    assert np.abs(plain - wanted).max() > 0.1
    weighted = direction(model.fit(X, y, qid=qid, query_weight=np.where(few, 1.0, 1e-9)))
    np.testing.assert_allclose(weighted, wanted, atol=0.01)
    with pytest.warns(EquirankWarning, match="more than 10"):
        costly = direction(model.fit(X, y, qid=qid, cost=np.where(few, 1.0, 1e-6)))
    np.testing.assert_allclose(costly, wanted, atol=0.01)


def test_pair_costs_weigh_pairs():
    X, y, qid = sample(4)
    only = {(2, 0), (3, 0)}
    table = [[float((max(a, b), min(a, b)) in only) for a in range(4)] for b in range(4)]
    costs = ClassPairCost(table)
    model = PreferenceRanker(pair_cost=costs, random_state=0).fit(X, y, qid=qid)
    keep = np.array(
        [(a, b) for a in range(120) for b in range(120)
         if qid[a] == qid[b] and (y[a], y[b]) in only]
    )  # fmt: skip
    wanted = PreferenceRanker(random_state=0).fit_pairs(X, keep)
    np.testing.assert_allclose(
        model.classifier_.coef_, wanted.classifier_.coef_, rtol=1e-2, atol=1e-2
    )
    with pytest.raises(DataError, match="pair_cost must be None"):
        PreferenceRanker(pair_cost=costs).fit_pairs(X, keep)


def test_a_classifier_that_takes_no_weights_says_so():
    X, _, _ = sample()
    PreferenceRanker(KNeighborsClassifier()).fit_pairs(X, [[0, 1], [1, 2]], weight=[2, 2])
    with pytest.raises(
        DataError, match=r"sample_weight in fit if pairs differ .* got KNeighborsClassifier"
    ):
        PreferenceRanker(KNeighborsClassifier()).fit_pairs(X, [[0, 1], [1, 2]], weight=[1, 2])


def test_many_pairs_are_sampled():
    class Counted(LogisticRegression):
        def fit(self, X, y):
            self.seen_ = len(y)
            return super().fit(X, y)

    X, y, qid = sample()
    model = PreferenceRanker(Counted(), max_pairs=50, random_state=0).fit(X, y, qid=qid)
    assert model.classifier_.seen_ == 100


# ordering


@pytest.mark.parametrize("order", ["quicksort", "degree"])
def test_lists_are_ordered_as_their_preference_matrix_would_be(order):
    X, y, _ = sample(5, n=30)
    pivoting = {"pivoting": "deterministic"} if order == "quicksort" else {}
    model = PreferenceRanker(order=order, **pivoting, random_state=0).fit(X, y)
    u, v = np.divmod(np.arange(900), 30)
    h = model.preference(X[u], X[v]).reshape(30, 30)
    wanted = order_by_preference(h, order=order, pivoting="deterministic").scores
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-6)


@pytest.mark.slow
def test_draws_have_the_exact_odds():
    X, y, _ = sample(6, n=40)
    model = PreferenceRanker(LogisticRegression(C=0.1), random_state=0).fit(X, y)
    X, qid = X[:8], np.repeat([0, 1], 4)
    ranking = model.rank(X, qid=qid, n_draws=3000, random_state=1)
    assert ranking.n_draws == 3000
    for rows in (slice(0, 4), slice(4, 8)):
        place = ranking.position[rows]
        odds = (place[:, None] < place[None]).mean(axis=2)
        u, v = np.divmod(np.arange(16), 4)
        h = model.preference(X[rows][u], X[rows][v]).reshape(4, 4)
        assert np.abs(odds - order_probabilities(h)).max() < 4 * 0.5 / np.sqrt(3000)


def test_draws_of_top_k_show_k_rows():
    X, y, qid = sample(7)
    model = PreferenceRanker(k=3, random_state=0).fit(X, y, qid=qid)
    ranking = model.rank(X, qid=qid, n_draws=5)
    for query in range(6):
        shown = ranking.position[ranking.data.offsets[query] : ranking.data.offsets[query + 1]]
        assert (np.sort(shown, axis=0)[-3:].T == [1, 2, 3]).all()
        assert (np.sort(shown, axis=0)[:-3] == 0).all()
    with pytest.raises(DataError, match=r"n_draws of PreferenceRanker\.rank must be None, got"):
        PreferenceRanker(order="degree").fit(X, y, qid=qid).rank(X, qid=qid, n_draws=2)


def test_top_k_is_the_top_of_the_whole():
    X, y, qid = sample(8)
    whole = PreferenceRanker(random_state=0).fit(X, y, qid=qid)
    top = PreferenceRanker(k=4, random_state=0).fit(X, y, qid=qid)
    for query in range(6):
        rows = np.flatnonzero(qid == query)
        first = rows[np.argsort(-whole.predict(X, qid=qid)[rows])][:4]
        second = rows[np.argsort(-top.predict(X, qid=qid)[rows])][:4]
        np.testing.assert_array_equal(first, second)
    short, long = top.order_lists(X, qid=qid), whole.order_lists(X, qid=qid)
    assert short.n_compared < long.n_compared


def test_all_lists_share_the_calls():
    X, y, qid = sample(9)
    model = PreferenceRanker(random_state=0).fit(X, y, qid=qid)
    found = model.order_lists(X, qid=qid)
    alone = [model.order_lists(X[qid == q]) for q in range(6)]
    assert found.n_calls <= 2 * max(part.n_calls for part in alone)
    np.testing.assert_array_equal(found.scores, model.predict(X, qid=qid))
    in_order = found.scores[found.order]
    same = qid[found.order][1:] == qid[found.order][:-1]
    assert (np.diff(in_order)[same] == -1).all()


def test_other_lists_and_the_order_of_rows_change_no_draw():
    X, y, qid = sample(10)
    model = PreferenceRanker(LogisticRegression(C=0.01), random_state=0).fit(X, y, qid=qid)
    whole = model.predict(X, qid=qid)
    some = qid >= 2
    np.testing.assert_array_equal(model.predict(X[some], qid=qid[some]), whole[some])
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.predict(X[order], qid=qid[order]), whole[order])
    np.testing.assert_array_equal(
        model.predict(X[order].astype(np.float32), qid=qid[order]).shape, whole.shape
    )
    position = model.rank(X, qid=qid, n_draws=3, random_state=5)
    moved = model.rank(X[order], qid=qid[order], n_draws=3, random_state=5)
    np.testing.assert_array_equal(
        moved.data.to_original(moved.position), position.data.to_original(position.position)[order]
    )
    fewer = model.rank(X[some], qid=qid[some], n_draws=2, random_state=5)
    np.testing.assert_array_equal(
        fewer.data.to_original(fewer.position),
        position.data.to_original(position.position)[some][:, :2],
    )


@pytest.mark.slow
def test_equal_rows_tie_by_degree_and_take_turns_by_quicksort():
    X, y, _ = sample(11, n=20)
    twins = np.concatenate([X, X])
    scores = PreferenceRanker(order="degree").fit(X, y).predict(twins)
    np.testing.assert_array_equal(scores[:20], scores[20:])
    first = 0
    for seed in range(20):
        made = PreferenceRanker(random_state=seed).fit(X, y).predict(twins)
        first += int((made[:20] > made[20:]).sum())
    assert 140 < first < 260


def test_zeros_of_either_sign_are_one():
    X, y, _ = sample(12, n=30)
    X[:, 3] = 0.0
    model = PreferenceRanker(LogisticRegression(C=0.01), random_state=0).fit(X, y)
    other = X.copy()
    other[:, 3] = -0.0
    np.testing.assert_array_equal(model.predict(X), model.predict(other))


@pytest.mark.slow
def test_missing_features_go_where_the_classifier_takes_them():
    X, y, qid = sample(13)
    X[::7, 2] = np.nan
    model = PreferenceRanker(HistGradientBoostingClassifier(max_iter=5), random_state=0)
    scores = model.fit(X, y, qid=qid).predict(X, qid=qid)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.predict(X[order], qid=qid[order]), scores[order])
    with pytest.raises(ValueError, match="NaN"):
        PreferenceRanker().fit(X, y, qid=qid)


def test_nothing_to_learn_is_said():
    X, _, qid = sample()
    with pytest.warns(EquirankWarning, match="learns nothing"):
        model = PreferenceRanker().fit(X, np.ones(len(X)), qid=qid)
    assert not model.predict(X, qid=qid).any()
    assert model.preference(X[:1], X[1:2])[0] == 0.5


# the house and scikit-learn


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {"order": "degree"},
        {"classifier": HistGradientBoostingClassifier(max_iter=3), "pair_features": "both"},
        {"k": 3, "pivoting": "deterministic"},
    ],
)
def test_the_contract_holds_for_other_parameters(given):
    pytest.importorskip("skops")
    check_ranker(PreferenceRanker(**given, random_state=0, max_pairs=2000))


def test_saved_models_keep_their_classifier(tmp_path):
    pytest.importorskip("skops")
    X, y, qid = sample(14)
    model = PreferenceRanker(LogisticRegression(C=0.5)).fit(X, y, qid=qid)
    model.save(tmp_path / "model")
    back = equirank.load(tmp_path / "model")
    assert back.classifier.C == 0.5
    assert back.seed_ == model.seed_
    np.testing.assert_array_equal(back.predict(X, qid=qid), model.predict(X, qid=qid))
    with pytest.warns(EquirankWarning):
        PreferenceRanker().fit(X, np.ones(len(X))).save(tmp_path / "empty")
    assert equirank.load(tmp_path / "empty").classifier_ is None


def test_a_fitted_model_always_predicts_alike():
    X, y, qid = sample(15)
    model = PreferenceRanker(LogisticRegression(C=0.01)).fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.predict(X, qid=qid), model.predict(X, qid=qid))


def test_parameters_of_the_classifier_can_be_searched():
    X, y, qid = sample(16)
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            PreferenceRanker(LogisticRegression(), "degree"),
            {"classifier__C": [0.1, 1.0]},
            cv=QueryKFold(3),
        ).fit(X, y, qid=qid)
    assert search.best_params_["classifier__C"] in (0.1, 1.0)


def test_data_objects_and_sparse_features():
    from scipy.sparse import csr_array

    X, y, qid = sample(17)
    pairs = [[0, 1], [5, 9], [80, 3]]
    data = as_ranking_data(csr_array(X), y, qid=qid)
    model = PreferenceRanker(order="degree").fit(data)
    np.testing.assert_allclose(
        model.predict(data), PreferenceRanker(order="degree").fit(X, y, qid=qid).predict(X, qid=qid)
    )
    first = PreferenceRanker(order="degree").fit_pairs(data, pairs).predict(data)
    second = PreferenceRanker(order="degree").fit_pairs(X, pairs).predict(X, qid=qid)
    np.testing.assert_allclose(first, second)


def test_bad_classifiers_are_refused():
    from sklearn.linear_model import Ridge

    X, y, qid = sample()
    with pytest.raises(DataError, match="classifier of PreferenceRanker must be a scikit-learn"):
        PreferenceRanker(Ridge()).fit(X, y, qid=qid)
