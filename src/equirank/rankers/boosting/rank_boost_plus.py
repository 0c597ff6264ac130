"""RankBoost+: boosting in which a tied pair counts as half correct."""

import math
from typing import Annotated, Any, ClassVar, Self, Unpack

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.declared import OnlyWith
from ...core.errors import DataError
from ...core.explain_pair import as_dense
from ...core.given_data import as_ranking_data
from ...core.keywords import FitKeywords, shared_keywords
from ...core.params import Choice, Number, Optional
from ...core.random import generator
from ...kernels.pair_lists import known_potentials, many_side_weights
from ...kernels.stumps import best_stump, histograms, output_hashes
from ..feature_bins import Bins, Workers, bin_features
from ..training_pairs import ABSTAIN, CostRule, PairWeights, Stump, cost_rule
from .booster import Booster
from .rank_boost import TINY
from .weak_rankers import TIE, Stumps, WeakChoice

__all__ = ["PlusStumps", "PlusWeights", "RankBoostPlus"]


class PlusWeights(PairWeights):
    """Listed pair weights in which a difference of 1/2 counts as a tie."""

    whole = True

    def many_sides(self, ones: np.ndarray, zeros: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return e+ and e- of each stump."""

        def work(first: int, last: int) -> np.ndarray:
            found = np.zeros((2, ones.shape[1]))
            many_side_weights(
                self.starts, self.second, self.weight, ones, zeros, first, last, *found
            )
            return found

        plus, minus = sum(self._each_part(work)) / self.total
        return plus, minus

    def known_potential(self, known: np.ndarray) -> np.ndarray:
        """Return the potentials of pairs in which both rows have the feature."""

        def work(first: int, last: int) -> np.ndarray:
            out = np.zeros(len(self.rows))
            known_potentials(self.starts, self.second, self.weight, known, first, last, out)
            return out

        return sum(self._each_part(work)) / self.total


class PlusStumps(Stumps):
    """Threshold stumps; those in the ensemble have an accumulated weight."""

    def __init__(
        self, bins: Bins, missing: str, workers: Workers, independence: str | None, tol: float
    ) -> None:
        super().__init__(bins, missing, workers)
        self.independence, self.tol = independence, tol
        self.abstaining = np.flatnonzero(bins.has_missing) if self.rule == 2 else np.empty(0, int)
        self.allowed = self._independent()
        n_rows = bins.codes.shape[1]
        self.used: dict[Stump, float] = {}
        self.ones = np.zeros((n_rows, 0), dtype=np.uint8)
        self.zeros = np.zeros((n_rows if len(self.abstaining) else 0, 0), dtype=np.uint8)
        self.basis = np.zeros((0, n_rows))

    def fresh(self) -> Self:
        """Return the same stumps, none of them in the ensemble."""
        return type(self)(self.bins, self.missing, self.workers, self.independence, self.tol)

    def _independent(self) -> np.ndarray:
        """Return which stumps may be chosen (side x feature x cut)."""
        bins = self.bins
        n_features, n_cuts = bins.edges.shape
        allowed = np.arange(n_cuts)[None, :] < bins.n_edges[:, None]
        both = np.stack([allowed, allowed & (bins.has_missing & (self.rule == 1))[:, None]])
        if self.independence is None:
            return both
        rng = generator(0, 3)  # keys only distinguish outputs, so any seed will do
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
        flat = np.stack(pairs, axis=2).reshape(-1, 2)  # sorted by feature, cut, side, as ties are
        wanted = np.moveaxis(both, 0, 2).ravel()
        candidates = np.flatnonzero(wanted)
        _, first = np.unique(flat[candidates], axis=0, return_index=True)
        kept = np.zeros(len(wanted), dtype=np.bool_)
        kept[candidates[first]] = True
        constant = (flat == 0).any(axis=1)
        return np.ascontiguousarray(
            np.moveaxis((kept & ~constant).reshape(n_features, n_cuts, 2), 2, 0)
        )

    def choose(self, weights: PlusWeights) -> WeakChoice | None:
        """Return the stump with the largest merit ``|e- - e+ + e0 tanh(weight)|``."""
        new = self._best_new(weights)
        old = self._best_old(weights)
        if new is None or old is None:
            return new or old
        if abs(new.merit - old.merit) > TIE:
            return new if new.merit > old.merit else old
        return min(new, old, key=lambda c: (c.ranker.feature, c.ranker.cut, c.ranker.side))

    def _best_new(self, weights: PlusWeights) -> WeakChoice | None:
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
                return WeakChoice(stump, float(r), abs(r))
            self.allowed[side, feature, cut] = False

    def _best_old(self, weights: PlusWeights) -> WeakChoice | None:
        if not self.used:
            return None
        plus, minus = weights.many_sides(self.ones, self.zeros)
        held = np.array(list(self.used.values()))
        merit = np.abs(minus - plus + (1.0 - plus - minus) * np.tanh(held))
        near = np.flatnonzero(merit >= merit.max() - TIE).tolist()
        stumps = list(self.used)
        at = min(near, key=lambda i: (stumps[i].feature, stumps[i].cut, stumps[i].side))
        return WeakChoice(
            stumps[at], float(plus[at] - minus[at]), float(merit[at]), float(held[at])
        )

    def _adds_to_span(self, weights: PlusWeights, stump: Stump) -> bool:
        """Return whether the centred output is outside the span of those in the ensemble."""
        output = weights.output(self.bins, stump)
        output = output - output.mean()
        rest = output - self.basis.T @ (self.basis @ output)
        return bool(np.linalg.norm(rest) > self.tol * np.linalg.norm(output))

    def sides(self, weights: PlusWeights, choice: WeakChoice) -> tuple[float, float]:
        """Return e+ and e- of the stump."""
        return weights.sides(self.bins, choice.ranker)

    def again(self, weights: PlusWeights, ranker: Stump) -> WeakChoice:
        """Return the stump with its r and merit under the current weights."""
        plus, minus = weights.sides(self.bins, ranker)
        held = self.used.get(ranker, 0.0)
        merit = abs(minus - plus + (1.0 - plus - minus) * np.tanh(held))
        return WeakChoice(ranker, plus - minus, float(merit), held)

    def add(self, weights: PlusWeights, ranker: Stump, alpha: float) -> None:
        """Add the stump to the scores and to the ensemble."""
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
            for _ in range(2):  # twice, so that the basis is orthogonal up to rounding
                rest = rest - self.basis.T @ (self.basis @ rest)
            self.basis = np.vstack([self.basis, rest / np.linalg.norm(rest)])


def _log_cosh(x: float) -> float:
    return float(np.logaddexp(x, -x) - np.log(2.0))


class RankBoostPlus(Booster):
    """RankBoost in which a pair that a weak ranker leaves tied counts as half correct.

    A stump may be chosen again; its weights add up. Each round chooses the stump with the largest
    ``|e- - e+ + e0 tanh(a')|``, where ``a'`` is its current weight (0 if new), and adds
    ``alpha = 1/2 ln((e+ + e0 s(-a')) / (e- + e0 s(a')))``, with ``s(a) = exp(a) / (2 cosh(a))``.
    Weights of pairs ordered correctly are multiplied by ``exp(-alpha)``, wrongly by ``exp(alpha)``,
    tied ones by ``cosh(alpha + a') / cosh(a')``. The loss that decreases is ``E2 = sum over pairs
    of c prod_s w_s``, where ``w_s`` is ``exp(-eta_s)``, ``exp(eta_s)`` or ``cosh(eta_s)`` for a
    pair that stump s, of total weight ``eta_s``, orders correctly, wrongly or not at all.
    `learning_curve_` records it as ``E``; `e2` returns it for any data.

    Ties do not factorise, so pairs are always listed: see ``max_pairs``, ``pair_sample`` and
    ``dtype``. A stump that abstains leaves a pair tied. Among stumps of equal merit, the one with
    the lowest feature, then the lowest threshold, is chosen. Without a pair of unequal relevance
    all scores are 0.

    Parameters
    ----------
    independence : {"dedupe", "strict"} or None
        ``"dedupe"`` excludes stumps that equal another, or its complement, on every training item;
        ``"strict"`` also those whose centred output is in the span of the ensemble; None excludes
        no stump.
    independence_tol : float
        A stump is in the span if the share of its norm outside is at most this.

    References
    ----------
    Connamacher, Pancha, Liu and Ray, RankBoost+: an improvement to RankBoost, Machine Learning
    2020. (The reversed case of the loss is misprinted there in one place.)

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RankBoostPlus
    >>> data = make_ranking(n_queries=20, random_state=0)
    >>> model = RankBoostPlus(n_estimators=40).fit(data)
    >>> round(model.score(data), 2) > 0.8
    True
    >>> bool(np.isclose(model.e2(data)["E2"], model.learning_curve_["E"][-1]))
    True
    """

    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 20}
    only_with: ClassVar[OnlyWith] = {"independence_tol": ("independence", ("strict",))}

    independence: Annotated[str | None, Optional(Choice("dedupe", "strict"))] = "dedupe"
    independence_tol: Annotated[float, Number(0.0, 1.0)] = 1e-6

    def _weights(self, data: RankingData, rule: CostRule, stage: str, workers: Workers) -> Any:
        return PlusWeights(data, rule, self._pair_options(), workers)

    def _listed_weights(
        self, n_rows: int, first: np.ndarray, second: np.ndarray, cost: np.ndarray, workers: Workers
    ) -> PlusWeights:
        options = self._pair_options()
        return PlusWeights.of_preferences(n_rows, first, second, cost, options, workers)

    def _stumps(self, X: np.ndarray, rows: np.ndarray, workers: Workers) -> PlusStumps:
        bins = bin_features(X, rows, self.max_bins, self.random_state, workers)
        return PlusStumps(bins, self.missing, workers, self.independence, self.independence_tol)

    def _alpha(self, choice: WeakChoice, sides: tuple[float, float] | None, smooth: float) -> float:
        plus, minus = sides if sides is not None else (0.0, 0.0)
        tied = max(0.0, 1.0 - plus - minus)
        share = 1.0 / (1.0 + math.exp(min(2.0 * choice.held, 700.0)))  # exp(-a') / (2 cosh a')
        right = plus + tied * share + smooth
        wrong = minus + tied * (1.0 - share) + smooth
        return 0.5 * math.log(max(right, TINY) / max(wrong, TINY))

    @shared_keywords(FitKeywords)
    def e2(self, X: Any, y: Any = None, **given: Unpack[FitKeywords]) -> dict[str, float]:
        """Return the loss E2 of any data, without and with costs.

        It is the sum of ``c prod_s w_s`` over the pairs of unequal relevance (see the class), with
        costs c scaled to sum 1; unless stumps abstain, it is an upper bound of the share of
        misordered pairs (`PairLoss`, R1, over all pairs). It needs the weak rankers: two models
        with the same scores may differ in it. Pairs of all queries are pooled, times
        ``query_weight`` if given, and listed as in training (see ``max_pairs`` and
        ``pair_sample``).

        Returns
        -------
        dict
            ``"E2"``, in which every pair costs the same, and ``"cost_E2"`` with the costs of the
            data and the model's ``pair_cost`` (equal to E2 if there are none). NaN without a pair
            of unequal relevance and a cost other than 0.
        """
        check_is_fitted(self)
        data = self._prediction_data(as_ranking_data(X, y, **given, like=self), None, None, None)
        self._warn_of_given(X, given["qid"], data, "e2")
        if data.y is None:
            raise DataError("y must be an array to compute E2, got None")
        rule = cost_rule(data, self.cost_combination, self.pair_cost)
        found = {"E2": self._tie_loss(data, rule.blind())}
        return found | {"cost_E2": found["E2"] if rule.uniform else self._tie_loss(data, rule)}

    def _tie_loss(self, data: RankingData, rule: CostRule) -> float:
        """Return E2 of the pairs of the data under a cost rule."""
        table, ensemble = as_dense(data.X), self._distinct()
        with Workers(effective_n_jobs(self.n_jobs)) as workers:
            weights = PlusWeights(data, rule, self._pair_options(), workers)
            if weights.n_pairs == 0:
                return math.nan
            for feature, threshold, side, eta in zip(*ensemble.values(), strict=True):
                column = table[weights.rows, feature]
                at_missing = 0.5 if side == ABSTAIN else float(side)
                output = np.where(np.isnan(column), at_missing, column > threshold)
                weights.add_output(output, float(eta), float(np.exp(_log_cosh(float(eta)))))
        return math.exp(min(weights.log_total - weights.log_start, 700.0))
