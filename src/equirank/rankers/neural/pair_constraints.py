"""Constraints on pairwise accuracies: which pairs they look at, and how scores keep to them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from .drawn_pairs import PairSet, PairUnion, group_pairs

__all__ = ["CONSTRAINTS", "PairConstraint", "best_mixture", "pair_constraint", "signs"]

CONSTRAINTS = ("equal_opportunity", "marginal", "continuous")
#: Pairs of a set up to which all are listed to measure a constraint; of more, so many are drawn.
MOST_LISTED = 1_000_000


@dataclass(frozen=True, eq=False)
class PairConstraint:
    """Accuracies on cells of pairs, two of which each must be alike.

    Attributes
    ----------
    kind : str
        Of `CONSTRAINTS`.
    sign : ndarray
        Of each row, what cells are made of: its group's code, or its value.
    n_groups : int
        Number of groups, 0 where the attribute is a number.
    whole : PairUnion
        All pairs.
    sets : list of PairSet
        What pairs are drawn from for the constraints; with groups, each is a cell.
    differences : list of (int, int)
        The cells whose accuracies must be alike.
    labels : list of (label, label)
        The words for them.
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
        """Number of cells; a pair of none has this number as its cell."""
        if self.kind == "continuous":
            return 2
        return self.n_groups if self.kind == "marginal" else self.n_groups**2

    def cells(self, better: Any, worse: Any) -> Any:
        """Give the cells of pairs from the signs of their rows, arrays or tensors."""
        if self.kind == "marginal":
            return better
        if self.kind == "continuous":
            return 2 - 2 * (better > worse) - 1 * (better < worse)
        return better * self.n_groups + worse

    def measure(self, rng: np.random.Generator) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """Give a function from scores of the rows to the error and the signed differences.

        The error is the share of misordered pairs; ties count half. The same pairs serve every
        call.
        """
        everything = [_fixed(part, rng) for part in self.whole.sets]
        mass = np.array([part.mass for part in self.whole.sets])
        looked = [_fixed(part, rng) for part in self.sets]
        pairs = np.concatenate([rows for rows, _ in looked], axis=1) if looked else None
        weights = np.concatenate([weight for _, weight in looked]) if looked else np.zeros(0)

        def measured(score: np.ndarray) -> tuple[float, np.ndarray]:
            shares = [np.average(_wrong(score, rows), weights=w) for rows, w in everything]
            error = float(mass @ shares / mass.sum()) if len(mass) else 0.0
            if pairs is None:
                return error, np.zeros(len(self.differences))
            cell = np.asarray(self.cells(self.sign[pairs[0]], self.sign[pairs[1]]))
            lost = np.bincount(cell, weights * _wrong(score, pairs), self.n_cells + 1)
            total = np.bincount(cell, weights, self.n_cells + 1)
            wrong = lost / np.where(total > 0, total, 1.0)
            apart = [
                wrong[b] - wrong[a] if total[a] * total[b] else 0.0 for a, b in self.differences
            ]
            return error, np.array(apart)

        return measured


def pair_constraint(data: RankingData, kind: str, by: Any, column: Any) -> PairConstraint:
    """Write a constraint for a data set."""
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
        raise DataError(f"sensitive_features must hold two groups or more, got {names[0]!r} only")
    found = group_pairs(query, y, weight, code)
    size, whole = len(names), PairUnion(list(found.values()))
    if kind == "marginal":
        grade, rows = np.unique(y, return_inverse=True)[1], np.arange(data.n_rows)
        cells = {g: PairSet(query, grade, weight, rows[code == g], rows) for g in range(size)}
    else:
        cells = {g * size + h: part for (g, h), part in found.items() if g != h}
    cells = {cell: part for cell, part in cells.items() if part.mass > 0.0}
    differences, labels = [], []
    for g in range(size):
        for h in range(g + 1, size):
            two = (g, h) if kind == "marginal" else (g * size + h, h * size + g)
            if two[0] in cells and two[1] in cells:
                differences.append(two)
                labels.append((names[g], names[h]))
    used = sorted({cell for two in differences for cell in two})
    return PairConstraint(
        kind, code, size, whole, [cells[cell] for cell in used], differences, labels
    )


def best_mixture(errors: np.ndarray, differences: np.ndarray, eps: float) -> np.ndarray:
    """Give shares of least violation beyond eps and, among these, of least error.

    Examples
    --------
    >>> best_mixture(np.array([0.1, 0.3]), np.array([[0.2], [-0.2]]), 0.1).round(2)
    array([0.75, 0.25])
    """
    from scipy.optimize import linprog

    both = np.concatenate([differences, -differences], axis=1).T
    size, most = len(errors), None
    for price in (np.append(np.zeros(size), 1.0), np.append(errors, 0.0)):
        found = linprog(
            price,
            A_ub=np.hstack([both, -np.ones((len(both), 1))]) if len(both) else None,
            b_ub=np.full(len(both), eps) if len(both) else None,
            A_eq=np.append(np.ones(size), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0.0, 1.0)] * size + [(0.0, most)],
            method="highs",
        )
        if found.x is None:
            raise DataError(f"no mixture could be found: {found.message}")
        most = found.x[-1] + 1e-9
    shares = np.where(found.x[:-1] < 1e-9, 0.0, found.x[:-1])
    return np.asarray(shares / shares.sum())


def _fixed(part: PairSet, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    if part.n_pairs <= MOST_LISTED:
        return part.listed(), part.listed_weights()
    return part.draw(MOST_LISTED, rng), np.ones(MOST_LISTED)


def _wrong(score: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Say of each pair whether it is misordered; a tied one is by half."""
    return np.asarray(0.5 - 0.5 * np.sign(score[pairs[0]] - score[pairs[1]]))


def signs(data: RankingData, kind: str, by: Any, column: Any) -> np.ndarray:
    """Give of each row what cells are made of: its group's code, or its value.

    An attribute that is a number is a feature, or has groups whose names are numbers.
    """
    if kind != "continuous":
        return data.attribute(by).codes.astype(np.int64)
    if column is None:
        attribute = data.attribute(by)
        try:
            values = np.array([float(name) for name in attribute.categories])
        except (TypeError, ValueError):
            raise DataError(
                "sensitive_features must be numbers for constraint 'continuous', got the group "
                f"{attribute.categories[0]!r}; or name a feature by column"
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
