"""Loading of data sets, compared with plain readers of tables and matrices.

Run with ``EQUIRANK_DATA=folder python benchmarks/load_datasets.py``; missing data sets
are skipped. Prints seconds, the ratio to pandas.read_csv or load_svmlight_file in the same run, and
time and memory of `make_yahoo_like`.
"""

import gzip
import io
import resource
import sys
import time
import warnings
from pathlib import Path

from equirank import DataError
from equirank.datasets import (
    load_adult,
    load_compas,
    load_german,
    load_law,
    load_mq2008,
    make_german_lists,
    make_yahoo_like,
)
from equirank.datasets.catalogue import dataset
from equirank.datasets.fetch import look


def files(name):
    found = [look(dataset(name), file.name) for file in dataset(name).files]
    if not found or None in found:
        raise DataError(f"{name} is not available")
    return found


def frames(paths, **options):
    import pandas as pd

    return [pd.read_csv(path, **options) for path in paths]


def matrices(paths):
    from sklearn.datasets import load_svmlight_file

    return [
        load_svmlight_file(io.BytesIO(gzip.decompress(Path(path).read_bytes())), query_id=True)
        for path in paths
    ]


#: The loader, and a plain reader of the same files.
RACES = {
    "compas": (load_compas, frames, {}),
    "adult": (load_adult, frames, {"header": None, "skipinitialspace": True, "comment": "|"}),
    "law": (load_law, lambda paths: frames([p for p in paths if p.suffix == ".csv"]), {}),
    "german": (load_german, frames, {"header": None, "sep": " "}),
    "mq2008": (load_mq2008, matrices, {}),
}


def best(function, repeats=7):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def race(name):
    load, plain, options = RACES[name]
    paths = files(name)
    begin = time.perf_counter()
    data = load()
    first = time.perf_counter() - begin
    plain(paths, **options)
    ours, theirs = best(load), best(lambda: plain(paths, **options))
    reader = "load_svmlight_file" if plain is matrices else "pandas.read_csv"
    print(
        f"{name}, {data.n_rows} rows: {ours:.3f} s ({first:.2f} s the first time), "
        f"{ours / theirs:.1f}x {reader} alone"
    )


def yahoo():
    begin = time.perf_counter()
    data = make_yahoo_like()
    seconds = time.perf_counter() - begin
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(
        f"yahoo_like, {data.X.shape[0]} x {data.X.shape[1]}: {seconds:.1f} s, peak of the process "
        f"{peak / 1e9:.2f} GB, {peak / data.X.nbytes:.2f}x the matrix"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    yahoo()  # first, since the peak is that of the whole process
    for name in RACES:
        try:
            race(name)
        except DataError as error:
            print(f"{name}: {error}")
    try:
        files("german")
        print(f"make_german_lists, 5,000 lists of 50: {best(make_german_lists, 3):.2f} s")
    except DataError as error:
        print(f"german lists: {error}")
