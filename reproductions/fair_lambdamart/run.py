"""Fair LambdaMART: three strategies that trade NDCG against rND, on MSLR and German credit.

    python reproductions/fair_lambdamart/run.py --quick
    EQUIRANK_DATA=... python reproductions/fair_lambdamart/run.py

Prefixes of 5, 10, ... items, cutoffs 15 and 50, alpha from 0.9 to 0.1. Each seed draws
its own lists or split. MSLR is a sample of 86 queries, so it is substitute data. German credit is
run as published, with the same people in train and test, and with people split.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import charts
import verdicts as v

from equirank import as_ranking_data, evaluate, query_train_test_split
from equirank.datasets import load_mslr, make_german_lists, make_ranking
from equirank.rankers import FairLambdaMART

STRATEGIES = ("swap", "fair_first", "relevance_first")
ALPHAS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
SOME_ALPHAS = (0.9, 0.5, 0.1)
METRICS = {"ndcg15": "NDCG@15", "rnd15": "RND(step=5)@15",
           "ndcg50": "NDCG@50", "rnd50": "RND(step=5)@50"}  # fmt: skip
SETS = {"mslr": "MSLR", "german_sex": "German, sex", "german_age": "German, age"}
SAMPLE = "sample of 86 queries"


def ranker(alpha, strategy, seed, trees, given):
    """Return one model."""
    return FairLambdaMART(
        alpha=alpha, strategy=strategy, step=5, cutoff=50, truncation=50,
        n_estimators=20 if given.quick else trees, learning_rate=0.1, num_leaves=31,
        n_jobs=given.n_jobs, random_state=seed,
    )  # fmt: skip


def measured(model, data, trees=None):
    """Return the four metrics, x 100, optionally of the first trees only."""
    if trees is None:
        ranking = model.rank(data)
    else:
        score = model.booster_.predict(data.X, num_iteration=trees, raw_score=True)
        ranking = replace(data, score=score).ranking()
    found = evaluate(ranking, list(METRICS.values()), n_boot=0)
    return {name: 100 * found[metric] for name, metric in METRICS.items()}


def study(given, make, protocols, trees=250):
    """Fit plain LambdaMART and all strategies at all alphas, with curves for the best of each."""
    figures, curves = [], []
    for protocol, alphas in protocols.items():
        alphas = (0.5, 0.1) if given.quick else alphas
        for seed in range(given.seeds):
            train, test = make(seed, protocol)
            cases = [("none", 1.0), *((s, a) for s in STRATEGIES for a in alphas)]
            best = {}
            for strategy, alpha in v.progress(cases, f"{protocol}, seed {seed}"):
                kind = "swap" if strategy == "none" else strategy
                model = ranker(alpha, kind, seed, trees, given).fit(train)
                row = measured(model, test)
                figures.append({"protocol": protocol, "seed": seed, "strategy": strategy,
                                "alpha": alpha, **row})  # fmt: skip
                distance = 100 - row["ndcg50"] + row["rnd50"]
                if strategy not in best or distance < best[strategy][0]:
                    best[strategy] = distance, alpha, model
            if seed == 0:
                curves += drawn_curves(best, test, protocol)
    return {"figures": figures, "curves": curves}


def drawn_curves(best, test, protocol):
    """Return the four metrics by number of trees, for the best alpha of each strategy."""
    rows = []
    for strategy, (_, alpha, model) in best.items():
        n_trees = model.booster_.num_trees()
        for trees in sorted({1, *range(10, n_trees + 1, 10), n_trees}):
            for name, value in measured(model, test, trees).items():
                rows.append({"protocol": protocol, "strategy": f"{strategy}, alpha {alpha:g}",
                             "trees": trees, "metric": name, "value": value})  # fmt: skip
    return rows


def made_up(seed, n_grades):
    """Return lists with biased labels instead of real data."""
    data = make_ranking(n_queries=60, n_items=50, n_grades=n_grades, label_bias=0.7, noise=0.3,
                        random_state=seed)  # fmt: skip
    return query_train_test_split(data, test_size=0.3, random_state=seed)


def mslr(given):
    """Run MSLR: pages of low and high quality; the halves of the sample depend on the seed."""

    def make(seed, protocol):
        if given.quick:
            return made_up(seed, 5)
        parts = [load_mslr(part=part) for part in ("train", "test")]
        X, y, quality, qid = (np.concatenate(c) for c in zip(*map(_columns, parts), strict=True))
        data = as_ranking_data(X, y, qid=qid, sensitive_features={"quality": quality})
        return query_train_test_split(data, test_size=0.5, random_state=seed)

    return study(given, make, {"as published": ALPHAS}, trees=50)


def _columns(data):
    group = data.attribute("quality")
    words = np.array(group.categories)[group.codes]
    return data.X, data.y, words, np.asarray(data.qids)[data.query_of_rows()]


def german(given, attribute):
    """Run German credit: 5,000 lists of 50 people, one in five creditworthy, a quarter for test."""

    def make(seed, protocol):
        if given.quick:
            return made_up(seed, 2)
        split = protocol == "people split"
        return make_german_lists(5000, split_people=split, sensitive=attribute, random_state=seed)

    return study(given, make, {"as published": ALPHAS, "people split": SOME_ALPHAS})


def german_sex(given):
    return german(given, "sex")


def german_age(given):
    return german(given, "age_35")


def verdicts(found, expected):
    """Return the verdicts on the published table, then on the orderings."""
    table = []
    for part, tables in found.items():
        compared = list(figures(tables["figures"], expected, part))
        ordered = list(orderings(tables["figures"], expected, part))
        if part == "mslr":
            compared = [v.on_stand_in(row, SAMPLE, seen=False) for row in compared]
            ordered = [v.on_stand_in(row, SAMPLE) for row in ordered]
        table += compared + ordered
    return table


def figures(rows, expected, part):
    """Return one row per strategy and alpha; it is confirmed if all four values are."""
    for strategy, lines in expected[part].items():
        for alpha, published in lines.items():
            mine = v.rows_where(
                rows, protocol="as published", strategy=strategy, alpha=float(alpha)
            )
            if not mine:
                continue
            ours = [v.values(mine, name) for name in METRICS]
            verdict = v.altogether(
                v.figure(o, p, expected["tolerance"]) for o, p in zip(ours, published, strict=True)
            )
            yield v.claim(
                f"{SETS[part]}, {strategy}, alpha {alpha}: NDCG@15 / rND@15 / NDCG@50 / rND@50",
                " / ".join(f"{p:.2f}" for p in published),
                " / ".join(v.written(o, 2) for o in ours), verdict,
            )  # fmt: skip


class Figures:
    """The metrics of one protocol, by strategy and alpha, one value per seed."""

    def __init__(self, rows, protocol):
        self.rows = v.rows_where(rows, protocol=protocol)
        self.alphas = sorted({row["alpha"] for row in self.rows if row["alpha"] < 1})

    def of(self, name, strategy, alpha):
        return v.values(self.rows, name, strategy=strategy, alpha=alpha)

    def below_plain(self, strategy):
        for name in ("rnd15", "rnd50"):
            plain = self.of(name, "none", 1.0)
            yield from (v.ordering(plain - self.of(name, strategy, a)) for a in self.alphas)

    def best(self, strategy, names, alphas=None):
        """Check that it has the lowest rND, or the highest NDCG, of all strategies."""
        for name in names:
            sign = -1 if name.startswith("rnd") else 1
            for alpha in alphas or self.alphas:
                mine = self.of(name, strategy, alpha)
                for other in set(STRATEGIES) - {strategy}:
                    yield v.ordering(sign * (mine - self.of(name, other, alpha)))

    def keeps(self, strategy, kept):
        for name in ("ndcg15", "ndcg50"):
            for alpha in self.alphas:
                ok = self.of(name, strategy, alpha).mean() >= kept
                yield v.CONFIRMED if ok else v.CONTRADICTED


def orderings(rows, expected, part):
    """Check the orderings over all alphas and both cutoffs, with people split in the note."""

    def judged(text, cases):
        found = list(cases(Figures(rows, "as published")))
        split, note = Figures(rows, "people split"), ""
        if split.rows:
            honest = list(cases(split))
            note = f"people split: {v.altogether(honest)} ({v.counted(honest)})"
        return v.claim(f"{SETS[part]}: {text}", "yes", v.counted(found), v.altogether(found), note)

    for strategy in STRATEGIES:
        text = f"{strategy} has a lower rND than LambdaMART at every alpha < 1"
        yield judged(text, lambda f, s=strategy: f.below_plain(s))
    if part == "mslr":
        rnd = ("rnd15", "rnd50")
        yield judged("swap is the fairest strategy at every alpha", lambda f: f.best("swap", rnd))
        text = "relevance_first is the most relevant strategy (without NDCG@15 at alpha .6)"
        yield judged(text, lambda f: [
            *f.best("relevance_first", ["ndcg50"]),
            *f.best("relevance_first", ["ndcg15"], [a for a in f.alphas if a != 0.6]),
        ])  # fmt: skip
        return
    yield judged(
        "fair_first is the fairest strategy at every alpha <= .7",
        lambda f: f.best("fair_first", ("rnd15", "rnd50"), [a for a in f.alphas if a <= 0.7]),
    )
    yield judged("relevance_first keeps NDCG at 100",
                 lambda f: f.keeps("relevance_first", expected["kept"]))  # fmt: skip


def pictures(found):
    """Draw the trade-offs at cutoff 50 and the curves over trees."""
    drawn = {}
    for part, tables in found.items():
        name, points, cells = SETS[part], [], {}
        for row in tables["figures"]:
            cells.setdefault((row["protocol"], row["strategy"], row["alpha"]), []).append(row)
        for (protocol, strategy, alpha), rows in cells.items():
            points.append(
                {"people": protocol, "strategy": strategy, "alpha": alpha}
                | charts.estimate("x", "rND@50", v.values(rows, "rnd50"))
                | charts.estimate("y", "NDCG@50", v.values(rows, "ndcg50"))
            )
        drawn[f"tradeoff_{part}"] = charts.points(
            points, "rND@50", "NDCG@50", "strategy", f"{name}: NDCG against rND", facet="people"
        )
        rows = v.rows_where(tables["curves"], protocol="as published")
        drawn[f"trees_{part}"] = charts.lines(
            rows, "trees", "value", "strategy", f"{name}: by trees", facet="metric", shared=False
        )
    return drawn


PARTS = {"mslr": mslr, "german_sex": german_sex, "german_age": german_age}
STUDY = v.Study(__file__, __doc__, PARTS, verdicts, pictures, seeds=4, needs_data=True)


def main(argv=None):
    return v.main(STUDY, argv)


if __name__ == "__main__":
    main()
