"""Mixtures of rankings under linear constraints on exposure: two solvers."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, kron, vstack
from scipy.sparse.csgraph import maximum_bipartite_matching

from ..core.errors import DataError
from ..core.inputs import frozen

__all__ = [
    "Constraints",
    "Solution",
    "best_mixture",
    "birkhoff_decomposition",
    "gap_deviation",
    "group_constraints",
    "linear_program",
    "side_by_side",
]


TOLERANCE = 1e-10
ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class Constraints:
    """``low <= rows @ exposure <= high``, one row of coefficients per constraint."""

    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    names: tuple[str, ...]

    def violation(self, value: np.ndarray) -> np.ndarray:
        """Return the violation of each constraint."""
        return np.maximum(np.maximum(self.low - value, value - self.high), 0.0)


@dataclass(frozen=True, eq=False)
class Solution:
    """A mixture of rankings: weights, 0-based positions (ranking x item), constraint values."""

    weights: np.ndarray
    positions: np.ndarray
    value: np.ndarray
    violation: np.ndarray


class _Columns:
    """The rankings generated so far, with their utility and their value in each constraint."""

    def __init__(self, utility: np.ndarray, rows: np.ndarray, attention: np.ndarray) -> None:
        self.utility, self.rows, self.attention = utility, rows, attention
        self.orders: list[np.ndarray] = []
        self.gains: list[float] = []
        self.values: list[np.ndarray] = []

    def price(self, prices: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """Return the best ranking at these prices, its utility and its constraint values."""
        order = np.argsort(-prices, kind="stable")
        attention = self.attention
        gain = float(self.utility[order] @ attention)
        return order, gain, self.rows[:, order] @ attention

    def add(self, column: tuple[np.ndarray, float, np.ndarray]) -> None:
        order, gain, value = column
        self.orders.append(order)
        self.gains.append(gain)
        self.values.append(value)

    def solution(self, weights: np.ndarray, constraints: Constraints) -> Solution:
        """Return the mixture of the columns with positive weight."""
        kept = np.flatnonzero(weights > 1e-13)
        share = weights[kept] / weights[kept].sum()
        positions = np.empty((len(kept), len(self.utility)), dtype=np.int64)
        for at, column in enumerate(kept):
            positions[at, self.orders[column]] = np.arange(len(self.utility))
        value = share @ np.array([self.values[column] for column in kept])
        return Solution(share, positions, value, constraints.violation(value))


def best_mixture(
    utility: np.ndarray,
    attention: np.ndarray,
    constraints: Constraints,
    penalty: float | None = None,
) -> Solution:
    """Find the mixture of rankings with the largest ``utility . exposure``.

    If the constraints cannot hold, the mixture minimises the sum of violations, and utility among
    the columns generated. With a penalty each constraint may be violated at that price per unit.
    """
    scale = float(np.abs(utility).max()) or 1.0
    columns = _Columns(utility / scale, constraints.rows, attention)
    best = columns.price(columns.utility)
    columns.add(best)
    missed = constraints.violation(best[2])
    if not missed.any():
        return columns.solution(np.ones(1), constraints)
    if len(missed) == 1 and penalty is None:
        return _one_constraint(columns, constraints, best)
    if penalty is not None:
        return columns.solution(_generate(columns, constraints, penalty / scale), constraints)
    for row in constraints.rows:
        columns.add(columns.price(row))
        columns.add(columns.price(-row))
    weights = _generate(columns, constraints, None)
    first = columns.solution(weights, constraints)
    if first.violation.max() > 1e-9:
        return first
    return columns.solution(_generate(columns, constraints, np.inf), constraints)


def _one_constraint(
    columns: _Columns, constraints: Constraints, best: tuple[np.ndarray, float, np.ndarray]
) -> Solution:
    """Mix two rankings, one on each side of the binding bound, until no better one exists.

    The two tie at one price of the constraint; the best ranking at that price replaces the one on
    its side, or proves that the pair is optimal.
    """
    row = constraints.rows[0]
    over = best[2][0] > constraints.high[0]
    bound = constraints.high[0] if over else constraints.low[0]
    other = columns.price(-row if over else row)
    near, far = best, other  # near has more utility and violates the bound; far meets it
    if (far[2][0] > bound) if over else (far[2][0] < bound):
        columns.add(far)
        return columns.solution(np.array([0.0, 1.0]), constraints)
    for _ in range(ROUNDS):
        multiplier = (near[1] - far[1]) / (near[2][0] - far[2][0])
        found = columns.price(columns.utility - multiplier * row)
        tie = near[1] - multiplier * near[2][0]
        if found[1] - multiplier * found[2][0] <= tie + 1e-14 * max(1.0, abs(tie)):
            break
        if (found[2][0] > bound) if over else (found[2][0] < bound):
            near = found
        else:
            far = found
    share = (bound - far[2][0]) / (near[2][0] - far[2][0])
    columns.orders, columns.gains, columns.values = [], [], []
    columns.add(near)
    columns.add(far)
    return columns.solution(np.array([share, 1.0 - share]), constraints)


def _generate(columns: _Columns, constraints: Constraints, penalty: float | None) -> np.ndarray:
    """Add rankings until none is better at the prices of the program; return the weights.

    ``penalty=None`` minimises the sum of the violations, infinity forbids them.
    """
    for _ in range(ROUNDS):
        weights, prices, level = _master(columns, constraints, penalty)
        utility = np.zeros_like(columns.utility) if penalty is None else columns.utility
        found = columns.price(utility + prices @ constraints.rows)
        value = (0.0 if penalty is None else found[1]) + prices @ found[2]
        if value <= level + TOLERANCE * max(1.0, abs(level)):
            break
        columns.add(found)
    return _polished(columns, constraints, weights)


def _master(
    columns: _Columns, constraints: Constraints, penalty: float | None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return weights, price of each constraint and optimal level of the program over columns."""
    count, m = len(columns.gains), len(constraints.low)
    hard = penalty is not None and np.isinf(penalty)
    slack = 1.0 if penalty is None else (0.0 if hard else penalty)
    gains = np.zeros(count) if penalty is None else np.array(columns.gains)
    cost = np.concatenate([-gains, np.full(2 * m, slack), np.zeros(m)])
    table = np.zeros((m + 1, count + 3 * m))
    table[:m, :count] = np.array(columns.values).T
    table[:m, count : count + m] = np.eye(m)
    table[:m, count + m : count + 2 * m] = -np.eye(m)
    table[:m, count + 2 * m :] = -np.eye(m)
    table[m, :count] = 1.0
    spare = (0.0, 0.0) if hard else (0.0, None)
    bounds = [(0.0, None)] * count + [spare] * (2 * m)
    bounds += [(float(a), float(b)) for a, b in zip(constraints.low, constraints.high, strict=True)]
    right = np.concatenate([np.zeros(m), [1.0]])
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solved = linprog(cost, A_eq=table, b_eq=right, bounds=bounds, method="highs-ds", options=exact)
    if solved.x is None:
        raise RuntimeError(f"the linear program over rankings failed: {solved.message}")
    marginals = solved.eqlin.marginals
    return solved.x[:count], marginals[:m], -float(marginals[m])


def _polished(columns: _Columns, constraints: Constraints, weights: np.ndarray) -> np.ndarray:
    """Return weights that solve the binding constraints, without the solver's tolerance."""
    kept = np.flatnonzero(weights > 1e-11)
    values = np.array(columns.values)[kept]
    value = weights[kept] @ values
    width = np.maximum(constraints.high - constraints.low, 0.0)
    near = 1e-8 + 1e-8 * width
    binding = [
        (j, bound)
        for j in range(len(value))
        for bound in (constraints.low[j], constraints.high[j])
        if np.isfinite(bound) and abs(value[j] - bound) < near[j]
    ]
    table = np.vstack([*(values[:, j] for j, _ in binding), np.ones(len(kept))])
    right = np.array([*(bound for _, bound in binding), 1.0])
    solved = np.linalg.lstsq(table, right, rcond=None)[0]
    if (solved < 0.0).any() or np.abs(table @ solved - right).max() > 1e-12:
        return weights
    result = np.zeros(len(weights))
    result[kept] = solved
    return result


def group_constraints(
    kind: str | None,
    utility: np.ndarray,
    members: np.ndarray,
    categories: tuple[Any, ...],
    *,
    slack: float,
    lower: Mapping[Any, float],
    upper: Mapping[Any, float],
    query: Any,
) -> Constraints:
    """Return the constraints of a list: differences between groups, and bounds on groups.

    ``members`` are the probabilities of each group (item x group), 1 and 0 for known labels. A list
    of one group has no constraints.

    ``parity`` compares the mean exposure, ``treatment`` the mean exposure per merit, ``impact``
    the mean exposure times utility per merit. Merit is the utility relative to the mean of the
    list, so that all three are in units of exposure.
    """
    present = np.flatnonzero(members.any(axis=0))
    if len(present) == 1 and (members[:, present] == 1.0).all():
        lower, upper = {}, {}
    rows, low, high, names = [], [], [], []
    per_group = (
        {} if kind is None else _coefficients(kind, utility, members, present, categories, query)
    )
    for at, group in enumerate(present[1:], 1):
        others = present[:at] if slack > 0.0 else present[at - 1 : at]
        for other in others if kind is not None else ():
            rows.append(per_group[group] - per_group[other])
            low.append(-slack)
            high.append(slack)
            names.append(f"{kind} of {categories[group]!r} and {categories[other]!r}")
    for group in present:
        name = categories[group]
        if name in lower or name in upper:
            inside = members[:, group]
            rows.append(inside / inside.sum())
            low.append(lower.get(name, -np.inf))
            high.append(upper.get(name, np.inf))
            names.append(f"mean exposure of {name!r}")
    table = np.array(rows) if rows else np.zeros((0, len(members)))
    return Constraints(table, np.array(low), np.array(high), tuple(names))


def _coefficients(
    kind: str,
    utility: np.ndarray,
    members: np.ndarray,
    present: np.ndarray,
    categories: tuple[Any, ...],
    query: Any,
) -> dict[int, np.ndarray]:
    """Return the coefficients of each group: mean exposure, divided by merit if it counts."""
    result = {}
    for group in present:
        inside = members[:, group]
        share = inside / inside.sum()
        if kind != "parity":
            sure = ((inside == 0.0) | (inside == 1.0)).all()
            merit = float(utility[inside == 1.0].mean() if sure else share @ utility)
            if merit <= 0.0:
                raise DataError(
                    f"utility must be positive in every group for constraint {kind!r}, and that "
                    f"of {categories[group]!r} in query {query!r} is 0"
                )
            share = share / merit
            share = share * (utility if kind == "impact" else utility.mean())
        result[int(group)] = share
    return result


def gap_deviation(
    kind: str | None, utility: np.ndarray, members: np.ndarray, exposure: np.ndarray
) -> float:
    """Return the standard deviation of the largest realised gap of two groups, 0 for known labels.

    The value of a group is ``sum z x / sum z w`` over its members z, where x is the exposure and w
    is 1 for ``parity``, the utility otherwise. By the delta method the difference of groups g and h
    has the variance ``sum P_g A^2 + P_h B^2 - (P_g A - P_h B)^2`` with
    ``A = (x - R_g w) / sum P_g w`` and B alike; for two groups and parity this is
    ``sum P (1 - P) ((e - m_G) / n_G + (e - m_H) / n_H)^2``.
    """
    if kind is None:
        return 0.0
    merit = np.ones(len(utility)) if kind == "parity" else utility
    attained = exposure * (utility if kind == "impact" else merit.mean())
    sums = members.T @ merit
    present = np.flatnonzero(sums > 0.0)
    effect = {}
    for g in present:
        ratio = float(members[:, g] @ attained) / sums[g]
        effect[g] = (attained - ratio * merit) / sums[g]
    worst = 0.0
    for g, h in combinations(present, 2):
        own, other = members[:, g], members[:, h]
        mean = own * effect[g] - other * effect[h]
        variance = (own * effect[g] ** 2 + other * effect[h] ** 2 - mean**2).sum()
        worst = max(worst, float(np.sqrt(max(variance, 0.0))))
    return worst


def linear_program(
    utility: np.ndarray, attention: np.ndarray, constraints: Constraints
) -> Solution | None:
    """Return the decomposed best doubly stochastic matrix; None if there is none.

    It has n^2 variables and serves as a reference for lists of up to about 60 items.
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
    weights, positions = birkhoff_decomposition(solved.x.reshape(n, n))
    value = constraints.rows @ (weights @ attention[positions])
    return Solution(weights, positions, value, constraints.violation(value))


def birkhoff_decomposition(P: Any) -> tuple[np.ndarray, np.ndarray]:
    """Decompose a doubly stochastic matrix into a weighted sum of permutations.

    ``P = sum_t w_t Pi_t``. Each step subtracts a perfect matching on the positive entries whose
    smallest entry is as large as possible; at least one entry vanishes, so there are at most
    ``(n - 1)^2 + 1`` permutations. Ties between matchings are broken arbitrarily; an empty matrix
    is an error.

    Parameters
    ----------
    P : array-like of shape (n, n)
        ``P[i, j]`` is the probability of item i at position j; rows and columns sum to 1 within
        1e-6.

    Returns
    -------
    weights : ndarray of shape (n_permutations,)
        Positive, with sum 1.
    permutations : ndarray of int of shape (n_permutations, n)
        ``permutations[t][i]`` is the 0-based position of item i.

    References
    ----------
    Birkhoff, Tres observaciones sobre el algebra lineal, 1946.

    Examples
    --------
    >>> from equirank.rerankers.exposure_program import birkhoff_decomposition
    >>> weights, permutations = birkhoff_decomposition([[0.25, 0.75], [0.75, 0.25]])
    >>> weights
    array([0.75, 0.25])
    >>> permutations
    array([[1, 0],
           [0, 1]])
    """
    left = _checked(P)
    n = len(left)
    weights, permutations = [], []
    while True:
        mass = float(left.sum()) / n
        if mass <= 1e-13:
            break
        position = _widest_matching(left)
        if position is None:
            break  # the remainder is rounding
        weight = float(left[np.arange(n), position].min())
        left[np.arange(n), position] -= weight
        left[left < 1e-15] = 0.0
        weights.append(weight)
        permutations.append(position)
    share = np.array(weights)
    return share / share.sum(), np.array(permutations, dtype=np.int64)


def _checked(P: Any) -> np.ndarray:
    table = np.array(P, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.size == 0:
        raise DataError(f"P must be a square matrix, got shape {table.shape}")
    if not np.isfinite(table).all() or (table < -1e-9).any():
        row, column = np.argwhere(~np.isfinite(table) | (table < -1e-9))[0]
        value = table[row, column]
        raise DataError(f"P must hold numbers >= 0, got {value} in row {row}, column {column}")
    for axis, word in ((1, "row"), (0, "column")):
        sums = table.sum(axis=axis)
        if np.abs(sums - 1.0).max() > 1e-6:
            at = int(np.argmax(np.abs(sums - 1.0)))
            raise DataError(f"P must be doubly stochastic: {word} {at} sums to {sums[at]:.6g}")
    return np.maximum(table, 0.0)


def _widest_matching(left: np.ndarray) -> np.ndarray | None:
    """Find a perfect matching whose smallest entry is as large as possible, by bisection."""
    values = np.unique(left[left > 0.0])
    low, high, best = 0, len(values) - 1, None
    while low <= high:
        middle = (low + high) // 2
        allowed = csr_array((left >= values[middle]).astype(np.int8))
        position = maximum_bipartite_matching(allowed, perm_type="column")
        if (position >= 0).all():
            best, low = position, middle + 1
        else:
            high = middle - 1
    return best


def side_by_side(
    positions: list[np.ndarray], weights: list[np.ndarray], offsets: np.ndarray, k: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (row x draw) and weights (list x draw) of mixtures of different sizes.

    A list with fewer rankings than the longest mixture repeats its first one with weight 0.
    """
    widest = max(len(share) for share in weights)
    position = np.zeros((offsets[-1], widest), dtype=np.int32)
    share = np.zeros((len(weights), widest))
    for query, (found, weight) in enumerate(zip(positions, weights, strict=True)):
        rows = slice(offsets[query], offsets[query + 1])
        position[rows] = found[0][:, None] + 1
        position[rows, : len(found)] = found.T + 1
        share[query, : len(weight)] = weight
    if k is not None:
        position[position > k] = 0
    return frozen(position), frozen(share)
