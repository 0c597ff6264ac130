"""RankingClassifier: its schemes, costs and calibration, and cuts of ordered classes."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from equirank import DataError, load
from equirank.rankers import CostSensitiveAdaBoost, RankBoost, RankingClassifier
from equirank.rankers.ranking_classifier import ordered_cuts

SCHEMES = ("one_vs_rest", "one_vs_one", "thresholds")


def ordered(seed=0, n=600, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + X[:, 1] + 0.4 * rng.normal(size=n), [-0.7, 0.7, 1.5][: classes - 1])
    return X, y


@pytest.mark.parametrize("scheme", SCHEMES)
def test_classes_are_one_list_without_a_warning(scheme):
    X, y = ordered(n=1500, classes=2)
    RankingClassifier(RankBoost(2), scheme=scheme).fit(X, y).predict(X)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("classes", [2, 4])
def test_it_is_about_as_good_as_a_linear_classifier(scheme, classes):
    X, y = ordered(classes=classes)
    Z, z = ordered(1, 1500, classes)
    model = RankingClassifier(RankBoost(40), scheme=scheme, random_state=0).fit(X, y)
    linear = LogisticRegression().fit(X, y).score(Z, z)
    # a class in the middle is a band, which stumps see one feature at a time
    slack = 0.12 if scheme == "one_vs_rest" else 0.07
    assert model.score(Z, z) > linear - slack


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["one_vs_rest", "one_vs_one"])
def test_classes_need_no_order(scheme):
    X, y = load_iris(return_X_y=True)
    y = np.array(["b", "c", "a"])[y]
    model = RankingClassifier(RankBoost(30), scheme=scheme, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.93
    assert len(model.rankers_) == 3
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (model.classes_[chances.argmax(axis=1)] == model.predict(X)).all()


def test_two_classes_need_one_ranker():
    X, y = ordered(classes=2)
    for scheme in SCHEMES:
        assert len(RankingClassifier(RankBoost(5), scheme=scheme).fit(X, y).rankers_) == 1


def test_thresholds_cut_the_training_scores_at_least_cost():
    X, y = ordered()
    model = RankingClassifier(RankBoost(20), scheme="thresholds").fit(X, y)
    score = model.rankers_[0].predict(X)
    rng = np.random.default_rng(0)
    right = np.mean(model.predict(X) == y)
    for _ in range(200):
        cuts = np.sort(rng.choice(score, size=2))
        assert np.mean(np.searchsorted(cuts, score, side="left") == y) <= right + 1e-12
    assert not hasattr(model, "predict_proba")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_costs_make_decisions_cheaper(scheme):
    X, y = ordered(n=900)
    Z, z = ordered(1, 2000)
    cost = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [8.0, 8.0, 0.0]])
    plain = RankingClassifier(RankBoost(30), scheme=scheme, random_state=0).fit(X, y)
    careful = RankingClassifier(RankBoost(30), scheme=scheme, class_cost=cost, random_state=0).fit(
        X, y
    )
    assert cost[z, careful.predict(Z)].mean() < 0.8 * cost[z, plain.predict(Z)].mean()


def test_votes_by_hand():
    X, y = ordered()
    cost = np.array([[0.0, 2.0, 3.0], [4.0, 0.0, 5.0], [6.0, 7.0, 0.0]])
    model = RankingClassifier(RankBoost(3), scheme="one_vs_one", class_cost=cost.tolist())
    model.fit(X, y)
    votes = model._votes(np.array([[0.25, 0.5, 0.75]]), cost)
    # pairs (0, 1), (0, 2), (1, 2); the chance is that of the second
    wanted = [0.75 * 2 + 0.5 * 3, 0.25 * 4 + 0.25 * 5, 0.5 * 6 + 0.75 * 7]
    np.testing.assert_allclose(votes, [wanted])


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_probabilities_are_calibrated(calibration):
    X, y = ordered(n=2000, classes=2)
    Z, z = ordered(1, 8000, 2)
    model = RankingClassifier(RankBoost(40), calibration=calibration, random_state=0).fit(X, y)
    said = model.predict_proba(Z)[:, 1]
    place = np.minimum((said * 10).astype(int), 9)
    gap = np.abs(np.bincount(place, weights=said - z, minlength=10)).sum() / len(Z)
    assert gap < 0.05


def test_what_the_ranker_takes_is_handed_on():
    X, y = ordered(classes=2)
    rng = np.random.default_rng(0)
    cost = rng.uniform(0.5, 2.0, size=len(y))
    with_cost = RankingClassifier(RankBoost(10), calibration_folds=None).fit(X, y, cost=cost)
    ranker = RankBoost(10).fit(X, y.astype(float), qid=0, cost=cost)
    assert np.array_equal(with_cost.rankers_[0].predict(X), ranker.predict(X))
    with pytest.raises(DataError, match="cost"):
        RankingClassifier(RankBoost(10)).fit(X, y, cost=cost[:-1])


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_saved_and_loaded(scheme, tmp_path):
    X, y = ordered()
    model = RankingClassifier(RankBoost(5), scheme=scheme, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert repr(again) == repr(model)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"calibration_folds": None}, {"scheme": "thresholds"}], ids=["one_vs_rest", "cuts"]
)
def test_scikit_learn_accepts_it(options):
    ranker = RankBoost(2, n_jobs=1, record_errors=False)
    model = RankingClassifier(ranker, random_state=0, **options)
    check_estimator(model, on_skip=None)


def test_bad_parameters_are_named():
    X, y = ordered()
    with pytest.raises(DataError, match="ranker of RankingClassifier must be a Ranker"):
        RankingClassifier(CostSensitiveAdaBoost()).fit(X, y)
    with pytest.raises(DataError, match="scheme of RankingClassifier must be one of"):
        RankingClassifier(scheme="trees").fit(X, y)
    with pytest.raises(DataError, match="class_cost must be a 3 x 3 matrix"):
        RankingClassifier(class_cost=[[0, 1], [1, 0]]).fit(X, y)
    with pytest.raises(DataError, match="got one class"):
        RankingClassifier().fit(X, np.zeros(len(X)))


def price(score, truth, cost, cuts):
    return cost[truth, np.searchsorted(cuts, score, side="left")].sum()


@pytest.mark.parametrize("seed", range(20))
def test_no_cuts_are_cheaper(seed):
    rng = np.random.default_rng(seed)
    n, classes = 12, int(rng.integers(2, 5))
    score = np.round(rng.normal(size=n), 0 if seed % 2 else 3)
    truth = rng.integers(0, classes, size=n)
    cost = rng.random((classes, classes)) * (1 - np.eye(classes))
    if seed % 3 == 0:
        cost = 1 - np.eye(classes)
    cuts = ordered_cuts(score, truth, cost)
    assert (cuts[1:] >= cuts[:-1]).all()
    values = np.unique(score)
    edges = [-np.inf, *(values[1:] + values[:-1]) / 2, np.inf]
    cheapest = min(
        price(score, truth, cost, np.array(tried))
        for tried in combinations_with_replacement(edges, classes - 1)
    )
    assert price(score, truth, cost, cuts) == pytest.approx(cheapest)


def test_separable_classes_are_separated():
    cuts = ordered_cuts(np.array([5.0, 1.0, 3.0]), np.array([2, 0, 1]), 1 - np.eye(3))
    assert cuts.tolist() == [2.0, 4.0]


def test_an_absent_class_gets_no_room():
    cuts = ordered_cuts(np.array([1.0, 2.0]), np.array([0, 2]), 1 - np.eye(3))
    assert np.searchsorted(cuts, [1.0, 2.0]).tolist() == [0, 2]
    same = ordered_cuts(np.zeros(4), np.array([0, 1, 1, 1]), 1 - np.eye(2))
    assert np.searchsorted(same, [0.0]).tolist() == [1]
