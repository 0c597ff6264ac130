"""Pair weights that are listed one by one: for RankBoost+ and for arbitrary pair costs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.random import generator
from ...kernels.pair_lists import fill_pairs, pair_potentials, scale_pairs, side_weights
from .binning import Bins, Workers
from .pair_terms import CostRule
from .stump import Stump

__all__ = ["PairOptions", "PairWeights"]

#: Pairs worked on by one thread at a time, and at most so many parts, whatever the threads.
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

    Rows are kept in the order of query and grade (`rows` gives the stored row of each). Row a's
    pairs are ``second[starts[a]:starts[a + 1]]``. A negative cost stands as the reversed pair.
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
        """List explicit preferences: row ``first`` above row ``second``, at these costs > 0."""
        self = cls.__new__(cls)
        self.workers, self.options = workers, options
        self.rows, self.row_weight = np.arange(n_rows), None
        self._group(first, second, cost, np.ones(len(cost)))
        self._begin()
        return self

    def _list(self, begins: np.ndarray, ends: np.ndarray) -> None:
        """List all pairs, or a sample of them, grouped by the better row."""
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
                f"max_pairs must be at least {total} to list every pair of this data, which takes "
                f"{total * size / 2**30:.1f} GiB of memory, got {self.options.max_pairs}; "
                "pair_sample draws some of them"
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
        """Give the pairs their costs: 0 drops a pair, a negative cost turns it round."""
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
            turn = cost < 0.0
            above, under = np.where(turn, second, first), np.where(turn, first, second)
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
        """Call ``work(first, last)`` over parts of the rows, the same for any number of threads."""
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
        """Raise the costs to the rule's power; the rest of the weights stays."""
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
        """Give the logarithm of the sum of all costs."""
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
        """Give a stump's output per row: 0, 1, or one half."""
        codes = bins.codes[stump.feature]
        return np.where(codes == bins.missing, stump.at_missing, codes > stump.cut)

    def sides(self, bins: Bins, stump: Stump) -> tuple[float, float]:
        """Give e+ and e- of a stump."""
        output = self.output(bins, stump)
        parts = self._each_part(
            lambda first, last: side_weights(
                self.starts, self.second, self.weight, output, self.whole, first, last
            )
        )
        plus, minus = np.sum(parts, axis=0) / self.total
        return float(plus), float(minus)

    def add(self, bins: Bins, stump: Stump, alpha: float) -> None:
        """Add ``alpha`` times a stump to the scores and renew the weights."""
        self.add_output(self.output(bins, stump), alpha)

    def add_output(self, output: np.ndarray, alpha: float, tied: float = 1.0) -> None:
        """Add ``alpha`` times an output per row; pairs tied in it are multiplied by ``tied``."""
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
        """Say whether every pair is in the right order."""

        def work(first: int, last: int) -> bool:
            begin, end = self.starts[first], self.starts[last]
            counts = np.diff(self.starts[first : last + 1])
            better = np.repeat(self.score[first:last], counts)
            return bool((better > self.score[self.second[begin:end]]).all())

        return all(self._each_part(work))

    def stored_scores(self) -> np.ndarray:
        """Give the scores by stored row."""
        score = np.empty_like(self.score)
        score[self.rows] = self.score
        return score


def _distinct_numbers(total: int, count: int, random_state: Any) -> np.ndarray:
    """Draw distinct whole numbers below ``total``, sorted."""
    rng = generator(random_state, 2)
    if total <= 4 * count:
        return np.sort(rng.choice(total, count, replace=False))
    found = np.unique(rng.integers(0, total, size=count))
    while len(found) < count:
        found = np.unique(np.append(found, rng.integers(0, total, size=count - len(found))))
    return found
