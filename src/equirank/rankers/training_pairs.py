"""Costs and weights of training pairs, and the list of pairs if costs do not factorise."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.pair_cost import PairCost
from ..core.random import generator
from ..kernels.pair_lists import fill_pairs, pair_potentials, scale_pairs, side_weights
from .feature_bins import Bins, Workers

__all__ = ["ABSTAIN", "CostRule", "PairOptions", "PairWeights", "Stump", "cost_rule"]


@dataclass(frozen=True, eq=False)
class CostRule:
    """The cost of every pair of stored rows: item costs combined, times a pair cost.

    Attributes
    ----------
    item : ndarray or None
        Cost of each row; None if all are equal.
    combination : {"product", "sum", "mean"}
        How two item costs are combined.
    cells, matrix : ndarray
        Cell of each row and cost of each pair of cells.
    listed : PairCost or None
        A cost that is not a function of cells, computed pair by pair.
    equal_grades : bool
        Whether pairs of equal relevance in different cells count.
    power : float
        The absolute costs are raised to this power.
    """

    item: np.ndarray | None
    combination: str
    cells: np.ndarray
    matrix: np.ndarray
    listed: PairCost | None = None
    equal_grades: bool = False
    power: float = 1.0

    @property
    def uniform(self) -> bool:
        """Whether every pair costs the same."""
        one = (self.matrix == self.matrix[0, 0]).all() and self.matrix[0, 0] > 0
        return bool(self.item is None and self.listed is None and one and not self.equal_grades)

    @property
    def separable(self) -> bool:
        """Whether the costs are a sum of few products over items."""
        rooted = self.power != 1.0 and self.item is not None and self.combination != "product"
        return self.listed is None and not rooted

    def blind(self) -> "CostRule":
        """Return the rule with a cost of 1 for every pair."""
        return CostRule(None, self.combination, self.cells, np.ones_like(self.matrix))

    def to_power(self, power: float) -> "CostRule":
        """Return the rule with costs raised to a power."""
        return replace(self, power=power)

    def terms(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return p and q of the item costs ``sum_t p[t, a] q[t, b]``; None if they are all 1."""
        if self.item is None:
            return None
        if self.combination == "product":
            c = self.item**self.power
            return c[None], c[None]
        c = self.item if self.combination == "sum" else 0.5 * self.item
        one = np.ones_like(c)
        return np.stack([c, one]), np.stack([one, c])

    def factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the factors of (preferred, other) cells, by lower, equal and higher grade."""
        matrix = np.sign(self.matrix) * np.abs(self.matrix) ** self.power
        lower, higher = np.maximum(matrix, 0.0), np.maximum(-matrix.T, 0.0)
        equal = np.zeros_like(lower)
        if self.equal_grades:
            equal = lower + higher
            np.fill_diagonal(equal, 0.0)
        return lower, equal, higher

    def of_pairs(self, data: RankingData, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the signed costs of pairs of stored rows."""
        if self.listed is not None:
            cost = np.asarray(self.listed.pairs(data, first, second), dtype=np.float64)
            if cost.shape != first.shape or not np.isfinite(cost).all():
                raise DataError(
                    f"pair_cost {type(self.listed).__name__} must return one finite number per pair"
                )
        else:
            cost = self.matrix[self.cells[first], self.cells[second]]
        if self.item is not None:
            a, b = self.item[first], self.item[second]
            both = a * b if self.combination == "product" else a + b
            cost = cost * (0.5 * both if self.combination == "mean" else both)
        return cost if self.power == 1.0 else np.sign(cost) * np.abs(cost) ** self.power


def cost_rule(data: RankingData, combination: str, pair_cost: PairCost | None) -> CostRule:
    """Return the cost rule of a data set; equal costs are dropped, so that they change nothing."""
    item = None if data.cost is None else np.asarray(data.cost, dtype=np.float64)
    if item is not None:  # relative to the largest, to avoid overflow and underflow
        item = None if (item == item[0]).all() else item / item.max()
    cells, matrix = np.zeros(data.n_rows, dtype=np.int32), np.ones((1, 1))
    rule = CostRule(item, combination, cells, matrix)
    if pair_cost is None:
        return rule
    found = pair_cost.blocks(data)
    if found is None:
        return replace(rule, listed=pair_cost)
    cells, matrix = _checked(pair_cost, found, data.n_rows)
    if (matrix == matrix[0, 0]).all() and matrix[0, 0] > 0 and not pair_cost.equal_grades:
        return rule
    matrix = matrix / max(np.abs(matrix).max(), np.finfo(np.float64).tiny)
    return replace(rule, cells=cells, matrix=matrix, equal_grades=pair_cost.equal_grades)


def _checked(pair_cost: PairCost, found: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    cells, matrix = np.asarray(found[0], dtype=np.int32), np.asarray(found[1], dtype=np.float64)
    name = type(pair_cost).__name__
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise DataError(f"pair_cost {name} must return a square matrix of finite numbers by cell")
    if cells.shape != (n_rows,) or cells.min() < 0 or cells.max() >= len(matrix):
        raise DataError(f"pair_cost {name} must return one cell of its matrix per row")
    return cells, matrix


#: The side of a stump with output 1/2 for a missing feature.
ABSTAIN = 2


@dataclass(frozen=True)
class Stump:
    """A threshold stump on binned features.

    Attributes
    ----------
    feature, cut : int
        The output is 1 if the bin code of the feature is above ``cut``.
    side : int
        The output for a missing feature: 0, 1, or 2 for 1/2.
    """

    feature: int
    cut: int
    side: int = 0

    @property
    def abstains(self) -> bool:
        """Whether the output for a missing feature is 1/2."""
        return self.side == ABSTAIN

    @property
    def missing_output(self) -> int:
        """Code of the output for a missing feature."""
        return self.side

    @property
    def at_missing(self) -> float:
        """Output for a missing feature."""
        return 0.5 if self.abstains else float(self.side)


#: Number of pairs per part, and largest number of parts, for any number of threads.
PART, PARTS = 1 << 20, 8


@dataclass(frozen=True)
class PairOptions:
    """How pairs are listed: at most ``max_pairs``, a uniform sample of ``sample``, in ``dtype``."""

    max_pairs: int
    sample: int | None
    dtype: str
    random_state: Any


class PairWeights:
    """Weights of listed pairs, grouped by their better item.

    Rows are sorted by query and grade; `rows` contains the stored row of each. The pairs of row a
    are ``second[starts[a]:starts[a + 1]]``. A pair of negative cost is stored reversed.
    """

    whole = False

    def __init__(
        self, data: RankingData, rule: CostRule, options: PairOptions, workers: Workers
    ) -> None:
        self.workers, self.options = workers, options
        y, query = np.asarray(data.y), data.query_of_rows()
        self.rows = np.lexsort((y, query))
        y, query = y[self.rows], query[self.rows]
        new_list = np.concatenate([[True], np.diff(query) != 0])
        level = new_list | np.concatenate([[True], np.diff(y) != 0])
        begins = np.flatnonzero(new_list)[np.cumsum(new_list) - 1]
        edges = np.append(np.flatnonzero(level), len(y))
        ends = edges[np.cumsum(level) - (0 if rule.equal_grades else 1)]
        self._list(begins, ends)
        weight = None if data.query_weight is None else data.query_weight[query]
        if weight is not None or not rule.uniform:
            self._price(data, rule, y, weight)
        self._begin()

    @classmethod
    def of_preferences(
        cls, n_rows: int, first: np.ndarray, second: np.ndarray, cost: np.ndarray,
        options: PairOptions, workers: Workers,
    ) -> Self:  # fmt: skip
        """Return the weights of explicit preferences for ``first`` over ``second``, costs > 0."""
        self = cls.__new__(cls)
        self.workers, self.options = workers, options
        self.rows, self.row_weight = np.arange(n_rows), None
        self._group(first, second, cost, np.ones(len(cost)))
        self._begin()
        return self

    def _list(self, begins: np.ndarray, ends: np.ndarray) -> None:
        """List all pairs, or a sample, grouped by the better row."""
        counts = ends - begins
        starts = np.concatenate([[0], np.cumsum(counts)])
        total, sample = int(starts[-1]), self.options.sample
        self.cost: np.ndarray | None = None
        self.row_weight: np.ndarray | None = None
        if sample is not None and sample < total:
            chosen = _distinct_numbers(total, sample, self.options.random_state)
            first = np.searchsorted(starts, chosen, side="right") - 1
            self.second = (begins[first] + (chosen - starts[first])).astype(np.int32)
            self.starts = np.searchsorted(first, np.arange(len(counts) + 1))
        elif total > self.options.max_pairs:
            size = 4 + 2 * np.dtype(self.options.dtype).itemsize
            raise DataError(
                f"max_pairs must be at least {total} to list every pair of this data, which needs "
                f"{total * size / 2**30:.1f} GiB of memory, got {self.options.max_pairs}; "
                "pair_sample draws a sample"
            )
        else:
            self.starts, self.second = starts, np.empty(total, dtype=np.int32)
            self.workers.share(
                lambda begin, end: fill_pairs(begins, ends, starts, begin, end, self.second),
                len(counts),
                total,
            )
        self.weight = np.ones(len(self.second), dtype=self.options.dtype)

    def _price(
        self, data: RankingData, rule: CostRule, y: np.ndarray, query_weight: np.ndarray | None
    ) -> None:
        """Assign costs to the pairs: 0 drops a pair, a negative cost reverses it."""
        counts = np.diff(self.starts)
        first, second = np.repeat(np.arange(len(counts), dtype=np.int32), counts), self.second
        cost = np.ones(len(second), dtype=self.options.dtype)
        if not rule.uniform:
            a, b = self.rows, self.rows
            for at in range(0, len(second), PART):
                part = slice(at, at + PART)
                cost[part] = rule.of_pairs(data, a[first[part]], b[second[part]])
        if rule.equal_grades:
            cell = rule.cells[self.rows]
            cost[(y[first] == y[second]) & (cell[first] == cell[second])] = 0.0
        self.row_weight = query_weight
        extra = np.ones(len(cost)) if query_weight is None else query_weight[first]
        plain = (cost > 0.0).all() and not rule.equal_grades
        if plain and (cost == cost[:1]).all():
            self.weight = (self.weight * extra).astype(self.options.dtype)
        elif plain:
            self.cost, self.weight = cost, (cost * extra).astype(self.options.dtype)
        else:
            kept = cost != 0.0
            first, second, cost, extra = first[kept], second[kept], cost[kept], extra[kept]
            negative = cost < 0.0
            above, under = np.where(negative, second, first), np.where(negative, first, second)
            self._group(above, under, np.abs(cost), extra)

    def _group(
        self, first: np.ndarray, second: np.ndarray, cost: np.ndarray, extra: np.ndarray
    ) -> None:
        """Sort pairs by their better row."""
        order = np.argsort(first, kind="stable")
        counts = np.bincount(first, minlength=len(self.rows))
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.second = second[order].astype(np.int32)
        self.cost = cost[order].astype(self.options.dtype)
        self.weight = (self.cost * extra[order]).astype(self.options.dtype)

    @property
    def even(self) -> bool:
        """Whether every pair costs the same."""
        return self.cost is None

    def _begin(self) -> None:
        self.power = 1.0
        self.n_pairs = len(self.second)
        self.score = np.zeros(len(self.rows))
        cuts = np.linspace(0, self.n_pairs, min(PARTS, self.n_pairs // PART + 1) + 1)
        self.cuts = np.unique(np.searchsorted(self.starts[:-1], cuts[1:-1]))
        self.cuts = np.concatenate([[0], self.cuts, [len(self.rows)]])
        self.total = float(self.weight.sum(dtype=np.float64))
        self.log_start = self.log_total = math.log(self.total) if self.total > 0 else -math.inf
        self._sum_potentials()

    def _each_part(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Call ``work(first, last)`` over parts of the rows that do not depend on the threads."""
        if self.workers.pool is None or len(self.cuts) == 2:
            return [work(*self.cuts[at : at + 2]) for at in range(len(self.cuts) - 1)]
        jobs = [
            self.workers.pool.submit(work, *self.cuts[at : at + 2])
            for at in range(len(self.cuts) - 1)
        ]
        return [job.result() for job in jobs]

    def _sum_potentials(self) -> None:
        def work(first: int, last: int) -> np.ndarray:
            out = np.zeros(len(self.rows))
            pair_potentials(self.starts, self.second, self.weight, first, last, out)
            return out

        self.potential = sum(self._each_part(work)) / max(self.total, 1e-300)

    def set_costs(self, rule: CostRule) -> None:
        """Raise the costs to the power of the rule; the other factors of the weights stay."""
        if self.cost is None or rule.power == self.power:
            return
        for at in range(0, self.n_pairs, PART):
            part = slice(at, at + PART)
            self.weight[part] *= self.cost[part].astype(np.float64) ** (rule.power - self.power)
        self.power = rule.power
        total = float(self.weight.sum(dtype=np.float64))
        self.log_total += math.log(total / self.total)
        self.total = total
        self._sum_potentials()

    def log_cost(self) -> float:
        """Return the logarithm of the sum of all costs."""
        if self.power == 1.0 or self.cost is None:
            return self.log_start
        cost = self.cost

        def work(first: int, last: int) -> float:
            part = cost[self.starts[first] : self.starts[last]].astype(np.float64) ** self.power
            if self.row_weight is not None:
                counts = np.diff(self.starts[first : last + 1])
                part *= np.repeat(self.row_weight[first:last], counts)
            return float(part.sum())

        return math.log(sum(self._each_part(work)))

    def output(self, bins: Bins, stump: Stump) -> np.ndarray:
        """Return the output of a stump per row: 0, 1, or 1/2."""
        codes = bins.codes[stump.feature]
        return np.where(codes == bins.missing, stump.at_missing, codes > stump.cut)

    def sides(self, bins: Bins, stump: Stump) -> tuple[float, float]:
        """Return e+ and e- of a stump."""
        output = self.output(bins, stump)
        parts = self._each_part(
            lambda first, last: side_weights(
                self.starts, self.second, self.weight, output, self.whole, first, last
            )
        )
        plus, minus = np.sum(parts, axis=0) / self.total
        return float(plus), float(minus)

    def add(self, bins: Bins, stump: Stump, alpha: float) -> None:
        """Add ``alpha`` times a stump to the scores and update the weights."""
        self.add_output(self.output(bins, stump), alpha)

    def add_output(self, output: np.ndarray, alpha: float, tied: float = 1.0) -> None:
        """Add ``alpha`` times an output per row; tied pairs are multiplied by ``tied``."""
        self.score += alpha * output
        scale = 1.0 / self.total

        def work(first: int, last: int) -> tuple[float, np.ndarray]:
            out = np.zeros(len(self.rows))
            total = scale_pairs(
                self.starts, self.second, self.weight, output, alpha, tied, self.whole, scale,
                first, last, out,
            )  # fmt: skip
            return total, out

        parts = self._each_part(work)
        self.total = float(sum(total for total, _ in parts))
        self.log_total += math.log(self.total) if self.total > 0 else -math.inf
        self.potential = sum(out for _, out in parts) / max(self.total, 1e-300)

    def separated(self) -> bool:
        """Return whether every pair is ordered correctly."""

        def work(first: int, last: int) -> bool:
            begin, end = self.starts[first], self.starts[last]
            counts = np.diff(self.starts[first : last + 1])
            better = np.repeat(self.score[first:last], counts)
            return bool((better > self.score[self.second[begin:end]]).all())

        return all(self._each_part(work))

    def stored_scores(self) -> np.ndarray:
        """Return the scores by stored row."""
        score = np.empty_like(self.score)
        score[self.rows] = self.score
        return score


def _distinct_numbers(total: int, count: int, random_state: Any) -> np.ndarray:
    """Draw distinct integers below ``total``, sorted."""
    rng = generator(random_state, 2)
    if total <= 4 * count:
        return np.sort(rng.choice(total, count, replace=False))
    found = np.unique(rng.integers(0, total, size=count))
    while len(found) < count:
        found = np.unique(np.append(found, rng.integers(0, total, size=count - len(found))))
    return found
