"""The classical way: one linear programme over doubly stochastic matrices, then Birkhoff."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, kron, vstack

from .birkhoff_decomposition import birkhoff_decomposition
from .columns import Constraints, Solution

__all__ = ["linear_programme"]


def linear_programme(
    utility: np.ndarray, attention: np.ndarray, constraints: Constraints
) -> Solution | None:
    """Find the best doubly stochastic matrix and decompose it; None where there is none.

    n^2 variables: a reference for lists of up to 60 items or so.
    """
    n = len(utility)
    ones, identity = csr_array(np.ones((1, n))), csr_array(np.eye(n))
    sums = vstack([kron(identity, ones), kron(ones, identity)]).tocsr()
    rows = np.array([np.outer(row, attention).ravel() for row in constraints.rows])
    upper, lower = np.isfinite(constraints.high), np.isfinite(constraints.low)
    table = np.vstack([rows[upper], -rows[lower]]) if len(rows) else None
    right = np.concatenate([constraints.high[upper], -constraints.low[lower]])
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solved = linprog(
        -np.outer(utility, attention).ravel(),
        A_eq=sums,
        b_eq=np.ones(2 * n),
        A_ub=table,
        b_ub=right if len(rows) else None,
        method="highs",
        options=exact,
    )
    if solved.x is None:
        return None
    weights, places = birkhoff_decomposition(solved.x.reshape(n, n))
    value = constraints.rows @ (weights @ attention[places])
    return Solution(weights, places, value, constraints.violation(value))
