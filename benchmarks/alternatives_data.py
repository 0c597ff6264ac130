"""Searches for alternatives on German credit, Law, COMPAS and Adult, end to end.

Each data set is one list of people, split by person into four parts; the people to fit to are cut
into lists of 100. The rule allows a loss of 0.01 in NDCG against the baseline, LambdaMART as it is.
Run: EQUIRANK_DATA=... python benchmarks/alternatives_data.py compas --trials 150 --out FOLDER
"""

import argparse
import time

from equirank.datasets import load_adult, load_compas, load_german, load_law
from equirank.preprocess import LeverageSampler, UniformSampler
from equirank.rankers import (
    DirectRanker,
    FairLambdaMART,
    FairReduction,
    LambdaMART,
    RankBoost,
    RegressionRanker,
)
from equirank.search import Family, search_alternatives

DATA = {
    "german": (
        lambda: load_german(sensitive="sex"),
        "ExposureGap(by='sex')",
        {"job": ["employment", "job"], "money": ["savings", "checking_account"]},
    ),
    "law": (
        lambda: load_law(sensitive="race"),
        "ExposureGap(by='race', protected='Black')",
        {"test": ["LSAT"], "grade": ["UGPA"]},
    ),
    "compas": (
        lambda: load_compas(sensitive="race", relevance="two_year_recid", reverse=True),
        "ExposureGap(by='race', protected='African-American')",
        {"score": ["decile_score"], "youth": ["juv_fel_count", "juv_misd_count", "juv_other_count"],
         "age": ["age"]},
    ),
    "adult": (
        lambda: load_adult(sensitive="sex"),
        "ExposureGap(by='sex')",
        {"home": ["relationship", "marital_status"], "capital": ["capital_gain", "capital_loss"]},
    ),
}  # fmt: skip
RATE = {"low": 0.02, "high": 0.3, "log": True}


def families():
    trees = {"learning_rate": RATE, "n_estimators": {"low": 20, "high": 80}}
    net = DirectRanker("adversarial", layers=(16,), max_steps=200)
    steps = {"gamma": {"low": 0.01, "high": 3.0, "log": True}}
    steps["learning_rate"] = {"low": 0.001, "high": 0.03, "log": True}
    fair = FairLambdaMART(fairness="exposure", n_estimators=30, n_jobs=1)
    reduction = FairReduction(RankBoost(n_estimators=20), max_iter=5)
    return {
        "lambdamart": Family(
            LambdaMART(n_estimators=50, n_jobs=1),
            trees | {"num_leaves": [7, 15, 31]},
            sample=[None, UniformSampler(0.7), LeverageSampler(0.7)],
            weight=2.0,
        ),
        "linear": Family(RegressionRanker(), weight=0.3),
        "fair": Family(fair, {"learning_rate": RATE}, path={"alpha": [0.1, 0.3, 0.5, 0.7, 0.9]}),
        "neural": Family(net, steps, weight=2.0),
        "reduction": Family(reduction, {"eps": {"low": 0.005, "high": 0.2, "log": True}}),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=DATA)
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out")
    options = parser.parse_args()
    load, unfairness, leave_out = DATA[options.name]
    data, began = load(), time.perf_counter()
    found = search_alternatives(
        families(), data, ["NDCG", unfairness], "NDCG >= baseline - 0.01",
        leave_out=leave_out, n_trials=options.trials, minutes=options.minutes, by="item",
        list_size=100, n_jobs=options.jobs, store=options.out,
    )  # fmt: skip
    print(f"{options.name}: {len(found.candidates) - 1} candidates in "
          f"{time.perf_counter() - began:.0f} s")  # fmt: skip
    print(found)
    if options.out:
        found.save(options.out)


if __name__ == "__main__":
    main()
