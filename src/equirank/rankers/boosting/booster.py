"""Booster: what RankBoost and its kin share, from costs to rounds to what they record."""

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs

from ...core.data import RankingData
from ...core.errors import DataError, EquirankWarning
from ...core.metric import Metric
from ...core.pair_cost import PairCost, warn_uneven_costs
from ...core.params import (
    AnyOf,
    Constraint,
    Flag,
    Instance,
    Integer,
    Number,
    Optional,
)
from ...core.params import Choice as OneOf
from ..preferences import data_of_pairs
from ..validation import held_out, one_metric
from .binning import Workers, bin_features
from .ensemble import Ensemble, dense
from .factorised import FactorisedWeights
from .pair_errors import PairErrors
from .pair_terms import CostRule, cost_rule
from .pair_weights import PairOptions, PairWeights
from .rounds import Rounds
from .watching import Watch
from .weak_rankers import Choice, Features, Stumps, WeakRankers

__all__ = ["COMMON", "Booster"]

#: Rows up to which the share of misordered pairs is recorded unless asked otherwise.
RECORDED = 100_000

#: Parameters that every booster shares, and what each may be.
COMMON: dict[str, Constraint] = {
    "n_estimators": Integer(1),
    "cost_combination": OneOf("product", "sum", "mean"),
    "pair_cost": Optional(Instance(PairCost, "a pair cost (equirank.PairCost)")),
    "cost_stage": OneOf("initial", "rounds", "post"),
    "missing": OneOf("learn", "abstain"),
    "max_bins": Optional(Integer(2, 255)),
    "smoothing": Optional(Number(0.0)),
    "tol": Number(0.0),
    "max_pairs": Integer(1),
    "pair_sample": Optional(Integer(1)),
    "dtype": OneOf("float32", "float64"),
    "early_stopping": Optional(Integer(1)),
    "validation": AnyOf(
        Number(0.0, 1.0, open_low=True, open_high=True),
        Optional(Instance(RankingData, "a RankingData")),
    ),
    "metric": AnyOf(Instance(str, "a metric's name"), Instance(Metric, "a metric")),
    "record_errors": Optional(Flag()),
    "n_jobs": Optional(Integer()),
}


class Booster(Ensemble):
    """Base of the boosted rankers; each says how alpha comes from a round's errors."""

    fit_takes: ClassVar[frozenset[str]] = frozenset({"cost", "query_weight"})
    params: ClassVar[Mapping[str, Constraint]] = COMMON

    n_estimators: int
    cost_combination: str
    pair_cost: PairCost | None
    cost_stage: str
    missing: str
    max_bins: int | None
    smoothing: float | None
    tol: float
    max_pairs: int
    pair_sample: int | None
    dtype: str
    early_stopping: int | None
    validation: Any
    metric: Any
    record_errors: bool | None
    n_jobs: int | None
    random_state: Any

    def _needs(self) -> frozenset[str]:
        """Add what the metric needs, where validation data is taken from the training data."""
        needs = super()._needs()
        if self.validation is None or isinstance(self.validation, RankingData):
            return needs
        wanted = one_metric(self.metric).needs
        return needs | ({"sensitive_features"} if "sensitive" in wanted else frozenset())

    def _fit(self, data: RankingData) -> None:
        warn_uneven_costs(type(self).__name__, data.cost)
        name = type(self).__name__
        data, watched = held_out(data, self.validation, self.random_state, name)
        data = self._graded(data)
        rule = cost_rule(data, self.cost_combination, self.pair_cost)
        watch = None
        if watched is not None:
            watch = Watch(watched, one_metric(self.metric), self.early_stopping)
        elif self.early_stopping is not None:
            raise DataError(
                "validation must be a share of the queries or a RankingData where early_stopping "
                "is given, got None"
            )
        workers = Workers(effective_n_jobs(self.n_jobs))
        try:
            self._boost(data, rule, watch, workers)
        finally:
            workers.close()

    def fit_pairs(self, X: Any, pairs: Any, preference: Any = None, weight: Any = None) -> Self:
        """Learn from explicit preferences between rows, which need not be transitive.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features; of a `RankingData` only they are used.
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers; the first of each pair is preferred, unless ``preference`` says otherwise.
        preference : array-like, optional
            Per pair: > 0 where the first row is preferred, < 0 where the second is; 0 leaves the
            pair out. Its size weighs the pair.
        weight : array-like, optional
            Further weight per pair, >= 0: what it costs to get it wrong.
        """
        unused = ("pair_cost", "validation")
        data, first, second, cost = data_of_pairs(self, X, pairs, preference, weight, unused)
        workers = Workers(effective_n_jobs(self.n_jobs))
        try:
            weights = self._listed_weights(data.n_rows, first, second, cost, workers)
            weak = self._weak_rankers(data, weights.rows, workers)
            self._keep(Rounds(self, weights, weak, None, None).run(self.n_estimators), weak, None)
        finally:
            workers.close()
        self.is_fitted_ = True
        return self

    def _listed_weights(
        self, n_rows: int, first: np.ndarray, second: np.ndarray, cost: np.ndarray, workers: Workers
    ) -> PairWeights:
        options = self._pair_options()
        return PairWeights.of_preferences(n_rows, first, second, cost, options, workers)

    def _graded(self, data: RankingData) -> RankingData:
        """Give the data with the grades that make the pairs."""
        return data

    def _boost(
        self, data: RankingData, rule: CostRule, watch: Watch | None, workers: Workers
    ) -> None:
        stage = "initial" if rule.uniform else self.cost_stage
        weights = self._weights(data, rule, stage, workers)
        if rule.listed is not None and weights.even:  # equal costs change nothing
            rule, stage = rule.blind(), "initial"
            weights = self._weights(data, rule, stage, workers)
        weak = self._weak_rankers(data, weights.rows, workers)
        errors = None
        if self.record_errors or (self.record_errors is None and data.n_rows <= RECORDED):
            errors = PairErrors(data, rule)
        rounds = Rounds(self, weights, weak, errors, watch)
        if weights.n_pairs == 0:
            warnings.warn(
                f"no pair of unequal relevance costs anything, so {type(self).__name__} learns "
                "nothing: all scores are 0",
                EquirankWarning,
                stacklevel=4,
            )
        if stage == "post":
            blind = self._weights(data, rule.blind(), stage, workers)
            chosen = Rounds(self, blind, weak.fresh(), None, None).run(self.n_estimators).rankers
            rounds.run(len(chosen), fixed=chosen)
        else:
            rounds.run(self.n_estimators, growing=rule if stage == "rounds" else None)
        self._keep(rounds, weak, watch)

    def _weights(self, data: RankingData, rule: CostRule, stage: str, workers: Workers) -> Any:
        """Choose how pair weights are kept: factorised where the costs allow it, else listed."""
        rooted = stage == "rounds" and not rule.to_power(0.5).separable
        if rule.separable and not rooted:
            return FactorisedWeights(data, rule, workers)
        return PairWeights(data, rule, self._pair_options(), workers)

    def _pair_options(self) -> PairOptions:
        return PairOptions(self.max_pairs, self.pair_sample, self.dtype, self.random_state)

    def _weak_rankers(self, data: RankingData, rows: np.ndarray, workers: Workers) -> WeakRankers:
        X = dense(data.X)
        with np.errstate(invalid="ignore"):
            self.low_ = np.fmin.reduce(X, axis=0).astype(np.float64)
            self.high_ = np.fmax.reduce(X, axis=0).astype(np.float64)
        if getattr(self, "weak_ranker", "stump") == "feature":
            return Features(X, rows, self.low_, self.high_, self.missing)
        return self._stumps(X, rows, workers)

    def _stumps(self, X: np.ndarray, rows: np.ndarray, workers: Workers) -> WeakRankers:
        bins = bin_features(X, rows, self.max_bins, self.random_state, workers)
        return Stumps(bins, self.missing, workers)

    def _alpha(self, choice: Choice, sides: tuple[float, float] | None, smooth: float) -> float:
        """Give the weight of a weak ranker with these errors."""
        raise TypeError(f"{type(self).__name__} must define _alpha; Booster is abstract")

    def _keep(self, rounds: Rounds, weak: WeakRankers, watch: Watch | None) -> None:
        """Keep the rounds up to the best one on the validation data."""
        kept = len(rounds.rankers)
        if watch is not None and self.early_stopping is not None and watch.values:
            kept = watch.best + 1
        rankers = rounds.rankers[:kept]
        self.feature_ = np.array([h.feature for h in rankers], dtype=np.int64)
        self.threshold_ = np.array([weak.threshold(h) for h in rankers], dtype=np.float64)
        self.side_ = np.array([h.side for h in rankers], dtype=np.int64)
        self.alpha_ = np.array(rounds.alphas[:kept], dtype=np.float64)
        self.curve_ = rounds.curve
        if watch is not None:
            self.curve_["validation"] = watch.values
