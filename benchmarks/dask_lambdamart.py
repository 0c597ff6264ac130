"""Two workers of one thread against two threads of one process; evaluation of rows in parts.

Training: `DaskFairLambdaMART` on two workers and `FairLambdaMART(n_jobs=2)` on the same rows, 136
features and 255 bins, in interleaved pairs; the partitions lie on the workers, the arrays in the
process. Evaluation: rows that are made partition by partition and never lie in one place, with the
largest memory any worker and this process had.

Each pair says how much processor time other processes took meanwhile. With `--idle` each run waits
until the machine is idle, and a pair that others disturbed (a tenth of its time) is run again.

Run: python benchmarks/dask_lambdamart.py [--rows 240000] [--trees 100] [--repeats 5] [--idle]
         [--evaluate-rows 1000000] [--only train|evaluate]
"""

import argparse
import resource
import time
import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil

from equirank import evaluate
from equirank.distributed import DaskFairLambdaMART, dask_evaluate
from equirank.rankers import FairLambdaMART

N_ITEMS, N_FEATURES = 120, 136
FEATURES = [f"x{j}" for j in range(N_FEATURES)]


def people(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, N_FEATURES))
    X[:, ::5] = np.round(X[:, ::5])  # a fifth of the features has few values
    frame = pd.DataFrame(X, columns=FEATURES)
    noise = rng.normal(size=rows)
    frame["y"] = np.clip(np.round(X[:, 1] + X[:, 2] * X[:, 3] + noise), 0, 4)
    frame["sex"] = np.where(X[:, 1] + rng.normal(size=rows) > 0.5, "m", "f")
    frame["qid"] = np.arange(rows) // N_ITEMS
    return frame


def busy():
    """Return the seconds all cores have been at work."""
    t = psutil.cpu_times()
    return sum(t) - t.idle - getattr(t, "iowait", 0) - getattr(t, "guest", 0)


def others(client):
    """Return the processor time of all processes but this one and the workers."""
    return busy() - time.process_time() - sum(client.run(time.process_time).values())


def wait_until_idle(quiet_s=1.2):
    since = time.perf_counter()
    while time.perf_counter() - since < quiet_s:
        before = busy()
        time.sleep(0.4)
        if busy() - before > 0.08:
            since = time.perf_counter()


def timed(client, fit, idle):
    """Return the ranker, how long it took, and the share of it that others were at work."""
    if idle:
        wait_until_idle()
    before, started = others(client), time.perf_counter()
    ranker = fit()
    took = time.perf_counter() - started
    return ranker, took, (others(client) - before) / took


def train(client, rows, trees, repeats, idle):
    frame = people(rows)
    parts = client.persist(dd.from_pandas(frame, npartitions=8, sort=False))
    X, y = frame[FEATURES].to_numpy(), frame["y"].to_numpy()
    qid, sex = frame["qid"].to_numpy(), frame["sex"].to_numpy()
    params = {"n_estimators": trees, "alpha": 0.5, "max_bin": 255}
    columns = {"query": "qid", "relevance": "y", "sensitive": "sex", "features": FEATURES}

    def two_workers():
        return DaskFairLambdaMART(client=client, n_jobs=1, **params).fit(parts, **columns)

    def one_process():
        return FairLambdaMART(n_jobs=2, **params).fit(X, y, qid=qid, sensitive_features=sex)

    two_workers(), one_process()  # the first compiles
    ratios = []
    while len(ratios) < repeats:
        far, far_s, far_others = timed(client, two_workers, idle)
        near, near_s, near_others = timed(client, one_process, idle)
        disturbed = max(far_others, near_others) > 0.1
        if not (idle and disturbed):
            ratios.append(far_s / near_s)
        print(
            f"  {far_s:6.1f} s against {near_s:6.1f} s, {far_s / near_s:.2f}x; others took "
            f"{far_others:.0%} and {near_others:.0%} of a core{' (disturbed)' * disturbed}"
        )
    print(f"training {rows} rows x {N_FEATURES}, {trees} trees, 255 bins: two workers of one")
    print(f"  thread take {np.median(ratios):.2f}x of one process with two (median of {repeats})")
    test = people(20_000, seed=1)
    for name, ranker in (("two workers", far.to_local()), ("one process", near)):
        given = {"qid": test["qid"], "sensitive_features": test["sex"]}
        X = test[FEATURES] if name == "two workers" else test[FEATURES].to_numpy()
        found = evaluate(ranker.rank(X, test["y"], **given), "NDCG@10, RND", n_boot=0)
        print(f"  {name}: held-out NDCG@10 {found['NDCG@10']:.4f}, RND {found['RND']:.4f}")


def made(seed, rows):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "qid": seed * 1_000_000 + np.arange(rows) // N_ITEMS,
            "y": rng.integers(0, 5, rows),
            "score": rng.random(rows),
            "sex": rng.choice(["f", "m"], rows),
        }
    )


def peak():
    """Return the largest memory this process had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def evaluate_parts(client, rows):
    each = 100_000 // N_ITEMS * N_ITEMS
    n_parts = max(1, round(rows / each))
    before = peak()
    parts = dd.from_map(made, range(n_parts), rows=each)
    started = time.perf_counter()
    found = dask_evaluate(
        parts, "NDCG@10, ERR@10, ExposureGap, RND", sensitive="sex", client=client
    )
    took = time.perf_counter() - started
    print(found)
    workers = ", ".join(f"{size:.0f}" for size in client.run(peak).values())
    print(f"evaluating {n_parts * each} rows in {n_parts} partitions: {took:.1f} s; peak memory of")
    print(f"  the workers {workers} MiB, of this process {peak():.0f} MiB ({before:.0f} before)")


def main():
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=240_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--evaluate-rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=("train", "evaluate"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        if args.only != "train":
            evaluate_parts(client, args.evaluate_rows)
        if args.only != "evaluate":
            train(client, args.rows, args.trees, args.repeats, args.idle)


if __name__ == "__main__":
    main()
