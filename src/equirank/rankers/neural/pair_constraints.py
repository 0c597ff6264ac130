"""Constraints on pairwise accuracies: sets of pairs, batches, proxies, and the two-player game."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError
from ...core.random import generator
from .batches import Rows
from .network import Net

__all__ = [
    "CONSTRAINTS",
    "PAIR_LOSSES",
    "DrawnPairs",
    "PairConstraint",
    "PairSet",
    "PairUnion",
    "batch_gaps",
    "best_mixture",
    "constraint_terms",
    "correlation",
    "game",
    "group_pairs",
    "pair_constraint",
    "pair_loss",
    "signs",
    "stationary",
]


CONSTRAINTS = ("equal_opportunity", "marginal", "continuous")
PAIR_LOSSES = ("hinge", "logistic")
#: Maximum number of pairs of a set that are listed to measure a constraint; more are sampled.
MAX_LISTED = 1_000_000


class PairSet:
    """Pairs whose better row is from one set of rows and whose worse row is from another.

    Parameters
    ----------
    query, grade : ndarray of int
        List and level of relevance of each row.
    weight : ndarray
        Weight of each list: pairs are drawn in proportion to it.
    better, worse : ndarray of int
        Row numbers.

    Attributes
    ----------
    n_pairs : int
        Number of pairs.
    mass : float
        Sum of their weights.

    Examples
    --------
    >>> rows = np.arange(4)
    >>> pairs = PairSet(np.array([0, 0, 1, 1]), np.array([1, 0, 0, 2]), np.ones(2), rows, rows)
    >>> pairs.listed()
    array([[0, 3],
           [1, 2]])
    """

    def __init__(
        self,
        query: np.ndarray,
        grade: np.ndarray,
        weight: np.ndarray,
        better: np.ndarray,
        worse: np.ndarray,
    ) -> None:
        levels = int(grade.max(initial=0)) + 1
        key = query.astype(np.int64) * levels + grade
        self.worse = worse[np.argsort(key[worse], kind="stable")]
        keys = key[self.worse]
        low = np.searchsorted(keys, query[better].astype(np.int64) * levels)
        count = np.searchsorted(keys, key[better]) - low
        has_pair = count > 0
        self.better, self.low, self.count = better[has_pair], low[has_pair], count[has_pair]
        self.weight = weight[query[self.better]].astype(np.float64)
        self.edges = np.cumsum(self.count * self.weight)
        self.n_pairs = int(self.count.sum())
        self.mass = float(self.edges[-1]) if len(self.edges) else 0.0

    def draw(self, n_pairs: int, rng: np.random.Generator) -> np.ndarray:
        """Draw pairs with replacement: row numbers (2 x pair), the better ones first."""
        at = np.searchsorted(self.edges, rng.random(n_pairs) * self.mass, side="right")
        at = np.minimum(at, len(self.better) - 1)
        step = (rng.random(n_pairs) * self.count[at]).astype(np.int64)
        return np.stack([self.better[at], self.worse[self.low[at] + step]])

    def listed(self) -> np.ndarray:
        """Return every pair once (2 x pair)."""
        begin = np.cumsum(self.count) - self.count
        index = np.arange(self.n_pairs) + np.repeat(self.low - begin, self.count)
        return np.stack([np.repeat(self.better, self.count), self.worse[index]])

    def listed_weights(self) -> np.ndarray:
        """Return the weight of each pair of `listed`."""
        return np.repeat(self.weight, self.count)


class PairUnion:
    """Union of several sets of pairs."""

    def __init__(self, sets: Sequence[PairSet]) -> None:
        self.sets = list(sets)
        self.edges = np.cumsum([part.mass for part in self.sets])
        self.mass = float(self.edges[-1]) if self.sets else 0.0

    def draw(self, n_pairs: int, rng: np.random.Generator) -> np.ndarray:
        """Draw pairs with replacement: row numbers (2 x pair), the better ones first."""
        which = np.searchsorted(self.edges, rng.random(n_pairs) * self.mass, side="right")
        which = np.minimum(which, len(self.sets) - 1)
        pairs = np.empty((2, n_pairs), dtype=np.int64)
        for at, part in enumerate(self.sets):
            own = which == at
            if own.any():
                pairs[:, own] = part.draw(int(own.sum()), rng)
        return pairs


def group_pairs(
    query: np.ndarray, y: np.ndarray, weight: np.ndarray, code: np.ndarray
) -> dict[tuple[int, int], PairSet]:
    """Return the non-empty sets by the groups of the better and of the worse row.

    Pairs of lists of weight 0 do not count. The code of an unknown label is -1.
    """
    grade = np.unique(y, return_inverse=True)[1]
    first = int(code.min(initial=0))
    members = {g: np.flatnonzero(code == g) for g in range(first, int(code.max(initial=0)) + 1)}
    sets = {
        (g, h): PairSet(query, grade, weight, better, worse)
        for g, better in members.items()
        for h, worse in members.items()
    }
    return {groups: pairs for groups, pairs in sets.items() if pairs.mass > 0.0}


class DrawnPairs:
    """Batches of drawn pairs: of all pairs, then of each further set.

    A batch has every column of the rows as (2 x pair x ...), the better row of each pair first:
    ``batch_size`` pairs of the first set, then ``n_further`` of each further one. An epoch draws as
    many pairs of the first set as there are rows.
    """

    def __init__(
        self,
        rows: Rows,
        first: PairSet | PairUnion,
        further: Sequence[PairSet | PairUnion],
        n_further: int,
        batch_size: int,
        seed: int,
    ) -> None:
        self.rows, self.first, self.further = rows, first, list(further)
        self.n_further, self.batch_size, self.seed = n_further, batch_size, seed

    @property
    def n_steps(self) -> int:
        """Number of steps of an epoch; 0 without pairs."""
        n_rows = len(self.rows.columns["x"])
        return -(-n_rows // self.batch_size) if self.first.mass > 0.0 else 0

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Draw the pairs of an epoch and yield its batches."""
        if self.n_steps == 0:
            return
        rng, n_steps = generator(self.seed, 1, number), self.n_steps
        drawn = [self.first.draw(n_steps * self.batch_size, rng)]
        drawn += [part.draw(n_steps * self.n_further, rng) for part in self.further]
        for step in range(n_steps):
            sizes = [self.batch_size] + [self.n_further] * len(self.further)
            cuts = [slice(step * size, (step + 1) * size) for size in sizes]
            numbers = [pairs[:, cut] for pairs, cut in zip(drawn, cuts, strict=True)]
            yield self.rows.take(self.rows.tensor(np.concatenate(numbers, axis=1)))


@dataclass(frozen=True, eq=False)
class PairConstraint:
    """Constraints that the accuracies of two cells of pairs are similar.

    Attributes
    ----------
    kind : str
        One of `CONSTRAINTS`.
    sign : ndarray
        What defines the cell of a row: the code of its group, or its value.
    n_groups : int
        Number of groups, 0 if the attribute is a number.
    whole : PairUnion
        All pairs.
    sets : list of PairSet
        Sets from which the pairs of the constraints are drawn; with groups, each is a cell.
    differences : list of (int, int)
        Pairs of cells whose accuracies are compared.
    labels : list of (label, label)
        Labels of these cells.
    """

    kind: str
    sign: np.ndarray
    n_groups: int
    whole: PairUnion
    sets: list[Any]
    differences: list[tuple[int, int]]
    labels: list[tuple[Any, Any]]

    @property
    def n_cells(self) -> int:
        """Number of cells; it is also the cell of pairs that do not count."""
        if self.kind == "continuous":
            return 2
        return self.n_groups if self.kind == "marginal" else self.n_groups**2

    def cells(self, better: Any, worse: Any) -> Any:
        """Return the cells of pairs from the signs of their rows (arrays or tensors)."""
        if self.kind == "marginal":
            return better
        if self.kind == "continuous":
            return 2 - 2 * (better > worse) - 1 * (better < worse)
        return better * self.n_groups + worse

    def measure(self, rng: np.random.Generator) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """Return a function from scores of the rows to the error and the signed differences.

        The error is the share of misordered pairs; ties count half. All calls use the same pairs.
        """
        all_pairs = [_fixed(part, rng) for part in self.whole.sets]
        mass = np.array([part.mass for part in self.whole.sets])
        in_cells = [_fixed(part, rng) for part in self.sets]
        pairs = np.concatenate([rows for rows, _ in in_cells], axis=1) if in_cells else None
        weights = np.concatenate([weight for _, weight in in_cells]) if in_cells else np.zeros(0)

        def measured(score: np.ndarray) -> tuple[float, np.ndarray]:
            shares = [np.average(_wrong(score, rows), weights=w) for rows, w in all_pairs]
            error = float(mass @ shares / mass.sum()) if len(mass) else 0.0
            if pairs is None:
                return error, np.zeros(len(self.differences))
            cell = np.asarray(self.cells(self.sign[pairs[0]], self.sign[pairs[1]]))
            lost = np.bincount(cell, weights * _wrong(score, pairs), self.n_cells + 1)
            total = np.bincount(cell, weights, self.n_cells + 1)
            wrong = lost / np.where(total > 0, total, 1.0)
            differences = [
                wrong[b] - wrong[a] if total[a] * total[b] else 0.0 for a, b in self.differences
            ]
            return error, np.array(differences)

        return measured


def pair_constraint(data: RankingData, kind: str, by: Any, column: Any) -> PairConstraint:
    """Return the constraint of a data set."""
    query, y = data.query_of_rows(), np.asarray(data.y, dtype=np.float64)
    weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
    if kind == "continuous":
        everyone = np.zeros(data.n_rows, dtype=np.int64)
        sets = list(group_pairs(query, y, weight, everyone).values())
        differences, labels = ([(1, 0)], [("less", "more")]) if sets else ([], [])
        sign = signs(data, kind, by, column)
        return PairConstraint(kind, sign, 0, PairUnion(sets), sets, differences, labels)
    attribute = data.attribute(by)
    names, code = attribute.categories, signs(data, kind, by, column)
    if data.n_rows < 2:
        raise DataError("X must have two rows or more to make a pair, got one sample")
    if len(names) < 2:
        raise DataError(f"sensitive_features must have two groups or more, got {names[0]!r} only")
    found = group_pairs(query, y, weight, code)
    size, whole = len(names), PairUnion(list(found.values()))
    if kind == "marginal":
        grade, rows = np.unique(y, return_inverse=True)[1], np.flatnonzero(code >= 0)
        code_of = code[rows]
        cells = {g: PairSet(query, grade, weight, rows[code_of == g], rows) for g in range(size)}
    else:
        cells = {g * size + h: part for (g, h), part in found.items() if g != h and min(g, h) >= 0}
    cells = {cell: part for cell, part in cells.items() if part.mass > 0.0}
    differences, labels = [], []
    for g in range(size):
        for h in range(g + 1, size):
            compared = (g, h) if kind == "marginal" else (g * size + h, h * size + g)
            if compared[0] in cells and compared[1] in cells:
                differences.append(compared)
                labels.append((names[g], names[h]))
    used = sorted({cell for compared in differences for cell in compared})
    return PairConstraint(
        kind, code, size, whole, [cells[cell] for cell in used], differences, labels
    )


def _fixed(part: PairSet, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    if part.n_pairs <= MAX_LISTED:
        return part.listed(), part.listed_weights()
    return part.draw(MAX_LISTED, rng), np.ones(MAX_LISTED)


def _wrong(score: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return 1 for each misordered pair, 1/2 for a tie, 0 otherwise."""
    return np.asarray(0.5 - 0.5 * np.sign(score[pairs[0]] - score[pairs[1]]))


def signs(data: RankingData, kind: str, by: Any, column: Any) -> np.ndarray:
    """Return what defines the cell of each row: the code of its group, or its value.

    A numeric attribute is a feature, or has groups whose names are numbers.
    """
    if kind != "continuous":
        return data.attribute(by).codes.astype(np.int64)
    if column is None:
        attribute = data.known_attribute(by, "ConstrainedPairwise with constraint 'continuous'")
        try:
            values = np.array([float(name) for name in attribute.categories])
        except (TypeError, ValueError):
            raise DataError(
                "sensitive_features must be numbers for constraint 'continuous', got the group "
                f"{attribute.categories[0]!r}; alternatively name a feature by column"
            ) from None
        return values[attribute.codes]
    if isinstance(column, str):
        names = list(data.feature_names or ())
        if column not in names:
            raise DataError(f"column must be one of the features, got {column!r}")
        column = names.index(column)
    if column >= data.n_features:
        raise DataError(f"column must be less than {data.n_features}, got {column}")
    return np.asarray(data.X[:, column], dtype=np.float64)


def batch_gaps(net: Net, batch: dict[str, Any], kind: str, n_pairs: int) -> tuple[Any, Any]:
    """Return the score difference of each pair of a batch, and the mean loss of its first pairs."""
    score = net.score(batch["x"]).to(batch["x"].dtype)
    gap = score[0] - score[1]
    return gap, pair_loss(gap[:n_pairs], kind).mean()


def pair_loss(gap: Any, kind: str) -> Any:
    """Return the loss of each pair: ``max(0, 1 - gap)`` or ``log(1 + exp(-gap))``."""
    torch = require("torch", "neural")
    return (1.0 - gap).clamp_min(0.0) if kind == "hinge" else torch.nn.functional.softplus(-gap)


def correlation(gap: Any, code: Any, n_groups: int) -> Any:
    """Return the absolute correlation of the gap with group membership, averaged over groups.

    For two groups both correlations are equal. A group without pairs, or with all, does not count;
    if no group counts, or all gaps are equal, the result is 0.
    """
    torch = require("torch", "neural")
    member = torch.nn.functional.one_hot(code, n_groups).to(gap.dtype)
    member = member - member.mean(dim=0)
    centred = gap - gap.mean()
    variance = member.square().mean(dim=0)
    known = variance > 1e-12
    scale = (variance.clamp_min(1e-12) * centred.square().mean().clamp_min(1e-24)).sqrt()
    rho = (centred[:, None] * member).mean(dim=0) / scale
    return (rho.abs() * known).sum() / known.sum().clamp_min(1)


def constraint_terms(
    gap: Any, cell: Any, n_cells: int, differences: Sequence[tuple[int, int]], kind: str, eps: float
) -> tuple[Any, Any]:
    """Return the differentiable proxies of the constraints and their true violations.

    A difference is the accuracy on the first of two cells less that on the second. It is bounded by
    eps in both directions, which makes two constraints each, all upper ones first. A proxy replaces
    a misordered pair by its loss and, where accuracy must fall, an ordered pair by the loss of the
    reversed pair: both are convex and, for the hinge, upper bounds. Pairs of cell ``n_cells`` do
    not count, nor do differences without pairs in one of the cells.
    """
    torch = require("torch", "neural")
    member = torch.nn.functional.one_hot(cell, n_cells + 1).to(gap.dtype)[:, :n_cells]
    size = member.sum(dim=0)
    count = size.clamp_min(1.0)
    cells = torch.tensor(differences, device=gap.device)
    first, second = cells[:, 0], cells[:, 1]
    wrong = (0.5 - 0.5 * torch.sign(gap.detach())) @ member / count
    difference = (wrong[second] - wrong[first]) * ((size[first] > 0) & (size[second] > 0))
    loss = pair_loss(gap, kind) @ member / count
    reversed_loss = pair_loss(-gap, kind) @ member / count
    upper = loss[second] + reversed_loss[first] - 1.0 - eps
    lower = loss[first] + reversed_loss[second] - 1.0 - eps
    return torch.cat([upper, lower]), torch.cat([difference - eps, -difference - eps])


def stationary(matrix: Any) -> Any:
    """Return the stationary distribution of a column-stochastic matrix."""
    torch = require("torch", "neural")
    size = len(matrix)
    system = matrix - torch.eye(size, dtype=matrix.dtype, device=matrix.device)
    system = torch.cat([system[:-1], torch.ones_like(system[:1])])
    right = torch.zeros(size, dtype=matrix.dtype, device=matrix.device)
    right[-1] = 1.0
    return torch.linalg.solve(system, right)


def game(loss: Any, proxy: Any, violation: Any, logits: Any) -> Any:
    """Return the joint objective: the proxy Lagrangian of the scorer, the regret of its opponent.

    The columns of ``logits`` are distributions up to a softmax. The stationary distribution of
    their matrix weighs the loss first, then the differentiable ``proxy`` of each constraint. A
    plain gradient step multiplies the matrix by ``exp(rate violation x weights)`` with the true
    violations, which need no gradient; this minimises swap regret.
    """
    torch = require("torch", "neural")
    with torch.no_grad():
        share = stationary(logits.softmax(dim=0))
        reward = torch.cat([torch.zeros_like(violation[:1]), violation])
    ascent = (logits * reward[:, None] * share[None, :]).sum()
    return share[0] * loss + share[1:] @ proxy - (ascent - ascent.detach())


def best_mixture(errors: np.ndarray, differences: np.ndarray, eps: float) -> np.ndarray:
    """Return mixture weights of least violation beyond eps and, among these, of least error.

    Examples
    --------
    >>> best_mixture(np.array([0.1, 0.3]), np.array([[0.2], [-0.2]]), 0.1).round(2)
    array([0.75, 0.25])
    """
    from scipy.optimize import linprog

    both = np.concatenate([differences, -differences], axis=1).T
    size, max_slack = len(errors), None
    for objective in (np.append(np.zeros(size), 1.0), np.append(errors, 0.0)):
        found = linprog(
            objective,
            A_ub=np.hstack([both, -np.ones((len(both), 1))]) if len(both) else None,
            b_ub=np.full(len(both), eps) if len(both) else None,
            A_eq=np.append(np.ones(size), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0.0, 1.0)] * size + [(0.0, max_slack)],
            method="highs",
        )
        if found.x is None:
            raise DataError(f"no mixture was found: {found.message}")
        max_slack = found.x[-1] + 1e-9
    shares = np.where(found.x[:-1] < 1e-9, 0.0, found.x[:-1])
    return np.asarray(shares / shares.sum())
