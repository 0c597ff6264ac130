"""Overhead of `compare`: ten methods, five folds and three seeds on MQ2008.

Needs EQUIRANK_DATA. ``python benchmarks/compare.py [n_jobs] [size]``: the number of workers (all
cores) and a factor on the sizes of the models (1). Work is the time of the cells, each
measured in its worker; capacity is the number of workers times the wall time. The difference is
starting workers, reading and sending data, storing cells, waiting for the last cell, tests and
tables.
"""

import os
import sys
import tempfile
import time

from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equirank import compare
from equirank.datasets import load_mq2008
from equirank.rankers import MART, LambdaMART, McRank, RankBoost, RankBoostPlus

METRICS = ["NDCG@10", "AveragePrecision", "ERR"]


def methods(size):
    """Return ten small methods of several families."""
    trees = {"n_estimators": round(60 * size), "n_jobs": 1}
    rounds = round(60 * size)
    return {
        "ridge": make_pipeline(StandardScaler(), Ridge()),
        "ridge, strong": make_pipeline(StandardScaler(), Ridge(alpha=1000)),
        "boost": RankBoost(n_estimators=rounds),
        "boost, long": RankBoost(n_estimators=3 * rounds),
        "boost plus": RankBoostPlus(n_estimators=rounds),
        "mart": MART(**trees),
        "mcrank": McRank(**trees),
        "lambdamart": LambdaMART(**trees),
        "lambdamart, slow": LambdaMART(**trees, learning_rate=0.03),
        "lambdamart, small": LambdaMART(**trees, num_leaves=7),
    }


def main(n_jobs, size):
    started = time.perf_counter()
    data = load_mq2008()
    read = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as store:
        times = []
        for _ in range(2):
            started = time.perf_counter()
            result = compare(
                methods(size), data, METRICS, cv=5, seeds=3, n_jobs=n_jobs, store=store
            )
            result.versus("ridge")
            times.append(time.perf_counter() - started)
    first = result.table["metric"] == METRICS[0]
    fit = float(result.table["fit_seconds"][first].sum())
    other = float(result.table["other_seconds"][first].sum())
    clock, again = times
    print(result)
    print(f"{data!r}, {int(first.sum())} cells, {n_jobs} workers")
    print(f"reading the data        {read:8.1f} s")
    print(f"wall time               {clock:8.1f} s")
    print(f"fitting, in the workers {fit:8.1f} s, ranking and evaluating {other:.1f} s")
    print(f"workers busy on average {(fit + other) / clock:8.2f} of {n_jobs}")
    print(f"outside fit and evaluate {100 * (1 - (fit + other) / (clock * n_jobs)):6.1f} %")
    print(f"again, all cells stored {again:8.1f} s, {100 * again / clock:.1f} % of the first run")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else os.cpu_count() or 1, float(given[1]) if given[1:] else 1.0)
