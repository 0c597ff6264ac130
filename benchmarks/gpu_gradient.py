"""The fair gradient on the CPU and on a CUDA device, and XGBoost's trees with it.

Lists of 120 items, two groups, strategy swap. Medians of repeated calls: one thread, all threads,
the device with scores and results in its memory, and with both copies. If XGBoost is installed, it
then grows 100 trees on the device with each gradient. Needs CuPy for the device.

Run: python benchmarks/gpu_gradient.py [--rows 120000 1020000] [--jobs 16] [--trees 100]
"""

import argparse
import time

import numpy as np

from equirank.core.attribute import Attribute
from equirank.core.data import RankingData
from equirank.rankers import fair_objective

LENGTH = 120
OPTIONS = {"alpha": 0.5, "step": 5, "cutoff": 50}


def lists(rows, features=50):
    """Return lists whose first feature tells the groups apart."""
    rng = np.random.default_rng(0)
    n = rows // LENGTH
    X = rng.normal(size=(n * LENGTH, features)).astype(np.float32)
    merit = X[:, :10] @ rng.normal(size=10) + 3 * rng.normal(size=len(X))
    y = np.digitize(merit, np.quantile(merit, [0.5, 0.75, 0.9, 0.97])).astype(np.float64)
    codes = (X[:, 0] + rng.normal(size=len(X)) > 0.4).astype(np.int32)
    return RankingData(
        X, y, np.arange(n + 1, dtype=np.int64) * LENGTH, np.arange(n),
        sensitive={"group": Attribute(codes, ("a", "b"))}, max_grade=4.0,
    )  # fmt: skip


def seconds(call, finish, runs=9):
    """Return the median time of a call after two that warm up."""
    found = []
    for _ in range(runs + 2):
        begin = time.perf_counter()
        call()
        finish()
        found.append(time.perf_counter() - begin)
    return float(np.median(found[2:]))


def gradients(data, jobs, cupy):
    """Print the time of each way to compute the gradient."""
    score = np.random.default_rng(1).normal(size=data.n_rows)
    ways = {
        "CPU, 1 thread": (fair_objective(data, n_jobs=1, **OPTIONS), score),
        f"CPU, {jobs} threads": (fair_objective(data, n_jobs=jobs, **OPTIONS), score),
    }
    finish = int
    if cupy is not None:
        objective = fair_objective(data, device="cuda", **OPTIONS)
        ways |= {
            "device": (objective, cupy.asarray(score)),
            "device with both copies": (objective, score),
        }
        finish = cupy.cuda.Device().synchronize
        first, wanted = (o(score)[0] for o in (objective, ways["CPU, 1 thread"][0]))
        print(f"- largest difference to the CPU: {np.abs(first - wanted).max():.1e}")
    times = {name: seconds(lambda o=o, s=s: o(s), finish) for name, (o, s) in ways.items()}
    for name, value in times.items():
        share = value / times["CPU, 1 thread"]
        print(f"| {data.n_rows:,} | {name} | {1000 * value:.1f} ms | {share:.3f} |", flush=True)


def trees(data, jobs, n_trees, cupy):
    """Print the time of XGBoost's trees on the device with each gradient, and with its own."""
    try:
        import xgboost
    except ImportError:
        print("- XGBoost is not installed")
        return
    params = {
        "device": "cpu" if cupy is None else "cuda", "tree_method": "hist", "max_leaves": 31,
        "max_depth": 0, "grow_policy": "lossguide", "base_score": 0.0, "min_child_weight": 1e-3,
        "nthread": jobs, "disable_default_eval_metric": True,
    }  # fmt: skip
    rows = xgboost.QuantileDMatrix(data.X, data.y, qid=data.query_of_rows())
    given = {
        "rank:ndcg": None,
        "CPU, 1 thread": {"n_jobs": 1},
        f"CPU, {jobs} threads": {"n_jobs": jobs},
    }
    if cupy is not None:
        given["device"] = {"device": "cuda"}
    for name, options in given.items():
        own = {"objective": "rank:ndcg"} if options is None else {}
        objective = None if options is None else fair_objective(data, **OPTIONS, **options)
        xgboost.train(params | own, rows, 2, obj=objective)
        if objective is not None:
            objective.reset()
        begin = time.perf_counter()
        xgboost.train(params | own, rows, n_trees, obj=objective)
        taken = time.perf_counter() - begin
        print(f"| {data.n_rows:,} | {n_trees} trees, {name} | {taken:.2f} s | |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[120_000, 1_020_000])
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--trees", type=int, default=100)
    args = parser.parse_args()
    try:
        import cupy
    except ImportError:
        cupy = None
        print("- CuPy is not installed: the CPU alone")
    print("| rows | gradient | time | of one thread |")
    print("| --- | --- | --- | --- |")
    for rows in args.rows:
        data = lists(rows)
        gradients(data, args.jobs, cupy)
        trees(data, args.jobs, args.trees, cupy)


if __name__ == "__main__":
    main()
