"""Coverage of FairReduction.certify: how often new lists or people violate a bound of 95%.

A reduction is fitted once. Error and differences of a large population are its true values. Samples
of lists, or of people as one list, are drawn from it with replacement; a sample misses if the true
error is above its bound or a true difference is outside its interval. The table shows the share of
samples that miss (Clopper-Pearson, 95%), which must be at most .05, the mean of the bounds, and the
true values. ``half`` is the mean half width of the differences' intervals.

Run: python benchmarks/fair_reduction_bound.py --draws 300
"""

import argparse

import numpy as np
from scipy.stats import beta

from equirank import as_ranking_data
from equirank.datasets import make_ranking
from equirank.rankers import FairReduction, RankBoost
from equirank.rankers.boosting.pairwise_constraint import CONSTRAINTS

LISTS = 20_000
WORDS = {"list": "lists", "person": "people"}


def population(n_lists, seed):
    """Return lists of 12 items of three groups, with biased labels and features."""
    groups = {"a": 0.5, "b": 0.3, "c": 0.2}
    return make_ranking(
        n_queries=n_lists, n_items=12, n_features=5, groups=groups, random_state=seed,
        label_bias={"b": 0.5}, feature_bias={"c": 0.5}, noise=1.0,
    )  # fmt: skip


def people(data, rows):
    """Return rows of the data as one list."""
    labels = np.array(data.attribute().labels())
    return as_ranking_data(data.X[rows], data.y[rows], qid=0, sensitive_features=labels[rows])


def clopper_pearson(missed, draws):
    low = beta.ppf(0.025, missed, draws - missed + 1) if missed else 0.0
    high = beta.ppf(0.975, missed + 1, draws - missed) if missed < draws else 1.0
    return f"{missed / draws:.3f} ({low:.3f} to {high:.3f})"


def simulate(model, whole, unit, size, draws, level):
    """Print the coverage of samples of one size."""
    rng = np.random.default_rng(size)
    everyone = whole if unit == "list" else people(whole, np.arange(whole.n_rows))
    truth = model.certify(everyone, level=level)
    missed, error, most, half = 0, [], [], []
    for _ in range(draws):
        if unit == "list":
            sample = whole.select(rng.choice(LISTS, size=size, replace=False))
        else:
            sample = people(whole, rng.choice(whole.n_rows, size=size, replace=False))
        found = model.certify(sample, level=level, random_state=int(rng.integers(1 << 30)))
        true = dict(
            zip(
                zip(truth.table["group"], truth.table["other"], strict=True),
                truth.table["difference"],
                strict=True,
            )
        )
        value = np.array([true[row["group"], row["other"]] for row in found.table])
        outside = (value < found.table["low"]) | (value > found.table["high"])
        missed += bool(outside.any() or truth.error > found.error_at_most)
        error.append(found.error_at_most)
        most.append(found.violation_at_most)
        half.append((found.table["high"] - found.table["low"]).mean() / 2)
    cells = [f"{truth.error:.3f}", f"{np.mean(error):.3f}", f"{truth.violation:.3f}"]
    cells += [f"{np.mean(most):.3f}", f"{np.mean(half):.3f}", clopper_pearson(missed, draws)]
    print(f"| {model.constraint} | {size} {WORDS[unit]} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--lists", nargs="*", type=int, default=[50, 200, 800])
    parser.add_argument("--people", nargs="*", type=int, default=[400, 2000])
    parser.add_argument("--level", type=float, default=0.95)
    args = parser.parse_args()
    head = ["constraint", "sample", "error", "bound", "violation", "bound", "half", "missed"]
    print(f"| {' | '.join(head)} |")
    print("| --- " * len(head) + "|")
    train, whole = population(100, 1), population(LISTS, 2)
    for kind in CONSTRAINTS:
        ranker = RankBoost(20, record_errors=False, n_jobs=1)
        model = FairReduction(ranker, kind, 0.02, max_iter=8, random_state=0).fit(train)
        for size in args.lists:
            simulate(model, whole, "list", size, args.draws, args.level)
        for size in args.people:
            simulate(model, whole, "person", size, args.draws, args.level)


if __name__ == "__main__":
    main()
