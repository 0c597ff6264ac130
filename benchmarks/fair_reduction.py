"""FairReduction on COMPAS, Adult and Law: violation, pair accuracy and NDCG on held-out people.

For each data set and eps it prints the plain RankBoost, the best single ranker and the mixture of
the reduction, and fairlearn's classifier reduction (logistic regression, relevance binarised at its
median), whose score is the probability of its randomised decision, all on the same splits; means
over seeds with 95% confidence intervals (Student's t). ``line`` is the pair accuracy of a mixture
of the plain ranker with a random order at the same violation: 1/2 + (accuracy - 1/2) x violation /
plain violation. The line of NDCG is computed likewise, from the NDCG of a random order. A method is
useful only above the line. A random order satisfies the other two constraints but not rank
equality; there ``--floor`` prints the actual result of mixing.

``--floor`` also prints the effect of sampling alone: the largest difference in the test rows of a
ranker without differences in all rows, and of one without differences in the training rows that is
not fitted to their noise. ``--signed`` separates noise from a systematic difference.

Run: EQUIRANK_DATA=... python benchmarks/fair_reduction.py adult compas law --seeds 5
"""

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
from scipy.stats import t as student

from equirank import query_train_test_split
from equirank.core.attribute import Attribute
from equirank.datasets import load_adult, load_compas, load_law
from equirank.metrics import ndcg
from equirank.rankers import FairReduction, RankBoost
from equirank.rankers.boosting.pairwise_constraint import CONSTRAINTS, pairwise_constraint

K = 100
SHARES = np.linspace(0, 1, 101)


def merged(data, name, kept, rest):
    """Keep the named groups and merge all other groups."""
    attribute = data.sensitive[name]
    labels = [str(c) if c in kept else rest for c in attribute.categories]
    groups = sorted(set(labels))
    codes = np.array([groups.index(label) for label in labels])[attribute.codes]
    return replace(data, sensitive={name: Attribute(codes.astype(np.int32), tuple(groups))})


RACES = ("African-American", "Caucasian")
DATA = {
    "adult": lambda: load_adult(sensitive="sex"),
    "compas": lambda: merged(load_compas(sensitive="race"), "race", RACES, "Other"),
    "compas_recid": lambda: merged(
        load_compas(sensitive="race", relevance="two_year_recid"), "race", RACES, "Other"
    ),
    "law": lambda: merged(load_law(sensitive="race"), "race", ("White",), "not White"),
    "law_three": lambda: merged(load_law(sensitive="race"), "race", ("White", "Black"), "Other"),
    "law_sex": lambda: load_law(sensitive="sex"),
}


def aware(data):
    """Add an indicator of each group to the features."""
    attribute = data.attribute()
    marks = np.eye(len(attribute.categories))[attribute.codes]
    return replace(data, X=np.column_stack([data.X, marks]))


def stored(data, scores):
    return scores if data.rows is None else scores[np.argsort(data.caller_rank)]


def measure(rule, data, score):
    """Return pair accuracy, differences of groups and NDCG of scores per stored row."""
    error, difference = rule.measure(data, score)
    return 1.0 - error, difference, float(ndcg(data.y, score, k=K))


def random_ndcg(data):
    """Return the NDCG of a random order: that of a list tied throughout."""
    return float(ndcg(data.y, np.zeros(data.n_rows), k=K))


def reduction(kind, eps, args, seed):
    ranker = RankBoost(
        args.rounds,
        smoothing=args.smoothing,
        record_errors=False,
        random_state=seed,
        n_jobs=args.jobs,
    )
    return FairReduction(ranker, kind, eps, max_iter=args.steps, bound=args.bound)


def differences(model, data, kind):
    """Return the differences of groups of each ranker of a reduction."""
    rule = pairwise_constraint(data, kind, None)
    return np.array([rule.measure(data, m._scores(m.visible(data)))[1] for m in model.members_])


def print_floor(data, kind, eps, args):
    """Print the held-out violation of a ranker without violation in all or in the training rows."""
    model = reduction(kind, eps, args, 0).fit(data)
    whole = differences(model, data, kind)[model.best_]
    shown = []
    for seed in range(args.first, args.first + args.seeds):
        parts = query_train_test_split(data, by="item", test_size=0.3, random_state=seed)
        train, test = (differences(model, part, kind)[model.best_] for part in parts)
        shown.append([np.abs(test - whole).max(), np.abs(test - train).max()])
    found = [interval(column) for column in np.transpose(shown)]
    print(f"  held out, no violation in all rows: {found[0]}; in the training rows: {found[1]}")


def mixed_with_random(plain, rule, test):
    """Return violation and pair accuracy of mixtures of the plain ranker and a random order."""
    chance = rule.measure(test, np.zeros(test.n_rows))[1]
    found = np.outer(1 - SHARES, plain[1]) + np.outer(SHARES, chance)
    return np.abs(found).max(axis=1), 0.5 + (plain[0] - 0.5) * (1 - SHARES)


def print_mixing(curves, single):
    """Print the result of mixing at the violation of the single ranker, or at its minimum."""
    violation, accuracy = np.mean(curves, axis=0)
    reached = np.flatnonzero(violation <= np.mean(single, axis=0)[1])
    at = reached[0] if len(reached) else np.argmin(violation)
    words = f"violation {violation[at]:.3f}, pair accuracy {accuracy[at]:.3f}"
    print(f"  {SHARES[at]:.0%} of a random order: {words}; all of it: {violation[-1]:.3f}")


def run_reduction(train, test, kind, eps, args, seed):
    model = reduction(kind, eps, args, seed)
    begin = time.perf_counter()
    model.fit(train)
    seconds = time.perf_counter() - begin
    tested = pairwise_constraint(test, kind, None)
    found = [measure(tested, test, m._scores(m.visible(test))) for m in model.members_]
    accuracy, difference, gain = (np.array(part) for part in zip(*found, strict=True))
    weights = model.weights_
    mixed = weights @ accuracy, np.abs(weights @ difference).max(), weights @ gain
    single = [(a, np.abs(d).max(), g) for a, d, g in found]
    if args.train or args.signed:
        seen = differences(model, train, kind)
        parts = [(table[0], table[model.best_], weights @ table) for table in (seen, difference)]
        if args.train:
            print("  training rows:", *(f"{np.abs(part).max():.3f}" for part in parts[0]))
        if args.signed:
            words = [np.array2string(p, precision=3, suppress_small=True) for p in sum(parts, ())]
            print("  signed, training rows:", *words[:3], "held out:", *words[3:])
    return (
        {
            "plain": single[0],
            "single": single[model.best_],
            "mixture": mixed,
        },
        (seconds, len(model.members_)),
        mixed_with_random(found[0], tested, test),
    )


def run_fairlearn(train, test, kind, eps, seed):
    from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    constraint = DemographicParity if kind == "rank_parity" else EqualizedOdds
    scaler = StandardScaler().fit(train.X)
    y = (train.y > np.median(train.y)).astype(int)
    reduction = ExponentiatedGradient(
        LogisticRegression(max_iter=200), constraint(), eps=max(eps, 1e-3), max_iter=20
    )
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reduction.fit(scaler.transform(train.X), y, sensitive_features=train.attribute().codes)
        X = scaler.transform(test.X)
        score = sum(
            weight * predictor.predict(X)
            for predictor, weight in zip(reduction.predictors_, reduction.weights_, strict=True)
            if weight > 0
        )
    seconds = time.perf_counter() - begin
    accuracy, difference, gain = measure(pairwise_constraint(test, kind, None), test, score)
    return (accuracy, np.abs(difference).max(), gain), (seconds, len(reduction.predictors_))


def interval(values):
    values = np.asarray(values, dtype=float)
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.3f} ±{half:.3f}"


def report(name, kind, eps, method, rows, plain, chance, spent):
    rows, plain, chance = np.array(rows), np.array(plain), np.array(chance)
    kept = rows[:, 1] / plain[:, 1]
    lines = 0.5 + (plain[:, 0] - 0.5) * kept, chance + (plain[:, 2] - chance) * kept
    verdict = ["", ""]
    if method != "plain":
        over = [(rows[:, at] - line).mean() > 0 for at, line in zip((0, 2), lines, strict=True)]
        verdict = [
            "yes" if rows[:, 1].mean() <= plain[:, 1].mean() / 2 else "no",
            ", ".join(
                f"{what} {'above' if yes else 'below'}"
                for what, yes in zip(("pairs", "NDCG"), over, strict=True)
            ),
        ]
    seconds, steps = np.mean(spent, axis=0) if spent else (0.0, 0.0)
    cells = [interval(rows[:, 1]), interval(rows[:, 0]), f"{lines[0].mean():.3f}"]
    cells += [interval(rows[:, 2]), f"{lines[1].mean():.3f}", *verdict]
    cells.append(f"{seconds:.1f} s, {steps:.0f} fits" if spent else "")
    print(f"| {name} | {kind} | {eps:g} | {method} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["adult", "compas", "law"], choices=list(DATA))
    parser.add_argument("--constraint", nargs="+", default=["group_pairwise_accuracy"],
                        choices=CONSTRAINTS)  # fmt: skip
    parser.add_argument("--features", nargs="+", default=["blind"], choices=["blind", "aware"],
                        help="without or with the group among the features")  # fmt: skip
    parser.add_argument("--eps", nargs="+", type=float, default=[0.02])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--smoothing", type=float, help="of RankBoost: larger values overfit less")
    parser.add_argument("--bound", type=float, default=5.0)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--no-fairlearn", action="store_true")
    parser.add_argument("--train", action="store_true", help="violations on training rows too")
    parser.add_argument("--signed", action="store_true", help="signed differences per seed")
    parser.add_argument("--floor", action="store_true", help="the effect of sampling alone")
    args = parser.parse_args()
    head = ["data", "constraint", "eps", "method", "violation", "pair accuracy", "line"]
    head += [f"NDCG@{K}", "line", "halved", "against the lines", "time"]
    print(f"| {' | '.join(head)} |")
    print("| --- " * len(head) + "|")
    for name in args.data:
        data = DATA[name]()
        for kind in args.constraint:
            for eps in args.eps:
                found = {}
                for features in args.features:
                    given = aware(data) if features == "aware" else data
                    shown = f"{name}, aware" if features == "aware" else name
                    found[features] = run_splits(shown, given, kind, eps, args)
                if len(found) == 2:
                    print_differences(found["blind"], found["aware"])


def run_splits(name, data, kind, eps, args):
    """Print the rows of one data set, constraint and eps; return the values by method and split."""
    results, spent, chance, curves = {}, {}, [], []
    for seed in range(args.first, args.first + args.seeds):
        train, test = query_train_test_split(data, by="item", test_size=0.3, random_state=seed)
        chance.append(random_ndcg(test))
        found, cost, curve = run_reduction(train, test, kind, eps, args, seed)
        curves.append(curve)
        times = {"single": cost, "mixture": cost}
        if not args.no_fairlearn:
            found["fairlearn"], times["fairlearn"] = run_fairlearn(train, test, kind, eps, seed)
        for method, row in found.items():
            results.setdefault(method, []).append(row)
            if method in times:
                spent.setdefault(method, []).append(times[method])
    if args.floor:
        print_floor(data, kind, eps, args)
        print_mixing(curves, results["single"])
    for method, rows in results.items():
        report(name, kind, eps, method, rows, results["plain"], chance, spent.get(method))
    return results


def print_differences(blind, aware):
    """Print aware minus blind, split by split."""
    for method in ("plain", "single", "mixture"):
        change = np.array(aware[method]) - np.array(blind[method])
        words = ("pair accuracy", "violation", f"NDCG@{K}")
        shown = [f"{word} {interval(change[:, at])}" for at, word in enumerate(words)]
        print(f"  aware minus blind, {method}: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
