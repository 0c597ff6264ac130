"""Error of objectives on samples of queries against their Bernstein bound, by sampler and size.

The objective of a query is NDCG@10 of a Plackett-Luce policy (FairPGRank), less the exposure gap if
the data have groups. A policy is trained once on other queries; each sampler draws
samples of the queries (with replacement; k-medoids as it is). Printed are the mean and the 95%
quantile of the difference between the weighted objective, less the middle of its range, and that of
all queries; the bound at that policy and for any values; and the share of samples above the bound
(Clopper-Pearson, 95%), which must be at most .05. Then, for ``--trained`` seeds, the policy is
trained on the sample itself, where the bound is not proved. ``--chart`` writes the picture of the
last data set.

Run: EQUIRANK_DATA=... python benchmarks/sampling_bound.py yahoo mslr --chart sampling.svg
"""

import argparse

import numpy as np
from scipy.stats import beta
from scipy.stats import t as student

from equirank.core.registry import parse_metric
from equirank.datasets import load_mslr, make_yahoo_like
from equirank.plots import sampling_error, save_chart
from equirank.preprocess import KMedoidsSampler, LeverageSampler, RowNormSampler, UniformSampler
from equirank.rankers import FairPGRank
from equirank.theory import queries_needed, sampling_error_bound

SAMPLERS = {
    "uniform": UniformSampler,
    "row norm": RowNormSampler,
    "leverage": LeverageSampler,
    "k-medoids": KMedoidsSampler,
}
#: Queries to train the fixed policy on, and queries to sample.
DATA = {
    "yahoo": lambda: tuple(
        make_yahoo_like(n_queries=n, n_rows=20 * n, n_features=60, random_state=n)
        for n in (300, 2000)
    ),
    "mslr": lambda: (load_mslr(part="test"), load_mslr(part="train")),
}


def range_of(data):
    return (-1.0, 1.0) if data.sensitive else (0.0, 1.0)


def values(model, data):
    """Return the objective of each query: NDCG@10 less the exposure gap, 0 where undefined."""
    ranking = model.rank(data)
    names = ["NDCG@10", "ExposureGap"] if data.sensitive else ["NDCG@10"]
    parts = [parse_metric(name).per_query(ranking).value for name in names]
    good, *bad = (np.nan_to_num(part) for part in parts)
    return np.clip(good - sum(bad), *range_of(data))


def policy(train, seed, epochs):
    fair = {"disparity": "group", "lam": 1.0} if train.sensitive else {}
    return FairPGRank(
        **fair, n_epochs=epochs, learning_rate=0.03, n_samples=5, random_state=seed
    ).fit(train)


def clopper_pearson(missed, draws):
    low = beta.ppf(0.025, missed, draws - missed + 1) if missed else 0.0
    high = beta.ppf(0.975, missed + 1, draws - missed) if missed < draws else 1.0
    return f"{missed / draws:.3f} ({low:.3f} to {high:.3f})"


def sampled(name, size, data, seed):
    options = {} if name == "k-medoids" else {"replace": True}
    return SAMPLERS[name](size, random_state=seed, **options).sample(data)


def difference(value, drawn, bounds):
    """Return the difference between a weighted sample and all queries."""
    value = value - sum(bounds) / 2
    return abs(drawn.weights @ value[drawn.indices] / len(value) - value.mean())


def interval(numbers):
    numbers = np.asarray(numbers)
    half = student.ppf(0.975, len(numbers) - 1) * numbers.std(ddof=1) / np.sqrt(len(numbers))
    return f"{numbers.mean():.4f} ±{half:.4f}"


def run(name, args):
    first, data = DATA[name]()
    bounds = range_of(data)
    value = values(policy(first, 0, args.epochs), data)
    print(f"  {name}: {data.n_queries} queries, objective {value.mean():.3f}, "
          f"standard deviation {value.std():.3f}")  # fmt: skip
    rows = []
    for kind in SAMPLERS:
        shares = None if kind == "k-medoids" else SAMPLERS[kind](10).shares(data)
        for size in args.sizes:
            draws = args.draws if shares is not None else args.medoids
            found = np.array(
                [
                    difference(value, sampled(kind, size, data, seed), bounds)
                    for seed in range(draws)
                ]
            )
            own = worst = np.nan
            if shares is not None:
                own = sampling_error_bound(shares, size, values=value, bounds=bounds)
                worst = sampling_error_bound(shares, size, bounds=bounds)
            missed = "" if shares is None else clopper_pearson(int((found > own).sum()), draws)
            tail = float(np.quantile(found, 0.95))
            rows.append({"sampler": kind, "size": size, "error": tail, "bound": own})
            cells = [interval(found), f"{tail:.4f}", f"{own:.4f}", f"{worst:.4f}", missed]
            print(f"| {name} | {kind} | {size} | {' | '.join(cells)} |", flush=True)
        if shares is not None:
            need = [queries_needed(shares, e, values=value, bounds=bounds) for e in (0.05, 0.02)]
            print(f"  {kind}: {need[0]} draws for an error of .05, {need[1]} for .02")
    for size in args.sizes[:3] if args.trained else ():
        errors = []
        for seed in range(args.trained):
            drawn = sampled("uniform", size, data, 1000 + seed)
            at = values(policy(drawn.data, seed, args.epochs), data)
            errors.append(difference(at, drawn, bounds))
        limit = sampling_error_bound(np.ones(data.n_queries), size, bounds=bounds)
        print(f"  trained on {size} uniform draws: error {interval(errors)}, largest "
              f"{max(errors):.4f}, bound of one policy {limit:.4f}")  # fmt: skip
    return {key: [row[key] for row in rows] for key in rows[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["yahoo"], choices=list(DATA))
    parser.add_argument("--sizes", nargs="+", type=int, default=[30, 100, 300, 1000])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--medoids", type=int, default=5)
    parser.add_argument("--trained", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--chart", help="file of the picture")
    args = parser.parse_args()
    head = ["data", "sampler", "draws", "error", "95% quantile", "bound", "any values", "above"]
    print(f"| {' | '.join(head)} |")
    print("| --- " * len(head) + "|")
    for name in args.data:
        table = run(name, args)
    if args.chart:
        save_chart(sampling_error(table, title=f"Error of samples of queries: {name}"), args.chart)


if __name__ == "__main__":
    main()
