"""RankBoost: boosting of weak rankers on weighted pairs."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.pair_cost import PairCost
from ...core.params import Choice, Constraint, Number, Optional
from .booster import COMMON, Booster
from .weak_rankers import WeakChoice

__all__ = ["BipartiteRankBoost", "RankBoost"]


#: Without any smoothing an error of 0 counts as this, so that alpha stays finite.
TINY = 1e-300


class RankBoost(Booster):
    """Boosted weak rankers that order pairs, each pair weighed by what its mistake costs.

    Pairs (a, b) of one query with ``y_a > y_b`` start with weights ``D = c``, their costs, summing
    to 1. Each round takes the weak ranker ``h`` with the largest ``|r|``, ``r = e+ - e-`` (the
    weights of the pairs it orders rightly and wrongly), gives it the weight ``alpha = 1/2
    ln(e+ / e-)``, and renews ``D <- D exp(-alpha (h(a) - h(b))) / Z``. The score is ``f = sum
    alpha_t h_t``. The cost-weighted share of misordered pairs is at most the product of all Z,
    which `learning_curve_` records as ``E``.

    Pairs are never listed where costs are sums or products over items or depend on cells only (a
    `PairCost` with blocks): a round then takes time in proportion to rows times features. Weak
    rankers of equal merit: the lowest feature, then the lowest threshold. Without any pair of
    unequal relevance there is nothing to learn, and all scores are 0.

    Parameters
    ----------
    n_estimators : int
        Largest number of rounds. Training stops before where every pair is in order, or where no
        weak ranker's ``|r|`` exceeds ``tol``.
    alpha : {"discrete", "continuous"}
        ``1/2 ln(e+ / e-)``, or ``1/2 ln((1 + r) / (1 - r))``, which counts ties half.
    weak_ranker : {"stump", "feature"}
        ``1[x_f > threshold]``, or the feature itself scaled to [0, 1] (its alpha comes from r).
    cost_combination : {"product", "sum", "mean"}
        How the item costs given to `fit` make the cost of a pair.
    pair_cost : PairCost, optional
        Costs of pairs; multiplied with the item costs where both are given.
    cost_stage : {"initial", "rounds", "post"}
        Costs are the first weights; or enter by their T-th root in each of T rounds; or are left
        out while weak rankers are chosen, whose weights are then fitted again with costs.
    missing : {"learn", "abstain"}
        A missing feature gives the better of 0 and 1, learned for each stump; or one half.
    max_bins : int or None
        Features with more distinct values are cut at their quantiles; None: every threshold.
    smoothing : float, optional
        Added to both errors in alpha; by default 1 / (2 x number of pairs).
    tol : float
        The least ``|r|`` that is worth a round.
    max_pairs, pair_sample, dtype
        Where pairs must be listed: how many may be, how many to draw at random instead, and the
        precision of their weights (``"float32"`` or ``"float64"``).
    early_stopping : int, optional
        Stop after so many rounds without a better value on the validation data, and keep the
        rounds up to the best.
    validation : float or RankingData, optional
        The share of the queries to hold back (of the rows, where there is one query), or data.
    metric : str or Metric
        What is watched on the validation data.
    record_errors : bool, optional
        Record the share of misordered training pairs after each round; by default up to 100,000
        rows.
    n_jobs : int
        Number of threads, -1 for all. It does not change the result.
    random_state : int, Generator, RandomState or None
        Seed of the validation split, of drawn pairs, and of the rows quantiles are taken from.

    References
    ----------
    Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences,
    JMLR 2003.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RankBoost
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> model = RankBoost(n_estimators=30).fit(data)
    >>> round(model.score(data), 2) > 0.8
    True
    >>> len(model.learning_curve_)
    30
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        **COMMON,
        "alpha": Choice("discrete", "continuous"),
        "weak_ranker": Choice("stump", "feature"),
    }
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 20}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        alpha: str = "discrete",
        weak_ranker: str = "stump",
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
        self.alpha = alpha
        self.weak_ranker = weak_ranker
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

    def _alpha(self, choice: WeakChoice, sides: tuple[float, float] | None, smooth: float) -> float:
        if sides is None or self.alpha == "continuous":
            sides = (1.0 + choice.r, 1.0 - choice.r)
        return 0.5 * math.log(max(sides[0] + smooth, TINY) / max(sides[1] + smooth, TINY))


class BipartiteRankBoost(RankBoost):
    """RankBoost on two classes: every positive item should stand above every negative one.

    All rows are one list (``qid`` is not looked at), and items of relevance ``threshold`` or more
    are positive (by default all but those of the least relevance). The weights of the pairs are
    then products, ``D(a, b) = D+(a) D-(b)``, and a round takes time in proportion to the number of
    items. The result is that of `RankBoost` on all pairs of one list with these two grades; see
    there for the algorithm, ties, and parameters.

    Parameters
    ----------
    n_estimators : int
        Largest number of rounds.
    threshold : float, optional
        The least relevance of a positive item; None: all above the least relevance there is.
    alpha, weak_ranker, cost_combination, pair_cost, cost_stage, missing, max_bins, smoothing, tol
        As in `RankBoost`.
    max_pairs, pair_sample, dtype, early_stopping, validation, metric, record_errors
        As in `RankBoost`.
    n_jobs, random_state
        As in `RankBoost`.

    References
    ----------
    Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences,
    JMLR 2003, section 3.2. (The normalisers are what makes D+ and D- distributions.)

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.rankers import BipartiteRankBoost
    >>> X, y = [[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 2.0]], [0, 1, 0, 1]
    >>> BipartiteRankBoost(n_estimators=5).fit(X, y).predict(X).round(2).tolist()
    [0.0, 1.1, 0.0, 1.1]
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset()
    fit_takes: ClassVar[frozenset[str]] = frozenset({"cost"})
    params: ClassVar[Mapping[str, Constraint]] = {
        **RankBoost.params,
        "threshold": Optional(Number()),
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        threshold: float | None = None,
        alpha: str = "discrete",
        weak_ranker: str = "stump",
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
        super().__init__(
            n_estimators,
            alpha=alpha,
            weak_ranker=weak_ranker,
            cost_combination=cost_combination,
            pair_cost=pair_cost,
            cost_stage=cost_stage,
            missing=missing,
            max_bins=max_bins,
            smoothing=smoothing,
            tol=tol,
            max_pairs=max_pairs,
            pair_sample=pair_sample,
            dtype=dtype,
            early_stopping=early_stopping,
            validation=validation,
            metric=metric,
            record_errors=record_errors,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.threshold = threshold

    def _graded(self, data: RankingData) -> RankingData:
        y = np.asarray(data.y)
        positive = y > y.min() if self.threshold is None else y >= self.threshold
        return replace(data, y=positive.astype(np.float64), max_grade=1.0)
