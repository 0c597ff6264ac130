"""LambdaMART against LightGBM's own lambdarank, which it must follow."""

import os
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from equirank import Ranking, as_ranking_data, evaluate
from equirank.datasets import make_ranking
from equirank.rankers import MART, LambdaMART, McRank

DATA = os.environ.get("EQUIRANK_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="EQUIRANK_DATA is not set")


def theirs(train, n_estimators, truncation=30, **more):
    params = {
        "objective": "lambdarank", "lambdarank_truncation_level": truncation, "verbosity": -1,
        "num_threads": 1, "deterministic": True, "force_col_wise": True, **more,
    }  # fmt: skip
    dataset = lightgbm.Dataset(train.X, train.y, group=np.diff(train.offsets))
    return lightgbm.train(params, dataset, n_estimators)


def ndcg(data, score):
    ranking = Ranking.from_scores(data, data.to_original(score))
    return evaluate(ranking, metrics="NDCG@10")["NDCG@10"]


@pytest.mark.slow
@pytest.mark.parametrize("truncation", [5, 30])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_first_trees_are_those_of_lightgbm(truncation, normalize):
    data = make_ranking(n_queries=50, n_items=(5, 60), random_state=0)
    ours = LambdaMART(truncation=truncation, normalize=normalize, n_estimators=5, n_jobs=1)
    other = theirs(data, 5, truncation, lambdarank_norm=normalize)
    np.testing.assert_allclose(
        data.to_original(ours.fit(data).predict(data)), other.predict(data.X), atol=1e-3
    )


def test_query_weights_are_those_of_lightgbm():
    data = make_ranking(n_queries=30, n_items=20, random_state=0)
    weight = np.repeat(np.random.default_rng(0).uniform(0.5, 2.0, size=30), 20)
    weighted = as_ranking_data(
        data.X, data.y, qid=data.query_of_rows(), query_weight=weight[::20][data.query_of_rows()]
    )
    ours = LambdaMART(n_estimators=3, n_jobs=1).fit(weighted).predict(weighted)
    params = {
        "objective": "lambdarank", "verbosity": -1, "num_threads": 1, "deterministic": True,
        "force_col_wise": True,
    }  # fmt: skip
    dataset = lightgbm.Dataset(data.X, data.y, group=np.diff(data.offsets), weight=weight)
    other = lightgbm.train(params, dataset, 3).predict(data.X)
    np.testing.assert_allclose(ours, other, atol=5e-3)
    unweighted = LambdaMART(n_estimators=3, n_jobs=1).fit(data).predict(data)
    assert np.abs(unweighted - other).max() > 0.05


@needs_data
def test_lightgbms_own_example():
    from sklearn.datasets import load_svmlight_file

    folder = Path(DATA) / "ltr" / "lightgbm-lambdarank"

    def read(name):
        X, y = load_svmlight_file(str(folder / name), n_features=301)
        sizes = np.loadtxt(folder / f"{name}.query", dtype=int)
        return as_ranking_data(X, y, qid=np.repeat(np.arange(len(sizes)), sizes))

    train, test = read("rank.train"), read("rank.test")
    found = []
    for seed in range(10):
        more = {"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.8}
        ours = LambdaMART(n_estimators=60, random_state=seed, n_jobs=1, **more).fit(train)
        other = theirs(train, 60, seed=seed, **more)
        found.append((ours.score(test), ndcg(test, other.predict(test.X))))
    ours, other = np.mean(found, axis=0)
    assert ours == pytest.approx(other, abs=0.005)


@needs_data
def test_mq2008():
    from equirank.datasets import load_mq2008

    found = []
    for fold in load_mq2008(folds=True):
        ours = LambdaMART(n_estimators=60, n_jobs=1).fit(fold.train)
        other = theirs(fold.train, 60)
        found.append((ours.score(fold.test), ndcg(fold.test, other.predict(fold.test.X))))
    ours, other = np.mean(found, axis=0)
    assert ours == pytest.approx(other, abs=0.005)


@pytest.mark.parametrize("kind", [MART, McRank])
def test_trees_of_single_items_need_lists_for_validation_only(kind):
    assert "qid" not in kind().current_needs()
    assert "qid" in kind(validation=0.2).current_needs()
    assert "qid" in LambdaMART().current_needs()
