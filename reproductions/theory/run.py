"""Theory checked by simulation: boosting, bounds, regret, worked examples, growth of NDCG.

    python reproductions/theory/run.py --quick
    python reproductions/theory/run.py

A seed is one synthetic data set. Proved statements must hold in each of them.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import charts
import verdicts as v
from boosting_theory import bipartite, consistency, placement, training_bound
from worked_examples import worked_examples

from equirank import as_ranking_data, evaluate, theory
from equirank.datasets import make_ranking
from equirank.metrics.properties import bench
from equirank.rankers import RankBoost

BLIND = ["RankParityError", "statistical_independence.difference",
         "conditional_independence.difference"]  # fmt: skip


def coverage(given):
    """Count how often the true error is below each bound, and by how much."""
    rows = []
    size, draws = (500, 10) if given.quick else (200_000, 50)
    for seed in v.progress(range(2 * given.seeds), "bounds"):
        common = {"n_queries": 1, "n_features": 3, "n_grades": 2, "noise": 0.3}
        data = make_ranking(n_items=size, random_state=seed, **common)
        fresh = make_ranking(n_items=20_000, random_state=10_000 + seed, **common)
        model = RankBoost(3).fit(data)
        true = evaluate(model.rank(fresh), ["PairLoss"], n_boot=0)["PairLoss"]
        for row in model.generalization_bounds(data, delta=0.05, n_draws=draws):
            if row["bound"] != "training":
                rows.append({"seed": seed, "bound": row["bound"], "value": float(row["value"]),
                             "vacuous": bool(row["vacuous"]), "true": true})  # fmt: skip
    return {"coverage": rows}


def regret(given):
    """Compute the regret of sorting by preferences, by exact enumeration of short lists."""
    ranking_regret = getattr(theory, "ranking_regret", None)
    if ranking_regret is None:
        return {"regret": []}
    rows = []
    circle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    rows.append(
        {"case": "circle", "order": "quicksort", **_regret(ranking_regret(circle, [3, 2, 1]))}
    )
    for seed in v.progress(range(10 * given.seeds), "regret"):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 7))
        h = rng.random((n, n)) if seed % 2 else (rng.random((n, n)) < 0.5).astype(float)
        levels = np.stack([rng.permutation(np.arange(n) < rng.integers(1, n)) for _ in range(3)])
        for case, truths in (("two levels", levels), ("full order", rng.permutation(n))):
            for order in ("quicksort", "degree"):
                found = ranking_regret(h, truths, order=order)
                rows.append({"case": case, "order": order, **_regret(found)})
    return {"regret": rows}


def _regret(found):
    return {"regret": found.order_regret, "of_preferences": found.preference_regret,
            "loss": found.order_loss, "loss_of_preferences": found.preference_loss}  # fmt: skip


def examples(given):
    """Compute the worked examples, and the properties that measures do not detect."""
    table = bench(BLIND, n_repetitions=12 if given.quick else 50)
    return {"examples": worked_examples(), "properties": list(table)}


def growth(given):
    """Count how often the better of two rankers has the larger NDCG, by length of the lists."""
    sizes = (
        (10, 100, 1000) if given.quick else (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    )
    kinds = {"log2": "NDCG", "zipf": 'NDCG(discount="zipf")', "cutoff 10": "NDCG@10"}
    rows = []
    for size in v.progress(sizes, "list sizes"):
        for seed in range(given.seeds):
            rng = np.random.default_rng([seed, size])
            merit = rng.normal(size=(10, size))
            y = ((merit > 0.5) ^ (rng.random(merit.shape) < 0.2)).astype(float).ravel()
            y[::size] = 1.0  # NDCG needs a relevant item
            qid = np.repeat(np.arange(10), size)
            results = []
            for noise in (0.5, 1.0):
                score = (merit + noise * rng.normal(size=merit.shape)).ravel()
                ranking = as_ranking_data(None, y, qid=qid, score=score).ranking()
                results.append(evaluate(ranking, list(kinds.values()), n_boot=0))
            for kind, metric in kinds.items():
                better, worse = (result.per_query(metric) for result in results)
                rows.append({"size": size, "seed": seed, "kind": kind,
                             "told_apart": float((better > worse).mean()),
                             "difference": float((better - worse).mean())})  # fmt: skip
    return {"growth": rows}


def verdicts(found, expected):
    """Return one row per claim; proved statements must hold without exception."""
    table = []

    def always(text, part, ours, holds):
        table.append(v.claim(text, "always", ours, v.CONFIRMED if holds else v.CONTRADICTED))

    for part in found:
        rows = found[part].get(part, [])
        if part == "placement":
            spread = max(row["spread_of_constant"] for row in rows)
            text = "cost first, by rounds or afterwards: one loss up to a constant factor"
            always(text, part, f"the factor varies by {spread:.0e}", spread < 1e-9)
            others = [row["shared_with_initial"] for row in rows if row["stage"] != "initial"]
            text = "... but the ensembles differ"
            always(text, part, f"share of common stumps {np.mean(others):.2f}", min(others) < 1)
        elif part == "consistency":
            wrong = max(row["discordant_oriented"] for row in rows)
            as_is = np.mean([row["discordant_as_is"] for row in rows])
            always("RankBoost+: E2 and R2 order any two stumps alike (each oriented to R2 <= 1/2)",
                   part, f"{wrong:.0%} of pairs discordant ({as_is:.0%} without orienting)",
                   wrong == 0)  # fmt: skip
            off = max(abs(row["picked_less_best"]) for row in rows)
            always("RankBoost+ starts with the stump of the smallest R2", part,
                   f"larger by at most {off:.0e}", off < 1e-9)  # fmt: skip
        elif part == "training_bound":
            rounds, broken = (sum(row[key] for row in rows) for key in ("rounds", "broken"))
            always("RankBoost: cost-weighted R1 <= product of Z", part,
                   f"broken in {broken} of {rounds} rounds", not broken)  # fmt: skip
            steps = sum(row["steps_broken"] for row in rows)
            always("RankBoost: Z <= exp(-2 ((e+ - e-) / 2)^2), unsmoothed", part,
                   f"broken in {steps} of {rounds} rounds", not steps)  # fmt: skip
        elif part == "bipartite":
            off = max(row["difference"] for row in rows)
            always("bipartite RankBoost, RankBoost, and RankBoost on listed pairs are one model",
                   part, f"scores differ by at most {off:.0e}", off < 1e-6)  # fmt: skip
        elif part == "coverage":
            table += coverage_verdicts(rows, 1 - expected["coverage"]["delta"])
        elif part == "examples":
            table += example_verdicts(found[part], expected)
        elif part == "growth":
            table += growth_verdicts(rows, expected["growth"]["told_apart"])
        elif part == "regret":
            table += regret_verdicts(rows)
    return table


def coverage_verdicts(rows, promised):
    """Check that each bound holds as often as stated; a vacuous bound always does."""
    table = []
    for bound in dict.fromkeys(row["bound"] for row in rows):
        mine = v.rows_where(rows, bound=bound)
        held = np.mean([row["vacuous"] or row["true"] <= row["value"] for row in mine])
        empty = np.mean([row["vacuous"] for row in mine])
        slack = [row["value"] - row["true"] for row in mine if not row["vacuous"]]
        note = f"vacuous in {empty:.0%}" + (
            f"; else above by {np.mean(slack):.2f}" if slack else ""
        )
        table.append(v.claim(
            f"{bound} bound holds for unseen pairs", f"in {promised:.0%}", f"in {held:.0%}",
            v.CONTRADICTED if held < promised else v.NOT_CONFIRMED if empty == 1 else v.CONFIRMED,
            note,
        ))  # fmt: skip
    return table


def example_verdicts(tables, expected):
    """Check values to the printed digit, and the measures that do not detect distributions."""
    ours = {row["name"]: row["value"] for row in tables["examples"]}
    table = []
    for name, (published, tolerance) in expected["examples"].items():
        verdict = v.figure([ours[name]], published, tolerance, exact=True)
        table.append(v.claim(name, f"{published:g}", f"{ours[name]:.4g}", verdict))
    less, shares = ours["job seekers: exposure that the second group lacks"], (
        ours["job seekers: share of all exposure, first group"]
        - ours["job seekers: share of all exposure, second group"]
    )  # fmt: skip
    table.append(v.claim(
        "job seekers: '30 % less exposure'", expected["job_seekers"]["printed_less"], f"{less:.2f}",
        v.figure([less], expected["job_seekers"]["printed_less"], 0.005, exact=True),
        f"the gap between shares of all exposure is {shares:.2f}",
    ))  # fmt: skip
    lacks = ours["ten candidates: exposure that the second group lacks"]
    table.append(v.claim("ten candidates, .89 and .88: the same endogenous gap", "a large gap",
                         f"{lacks:.0%} less exposure",
                         v.CONFIRMED if lacks > 0.3 else v.CONTRADICTED))  # fmt: skip
    worse = ours["two users, exposure-fair: impact of item 2"]
    even, nash = (ours[f"two users, {p}: impact of item 2"] for p in ("uniform", "Nash welfare"))
    table.append(v.claim(
        "two users: exposure fairness leaves item 2 worse off than uniform, Nash welfare does not",
        "yes", f"{worse:.2f} < {even:.2f} <= {nash:.2f}",
        v.CONFIRMED if worse < even <= nash else v.CONTRADICTED,
    ))  # fmt: skip
    for metric, properties in expected["blind"].items():
        rows = [r for r in v.rows_where(tables["properties"], metric=metric)
                if r["property"] in properties]  # fmt: skip
        seen = [row["property"] for row in rows if row["detected"]]
        table.append(v.claim(f"{metric} cannot see {', '.join(properties)}", "blind",
                             f"sees {', '.join(seen) or 'none of them'}",
                             v.CONTRADICTED if seen else v.CONFIRMED))  # fmt: skip
    return table


def growth_verdicts(rows, needed):
    """Check whether the rankers are distinguished in the longest lists."""
    longest, table = max(row["size"] for row in rows), []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        sizes = sorted({row["size"] for row in rows})
        shares = {n: float(v.values(rows, "told_apart", kind=kind, size=n).mean()) for n in sizes}
        apart, expected = shares[longest] >= needed, not kind.startswith("cutoff")
        table.append(v.claim(
            f"NDCG, {kind}: two rankers are {'' if expected else 'not '}told apart as lists grow",
            "yes", ", ".join(f"{n}: {share:.2f}" for n, share in shares.items()),
            v.CONFIRMED if apart == expected else v.NOT_CONFIRMED,
            "share of lists in which the better ranker has the larger NDCG, by length",
        ))  # fmt: skip
    return table


def regret_verdicts(rows):
    """Check the guarantees of sorting; for full orders the regret bound must fail."""
    text = "{}: {} at most {} x that of the preferences, {}"
    table = []
    for order, what, factor, case in (
        ("quicksort", "regret", 1, "two levels"),
        ("degree", "regret", 2, "two levels"),
        ("quicksort", "loss", 2, "full order"),
    ):
        said = text.format(order, what, factor, case)
        mine = v.rows_where(rows, order=order, case=case)
        base = "of_preferences" if what == "regret" else "loss_of_preferences"
        broken = sum(row[what] > factor * row[base] + 1e-9 for row in mine)
        if not mine:
            said = v.claim(said, "always", "", v.NOT_TESTABLE, "not in this version")
        else:
            verdict = v.CONTRADICTED if broken else v.CONFIRMED
            said = v.claim(said, "always", f"broken in {broken} of {len(mine)} cases", verdict)
        table.append(said)
    for row in v.rows_where(rows, case="circle"):
        ratio = row["loss"] / row["loss_of_preferences"]
        table.append(v.claim("a circle of three against a fixed order: loss of quicksort",
                             "4/3 that of the preferences", f"{ratio:.4f}",
                             v.figure([ratio], 4 / 3, 1e-6, exact=True)))  # fmt: skip
    return table


def pictures(found):
    """Draw how often NDCG distinguishes the rankers, by length of the lists."""
    if "growth" not in found:
        return {}
    rows = found["growth"]["growth"]
    cells = {(row["size"], row["kind"]) for row in rows}
    data = [{"log10 of the list size": float(np.log10(n)), "discount": kind,
             "told apart": float(v.values(rows, "told_apart", size=n, kind=kind).mean())}
            for n, kind in sorted(cells)]  # fmt: skip
    return {"growth": charts.lines(data, "log10 of the list size", "told apart", "discount",
                              "How often the better ranker has the larger NDCG")}  # fmt: skip


PARTS = {
    "placement": placement, "consistency": consistency, "training_bound": training_bound,
    "bipartite": bipartite, "coverage": coverage, "regret": regret, "examples": examples,
    "growth": growth,
}  # fmt: skip
STUDY = v.Study(__file__, __doc__, PARTS, verdicts, pictures, seeds=50)


def main(argv=None):
    return v.main(STUDY, argv)


if __name__ == "__main__":
    main()
