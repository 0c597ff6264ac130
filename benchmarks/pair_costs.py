"""Cost and fairness of rankers of four families with the same pair cost, on held-out lists.

Boosting (RankBoost), RankSVM, LambdaMART and a neural ranker (DirectRanker, trained on listed pairs
whose weights are the costs) are fitted without and with ``ProtectedPairCost(5)``: a misordered pair
with a protected person costs five times as much. Printed are, on the same held-out lists: the share
of misordered pairs weighted by that cost, the plain share, the largest gap in pair accuracy between
the two groups (better person in one or the other), and NDCG@10; then with minus without cost, split
by split. Means over splits with 95% confidence intervals (Student's t). ``--calibration`` prints
instead the expected calibration error of RankBoost's pair probabilities, without and with costs.

Run: EQUIRANK_DATA=... python benchmarks/pair_costs.py made hiring compas law --seeds 10
"""

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
from scipy.stats import t as student

from equirank import EquirankWarning, query_train_test_split
from equirank.costs import ProtectedPairCost
from equirank.datasets import load_compas, load_hiring, load_law, make_ranking
from equirank.metrics import ndcg
from equirank.rankers import LambdaMART, RankBoost, RankSVM
from equirank.rankers.boosting.pairwise_constraint import pairwise_constraint

TIMES = 5.0
#: Largest number of pairs that are listed for the neural ranker, or drawn to test probabilities.
LISTED = 50_000
BINS = 15


def made():
    return make_ranking(
        n_queries=150, n_items=20, groups={"a": 0.7, "b": 0.3}, feature_bias={"b": 0.7},
        noise=1.0, random_state=7,
    )  # fmt: skip


def hiring():
    data = load_hiring()
    return replace(data, sensitive={"sex": data.sensitive["sex"]})


#: Data and the protected group.
DATA = {
    "made": (made, "b"),
    "hiring": (hiring, "female"),
    "compas": (lambda: load_compas(sensitive="sex", relevance="two_year_recid"), "Female"),
    "law": (lambda: load_law(sensitive="sex"), "female"),
}


def split(data, seed):
    by = "query" if data.n_queries > 1 else "item"
    return query_train_test_split(data, by=by, test_size=0.3, random_state=seed)


def pairs_of(data, seed):
    """Return stored rows of random pairs of unequal relevance, the better ones first."""
    rng, query = np.random.default_rng(seed), data.query_of_rows()
    sizes = np.diff(data.offsets)[query]
    first = rng.choice(data.n_rows, size=2 * LISTED, p=(sizes - 1) / (sizes - 1).sum())
    second = data.offsets[query[first]] + rng.integers(0, sizes[first])
    y = np.asarray(data.y)
    kept = y[first] != y[second]
    first, second = first[kept][:LISTED], second[kept][:LISTED]
    swapped = y[first] < y[second]
    return np.where(swapped, second, first), np.where(swapped, first, second)


class Neural:
    """DirectRanker on listed pairs, weighted by a pair cost."""

    def __init__(self, pair_cost, seed):
        from equirank.rankers import DirectRanker

        self.cost, self.seed = pair_cost, seed
        self.model = DirectRanker(layers=(16, 4), n_epochs=4, batch_size=512, random_state=seed)

    def fit(self, data):
        first, second = pairs_of(data, self.seed)
        weight = None if self.cost is None else self.cost.pairs(data, first, second)
        rows = data.caller_rank
        self.model.fit_pairs(data, np.stack([rows[first], rows[second]], axis=1), weight=weight)
        return self

    def predict(self, data):
        return self.model.predict(data)


METHODS = {
    "RankBoost": lambda cost, seed: RankBoost(
        100, pair_cost=cost, record_errors=False, random_state=seed
    ),
    "RankSVM": lambda cost, seed: RankSVM(pair_cost=cost, random_state=seed),
    "LambdaMART": lambda cost, seed: LambdaMART(
        n_estimators=50, num_leaves=15, n_jobs=1, pair_cost=cost, random_state=seed
    ),
    "DirectRanker": Neural,
}
COLUMNS = ("cost", "misordered", "gap", "NDCG@10")


def measure(cost, test, score):
    """Return the cost-weighted and plain share of misordered pairs, the gap and NDCG@10."""
    first, second = pairs_of(test, 0)
    lost = (score[first] < score[second]) + 0.5 * (score[first] == score[second])
    weight = cost.pairs(test, first, second)
    error, difference = pairwise_constraint(test, "group_pairwise_accuracy", None).measure(
        test, score
    )
    values = ndcg(test.y, score, qid=test.query_of_rows(), k=10)
    return (weight @ lost) / weight.sum(), error, np.abs(difference).max(), values


def interval(values, sign=""):
    values = np.asarray(values, dtype=float)
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():{sign}.3f} ±{half:.3f}"


def calibration_error(p):
    """Return the expected calibration error of probabilities that the better row is the better."""
    both, hit = np.concatenate([p, 1 - p]), np.repeat([1.0, 0.0], len(p))
    bins = np.minimum((both * BINS).astype(int), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    gap = np.bincount(bins, both, BINS) - np.bincount(bins, hit, BINS)
    return np.abs(gap).sum() / count.sum()


def run_costs(name, data, cost, args):
    for method in args.methods:
        found, seconds = {False: [], True: []}, 0.0
        for seed in range(args.seeds):
            train, test = split(data, seed)
            for costly in found:
                begin = time.perf_counter()
                model = METHODS[method](cost if costly else None, seed).fit(train)
                seconds += time.perf_counter() - begin
                found[costly].append(measure(cost, test, model.predict(test)[test.caller_rank]))
        plain, costly = np.array(found[False]), np.array(found[True])
        for word, part, sign in (("none", plain, ""), ("cost", costly, ""),
                                 ("difference", costly - plain, "+")):  # fmt: skip
            cells = " | ".join(interval(column, sign) for column in part.T)
            print(f"| {name} | {method} | {word} | {cells} |", flush=True)


def run_calibration(name, data, cost, args):
    for given, word in ((None, "none"), (cost, f"protected x {TIMES:g}")):
        for method in (None, "sigmoid", "isotonic"):
            found = []
            for seed in range(args.seeds):
                train, test = split(data, seed)
                model = RankBoost(args.rounds, pair_cost=given, calibration=method, n_jobs=1,
                                  record_errors=False, random_state=seed).fit(train)  # fmt: skip
                first, second = pairs_of(test, 0)
                rows = test.caller_rank
                pairs = np.stack([rows[first], rows[second]], axis=1)
                found.append(calibration_error(model.predict_pair_proba(test, pairs)))
            print(f"| {name} | {word} | {method} | {interval(found)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["made", "hiring"], choices=list(DATA))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=300, help="of RankBoost, for --calibration")
    parser.add_argument("--calibration", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore", EquirankWarning)
    head = ["data", "costs", "calibration", "calibration error"]
    head = head if args.calibration else ["data", "ranker", "costs", *COLUMNS]
    print(f"| {' | '.join(head)} |")
    print("| --- " * len(head) + "|")
    for name in args.data:
        load, protected = DATA[name]
        run = run_calibration if args.calibration else run_costs
        run(name, load(), ProtectedPairCost(TIMES, protected=protected), args)


if __name__ == "__main__":
    main()
