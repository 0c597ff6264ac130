"""Time of a search over 64 DirectRanker configurations of one shape, relative to one.

python benchmarks/neural_search.py                  # the shapes of the published grid, and others
python benchmarks/neural_search.py --quick          # one shape, fewer steps
python benchmarks/neural_search.py --device cuda    # on a GPU
python benchmarks/neural_search.py --jobs 2         # PyTorch on two threads, for both sides

Both sides go through `TradeoffSearch`: one point, or 16 values of gamma x 4 learning rates, trained
on 3,000 rows of two groups and evaluated on 1,000 by NDCG and rND. A stack saves the overhead of a
step, so narrow layers and small batches gain the most; wide ones are bound by the arithmetic of 64
networks. Seconds are CPU time (with several threads, or on a GPU, wall time), the minimum of
several runs, so that other load has little effect. The last line is a small version of the
published grid: step counts are checkpoints, so 300 points are a stack of 30.
"""

import argparse
import time

import numpy as np

from equirank.datasets import make_ranking
from equirank.rankers import DirectRanker
from equirank.search import TradeoffSearch

#: Name, layers, adversary's layers, pairs per step.
SHAPES = [
    ("published grid, small", (5, 5), (2, 2), 32),
    ("published grid, middle", (20, 20), (10, 10), 32),
    ("published grid, large", (100, 100), (50, 50), 32),
    ("default layers", (64, 8), (16,), 32),
    ("published grid, middle", (20, 20), (10, 10), 128),
    ("default layers", (64, 8), (16,), 128),
]
#: The published values of gamma.
GAMMAS = [0.1, 1.0, 2.0, 5.0, 10.0, 100.0]
GRID = {
    "gamma": np.geomspace(0.1, 100.0, 16).tolist(),
    "learning_rate": np.geomspace(0.0005, 0.005, 4).tolist(),
}


def ranker(layers, adversary, batch_size, steps, device, jobs):
    """Return the ranker of the search."""
    return DirectRanker(
        "adversarial",
        layers=layers,
        adversary_layers=adversary,
        batch_size=batch_size,
        n_epochs=1000,
        max_steps=steps,
        device=device,
        n_jobs=jobs,
        random_state=0,
    )


def seconds(model, grid, train, test, clock, repeats):
    """Return the minimum time of a search and its number of points."""
    found = []
    for _ in range(repeats):
        began = clock()
        search = TradeoffSearch(model, grid, cv=test, refit=False).fit(train)
        found.append(clock() - began)
    return min(found), len(search.table)


def main():
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    # CPU time adds up over threads, so wall time is used with several
    cpu = given.device == "cpu" and given.jobs == 1
    clock = time.process_time if cpu else time.perf_counter
    train = make_ranking(n_queries=60, n_items=50, feature_bias=1.0, random_state=0)
    test = make_ranking(n_queries=20, n_items=50, feature_bias=1.0, random_state=1)
    one = {name: values[:1] for name, values in GRID.items()}
    for name, layers, adversary, batch_size in SHAPES[1:2] if given.quick else SHAPES:
        model = ranker(layers, adversary, batch_size, given.steps, given.device, given.jobs)
        seconds(model.set_params(max_steps=5), GRID, train, test, clock, 1)
        model.set_params(max_steps=given.steps)
        alone, _ = seconds(model, one, train, test, clock, 3)
        together, count = seconds(model, GRID, train, test, clock, 2)
        print(
            f"{name:24s} layers {layers}, adversary {adversary}, {batch_size} pairs: "
            f"one {alone:.2f} s, {count} together {together:.2f} s = "
            f"{together / alone:.1f}x (one after another: {count}x)",
            flush=True,
        )
    if not given.quick:
        steps = np.linspace(given.steps // 10, given.steps, 10).astype(int).tolist()
        model = ranker((20, 20), (10, 10), 32, None, given.device, given.jobs)
        wide = {"gamma": GAMMAS, "random_state": [0, 1, 2, 3, 4], "max_steps": steps}
        single = {name: values[-1:] for name, values in wide.items()}
        alone, _ = seconds(model, single, train, test, clock, 3)
        together, count = seconds(model, wide, train, test, clock, 2)
        print(
            f"6 gammas x 5 seeds x 10 step counts: one run {alone:.2f} s, {count} points "
            f"{together:.2f} s = {together / alone:.1f}x"
        )


if __name__ == "__main__":
    main()
