"""Fairness metrics: compared with FairRankTune, a plain rND, and relevance metrics.

Prints ratios of times measured in the same run. Run: python benchmarks/fairness.py
"""

import gc
import math
import time

import numpy as np

from equirank import Ranking, as_ranking_data, evaluate
from equirank.metrics import (
    NDKL,
    RND,
    ExposureGap,
    exposure_gap,
    group_pairwise_accuracy,
    individual_disparity,
    ndkl,
    rnd,
)


def best(function, repeats=5):
    times = []
    for _ in range(repeats):
        gc.collect()
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def plain_rnd(ranking, protected, step, rng):
    """Compute rND as its authors' script does: lists of people, a normaliser by simulation.

    Every prefix is intersected with the list of the protected. The normaliser is the larger of two
    averages over ten lists each, generated with fairness probability 0 and 0.98.
    """

    def value(people):
        total, share = 0.0, len(protected) / len(people)
        for k in range(step, len(people) + 1, step):
            inside = len(set(people[:k]).intersection(protected))
            total += abs(inside / k - share) / math.log2(k)
        return total

    def unfair(f):
        first = [person for person in ranking if person in protected]
        rest = [person for person in ranking if person not in protected]
        made = []
        while first and rest:
            made.append(first.pop(0) if rng.random() < f else rest.pop(0))
        return made + first + rest

    largest = max(sum(value(unfair(f)) for _ in range(10)) / 10 for f in (0.0, 0.98))
    return value(ranking), largest


def against_plain_rnd():
    rng = np.random.default_rng(0)
    n = 10_000
    score = rng.random(n)
    groups = np.where(rng.random(n) < 0.3, "p", "o")
    order = np.argsort(-score).tolist()
    protected = np.flatnonzero(groups == "p").tolist()
    begin = time.perf_counter()
    total, _ = plain_rnd(order, protected, 10, rng)
    plain = time.perf_counter() - begin
    unscaled = rnd(score, groups, step=10, protected="p", normalizer="none")
    assert abs(unscaled - total) < 1e-9
    ours = best(lambda: rnd(score, groups, step=10, protected="p"), 30)
    ranking = Ranking.from_scores(as_ranking_data(None, score=score, sensitive_features=groups))
    ranking.slots()
    metric = RND(step=10, protected="p")
    kernel = best(lambda: metric.per_query(ranking), 30)
    print(f"rND with its normaliser, {n} items: the plain version takes {plain:.1f} s,")
    print(f"  {plain / ours:,.0f}x the function on arrays, sorting included,")
    print(f"  {plain / kernel:,.0f}x the metric on a ranking (the plain version gets one, too)")


def against_fairranktune():
    rng = np.random.default_rng(1)
    n = 100_000
    score = rng.random(n)
    groups = rng.choice(["a", "b", "c"], n)

    data = as_ranking_data(None, score=score, sensitive_features=groups)
    ranking = Ranking.from_scores(data)
    ranking.slots()

    def ours():
        return ExposureGap().per_query(ranking), NDKL().per_query(ranking)

    mine = best(ours, 10)
    with_sorting = best(lambda: (exposure_gap(score, groups), ndkl(score, groups)), 10)
    print(f"one list of {n}, exposure gap and NDKL of a ranking: ours {1000 * mine:.1f} ms")
    try:
        import FairRankTune as frt
        import pandas as pd
    except ImportError:
        print("  FairRankTune is not installed: no comparison")
        return
    order = np.argsort(-score)
    frame = pd.DataFrame({"ranking": order.astype(str)})
    item_group = dict(zip(order.astype(str).tolist(), groups[order].tolist(), strict=True))
    begin = time.perf_counter()
    frt.Metrics.EXP(frame, item_group, "MinMaxRatio")
    frt.Metrics.NDKL(frame, item_group)
    theirs = time.perf_counter() - begin
    print(f"  FairRankTune's EXP and NDKL of the same ranking take {theirs / mine:,.0f}x as long,")
    print(f"  {theirs / with_sorting:,.0f}x the two functions on arrays, each including a sort")


def against_relevance():
    rng = np.random.default_rng(2)
    n_queries, n_items = 10_000, 100
    n = n_queries * n_items
    data = as_ranking_data(
        None,
        rng.integers(0, 5, n).astype(float),
        qid=np.repeat(np.arange(n_queries), n_items),
        score=rng.random(n),
        sensitive_features=rng.choice(["f", "m"], n),
    )

    def run(names):
        ranking = Ranking.from_scores(data)
        return evaluate(ranking, names, n_boot=0, n_permutations=0)

    run("GroupPairwiseAccuracy")  # compiles
    relevance = best(lambda: run("NDCG, AveragePrecision"))
    fairness = best(lambda: run("RND, RKL, ExposureGap, GroupPairwiseAccuracy"))
    print(
        f"1,000,000 rows: rND + rKL + exposure gap + group pairwise accuracy take "
        f"{fairness / relevance:.2f}x NDCG + MAP"
    )


def growth():
    rng = np.random.default_rng(3)
    print("n log n in one list: seconds per row times log2(rows), relative to 10,000 rows")
    for name, function in (
        ("group pairwise accuracy", lambda y, s, g: group_pairwise_accuracy(y, s, g)),
        ("individual disparity", lambda y, s, g: individual_disparity(y, s)),
    ):
        base = None
        for n in (10**4, 10**5, 10**6):
            y, s, g = rng.random(n), rng.random(n), rng.choice(["a", "b"], n)
            function(y[:10], s[:10], g[:10])
            seconds = best(lambda f=function, y=y, s=s, g=g: f(y, s, g), 3) / (n * np.log2(n))
            base = base or seconds
            print(f"  {name}, {n:>9,} items {seconds / base:.2f}x")


if __name__ == "__main__":
    against_relevance()
    against_plain_rnd()
    against_fairranktune()
    growth()
