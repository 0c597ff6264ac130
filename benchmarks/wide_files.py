"""Reading of wide CSV files and the guesses of ``equirank init``: time by number of columns.

``python benchmarks/wide_files.py`` prints the time for n and for 4 n columns and their ratio, which
is about 4 if the time is linear in cells and about 16 if it is quadratic.
"""

import tempfile
import time
import warnings
from pathlib import Path

from equirank.io import read_csv
from equirank.recipes.config_example import guess_file


def seconds(work, path):
    """Return the least CPU time of three runs."""
    took = []
    for _ in range(3):
        begin = time.process_time()
        work(str(path))
        took.append(time.process_time() - begin)
    return min(took)


def main():
    """Print one row per step."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for count in (10_000, 40_000):
            path = Path(folder) / f"{count}.csv"
            cells = ",".join("x" if j % 3 == 0 else str(j) for j in range(count)) + "\n"
            path.write_text(",".join(f"c{j}" for j in range(count)) + "\n" + cells * 2)
            paths.append(path)
        for name, work in (("read_csv", read_csv), ("init", guess_file)):
            few, many = (seconds(work, path) for path in paths)
            print(f"{name:10} {few:7.2f} s {many:7.2f} s   ratio {many / few:.1f}")


if __name__ == "__main__":
    main()
