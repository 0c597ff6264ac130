"""Fair LambdaMART on real lists: number of seeds in which the published orderings hold.

Sets: MSLR sample (pages of quality under and over 10), MQ2008 (feature 39 at its median), German
credit by sex and by age under 35, with people shared between train and test as published and with
people split. Steps of 5, cutoffs 15 and 50, three strategies. References that need no groups: a
random order, plain scores with noise (in standard deviations of the scores of a list), and plain
rankings of which a share of the lists is in random order. LambdaFair is the objective of its code,
with the same trees. Needs EQUIRANK_DATA.

Run: python benchmarks/fair_lambdamart.py [--sets mslr mq2008 german] [--seeds 5] [--jobs 1]
     python benchmarks/fair_lambdamart.py --sets halves --seeds 30    # many halves of MSLR's sample
     python benchmarks/fair_lambdamart.py --reference       # plain model and references only
     python benchmarks/fair_lambdamart.py --lambdafair      # plain model and LambdaFair only
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from scipy.stats import t as student

from equirank import evaluate, query_train_test_split
from equirank.core.attribute import Attribute
from equirank.core.ranking import Ranking
from equirank.datasets import load_mq2008, load_mslr, make_german_lists
from equirank.kernels.segments import segment_sum
from equirank.rankers import FairLambdaMART

ALPHAS = (0.9, 0.5, 0.1)
STRATEGIES = ("swap", "fair_first", "relevance_first")
CUTOFFS = (15, 50)
NOISE = (0.25, 0.5, 1.0)
SHARES = (0.25, 0.5)
N_DRAWS = 10  # of noise and of random lists
N_LISTS = 3000  # of German credit, train and test together


def mslr(seed):
    parts = [load_mslr(part=part) for part in ("train", "test")]
    train, test = parts if seed % 2 == 0 else parts[::-1]
    if seed > 1:  # other halves of the 86 queries
        first, second = (query_train_test_split(p, test_size=0.5, random_state=seed) for p in parts)
        train, test = joined(first[0], second[0]), joined(first[1], second[1])
    return train, test


def halves(seed):
    """Return other halves of the same 86 queries, none of them used to choose settings."""
    data = joined(*(load_mslr(part=part) for part in ("train", "test")))
    return query_train_test_split(data, test_size=0.5, random_state=200 + seed)


def joined(a, b):
    """Concatenate two sets of lists."""
    offsets = np.concatenate([a.offsets, b.offsets[1:] + a.offsets[-1]])
    sensitive = {
        name: Attribute(np.concatenate([x.codes, b.sensitive[name].codes]), x.categories)
        for name, x in a.sensitive.items()
    }
    return replace(
        a,
        X=np.concatenate([a.X, b.X]),
        y=np.concatenate([a.y, b.y]),
        offsets=offsets,
        qids=np.arange(len(offsets) - 1),
        sensitive=sensitive,
        rows=None,
    )


def mq2008(seed):
    fold = load_mq2008(folds=True)[seed % 5]
    middle = np.median(fold.train.X[:, 38])

    def with_groups(data):
        codes = (data.X[:, 38] > middle).astype(np.int32)
        return replace(data, sensitive={"score": Attribute(codes, ("low", "high"))})

    return with_groups(fold.train), with_groups(fold.test)


def german(attribute, split_people):
    def make(seed):
        sides = make_german_lists(N_LISTS, split_people=split_people, random_state=seed)
        return [replace(d, sensitive={attribute: d.sensitive[attribute]}) for d in sides]

    return make


SETS = {
    "mslr": mslr,
    "halves of the mslr sample": halves,
    "mq2008": mq2008,
    "german sex, people shared": german("sex", False),
    "german age, people shared": german("age_35", False),
    "german sex, people split": german("sex", True),
    "german age, people split": german("age_35", True),
}


def with_noise(test, score, size, rng):
    """Return the scores plus noise, in standard deviations of the scores of the list."""
    n, query = np.diff(test.offsets), test.query_of_rows()
    mean = (segment_sum(score, test.offsets) / n)[query]
    spread = np.sqrt(segment_sum((score - mean) ** 2, test.offsets) / n)[query]
    return score + size * spread * rng.normal(size=len(score))


def some_random(test, score, share, rng):
    """Return the scores with a share of the lists in random order."""
    chosen = rng.permutation(test.n_queries) < round(share * test.n_queries)
    return np.where(chosen[test.query_of_rows()], rng.random(len(score)), score)


def references(test, score, metrics, rng):
    """Return the mean metrics of plain scores with noise, and with some lists in random order."""
    draws = {f"plain, noise {size:g} SD": (with_noise, size) for size in NOISE}
    draws |= {f"plain, {share:.0%} of lists random": (some_random, share) for share in SHARES}
    found = {}
    for name, (change, amount) in draws.items():
        values = []
        for _ in range(N_DRAWS):
            ranking = Ranking.from_scores(test, change(test, score, amount, rng))
            result = evaluate(ranking, metrics=metrics, n_boot=0)
            values.append([result[m] for m in metrics])
        found[name, 0.0] = np.mean(values, axis=0)
    return found


def measure(make, seed, jobs, only=None):
    """Return NDCG and rND at both cutoffs of every model: (strategy, alpha) to four numbers.

    ``only`` is "reference" or "lambdafair": the plain model, and only these lines.
    """
    train, test = make(seed)
    metrics = [m for k in CUTOFFS for m in (f"NDCG@{k}", f"RND(step=5)@{k}")]
    options = {
        "step": 5, "cutoff": 50, "truncation": 50, "n_estimators": 40, "num_leaves": 15,
        "n_jobs": jobs, "random_state": seed,
    }  # fmt: skip

    def measured(ranking):
        result = evaluate(ranking, metrics=metrics, n_boot=0)
        return np.array([result[m] for m in metrics])

    found = {}
    if only != "lambdafair":
        chance = np.random.default_rng(seed).random(test.n_rows)
        found["random order", 0.0] = measured(replace(test, score=chance).ranking())
    plain = FairLambdaMART(1.0, **options).fit(train)
    if only != "lambdafair":
        rng = np.random.default_rng([seed, 1])
        found |= references(test, plain.predict(test), metrics, rng)
    found["none", 1.0] = measured(plain.rank(test))
    if only is None:
        for strategy in STRATEGIES:
            path = FairLambdaMART(strategy=strategy, validation=test, **options)
            for alpha, ranker in zip(
                ALPHAS, path.tradeoff_path(ALPHAS, train).rankers, strict=True
            ):
                found[strategy, alpha] = measured(ranker.rank(test))
    if only != "reference":
        for strategy in STRATEGIES:
            for alpha in ALPHAS:
                rival = FairLambdaMART.lambdafair(alpha, strategy, learning_rate=0.1, **options)
                found[f"LambdaFair, {strategy}", alpha] = measured(rival.fit(train).rank(test))
    return found


def orderings(name, found):
    """Return the claims of the paper and whether one seed confirms them; rND at 15 and at 50."""
    plain = found["none", 1.0]
    claims = {}
    for strategy in STRATEGIES:
        low = [a for a in ALPHAS if a <= 0.5]
        for label, alphas in (("alpha < 1", ALPHAS), ("alpha <= .5", low)):
            fair = [found[strategy, a][[1, 3]] < plain[[1, 3]] for a in alphas]
            claims[f"{strategy}: lower rND than plain at every {label}"] = bool(np.all(fair))

    def best(column, higher, alphas):
        pick = np.argmax if higher else np.argmin
        return [STRATEGIES[int(pick([found[s, a][column] for s in STRATEGIES]))] for a in alphas]

    if name.startswith("german"):
        low = [a for a in ALPHAS if a <= 0.7]
        claims["fair_first fairest at alpha <= .7 (rND@50)"] = set(best(3, False, low)) == {
            "fair_first"
        }
        kept = [found["relevance_first", a][0] >= plain[0] - 0.0005 for a in ALPHAS]
        claims["relevance_first keeps NDCG@15"] = all(kept)
    else:
        claims["swap fairest at every alpha (rND@50)"] = set(best(3, False, ALPHAS)) == {"swap"}
        claims["relevance_first most relevant at every alpha (NDCG@50)"] = set(
            best(2, True, ALPHAS)
        ) == {"relevance_first"}
    return claims


def interval(values):
    """Return the mean and half the width of its 95% confidence interval (Student's t)."""
    if len(values) < 2 or not np.any(values):
        return ""
    half = student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):+.2f} ±{half:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="*", default=["mslr", "mq2008", "german"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--reference", action="store_true", help="plain model and references only")
    parser.add_argument("--lambdafair", action="store_true", help="plain model and LambdaFair only")
    args = parser.parse_args()
    only = "reference" if args.reference else "lambdafair" if args.lambdafair else None
    for name, make in SETS.items():
        if not any(name.startswith(part) for part in args.sets):
            continue
        begin = time.perf_counter()
        runs = [measure(make, seed, args.jobs, only) for seed in range(args.seeds)]
        print(f"\n## {name} ({time.perf_counter() - begin:.0f} s)\n")
        print("| strategy | alpha | NDCG@15 | rND@15 | NDCG@50 | rND@50 | rND@50 minus plain |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for key in runs[0]:
            row = 100 * np.mean([run[key] for run in runs], axis=0)
            cells = [f"{v:.2f}" for v in row]
            cells.append(interval([100 * (run[key] - run["none", 1.0])[3] for run in runs]))
            alpha = "" if key[1] == 0.0 else f"{key[1]:g}"
            print(f"| {key[0]} | {alpha} | {' | '.join(cells)} |", flush=True)
        if only is not None:
            continue
        print()
        claims = [orderings(name, run) for run in runs]
        for claim in claims[0]:
            print(f"- {claim}: {sum(c[claim] for c in claims)} of {args.seeds} seeds", flush=True)


if __name__ == "__main__":
    main()
