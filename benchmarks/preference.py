"""Ordering of 10,000 rows with a gradient-boosted preference model, compared with single calls.

Usage: python benchmarks/preference.py [--rows 10000] [--lists 100]

Prints the batched calls and compared pairs of `PreferenceRanker` for several seeds, with the bound
2 n ln n; the time of one order in single calls (estimated from 200 of them) as a multiple of the
batched one; the gain of k=10; and many lists at once compared with one after another. Exits with 1
if a list of 10,000 takes more than 40 calls. With --mq2008, and EQUIRANK_DATA set, it prints the
test NDCG@10 of each method on the first fold of MQ2008 instead.
"""

import argparse
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from equirank.datasets import load_mq2008
from equirank.rankers import PreferenceRanker, order_by_preference


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    return X, np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)), 0, 4)


def timed(function):
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def mq2008():
    """Print the test NDCG@10 by degree, by deterministic pivots and of single drawn orders."""
    fold = load_mq2008(folds=True)[0]
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    ways = [("degree", "deterministic", 0), ("quicksort", "deterministic", 0)]
    for order, pivoting, seed in [*ways, *(("quicksort", "probabilistic", s) for s in range(3))]:
        ranker = PreferenceRanker(
            model, order, pair_features="both", pivoting=pivoting, max_pairs=20_000,
            random_state=seed,
        )  # fmt: skip
        found = ranker.fit(fold.train).score(fold.test)
        print(f"{order}, {pivoting}, seed {seed}: NDCG@10 {found:.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mq2008", action="store_true")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--lists", type=int, default=100)
    given = parser.parse_args()
    if given.mq2008:
        mq2008()
        return
    n = given.rows
    X, y = sample(600, 0)
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    most, bound = 0, 2 * n * np.log(n)
    people, _ = sample(n, 1)
    for pivoting in ("probabilistic", "deterministic"):
        for seed in range(3):
            ranker = PreferenceRanker(
                model, pair_features="both", pivoting=pivoting, max_pairs=20_000, random_state=seed
            ).fit(X, y, qid=0)
            found, seconds = timed(lambda ranker=ranker: ranker.order_lists(people, qid=0))
            most = max(most, found.n_calls)
            cost = f"{found.n_compared:,} pairs ({found.n_compared / bound:.2f} of 2 n ln n)"
            print(f"{n:,} rows, {pivoting}, seed {seed}: {found.n_calls} calls, {cost}")
    _, single = timed(
        lambda: [ranker.preference(people[a : a + 1], people[a + 1 : a + 2]) for a in range(200)]
    )
    ratio = single / 200 * found.n_compared / seconds
    print(f"one pair per call would take {ratio:.0f} times as long")
    top, fast = timed(lambda: ranker.set_params(k=10).order_lists(people))
    print(f"top 10 compares {top.n_compared / found.n_compared:.2f} of the pairs in "
          f"{fast / seconds:.2f} of the time")  # fmt: skip
    ranker.set_params(k=None)
    rows, qid = people[: 50 * given.lists], np.repeat(np.arange(given.lists), 50)[: len(people)]
    ranker.order_lists(rows, qid=qid)
    _, together = timed(lambda: ranker.order_lists(rows, qid=qid))
    _, apart = timed(lambda: [ranker.order_lists(rows[qid == q]) for q in np.unique(qid)])
    print(
        f"{given.lists} lists of 50 at once are {apart / together:.1f} times as fast as one by one"
    )
    values = np.random.default_rng(2).normal(size=n)
    calls = [
        order_by_preference(
            lambda u, v: values[u] > values[v], n, consistent=True, random_state=seed
        ).n_calls
        for seed in range(200)
    ]
    print(f"calls over 200 seeds with a transitive h: mean {np.mean(calls):.1f}, most {max(calls)}")
    if n <= 10_000 and most > 40:
        raise SystemExit(f"more than 40 calls: {most}")


if __name__ == "__main__":
    main()
