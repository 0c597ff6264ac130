"""How often the statements of a search for alternatives are false, by simulation.

Certificate: a pool of simulated models with known values; each run draws n of them, chooses by the
rule and states the share of better models, which the pool knows.
Certified: whole searches on lists drawn from 30,000 made-up ones; the truth of the chosen ranker is
its mean over 10,000 further lists of the same source.
People: the same for one list, whose parts are people; the truth is the mean over new lists as long.
Noise: whole searches where the features say nothing, so that no ranker is better than another in
expectation.
Run: python benchmarks/alternatives.py
"""

import argparse
from dataclasses import replace

import numpy as np
from sklearn.linear_model import Ridge

from equirank import as_ranking_data, evaluate
from equirank.core.registry import parse_metrics
from equirank.datasets import make_ranking
from equirank.rankers import RegressionRanker
from equirank.search import Family, search_alternatives
from equirank.search.alternatives_result import choose, stopping_certificate

METRICS = ["NDCG@10", "ExposureGap"]
RULE = "NDCG@10 >= baseline - 0.02"


def certificate(n, runs, kind, seed=0):
    """Return the share of runs whose certificate is false."""
    rng, metrics, false = np.random.default_rng(seed), parse_metrics(METRICS), 0
    for _ in range(runs):
        quality, gap = rng.normal(0.7, 0.05, 20_000), rng.beta(2, 20, 20_000)
        if kind == "paths":  # a draw is a path of three candidates
            quality = quality.reshape(-1, 1) - np.array([0.0, 0.01, 0.04])
            gap = gap.reshape(-1, 1) * np.array([1.0, 0.7, 0.4])
        else:
            quality, gap = quality.reshape(-1, 1), gap.reshape(-1, 1)
        drawn = rng.integers(0, len(quality), n)
        rows = [_row(0.7, 0.5)]
        rows += [_row(*pair) for at in drawn for pair in zip(quality[at], gap[at], strict=True)]
        at = choose(rows, metrics, RULE, metrics[1])
        least = rows[at]["values"]["ExposureGap"]["value"]
        better = ((quality >= 0.68) & (gap < least)).any(axis=1)
        false += better.mean() >= stopping_certificate(n, "chosen").share
    return false / runs


def _row(quality, gap):
    values = {"NDCG@10": {"value": float(quality)}, "ExposureGap": {"value": float(gap)}}
    return {"error": None, "values": values}


def lists(n_queries, seed):
    return make_ranking(n_queries=n_queries, n_items=10, feature_bias=1.0, random_state=seed)


def families():
    ridge = RegressionRanker(Ridge())
    space = {"estimator__alpha": {"low": 0.01, "high": 1e4, "log": True}}
    return {"ridge": Family(ridge, space)}


def columns(data):
    names = tuple(f"x{at}" for at in range(data.n_features))
    return replace(data, feature_names=names)


def certified(runs, n_queries):
    """Return the coverage of each certified number, and the mean gap of choosing and certify."""
    whole = columns(lists(40_000, 0))
    population = whole.select(slice(30_000, None))
    leave_out = {f"x{at}": [f"x{at}"] for at in range(population.n_features)}
    hits, optimism = {}, []
    for seed in range(runs):
        some = np.random.default_rng(seed).choice(30_000, n_queries, replace=False)
        found = search_alternatives(
            families(), whole.select(some), METRICS, RULE, n_trials=12,
            leave_out=leave_out, random_state=seed,
        )  # fmt: skip
        truth = {
            who: evaluate(model.rank(population), METRICS, n_boot=0, n_permutations=0)
            for who, model in (("chosen", found.model), ("baseline", found.fitted("baseline")))
        }
        for row in found.certified:
            metric = row["metric"]
            for who in ("chosen", "baseline"):
                own = row[who]["certify"]
                hits.setdefault(f"{metric} {who}", []).append(
                    own["low"] <= truth[who][metric] <= own["high"]
                )
            gap = truth["chosen"][metric] - truth["baseline"][metric]
            own = row["difference"]
            if found.chosen["trial"]:
                hits.setdefault(f"{metric} difference", []).append(own["low"] <= gap <= own["high"])
        target = found.certified[1]["chosen"]
        mean = truth["chosen"]["ExposureGap"]
        optimism.append([target["choose"]["value"] - mean, target["certify"]["value"] - mean])
    return {name: (np.mean(each), len(each)) for name, each in hits.items()}, np.mean(optimism, 0)


def people(n, seed):
    """Return one list of people with a feature that is lower for women."""
    rng = np.random.default_rng(seed)
    sex, skill = np.where(rng.random(n) < 0.4, "f", "m"), rng.normal(size=n)
    biased = skill * 0.5 + rng.normal(size=n) - (sex == "f")
    X = np.c_[skill + rng.normal(size=n) * 0.7, biased, rng.normal(size=n)]
    y = np.clip(np.round(skill + 1.5), 0, 4)
    return as_ranking_data(X, y, sensitive_features={"sex": sex})


def certified_people(runs, n=1500, new_lists=200):
    """Return the coverage of numbers certified by people; the truth is over new lists as long."""
    hits = {}
    for seed in range(runs):
        found = search_alternatives(
            families(), people(n, 1000 + seed), ["NDCG", "ExposureGap"], "NDCG >= baseline - 0.02",
            n_trials=6, by="item", random_state=seed,
        )  # fmt: skip
        size = found.parts["certify"]
        drawn = people(size * new_lists, 10**6 + seed)
        drawn = replace(drawn, offsets=np.arange(new_lists + 1) * size, qids=np.arange(new_lists))
        for row in found.certified:
            metric, own = row["metric"], row["chosen"]["certify"]
            truth = evaluate(found.model.rank(drawn), metric, n_boot=0, n_permutations=0)[metric]
            hits.setdefault(metric, []).append(own["low"] <= truth <= own["high"])
    return {name: (np.mean(each), len(each)) for name, each in hits.items()}


def noise(runs, n_queries):
    """Return the share of searches over noise that report a gain."""
    gains = 0
    for seed in range(runs):
        data = lists(n_queries, seed)
        X = np.random.default_rng(seed).normal(size=data.X.shape)
        data = columns(replace(data, X=X))
        leave_out = {name: [name] for name in data.feature_names}
        found = search_alternatives(
            families(), data, METRICS, RULE, n_trials=12, leave_out=leave_out, random_state=seed
        )
        gains += found.gain
    return gains / runs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="of the certificate")
    parser.add_argument("--searches", type=int, default=400)
    options = parser.parse_args()
    for kind in ("single", "paths"):
        for n in (20, 59, 200) if options.runs else ():
            print("certificate false", kind, n, certificate(n, options.runs, kind), flush=True)
    coverage, (choosing, certifying) = certified(options.searches, 400)
    for name, (share, count) in coverage.items():
        print(f"certified {name}: {share:.3f} of {count}")
    print(
        f"ExposureGap less its truth: choosing part {choosing:.5f}, certify part {certifying:.5f}"
    )
    for name, (share, count) in certified_people(options.searches // 2).items():
        print(f"certified by people {name}: {share:.3f} of {count}")
    print("gains over noise:", noise(options.searches, 200))


if __name__ == "__main__":
    main()
