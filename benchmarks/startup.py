"""Cold starts: import, help, and the first result, each in a new process.

Prints ratios to ``import numpy`` in the same run. Run: python benchmarks/startup.py
"""

import subprocess
import sys
import time

from equirank.core.registry import metric_names

FIRST = """
import equirank
from equirank.datasets import load_hiring
data = load_hiring()
names = "NDCG@10, AveragePrecision, Precision@10, RND(by='sex'), ExposureGap(by='sex')"
equirank.evaluate(data, names)
"""
SOME = """
import sys
import warnings
import equirank
from equirank.core.registry import metric_names
from equirank.datasets import load_hiring
warnings.simplefilter("ignore")
data = load_hiring()
chosen = []
for name in sys.argv[1:] or metric_names():
    kind = getattr(equirank.metrics, name)
    options = {"by": "sex"} if "by" in kind.options() else {}
    options |= {"protected": "female"} if name == "FAStarIRTest" else {}
    if "cost" not in kind.needs and name not in ("IGFRatio", "IGFAggregated"):
        chosen.append(kind(**options))
if chosen:
    equirank.evaluate(data, chosen)
"""


def seconds(command, repeats=7):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return min(times)


def python(code):
    return [sys.executable, "-c", code]


if __name__ == "__main__":
    seconds(python(SOME), 1)  # compiles once
    bare = seconds(python("pass"))
    numpy = seconds(python("import numpy")) - bare
    ours = seconds(python("import equirank")) - bare
    print(f"import equirank takes {ours / numpy:.2f}x the time of import numpy")
    whole = seconds(python("import equirank, numpy")) - bare
    print(f"import equirank and numpy {whole / numpy:.2f}x")
    help_ = seconds([sys.executable, "-m", "equirank", "--help"])
    print(f"equirank --help {help_:.2f} s, {help_ / numpy:.1f}x import numpy")
    first = seconds(python(FIRST))
    print(f"five metrics of the bundled data, fresh process {first:.2f} s, {first / numpy:.1f}x")
    every = seconds(python(SOME))
    print(f"every metric of the bundled data, fresh process {every:.2f} s, {every / numpy:.1f}x")
    alone = {name: seconds([*python(SOME), name], 2) for name in metric_names()}
    slowest = max(alone, key=lambda name: alone[name])
    print(
        f"the slowest metric alone, {slowest} {alone[slowest]:.2f} s, {alone[slowest] / numpy:.1f}x"
    )
