"""Fairness on held-out lists: means of 8 models, noise, random mixtures and re-ranking on MSLR.

Fresh halves of the 86 lists of the MSLR sample, 40 trees of 15 leaves. Every line is the mean
difference to one plain model over the halves, with its 95% confidence interval (halves overlap, so
intervals are too narrow). The last lines compare the mean of 8 models at alpha .5 with the mean of
8 plain models, and its time with that of one model. Needs EQUIRANK_DATA.

Run: python benchmarks/fair_means.py [--halves 20] [--jobs 1] [--set mslr|mq2008]
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from fair_lambdamart import NOISE, SHARES, interval, joined, mq2008, some_random, with_noise

from equirank import evaluate, query_train_test_split
from equirank.core.ranking import Ranking
from equirank.datasets import load_mslr
from equirank.rankers import Blend, FairLambdaMART
from equirank.rerankers import DetGreedy

METRICS = ["NDCG@15", "RND(step=5)@50"]
FIRST_SEED = 5000  # no other benchmark uses these halves


def half(seed):
    data = joined(*(load_mslr(part=part) for part in ("train", "test")))
    return query_train_test_split(data, test_size=0.5, random_state=FIRST_SEED + seed)


def measured(ranking):
    found = evaluate(ranking, metrics=METRICS, n_boot=0)
    return [100 * found[metric] for metric in METRICS]


def by_scores(test, score):
    return measured(Ranking.from_scores(test, score))


def run(lists, seed, jobs):
    """Return NDCG, rND and rND in training of each method, and seconds to fit."""
    train, test = lists(seed)
    options = {
        "step": 5, "cutoff": 50, "truncation": 50, "n_estimators": 40, "num_leaves": 15,
        "n_jobs": jobs, "random_state": seed,
    }  # fmt: skip
    found, seconds = {}, {}

    def fitted(name, model):
        begin = time.perf_counter()
        model.fit(train)
        seconds[name] = time.perf_counter() - begin
        trained = measured(model.rank(train))[1]
        found[name] = [*measured(model.rank(test)), trained]
        return model

    plain = fitted("plain", FairLambdaMART(1.0, **options))
    score = plain.predict(test)
    rng = np.random.default_rng(seed)

    def several(values):
        return [*np.mean(values, axis=0), np.nan]

    found["random order"] = several([by_scores(test, rng.random(len(score))) for _ in range(20)])
    for size in NOISE:
        drawn = [by_scores(test, with_noise(test, score, size, rng)) for _ in range(10)]
        found[f"plain with noise of {size:g} SD"] = several(drawn)
    for share in SHARES:
        drawn = [by_scores(test, some_random(test, score, share, rng)) for _ in range(10)]
        found[f"plain, {share:.0%} of the lists random"] = several(drawn)
    for alpha in (0.5, 0.1):
        fitted(f"swap {alpha:g}", FairLambdaMART(alpha, **options))
    fitted("relevance_first 0.5", FairLambdaMART(0.5, "relevance_first", **options))
    fitted("swap 0.5, 200 trees", FairLambdaMART(0.5, **options | {"n_estimators": 200}))
    parts = [("plain", FairLambdaMART(1.0, **options)), ("fair", FairLambdaMART(0.5, **options))]
    fitted("half plain, half swap 0.5 (Blend)", Blend(parts))
    for alpha in (1.0, 0.5, 0.1):
        mean = fitted(f"mean of 8, {alpha:g}", FairLambdaMART(alpha, n_models=8, **options))
        if alpha == 1.0:
            noisy = with_noise(test, mean.predict(test), 0.25, rng)
            found["mean of 8, 1, with noise of 0.25 SD"] = [*by_scores(test, noisy), np.nan]
    given = Ranking.from_scores(replace(test, score=None), score)
    found["plain, then DetGreedy (uses groups)"] = [*measured(DetGreedy()(given)), np.nan]
    return found, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--halves", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--set", choices=("mslr", "mq2008"), default="mslr")
    args = parser.parse_args()
    lists = half if args.set == "mslr" else mq2008
    runs = [run(lists, seed, args.jobs) for seed in range(args.halves)]
    values = {name: np.array([found[name] for found, _ in runs]) for name in runs[0][0]}
    plain = values["plain"]
    print("| method | NDCG@15 | rND@50 | NDCG minus plain | rND minus plain | rND in training |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, rows in values.items():
        good, unfair, trained = rows.mean(axis=0)
        cells = [interval(rows[:, at] - plain[:, at]) for at in (0, 1)]
        shown = "" if np.isnan(trained) else f"{trained:.1f}"
        print(f"| {name} | {good:.1f} | {unfair:.1f} | {' | '.join(cells)} | {shown} |")
    difference = values["mean of 8, 0.5"] - values["mean of 8, 1"]
    print(f"\n- mean of 8 at 0.5 minus mean of 8 plain, rND: {interval(difference[:, 1])}")
    print(f"- mean of 8 at 0.5 minus mean of 8 plain, NDCG: {interval(difference[:, 0])}")
    ratio = np.median([s["mean of 8, 0.5"] / s["swap 0.5"] for _, s in runs])
    print(f"- time of a mean of 8 over one model: {ratio:.1f}")


if __name__ == "__main__":
    main()
