"""Training of Fair-PG-Rank on samples of the queries, by sampler, sample size and epoch.

    python reproductions/sampling/run.py --quick
    EQUIRANK_DATA=... python reproductions/sampling/run.py

The published data may not be redistributed; synthetic data of the same shape and fold 1 of MQ2008
are used instead. Every value is compared with the score of the untrained model on the same test
lists: a model with the same score has not learned.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import charts
import verdicts as v

from equirank import evaluate
from equirank.datasets import load_mq2008, make_yahoo_like
from equirank.preprocess import KMedoidsSampler, LeverageSampler, RowNormSampler, UniformSampler
from equirank.rankers import FairPGRank

SAMPLERS = {"uniform": UniformSampler, "row_norm": RowNormSampler, "leverage": LeverageSampler,
            "k_medoids": KMedoidsSampler}  # fmt: skip
METRICS = {"ndcg": "NDCG", "dcg": "DCG", "average_rank": "AverageRank", "err": "ERR"}
EPOCHS = (0, 5, 10, 15, 20)
SIZES = (300, 500, 1000, 2500, 5000)
#: The published settings: linear model, Adam at 0.001, entropy 1, ten draws, one list per step.
PUBLISHED = {"learning_rate": 0.001, "entropy": 1.0, "n_samples": 10, "gradient": "reinforce"}


def scores(model, test):
    """Return the four metrics of a model's mean ranking on the test lists."""
    found = evaluate(model.rank(test), list(METRICS.values()), n_boot=0)
    return {name: found[metric] for name, metric in METRICS.items()}


def curve(train, test, seed):
    """Return the metrics after each number of epochs, and the time of the longest training.

    Five epochs are the beginning of a training of twenty, so each number is a separate fit.
    """
    rows, taken = [], 0.0
    for epochs in EPOCHS:
        begin = time.perf_counter()
        model = FairPGRank(n_epochs=epochs, random_state=seed, **PUBLISHED).fit(train)
        taken = time.perf_counter() - begin
        rows.append({"epoch": epochs, **scores(model, test)})
    return rows, taken


def study(given, train, test, sizes):
    """Run all samplers and sizes on one data set: one row per sample, seed and epoch."""
    rows = []
    cases = [("full", train.n_queries), *((name, size) for name in SAMPLERS for size in sizes)]
    steps = [(seed, *case) for seed in range(given.seeds) for case in cases]
    for seed, sampler, size in v.progress(steps, "samples"):
        begin = time.perf_counter()
        part = train
        if sampler != "full":
            part = SAMPLERS[sampler](size, random_state=seed).sample(train).data
        drawing = time.perf_counter() - begin
        found, taken = curve(part, test, seed)
        for row in found:
            rows.append({"sampler": sampler, "size": size, "seed": seed, **row,
                         "sampling_s": drawing, "training_s": taken})  # fmt: skip
    return {"results": rows}


def yahoo_like(given):
    """Run the data of the published shape."""
    if given.quick:
        small = {"n_features": 40}
        train = make_yahoo_like(n_queries=300, n_rows=6000, **small)
        test = make_yahoo_like(n_queries=200, n_rows=4000, random_state=1, **small)
        return study(given, train, test, (30, 100))
    test = make_yahoo_like(n_queries=6983, n_rows=165660, random_state=1)
    return study(given, make_yahoo_like(), test, SIZES)


def mq2008(given):
    """Run fold 1 of MQ2008, in the full run only."""
    if given.quick:
        return {"results": []}
    train, _, test = load_mq2008(folds=True)[0]
    return study(given, train, test, (50, 100, 250))


def verdicts(found, expected):
    """Return one row per claim and sample, all of them on substitute data."""
    table = []
    for part, tables in found.items():
        if tables["results"]:
            rows = part_verdicts(tables["results"], expected)
            table += [row | {"claim": f"{part}: {row['claim']}"} for row in rows]
    return table


def part_verdicts(rows, expected):
    """Compare training on all data and on samples with the published values."""

    def ndcg(sampler, size, epoch):
        return v.values(rows, "ndcg", sampler=sampler, size=size, epoch=epoch)

    whole, last = max(row["size"] for row in rows), EPOCHS[-1]
    base, full = ndcg("full", whole, 0), ndcg("full", whole, last)
    taken = v.values(rows, "training_s", sampler="full", epoch=last)
    published = expected["full"]["ndcg"]
    yield v.claim("untrained NDCG", f"{published[0]:.4f}", v.written(base, 4), v.NOT_TESTABLE,
                  "other data")  # fmt: skip
    learned = full.mean() > base.mean() + expected["learned"]
    yield v.claim(f"all {whole} lists, trained NDCG", f"{published[-1]:.4f}", v.written(full, 4),
                  v.NOT_TESTABLE, f"other data: there it {_does(learned)}")  # fmt: skip
    yield v.claim("seconds of training on all lists", f"{expected['seconds']['full']:,}",
                  v.written(taken, 1), v.NOT_TESTABLE, "other data, another machine")  # fmt: skip
    for sampler in SAMPLERS:
        sizes = sorted({row["size"] for row in v.rows_where(rows, sampler=sampler)})
        for size in sizes:
            values = ndcg(sampler, size, last)
            learned = bool((values > base.mean() + expected["learned"]).all())
            close = values.mean() >= full.mean() - expected["close_to_full"]
            printed = "untrained, read as equal to full training"
            if size in SIZES:
                printed = f"{expected['sampled_ndcg'][sampler][SIZES.index(size)]:.4f}, {printed}"
            note = f"other data: there it {_does(learned)}, "
            note += "as good as all data" if close else "short of all data"
            yield v.claim(f"{sampler}, {size} of {whole} lists", printed, v.written(values, 4),
                          v.NOT_TESTABLE, note)  # fmt: skip


def _does(learned):
    return "learns" if learned else "does not learn"


def pictures(found):
    """Draw NDCG over epochs, one line per size and one chart per data set."""
    drawn = {}
    for part, tables in found.items():
        rows = v.rows_where(tables["results"], seed=0)
        data = [{"epochs": row["epoch"], "NDCG": row["ndcg"], "sampler": row["sampler"],
                 "lists": f"{row['size']:6d}"} for row in rows]  # fmt: skip
        if data:
            title = f"Training on a sample, {part} (epoch 0: untrained)"
            drawn[f"curves_{part}"] = charts.lines(
                data, "epochs", "NDCG", "lists", title, facet="sampler"
            )
    return drawn


PARTS = {"yahoo_like": yahoo_like, "mq2008": mq2008}
STUDY = v.Study(__file__, __doc__, PARTS, verdicts, pictures, seeds=3, needs_data=True)


def main(argv=None):
    return v.main(STUDY, argv)


if __name__ == "__main__":
    main()
