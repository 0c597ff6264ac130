"""A worker that is killed, at every stage of a call: the right result, or a clear error in time.

`benchmarks/dask_kills.py` kills at twelve moments of each call, whatever runs then.
"""

import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pkgutil import resolve_name

import numpy as np
import pandas as pd
import pytest
from waiting import LIMIT

from equirank.distributed import DaskFairLambdaMART, dask_audit, dask_evaluate

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.gate

FEATURES = ["x0", "x1"]
FIT = "equirank.distributed.dask_fair_lambdamart"
#: With these, one worker grows the trees of two.
PARAMS = {"n_estimators": 5, "num_leaves": 7, "max_bin": 15, "min_child_samples": 0}
PARAMS |= {"min_sum_hessian_in_leaf": 2.0, "random_state": 0}


class Clusters:
    """Clusters of two workers; a new one if Dask did not replace a worker that was killed."""

    def __init__(self):
        self.cluster = self.client = None

    def complete(self):
        until = time.monotonic() + 5
        while self.client is not None and time.monotonic() < until:
            if len(self.client.nthreads()) == 2:
                return self.client
            time.sleep(0.05)
        self.close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ports in use
            self.cluster = distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            )
            self.client = distributed.Client(self.cluster, set_as_default=False)
        return self.client

    def close(self):
        if self.client is not None:
            self.client.close(timeout=LIMIT)
            self.cluster.close(timeout=LIMIT)
            self.cluster = self.client = None


@pytest.fixture(scope="module")
def clusters():
    clusters = Clusters()
    yield clusters
    clusters.close()


def people(n=600):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=FEATURES)
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["y"] = np.clip(np.round(frame["x0"] + rng.normal(size=n)), 0, 3)
    frame["score"], frame["cost"] = frame["x0"], rng.uniform(1, 2, n)
    frame["qid"] = np.arange(n) // 12
    return frame


FRAME = people()
ROLES = {"query": "qid", "relevance": "y", "sensitive": "sex"}


def parts():
    from dask.dataframe import from_pandas

    return from_pandas(FRAME, npartitions=4, sort=False)


def fit(client, **params):
    ranker = DaskFairLambdaMART(client=client, **PARAMS | params)
    ranker.fit(parts(), cost="cost", features=FEATURES, **ROLES)
    return np.round(ranker.predict(FRAME[FEATURES]), 9).tolist()


def evaluated(client):
    return dask_evaluate(
        parts(), "NDCG@10, RND", client=client, cost=False, n_boot=20, **ROLES
    ).to_json()


def audited(client):
    options = {"n_boot": 20, "n_permutations": 20, "date": "2026-01-01"}
    return dask_audit(parts(), client=client, **ROLES, **options).to_json()


MOMENTS = [
    (fit, f"{FIT}.survey"),
    (fit, "equirank.distributed.tree_growth.ports_of"),
    (fit, "equirank.distributed.tree_growth._cost_mean"),
    (fit, f"{FIT}.Plan.wait"),
    (fit, f"{FIT}.watch"),
    (evaluated, "equirank.engines.dask_frames.compute"),
    (audited, "equirank.engines.log_sums.LogOptions.measure"),
]


@pytest.fixture(scope="module")
def wanted():
    """The result of each undisturbed call."""
    return {}


@pytest.mark.parametrize(("call", "stage"), MOMENTS, ids=[stage for _, stage in MOMENTS])
def test_a_call_ends_in_time(clusters, wanted, monkeypatch, call, stage):
    client = clusters.complete()
    if call not in wanted:
        wanted[call] = call(client)
    victim = sorted(client.nthreads())[0]
    killed = kill_at(stage, monkeypatch, client, victim)
    found = ended(call, client)
    assert killed
    if isinstance(found, RuntimeError):
        assert call is fit
        assert str(found).startswith(f"worker {victim} left during training")
    else:
        assert found == wanted[call]


def test_the_workers_print_nothing_of_lightgbm(capfd):
    """LightGBM writes "Listening..." on each worker, whatever its verbosity."""
    clusters = Clusters()  # the workers inherit stdout and stderr
    client = clusters.complete()
    client.run(os.write, 1, b"a line of a worker\n")
    fit(client)
    clusters.close()
    captured = capfd.readouterr()
    assert captured.out.count("a line of a worker\n") == 2
    assert "LightGBM" not in captured.out + captured.err


def test_a_worker_dies_while_trees_grow(clusters, monkeypatch):
    client = clusters.complete()
    victim = sorted(client.nthreads())[1]
    kill_at(f"{FIT}.watch", monkeypatch, client, victim, later=1.0)
    found = ended(lambda client: fit(client, n_estimators=100_000), client)
    assert str(found).startswith(f"worker {victim} left during training")
    monkeypatch.undo()
    assert len(fit(client)) == len(FRAME)  # with the workers that are left


def kill_at(stage, monkeypatch, client, victim, later=0.0):
    """Kill a worker when the function of a stage is called; the list returned gets its process."""
    pid = client.run(os.getpid, workers=[victim])[victim]
    function, pids, killed = resolve_name(stage), [pid], []

    def kill(pid):
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    def killed_first(*args, **given):
        while pids:
            timer = threading.Timer(later, kill, (pids.pop(),))
            timer.start()
            if not later:
                timer.join()
        return function(*args, **given)

    monkeypatch.setattr(stage, killed_first)
    return killed


def ended(call, client):
    """Return the result or the RuntimeError of a call; end one that waits for a worker that died.

    LightGBM's own time-out is two hours.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call, client)
        try:
            return future.result(LIMIT)
        except RuntimeError as error:
            return error
        finally:
            if not future.done():
                client.close(timeout=LIMIT)
