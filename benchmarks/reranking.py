"""Re-rankers: compared with sorting, plain Python, and the packages of the authors.

Prints ratios of times measured in the same run, without compilation. The packages run in a separate
environment: ``--peers PYTHON`` names its interpreter (pip install fairsearchcore aif360); without
it they are left out. ``--slow`` computes the table of 400 positions with fairsearchcore, which
takes a minute or more, instead of that of 100.
Run: python benchmarks/reranking.py
"""

import argparse
import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from equirank import as_ranking_data
from equirank.kernels.fa_star_ir_minimums import adjusted_table
from equirank.rerankers import (
    DetCons,
    DetConstSort,
    DetGreedy,
    DetRelaxed,
    FAStarIR,
    PrefixConstraints,
    fa_star_ir_table,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

PEER_TABLE = """
import sys, time, warnings
warnings.simplefilter("ignore")
from fairsearchcore import fail_prob
from fairsearchcore.fair import Fair
# Its keys hash to a NumPy integer, which Python refuses: the one thing mended here.
for kind in [c for c in vars(fail_prob).values() if isinstance(c, type)]:
    if vars(kind).get("__hash__") is not None:
        kind.__hash__ = lambda self, plain=kind.__hash__: int(plain(self))
k = int(sys.argv[1])
begin = time.perf_counter()
Fair(k, 0.4, 0.1).create_adjusted_mtable()
print(time.perf_counter() - begin)
"""

PEER_SORT = """
import time, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
from aif360.datasets import RegressionDataset
from aif360.algorithms.postprocessing import DeterministicReranking
rng = np.random.default_rng(0)
frame = pd.DataFrame({"s": np.arange(20_000) % 2, "x": 0.0, "score": rng.random(20_000)})
data = RegressionDataset(
    frame, dep_var_name="score", protected_attribute_names=["s"], privileged_classes=[[1]]
)
model = DeterministicReranking(unprivileged_groups=[{"s": 0}], privileged_groups=[{"s": 1}])
model.fit(data)
begin = time.perf_counter()
model.predict(data, rec_size=10_000, target_prop=[0.5, 0.5], rerank_type="Constrained")
print(time.perf_counter() - begin)
"""


def best(function, repeats=3):
    times = []
    for _ in range(repeats):
        gc.collect()
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def peer(python, program, *words):
    """Run a program with the peers' interpreter; return the seconds that it prints, or None."""
    if python is None:
        return None
    done = subprocess.run([python, "-c", program, *words], capture_output=True, text=True)
    if done.returncode:
        print("   the peer failed:", done.stderr.strip().splitlines()[-1])
        return None
    return float(done.stdout.split()[-1])


def tables(python, slow):
    print("FA*IR, adjusted table")
    adjusted_table(10, 0.4, 0.1)
    for k in (100, 400, 10_000):
        adjusted_table.cache_clear()
        ours = best(lambda k=k: (adjusted_table.cache_clear(), fa_star_ir_table(k, 0.4, 0.1)))
        print(f"   k = {k}: {ours * 1e3:.2f} ms")
        if k == (400 if slow else 100):
            theirs = peer(python, PEER_TABLE, str(k))
            if theirs is not None:
                print(f"   fairsearchcore, k = {k}: {theirs:.2f} s, ratio {theirs / ours:,.0f}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EQUIRANK_CACHE"] = folder
        first = best(lambda: fa_star_ir_table(100, [0.2, 0.3], 0.1), 1)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"   three groups, k = 100, the first time: {first:.2f} s; process {memory:.0f} MB")


def const_sort(python):
    from rerankers.det_twins import const_sort as plain

    print("DetConstSort, 10,000 of 20,000 items in one list")
    rng = np.random.default_rng(0)
    score, group = rng.random(20_000), np.arange(20_000) % 2
    data = as_ranking_data(score=score, sensitive_features=group)
    ranking = data.ranking()
    reranker = DetConstSort({0: 0.5, 1: 0.5}, k=10_000)
    reranker(ranking)
    ours = best(lambda: reranker(data.ranking()))
    shares = {0: 0.5, 1: 0.5}
    print(f"   {ours * 1e3:.2f} ms, scores to ranking included")
    slow = best(lambda: plain(score, group.tolist(), shares, 10_000), 1)
    print(f"   plain Python {slow:.3f} s, ratio {slow / ours:,.0f}")
    theirs = peer(python, PEER_SORT)
    if theirs is not None:
        print(f"   AIF360 {theirs:.3f} s, ratio {theirs / ours:,.0f}")


def many_lists():
    print("a million rows in 10,000 lists, compared with sorting them by score within lists")
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    n = 1_000_000
    qid, score = np.repeat(np.arange(10_000), 100), rng.normal(size=n)
    sort = best(lambda: np.lexsort((-score, qid)))
    loop = best(lambda: [np.argsort(-part, kind="stable") for part in score.reshape(-1, 100)])
    print(f"   numpy.lexsort {sort:.3f} s; numpy.argsort list by list {loop:.3f} s")
    for n_groups in (2, 5):
        group = rng.integers(0, n_groups, size=n)
        data = as_ranking_data(score=score, qid=qid, sensitive_features=group)
        ranking = data.ranking()
        share = dict.fromkeys(range(n_groups), 0.8 / n_groups)
        for reranker in (
            FAStarIR(protected=0),
            DetGreedy(),
            DetCons(),
            DetRelaxed(),
            DetConstSort(),
            PrefixConstraints(lower=share, k=20),
        ):
            try:
                reranker(ranking)
            except ValueError as error:
                print(f"   {type(reranker).__name__}: {error}")
                continue
            ours = best(lambda r=reranker, d=ranking: r(d))
            whole = best(lambda r=reranker, g=group: r.rerank(score, qid=qid, sensitive_features=g))
            print(
                f"   {n_groups} groups, {type(reranker).__name__}: {ours:.3f} s "
                f"({ours / sort:.2f} of lexsort, {ours / loop:.2f} of the loop); from arrays "
                f"{whole:.3f} s ({whole / sort:.2f}, {whole / loop:.2f})"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="interpreter with fairsearchcore and aif360")
    parser.add_argument("--slow", action="store_true", help="the peers' slow cases, too")
    asked = parser.parse_args()
    tables(asked.peers, asked.slow)
    const_sort(asked.peers)
    many_lists()
