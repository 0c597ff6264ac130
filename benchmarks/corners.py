"""CPU time of slow corners, and how it compares with another version of the source in one run.

python benchmarks/corners.py                          # seconds of this version
python benchmarks/corners.py --baseline old/src       # also ratios to the version in old/src
python benchmarks/corners.py --only fa_star_ir csv    # some corners, by the beginning of a name

A version of a commit: mkdir old && git archive COMMIT src | tar x -C old. Each corner runs in a
process of its own, versions by turns, and the minimum of several runs counts. With a baseline the
results of both versions are compared: numbers to nine digits, text exactly. Reading is also
compared with pandas. The last words about the search are the seconds of the same gradients and
scores of 64 networks, written by hand in PyTorch and NumPy without an optimiser or metrics.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np


def timed(work, repeats):
    """Return the minimum CPU time of some calls, and the last result."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        result = work()
        found.append(time.process_time() - began)
    return min(found), result


def audit_bundled():
    """Audit the bundled data a second time in one process."""
    from equirank import audit
    from equirank.datasets import load_hiring

    data = load_hiring()
    audit(data)
    spent, result = timed(lambda: audit(data), 3)
    found = json.loads(result.to_json())
    found.pop("provenance", None)
    return spent, found


def audit_first():
    """Audit the bundled data in a new process, with all imports and compiled code on disk."""
    began = time.process_time()
    from equirank import audit
    from equirank.datasets import load_hiring

    result = audit(load_hiring())
    return time.process_time() - began, [claim.sentence for claim in result.claims]


def _audit_made(n, warm=True):
    from equirank import as_ranking_data, audit

    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    people = {"sex": rng.choice(["f", "m"], n), "race": rng.choice(["a", "b", "c"], n)}
    data = as_ranking_data(
        y=y, qid=np.arange(n) // 50, score=rng.normal(size=n) + 0.3 * y, sensitive_features=people
    )
    for few in (slice(0, 100), slice(0, 3_000)) if warm else ():
        audit(data.select(few), n_boot=20, n_permutations=19)
    spent, result = timed(lambda: audit(data), 1)
    return spent, result.tables["groups"]["position_difference"].tolist()


def audit_uncompiled():
    """Audit 150,000 rows in 3,000 lists by two attributes where nothing is compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder  # before numba is imported
        return _audit_made(150_000, warm=False)


def audit_shuffled():
    """Audit 100,000 rows in 2,000 lists, all of them shuffled, by two attributes and both."""
    return _audit_made(100_000)


def audit_lists():
    """Audit 2 million rows in 40,000 lists by two attributes and their intersection."""
    return _audit_made(2_000_000)


def audit_unknown():
    """Audit 400,000 rows in 10,000 lists, with 7% unknown labels of one of two attributes."""
    from equirank import as_ranking_data, audit

    rng, n = np.random.default_rng(0), 400_000
    sex = rng.choice(np.array(["f", "m"], dtype=object), n)
    sex[rng.random(n) < 0.07] = None
    people = {"sex": sex, "race": rng.choice(["a", "b", "c"], n)}
    data = as_ranking_data(
        qid=np.arange(n) // 40, score=rng.normal(size=n), sensitive_features=people,
        missing_sensitive="unknown",
    )  # fmt: skip
    for few in (slice(0, 100), slice(0, 3_000)):
        audit(data.select(few), n_boot=20, n_permutations=19)
    spent, result = timed(lambda: audit(data), 1)
    return spent, [x if x == x else None for x in result.tables["labels"]["value"].tolist()]


def _regions(shares):
    from equirank.kernels.fa_star_ir_regions import group_search

    group_search(3, np.array(shares), 0.1)
    spent, found = timed(lambda: group_search(100, np.array(shares), 0.1), 1)
    return spent, [found.low, found.high, found.fail, int(found.need.astype(np.int64).sum())]


def fa_star_ir_two():
    """Correct the level of FA*IR for two protected groups, k = 100."""
    return _regions([0.3, 0.2])


def fa_star_ir_three():
    """Correct the level of FA*IR for three protected groups, k = 100."""
    return _regions([0.25, 0.2, 0.15])


def _selection(k, **options):
    from equirank.rerankers import BalancedSelection

    rng = np.random.default_rng(0)
    n = 1000
    people = {"sex": rng.choice(["f", "m"], n, p=[0.4, 0.6])}
    people["race"] = rng.choice(["w", "b", "h"], n, p=[0.6, 0.25, 0.15])
    score = rng.lognormal(0.0, 0.5, n) * np.where(people["sex"] == "f", 0.9, 1.0)
    score *= np.where(people["race"] == "b", 0.85, 1.0)
    rule = BalancedSelection(
        {"f": k // 2, "b": k // 3, "h": k // 5}, k=k, time_limit=600, **options
    )
    spent, found = timed(lambda: rule.rerank(score, sensitive_features=people), 1)
    return spent, [score[found.order()].sum(), *sorted(found.igf["igf"].tolist())]


def balanced_ratio():
    """Select 50 of 1,000 people, leximin of IGF-ratio."""
    return _selection(50, leximin=True)


def balanced_aggregated():
    """Select 20 of 1,000 people, leximin of IGF-aggregated."""
    return _selection(20, leximin=True, igf="aggregated")


def _people(folder, n):
    rng = np.random.default_rng(0)
    path = Path(folder, f"people{n}.csv")
    sex, race = rng.choice(["female", "male"], n), rng.choice(["White", "Black", '"A, b"'], n)
    with open(path, "w") as file:
        file.write("query,id,sex,race,score,relevance\n")
        for i, score in enumerate(rng.random(n).tolist()):
            file.write(f"q{i // 50},p{i},{sex[i]},{race[i]},{score:.6f},{i % 5}\n")
    return path, {"sensitive": ["sex", "race"]}


def _read(make, *, arrow=True):
    import pandas as pd

    from equirank.io import delimited, read_csv

    if not arrow:
        delimited._arrow = lambda: None
    with tempfile.TemporaryDirectory() as folder:
        path, options = make(folder)
        read_csv(path, **options)
        theirs, _ = timed(lambda: pd.read_csv(path), 3)
        spent, data = timed(lambda: read_csv(path, **options), 3)
    values = [data.n_rows, data.n_queries, repr(data), float(np.sum(data.score))]
    values += [str(data.ids[-1]), *(int(each.codes.sum()) for each in data.sensitive.values())]
    return spent, values, f"{spent / theirs:.1f} times pandas"


def csv_people():
    """Read 400,000 people with text ids from CSV, with pyarrow."""
    return _read(lambda folder: _people(folder, 400_000))


def csv_people_without_pyarrow():
    """Read 100,000 people with text ids from CSV, by the standard library."""
    return _read(lambda folder: _people(folder, 100_000), arrow=False)


def csv_small():
    """Read 20,000 people from CSV, below the size from which pyarrow is imported."""
    return _read(lambda folder: _people(folder, 20_000))


def search_wide():
    """Search 64 networks of (100, 100) layers with adversaries of (50, 50), 60 steps."""
    import torch

    from equirank.datasets import make_ranking
    from equirank.rankers import DirectRanker
    from equirank.search import TradeoffSearch

    train = make_ranking(n_queries=60, n_items=50, feature_bias=1.0, random_state=0)
    test = make_ranking(n_queries=20, n_items=50, feature_bias=1.0, random_state=1)
    gammas, rates = np.geomspace(0.1, 100.0, 16).tolist(), np.geomspace(0.0005, 0.005, 4).tolist()
    grid = {"gamma": gammas, "learning_rate": rates}

    def search(steps):
        model = DirectRanker(
            "adversarial", layers=(100, 100), adversary_layers=(50, 50), batch_size=32,
            n_epochs=1000, max_steps=steps, device="cpu", n_jobs=1, random_state=0,
        )  # fmt: skip
        return TradeoffSearch(model, grid, cv=test, refit=False).fit(train)

    search(2)
    spent, found = timed(lambda: search(60), 1)
    torch.set_num_threads(1)
    width = train.X.shape[1]
    step = _step(torch, width)
    alone, _ = timed(lambda: [step() for _ in range(60)], 1)
    alone += timed(lambda: [_predictions(test.n_rows, width) for _ in range(64)], 1)[0]
    best = found.cv_results_["mean_test_score"].max()
    return spent, round(best, 2), f"gradients and scores by hand take {alone:.3f} s"


def _stack(torch, widths):
    """Return weights and biases of 64 networks, as the products use them."""
    shapes = [shape for w, v in pairwise(widths) for shape in ((64, w, v), (64, 1, v))]
    return [torch.full(shape, 0.1, requires_grad=True) for shape in shapes]


def _run_stack(torch, x, weights, closed):
    for at in range(0, len(weights), 2):
        x = torch.baddbmm(weights[at + 1], x, weights[at])
        x = x.tanh() if closed or at < len(weights) - 2 else x
    return x


def _step(torch, width):
    """Return a function that computes the gradients of a step by hand, without an optimiser."""
    parts = [_stack(torch, each) for each in ((width, 100, 100), (100, 1), *[(100, 50, 50, 2)] * 2)]
    x, target = torch.full((64, 64, width), 0.1), torch.zeros(64 * 32, dtype=torch.long)

    def step():
        hidden = _run_stack(torch, x, parts[0], True)
        score = _run_stack(torch, hidden, parts[1], False)
        loss = (0.5 - (score[:, :32] - score[:, 32:]).tanh()).square().sum()
        hidden = hidden.detach() - 0.5 * (hidden - hidden.detach())
        for rows, adversary in zip(hidden.split(32, dim=1), parts[2:], strict=True):
            logits = _run_stack(torch, rows, adversary, False).reshape(-1, 2)
            loss = loss + torch.nn.functional.cross_entropy(logits, target)
        torch.autograd.grad(loss, [weight for part in parts for weight in part])

    return step


def _predictions(n_rows, width):
    """Compute the products and activations of the scores of one network."""
    x = np.full((n_rows, width), 0.1)
    for before, after in pairwise((width, 100, 100)):
        x = np.tanh(x @ np.full((before, after), 0.1))


CORNERS = {
    each.__name__: each
    for each in (
        *(audit_bundled, audit_first, audit_uncompiled, audit_shuffled, audit_lists),
        audit_unknown,
        *(fa_star_ir_two, fa_star_ir_three),
        *(balanced_ratio, balanced_aggregated, csv_people, csv_people_without_pyarrow, csv_small),
        search_wide,
    )
}


def run(name, source):
    """Run one corner in a process that imports equirank from this folder."""
    options = {"PYTHONPATH": os.path.abspath(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", __file__, "--run", name]
    done = subprocess.run(
        command, env=os.environ | options, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{name} with {source}: {done.stderr[-800:]}")
    return json.loads(done.stdout.splitlines()[-1])


def same(a, b):
    """Compare results: numbers to nine digits, all else exactly."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) or (a != a and b != b)
    return a == b


def main():
    """Print the seconds, and with a baseline the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--baseline", metavar="SRC")
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--run", choices=CORNERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        spent, result, *note = CORNERS[given.run]()
        print(json.dumps([spent, result, *note]))
        return
    own = Path(__file__).parents[1] / "src"
    for name, corner in CORNERS.items():
        if not name.startswith(tuple(given.only)):
            continue
        runs = {source: [] for source in (given.baseline, str(own)) if source}
        for _ in range(given.repeats):
            for source, found in runs.items():
                found.append(run(name, source))
        spent = {source: min(each[0] for each in found) for source, found in runs.items()}
        words = f"{corner.__doc__} {spent[str(own)]:.3f} s"
        if given.baseline:
            before, after = (runs[source][0][1] for source in (given.baseline, str(own)))
            ratio = spent[given.baseline] / spent[str(own)]
            words += f", before {spent[given.baseline]:.3f} s: {ratio:.1f} times faster"
            words += ", same result" if same(before, after) else ", OTHER RESULT"
        print("; ".join([words, *runs[str(own)][0][2:]]), flush=True)


if __name__ == "__main__":
    main()
