"""Booster: the base class of the boosted rankers, their rounds, and their learning curves."""

import math
import warnings
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, Unpack

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from ...core.data import RankingData
from ...core.declared import GIVEN, OnlyWith
from ...core.environment import progress
from ...core.errors import EquirankWarning
from ...core.explain_pair import as_dense
from ...core.inputs import frozen
from ...core.keywords import ListKeywords, shared_keywords
from ...core.pair_cost import warn_uneven_costs
from ...core.params import Choice, Flag, Integer, Number, Optional
from ...core.random import as_seed
from ...kernels.metric_loops import separable_sums
from ...kernels.pair_factors import best_first
from ..early_stopping import METRIC, EarlyStopping, Watch, metric_needs
from ..feature_bins import Workers, bin_features
from ..preferences import PairRanker, checked_pairs
from ..training_pairs import CostRule, PairOptions, PairWeights, Stump, cost_rule
from .ensemble import Ensemble
from .factorised_weights import FactorisedWeights
from .pair_calibration import fit_pair_calibration, pair_probability
from .weak_rankers import Features, Stumps, WeakChoice, WeakRankers

__all__ = ["COLUMNS", "Booster", "PairErrors", "Rounds"]


class PairErrors:
    """The share of misordered training pairs, with and without costs, for any scores.

    ``cost_R2`` is NaN if the costs are not a sum of products over items.
    """

    def __init__(self, data: RankingData, rule: CostRule) -> None:
        self.offsets = frozen(data.offsets)  # one type of argument, so one compiled function
        self.grade = np.unique(np.asarray(data.y), return_inverse=True)[1].ravel()
        one = np.ones((1, data.n_rows))
        weight = one[0] if data.query_weight is None else data.query_weight[data.query_of_rows()]
        self.plain = [(weight, one[0])]
        self.uniform, self.known = rule.uniform, rule.separable and not rule.equal_grades
        self.costly: list[tuple[np.ndarray, np.ndarray]] = []
        self.reversed: list[tuple[np.ndarray, np.ndarray]] = []
        for u, v in zip(*(rule.terms() or (one, one)), strict=True):
            for k, row in enumerate(rule.matrix):
                left = u * weight * (rule.cells == k)
                self.costly.append((left, v * np.maximum(row, 0.0)[rule.cells]))
                if (row < 0.0).any():
                    self.reversed.append((left, v * np.maximum(-row, 0.0)[rule.cells]))

    def __call__(self, score: np.ndarray) -> tuple[float, float]:
        """Return R2 without and with costs, given one score per stored row."""
        order, end = np.empty((2, len(score)), dtype=np.int64)
        best_first(score, self.offsets, order, end)
        wrong, total = self._sum(self.plain, order, end)
        plain = wrong / total if total > 0 else 0.0
        if self.uniform or not self.known:
            return plain, plain if self.uniform else float("nan")
        wrong, total = self._sum(self.costly, order, end)
        against, other = self._sum(self.reversed, order, end)
        whole = total + other
        return plain, (wrong + other - against) / whole if whole > 0 else 0.0

    def _sum(
        self, terms: list[tuple[np.ndarray, np.ndarray]], order: np.ndarray, end: np.ndarray
    ) -> tuple[float, float]:
        wrong = total = 0.0
        for u, v in terms:
            above, tied, every = separable_sums(
                u[order], v[order], self.grade[order], end, self.offsets
            )
            wrong += float(above.sum() + 0.5 * tied.sum())
            total += float(every.sum())
        return wrong, total


#: Columns of the learning curve.
COLUMNS = ("alpha", "r", "e_plus", "e_minus", "e_zero", "Z", "E", "R2", "cost_R2")


class Rule(Protocol):
    """The part of a booster that its rounds use."""

    tol: float
    smoothing: float | None

    def _alpha(self, choice: WeakChoice, sides: tuple[float, float] | None, smooth: float) -> float:
        """Return the weight of a weak ranker with these errors."""


class Rounds:
    """Rounds of RankBoost on given pair weights, with their weak rankers and learning curve."""

    def __init__(
        self,
        rule: Rule,
        weights: Any,
        weak: WeakRankers,
        errors: PairErrors | None,
        watch: Watch | None,
    ) -> None:
        self.rule, self.weights, self.weak = rule, weights, weak
        self.errors, self.watch = errors, watch
        self.rankers: list[Stump] = []
        self.alphas: list[float] = []
        self.curve: dict[str, list[float]] = {name: [] for name in COLUMNS}

    def run(
        self, n_rounds: int, growing: CostRule | None = None, fixed: list[Stump] | None = None
    ) -> Self:
        """Run at most ``n_rounds`` rounds.

        Parameters
        ----------
        n_rounds : int
            Largest number of rounds.
        growing : CostRule, optional
            Costs that enter gradually: round t uses their power t / n_rounds.
        fixed : list of Stump, optional
            The weak rankers to use, in order; by default each round chooses one.
        """
        weights, rule = self.weights, self.rule
        if weights.n_pairs == 0:
            return self
        smooth = 0.5 / weights.n_pairs if rule.smoothing is None else rule.smoothing
        log_cost = weights.log_cost()
        for at in progress(range(n_rounds), "boosting"):
            if growing is not None:
                weights.set_costs(growing.to_power((at + 1) / n_rounds))
                log_cost = weights.log_cost()
            if fixed is None:
                choice = self.weak.choose(weights)
                if choice is None or choice.merit <= rule.tol:
                    break
            else:
                choice = self.weak.again(weights, fixed[at])
            sides = self.weak.sides(weights, choice)
            alpha = rule._alpha(choice, sides, smooth)
            before = weights.log_total
            self.weak.add(weights, choice.ranker, alpha)
            self._record(choice.ranker, choice.r, alpha, sides, before, log_cost)
            if self.watch is not None and self.watch.add(self._watched(choice.ranker, alpha)):
                break
            if fixed is None and weights.separated():
                break
        return self

    def _watched(self, ranker: Stump, alpha: float) -> np.ndarray:
        """Return what the round adds to the scores of the validation data."""
        if self.watch is None:
            return np.zeros(0)
        return alpha * self.weak.output_of(as_dense(self.watch.data.X), ranker)

    def _record(
        self,
        ranker: Stump,
        r: float,
        alpha: float,
        sides: tuple[float, float] | None,
        before: float,
        log_cost: float,
    ) -> None:
        self.rankers.append(ranker)
        self.alphas.append(alpha)
        plus, minus = sides if sides is not None else (math.nan, math.nan)
        after = self.weights.log_total
        plain, costly = math.nan, math.nan
        if self.errors is not None:
            plain, costly = self.errors(self.weights.stored_scores())
        line = [alpha, r, plus, minus, 1.0 - plus - minus]
        line += [math.exp(after - before), math.exp(min(after - log_cost, 700.0)), plain, costly]
        for name, value in zip(COLUMNS, line, strict=True):
            self.curve[name].append(value)


#: Number of rows up to which the share of misordered pairs is recorded by default.
RECORDED = 100_000


class Booster(EarlyStopping, PairRanker, Ensemble):
    """Base of the boosted rankers; a subclass computes alpha from the errors of a round.

    Parameters
    ----------
    n_estimators : int
        Largest number of rounds. Training stops earlier if every pair is ordered correctly, or if
        no weak ranker has a merit above ``tol``.
    cost_stage : {"initial", "rounds", "post"}
        ``"initial"``: the costs are the first weights. ``"rounds"``: their T-th root enters in each
        of T rounds. ``"post"``: weak rankers are chosen without costs, and their weights are then
        fitted again with costs.
    missing : {"learn", "abstain"}
        The output of a stump for a missing feature: the better of 0 and 1, or 1/2.
    smoothing : float, optional
        Added to both errors in alpha; by default 1 / (2 x number of pairs).
    tol : float
        Training stops if no weak ranker has a larger merit (``|r|`` in `RankBoost`).
    max_pairs : int
        Largest number of pairs that may be listed, if they must be. The error for more states the
        number and the memory they need.
    pair_sample : int, optional
        Draw this many pairs uniformly instead of listing all.
    dtype : {"float32", "float64"}
        Precision of the weights of listed pairs.
    calibration : {"sigmoid", "isotonic"} or None
        How `predict_pair_proba` maps differences of scores to probabilities: a sigmoid or an
        isotonic curve, fitted to out-of-fold pairs without their costs; None uses
        ``1 / (1 + exp(-2 (s_a - s_b)))``, which is not calibrated.
    calibration_folds : int
        Number of folds, each of which costs one further fit: of lists, or of the rows of one list.
    metric : str or Metric
        The metric to compute on the validation data.
    record_errors : bool, optional
        Record the share of misordered training pairs after each round; by default up to 100,000
        rows.
    random_state : int, Generator, RandomState or None
        Seed of the validation split, of drawn pairs, and of the rows used for quantiles.
    """

    positional: ClassVar[tuple[str, ...]] = ("n_estimators",)
    unused_with_pairs: ClassVar[tuple[str, ...]] = ("pair_cost", "validation", "calibration")
    only_with: ClassVar[OnlyWith] = {
        "metric": ("validation", GIVEN),
        "calibration_folds": ("calibration", GIVEN),
    }

    n_estimators: Annotated[int, Integer(1)] = 100
    cost_stage: Annotated[str, Choice("initial", "rounds", "post")] = "initial"
    missing: Annotated[str, Choice("learn", "abstain")] = "learn"
    max_bins: Annotated[int | None, Optional(Integer(2, 255))] = 255
    smoothing: Annotated[float | None, Optional(Number(0.0))] = None
    tol: Annotated[float, Number(0.0)] = 1e-7
    max_pairs: Annotated[int, Integer(1)] = 200_000_000
    pair_sample: Annotated[int | None, Optional(Integer(1))] = None
    dtype: Annotated[str, Choice("float32", "float64")] = "float32"
    calibration: Annotated[
        Literal["sigmoid", "isotonic"] | None, Optional(Choice("sigmoid", "isotonic"))
    ] = None
    calibration_folds: Annotated[int, Integer(2)] = 3
    metric: Annotated[Any, METRIC] = "NDCG@10"
    record_errors: Annotated[bool | None, Optional(Flag())] = None
    n_jobs: Annotated[int | None, Optional(Integer())] = -1

    def current_needs(self) -> frozenset[str]:
        """Add what the metric needs if validation data is held out of the training data."""
        return super().current_needs() | metric_needs(self.metric, self.validation)

    def _fit(self, data: RankingData) -> None:
        warn_uneven_costs(type(self).__name__, data.cost)
        self._calibrate(data)
        data, watch = self._split_validation(data, self.metric)
        data = self._graded(data)
        rule = cost_rule(data, self.cost_combination, self.pair_cost)
        with Workers(effective_n_jobs(self.n_jobs)) as workers:
            self._boost(data, rule, watch, workers)

    def _calibrate(self, data: RankingData) -> None:
        """Fit the calibration of pairs to out-of-fold scores, if asked for."""
        self.calibration_x_ = self.calibration_y_ = np.zeros(0)
        if self.calibration is None:
            return
        plain = {"calibration": None, "calibration_folds": 3, "record_errors": False}

        def scores(train: RankingData, test: RankingData) -> np.ndarray:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EquirankWarning)  # the fit to all rows warns
                model = clone(self).set_params(**plain).fit(train)
            return np.asarray(model.predict(test)[test.caller_rank])

        seed = as_seed(self.random_state)
        folds = self._graded(data), scores, self.calibration, self.calibration_folds, seed
        self.calibration_x_, self.calibration_y_ = fit_pair_calibration(*folds)

    @shared_keywords(ListKeywords)
    def predict_pair_proba(self, X: Any, pairs: Any, **lists: Unpack[ListKeywords]) -> np.ndarray:
        """Return the probability that the first row of each pair is the more relevant one.

        It is the probability given that the two differ in relevance, and 1/2 for equal scores. With
        ``calibration`` it is calibrated, whatever the costs in training; ``p(a, b) = 1 - p(b, a)``.
        So the order of least expected cost for a pair puts a first if ``p c_ab > (1 - p) c_ba``.

        Parameters
        ----------
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers in X.
        """
        score = self.predict(X, **lists)
        table, _, _ = checked_pairs(pairs, None, None, len(score))
        gap = score[table[:, 0]] - score[table[:, 1]]
        if self.calibration is None:
            return np.asarray(0.5 * (1.0 + np.tanh(gap)))
        curve = self.calibration_x_, self.calibration_y_
        return np.asarray(pair_probability(gap, curve, self.calibration))

    def _fit_preferences(
        self, data: RankingData, first: np.ndarray, second: np.ndarray, cost: np.ndarray
    ) -> None:
        with Workers(effective_n_jobs(self.n_jobs)) as workers:
            weights = self._listed_weights(data.n_rows, first, second, cost, workers)
            weak = self._weak_rankers(data, weights.rows, workers)
            self._keep(Rounds(self, weights, weak, None, None).run(self.n_estimators), weak, None)

    def _listed_weights(
        self, n_rows: int, first: np.ndarray, second: np.ndarray, cost: np.ndarray, workers: Workers
    ) -> PairWeights:
        options = self._pair_options()
        return PairWeights.of_preferences(n_rows, first, second, cost, options, workers)

    def _graded(self, data: RankingData) -> RankingData:
        """Return the data with the grades that define the pairs."""
        return data

    def _boost(
        self, data: RankingData, rule: CostRule, watch: Watch | None, workers: Workers
    ) -> None:
        stage = "initial" if rule.uniform else self.cost_stage
        weights = self._weights(data, rule, stage, workers)
        if rule.listed is not None and weights.even:  # equal costs change nothing
            rule, stage = rule.blind(), "initial"
            weights = self._weights(data, rule, stage, workers)
        if self.pair_sample is not None and isinstance(weights, FactorisedWeights):
            warnings.warn(
                f"pair_sample of {type(self).__name__} has no effect: these costs need no list of "
                "pairs, so all pairs count",
                EquirankWarning,
                stacklevel=4,
            )
        weak = self._weak_rankers(data, weights.rows, workers)
        errors = None
        if self.record_errors or (self.record_errors is None and data.n_rows <= RECORDED):
            errors = PairErrors(data, rule)
        rounds = Rounds(self, weights, weak, errors, watch)
        if weights.n_pairs == 0:
            warnings.warn(
                f"no pair of unequal relevance has a cost above 0, so {type(self).__name__} learns "
                "nothing and all scores are 0",
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
        """Choose how pair weights are stored: factorised if the costs allow it, else listed."""
        rooted = stage == "rounds" and not rule.to_power(0.5).separable
        if rule.separable and not rooted:
            return FactorisedWeights(data, rule, workers)
        return PairWeights(data, rule, self._pair_options(), workers)

    def _pair_options(self) -> PairOptions:
        return PairOptions(self.max_pairs, self.pair_sample, self.dtype, self.random_state)

    def _weak_rankers(self, data: RankingData, rows: np.ndarray, workers: Workers) -> WeakRankers:
        X = as_dense(data.X)
        with np.errstate(invalid="ignore"):
            self.low_ = np.fmin.reduce(X, axis=0).astype(np.float64)
            self.high_ = np.fmax.reduce(X, axis=0).astype(np.float64)
        if getattr(self, "weak_ranker", "stump") == "feature":
            return Features(X, rows, self.low_, self.high_, self.missing)
        return self._stumps(X, rows, workers)

    def _stumps(self, X: np.ndarray, rows: np.ndarray, workers: Workers) -> WeakRankers:
        bins = bin_features(X, rows, self.max_bins, self.random_state, workers)
        return Stumps(bins, self.missing, workers)

    def _alpha(self, choice: WeakChoice, sides: tuple[float, float] | None, smooth: float) -> float:
        """Return the weight of a weak ranker with these errors."""
        raise TypeError(f"{type(self).__name__} must define _alpha; Booster is abstract")

    def _keep(self, rounds: Rounds, weak: WeakRankers, watch: Watch | None) -> None:
        """Store the rounds up to the best one on the validation data."""
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
