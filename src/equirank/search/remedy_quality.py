"""The quality of a remedy: NDCG by relevance or by score, its loss, and their intervals."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from ..core.random import generator
from ..core.ranking import Ranking
from ..core.shuffles import bootstrap_t
from ..kernels.discounts import discounts
from ..kernels.segments import divide
from ..rerankers.reranking import with_gains
from .list_selection import Selection
from .targets import FEWEST_LISTS, Estimate

__all__ = ["Quality"]

#: Most people times replicates of an interval of few lists, and fewest replicates.
MOST_DRAWN, FEWEST_DRAWS = 4_000_000, 100
#: Most draws of a random order in the replicates.
MOST_ORDERS = 8


class Quality:
    """NDCG of rankings of the same lists, by relevance if that is known, else by score.

    NDCG is linear in the expected discounts of people, so ties and draws are exact.

    Parameters
    ----------
    before : Ranking
        The lists as they are ranked now.
    selection : Selection or None
        Who counts; None for everyone.
    """

    def __init__(self, before: Ranking, selection: Selection | None) -> None:
        data = before.data
        self.selection = selection
        self.known = data.y is not None or data.score is not None
        self.name = ""
        if not self.known:
            return
        _, self.data = with_gains(data, None)
        gain = "relevance" if data.y is not None else "score"
        at = "" if selection is None else f"@{selection.k}" if selection.k else " of the selected"
        self.name = f"NDCG{at} by {gain}"
        y = np.asarray(self.data.y, dtype=float)
        self.gains = np.exp2(y) - 1.0 if data.y is not None else y
        longest = int(np.diff(data.offsets).max())
        self.weights = discounts(longest, "log2")
        self.best = Ranking.from_scores(replace(data, score=self.gains))
        self.ideal = self._gained(self.best)
        self.ranking = before
        self.before = self._lists(before)
        self._counts: np.ndarray | None = None
        self._ideals: list[np.ndarray] = []
        self._first: np.ndarray | None = None

    def _gained(self, ranking: Ranking) -> np.ndarray:
        """Return the expected DCG of each list."""
        if self.selection is None:
            expected = ranking.expect(lambda position: self.weights[: len(position)])
        else:
            expected = self.selection.weighted(ranking, self.weights)
        query = self.data.query_of_rows()
        return np.bincount(query, expected * self.gains, self.data.n_queries)

    def _lists(self, ranking: Ranking) -> np.ndarray:
        """Return the NDCG of each list; NaN where it is undefined."""
        return divide(self._gained(ranking), self.ideal)

    def value(self, ranking: Ranking) -> float:
        """Return the mean over lists."""
        return _mean(self._lists(ranking)) if self.known else float("nan")

    def measure(
        self, ranking: Ranking, level: float, n_boot: int, seed: int
    ) -> tuple[Estimate, Estimate]:
        """Return the mean over lists and the loss of it, with intervals.

        They are about lists to come if there are enough, else about the people of these lists.
        """
        if not self.known:
            return Estimate(float("nan")), Estimate(float("nan"))
        lists = self._lists(ranking)
        both = [lists, self.before - lists]
        values, defined = [_mean(each) for each in both], ~np.isnan(lists)
        if not n_boot or not defined.any():
            return Estimate(values[0]), Estimate(values[1])
        if defined.sum() >= FEWEST_LISTS:
            ones = np.ones(int(defined.sum()))
            ends = [bootstrap_t(each[defined], ones, [level], n_boot, seed)[0] for each in both]
            quality, loss = (
                Estimate(value, *end, "lists") for value, end in zip(values, ends, strict=True)
            )
            return quality, loss
        drawn = self._drawn(ranking, n_boot, seed)
        first = drawn if ranking is self.ranking else self._drawn(self.ranking, n_boot, seed)
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        widths = [z * float(np.nanstd(each, ddof=1)) for each in (drawn, first - drawn)]
        quality, loss = (
            Estimate(value, value - width, value + width, "people")
            for value, width in zip(values, widths, strict=True)
        )
        return quality, loss

    def _drawn(self, ranking: Ranking, n_boot: int, seed: int) -> np.ndarray:
        """Return the mean NDCG in each replicate of the people (a Poisson bootstrap)."""
        if ranking is self.ranking and self._first is not None:
            return self._first
        if self._counts is None:
            n = self.data.n_rows
            replicates = min(n_boot, max(FEWEST_DRAWS, MOST_DRAWN // n))
            rng = generator(seed, 23)
            self._counts = rng.poisson(1.0, size=(max(replicates, 2), n)).astype(np.int32)
            self._ideals = [self._resampled(self.best, q) for q in range(self.data.n_queries)]
        means = [
            divide(self._resampled(ranking, query), ideal)
            for query, ideal in enumerate(self._ideals)
        ]
        found = np.asarray(np.nanmean(means, axis=0))
        if ranking is self.ranking:
            self._first = found
        return found

    def _resampled(self, ranking: Ranking, query: int) -> np.ndarray:
        """Return the DCG of one list in each replicate: copies of a person follow each other."""
        rows = slice(*self.data.offsets[query : query + 2].tolist())
        counts = np.asarray(self._counts)[:, rows]
        weights = self.weights
        k = len(weights) if self.selection is None else int(self.selection.limits[query])
        sums = np.concatenate([[0.0], np.cumsum(weights * (np.arange(len(weights)) < k))])
        total, used = np.zeros(len(counts)), 0.0
        for at, (weight, draw) in enumerate(ranking.draws()):
            if at == MOST_ORDERS:
                break
            position = draw.position[rows]
            order = np.argsort(np.where(position == 0, len(position) + 1, position), kind="stable")
            order = order[position[order] > 0]
            # Further people hardly ever move up into the top k.
            order = order[position[order] <= k + 8 * int(k**0.5) + 20]
            first = np.flatnonzero(np.diff(position[order], prepend=-1))
            some = counts[:, order]
            size = np.add.reduceat(some, first, axis=1)
            gain = np.add.reduceat(some * self.gains[rows][order], first, axis=1)
            end = np.minimum(np.cumsum(size, axis=1), len(self.weights))
            begin = np.concatenate([np.zeros((len(end), 1), dtype=end.dtype), end[:, :-1]], axis=1)
            share = float(weight[query])
            total += share * (gain * (sums[end] - sums[begin]) / np.maximum(size, 1)).sum(axis=1)
            used += share
        return total / used if used else total


def _mean(lists: np.ndarray) -> float:
    known = lists[~np.isnan(lists)]
    return float(known.mean()) if len(known) else float("nan")
