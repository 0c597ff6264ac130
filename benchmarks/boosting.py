"""RankBoost compared with naive pairs, LightGBM and RankLib, its scaling, and RankBoost+.

Prints ratios of times measured in the same run. Parts can be selected:
python benchmarks/boosting.py naive lightgbm linear plus ranklib mq2008
``ranklib`` and ``mq2008`` need EQUIRANK_DATA; RankLib is run if RANKLIB_JAR names its jar.
"""

import gc
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from equirank import Ranking, as_ranking_data
from equirank.metrics import NDCG, ndcg
from equirank.rankers import RankBoost, RankBoostPlus

THREADS = int(os.environ.get("BENCH_THREADS", os.cpu_count() or 1))


def timed(function):
    """Return wall and CPU seconds."""
    gc.collect()
    clock, used = time.perf_counter(), time.process_time()
    function()
    return np.array([time.perf_counter() - clock, time.process_time() - used])


def best(function, repeats=3):
    times = []
    for _ in range(repeats):
        gc.collect()
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def made(n_rows, n_features=50, lists=1, seed=0):
    """Return data with Gaussian features and five grades."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n_rows) + 2), 0, 4)
    return as_ranking_data(X, y, qid=np.sort(rng.integers(0, lists, size=n_rows)))


# naive pairs


def naive_round(X, cuts, a, b, D, features):
    """Evaluate every stump of some features on every pair and return the best ``|r|``."""
    most = (0.0, 0, 0.0)
    for feature in features:
        for cut in cuts[feature]:
            h = (X[:, feature] > cut).astype(np.float64)
            r = (D * (h[a] - h[b])).sum()
            if abs(r) > abs(most[0]):
                most = (r, feature, cut)
    return most


def potential_round(X, cuts, a, b, D):
    """List the pairs, but sum them by item first: each stump is then a sum over items."""
    potential = np.bincount(a, D, len(X)) - np.bincount(b, D, len(X))
    most = (0.0, 0, 0.0)
    for feature in range(X.shape[1]):
        above = X[:, feature][:, None] > cuts[feature][None]
        r = potential @ above
        at = int(np.abs(r).argmax())
        if abs(r[at]) > abs(most[0]):
            most = (r[at], feature, cuts[feature][at])
    h = (X[:, most[1]] > most[2]).astype(np.float64)
    gain = h[a] - h[b]
    alpha = 0.5 * np.log((D[gain > 0].sum() + 1e-7) / (D[gain < 0].sum() + 1e-7))
    D = D * np.exp(-alpha * gain)
    return D / D.sum()


def against_naive_pairs():
    data = made(2000)
    rounds, X = 100, np.asarray(data.X, dtype=np.float64)
    a, b = np.nonzero(data.y[:, None] > data.y[None])
    D = np.full(len(a), 1 / len(a))
    cuts = [np.quantile(X[:, f], np.linspace(0, 1, 256)[1:-1]) for f in range(50)]
    RankBoost(2).fit(data)
    ours = best(lambda: RankBoost(rounds).fit(data), 5)
    tried = best(lambda: naive_round(X, cuts, a, b, D, [0]), 1)
    naive = tried * 50 * rounds
    smart = best(lambda: potential_round(X, cuts, a, b, D), 3) * rounds
    print(f"2,000 items in one list, {len(a):,} pairs, 50 features, {rounds} rounds: {ours:.3f} s")
    print(f"  every stump on every pair (one feature timed, x 50 x {rounds}): {naive / ours:,.0f}x")
    print(f"  pairs listed, but summed by item first: {smart / ours:,.0f}x")


# LightGBM


def against_lightgbm():
    import lightgbm

    data = made(1_000_000, lists=10_000)
    sizes = np.diff(data.offsets)
    options = {"num_leaves": 2, "verbose": -1, "num_threads": THREADS, "max_bin": 255}

    def theirs(objective):
        table = lightgbm.Dataset(data.X, data.y, group=sizes, params=options)
        lightgbm.train({**options, "objective": objective}, table, num_boost_round=100)

    def model():
        return RankBoost(100, n_jobs=THREADS)

    RankBoost(2).fit(data)
    one = as_ranking_data(data.X, data.y)
    runs = {
        "ours": lambda: model().fit(data),
        "one list": lambda: model().fit(one),
        "regression": lambda: theirs("regression"),
        "lambdarank": lambda: theirs("lambdarank"),
    }
    times = {name: [] for name in runs}
    for _ in range(3):  # interleaved, so that other load affects all equally
        for name, run in runs.items():
            times[name].append(timed(run))
    least = {name: np.min(found, axis=0) for name, found in times.items()}
    print(f"1,000,000 x 50, 100 rounds, {THREADS} threads, binning included:")
    for name, (clock, used) in least.items():
        print(f"  {name:10s} {clock:6.2f} s, CPU {used:6.2f} s")
    for ours in ("ours", "one list"):
        for other in ("lambdarank", "regression"):
            clock, used = least[ours] / least[other]
            print(f"  {ours} takes {clock:.2f}x of LightGBM {other} (CPU: {used:.2f}x)")


# size


def linear():
    print("one list, 50 features, one thread: nanoseconds per row, feature and round")
    RankBoost(2).fit(made(1000))
    for n_rows in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        data = made(n_rows)
        few, many = (RankBoost(t, record_errors=False, n_jobs=1) for t in (10, 30))
        short, long = (min(timed(partial(m.fit, data))[1] for _ in range(3)) for m in (few, many))
        counts = np.bincount(data.y.astype(int))
        pairs = (n_rows**2 - (counts.astype(float) ** 2).sum()) / 2
        each = (long - short) / 20 / n_rows / 50 * 1e9
        print(f"  {n_rows:9,d} rows  {each:5.2f} ns  {pairs:.1e} pairs")


# RankBoost+


def plus_pairs():
    rng = np.random.default_rng(0)
    n_rows = 7100
    X = rng.normal(size=(n_rows, 50)).astype(np.float32)
    y = np.clip(np.round(0.4 * X[:, :8].sum(axis=1) + rng.normal(size=n_rows) + 2), 0, 4)
    return as_ranking_data(X, y)


def plus():
    """Print the time of a round with 50 rankers, relative to a NumPy pass over the weights."""
    data = plus_pairs()
    first, second = 50, 70
    RankBoostPlus(3).fit(plus_pairs().select_items(np.arange(300)))
    options = {"record_errors": False, "n_jobs": 1}  # one thread, as NumPy's
    model = RankBoostPlus(second, **options)
    short = min(timed(lambda: RankBoostPlus(first, **options).fit(data))[1] for _ in range(2))
    long = min(timed(lambda: model.fit(data))[1] for _ in range(2))
    a, b = (part.astype(np.int32) for part in np.nonzero(data.y[:, None] > data.y[None]))
    D, h = np.full(len(a), 1 / len(a), dtype=np.float32), np.asarray(data.X)[:, 0] > 0

    def numpy_pass():
        weights = D * np.exp(-0.3 * (h[a].astype(np.float32) - h[b]))
        weights /= weights.sum()

    passed = min(timed(numpy_pass)[1] for _ in range(3))
    each = (long - short) / (second - first)
    used = len(model.rankers_)
    print(f"RankBoost+ on {len(a):,} pairs, rounds {first} to {second}, {used} rankers at the end:")
    print(f"  a round takes {each / passed:.2f}x a NumPy pass over the weights ({passed:.2f} s)")
    code = "import boosting; boosting.plus_memory()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)


def plus_memory():
    """Return the largest memory of a process that fits RankBoost+ (run in a separate process)."""
    data = plus_pairs()
    before = largest_memory()
    RankBoostPlus(55, record_errors=False).fit(data)
    print(
        f"  largest memory of the process {largest_memory():.0f} MB, before the fit {before:.0f} MB"
    )


def largest_memory():
    """Return the largest memory this process has had, in MB (Linux only)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


# RankLib's example, and MQ2008


def lightgbm_example(part):
    folder = Path(os.environ["EQUIRANK_DATA"]) / "ltr" / "lightgbm-lambdarank"
    sizes = np.loadtxt(folder / f"rank.{part}.query", dtype=int)
    rows = (folder / f"rank.{part}").read_text().splitlines()
    X, y = np.zeros((len(rows), 300)), np.zeros(len(rows))
    for i, row in enumerate(rows):
        label, *values = row.split()
        y[i] = float(label)
        for value in values:
            feature, number = value.split(":")
            X[i, int(feature) - 1] = float(number)
    return as_ranking_data(X, y, qid=np.repeat(np.arange(len(sizes)), sizes))


def score(model, data):
    """Return the mean NDCG@10 and its standard error."""
    values = (NDCG @ 10).per_query(Ranking.from_scores(data, model.predict(data))).value
    values = values[~np.isnan(values)]
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def against_ranklib():
    if "EQUIRANK_DATA" not in os.environ:
        print("RankLib: EQUIRANK_DATA is not set")
        return
    train, test = lightgbm_example("train"), lightgbm_example("test")
    RankBoost(2).fit(train)
    print(f"LightGBM's lambdarank example, {len(train)} x 300, 300 rounds:")
    for alpha in ("discrete", "continuous"):  # RankLib's is the continuous one
        model = RankBoost(300, alpha=alpha)
        ours = best(partial(model.fit, train), 5)
        found = f"NDCG@10 train {score(model, train)[0]:.3f}, test %.3f (s.e. %.3f)"
        print(f"  {alpha}: {ours:.2f} s, " + found % score(model, test))
    print(f"  RankLib as recorded: 11.5 s, .794, .768: {11.5 / ours:.0f}x (times of two runs)")
    jar = os.environ.get("RANKLIB_JAR")
    if jar is None:
        print("  RANKLIB_JAR is not set: RankLib is not run")
        return
    from equirank.io import write_letor

    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.txt" for name in ("train", "test")}
        write_letor(train, files["train"])
        write_letor(test, files["test"])
        call = ["java", "-jar", jar, "-train", str(files["train"]), "-test", str(files["test"])]
        call += ["-ranker", "2", "-round", "300", "-metric2t", "NDCG@10"]
        begin = time.perf_counter()
        done = subprocess.run(call, check=True, capture_output=True, text=True)
        theirs = time.perf_counter() - begin
    print("  " + "\n  ".join(line for line in done.stdout.splitlines() if "NDCG@10 on" in line))
    print(f"  RankLib in this run: {theirs:.1f} s, {theirs / ours:.0f}x")


def letor_ndcg(data, scores, k=10):
    """Return NDCG@k as defined by the script of LETOR 4.0, for scores of stored rows.

    Its discount is 1 at the first two positions and 1 / log2(j) afterwards; a list shorter than k,
    or without a relevant item, counts 0.
    """
    discount = 1 / np.log2(np.maximum(2, np.arange(1, k + 1)))
    values = []
    for begin, end in pairwise(data.offsets):
        gain = 2 ** data.y[begin:end] - 1
        if end - begin < k or gain.max() == 0:
            values.append(0.0)
            continue
        order = np.argsort(-scores[begin:end], kind="stable")
        values.append(gain[order][:k] @ discount / (np.sort(gain)[::-1][:k] @ discount))
    return float(np.mean(values))


def on_mq2008():
    if "EQUIRANK_DATA" not in os.environ:
        print("MQ2008: EQUIRANK_DATA is not set")
        return
    import lightgbm
    import xgboost

    from equirank.datasets import load_mq2008

    def lightgbm_ranker(train):
        model = lightgbm.LGBMRanker(n_estimators=100, verbose=-1, n_jobs=THREADS)
        return model.fit(train.X, train.y, group=np.diff(train.offsets)).predict

    def xgboost_ranker(train):
        model = xgboost.XGBRanker(objective="rank:pairwise", n_estimators=100, n_jobs=THREADS)
        return model.fit(train.X, train.y, qid=train.query_of_rows()).predict

    makers = {
        "RankBoost, 300 rounds": lambda train: RankBoost(300).fit(train).predict,
        "RankBoost, stopped": None,
        "RankBoost+, 300 rounds": lambda train: RankBoostPlus(300).fit(train).predict,
        "LightGBM lambdarank": lightgbm_ranker,
        "XGBoost pairwise": xgboost_ranker,
    }
    print("MQ2008, five folds: LETOR's NDCG@10 (RankBoost published: .226), ours, seconds per fold")
    for name, make in makers.items():
        letor, plain, seconds = [], [], []
        for train, validation, test in load_mq2008(folds=True):
            begin = time.perf_counter()
            if make is None:
                model = RankBoost(500, early_stopping=50, validation=validation).fit(train)
                predict = model.predict
            else:
                predict = make(train)
            seconds.append(time.perf_counter() - begin)
            stored = predict(np.asarray(test.X))
            letor.append(letor_ndcg(test, stored))
            found = ndcg(test.y, stored, qid=test.query_of_rows(), k=10)
            plain.append(found)
        spread = np.std(letor, ddof=1) / np.sqrt(len(letor))
        figures = f"{np.mean(letor):.4f} (s.e. {spread:.4f})  {np.mean(plain):.4f}"
        print(f"  {name:24s} {figures}  {np.mean(seconds):.2f} s")


PARTS = {
    "naive": against_naive_pairs,
    "lightgbm": against_lightgbm,
    "linear": linear,
    "plus": plus,
    "ranklib": against_ranklib,
    "mq2008": on_mq2008,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
