"""RankBoost+: boosting that treats tied pairs as half right."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.pair_cost import PairCost
from ...core.params import Choice, Constraint, Number, Optional
from .binning import Workers, bin_features
from .booster import COMMON, Booster
from .pair_terms import CostRule
from .plus_stumps import PlusStumps, PlusWeights
from .weak_rankers import Choice as WeakChoice

__all__ = ["RankBoostPlus"]

#: Without any smoothing an error of 0 counts as this, so that alpha stays finite.
TINY = 1e-300


class RankBoostPlus(Booster):
    """RankBoost in which a pair that a weak ranker leaves tied counts as half right.

    A stump may be chosen again; it then has one weight that adds up. Each round takes the stump
    with the largest ``|e- - e+ + e0 tanh(a')|``, ``a'`` being the weight it already has (0 for a
    new one), and adds ``alpha = 1/2 ln((e+ + e0 s(-a')) / (e- + e0 s(a')))`` to it, with ``s(a) =
    exp(a) / (2 cosh(a))``. Pairs ordered rightly are multiplied by ``exp(-alpha)``, wrongly by
    ``exp(alpha)``, tied ones by ``cosh(alpha + a') / cosh(a')``. The loss that falls is ``E2 = sum
    over pairs of c prod_s w_s``, ``w_s`` being ``exp(-eta_s)``, ``exp(eta_s)`` or ``cosh(eta_s)``
    for a pair that stump s, of total weight ``eta_s``, orders rightly, wrongly or not at all;
    `learning_curve_` records it as ``E``.

    Ties do not factorise, so pairs are listed: see ``max_pairs``, ``pair_sample`` and ``dtype``. A
    stump that abstains leaves a pair tied. Stumps of equal merit: the lowest feature, then the
    lowest threshold. Without any pair of unequal relevance all scores are 0.

    Parameters
    ----------
    n_estimators : int
        Largest number of rounds.
    independence : {"dedupe", "strict"} or None
        ``"dedupe"`` leaves out stumps that equal another, or its complement, on every training
        item; ``"strict"`` also those whose centred output lies in the span of the ones in use;
        None leaves out none.
    independence_tol : float
        A stump lies in the span where the share of its length outside is at most this.
    cost_combination, pair_cost, cost_stage, missing, max_bins, smoothing, tol
        As in `RankBoost`.
    max_pairs : int
        An error says how many pairs there are and what memory they take where they are more.
    pair_sample : int, optional
        Draw so many pairs evenly instead of listing all.
    dtype : {"float32", "float64"}
        Precision of the pair weights.
    early_stopping, validation, metric, record_errors, n_jobs, random_state
        As in `RankBoost`.

    References
    ----------
    Connamacher, Pancha, Liu and Ray, RankBoost+: an improvement to RankBoost, Machine Learning
    2020. (The reversed case of the loss is misprinted there in one place.)

    Examples
    --------
    >>> from equirank import make_ranking
    >>> from equirank.rankers import RankBoostPlus
    >>> data = make_ranking(n_queries=20, random_state=0)
    >>> model = RankBoostPlus(n_estimators=40).fit(data)
    >>> round(model.score(data), 2) > 0.8
    True
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        **COMMON,
        "independence": Optional(Choice("dedupe", "strict")),
        "independence_tol": Number(0.0, 1.0),
    }
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 20}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        independence: str | None = "dedupe",
        independence_tol: float = 1e-6,
        cost_combination: str = "product",
        pair_cost: PairCost | None = None,
        cost_stage: str = "initial",
        missing: str = "learn",
        max_bins: int | None = 255,
        smoothing: float | None = None,
        tol: float = 1e-7,
        max_pairs: int = 200_000_000,
        pair_sample: int | None = None,
        dtype: str = "float32",
        early_stopping: int | None = None,
        validation: Any = None,
        metric: Any = "NDCG@10",
        record_errors: bool | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.independence = independence
        self.independence_tol = independence_tol
        self.cost_combination = cost_combination
        self.pair_cost = pair_cost
        self.cost_stage = cost_stage
        self.missing = missing
        self.max_bins = max_bins
        self.smoothing = smoothing
        self.tol = tol
        self.max_pairs = max_pairs
        self.pair_sample = pair_sample
        self.dtype = dtype
        self.early_stopping = early_stopping
        self.validation = validation
        self.metric = metric
        self.record_errors = record_errors
        self.n_jobs = n_jobs
        self.random_state = random_state

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
