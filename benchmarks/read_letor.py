"""Reading: `read_letor` compared with load_svmlight_file, `read_csv` with and without pyarrow.

Run with ``python benchmarks/read_letor.py [megabytes]`` (100 by default). Prints ratios of times
measured in one run, whether the numbers are bitwise equal, and peak memory relative to the result.
"""

import multiprocessing
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np


def write_svmlight(path, megabytes, style):
    """Write synthetic lines: 136 features as in MSLR, or doubles with 16 to 17 digits."""
    rng = np.random.default_rng(0)
    size, query = 0, 0
    with open(path, "w") as file:
        while size < megabytes * 1e6:
            lines = []
            for _ in range(200):
                if style == "short":
                    values = [str(v) for v in rng.integers(0, 300, 68).tolist()]
                    values += [f"{v:.6f}" for v in (rng.random(68) * 30).tolist()]
                else:
                    values = [repr(v) for v in rng.standard_normal(136).tolist()]
                cells = " ".join(f"{j}:{v}" for j, v in enumerate(values, start=1))
                lines.append(f"{rng.integers(0, 5)} qid:{query} {cells}\n")
            query += 1
            size += file.write("".join(lines))


def write_csv(path, n_rows):
    """Write synthetic rows: a query, a grade, a group, an id and 12 features."""
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        file.write("qid,relevance,sex,id," + ",".join(f"f{j}" for j in range(12)) + "\n")
        for row in range(n_rows):
            cells = ",".join(f"{v:.6f}" for v in rng.random(12).tolist())
            file.write(f"{row // 50},{row % 5},{'fm'[row % 2]},doc{row},{cells}\n")


def race(repeat=3, **contenders):
    """Return the best time and the last result of each function, run in turn."""
    best, results = dict.fromkeys(contenders, np.inf), {}
    for _ in range(repeat):
        for name, function in contenders.items():
            start = time.perf_counter()
            results[name] = function()
            best[name] = min(best[name], time.perf_counter() - start)
    return best, results


def _high_water():
    """Return the peak memory of this process; on Linux from /proc."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if "VmHWM" in line)
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


def _peak(queue, path, sparse):
    from equirank.io import read_letor

    tiny = Path(path).with_name("tiny.txt")
    read_letor(tiny, sparse=sparse)
    before = _high_water()
    data = read_letor(path, sparse=sparse)
    peak = _high_water() - before
    matrix = data.X
    size = matrix.nbytes if not sparse else matrix.data.nbytes + matrix.indices.nbytes
    queue.put((peak, size + data.y.nbytes))


def peak_of(path, sparse):
    """Return peak and result bytes of one reading, in a separate process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_peak, args=(queue, str(path), sparse))
    process.start()
    result = queue.get()
    process.join()
    return result


def compare_letor(folder, megabytes, style):
    from sklearn.datasets import load_svmlight_file

    from equirank.io import read_letor, write_letor

    path, tiny = folder / f"{style}.txt", folder / "tiny.txt"
    tiny.write_text("1 qid:1 1:0.5\n")
    write_svmlight(path, megabytes, style)
    size = path.stat().st_size / 1e6
    read_letor(tiny), read_letor(tiny, sparse=True)  # compile
    best, results = race(
        theirs=lambda: load_svmlight_file(str(path), query_id=True),
        dense=lambda: read_letor(path),
        sparse=lambda: read_letor(path, sparse=True),
    )
    theirs, dense, sparse = best.values()
    (X, y, qid), data, csr = results.values()
    same = np.array_equal(X.toarray().view(np.int64), data.X.view(np.int64))
    same &= np.array_equal(X.data.view(np.int64), csr.X.data.view(np.int64))
    same &= np.array_equal(X.indices, csr.X.indices) and np.array_equal(X.indptr, csr.X.indptr)
    same &= np.array_equal(y, data.y)
    same &= np.array_equal(qid, np.repeat(data.qids, np.diff(data.offsets)))
    print(f"{style} numbers, {size:.0f} MB, {len(data)} rows: same bits: {bool(same)}")
    print(f"  load_svmlight_file          1.0x   ({size / theirs:.0f} MB/s)")
    print(f"  read_letor, dense        {theirs / dense:6.1f}x   ({size / dense:.0f} MB/s)")
    print(f"  read_letor, sparse       {theirs / sparse:6.1f}x   ({size / sparse:.0f} MB/s)")
    written = race(write=lambda: write_letor(data, folder / "out.txt"))[0]["write"]
    back = read_letor(folder / "out.txt")
    same = np.array_equal(back.X.view(np.int64), data.X.view(np.int64))
    speed = (folder / "out.txt").stat().st_size / 1e6 / written
    print(f"  write_letor {speed:.0f} MB/s, read back the same bits: {same}")
    for name, flag in (("dense", False), ("sparse", True)):
        peak, result = peak_of(path, flag)
        print(f"  peak memory, {name}: {peak / result:.2f}x the result")


def compare_csv(folder, n_rows):
    import pandas as pd

    from equirank.io import delimited, read_csv

    path = folder / "rows.csv"
    write_csv(path, n_rows)
    arguments = {"sensitive": "sex", "ids": "id"}

    def without_pyarrow():
        usual, delimited._arrow = delimited._arrow, lambda: None
        try:
            return read_csv(path, **arguments)
        finally:
            delimited._arrow = usual

    best, results = race(
        slow=without_pyarrow,
        fast=lambda: read_csv(path, **arguments),
        pandas=lambda: pd.read_csv(path),
    )
    slow, fast, pandas = best.values()
    b, a, _ = results.values()
    same = np.array_equal(a.X.view(np.int64), b.X.view(np.int64)) and (a.ids == b.ids).all()
    print(f"CSV, {path.stat().st_size / 1e6:.0f} MB, {n_rows} rows: same bits: {bool(same)}")
    print("  read_csv, standard library    1.0x")
    print(f"  read_csv, pyarrow          {slow / fast:6.1f}x")
    print(f"  pandas.read_csv (frame)    {slow / pandas:6.1f}x")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 100.0
    with tempfile.TemporaryDirectory() as name:
        for style in ("short", "long"):
            compare_letor(Path(name), megabytes, style)
        compare_csv(Path(name), int(megabytes * 5000))
