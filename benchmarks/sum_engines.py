"""Sums of logs: CPU time against plain reading and plain sums, and peak memory.

``python benchmarks/sum_engines.py make --rows 100000000 --out log8.parquet`` writes a log of lists
of 20 to 80 impressions with relevance and attributes of 2 and 3 groups (``--scattered``: rows of
20,000 lists at a time in random order, with labels that return).
``python benchmarks/sum_engines.py run log7.parquet log8.parquet`` prints, for each log, CPU seconds
of all threads and the peak memory of a process of its own for

- pyarrow, reading the same columns batch by batch,
- DuckDB, plain sums by group (needs duckdb),
- DuckDB, the position of every row by a window and sums of exposure by group (``--window``),
- ``equirank.list_sums`` of the file (a stream; or spilled, if the log is scattered),
- ``equirank.list_sums`` of DuckDB's relation (``--duckdb``),
- ``equirank.audit_sums`` of the result.

``python benchmarks/sum_engines.py pair log7.parquet`` compares the log with another ranking of its
people: as a second score of the same file, and as a file of its own, sorted and scattered.

Ratios on one machine in one run are comparable; seconds are not. ``--jobs 2`` measures wall time of
two threads, for an idle machine only.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

COLUMNS = {"query": "qid", "score": "score", "relevance": "relevance"}
COLUMNS["sensitive"] = ["sex", "race"]


def make(path, rows, seed=0, scattered=False):
    """Write a log in blocks of 20,000 lists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    writer, done, label = None, 0, 0
    while done < rows:
        sizes = rng.integers(20, 81, 20_000)
        sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), rows - done)) + 1]
        sizes[-1] -= max(0, int(sizes.sum()) - (rows - done))
        n = int(sizes.sum())
        sex = rng.random(n) < 0.4
        race = rng.choice(3, n, p=[0.6, 0.3, 0.1])
        table = pa.table(
            {
                "qid": np.repeat(np.arange(label, label + len(sizes)), sizes),
                "score": np.round(rng.normal(0, 1, n) + 0.1 * sex, 3),
                "relevance": rng.integers(0, 5, n).astype(np.int8),
                "sex": pa.DictionaryArray.from_arrays(sex.astype(np.int8), ["m", "f"]),
                "race": pa.DictionaryArray.from_arrays(race.astype(np.int8), ["a", "b", "c"]),
            }
        )
        if scattered:
            table = table.take(rng.permutation(n))
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        done, label = done + n, label + len(sizes)
    writer.close()


def read_plain(path, _):
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
    for _batch in file.iter_batches(1 << 18, use_threads=False):
        pass


def duckdb_sums(path, _):
    import duckdb

    duckdb.sql("SET threads = 1")
    duckdb.sql(
        "SELECT sex, race, count(*), sum(score), sum(score * score), sum(relevance), "
        f"count(DISTINCT qid) FROM '{path}' GROUP BY sex, race"
    ).fetchall()


def duckdb_window(path, _):
    import duckdb

    duckdb.sql("SET threads = 1")
    duckdb.sql(
        "SELECT sex, race, count(*), sum(place), sum(1 / log2(place + 1)) FROM (SELECT sex, race, "
        f"row_number() OVER (PARTITION BY qid ORDER BY score DESC) AS place FROM '{path}') "
        "GROUP BY sex, race"
    ).fetchall()


def stream(path, jobs):
    import equirank

    sums = equirank.list_sums(path, **COLUMNS, n_jobs=jobs)
    print(sums, "twins", sums.plan.n_twins, file=sys.stderr)
    return sums


def relation(path, jobs):
    import duckdb

    import equirank

    duckdb.sql("SET threads = 1")
    return equirank.list_sums(duckdb.sql(f"SELECT * FROM '{path}'"), **COLUMNS, n_jobs=jobs)


STEPS = {"read": read_plain, "groups": duckdb_sums, "window": duckdb_window}
STEPS |= {"stream": stream, "relation": relation}


def step(name, path, jobs):
    """Measure one step in this process; compiled loops are loaded before."""
    import os
    import tempfile

    import equirank

    if name in ("stream", "relation"):
        with tempfile.TemporaryDirectory() as folder:
            small = os.path.join(folder, "small.parquet")
            make(small, 60_000)
            equirank.list_sums(small, **COLUMNS, n_jobs=1)
    wall, cpu = time.perf_counter(), time.process_time()
    result = STEPS[name](path, jobs)
    found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    found["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if name == "stream":
        wall, cpu = time.perf_counter(), time.process_time()
        equirank.audit_sums(result)
        found["audit_cpu"] = time.process_time() - cpu
    print(json.dumps(found))


def measured(name, path, jobs=1):
    """Return CPU and wall seconds and peak memory of one step, in a process of its own."""
    words = [sys.executable, __file__, "step", name, path, "--jobs", str(jobs)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(paths, names, jobs):
    for path in paths:
        print(path)
        base = None
        for name in names:
            found = measured(name, path, jobs)
            base = base or found["cpu"]
            audit = f", audit {found['audit_cpu']:.1f} s CPU" if "audit_cpu" in found else ""
            print(
                f"  {name:9} {found['cpu']:8.2f} s CPU = {found['cpu'] / base:5.1f} times reading, "
                f"{found['wall']:8.2f} s wall, {found['mb']:6.0f} MB{audit}",
                flush=True,
            )


def write_pair(path, folder):
    """Write a log with ids, another ranking of it as a file, scattered, and both in one file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writers = np.random.default_rng(1), {}
    for batch in pq.ParquetFile(path).iter_batches(1 << 20):
        table = pa.Table.from_batches([batch])
        item = pa.array(np.arange(len(table)))  # a list that two batches share repeats none
        new = table.append_column("item", item)
        score = np.round(table["score"].to_numpy() + rng.normal(0, 0.3, len(table)), 3)
        before = new.set_column(new.schema.get_field_index("score"), "score", pa.array(score))
        parts = {"new": new, "before": before, "both": new.append_column("old", pa.array(score))}
        parts["scattered"] = before.take(rng.permutation(len(table)))
        for name, part in parts.items():
            if name not in writers:
                writers[name] = pq.ParquetWriter(f"{folder}/{name}.parquet", part.schema)
            writers[name].write_table(part)
    for writer in writers.values():
        writer.close()


def pair(path):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_pair(path, folder)
        base = None
        for name, given in {
            "one file": {"against_score": "old"},
            "two files": {"against": f"{folder}/before.parquet", "id": "item"},
            "scattered": {"against": f"{folder}/scattered.parquet", "id": "item"},
        }.items():
            file = f"{folder}/{'both' if base is None else 'new'}.parquet"
            words = [sys.executable, __file__, "paired", file, json.dumps(given)]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            base = base or found["cpu"]
            print(f"  {name:9} {found['cpu']:8.2f} s CPU = {found['cpu'] / base:4.2f}x, "
                  f"{found['mb']:6.0f} MB", flush=True)  # fmt: skip


def paired(path, given):
    """Measure the sums of one or two files in this process."""
    import equirank

    options = COLUMNS | json.loads(given) | {"memory": "500MB", "n_jobs": 1}
    cpu = time.process_time()
    equirank.list_sums(path, **options)
    found = {"cpu": time.process_time() - cpu}
    found["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("--rows", type=int, required=True)
    maker.add_argument("--out", required=True)
    maker.add_argument("--scattered", action="store_true")
    runner = commands.add_parser("run")
    runner.add_argument("paths", nargs="+")
    runner.add_argument("--window", action="store_true")
    runner.add_argument("--duckdb", action="store_true")
    runner.add_argument("--jobs", type=int, default=1)
    one = commands.add_parser("step")
    one.add_argument("name", choices=STEPS)
    one.add_argument("path")
    one.add_argument("--jobs", type=int, default=1)
    both = commands.add_parser("pair")
    both.add_argument("path")
    inner = commands.add_parser("paired")
    inner.add_argument("path")
    inner.add_argument("given")
    args = parser.parse_args()
    if args.command == "make":
        make(args.out, args.rows, scattered=args.scattered)
    elif args.command == "run":
        more = ["window"] * args.window + ["relation"] * args.duckdb
        run(args.paths, ["read", "groups", "stream", *more], args.jobs)
    elif args.command == "pair":
        pair(args.path)
    elif args.command == "paired":
        paired(args.path, args.given)
    else:
        step(args.name, args.path, args.jobs)


if __name__ == "__main__":
    main()
