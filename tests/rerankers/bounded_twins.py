"""Slow, plain versions of lists under bounds: all orders, or a program over items and places."""

import itertools

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def discounted(values):
    return float(np.sum(np.asarray(values) / np.log2(np.arange(2, len(values) + 2))))


def keeps(groups, least, most):
    """Whether every prefix of a list of groups (one column per group, 0 or 1) keeps its bounds."""
    counts = np.cumsum(groups, axis=0)
    return bool(((counts >= least) & (counts <= most)).all())


def best_by_all_orders(values, member, k, least, most):
    """The largest discounted value of all lists of k items, None where no list keeps the bounds."""
    found = [
        discounted(values[list(order)])
        for order in itertools.permutations(range(len(values)), k)
        if keeps(member[list(order)], least, most)
    ]
    return max(found, default=None)


def best_by_assignment(values, member, k, least, most):
    """The same by a program with one variable per item and place."""
    n, n_groups = member.shape
    weight = 1 / np.log2(np.arange(2, k + 2))
    rows = []
    for j in range(k):
        row = np.zeros((n, k))
        row[:, j] = 1
        rows.append((row, 1, 1))
    for i in range(n):
        row = np.zeros((n, k))
        row[i] = 1
        rows.append((row, 0, 1))
    for j in range(k):
        for g in range(n_groups):
            row = np.zeros((n, k))
            row[:, : j + 1] = member[:, g : g + 1]
            rows.append((row, least[j, g], most[j, g]))
    matrix, low, high = zip(*((r.ravel(), a, b) for r, a, b in rows), strict=True)
    found = milp(
        -np.outer(values, weight).ravel(),
        integrality=np.ones(n * k),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(np.array(matrix), np.array(low), np.array(high)),
        options={"mip_rel_gap": 1e-9},
    )
    return None if found.x is None else -float(found.fun)
