"""Fair LambdaMART against noise and random mixtures: thirty fresh halves of MSLR and of MQ2008.

A fair ranker is of use only if it is fairer, at equal NDCG, than what needs no training for
fairness: plain scores with noise, and plain rankings of which a share of the lists is random. Both
are lines in the plane of NDCG and rND. This study fits every strategy, LambdaFair's objective and
means of 8 models at several alphas, and states how far below each line they are, on average over
the halves. The mixture line is exact: it is straight, from the plain ranker to a random order.

Intervals are of Student's t over the halves. Halves of the same lists overlap, so these are too
narrow; the second, by Nadeau and Bengio (2003), allows for it and is too wide rather than too
narrow. Needs EQUIRANK_DATA. A run appends one line per half to its file and continues there.

Run: python benchmarks/fair_lines.py run halves.jsonl [--sets mslr mq2008] [--halves 30] [--jobs 1]
     python benchmarks/fair_lines.py show [halves.jsonl]
     python benchmarks/fair_lines.py keep halves.jsonl  # store it, write docs/results/lambdamart.md
"""

import argparse
import gzip
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from fair_lambdamart import joined, with_noise
from scipy.stats import t as student

from equirank import evaluate, query_train_test_split
from equirank.core.attribute import Attribute
from equirank.core.ranking import Ranking
from equirank.datasets import load_mq2008, load_mslr
from equirank.rankers import FairLambdaMART
from equirank.rerankers import DetGreedy

STORED = Path(__file__).with_name("fair_lines.jsonl.gz")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "lambdamart.md"
METRICS = ["NDCG@15", "RND(step=5)@15", "NDCG@50", "RND(step=5)@50"]
ALPHAS = (0.9, 0.5, 0.1)
NOISE = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
N_DRAWS = 5
FIRST_SEED = 9000  # no other benchmark uses these halves
OPTIONS = {"step": 5, "cutoff": 50, "truncation": 50, "n_estimators": 40, "num_leaves": 15}


def mslr(seed):
    """Return halves of the 86 lists of the sample; groups are pages of low and high quality."""
    data = joined(*(load_mslr(part=part) for part in ("train", "test")))
    return query_train_test_split(data, test_size=0.5, random_state=FIRST_SEED + seed)


def mq2008(seed):
    """Return halves of all lists of MQ2008; groups by feature 39 at its median in training."""
    folds = load_mq2008(folds=True)
    data = replace(folds[0].test, sensitive={}, ids=None)
    for fold in folds[1:]:
        data = joined(data, replace(fold.test, sensitive={}, ids=None))
    sides = query_train_test_split(data, test_size=0.5, random_state=FIRST_SEED + seed)
    middle = np.median(sides[0].X[:, 38])
    return [
        replace(
            side,
            sensitive={
                "score": Attribute((side.X[:, 38] > middle).astype(np.int32), ("low", "high"))
            },
        )
        for side in sides
    ]


SETS = {"mslr": mslr, "mq2008": mq2008}


def measured(ranking):
    found = evaluate(ranking, metrics=METRICS, n_boot=0)
    return [round(100 * found[metric], 4) for metric in METRICS]


def drawn(test, change):
    """Return the mean metrics over draws of scores."""
    rows = [measured(Ranking.from_scores(test, change())) for _ in range(N_DRAWS)]
    return [round(value, 4) for value in np.mean(rows, axis=0)]


def models(seed, jobs):
    """Yield the name and the ranker of every model."""
    options = OPTIONS | {"n_jobs": jobs, "random_state": seed}
    yield "plain", FairLambdaMART(1.0, **options)
    yield "mean of 8, plain", FairLambdaMART(1.0, n_models=8, **options)
    for alpha in ALPHAS:
        yield f"swap {alpha:g}", FairLambdaMART(alpha, **options)
        yield f"mean of 8, swap {alpha:g}", FairLambdaMART(alpha, n_models=8, **options)
    for strategy in ("fair_first", "relevance_first"):
        for alpha in ALPHAS[1:]:
            yield f"{strategy} {alpha:g}", FairLambdaMART(alpha, strategy, **options)
    for strategy in ("swap", "fair_first", "relevance_first"):
        for alpha in ALPHAS[1:]:
            rival = FairLambdaMART.lambdafair(alpha, strategy, learning_rate=0.1, **options)
            yield f"LambdaFair, {strategy} {alpha:g}", rival


def one_half(make, seed, jobs):
    """Return the four metrics of every method, and of fitted ones rND@50 in training."""
    train, test = make(seed)
    rng = np.random.default_rng([FIRST_SEED, seed])
    found = {"random order": drawn(test, lambda: rng.random(test.n_rows))}
    for name, model in models(seed, jobs):
        found[name] = [*measured(model.fit(train).rank(test)), measured(model.rank(train))[3]]
        if name.endswith("plain"):
            score = model.predict(test)
            for number, size in enumerate(NOISE):
                rng = np.random.default_rng([FIRST_SEED, seed, 1 + number])
                found[f"{name}, noise {size:g}"] = drawn(
                    test, partial(with_noise, test, score, size, rng)
                )
        if name == "plain":
            given = Ranking.from_scores(replace(test, score=None), score)
            found["plain, then DetGreedy (uses groups)"] = measured(DetGreedy()(given))
    return found


def run(file, names, halves, jobs):
    """Append the halves that the file lacks."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    done = {(row["set"], row["half"]) for row in map(json.loads, lines)}
    for half in range(halves):
        for name in names:
            if (name, half) not in done:
                row = {"set": name, "half": half, "values": one_half(SETS[name], half, jobs)}
                with file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")


class Line:
    """A line of references: mean points over halves, from the plain ranker to a random order.

    ``below(rows)`` returns, per half, how far rows of (NDCG, rND) are below the line at equal NDCG.
    The mean over the halves is the distance of the mean point from the line of means: at the place
    of the line with the NDCG of the mean point, the difference in rND of each half is corrected by
    its difference in NDCG times the slope of the line there. A mean NDCG above that of the plain
    ranker is compared with the plain ranker.
    """

    def __init__(self, steps):
        self.steps = np.array(steps)  # places x halves x (NDCG, rND)
        self.means = self.steps.mean(axis=1)

    def below(self, rows):
        good, means = rows[:, 0].mean(), self.means
        at = int(np.clip(np.searchsorted(-means[:, 0], -good) - 1, 0, len(means) - 2))
        (high, unfair), (low, fair) = means[at], means[at + 1]
        part = float(np.clip((high - good) / (high - low), 0.0, 1.0))
        place = (1.0 - part) * self.steps[at] + part * self.steps[at + 1]
        slope = (unfair - fair) / (high - low) if good <= self.means[0, 0] else 0.0
        return rows[:, 1] - place[:, 1] - slope * (rows[:, 0] - place[:, 0])


def halfwidths(values):
    """Return half the width of the 95% interval of Student's t, and of Nadeau and Bengio's."""
    n = len(values)
    spread = student.ppf(0.975, n - 1) * np.std(values, ddof=1)
    return spread * np.sqrt(1.0 / n), spread * np.sqrt(1.0 / n + 1.0)  # test over training: 1


def lines_of(values, name):
    """Return the noise line and the mixture line of one plain ranker."""
    ends = values[name], values["random order"]
    noise = [values[f"{name}, noise {size:g}"] for size in NOISE]
    return {"noise": Line([ends[0], *noise, ends[1]]), "mixture": Line(list(ends))}


def summary(rows, good=0, unfair=3):
    """Return one row per method: means, difference to plain, and distance from both lines."""
    rows = sorted(rows, key=lambda row: row["half"])
    every = {
        name: np.array([row["values"][name] for row in rows])
        for name in rows[0]["values"]
    }  # fmt: skip
    pairs = {name: table[:, [good, unfair]] for name, table in every.items()}
    lines = {name: lines_of(pairs, name) for name in ("plain", "mean of 8, plain")}
    found = []
    for name, mine in pairs.items():
        change = mine[:, 1] - pairs["plain"][:, 1]
        row = {"method": name, "ndcg": mine[:, 0].mean(), "rnd": mine[:, 1].mean()}
        row |= {"trained": every[name][:, 4].mean() if every[name].shape[1] > 4 else None}
        row |= {"change": change.mean(), "halfwidth": halfwidths(change)[0]}
        for plain, kinds in lines.items():
            for kind, line in kinds.items():
                away = line.below(mine)
                row[f"{kind} of {plain}"] = (away.mean(), *halfwidths(away))
        found.append(row)
    return found


def read(file=STORED):
    """Return the halves of a run, by default of the stored one."""
    data = file.read_bytes()
    text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def own_plain(method):
    """Return the plain ranker whose lines a method is compared with."""
    return "mean of 8, plain" if method.startswith("mean of 8") else "plain"


def table(rows, name, good=0, unfair=3):
    """Return the table of a data set in Markdown."""
    rows = [row for row in rows if row["set"] == name]
    heads = [METRICS[good], METRICS[unfair].replace("RND(step=5)", "rND"), "rND in training",
             "rND minus plain", "below the noise line", "below the mixture line"]  # fmt: skip
    lines = ["| method | " + " | ".join(heads) + " |", "|" + " --- |" * 7]
    for row in summary(rows, good, unfair):
        method, on_line = row["method"], "noise" in row["method"]
        cells = [
            f"{row['ndcg']:.1f}",
            f"{row['rnd']:.1f}",
            "" if row["trained"] is None else f"{row['trained']:.1f}",
            f"{row['change']:+.2f} ±{row['halfwidth']:.2f}" if method != "plain" else "",
        ]
        for kind in ("noise", "mixture"):
            end = method == "random order" or method.endswith("plain")
            mean, half, wide = row[f"{kind} of {own_plain(method)}"]
            cells.append(
                "" if end or (kind == "noise" and on_line)
                else f"{-mean:+.2f} ±{half:.2f} (±{wide:.2f})"
            )  # fmt: skip
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def acceptance(rows, name):
    """Return sentences: at the largest alpha that takes a tenth off rND, is it below both lines?"""
    rows = [row for row in rows if row["set"] == name]
    found = {row["method"]: row for row in summary(rows)}
    said = []
    for prefix, plain in (("", "plain"), ("mean of 8, ", "mean of 8, plain")):
        models = [(alpha, found[f"{prefix}swap {alpha:g}"]) for alpha in ALPHAS]
        words = "the default (`swap`, one model)" if not prefix else "the mean of 8 (`swap`)"
        fit = [(a, row) for a, row in models if row["rnd"] <= 0.9 * found[plain]["rnd"]]
        if not fit:
            best = min(row["rnd"] for _, row in models)
            said.append(
                f"{words} takes a tenth off rND@50 at no alpha: at most "
                f"{1 - best / found[plain]['rnd']:.1%}."
            )
            continue
        alpha, row = fit[0]
        parts, holds = [], True
        for kind in ("noise", "mixture"):
            mean, half, wide = row[f"{kind} of {plain}"]
            holds &= -mean > half
            parts.append(f"{-mean:.2f} ±{half:.2f} (±{wide:.2f}) below the {kind} line")
        verdict = "below both" if holds else "not clearly below both"
        said.append(
            f"{words} takes {1 - row['rnd'] / found[plain]['rnd']:.1%} off rND@50 at alpha "
            f"{alpha:g} and is {verdict}: {' and '.join(parts)}."
        )
    return said


def on_page(rows, name):
    """Return the text between the marks of a data set."""
    count = len([row for row in rows if row["set"] == name])
    bullets = "\n".join(f"- {text[0].upper()}{text[1:]}" for text in acceptance(rows, name))
    return f"{count} halves.\n\n{table(rows, name)}\n\n{bullets}"


def inserted(page, rows):
    """Return the page with the text between its marks replaced."""
    for name in SETS:
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, rest = page.split(begin)
        _, after = rest.split(end)
        page = f"{before}{begin}\n\n{on_page(rows, name)}\n\n{end}{after}"
    return page


def keep(file):
    """Store a run in the repository, and write the page."""
    rows = sorted(read(file), key=lambda row: (row["set"], row["half"]))
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    STORED.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    PAGE.write_text(inserted(PAGE.read_text("utf-8"), rows), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("do", choices=("run", "show", "keep"))
    parser.add_argument("file", type=Path, nargs="?", default=STORED)
    parser.add_argument("--sets", nargs="*", choices=list(SETS), default=list(SETS))
    parser.add_argument("--halves", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    if args.do == "run":
        run(args.file, args.sets, args.halves, args.jobs)
    elif args.do == "keep":
        keep(args.file)
    else:
        for name in args.sets:
            print(f"\n## {name}\n\n{on_page(read(args.file), name)}")


if __name__ == "__main__":
    main()
