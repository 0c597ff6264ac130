"""A bound on rank equality with two features, over all orders of their cells.

Law has two features. They are split into q x q cells of about equal size. A linear program chooses
for each two cells the share of draws in which one ranks above the other, so that the largest
difference of rank equality errors is minimal. Every mixture of orders of the cells is such a
choice, but choices need not be transitive, so it is a bound. ``all rows`` is chosen on all rows;
``held out`` is chosen on 70% and evaluated on the remaining rows.

Run: EQUIRANK_DATA=... python benchmarks/rank_equality_bound.py --cells 5 10 20
"""

import argparse

import numpy as np
from fair_reduction import DATA, interval
from scipy.optimize import linprog

from equirank import query_train_test_split


def binned(values, q):
    cuts = np.unique(np.quantile(values, np.linspace(0, 1, q + 1)[1:-1]))
    return np.searchsorted(cuts, values, side="right")


def program(data, cell, n_cells):
    """Return the differences with each second cell first, and the effect of reversing pairs."""
    groups = data.attribute()
    grade = np.unique(data.y, return_inverse=True)[1]
    size = len(groups.categories)
    items = np.zeros((size, n_cells, grade.max() + 1))
    np.add.at(items, (groups.codes, cell, grade), 1.0)
    better = np.cumsum(items[:, :, ::-1], axis=2)[:, :, ::-1] - items
    count = items.sum(axis=(1, 2))
    first, second = np.triu_indices(n_cells, 1)
    base, turn = [], []
    for g in range(size):
        wrong = items[g] @ (better.sum(axis=0) - better[g]).T / (count[g] * (len(cell) - count[g]))
        base.append(np.trace(wrong) / 2 + wrong[second, first].sum())
        turn.append(wrong[first, second] - wrong[second, first])
    a, b = np.triu_indices(size, 1)
    return np.subtract(*np.array(base)[[a, b]]), np.array(turn)[a] - np.array(turn)[b]


def least(base, turn):
    """Return the shares with the smallest violation."""
    rows = np.hstack([np.vstack([turn, -turn]), -np.ones((2 * len(base), 1))])
    price = np.append(np.zeros(turn.shape[1]), 1.0)
    bounds = [(0, 1)] * turn.shape[1] + [(0, None)]
    return linprog(price, rows, np.concatenate([-base, base]), bounds=bounds).x[:-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    data = DATA["law_three"]()
    for q in args.cells:
        pair = [binned(np.asarray(data.X)[:, at], q) for at in (0, 1)]
        seen, cell = np.unique(pair[0] * q + pair[1], return_inverse=True)
        base, turn = program(data, cell, len(seen))
        whole = np.abs(base + turn @ least(base, turn)).max()
        held = []
        for seed in range(args.seeds):
            parts = query_train_test_split(data, by="item", test_size=0.3, random_state=seed)
            train, test = (program(part, cell[part.rows], len(seen)) for part in parts)
            held.append(np.abs(test[0] + test[1] @ least(*train)).max())
        print(f"{len(seen)} cells: all rows {whole:.3f}, held out {interval(held)}", flush=True)


if __name__ == "__main__":
    main()
