"""Training on a cluster: the model of one machine.

One worker of this process needs no network; two processes, which do, take part in the gate.
"""

import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from waiting import LIMIT

import equirank
from equirank import DataError, as_ranking_data
from equirank.costs import ClassPairCost
from equirank.distributed import DaskFairLambdaMART, dask_evaluate
from equirank.distributed.workers import allowed_cores
from equirank.rankers import FairLambdaMART, LambdaMART

distributed = pytest.importorskip("distributed")

FEATURES = [f"x{j}" for j in range(6)]
COLUMNS = {"query": "qid", "relevance": "y", "features": FEATURES}
#: With these no estimate of the rows of a leaf, which LightGBM makes across machines, decides.
SMALL = {"n_estimators": 25, "num_leaves": 15, "step": 3, "max_bin": 15}
SMALL |= {"min_child_samples": 0, "min_sum_hessian_in_leaf": 2.0}


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.gate)])
def client(request):
    n = request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ports in use, and of pandas under dask
        cluster = distributed.LocalCluster(
            n_workers=n, threads_per_worker=1, processes=n > 1, dashboard_address=None
        )
        client = distributed.Client(cluster)
        yield client
        client.close()
        cluster.close()


def people(n_queries=60, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 30, n_queries)
    n = int(sizes.sum())
    X = rng.normal(size=(n, 6))
    X[:, 1] = np.abs(X[:, 1])
    X[: n // 3, 2] = -np.abs(X[: n // 3, 2])  # below 0 in the first part, above in the last
    X[n // 3 :, 2] = np.abs(X[n // 3 :, 2])
    X[:, 3] = rng.integers(0, 4, n)
    X[: n // 5, 4] = np.nan  # missing on one worker only
    X[:, 5] = np.where(rng.random(n) < 0.8, 0.0, X[:, 5])
    frame = pd.DataFrame(X, columns=FEATURES)
    frame["sex"] = np.where(X[:, 0] + rng.normal(size=n) > 0, "m", "f")
    frame["age"] = rng.choice(["old", "young"], n, p=[0.3, 0.7])
    frame["y"] = np.clip(np.round(X[:, 0] + X[:, 3] / 2 + rng.normal(size=n) / 2), 0, 3)
    frame["cost"] = rng.uniform(0.5, 4.0, n)
    frame["cost"] *= 1.0 + 3.0 * (np.arange(n) > n / 2)  # dearer on one worker
    frame["qid"] = np.repeat(np.arange(n_queries) + 100, sizes)
    return frame


def parted(frame, n=5):
    from dask.dataframe import from_pandas

    return from_pandas(frame.reset_index(drop=True), npartitions=n, sort=False)


def one_machine(frame, params, sensitive="sex", features=FEATURES, **more):
    ranker = FairLambdaMART(n_jobs=1, **params)
    return ranker.fit(
        frame[features], frame["y"], qid=frame["qid"], sensitive_features=frame[sensitive], **more
    )


def agree(client, frame, tmp_path, params, sensitive="sex", parts=None, columns=COLUMNS, **more):
    """Fit both on the same edges, and give the Dask ranker once the predictions agree."""
    ranker = DaskFairLambdaMART(client=client, **params)
    parts = parted(frame) if parts is None else parts
    ranker.fit(parts, sensitive=sensitive, **columns, **{name: name for name in more})
    bins = ranker.bin_params(tmp_path / "bins.json")
    local = one_machine(frame, params | bins, sensitive, columns["features"], **more)
    X = frame[columns["features"]]
    scores = local.predict(X)
    assert np.ptp(scores) > 0.1
    np.testing.assert_allclose(ranker.predict(X), scores, rtol=0, atol=1e-12)
    return ranker


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["torn at the edges", "scattered"])
def test_the_model_is_that_of_one_machine_on_the_same_edges(client, tmp_path, kind):
    frame = people()
    if kind == "scattered":
        frame = frame.sample(frac=1.0, random_state=1)
    ranker = agree(client, frame, tmp_path, SMALL)
    assert "60 queries were in more than one partition" in ranker.notes_[0]
    assert ranker.notes_[1].startswith(f"{len(client.nthreads())} workers held")


@pytest.mark.gate
def test_many_bins(client, tmp_path):
    frame = people(n_queries=150)
    params = SMALL | {"max_bin": 255, "min_sum_hessian_in_leaf": 40.0, "fairness": "exposure"}
    ranker = agree(client, frame, tmp_path, params)
    assert max(map(len, ranker.bin_edges_)) > 240


@pytest.mark.gate
def test_edges_of_a_sample(client, tmp_path):
    frame = people()
    frame.loc[777, "x1"], frame.loc[555, "x3"] = -5.0, np.nan  # rows that no sample holds
    ranker = agree(client, frame, tmp_path, SMALL | {"bin_construct_sample_cnt": 60})
    whole = DaskFairLambdaMART(client=client, **SMALL | {"n_estimators": 1})
    whole.fit(parted(people()), sensitive="sex", **COLUMNS)
    assert not np.array_equal(ranker.bin_edges_[0], whole.bin_edges_[0])
    assert whole.notes_[1] == ranker.notes_[1]


@pytest.mark.gate
def test_costs_weights_and_crossed_groups(client, tmp_path):
    frame = people()
    weight = 1.0 + frame["qid"] % 3
    frame["query_weight"] = weight
    params = SMALL | {"by": ["sex", "age"], "fairness": "rkl", "alpha": 0.7}
    agree(client, frame, tmp_path, params, ["sex", "age"], cost=frame["cost"], query_weight=weight)


@pytest.mark.slow
def test_costs_of_pairs(client, tmp_path):
    frame = people()
    agree(
        client,
        frame,
        tmp_path,
        SMALL
        | {"pair_cost": ClassPairCost([[1, 1, 1, 1], [2, 1, 1, 1], [5, 3, 1, 1], [9, 4, 2, 1]])},
    )


@pytest.mark.slow
def test_text_columns_are_categories_and_a_base_is_built_upon(client, tmp_path):
    frame = people()
    rng = np.random.default_rng(3)
    frame["city"] = rng.choice(["Bonn", "Rome", "Lima"], len(frame))
    features = [*FEATURES, "city"]
    base = LambdaMART(n_estimators=3, n_jobs=1).fit(frame[features], frame["y"], qid=frame["qid"])
    params = SMALL | {"base": base, "alpha": 0.9}
    agree(client, frame, tmp_path, params, columns=COLUMNS | {"features": features})


@pytest.mark.slow
def test_forced_bins_of_the_user_serve_both(client, tmp_path):
    frame = people()
    (tmp_path / "own.json").write_text('[{"feature": 0, "bin_upper_bound": [-1.0, 0.1, 0.7]}]')
    params = SMALL | {"forcedbins_filename": str(tmp_path / "own.json"), "max_bin": 15}
    scores = one_machine(frame, params).predict(frame[FEATURES])
    ranker = DaskFairLambdaMART(client=client, **params).fit(
        parted(frame), sensitive="sex", **COLUMNS
    )
    np.testing.assert_allclose(ranker.predict(frame[FEATURES]), scores, rtol=0, atol=1e-12)
    with pytest.raises(DataError, match="same file to the other ranker"):
        ranker.bin_params(tmp_path / "bins.json")


@pytest.mark.slow
def test_early_stopping_on_held_out_lists(client, tmp_path):
    params = SMALL | {"n_estimators": 40, "learning_rate": 0.5, "early_stopping": 3}
    params |= {"validation": 0.3, "metric": "tradeoff", "random_state": 0}
    frame = people()
    ranker = agree(client, frame, tmp_path, params)
    assert ranker.to_local().best_iteration_ < 40


@pytest.mark.gate
@pytest.mark.parametrize("client", [2], indirect=True)
def test_saving_and_predicting(client, tmp_path):
    frame = people()
    for at, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(tmp_path / f"part-{at}.parquet")
    with client.as_current():
        ranker = DaskFairLambdaMART(**SMALL).fit(tmp_path, sensitive="sex", **COLUMNS)
        parts = parted(frame)
        scored = parts.assign(score=ranker.predict(parts))
        found = dask_evaluate(scored, "NDCG@10, RND", sensitive="sex", cost=False, n_boot=0)
    ranker.save(tmp_path / "model")
    loaded = equirank.load(tmp_path / "model")
    assert type(loaded) is FairLambdaMART
    ranking = loaded.rank(
        frame[FEATURES], frame["y"], qid=frame["qid"], sensitive_features=frame["sex"]
    )
    wanted = equirank.evaluate(ranking, "NDCG@10, RND", n_boot=0)
    np.testing.assert_allclose(found.summary()["value"], wanted.summary()["value"], atol=1e-12)
    assert ranker.rank(frame[FEATURES], qid=frame["qid"]).n_draws == 1


@pytest.mark.gate
@pytest.mark.parametrize("client", [2], indirect=True)
def test_an_error_on_one_worker_ends_training_on_all(client):
    frame = people()
    frame.loc[frame.index[-1], "x0"] = np.inf
    with pytest.raises(DataError, match="X must hold finite numbers"):
        DaskFairLambdaMART(client=client, **SMALL).fit(parted(frame), sensitive="sex", **COLUMNS)
    assert client.submit(sum, [1, 2]).result(timeout=LIMIT) == 3


def test_without_a_client_it_says_how_to_start_one(monkeypatch):
    monkeypatch.setattr(distributed, "get_client", _no_client)
    with pytest.raises(DataError, match=r"Client\(n_workers=2, threads_per_worker=1\)"):
        DaskFairLambdaMART().fit(parted(people(5)), sensitive="sex", **COLUMNS)


def _no_client():
    raise ValueError("No global client found and no address provided")


def test_parameters_are_those_of_the_ranker():
    ranker = DaskFairLambdaMART(0.2, "fair_first", max_bin=63, client="mine")
    assert ranker.alpha == 0.2
    assert ranker.max_bin == 63
    assert ranker.get_params() == FairLambdaMART(0.2, "fair_first", max_bin=63).get_params() | {
        "client": "mine"
    }
    other = clone(ranker).set_params(alpha=0.4, client=None)
    assert (other.alpha, other.client, ranker.alpha) == (0.4, None, 0.2)
    other.alpha, other.client = 0.6, "yours"
    assert (other.get_params()["alpha"], other.get_params()["client"]) == (0.6, "yours")
    assert repr(DaskFairLambdaMART(alpha=0.3)) == "DaskFairLambdaMART(alpha=0.3)"
    assert pickle.loads(pickle.dumps(other)).alpha == 0.6
    with pytest.raises(AttributeError, match="has no attribute 'beta'"):
        _ = ranker.beta


def test_it_is_no_estimator_of_scikit_learn():
    """Its fit takes a frame and names of columns, so scikit-learn's checks do not apply."""
    assert not isinstance(DaskFairLambdaMART(), BaseEstimator)
    with pytest.raises(NotFittedError, match="must be fitted first"):
        DaskFairLambdaMART().predict(people(3)[FEATURES])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
def test_after_training_a_worker_may_use_all_cores(client, monkeypatch):
    before = client.run(allowed_cores)
    few = {address: cores[:1] for address, cores in before.items()}
    monkeypatch.setattr("equirank.distributed.tree_growth.worker_cores", lambda *_: few)
    params = SMALL | {"n_estimators": 3}
    DaskFairLambdaMART(client=client, **params).fit(parted(people(8)), sensitive="sex", **COLUMNS)
    for address, cores in before.items():
        assert client.submit(allowed_cores, workers=[address], pure=False).result() == cores


@pytest.mark.slow
def test_bad_parameters_and_columns_are_refused(client):
    parts = parted(people(5))

    def fit(params=None, **columns):
        given = {"sensitive": "sex", **COLUMNS, **columns}
        DaskFairLambdaMART(client=client, **(params or {})).fit(parts, **given)

    with pytest.raises(DataError, match="alpha of DaskFairLambdaMART must be"):
        fit({"alpha": 2.0})
    with pytest.raises(DataError, match="validation of DaskFairLambdaMART must be given"):
        fit({"early_stopping": 3})
    with pytest.raises(DataError, match="scores cannot be matched"):
        fit({"base": np.zeros(3)})
    with pytest.raises(DataError, match="must be fitted already"):
        fit({"base": LambdaMART()})
    with pytest.raises(DataError, match="warm_start of DaskFairLambdaMART must be False"):
        fit({"warm_start": True})
    with pytest.raises(DataError, match="looks at all rows"):
        fit({"pair_cost": ClassPairCost("centroid")})
    with pytest.raises(DataError, match="sensitive must be given"):
        fit(sensitive=None)
    with pytest.raises(DataError, match="relevance must name the column"):
        fit(relevance=False)
    with pytest.raises(DataError, match="features must name at least one"):
        fit(features=[])


@pytest.mark.slow
def test_a_cluster_of_threads_is_refused():
    data = as_ranking_data([[1.0]], [0])
    assert data.n_rows == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        )
    with cluster, distributed.Client(cluster) as threads:
        ranker = DaskFairLambdaMART(client=threads, **SMALL)
        with pytest.raises(DataError, match="must be processes of their own"):
            ranker.fit(parted(people(8)), sensitive="sex", **COLUMNS)
