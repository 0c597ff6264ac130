"""Re-ranking with probabilities of groups: are bounds kept, and what does it cost?

Lists of 100 people are drawn, of whom 40% are in group "f", which scores lower. A proxy tells the
group well or badly; probabilities are right given proxy and score. Every list is re-ranked to 40
positions, and groups are drawn anew 400 times to count how often all minimums hold. NDCG is that of
the score above the lowest of its list. ``--speed`` also re-ranks 10,000 lists of 100.
Run: python benchmarks/labels_rerank.py
"""

import argparse
from itertools import permutations
from time import perf_counter

import numpy as np

from equirank import as_ranking_data
from equirank.kernels.label_chances import (
    EXPECTED,
    JOINT,
    PREFIX,
    Minimums,
    greedy_list,
    reached,
)
from equirank.rerankers import ExposureOptimal, FAStarIR, PrefixConstraints, fa_star_ir_table
from equirank.rerankers.likely_lists import Conditions, arrange_list

N, K, SHARE, SHIFT = 100, 40, 0.4, 0.8
PROXIES = {"good proxy": 2.5, "weak proxy": 1.0}


def population(rng, n_lists, strength, n=N):
    """Return scores, groups, and probabilities given proxy and score, and given the proxy alone."""
    z = rng.random((n_lists, n)) < SHARE
    proxy = strength * z + rng.normal(size=z.shape)
    score = rng.normal(size=z.shape) - SHIFT * z
    alone = np.log(SHARE / (1 - SHARE)) + strength * proxy - strength**2 / 2
    logit = alone - SHIFT * score - SHIFT**2 / 2
    return score, z, 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(-alone))


def guessed(p):
    """Return the columns of a sensitive attribute that is known as probabilities."""
    flat = p.ravel()
    return {"sex": [None] * flat.size, "sex[f]": flat, "sex[m]": 1 - flat}


def reranked(rule, score, features):
    """Return the positions in each list, and the NDCG of the score."""
    n_lists, n = score.shape
    data = as_ranking_data(
        score=score.ravel(), qid=np.repeat(np.arange(n_lists), n), sensitive_features=features
    )
    result = rule(data.ranking())
    position = result.position.reshape(n_lists, n)
    orders = np.array(
        [np.argsort(np.where(row > 0, row, n + 1))[: (row > 0).sum()] for row in position]
    )
    return orders, result.price.ndcg


def ndcg(score, orders):
    """Return the mean NDCG of the score above the lowest."""
    weight = 1 / np.log2(np.arange(2, orders.shape[1] + 2))
    gain = score - score.min(axis=1, keepdims=True)
    ideal = np.sort(gain, axis=1)[:, ::-1][:, : orders.shape[1]] @ weight
    return float((np.take_along_axis(gain, orders, axis=1) @ weight / ideal).mean())


def held(rng, p, orders, keeps, draws=400):
    """Return how often drawn groups keep the bounds, and its standard error over lists."""
    shares = []
    for row, order in zip(p, orders, strict=True):
        z = rng.random((draws, len(order))) < row[order]
        shares.append(keeps(np.cumsum(z, axis=1)).mean())
    error = np.sqrt(np.var(shares) / len(shares) + 0.09 / (draws * len(shares)))
    return float(np.mean(shares)), float(error)


def line(name, share, error, value):
    """Print one row of the table."""
    print(f"{name:58} {100 * share:6.1f} ({100 * error:.1f}) {value:8.3f}", flush=True)


def floors_table(rng, n_lists, label, floors, rule_of, strengths):
    """Print how often minimums hold for true labels, greedy, blend and exchange, and guesses."""
    print(f"\n{label}: held in % (standard error), NDCG")
    for name, strength in strengths.items():
        score, z, p, alone = population(rng, n_lists, strength)
        names = np.where(z, "f", "m").ravel()

        def keeps(counts):
            return (counts >= floors).all(axis=1)

        plain = rule_of(labels="known", on_infeasible="best")
        orders, value = reranked(plain, score, names)
        line(f"{name}: true labels", *held(rng, z.astype(float), orders, keeps), value)
        greedy = greedy_orders(score, p, floors)
        line(f"{name}: greedy", *held(rng, p, greedy, keeps), ndcg(score, greedy))
        exact = PrefixConstraints(lower={"f": floors}, k=K, labels="expected", time_limit=1.0)
        for text, rule in (
            ("chance 0.9", rule_of(labels="chance")),
            ("chance 0.9, each prefix", rule_of(labels="chance", over="prefix")),
            ("expected, HiGHS within 1 s", exact),
        ):
            orders, value = reranked(rule, score, guessed(p))
            line(f"{name}: {text}", *held(rng, p, orders, keeps), value)
        orders, value = reranked(plain, score, np.where(p > 0.5, "f", "m").ravel())
        line(f"{name}: label is P > 0.5", *held(rng, p, orders, keeps), value)
        orders, value = reranked(rule_of(labels="chance"), score, guessed(alone))
        line(f"{name}: chance, P from the proxy alone", *held(rng, p, orders, keeps), value)


def greedy_orders(score, p, floors):
    """Return the greedy list of each list."""
    found = []
    level = np.full((len(floors), 1), 0.9)
    for row, chance in zip(score, p, strict=True):
        best = np.argsort(-row)
        share = np.ascontiguousarray(chance[best])
        finish = np.argsort(-share, kind="stable")
        need = Minimums(share[:, None], floors[:, None], level, JOINT)
        order = greedy_list(finish, share, need)
        found.append(best[order])
    return np.array(found)


#: Bounds of the first 20 positions.
CASES = {
    "upper bound of the others": {"upper": {"m": np.ceil(0.75 * np.arange(1, 21) + 1).astype(int)}},
    "lower and upper bound": {
        "lower": {"f": 0.2},
        "upper": {"f": np.ceil(0.5 * np.arange(1, 21) + 2).astype(int)},
    },
}


def both_sides(given):
    """Return a function of the counts of "f" that tells which draws keep the bounds."""
    j = np.arange(1, 21)

    def keeps(counts):
        good = np.ones(len(counts), dtype=bool)
        for group, upper in given.get("upper", {}).items():
            good &= ((counts if group == "f" else j - counts) <= upper).all(axis=1)
        for share in given.get("lower", {}).values():
            good &= (counts >= np.floor(share * j + 1e-9)).all(axis=1)
        return good

    return keeps


def bounds_table(rng, n_lists):
    """Print upper bounds, both sides, and several groups under a chance of 0.9."""
    print("\nPrefixConstraints, chance 0.9, 20 positions: held in % (standard error), NDCG")
    j = np.arange(1, 21)
    for name, strength in PROXIES.items():
        score, _, p, _ = population(rng, n_lists, strength, 60)
        for text, given in CASES.items():
            rule = PrefixConstraints(**given, labels="chance", k=20)
            orders, value = reranked(rule, score, guessed(p))
            line(f"{name}: {text}", *held(rng, p, orders, both_sides(given)), value)
    table = rng.dirichlet([0.25, 0.3, 0.4], size=(n_lists, 60))
    score = rng.normal(size=(n_lists, 60)) - 0.5 * table[:, :, 0]
    columns = {"g": [None] * table[:, :, 0].size}
    columns |= {f"g[{name}]": table[:, :, at].ravel() for at, name in enumerate("abc")}
    rule = PrefixConstraints(lower={"a": 0.15, "b": 0.2}, labels="chance", k=20)
    orders, value = reranked(rule, score, columns)
    shares = []
    for rows, order in zip(table, orders, strict=True):
        u = rng.random((400, 20))
        cut = np.cumsum(rows[order], axis=1)
        drawn = (u[:, :, None] > cut).sum(axis=2)
        good = (np.cumsum(drawn == 0, axis=1) >= np.floor(0.15 * j + 1e-9)).all(axis=1)
        good &= (np.cumsum(drawn == 1, axis=1) >= np.floor(0.2 * j + 1e-9)).all(axis=1)
        shares.append(good.mean())
    line("three groups, two lower bounds", np.mean(shares), np.std(shares) / n_lists**0.5, value)


def search_table(rng, n_cases=300, n=7, k=4):
    """Print of how many short lists with several bounds a list is found, where one exists."""
    print("\nSeveral bounds, 4 of 7: lists for which an order exists, and for which one is found")
    orders = [np.array(order) for order in permutations(range(n), k)]
    j = np.arange(1, k + 1)
    both = np.stack([np.floor(0.4 * j), np.maximum(j - np.ceil(0.6 * j), 0)], axis=1).astype(int)
    for mode, word in ((EXPECTED, "expected"), (PREFIX, "each prefix"), (JOINT, "jointly")):
        for sides in (((0, False), (1, False)), ((0, False), (0, True))):
            exist = found = 0
            for _ in range(n_cases):
                value = np.sort(rng.normal(size=n))[::-1].copy()
                table = rng.dirichlet([0.5, 0.5, 0.5] if sides[1][0] else [0.5, 0.5], size=n)
                drawn = np.sort(rng.integers(0, 2, (k, 2)), axis=0)
                level = 1.0 if mode == EXPECTED else 0.75
                given = Conditions(
                    table, sides, drawn if sides[1][0] else both, np.zeros(1, int),
                    np.array([k]), mode, level, ("a", "b", "c"),
                )  # fmt: skip
                share, floors = given.of_list(0, np.arange(n))
                need = Minimums(share, floors, given.levels(k), mode)
                if any(reached(order, need) for order in orders):
                    exist += 1
                    one = arrange_list(value, share, floors, given, closest=False, time_limit=5.0)
                    found += one.missed is None
            text = "two of three groups" if sides[1][0] else "lower and upper bound"
            print(f"{text + ', ' + word:58} {exist:6} {found:6}", flush=True)


def exposure_table(rng, n_lists):
    """Print the deviation of the realised exposure gap, and the utility."""
    print("\nExposureOptimal: within 1.96 sd in %, utility; with true labels")
    for name, strength in PROXIES.items():
        score, z, p, _ = population(rng, n_lists, strength)
        score = score - score.min()
        qid = np.repeat(np.arange(n_lists), N)
        shared = ExposureOptimal(labels="expected").rerank(
            score.ravel(), qid=qid, sensitive_features=guessed(p)
        )
        known = ExposureOptimal().rerank(
            score.ravel(), qid=qid, sensitive_features=np.where(z, "f", "m").ravel()
        )
        exposure = shared.policy().exposure().reshape(n_lists, N)
        inside = []
        for row, e, sd in zip(p, exposure, shared.report["gap_sd"], strict=True):
            drawn = rng.random((400, N)) < row
            gap = drawn @ e / drawn.sum(axis=1) - ~drawn @ e / (~drawn).sum(axis=1)
            inside.append((np.abs(gap) < 1.96 * sd).mean())
        utilities = [1 - one.report["price"].mean() for one in (shared, known)]
        print(f"{name:58} {100 * np.mean(inside):6.1f} {utilities[0]:8.3f} {utilities[1]:8.3f}")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    table = np.asarray(fa_star_ir_table(K, SHARE, 0.1)).astype(np.int64)
    strict = np.floor(0.32 * np.arange(1, K + 1) + 1e-9).astype(np.int64)

    def fair(**settings):
        return FAStarIR(p=SHARE, protected="f", k=K, **settings)

    def prefix(**settings):
        return PrefixConstraints(lower={"f": 0.32}, k=K, time_limit=2.0, **settings)

    floors_table(rng, given.lists, "FA*IR minimums, 40 of 100", table, fair, PROXIES)
    floors_table(rng, given.lists, "floor(0.32 j), 40 of 100", strict, prefix, PROXIES)
    bounds_table(rng, given.lists)
    exposure_table(rng, min(given.lists, 25))
    search_table(np.random.default_rng(given.seed))
    if given.speed:
        score, _, p, _ = population(rng, 10_000, 1.0)
        features, begin = guessed(p), perf_counter()
        reranked(FAStarIR(p=SHARE, protected="f", k=20, labels="chance"), score, features)
        print(f"\n10,000 lists of 100, 20 positions: {perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
