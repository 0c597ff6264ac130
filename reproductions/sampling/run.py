"""Does Fair-PG-Rank learn from a sample of the queries? Four samplers, sizes, epoch by epoch.

    python reproductions/sampling/run.py --quick                     # made-up data, a minute
    python reproductions/sampling/run.py                             # the Yahoo-shaped set
    EQUIRANK_DATA=... python reproductions/sampling/run.py --mq2008  # and MQ2008, fold 1

Writes results.csv, table.md and a picture of the curves into the folder given by --out. Every
figure stands beside the score of the untrained model on the same test lists: a model that did not
leave it has not learned.
"""

import argparse
import csv
import time
import tomllib
from pathlib import Path

import numpy as np

from equirank import evaluate
from equirank.datasets import load_mq2008, load_yahoo_like
from equirank.plots import save_chart
from equirank.preprocess import (
    KMedoidsSampler,
    LeverageSampler,
    RowNormSampler,
    UniformSampler,
)
from equirank.rankers import FairPGRank

HERE = Path(__file__).parent
SAMPLERS = {
    "uniform": UniformSampler,
    "row_norm": RowNormSampler,
    "leverage": LeverageSampler,
    "k_medoids": KMedoidsSampler,
}
METRICS = {"ndcg": "NDCG", "dcg": "DCG", "average_rank": "AverageRank", "err": "ERR"}
EPOCHS = (0, 5, 10, 15, 20)
#: The published settings: linear model, Adam at 0.001, entropy 1, ten draws, one list per step.
PUBLISHED = {"learning_rate": 0.001, "entropy": 1.0, "n_samples": 10, "gradient": "reinforce"}


def scores(model, test):
    """The four metrics of a model's mean ranking on the test lists."""
    found = evaluate(model.rank(test), list(METRICS.values()), n_boot=0).summary()
    return dict(zip(METRICS, (float(v) for v in found["value"]), strict=True))


def curve(train, test, seed):
    """The metrics after each number of epochs, and the time the longest training took.

    A training of five epochs is the beginning of one of twenty, so that each is a fit of its own.
    """
    rows, taken = [], 0.0
    for epochs in EPOCHS:
        begin = time.perf_counter()
        model = FairPGRank(n_epochs=epochs, random_state=seed, **PUBLISHED).fit(train)
        taken = time.perf_counter() - begin
        rows.append({"epoch": epochs, **scores(model, test)})
    return rows, taken


def study(name, train, test, sizes, seeds, show):
    """All samplers and sizes on one data set: one row per metric figure."""
    rows = []
    for seed in range(seeds):
        for sampler in ("full", *SAMPLERS):
            for size in sizes if sampler != "full" else (train.n_queries,):
                begin = time.perf_counter()
                part = train
                if sampler != "full":
                    part = SAMPLERS[sampler](size, random_state=seed).sample(train).data
                drawing = time.perf_counter() - begin
                found, taken = curve(part, test, seed)
                for row in found:
                    rows.append({"data": name, "sampler": sampler, "size": size, "seed": seed,
                                 **row, "sampling_s": drawing, "training_s": taken})  # fmt: skip
                before, after = found[0]["ndcg"], found[-1]["ndcg"]
                show(f"{name} {sampler:9} {size:6} seed {seed}: NDCG {before:.4f} untrained, "
                     f"{after:.4f} trained, {taken:.1f} s")  # fmt: skip
    return rows


def mean(rows, metric, **wanted):
    """The mean of a metric over seeds, and the seeds' values."""
    values = [r[metric] for r in rows if all(r[key] == v for key, v in wanted.items())]
    return float(np.mean(values)), values


def verdicts(rows, name, expected):
    """One row per claim: published, ours, verdict."""
    sizes = sorted({r["size"] for r in rows if r["sampler"] != "full"})
    whole = max(r["size"] for r in rows)
    last, base = EPOCHS[-1], mean(rows, "ndcg", sampler="full", epoch=0)[0]
    full = mean(rows, "ndcg", sampler="full", epoch=last)[0]
    table = [
        ("untrained NDCG", f"{expected['untrained_ndcg']:.4f} (Yahoo)", f"{base:.4f}",
         "not testable here: the stand-in is another set"),
        ("full data, trained NDCG", f"{expected['full_ndcg']:.4f} (Yahoo)", f"{full:.4f}",
         "not testable here; on the stand-in training "
         + ("helps" if full > base + 0.01 else "does not help")),
    ]  # fmt: skip
    for sampler in SAMPLERS:
        for size in sizes:
            value, each = mean(rows, "ndcg", sampler=sampler, size=size, epoch=last)
            learned = all(v > base + 0.005 for v in each)
            close = value >= full - expected["close_to_full"]
            verdict = "not testable here; on the stand-in "
            verdict += "it learns" if learned else "it does not learn"
            verdict += ", as good as all data" if close else ", short of all data"
            published = f"{expected['sampled_ndcg']:.3f}, untrained, read as equal to full training"
            table.append((f"{sampler}, {size} of {whole}", published, f"{value:.4f}", verdict))
    return [dict(zip(("claim", "published", "ours", "verdict"), row, strict=True)) for row in table]


def picture(rows, name):
    """NDCG over epochs, one line per sampler and size, the untrained score dashed."""
    import altair as alt

    base = mean(rows, "ndcg", sampler="full", epoch=0)[0]
    values = [
        {"epoch": r["epoch"], "NDCG": r["ndcg"], "sampler": r["sampler"], "size": r["size"],
         "untrained": base}
        for r in rows
        if r["seed"] == 0
    ]  # fmt: skip
    lines = (
        alt.Chart()
        .mark_line(point=True)
        .encode(
            x=alt.X("epoch:Q", title="epochs"),
            y=alt.Y("NDCG:Q", title="test NDCG", scale=alt.Scale(zero=False)),
            color=alt.Color("size:O", title="lists"),
        )
    )
    untrained = alt.Chart().mark_rule(strokeDash=[4, 4]).encode(y="mean(untrained):Q")
    return (
        alt.layer(lines, untrained, data=alt.InlineData(values=values))
        .facet(facet=alt.Facet("sampler:N", title=None), columns=3)
        .properties(title=f"Training on a sample, {name} (dashed: untrained)")
    )


def write(out, rows, tables, charts):
    """Write all results; each file under a temporary name first."""
    out.mkdir(parents=True, exist_ok=True)
    work = out / ".results.csv"
    with open(work, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    work.rename(out / "results.csv")
    text = []
    for name, table in tables.items():
        text += [
            f"## {name}",
            "",
            "| claim | published | ours | verdict |",
            "| --- | --- | --- | --- |",
        ]
        text += [
            f"| {r['claim']} | {r['published']} | {r['ours']} | {r['verdict']} |" for r in table
        ]
        text.append("")
    work = out / ".table.md"
    work.write_text("\n".join(text), encoding="utf-8")
    work.rename(out / "table.md")
    for name, chart in charts.items():
        save_chart(chart, out / f"curves_{name}.svg")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--mq2008", action="store_true", help="needs EQUIRANK_DATA")
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("build/reproductions/sampling"))
    given = parser.parse_args(argv)
    expected = tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))
    if given.quick:
        sets = {"quick": (load_yahoo_like(n_queries=300, n_rows=6000, n_features=40),
                          load_yahoo_like(n_queries=200, n_rows=4000, n_features=40,
                                          random_state=1),
                          (30, 100), 1)}  # fmt: skip
    else:
        sets = {"yahoo_like": (load_yahoo_like(),
                               load_yahoo_like(n_queries=6983, n_rows=165660, random_state=1),
                               (300, 500, 1000, 2500, 5000), 3)}  # fmt: skip
        if given.mq2008:
            train, _, test = load_mq2008(folds=True)[0]
            sets["mq2008"] = (train, test, (50, 100, 250), 3)
    rows, tables, charts = [], {}, {}
    for name, (train, test, sizes, seeds) in sets.items():
        found = study(name, train, test, sizes, given.seeds or seeds, print)
        rows += found
        tables[name] = verdicts(found, name, expected)
        charts[name] = picture(found, name)
    write(given.out, rows, tables, charts)
    print(f"results: {given.out / 'results.csv'}, {given.out / 'table.md'}")
    return tables


if __name__ == "__main__":
    main()
