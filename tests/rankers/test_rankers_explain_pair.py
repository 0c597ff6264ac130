"""What each family of rankers says of a pair: stumps, linear models, trees, networks, wrappers."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.rankers import (
    BipartiteRankBoost,
    CostSensitiveAdaBoost,
    FairPGRank,
    FairReduction,
    LambdaMART,
    McRank,
    PreferredRankBoost,
    RankBoost,
    RankBoostPlus,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 5)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
Y = np.clip(np.round(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + 1), 0, 3)
SEX = np.where(RNG.random(80) < 0.5, "f", "m")
TREES = {"n_estimators": 8, "min_child_samples": 5, "n_jobs": 1}


def by_feature(explanation):
    return dict(
        zip(explanation["feature"].tolist(), explanation["contribution"].tolist(), strict=True)
    )


def test_two_stumps_are_told_apart():
    model = RankBoost(n_estimators=2).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    model.feature_ = np.array([0, 0, 1])
    model.threshold_ = np.array([0.5, 2.5, 0.0])
    model.alpha_, model.side_ = np.array([3.0, 0.25, -1.0]), np.zeros(3, dtype=int)
    rows = [[1.0, 1.0], [3.0, -1.0], [0.0, 5.0]]
    found = by_feature(model.explain_pair(rows, 1, 2))
    assert found == {"x0": 3.0 + 0.25, "x1": 0.0 - -1.0}
    found = by_feature(model.explain_pair(rows, 0, 1))
    assert found == {"x0": -0.25, "x1": -1.0}


@pytest.mark.parametrize(
    "model",
    [
        RankBoost(10),
        RankBoost(10, weak_ranker="feature"),
        RankBoostPlus(10),
        BipartiteRankBoost(10),
        PreferredRankBoost(5),
        FairReduction(RankBoost(5), max_iter=2),
    ],
    ids=lambda model: str(model)[:40],
)
def test_ensembles_add_up_over_missing_values(model):
    groups = {"sensitive_features": SEX} if "sensitive_features" in model.fit_needs else {}
    rows = X if model.__sklearn_tags__().input_tags.allow_nan else np.nan_to_num(X)
    scores = model.fit(rows, Y, **groups).predict(rows)
    for a, b in ((0, 1), (17, 4), (40, 61)):
        found = model.explain_pair(rows, a, b)
        assert found.method == "exact"
        assert found["contribution"].sum() == pytest.approx(scores[a] - scores[b], abs=1e-12)
        row = rows[b].copy()
        row[0] = rows[a, 0]  # the part of one feature is what it changes, whatever the others are
        changed = model.predict(row[None])[0] - scores[b]
        assert by_feature(found)["x0"] == pytest.approx(changed, abs=1e-12)


def test_a_reduction_is_explained_by_its_best_member():
    model = FairReduction(RankBoost(5), max_iter=3, eps=0.0)
    rows = np.nan_to_num(X)
    model.fit(rows, (SEX == "f") + Y, sensitive_features=SEX)
    seen = set()
    for at in range(len(model.members_)):
        model.best_ = at
        found = by_feature(model.explain_pair(rows, 0, 1))
        assert found == by_feature(model.members_[at].explain_pair(rows, 0, 1))
        seen.add(tuple(found.values()))
    assert len(seen) > 1


def test_a_linear_policy_has_its_terms_and_a_network_its_game():
    full = np.nan_to_num(X)
    linear = FairPGRank(n_epochs=2, random_state=0).fit(full, Y)
    found = by_feature(linear.explain_pair(full, 3, 5))
    wanted = {f"x{j}": (full[3, j] - full[5, j]) * linear.coef_[j] for j in range(5)}
    assert found == pytest.approx(wanted)
    linear.weights_, linear.biases_ = [np.eye(5), np.ones((1, 5))], [np.zeros(5)]
    del linear.coef_
    found = by_feature(linear.explain_pair(full, 3, 5))
    wanted = {f"x{j}": np.tanh(full[3, j]) - np.tanh(full[5, j]) for j in range(5)}
    assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.slow
def test_cost_sensitive_stumps():
    import pandas as pd

    full, y = np.nan_to_num(X), Y > 1
    model = CostSensitiveAdaBoost(n_estimators=15).fit(full, y)
    score = model.decision_function(full)
    found = model.explain_pair(full, 9, 2)
    assert found["contribution"].sum() == pytest.approx(score[9] - score[2], abs=1e-12)
    assert (found.score_a, found.score_b) == pytest.approx((score[9], score[2]))
    assert found.method == "exact"
    row = full[2].copy()
    row[1] = full[9, 1]
    assert by_feature(found)["x1"] == pytest.approx(
        model.decision_function(row[None])[0] - score[2]
    )
    with pytest.raises(DataError, match="rows of one list"):
        model.explain_pair(full, 0, 79, qid=np.arange(80) // 40)
    named = pd.DataFrame(full, columns=list("abcde"))
    assert "a" in by_feature(CostSensitiveAdaBoost().fit(named, y).explain_pair(named, 0, 1))


def test_trees_keep_the_difference_of_shap_values():
    model = LambdaMART(**TREES).fit(X, Y)
    shap = model.shap_values(X)
    found = model.explain_pair(X, 6, 3)
    assert found.method == "shap"
    at = [int(name[1:]) for name in found["feature"]]
    np.testing.assert_allclose(found["contribution"], (shap[6] - shap[3])[at])
    np.testing.assert_allclose(found["difference"], found["contribution"])
    np.testing.assert_allclose(found["shap_a"], shap[6][at])


def test_linear_trees_have_no_shap_values_and_take_the_game():
    full = np.nan_to_num(X)
    model = LambdaMART(**TREES, linear_tree=True).fit(full, Y)
    found, score = model.explain_pair(full, 6, 3), model.predict(full)
    assert found.method == "exact"
    assert found["contribution"].sum() == pytest.approx(score[6] - score[3], abs=1e-9)


def test_categories_are_shown_by_their_names():
    import pandas as pd

    frame = pd.DataFrame(
        {"city": np.where(SEX == "f", "Rome", "Bonn"), "age": np.nan_to_num(X[:, 0])}
    )
    for kind in (LambdaMART, McRank):
        model = kind(**TREES).fit(frame, (SEX == "f") + 0.0)
        found = model.explain_pair(frame, int(np.argmax(SEX == "f")), int(np.argmax(SEX == "m")))
        at = found["feature"].tolist().index("city")
        assert (found["value_a"][at], found["value_b"][at]) == ("Rome", "Bonn")
        assert "city (Rome against Bonn)" in str(found)


@pytest.mark.parametrize("method", ["multiclass", "ordinal"])
def test_mcrank_adds_up_exactly_and_by_draws(method):
    wide = np.hstack([X, RNG.normal(size=(80, 8))])
    model = McRank(method=method, **TREES).fit(wide, Y)
    score = model.predict(wide)
    for columns, said in ((np.arange(9), "exact"), (np.arange(13), "sampled")):
        rows = wide.copy()
        rows[0] = rows[1]
        rows[0, columns] = wide[0, columns]
        found = model.explain_pair(rows, 0, 1, n_draws=5)
        expected = model.predict(rows[:1])[0] - score[1]
        assert found.method == said
        assert found["contribution"].sum() == pytest.approx(expected, abs=1e-12)


def test_dask_explains_as_one_machine_does():
    distributed = pytest.importorskip("equirank.distributed")
    model = distributed.DaskFairLambdaMART(**TREES)
    model.model_ = LambdaMART(**TREES).fit(X, Y)
    data = as_ranking_data(X)
    assert repr(model.explain_pair(data, 1, 2)) == repr(model.model_.explain_pair(data, 1, 2))
