"""Further re-rankers: compared with sorting, and the exact greedy lists with a program.

Prints ratios of times measured in the same run, without compilation, and the quality of methods:
the competitive ratio of online selection, the gain of a lower bound under bias.
Run: python benchmarks/reranking_more.py
"""

import gc
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from equirank import as_ranking_data
from equirank.rerankers import (
    BalancedSelection,
    ContinuousFairness,
    EpsilonGreedy,
    ImplicitBiasFloor,
    OnlineSelection,
    PrefixConstraints,
    RooneyRule,
    implicit_bias_gain,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def best(function, repeats=3):
    times = []
    for _ in range(repeats):
        gc.collect()
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def many_lists():
    print("a million rows in 10,000 lists, compared with sorting them by score within lists")
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    n = 1_000_000
    qid, score = np.repeat(np.arange(10_000), 100), rng.random(n)
    sort = best(lambda: np.lexsort((-score, qid)))
    loop = best(lambda: [np.argsort(-part, kind="stable") for part in score.reshape(-1, 100)])
    print(f"   numpy.lexsort {sort:.3f} s; numpy.argsort list by list {loop:.3f} s")
    print("   ratios to both of the re-ranker alone, and from arrays")
    for n_groups in (2, 3, 6):
        group = rng.integers(0, n_groups, size=n)
        data = as_ranking_data(score=score, qid=qid, sensitive_features=group)
        ranking = data.ranking()
        low = dict.fromkeys(range(n_groups), 0.8 / n_groups)
        high = dict.fromkeys(range(n_groups), 1.2 / n_groups)
        best_list = {"on_infeasible": "best"}
        for words, rule in {
            "PrefixConstraints, floors, k = 50": PrefixConstraints(low, k=50, **best_list),
            "PrefixConstraints, ceilings, k = 50": PrefixConstraints(None, high, k=50, **best_list),
            "PrefixConstraints, both, k = 50": PrefixConstraints(low, high, k=50, **best_list),
            "PrefixConstraints, floors, whole lists": PrefixConstraints(low, **best_list),
            "ContinuousFairness": ContinuousFairness(),
            "ImplicitBiasFloor, k = 50": ImplicitBiasFloor(0.2, 0, k=50, **best_list),
            "RooneyRule, k = 10": RooneyRule(0, k=10, **best_list),
            "EpsilonGreedy": EpsilonGreedy(0.1, random_state=0),
            "OnlineSelection, k = 10": OnlineSelection(10, {0: 2}, random_state=0, **best_list),
        }.items():
            rule(ranking)
            ours = best(lambda r=rule, d=ranking: r(d))
            whole = best(lambda r=rule, g=group: r.rerank(score, qid=qid, sensitive_features=g))
            alone, arrays = (f"{t / sort:.2f} ({t / loop:.2f})" for t in (ours, whole))
            print(f"   {n_groups} groups, {words}: {alone}, {arrays}")


def against_a_program():
    from rerankers.bounded_twins import best_by_assignment, discounted

    print("PrefixConstraints compared with a program over items and positions (HiGHS)")
    for n, k in ((20, 10), (40, 20)):
        rng = np.random.default_rng(n)
        score, group = rng.normal(size=n), rng.integers(0, 3, size=n)
        low, high = dict.fromkeys(range(3), 0.25), dict.fromkeys(range(3), 0.45)
        rule = PrefixConstraints(low, high, k=k)
        result = rule.rerank(score, sensitive_features=group)
        place = np.arange(1, k + 1)[:, None]
        least = np.floor(place * np.full(3, 0.25)).astype(int)
        most = np.ceil(place * np.full(3, 0.45)).astype(int)
        member = group[:, None] == np.arange(3)
        ours = best(lambda r=rule, s=score, g=group: r.rerank(s, sensitive_features=g))
        begin = time.perf_counter()
        found = best_by_assignment(score, member, k, least, most)
        theirs = time.perf_counter() - begin
        same = abs(discounted(score[result.order()]) - found) < 1e-6
        print(f"   {k} of {n}: {theirs / ours:,.0f}x as long, same value: {same}")


def programs():
    print("integer programs, one list, two attributes")
    rng = np.random.default_rng(0)
    for n, k in ((100, 10), (300, 20)):
        people = {"sex": rng.choice(list("fm"), n), "race": rng.choice(list("wxyz"), n)}
        score = rng.lognormal(size=n) * np.where(people["sex"] == "f", 0.6, 1.0)
        for words, rule in {
            "PrefixConstraints": PrefixConstraints({"f": 0.4, "x": 0.1, "y": 0.1}, k=k),
            "BalancedSelection, level 0.5": BalancedSelection(
                {"f": k // 2, "x": k // 5, "y": k // 5}, k, level=0.5, on_infeasible="best"
            ),
            "BalancedSelection, leximin": BalancedSelection(
                {"f": k // 2, "x": k // 5, "y": k // 5}, k, leximin=True
            ),
        }.items():
            begin = time.perf_counter()
            gap = rule.rerank(score, sensitive_features=people).gap[0]
            print(f"   {k} of {n}, {words}: {time.perf_counter() - begin:.2f} s, gap {gap:g}")


def worth():
    print("OnlineSelection: mean total score relative to the best selection in hindsight")
    rng = np.random.default_rng(1)
    score = rng.random(100)
    group = np.where(rng.random(100) < 0.3, "f", "m")
    order = np.argsort(-score)
    forced = [row for row in order if group[row] == "f"][:4]
    rest = [row for row in order if row not in forced][:6]
    for deferred in (True, False):
        rule = OnlineSelection(10, {"f": 4}, deferred=deferred, n_draws=2000, random_state=0)
        got = score @ (rule.rerank(score, sensitive_features=group).position > 0)
        ratio = got.mean() / score[forced + rest].sum()
        print(f"   10 of 100, 4 of f, waiting list {deferred}: {ratio:.3f}")
    print("ImplicitBiasFloor: true utility of the top 20 of 100, relative to the biased order")
    for beta in (0.9, 0.5, 0.25):
        rule = ImplicitBiasFloor(0.3, "protected", k=20)
        found = implicit_bias_gain(rule, beta=beta, k=20, n_lists=5000, random_state=0)
        print(f"   beta {beta}: {found.gain:.3f}, {found.recovered:.0%} of the loss recovered")


if __name__ == "__main__":
    many_lists()
    against_a_program()
    programs()
    worth()
