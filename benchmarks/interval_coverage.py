"""Coverage of the 95% confidence intervals, by simulation.

The true value is the mean of a metric over a population of lists. Each trial draws some lists (or
one list of many people) from it and computes an interval.
Run: python benchmarks/interval_coverage.py
"""

import argparse
import warnings

import numpy as np

from equirank import evaluate
from equirank.core import inference
from equirank.core.metric import measure
from equirank.core.registry import parse_metrics
from equirank.datasets import make_ranking
from equirank.kernels.resampling import weighted_means

METRICS = (
    "NDCG@10, DCG@10, Precision@10, Recall@10, AveragePrecision, ReciprocalRank, ERR, AverageRank, "
    "AUC, RND(step=5), RKL(step=5), RRD(step=5, protected='a'), ExposureByGroup(protected='a'), "
    "ExposureGap"
)


def population(n_lists, n_items, bias, seed):
    return make_ranking(
        n_queries=n_lists, n_items=n_items, groups={"a": 0.4, "b": 0.6}, score_bias=bias,
        random_state=seed,
    )  # fmt: skip


def over_queries(n_queries, bias, trials, seed=0):
    """Return the coverage of intervals from a sample of queries."""
    metrics = parse_metrics(METRICS)
    values = measure(metrics, population(20_000, 40, bias, seed).ranking())
    rng, rows = np.random.default_rng(seed), {}
    for metric, value in zip(metrics, values, strict=True):
        truth, hits = np.nanmean(value.value), 0
        for _ in range(trials):
            some = value.value[rng.integers(0, len(value.value), n_queries)][:, None]
            counts = np.concatenate(list(inference.query_counts(rng, 500, n_queries)))
            low, high = inference.interval(weighted_means(some, counts)[:, 0], 0.95, n_queries)
            hits += low <= truth <= high
        rows[metric.name] = hits / trials
    rows.update(_differences(n_queries, bias, trials, seed))
    return rows


def _differences(n_queries, bias, trials, seed):
    """Return the coverage for the difference of two groups, a difference of means."""
    data = population(20_000, 40, bias, seed)
    whole = evaluate(data, "Recall@10", by="group", n_boot=0, n_permutations=0)
    parts = whole.results[0].split.per_query[:, 0, :2]
    truth = abs(np.subtract(*np.nanmean(parts, axis=0)))
    rng, hits = np.random.default_rng(seed + 1), 0
    for _ in range(trials):
        some = parts[rng.integers(0, len(parts), n_queries)]
        counts = np.concatenate(list(inference.query_counts(rng, 500, n_queries)))
        drawn = weighted_means(some, counts)
        low, high = inference.interval(np.abs(drawn[:, 0] - drawn[:, 1]), 0.95, n_queries)
        hits += low <= truth <= high
    return {"difference of Recall@10": hits / trials}


def over_items(n_items, bias, trials, seed=0):
    """Return the coverage of intervals from the items of one list; truth: mean over such lists."""
    metrics = parse_metrics(METRICS)
    data = population(2_000, n_items, bias, seed)
    truth = [np.nanmean(v.value) for v in measure(metrics, data.ranking())]
    hits = np.zeros(len(metrics))
    for trial in range(trials):
        one = evaluate(
            data.select([trial]), METRICS, n_boot=300, n_permutations=0, random_state=trial
        )
        table = [row for row in one.summary() if row["group"] is None]
        hits += [row["low"] <= t <= row["high"] for row, t in zip(table, truth, strict=True)]
    return {m.name: h / trials for m, h in zip(metrics, hits, strict=True)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=1000)
    trials = parser.parse_args().trials
    warnings.simplefilter("ignore")
    columns = {
        "20 lists, fair": over_queries(20, 0.0, trials),
        "20 lists, biased": over_queries(20, 0.7, trials),
        "100 lists, fair": over_queries(100, 0.0, trials),
        "100 lists, biased": over_queries(100, 0.7, trials),
        "one list of 200, fair": over_items(200, 0.0, trials // 2),
        "one list of 200, biased": over_items(200, 0.7, trials // 2),
        "one list of 2000, biased": over_items(2000, 0.7, trials // 4),
    }
    print("| metric | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
    for name in columns["20 lists, fair"]:
        shares = [columns[c].get(name) for c in columns]
        cells = ["-" if s is None else f"{s:.3f}" for s in shares]
        print(f"| {name} | " + " | ".join(cells) + " |")
