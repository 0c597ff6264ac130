"""What the studio adds to the library: ratios of times and memory.

``python benchmarks/studio.py [--lists 60 --size 50]`` prints
- a setting tried in the studio over the same calls in Python (at most 2),
- a full audit over `audit` of the same data (at most 1.1),
- the peak memory of reading a file over its size (at most 8, in a process of its own).

Medians after a warm-up; every pair of calls alternates, so that both meet the same load.
"""

import argparse
import io
import json
import statistics
import subprocess
import sys
import time

import numpy as np

READ = """
import json, resource, sys, time
from equirank.studio.uploads import read_upload
from equirank.studio.answers import Limits
import equirank.io.column_roles, equirank.recipes.recipe_run, pyarrow.csv
from equirank.core.given_data import as_ranking_data
read_upload("small.csv", b"score,sex\\n1,f\\n2,m\\n")
content = sys.stdin.buffer.read()
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, start = peak(), time.perf_counter()
upload = read_upload("people.csv", content, Limits(max_bytes=1 << 40, max_rows=1 << 40))
took = time.perf_counter() - start
# the bytes of the file itself are part of the memory of reading it
print(json.dumps({"bytes": len(content), "peak": peak() - before + len(content),
                  "seconds": took, "parsed": upload.data is not None}))
"""


def people(n_lists, size, seed=0):
    """Return a file of ranked people, in which one group has lower scores."""
    rng = np.random.default_rng(seed)
    text = io.StringIO()
    text.write("vacancy,applicant,sex,age_group,score,grade\n")
    ages = ("under 35", "35 to 49", "50 and over")
    for at in range(n_lists):
        sex = rng.integers(0, 2, size)
        score = rng.normal(50, 15, size) - 8 * sex
        age, grade = rng.integers(0, 3, size), rng.integers(0, 4, size)
        for i in range(size):
            text.write(
                f"V{at},A{at}-{i},{('male', 'female')[sex[i]]},{ages[age[i]]},"
                f"{score[i]:.3f},{grade[i]}\n"
            )
    return text.getvalue().encode()


def alternating(first, second, times):
    """Return the medians of two calls that alternate."""
    found = ([], [])
    first(), second()
    for _ in range(times):
        for at, work in enumerate((first, second)):
            start = time.perf_counter()
            work()
            found[at].append(time.perf_counter() - start)
    return [statistics.median(times) for times in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=int, default=60)
    parser.add_argument("--size", type=int, default=50)
    parser.add_argument("--read-rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=15)
    options = parser.parse_args()
    from equirank import audit
    from equirank.io import read_file
    from equirank.rerankers import PrefixConstraints
    from equirank.studio.workspace import Workspace, run_job

    content = people(options.lists, options.size)
    workspace = Workspace()
    state = workspace.load_file("people.csv", content)
    patch = {"roles": {"grade": "relevance"}, "audit": {"protected": ["sex=female"], "k": [10]}}
    revision = workspace.patch(state["revision"], patch)["revision"]
    remedy = {"method": "PrefixConstraints", "by": "sex", "k": 10, "lower": {"female": 0.4}}
    data = read_file(
        io.BytesIO(content), "csv", query="vacancy", score="score", id="applicant",
        relevance="grade", sensitive=["sex", "age_group"],
    )  # fmt: skip
    ranking = data.ranking()
    rule = PrefixConstraints(lower={"female": 0.4}, by="sex", k=10, on_infeasible="best")

    def in_python():
        result = rule(ranking)
        return result.summary(), result.moves

    tried, plain = alternating(
        lambda: workspace.try_remedy(revision, 1, remedy), in_python, options.times
    )
    job = workspace.job("audit", revision)
    settings = {"k": [10], "protected": ["sex=female"], "random_state": 0, "title": "people.csv"}
    few = max(3, options.times // 4)
    audited, plain_audit = alternating(
        lambda: workspace.finish(job, run_job(job)), lambda: audit(data, **settings), few
    )
    rows = options.lists * options.size
    print(f"{rows:,} rows in {options.lists:,} lists")
    print(
        f"try    {1e3 * tried:8.1f} ms  in Python {1e3 * plain:8.1f} ms  ratio {tried / plain:.2f}"
    )
    ratio = audited / plain_audit
    print(f"audit  {audited:8.2f} s   in Python {plain_audit:8.2f} s   ratio {ratio:.2f}")
    large = people(max(1, options.read_rows // 50), 50)
    done = subprocess.run(
        [sys.executable, "-c", READ], input=large, capture_output=True, check=True
    )
    read = json.loads(done.stdout)
    print(
        f"read   {read['bytes'] / 1e6:8.1f} MB  peak {read['peak'] / 1e6:8.1f} MB  "
        f"ratio {read['peak'] / read['bytes']:.2f}  {read['seconds']:.1f} s"
    )


if __name__ == "__main__":
    main()
