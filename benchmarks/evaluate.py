"""Evaluation of a million rows: compared with ranx, and the cost of intervals, ties and groups.

Prints ratios of times measured in the same run. Run: python benchmarks/evaluate.py
"""

import gc
import resource
import time
import tracemalloc

import numpy as np

import equirank
from equirank import as_ranking_data, evaluate

Q, N = 10_000, 100


def best(function, repeats=5):
    times = []
    for _ in range(repeats):
        gc.collect()
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def arrays(n_queries=Q, n_items=N, seed=0):
    rng = np.random.default_rng(seed)
    n = n_queries * n_items
    return {
        "y": rng.integers(0, 5, n).astype(float),
        "qid": np.repeat(np.arange(n_queries), n_items),
        "score": rng.random(n),
    }


def against_ranx():
    from ranx import Qrels, Run
    from ranx import evaluate as ranx_evaluate

    given = arrays()
    y, s = given["y"].astype(int).reshape(Q, N), given["score"].reshape(Q, N)

    def build():
        def named(rows):
            return {f"q{i}": {f"d{j}": v for j, v in enumerate(r)} for i, r in enumerate(rows)}

        return Qrels(named(y.tolist())), Run(named(s.tolist()))

    begin = time.perf_counter()
    qrels, run = build()
    built = time.perf_counter() - begin
    # ranx has no ERR: three metrics compared with our four
    names = ["ndcg_burges@10", "map", "precision@10"]
    ranx_evaluate(qrels, run, names)  # compiles
    kernel = best(lambda: ranx_evaluate(qrels, run, names), 3)
    ours_names = "NDCG@10, AveragePrecision, Precision@10, ERR"
    ours = best(lambda: evaluate(as_ranking_data(None, **given), ours_names, n_boot=0))
    theirs = ranx_evaluate(qrels, run, names)
    mine = evaluate(as_ranking_data(None, **given), ours_names, n_boot=0)
    assert abs(mine["NDCG@10"] - theirs["ndcg_burges@10"]) < 1e-9
    assert abs(mine["AveragePrecision"] - theirs["map"]) < 1e-9
    assert abs(mine["Precision@10"] - theirs["precision@10"]) < 1e-9
    print(f"1,000,000 rows, 4 metrics (ranx: 3): ours from arrays {ours:.3f} s")
    print(f"  ranx including Qrels and Run {(built + kernel) / ours:.0f}x as long")
    print(f"  ranx evaluate alone {kernel / ours:.1f}x as long")


def bootstrap():
    data = as_ranking_data(None, **arrays())
    names = "NDCG@10, AveragePrecision, Precision@10, ERR, AUC"

    def run(n_boot):
        return evaluate(equirank.Ranking.from_scores(data), names, n_boot=n_boot)

    plain, full = best(lambda: run(0)), best(lambda: run(1000))
    print(
        f"1,000 bootstrap replicates of 5 metrics over {Q} queries add "
        f"{(full - plain) / plain:.2f}x the evaluation"
    )


def one_list():
    rng = np.random.default_rng(0)
    n = 100_000
    data = as_ranking_data(
        None,
        rng.integers(0, 5, n),
        score=rng.random(n),
        sensitive_features=rng.choice(["a", "b"], n),
    )
    for names in ("NDCG@10", "NDCG@10, AveragePrecision, Precision@10, RND, ExposureGap"):
        plain = best(lambda names=names: evaluate(data, names, n_boot=0, n_permutations=0), 3)
        begin = time.perf_counter()
        evaluate(data, names, n_boot=1000, n_permutations=0)
        full = time.perf_counter() - begin
        print(
            f"one list of {n}, 1,000 replicates of items, {names}: {full:.1f} s, "
            f"{full / plain / 1000:.2f}x the evaluation per replicate"
        )


def growth():
    print("n log n: seconds per row times log2(rows), relative to 1e4 rows (NDCG@10 + RND)")
    base = None
    for rows in (10**4, 10**5, 10**6, 10**7):
        given = arrays(rows // 100)
        groups = np.random.default_rng(1).integers(0, 2, rows)

        def run(given=given, groups=groups):
            data = as_ranking_data(None, **given, sensitive_features=groups)
            return evaluate(data, "NDCG@10, RND", n_boot=0, n_permutations=0)

        seconds = best(run, 3) / (rows * np.log2(rows))
        base = base or seconds
        print(f"  {rows:>10,} rows {seconds / base:.2f}x")
        given = {"y": given["y"], "score": given["score"]}
    for rows in (10**5, 10**6, 10**7):
        rng = np.random.default_rng(2)
        y, s = rng.integers(0, 5, rows).astype(float), rng.random(rows)
        seconds = best(
            lambda y=y, s=s: evaluate(as_ranking_data(None, y, score=s), "NDCG@10", n_boot=0), 2
        ) / (rows * np.log2(rows))
        print(f"  {rows:>10,} rows in one list {seconds / base:.2f}x")


def memory():
    for rows in (10**6, 10**7):
        given = arrays(rows // 100)
        size = sum(a.nbytes for a in given.values())
        names = "NDCG@10, AveragePrecision, Precision@10, ERR"
        tracemalloc.start()
        evaluate(as_ranking_data(None, **given), names, n_boot=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{rows:,} rows: peak beyond the input arrays {peak / size:.2f}x their size")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak of the process {peak:.1f} GiB")


if __name__ == "__main__":
    bootstrap()
    memory()
    growth()
    one_list()
    against_ranx()
