"""Factorised pair weights of RankBoost: O(rows) per round for any number of pairs."""

import numpy as np

from ...core.data import RankingData
from ...kernels.pair_factors import (
    RunTerms,
    item_potentials,
    least_margin,
    reached,
    run_sums,
    shift_scores,
    side_sums,
)
from ..feature_bins import Bins, Workers
from ..training_pairs import CostRule, Stump

__all__ = ["FactorisedWeights"]


#: Longest run of rows that one thread processes at a time.
RUN = 1 << 15


class FactorisedWeights:
    """Weights ``D(a, b) = c(a, b) exp(f(b) - f(a)) / sum``, without a list of pairs.

    Rows are sorted by query, grade and cell; `rows` contains the stored row of each.
    """

    def __init__(self, data: RankingData, rule: CostRule, workers: Workers) -> None:
        self.workers = workers
        y, query = np.asarray(data.y), data.query_of_rows()
        self.rows = np.lexsort((rule.cells, y, query))
        self._lay_out(y[self.rows], query[self.rows], rule.cells[self.rows])
        self.query_weight = None
        if data.query_weight is not None:
            self.query_weight = data.query_weight[query[self.rows]]
        n = len(self.rows)
        self.score = np.zeros(n)
        self.up, self.down, self.potential = np.empty(n), np.empty(n), np.empty(n)
        self.set_costs(rule)
        self.n_pairs = self._count_pairs()

    def _lay_out(self, y: np.ndarray, query: np.ndarray, cells: np.ndarray) -> None:
        n = len(y)
        new_list = np.flatnonzero(np.diff(query, prepend=-1))
        level = np.concatenate([[True], (np.diff(query) != 0) | (np.diff(y) != 0)])
        run = level | np.concatenate([[True], np.diff(cells) != 0])
        starts = np.flatnonzero(run)
        sizes = np.diff(np.append(starts, n))
        if sizes.max() > RUN:  # split long runs between threads
            parts = -(-sizes // RUN)
            inside = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
            starts = np.repeat(starts, parts) + inside * RUN
        self.runs = np.append(starts, n)
        level_starts = np.flatnonzero(level)
        self.levels = np.append(np.searchsorted(starts, level_starts), len(starts))
        self.lists = np.append(np.searchsorted(level_starts, new_list), len(level_starts))
        self.cell = cells[starts].astype(np.int64)

    @property
    def n_runs(self) -> int:
        """Number of runs of rows."""
        return len(self.runs) - 1

    def set_costs(self, rule: CostRule) -> None:
        """Set new costs; the scores stay."""
        self.lower, self.equal, self.higher = rule.factors()
        terms = rule.terms()
        self.weighted = terms is not None or self.query_weight is not None
        n = len(self.rows)
        if terms is None:
            self.p = self.q = np.ones((1, n if self.weighted else 0))
        else:
            self.p, self.q = terms[0][:, self.rows], terms[1][:, self.rows]
        if self.query_weight is not None:
            self.p = self.p * self.query_weight
        self.n_terms = len(self.p)
        self.refresh()

    def _count_pairs(self) -> float:
        """Return the number of pairs with a cost other than 0."""
        sizes = np.diff(self.runs).astype(np.float64)[None]
        lower, higher = ((part > 0.0).astype(np.float64) for part in (self.lower, self.higher))
        factors = [lower, np.where(self.equal > 0.0, lower + higher, 0.0), higher]
        met = self._meet(factors, sizes, np.zeros(self.n_runs))
        return float((sizes * np.exp(met)).sum())

    def _meet(self, factors: list[np.ndarray], value: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the log of the sum over runs of lower, equal and higher grade, for each run."""
        out = np.full(value.shape, -np.inf)
        for way, factor in zip((-1, 0, 1), factors, strict=True):
            if factor.any():
                self._share_lists(way, np.ascontiguousarray(factor), value, scale, out)
        return out

    def _share_lists(
        self, way: int, factor: np.ndarray, value: np.ndarray, scale: np.ndarray, out: np.ndarray
    ) -> None:
        self.workers.share(
            lambda begin, end: reached(
                way, factor, value, scale, self.lists, self.levels, self.cell, begin, end, out
            ),
            len(self.lists) - 1,
            value.size,
        )

    def _terms(self) -> RunTerms:
        return RunTerms(self.p, self.q, self.weighted, self.runs, self.up, self.down)

    def refresh(self) -> None:
        """Compute potentials and total from the scores."""
        self.above = np.empty((self.n_terms, self.n_runs))
        self.below = np.empty((self.n_terms, self.n_runs))
        self.low, self.high = np.empty(self.n_runs), np.empty(self.n_runs)
        n = len(self.rows)
        terms = self._terms()
        sums = (self.low, self.high, self.above, self.below)
        self.workers.share(
            lambda begin, end: run_sums(self.score, terms, begin, end, *sums), self.n_runs, 4 * n
        )
        down = [self.lower, self.equal, self.higher]
        back = [self.higher.T, self.equal.T, self.lower.T]
        better = self._meet(down, self.below, self.high) - self.low
        worse = self._meet(back, self.above, -self.low) + self.high
        with np.errstate(divide="ignore"):
            self.reference = float((better + np.log(self.above)).max(initial=-np.inf))
        if self.reference == -np.inf:
            self.log_total = -np.inf
            self.potential[:] = 0.0
            return
        as_better = np.exp(np.where(self.above > 0.0, better - self.reference, -np.inf))
        total = float((self.above * as_better).sum())
        self.log_total = self.reference + np.log(total)
        self.scale = 1.0 / total
        as_better *= self.scale
        as_worse = np.exp(worse - self.reference) * self.scale
        self.workers.share(
            lambda begin, end: item_potentials(
                terms, begin, end, as_better, as_worse, self.potential
            ),
            self.n_runs,
            2 * n,
        )

    def sides(self, bins: Bins, stump: Stump) -> tuple[float, float]:
        """Return e+ and e- of a stump; an output difference of 1/2 counts half."""
        shape = (3, self.n_terms, self.n_runs)
        above, below = np.empty(shape), np.empty(shape)
        codes, terms = bins.codes[stump.feature], self._terms()
        output = (stump.cut, bins.missing, stump.missing_output)
        self.workers.share(
            lambda begin, end: side_sums(codes, *output, terms, begin, end, above, below),
            self.n_runs,
            len(self.rows),
        )
        zero, one, half = range(3)
        plus = self._pair_sum(above[one], below[zero] + 0.5 * below[half])
        minus = self._pair_sum(above[zero], below[one] + 0.5 * below[half])
        if stump.abstains and above[half].any():
            plus += 0.5 * self._pair_sum(above[half], below[zero])
            minus += 0.5 * self._pair_sum(above[half], below[one])
        return plus, minus

    def _pair_sum(self, above: np.ndarray, below: np.ndarray) -> float:
        met = self._meet([self.lower, self.equal, self.higher], below, self.high)
        size = np.where(above > 0.0, met - self.low - self.reference, -np.inf)
        return float((above * np.exp(size)).sum()) * self.scale

    def add(self, bins: Bins, stump: Stump, alpha: float) -> None:
        """Add ``alpha`` times a stump to the scores and update the weights."""
        codes = bins.codes[stump.feature]
        steps = np.where(np.arange(bins.missing + 1) > stump.cut, alpha, 0.0)
        steps[bins.missing] = alpha * stump.at_missing
        self.workers.share(
            lambda begin, end: shift_scores(self.score, codes, steps, begin, end),
            len(self.rows),
            len(self.rows),
        )
        self.refresh()

    def add_output(self, output: np.ndarray, alpha: float) -> None:
        """Add ``alpha`` times an output per row to the scores and update the weights."""
        self.score += alpha * output
        self.refresh()

    def separated(self) -> bool:
        """Return whether every pair with a cost is ordered correctly."""
        ways = zip((-1, 0, 1), (self.lower, self.equal, self.higher), strict=True)
        return all(
            least_margin(way, factor, self.low, self.high, self.lists, self.levels, self.cell) > 0.0
            for way, factor in ways
            if factor.any()
        )

    def log_cost(self) -> float:
        """Return the logarithm of the sum of all costs."""
        if self.weighted:
            above, below = (np.add.reduceat(x, self.runs[:-1], axis=1) for x in (self.p, self.q))
        else:
            above = below = np.diff(self.runs).astype(np.float64)[None]
        met = self._meet([self.lower, self.equal, self.higher], below, np.zeros(self.n_runs))
        return float(np.log((above * np.exp(met)).sum()))

    def stored_scores(self) -> np.ndarray:
        """Return the scores by stored row."""
        score = np.empty_like(self.score)
        score[self.rows] = self.score
        return score
