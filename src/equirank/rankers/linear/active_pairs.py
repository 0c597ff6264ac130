"""Pairs whose margin is too small, summed over without listing them where the costs allow it."""

from functools import partial
from typing import Any, Protocol

import numpy as np

from ...core.data import RankingData
from ...kernels.active_pairs import active_sums, listed_sums, sort_lists
from ..boosting.binning import Workers
from ..boosting.pair_terms import CostRule
from ..boosting.pair_weights import PairWeights

__all__ = ["ActivePairs", "ListedPairs", "SortedPairs"]

#: More grades than this in a list are summed up in a tree.
FEW = 12

Sums = tuple[np.ndarray, tuple[float, float, float]]


class ActivePairs(Protocol):
    """Sums over the pairs (a, b), a preferred, with ``score[a] - score[b] < margin``."""

    score: np.ndarray

    def move(self, score: np.ndarray) -> None:
        """Take new scores; `score` holds them, less a number per list."""

    def sums(self, margin: float, value: np.ndarray, slope: float = 0.0) -> Sums:
        """Give, at the pairs' costs c, what a quadratic function of the active pairs is made of.

        With ``d = value[a] - value[b]``: per row the sum of ``c (d - slope)`` where it is preferred
        less that where it is the other; and the sums of c, c d and c d^2 over all active pairs.
        """


class SortedPairs:
    """Pairs of unequal relevance at separable costs: O(n log n) for n rows, whatever the pairs."""

    def __init__(self, data: RankingData, rule: CostRule, workers: Workers) -> None:
        self.workers, self.offsets = workers, data.offsets
        n = data.n_rows
        self.grade, self.n_grades = _grades(data)
        self.order, self.keys = np.arange(n, dtype=np.int32), np.empty(n)
        weight = None if data.query_weight is None else data.query_weight[data.query_of_rows()]
        self.parts = _parts(rule, weight, int(self.n_grades.max()))
        self.mirrored: np.ndarray | None = None

    def move(self, score: np.ndarray) -> None:
        """Sort the rows of each list, starting from the order of the last call."""
        self.score = np.array(score, dtype=np.float64)
        self.workers.share(
            lambda begin, end: sort_lists(
                self.score, self.offsets, begin, end, self.order, self.keys
            ),
            len(self.offsets) - 1,
            4 * len(self.score),
        )

    def sums(self, margin: float, value: np.ndarray, slope: float = 0.0) -> Sums:
        """Give the sums over the active pairs (see `ActivePairs`)."""
        pull, totals = np.zeros(len(value)), np.zeros((len(self.offsets) - 1, 3))
        for way, kind, p, q in self.parts:
            grade = self.grade if way <= 0 else self._mirror()
            lists = (self.order, self.keys, self.offsets, grade, self.n_grades, kind, p, q)
            call = partial(_some_lists, (*lists, margin, slope, value), (pull, totals))
            self.workers.share(call, len(totals), 4 * len(value))
        mass, line, bend = totals.sum(axis=0).tolist()
        return pull, (mass, line, bend)

    def _mirror(self) -> np.ndarray:
        """Give the grades counted from above, for pairs whose other row has the higher one."""
        if self.mirrored is None:
            most = np.repeat(self.n_grades - 1, np.diff(self.offsets))
            self.mirrored = (most - self.grade).astype(np.int32)
        return self.mirrored


class ListedPairs:
    """Pairs that are listed one by one: arbitrary costs, or explicit preferences."""

    def __init__(self, weights: PairWeights) -> None:
        self.weights = weights
        self.cuts = weights.cuts

    def move(self, score: np.ndarray) -> None:
        """Take new scores."""
        self.score = np.array(score, dtype=np.float64)
        self.listed = self.score[self.weights.rows]

    def sums(self, margin: float, value: np.ndarray, slope: float = 0.0) -> Sums:
        """Give the sums over the active pairs (see `ActivePairs`)."""
        rows, listed = self.weights.rows, value[self.weights.rows]

        def work(begin: int, end: int) -> tuple[np.ndarray, tuple[float, float, float]]:
            pull = np.zeros(len(value))
            pairs = (self.weights.starts, self.weights.second, self.weights.weight)
            totals = listed_sums(*pairs, self.listed, margin, slope, listed, begin, end, pull)
            return pull, totals

        cuts, pool = self.cuts.tolist(), self.weights.workers.pool
        parts = list((map if pool is None else pool.map)(work, cuts[:-1], cuts[1:]))
        pull = np.empty(len(value))
        pull[rows] = np.sum([part[0] for part in parts], axis=0)
        mass, line, bend = np.sum([part[1] for part in parts], axis=0).tolist()
        return pull, (mass, line, bend)


Part = tuple[int, tuple[int, ...], np.ndarray, np.ndarray]


def _some_lists(given: Any, out: Any, begin: int, end: int) -> None:
    active_sums(*given, begin, end, *out)


def _grades(data: RankingData) -> tuple[np.ndarray, np.ndarray]:
    """Number the grades of each list from 0, and count them."""
    y, query = np.asarray(data.y), data.query_of_rows()
    order = np.lexsort((y, query))
    step = np.diff(y[order], prepend=y[order[:1]]) != 0
    step[data.offsets[:-1]] = False
    level = np.cumsum(step)
    level -= np.repeat(level[data.offsets[:-1]], np.diff(data.offsets))
    grade = np.empty(len(y), dtype=np.int32)
    grade[order] = level
    return grade, level[data.offsets[1:] - 1] + 1


def _parts(rule: CostRule, weight: np.ndarray | None, most: int) -> list[Part]:
    """Write the costs as a sum of products over rows: the other row's grade, its kind, p and q."""
    found: list[Part] = []
    one = np.ones(len(rule.cells))
    terms = rule.terms()
    given = [(one, one)] if terms is None else list(zip(*terms, strict=True))
    for way, factor in zip((-1, 0, 1), rule.factors(), strict=True):
        columns, column = np.unique(factor, axis=1, return_inverse=True)
        kind: tuple[int, ...] = () if way == 0 else (0,) if most <= FEW else (0, 0)
        for at, values in enumerate(columns.T):
            if not values.any():
                continue
            mine, others = values[rule.cells], column.ravel()[rule.cells] == at
            mine = mine if weight is None else mine * weight
            for p, q in given:
                found.append((way, kind, np.ascontiguousarray(mine * p), others * q))
    return found
