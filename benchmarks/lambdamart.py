"""FairLambdaMART compared with LightGBM's lambdarank: time, memory, and a path of ten alphas.

Training 100 trees on 240,000 rows x 136 features in 2,000 queries with equal truncation; runs are
interleaved and ratios are medians of pairs. Peak memory is measured in separate processes.

Run: python benchmarks/lambdamart.py [time] [path] [memory] [--rows 240000] [--trees 100] [--runs 5]
"""

import argparse
import resource
import subprocess
import sys
import time

import lightgbm
import numpy as np

from equirank.core.attribute import Attribute
from equirank.core.data import RankingData
from equirank.rankers import FairLambdaMART
from equirank.rankers.lambdamart.objective import FairObjective

TRUNCATION = 30


def lists(rows, features=136, length=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features)).astype(np.float32)
    merit = X[:, :20] @ rng.normal(size=20) + 3 * rng.normal(size=rows)
    y = np.digitize(merit, np.quantile(merit, [0.5, 0.75, 0.9, 0.97])).astype(np.float64)
    codes = (X[:, 0] + rng.normal(size=rows) > 0.4).astype(np.int32)
    n = rows // length
    return RankingData(
        X, y, np.arange(n + 1, dtype=np.int64) * length, np.arange(n),
        sensitive={"group": Attribute(codes, ("a", "b"))}, max_grade=4.0,
    )  # fmt: skip


def plain(data, trees, jobs):
    """Fit LightGBM's own objective with the same settings as ours."""
    params = {
        "objective": "lambdarank", "lambdarank_truncation_level": TRUNCATION, "verbosity": -1,
        "num_threads": jobs, "deterministic": True, "force_col_wise": True,
    }  # fmt: skip
    dataset = lightgbm.Dataset(data.X, data.y, group=np.diff(data.offsets))
    return lightgbm.train(params, dataset, trees)


def fair(data, trees, jobs, **options):
    ranker = FairLambdaMART(0.5, truncation=TRUNCATION, n_estimators=trees, n_jobs=jobs, **options)
    return ranker.fit(data)


def timed(function, *args, **options):
    """Return wall and CPU seconds; the latter are comparable on a busy machine."""
    begin = np.array([time.perf_counter(), time.process_time()])
    function(*args, **options)
    return np.array([time.perf_counter(), time.process_time()]) - begin


class Clock:
    """Accumulated time spent in the objective."""

    def __init__(self):
        self.seconds, self.call = 0.0, FairObjective.__call__

    def __enter__(self):
        clock = self

        def call(objective, *args, **options):
            begin = time.perf_counter()
            result = clock.call(objective, *args, **options)
            clock.seconds += time.perf_counter() - begin
            return result

        FairObjective.__call__ = call
        return self

    def __exit__(self, *_):
        FairObjective.__call__ = self.call


def compare_times(args):
    data = lists(args.rows)
    small = lists(2400)
    for options in VARIANTS.values():
        fair(small, 2, args.jobs, **options)  # compiles
    for name, options in VARIANTS.items():
        if args.only not in name:
            continue
        ratios, shares = [], []
        for run in range(args.runs):
            order = (0, 1) if run % 2 == 0 else (1, 0)
            seconds = {}
            for which in order:
                if which:
                    with Clock() as clock:
                        seconds[1] = timed(fair, data, args.trees, args.jobs, **options)
                    shares.append(clock.seconds / seconds[1][0])
                else:
                    seconds[0] = timed(plain, data, args.trees, args.jobs)
            ratios.append(seconds[1] / seconds[0])
        wall, cpu = np.median(ratios, axis=0)
        low, high = np.min(ratios, axis=0)[0], np.max(ratios, axis=0)[0]
        print(
            f"{name}: {wall:.2f}x LightGBM's lambdarank (median of {args.runs} interleaved pairs, "
            f"{low:.2f} to {high:.2f}; processor time {cpu:.2f}x); "
            f"objective {100 * np.median(shares):.0f} % of the time",
            flush=True,
        )


VARIANTS = {
    "swap, cutoff 30": {"cutoff": TRUNCATION},
    "swap, whole list": {},
    "fair_first, whole list": {"strategy": "fair_first"},
}


def compare_path(args):
    data = lists(args.rows)
    fair(lists(2400), 2, args.jobs)
    ratios = []
    for _ in range(max(1, args.runs // 2)):
        one = timed(fair, data, args.trees, args.jobs)
        ranker = FairLambdaMART(
            truncation=TRUNCATION, n_estimators=args.trees, n_jobs=args.jobs, validation=0.1
        )
        path = timed(ranker.tradeoff_path, np.linspace(0.1, 1.0, 10), data)
        ratios.append(path / one)
    wall, cpu = np.median(ratios, axis=0)
    print(f"path of ten alphas: {wall:.2f}x one fit (processor time {cpu:.2f}x)", flush=True)


def peak(what, args):
    """Return the peak memory of one fit minus that of the data, in a separate process (MiB)."""
    code = (
        "import sys, resource; sys.path.insert(0, 'benchmarks'); import lambdamart as b; "
        f"d = b.lists({args.rows}); b.fair(b.lists(2400), 2, {args.jobs}); "
        f"b.plain(b.lists(2400), 2, {args.jobs}); "
        f"{what}; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def compare_memory(args):
    base = peak("None", args)
    theirs = peak(f"b.plain(d, 5, {args.jobs})", args)
    ours = peak(f"b.fair(d, 5, {args.jobs})", args)
    print(
        f"peak memory of the process: {ours:.0f} MiB against {theirs:.0f} MiB, {ours / theirs:.2f}x"
        f" (beyond the data and the imports: {ours - base:.0f} against {theirs - base:.0f} MiB)"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", default=["time", "path", "memory"])
    parser.add_argument("--rows", type=int, default=240_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="variants whose name contains this")
    args = parser.parse_args()
    for name, compare in (
        ("time", compare_times),
        ("path", compare_path),
        ("memory", compare_memory),
    ):
        if name in args.what:
            compare(args)


if __name__ == "__main__":
    main()
    print(f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
