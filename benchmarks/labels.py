"""Bounds over unknown labels: do they hold the truth, and do their intervals cover it?

Lists of 40 people with two groups are drawn from one population, and labels are hidden at random,
by position, or by group and position. The truth is the value of 100,000 lists with all labels. On
the edge, the true labels are those that attain their lower, or their upper, bound.
Run: python benchmarks/labels.py
"""

import argparse
from time import perf_counter

import numpy as np

from equirank.statistics.unknown_labels import bounds_of_sides

LENGTH, TOP, SHARE = 40, 10, 0.3
#: Name, values, measure and average.
MEASURES = (
    ("exposure share", "exposure", "share", "people"),
    ("mean position", "position", "mean", "lists"),
    ("position difference", "position", "difference", "lists"),
    ("exposure gap", "exposure", "difference", "lists"),
    ("selection rate", "selected", "mean", "people"),
    ("impact ratio", "selected", "ratio", "people"),
)
HIDDEN = ("at random", "by position", "by group and position", "low edge", "high edge")


def population(rng, n_lists, effect=0.5):
    """Return the values and the true sides of lists; the group scores lower, in some lists more."""
    group = rng.random((n_lists, LENGTH)) < rng.beta(6, 14, (n_lists, 1))
    shift = effect * rng.random((n_lists, 1)) * 2
    score = rng.normal(size=group.shape) - shift * group
    position = (-score).argsort(axis=1).argsort(axis=1) + 1.0
    values = {
        "position": position.ravel(),
        "exposure": (1 / np.log2(position + 1)).ravel(),
        "selected": (position <= TOP).ravel().astype(float),
    }
    return values, group.ravel().astype(np.int8), np.arange(n_lists + 1) * LENGTH


def hide(rng, how, position, side):
    """Return the sides with -1 where the label is unknown."""
    share = {
        "by position": 0.4 * position / LENGTH,
        "by group and position": np.where(side == 1, 0.5, 0.1) * position / LENGTH,
    }.get(how, 0.2)
    return np.where(rng.random(len(side)) < share, np.int8(-1), side)


def coverage(how, which, runs, n_lists, seed):
    """Return how often bounds held the data's truth, the interval the population's, and more."""
    _, name, measure, average = which
    rng = np.random.default_rng(seed)
    settings = {"measure": measure, "average": average}

    def drawn(number, **more):
        values, side, offsets = population(rng, number)
        known = hide(rng, how, values["position"], side)
        complete = bounds_of_sides(values[name], side, offsets, n_boot=0, **settings)
        found = bounds_of_sides(values[name], known, offsets, **settings, **more)
        edges = {"low edge": found.low, "high edge": found.high}
        return edges.get(how, complete.low), found

    truth = float(np.mean([drawn(20_000, n_boot=0)[0] for _ in range(5)]))
    held = covered = 0
    width = 0.0
    for run in range(runs):
        own, found = drawn(n_lists, n_boot=300, random_state=run)
        held += found.low - 1e-9 <= own <= found.high + 1e-9
        covered += found.interval_low <= truth <= found.interval_high
        width += (found.high - found.low) / runs
    return held / runs, covered / runs, truth, width


def time_rows(n_lists=10_000, length=100):
    """Print the time for a million rows with 20% unknown."""
    rng = np.random.default_rng(0)
    position = np.tile(np.arange(1.0, length + 1), n_lists)
    side = rng.choice(np.array([0, 1, -1], np.int8), len(position), p=[0.5, 0.3, 0.2])
    offsets = np.arange(n_lists + 1) * length
    columns = {"position": position, "exposure": 1 / np.log2(position + 1)}
    columns["selected"] = (position <= TOP).astype(float)
    print(
        f"\n{len(position):,} rows, {n_lists:,} lists, 20% unknown, seconds with 1,000 replicates"
    )
    for label, name, measure, average in MEASURES:
        begin = perf_counter()
        bounds_of_sides(columns[name], side, offsets, measure=measure, average=average)
        print(f"{label:20} {perf_counter() - begin:6.2f}")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--lists", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[which[0] for which in MEASURES])
    options = parser.parse_args()
    print(f"{options.runs} runs of {options.lists} lists of {LENGTH}; covered: nominal 95%")
    print(f"{'measure':20} {'unknown':22} {'truth':>8} {'width':>8} {'held':>7} covered")
    for which in (each for each in MEASURES if options.only in (None, each[0])):
        for seed, how in enumerate(HIDDEN, options.seed):
            held, covered, truth, width = coverage(how, which, options.runs, options.lists, seed)
            print(f"{which[0]:20} {how:22} {truth:8.3f} {width:8.3f} {held:7.1%} {covered:7.1%}")
    if options.only is None:
        time_rows()


if __name__ == "__main__":
    main()
