"""The stumps of RankBoost+: independent ones only, those in use with the weight they have."""

from typing import Self

import numpy as np

from ...core.random import generator
from ...kernels.pair_lists import known_potentials, many_side_weights
from ...kernels.stumps import best_stump, histograms, output_hashes
from .binning import Bins, Workers
from .pair_weights import PairWeights
from .stump import ABSTAIN, Stump
from .weak_rankers import TIE, Choice, Stumps

__all__ = ["PlusStumps", "PlusWeights"]


class PlusWeights(PairWeights):
    """Listed pair weights in which a difference of one half counts as a tie."""

    whole = True

    def many_sides(self, ones: np.ndarray, zeros: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give e+ and e- of many stumps."""

        def work(first: int, last: int) -> np.ndarray:
            found = np.zeros((2, ones.shape[1]))
            many_side_weights(
                self.starts, self.second, self.weight, ones, zeros, first, last, *found
            )
            return found

        plus, minus = sum(self._each_part(work)) / self.total
        return plus, minus

    def known_potential(self, known: np.ndarray) -> np.ndarray:
        """Give the potentials that come from pairs of two known rows."""

        def work(first: int, last: int) -> np.ndarray:
            out = np.zeros(len(self.rows))
            known_potentials(self.starts, self.second, self.weight, known, first, last, out)
            return out

        return sum(self._each_part(work)) / self.total


class PlusStumps(Stumps):
    """Threshold stumps, those already in the ensemble having a weight of their own."""

    def __init__(
        self, bins: Bins, missing: str, workers: Workers, independence: str | None, tol: float
    ) -> None:
        super().__init__(bins, missing, workers)
        self.independence, self.tol = independence, tol
        self.abstaining = np.flatnonzero(bins.has_missing) if self.rule == 2 else np.empty(0, int)
        self.allowed = self._independent()
        self._forget()

    def fresh(self) -> Self:
        """Give the same stumps, none of them in use."""
        other = type(self)(self.bins, self.missing, self.workers, self.independence, self.tol)
        return other

    def _forget(self) -> None:
        n_rows = self.bins.codes.shape[1]
        self.used: dict[Stump, float] = {}
        self.ones = np.zeros((n_rows, 0), dtype=np.uint8)
        self.zeros = np.zeros((n_rows if len(self.abstaining) else 0, 0), dtype=np.uint8)
        self.basis = np.zeros((0, n_rows))

    def _independent(self) -> np.ndarray:
        """Mark the stumps to choose from (side x feature x cut), in the order of ties."""
        bins = self.bins
        n_features, n_cuts = bins.edges.shape
        allowed = np.arange(n_cuts)[None, :] < bins.n_edges[:, None]
        both = np.stack([allowed, allowed & (bins.has_missing & (self.rule == 1))[:, None]])
        if self.independence is None:
            return both
        rng = generator(0, 3)  # the keys only tell columns apart; any will do
        keys = rng.integers(0, 2**64, size=bins.codes.shape[1], dtype=np.uint64)
        hashes = np.empty((n_features, bins.missing + 1), dtype=np.uint64)
        output_hashes(bins.codes, keys, bins.n_edges, bins.missing, hashes)
        lost, every = hashes[:, -1:], np.bitwise_xor.reduce(keys)
        above = hashes[:, :n_cuts]
        pairs = []
        for side in range(2):
            one = above ^ lost if side == 1 else above
            zero = every ^ one ^ (lost if self.rule == 2 else np.uint64(0))
            pairs.append(np.stack([np.minimum(one, zero), np.maximum(one, zero)], axis=-1))
        flat = np.stack(pairs, axis=2).reshape(-1, 2)  # feature, cut, side: the order of ties
        wanted = np.moveaxis(both, 0, 2).ravel()
        places = np.flatnonzero(wanted)
        _, first = np.unique(flat[places], axis=0, return_index=True)
        kept = np.zeros(len(wanted), dtype=np.bool_)
        kept[places[first]] = True
        constant = (flat == 0).any(axis=1)
        return np.ascontiguousarray(
            np.moveaxis((kept & ~constant).reshape(n_features, n_cuts, 2), 2, 0)
        )

    def choose(self, weights: PlusWeights) -> Choice | None:
        """Find the stump of the largest merit ``|e- - e+ + e0 tanh(weight)|``."""
        new = self._best_new(weights)
        old = self._best_old(weights)
        if new is None or old is None:
            return new or old
        if abs(new.merit - old.merit) > TIE:
            return new if new.merit > old.merit else old
        return min(new, old, key=lambda c: (c.ranker.feature, c.ranker.cut, c.ranker.side))

    def _best_new(self, weights: PlusWeights) -> Choice | None:
        sums = self.bins.histograms(weights.potential, self.workers)
        codes = self.bins.codes
        for feature in self.abstaining.tolist():
            known = codes[feature] != self.bins.missing
            histograms(codes, weights.known_potential(known), feature, feature + 1, sums)
        rule = 0 if self.rule == 2 else self.rule
        while True:
            feature, cut, side, r = best_stump(sums, self.bins.n_edges, rule, self.allowed, TIE)
            if feature < 0:
                return None
            stump = Stump(int(feature), int(cut), self._side(int(side)))
            if self.independence != "strict" or self._adds_to_span(weights, stump):
                return Choice(stump, float(r), abs(r))
            self.allowed[side, feature, cut] = False

    def _best_old(self, weights: PlusWeights) -> Choice | None:
        if not self.used:
            return None
        plus, minus = weights.many_sides(self.ones, self.zeros)
        held = np.array(list(self.used.values()))
        merit = np.abs(minus - plus + (1.0 - plus - minus) * np.tanh(held))
        near = np.flatnonzero(merit >= merit.max() - TIE).tolist()
        stumps = list(self.used)
        at = min(near, key=lambda i: (stumps[i].feature, stumps[i].cut, stumps[i].side))
        return Choice(stumps[at], float(plus[at] - minus[at]), float(merit[at]), float(held[at]))

    def _adds_to_span(self, weights: PlusWeights, stump: Stump) -> bool:
        """Say whether the centred output lies outside the span of those in use."""
        output = weights.output(self.bins, stump)
        output = output - output.mean()
        rest = output - self.basis.T @ (self.basis @ output)
        return bool(np.linalg.norm(rest) > self.tol * np.linalg.norm(output))

    def sides(self, weights: PlusWeights, choice: Choice) -> tuple[float, float]:
        """Give e+ and e- of the stump."""
        return weights.sides(self.bins, choice.ranker)

    def again(self, weights: PlusWeights, ranker: Stump) -> Choice:
        """Give the stump with its r and merit under the present weights."""
        plus, minus = weights.sides(self.bins, ranker)
        held = self.used.get(ranker, 0.0)
        merit = abs(minus - plus + (1.0 - plus - minus) * np.tanh(held))
        return Choice(ranker, plus - minus, float(merit), held)

    def add(self, weights: PlusWeights, ranker: Stump, alpha: float) -> None:
        """Add the stump to the scores and to those in use."""
        output = weights.output(self.bins, ranker)
        held = self.used.get(ranker)
        if held is None:
            held = 0.0
            self._use(ranker, output)
        self.used[ranker] = held + alpha
        tied = float(np.exp(_log_cosh(held + alpha) - _log_cosh(held)))
        weights.add_output(output, alpha, tied)

    def _use(self, stump: Stump, output: np.ndarray) -> None:
        side = 0 if stump.side == ABSTAIN else stump.side
        self.allowed[side, stump.feature, stump.cut] = False
        self.ones = np.column_stack([self.ones, output == 1.0]).astype(np.uint8)
        if len(self.zeros):
            self.zeros = np.column_stack([self.zeros, output == 0.0]).astype(np.uint8)
        if self.independence == "strict":
            rest = output - output.mean()
            for _ in range(2):  # twice is enough for a basis that is orthogonal to rounding
                rest = rest - self.basis.T @ (self.basis @ rest)
            self.basis = np.vstack([self.basis, rest / np.linalg.norm(rest)])


def _log_cosh(x: float) -> float:
    return float(np.logaddexp(x, -x) - np.log(2.0))
