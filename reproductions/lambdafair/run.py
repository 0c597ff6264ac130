"""LambdaFair: the objective of its code beside that of FairLambdaMART, on MSLR and German credit.

    python reproductions/lambdafair/run.py --quick
    EQUIRANK_DATA=... python reproductions/lambdafair/run.py

2,000 trees at rate 0.01, prefixes of 5 items, truncation 20, NDCG and rND at 15. The claim of the
abstract cannot be tested here: its tables and the HMDA data are not available.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import charts
import verdicts as v

from equirank import Ranking, as_ranking_data, evaluate, query_train_test_split
from equirank.datasets import load_mslr, make_german_lists, make_ranking
from equirank.rankers import FairLambdaMART

STRATEGIES = ("swap", "fair_first", "relevance_first")
ALPHAS = (0.9, 0.5, 0.1)
METRICS = {"ndcg": "NDCG@15", "rnd": 'RND(discount="code", step=5)@15'}
SETS = {"mslr": "MSLR", "german_sex": "German, sex", "german_age": "German, age"}
TREES = {"mslr": {"num_leaves": 400, "min_child_samples": 50},
         "german": {"num_leaves": 32, "min_child_samples": 5}}  # fmt: skip
#: Options of the same strategies as equirank has them.
OURS = {"normalize": "mixed", "discount": "paper", "last_cut": False, "rules": "equirank"}


def measured(ranking):
    """Return both metrics, x 100."""
    found = evaluate(ranking, list(METRICS.values()), n_boot=0)
    return {name: 100 * found[metric] for name, metric in METRICS.items()}


def models(given, seed, trees):
    """Yield method, strategy, alpha and ranker of every model."""
    common = {**trees, "n_jobs": given.n_jobs, "random_state": seed}
    if given.quick:
        common |= {"n_estimators": 20, "learning_rate": 0.1}
    yield "LambdaMART", "none", 1.0, FairLambdaMART.lambdafair(1.0, **common)
    for strategy in STRATEGIES:
        for alpha in ALPHAS[1:] if given.quick else ALPHAS:
            yield (
                "LambdaFair",
                strategy,
                alpha,
                FairLambdaMART.lambdafair(alpha, strategy, **common),
            )
            ours = FairLambdaMART.lambdafair(alpha, strategy, **common | OURS | {"steady": True})
            yield "equirank", strategy, alpha, ours


def study(given, make, trees):
    """Fit all models on the lists of each seed."""
    figures = []
    for seed in range(given.seeds):
        train, test = make(seed)
        rng = np.random.default_rng(seed)
        orders = [measured(Ranking.from_scores(test, rng.random(test.n_rows))) for _ in range(20)]
        chance = {name: float(np.mean([order[name] for order in orders])) for name in METRICS}
        figures.append({"seed": seed, "method": "random order", "strategy": "none", "alpha": 1.0,
                        **chance})  # fmt: skip
        for method, strategy, alpha, model in v.progress(
            list(models(given, seed, trees)), f"seed {seed}"
        ):
            figures.append({"seed": seed, "method": method, "strategy": strategy, "alpha": alpha,
                            **measured(model.fit(train).rank(test))})  # fmt: skip
    return {"figures": figures}


def made_up(seed, n_grades):
    """Return lists with biased labels instead of real data."""
    data = make_ranking(n_queries=40, n_items=30, n_grades=n_grades, label_bias=0.7, noise=0.3,
                        random_state=seed)  # fmt: skip
    return query_train_test_split(data, test_size=0.3, random_state=seed)


def mslr(given):
    """Run the sample of MSLR without the feature of the groups, halves by seed."""

    def make(seed):
        if given.quick:
            return made_up(seed, 5)
        parts = [load_mslr(part=part) for part in ("train", "test")]
        groups = [part.attribute("quality") for part in parts]
        data = as_ranking_data(
            np.delete(np.concatenate([part.X for part in parts]), 132, axis=1),
            np.concatenate([part.y for part in parts]),
            qid=np.concatenate([np.asarray(p.qids)[p.query_of_rows()] for p in parts]),
            sensitive_features={
                "quality": np.concatenate([np.array(g.categories)[g.codes] for g in groups])
            },
        )
        return query_train_test_split(data, test_size=0.5, random_state=seed)

    return study(given, make, TREES["mslr"])


def german(given, attribute):
    """Run German credit: 1,000 lists of 50 people, a quarter for test, people shared."""

    def make(seed):
        if given.quick:
            return made_up(seed, 2)
        sides = make_german_lists(1000, sensitive=attribute, random_state=seed)
        return [replace(side, sensitive={attribute: side.sensitive[attribute]}) for side in sides]

    return study(given, make, TREES["german"])


def german_sex(given):
    return german(given, "sex")


def german_age(given):
    return german(given, "age_35")


def verdicts(found, expected):
    """Return the claim of the abstract, and what our figures say, per data set."""
    text = "more effective / less fair than fairness-oriented learners, %"
    published = f"{expected['effectiveness']} / {expected['unfairness']}"
    reason = "only abstract and code were available, not the tables; HMDA is not available"
    table = []
    for part, tables in found.items():
        rows = tables["figures"]
        plain = [v.values(rows, name, method="LambdaMART") for name in METRICS]
        for strategy in STRATEGIES:
            cells = []
            for alpha in sorted({row["alpha"] for row in rows if row["alpha"] < 1}, reverse=True):
                mine = [v.values(rows, name, method="LambdaFair", strategy=strategy, alpha=alpha)
                        for name in METRICS]  # fmt: skip
                change = " / ".join(v.written(m - p, 1) for m, p in zip(mine, plain, strict=True))
                cells.append(f"alpha {alpha:g}: {change}")
            ours = "NDCG@15 / rND@15 minus LambdaMART: " + "; ".join(cells)
            table.append(
                v.claim(
                    f"{SETS[part]}, {strategy}: {text}", published, ours, v.NOT_TESTABLE, reason
                )
            )
    return table


def pictures(found):
    """Draw NDCG against rND of LambdaFair, equirank and random order."""
    drawn = {}
    for part, tables in found.items():
        cells = {}
        for row in tables["figures"]:
            cells.setdefault((row["method"], row["strategy"], row["alpha"]), []).append(row)
        points = [
            {"method": method, "strategy": strategy, "alpha": alpha,
             **charts.estimate("x", "rND@15", v.values(rows, "rnd")),
             **charts.estimate("y", "NDCG@15", v.values(rows, "ndcg"))}
            for (method, strategy, alpha), rows in cells.items()
        ]  # fmt: skip
        drawn[f"tradeoff_{part}"] = charts.points(
            points, "rND@15", "NDCG@15", "strategy", f"{SETS[part]}: NDCG against rND",
            facet="method",
        )  # fmt: skip
    return drawn


PARTS = {"mslr": mslr, "german_sex": german_sex, "german_age": german_age}
STUDY = v.Study(__file__, __doc__, PARTS, verdicts, pictures, seeds=4, needs_data=True)


def main(argv=None):
    return v.main(STUDY, argv)


if __name__ == "__main__":
    main()
