"""Frames with text columns: `as_ranking_data` against the encoding it replaced.

``python benchmarks/frames.py [n_rows]``. The frame has 8 numbers and a column of 2,000 brands, with
missing ones; its rows are not sorted by list. Both ways run in turn, and the medians of the rounds
are compared. The peak of memory is that of a process of its own, beyond the frame, in units of the
result; that of the engine is included.
"""

import gc
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.utils.validation import check_array

from equirank import as_ranking_data

ROUNDS = 5
N_BRANDS = 2_000
NUMBERS = [f"x{at}" for at in range(8)]
KINDS = ("pandas", "pandas category", "polars", "pyarrow")


def columns(n_rows):
    """Return the columns of a frame as arrays."""
    rng = np.random.default_rng(0)
    names = np.array([f"brand {at:05d}" for at in rng.permutation(N_BRANDS)], dtype=object)
    brand = names[rng.integers(0, N_BRANDS, n_rows)]
    brand[rng.random(n_rows) < 0.02] = None
    lists = {"grade": rng.integers(0, 5, n_rows), "query": rng.integers(0, n_rows // 50, n_rows)}
    return {name: rng.random(n_rows) for name in NUMBERS} | {"brand": brand} | lists


def frame_of(kind, values):
    """Return the columns as a frame of one library."""
    if kind == "polars":
        return pl.DataFrame(values)
    if kind == "pyarrow":
        return pa.table(values)
    frame = pd.DataFrame(values)
    return frame.astype({"brand": "category"}) if kind == "pandas category" else frame


def before(frame):
    """Encode as it was done before: a loop over the values, then scikit-learn's check."""
    import narwhals as nw

    X = nw.from_native(frame, eager_only=True)
    y, qid = X["grade"].to_numpy(), X["query"].to_numpy()
    X = X.select([*NUMBERS, "brand"])
    known = sorted({str(v) for v in X["brand"].to_list() if v is not None and v == v})
    number = {label: float(code) for code, label in enumerate(known)}
    codes = [
        number.get(str(v), np.nan) if v is not None and v == v else np.nan
        for v in X["brand"].to_list()
    ]
    series = nw.new_series("brand", np.array(codes), nw.Float64, backend=X.implementation)
    encoded = X.with_columns(series).to_native()
    matrix = check_array(encoded, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
    return as_ranking_data(matrix, y, qid=qid)


def now(frame):
    """Encode with the engine of the frame."""
    return as_ranking_data(frame, y="grade", qid="query")


def peak(kind, n_rows):
    """Print the peak of memory beyond the frame, divided by the size of the result."""
    frame = frame_of(kind, columns(n_rows))
    now(frame_of(kind, columns(1000)))  # imports, and the pools of the engine
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak so far is forgotten
    started = resident("VmRSS")
    X = now(frame).X
    print((resident("VmHWM") - started) / X.nbytes)


def resident(which):
    """Return the bytes of this process in memory, now or at most."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(which))


def timed(way, frame):
    started = time.perf_counter()
    made = way(frame)
    return time.perf_counter() - started, made.X


def main(n_rows):
    values = columns(n_rows)
    print(f"{n_rows:,} rows; seconds before, now, ratio; peak memory / result")
    for kind in KINDS:
        frame = frame_of(kind, values)
        seconds = {before: [], now: []}
        for at in range(ROUNDS):
            for way in (before, now) if at % 2 else (now, before):
                spent, X = timed(way, frame)
                seconds[way].append(spent)
                seconds[way, "X"] = X
        same = np.array_equal(seconds[before, "X"], seconds[now, "X"], equal_nan=True)
        old, new = median(seconds[before]), median(seconds[now])
        command = [sys.executable, __file__, "--peak", kind, str(n_rows)]
        memory = float(subprocess.check_output(command, text=True))
        print(f"{kind:16} {old:.2f} {new:.2f} {new / old:.2f}  {memory:.2f}", end="")
        print("" if same else "  DIFFERENT NUMBERS")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        peak(sys.argv[2], int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000)
