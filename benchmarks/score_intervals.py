"""Coverage of the 95% intervals of a ratio of selection rates, from all samples that are possible.

For each pair of sizes and of rates, the probability of all samples whose interval contains the true
ratio is added up: nothing is simulated. A second table is about ratios within several small lists,
by simulation. Beside them, the coverage without the correction for continuity, and that of Katz's
interval. Exits with 1 if the interval of `selection_ratio` contains the truth in less than 93% of
the samples of any cell, or that of `mantel_haenszel` in less than 92% (2,000 samples each).
Run: python benchmarks/score_intervals.py
"""

import argparse
import sys
from itertools import product

import numpy as np
from scipy.stats import binom

from equirank.kernels import prefixes
from equirank.statistics import mantel_haenszel

SIZES = (8, 9, 10, 12, 15, 20, 30, 40, 60, 100)
OTHER_SIZES = (8, 12, 20, 30, 100, 300, 1000)
#: Rates up to 5% are close together, where the coverage of few people changes fast.
RATES = np.array(
    [0.003, 0.005, 0.007, 0.009, 0.011, 0.015, 0.02, 0.03, *np.arange(1, 10) / 20, 0.5]
)
RATES = np.unique(np.concatenate([RATES, 1.0 - RATES]))
Z = 1.959963984540054
SEED = 0
#: People of both sides and the rates of the other side in lists of one shape.
LISTS = {
    "2 lists, 8 and 30": ([8] * 2, [30] * 2, [0.95, 0.3]),
    "3 lists, 20 and 20": ([20] * 3, [20] * 3, [0.1, 0.5, 0.95]),
    "12 lists, 1 and 3": ([1] * 12, [3] * 12, [0.9] * 12),
    "15 lists, 2 and 5": ([2] * 15, [5] * 15, [0.1, 0.5, 0.9] * 5),
    "60 lists, 4 and 16": ([4] * 60, [16] * 60, list(np.linspace(0.05, 0.95, 60))),
}


def katz(a, n1, b, n2):
    """Return Katz's interval, with 0.5 added to each count where the group has none selected."""
    added = np.where(a == 0, 0.5, 0.0)
    a, n1, b, n2 = a + added, n1 + added, b + added, n2 + added
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, error = a * n2 / (b * n1), np.sqrt(np.maximum(1 / a - 1 / n1 + 1 / b - 1 / n2, 0))
        ends = ratio * np.exp(-Z * error), ratio * np.exp(Z * error)
    return np.nan_to_num(ends[0]), np.where(np.isnan(ends[1]), np.inf, ends[1])


def score(a, n1, b, n2):
    """Return the interval of `selection_ratio`."""
    return prefixes.ratio_interval(tuple(part[:, None] for part in (a, n1, b, n2)), Z)


def uncorrected(a, n1, b, n2):
    """Return it without the correction for continuity: Koopman's interval."""
    whole = prefixes._score_spread
    prefixes._score_spread = lambda *given: (whole(*given)[0], 0.0)
    try:
        return score(a, n1, b, n2)
    finally:
        prefixes._score_spread = whole


def coverages(method, n1, n2):
    """Return the coverage for each pair of rates."""
    a, b = np.repeat(np.arange(n1 + 1.0), n2 + 1), np.tile(np.arange(n2 + 1.0), n1 + 1)
    low, high = method(a, np.full_like(a, n1), b, np.full_like(b, n2))
    first, second = (binom.pmf(np.arange(n + 1)[:, None], n, RATES) for n in (n1, n2))
    found = np.empty((len(RATES), len(RATES)))
    for i, j in product(range(len(RATES)), repeat=2):
        ratio = RATES[i] / RATES[j]
        inside = ((low <= ratio * (1 + 1e-12)) & (ratio * (1 - 1e-12) <= high)).reshape(n1 + 1, -1)
        found[i, j] = first[:, i] @ inside @ second[:, j]
    return found


def over_lists(n1, n2, rates, ratio, samples):
    """Return the coverage of the interval of `mantel_haenszel` over lists."""
    rng, hits = np.random.default_rng(SEED), 0
    for _ in range(samples):
        a, b = rng.binomial(n1, ratio * np.array(rates)), rng.binomial(n2, rates)
        found = mantel_haenszel(a, n1, b, n2)
        hits += found.low <= ratio <= found.high
    return hits / samples


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=2_000, help="simulated samples over lists")
    parser.add_argument("--worst", type=int, default=10, help="cells to print")
    options = parser.parse_args()
    cells = []
    for n1, n2 in product(SIZES, OTHER_SIZES):
        of = {each: coverages(each, n1, n2) for each in (score, uncorrected, katz)}
        for i, j in product(range(len(RATES)), repeat=2):
            row = [float(of[each][i, j]) for each in of]
            cells.append((row[0], n1, RATES[i], n2, RATES[j], *row[1:]))
    cells.sort()
    print(f"{len(cells):,} cells; the worst {options.worst}\n")
    print("| people | rate | other people | rate | coverage | uncorrected | Katz |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for value, n1, p1, n2, p2, *others in cells[: options.worst]:
        row = (n1, f"{p1:g}", n2, f"{p2:g}", *(f"{each:.1%}" for each in (value, *others)))
        print("| " + " | ".join(map(str, row)) + " |")
    columns = np.array([(cell[0], *cell[5:]) for cell in cells])
    for words, found in (("worst", columns.min(axis=0)), ("mean", columns.mean(axis=0))):
        print(f"| {words} | | | | " + " | ".join(f"{each:.1%}" for each in found) + " |")
    under = (columns < 0.93).mean(axis=0)
    print("| under 93% | | | | " + " | ".join(f"{each:.1%}" for each in under) + " |")
    print("\n| lists | " + " | ".join(f"ratio {each:g}" for each in (0.5, 0.8, 1.0, 1.05)) + " |")
    print("| --- | --- | --- | --- | --- |")
    lowest = 1.0
    for name, shape in LISTS.items():
        row = [over_lists(*shape, ratio, options.samples) for ratio in (0.5, 0.8, 1.0, 1.05)]
        print(f"| {name} | " + " | ".join(f"{each:.1%}" for each in row) + " |", flush=True)
        lowest = min(lowest, *row)
    return int(cells[0][0] < 0.93 or lowest < 0.92)


if __name__ == "__main__":
    sys.exit(main())
