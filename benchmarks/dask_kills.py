"""Kill a worker at twelve moments of a fit, an evaluation and an audit with Dask.

Each call must end within 30 seconds: in the result of an undisturbed call, or in an error that
names the worker. The moments divide the time of an undisturbed call evenly. The exit code is 1 if
a call did neither. Arguments: number of moments, and the calls (fit evaluate audit).
"""

import os
import signal
import sys
import threading
import time
import warnings
from contextlib import suppress

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd

from equirank.distributed import DaskFairLambdaMART, dask_audit, dask_evaluate

LIMIT = 30.0
TOO_LATE = object()
FEATURES = [f"x{at}" for at in range(8)]
#: With these, no estimate of the rows of a leaf matters, and one worker grows the trees of two.
PARAMS = {"n_estimators": 60, "num_leaves": 15, "max_bin": 15, "min_child_samples": 0}
PARAMS |= {"min_sum_hessian_in_leaf": 20.0, "random_state": 0}


def people(n_rows=60_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, len(FEATURES)))
    frame = pd.DataFrame(X, columns=FEATURES)
    frame["sex"] = np.where(X[:, 0] + rng.normal(size=n_rows) > 0, "m", "f")
    frame["y"] = np.clip(np.round(X[:, 0] + X[:, 1] + rng.normal(size=n_rows)), 0, 3)
    frame["score"] = X[:, 0] + rng.normal(size=n_rows)
    frame["cost"] = rng.uniform(1, 2, n_rows)
    frame["qid"] = np.arange(n_rows) // 20
    return frame


FRAME = people()


def parts(n_rows=None):
    return dd.from_pandas(FRAME.iloc[:n_rows], npartitions=12, sort=False)


def fit(client):
    ranker = DaskFairLambdaMART(client=client, **PARAMS)
    roles = {"query": "qid", "relevance": "y", "sensitive": "sex", "cost": "cost"}
    ranker.fit(parts(), features=FEATURES, **roles)
    return ranker.predict(FRAME[FEATURES].iloc[:2000])


def evaluate(client):
    roles = {"query": "qid", "relevance": "y", "sensitive": "sex", "cost": False}
    found = dask_evaluate(parts(), "NDCG@10, RND, ExposureGap", client=client, n_boot=100, **roles)
    return found.to_json()


def audit(client):
    roles = {"query": "qid", "relevance": "y", "sensitive": "sex"}
    options = {"n_boot": 50, "n_permutations": 50, "date": "2026-01-01"}
    return dask_audit(parts(20_000), client=client, **roles, **options).to_json()


CALLS = {"fit": fit, "evaluate": evaluate, "audit": audit}


def start():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    return cluster, distributed.Client(cluster)


def complete(client):
    """Return whether both workers are there again, at most after 20 seconds."""
    until = time.monotonic() + 20
    while len(client.nthreads()) != 2 and time.monotonic() < until:
        time.sleep(0.1)
    return len(client.nthreads()) == 2


def again(cluster, client):
    """Return a new cluster, after the old one has been left in disorder."""
    print("    a new cluster", flush=True)
    with suppress(TimeoutError):
        client.close(timeout=5)
        cluster.close(timeout=10)
    return start()


def same(a, b):
    return bool(np.allclose(a, b, rtol=0, atol=1e-9)) if isinstance(a, np.ndarray) else a == b


def killed(call, client, seconds, which):
    """Return how a call ended whose worker was killed after some seconds, and when after that.

    If the call ended before, return TOO_LATE and its duration.
    """
    address = sorted(client.nthreads())[which]
    pid = client.run(os.getpid, workers=[address])[address]
    ended = []

    def target():
        try:
            ended.append(call(client))
        except Exception as error:  # noqa: BLE001 (any error is a finding)
            ended.append(error)

    thread = threading.Thread(target=target, daemon=True)
    begin = time.monotonic()
    thread.start()
    thread.join(seconds)
    at = time.monotonic()
    if ended:
        return TOO_LATE, at - begin
    os.kill(pid, signal.SIGKILL)
    thread.join(LIMIT)
    return (ended[0] if ended else None), time.monotonic() - at


def main(n_moments, names):
    n_bad = 0
    for name in names:
        call = CALLS[name]
        cluster, client = start()
        call(client)  # compiles
        begin = time.monotonic()
        wanted = call(client)
        whole = time.monotonic() - begin
        for at in range(n_moments):
            if not complete(client):
                cluster, client = again(cluster, client)
            found, later = TOO_LATE, whole
            while found is TOO_LATE:
                whole = min(whole, later)
                seconds = whole * (at + 0.5) / n_moments
                found, later = killed(call, client, seconds, at % 2)
            if found is None:
                words, good = "did not end", False
            elif isinstance(found, Exception):
                words = f"{type(found).__name__}: {found}"
                good = isinstance(found, RuntimeError) and "worker" in str(found)
            else:
                good = same(found, wanted)
                words = "right result" if good else "wrong result"
            n_bad += not good
            mark = "   " if good else "BAD"
            print(
                f"{mark} {name:9} killed at {seconds:5.2f} s, ended {later:5.1f} s later: {words}"
            )
            sys.stdout.flush()
            if found is None:
                cluster, client = again(cluster, client)
        client.close()
        cluster.close()
    print(f"{n_bad} of {n_moments * len(names)} calls ended badly")
    return n_bad


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    sys.exit(main(n, sys.argv[2:] or list(CALLS)) > 0)
