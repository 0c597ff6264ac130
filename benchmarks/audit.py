"""Audit of a million rows: time relative to `evaluate` with the same metrics, and memory.

Prints ratios of times measured in the same run. Run: python benchmarks/audit.py [ROWS]
With ROWS of 10,000,000 the data are read from a Parquet file, as by the command.
"""

import gc
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from equirank import as_ranking_data, audit, evaluate
from equirank.auditing.audit_plan import make_plan
from equirank.auditing.measured import chosen_metrics
from equirank.core.outcomes import DecisionRule
from equirank.io import read_parquet

LENGTH = 100


def seconds(function):
    gc.collect()
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def in_turn(functions, repeats):
    """Return the shortest wall and CPU times of functions run in turn."""
    times = []
    for _ in range(repeats):
        for function in functions:
            gc.collect()
            begin = time.perf_counter(), time.process_time()
            function()
            times.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    n = len(functions)
    return [tuple(map(min, zip(*times[at::n], strict=True))) for at in range(n)]


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def columns(n, seed=0):
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, n), rng.integers(0, 3, n)
    score = rng.normal(size=n) - 0.1 * sex
    return {
        "qid": np.repeat(np.arange(n // LENGTH), LENGTH),
        "score": score,
        "relevance": np.clip(np.round(score + rng.normal(size=n)), 0, 4),
        "sex": np.array(["male", "female"])[sex],
        "age": np.array(["old", "middle", "young"])[age],
    }


def from_arrays(n):
    given = columns(n)
    data = as_ranking_data(
        y=given["relevance"],
        qid=given["qid"],
        score=given["score"],
        sensitive_features={"sex": given["sex"], "age": given["age"]},
    )
    del given
    return data


def through_parquet(n, folder):
    import pyarrow
    import pyarrow.parquet

    path = Path(folder, "people.parquet")
    pyarrow.parquet.write_table(pyarrow.table(columns(n)), path)
    gc.collect()
    before = memory()
    took, data = seconds(lambda: read_parquet(path, sensitive=["sex", "age"], features=()))
    print(f"  reading {n:,} rows of Parquet {took:.1f} s, {memory() - before:.1f} GiB more")
    return data


def against_evaluate(data):
    options = {"protected": None, "rule": DecisionRule(), "cross": True, "level": 0.95, "seed": 0}

    def measured():
        plan = make_plan(data.ranking(), **options, n_boot=1000, n_permutations=1000)
        overall, gaps = chosen_metrics(plan, ())
        evaluate(plan.ranking, [*overall, *(gap.metric for gap in gaps)])

    (took, busy), (alone, alone_busy) = in_turn([lambda: audit(data), measured], repeats=3)
    print(f"audit {took:.1f} s, evaluate with the same metrics {alone:.1f} s: ", end="")
    print(f"{took / alone:.2f}x ({busy / alone_busy:.2f}x of CPU time)")


def main():
    n = int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        data = from_arrays(n) if n <= 1_000_000 else through_parquet(n, folder)
        print(f"{data}: generated with {memory():.2f} GiB")
        small = data.select(slice(0, 20))
        audit(small, n_boot=10, n_permutations=10)  # compiles
        first, result = seconds(lambda: audit(data))
        print(f"audit {first:.1f} s, peak memory of the process {memory():.2f} GiB")
        if n <= 1_000_000:
            against_evaluate(data)
        text, _ = seconds(result.to_json)
        print(f"as JSON {text:.2f} s")
        page = Path(folder, "report.html")
        wrote, _ = seconds(lambda: result.to_html(page))
        print(f"report {wrote:.1f} s, {page.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
