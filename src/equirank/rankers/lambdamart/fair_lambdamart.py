"""FairLambdaMART: LambdaMART whose gradient also carries the fairness of the lists."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone

from ...core.data import RankingData
from ...core.environment import progress
from ...core.errors import DataError
from ...core.metric import Metric
from ...core.pair_cost import PairCost
from ...core.params import (
    AnyOf,
    Choice,
    Constraint,
    Flag,
    Integer,
    Label,
    Number,
    Optional,
    Vector,
    check_params,
)
from ...core.random import generator
from ...metrics.fairness.exposure import ExposureGap
from ...metrics.fairness.merit import DisparateTreatment
from ...metrics.fairness.prefix_divergence import RKL, RND, RRD
from ...metrics.relevance.gain import NDCG
from ..early_stopping import metric_value, one_metric
from ..tradeoff_path import TradeoffPath
from .fairness_terms import FAIRNESS, STRATEGIES, fairness_part
from .lightgbm_params import Costs, Function, MetricName, n_threads
from .objective import Objective, performance_part
from .tree_ranker import Explaining

__all__ = ["FairLambdaMART"]


#: Random orders that a path's line of chance is averaged over.
N_RANDOM_ORDERS = 10

#: How strongly `swap` is braked at first: scores are near each other then, and small steps do much.
_FIRST_BRAKE = 20.0


class FairLambdaMART(Explaining):
    """LambdaMART that trades NDCG against fairness inside the gradient.

    Each pair of items pulls for two reasons: ``alpha`` times by how much NDCG changes when they
    swap, as in `LambdaMART`, and ``1 - alpha`` times by how much the unfairness of the list does,
    for pairs of different groups. Groups are needed to fit, not to predict. A list of one group
    teaches no fairness, a list without relevant items no performance.

    Parameters
    ----------
    alpha : float
        1 is plain LambdaMART, 0 looks at fairness alone.
    strategy : {"swap", "fair_first", "relevance_first"}
        Which of two items should stand above for fairness: the one that makes the current list
        fairer; the one that comes earlier in the fairest list, which among those has the largest
        NDCG; or the one that comes earlier in the list of largest NDCG, which among those is the
        fairest. The target lists are optimal for two groups; with more they follow the
        largest-remainder apportionment, which is good and not claimed optimal.
    fairness : {"rnd", "rkl", "rrd", "exposure", "treatment"} or callable
        The unfairness: of shares in prefixes (`RND`, `RKL`, `RRD`), of exposure (`ExposureGap`), or
        of exposure per relevance (1 less the smaller of `DisparateTreatment` and its inverse). Or a
        function of arrays or a compiled one of numbers, ``(count, cut, n, size)`` to the distance
        of a prefix of ``cut`` items with ``count`` of a group that has ``size`` of n.
    step : int
        Prefix metrics look at the first step, 2 step, ... items. Exposure looks at every place.
    cutoff : int, optional
        Fairness looks at so many places only.
    protected : label, optional
        The group to compare with the rest; without it all groups are compared.
    by : str or list of str, optional
        The attribute, or several to cross; may be left out where there is only one.
    over_groups : {"mean", "worst"}
        How the unfairness of several groups is joined.
    steady : bool
        In strategy ``"swap"``, begin with small steps towards fairness, and take smaller ones again
        in lists whose pull between groups turned round with the last tree. Without it a whole group
        can jump over the other and back, tree by tree.
    truncation : int
        Pairs count for NDCG where one of the two stands within so many places.
    sigma : float
        Steepness of the sigmoid.
    normalize : bool
        Damp pairs whose scores lie far apart and normalise the pull of each list, as LightGBM does.
    gain : {"exp2", "linear"}
        ``2**y - 1`` or the relevance itself.
    cost_combination : {"product", "sum", "mean"}
        How the ``cost`` of two items, where given to `fit`, makes the cost of their pair, for the
        NDCG part. Costs are divided by their mean over all pairs, so only their proportions count.
    pair_cost : PairCost, optional
        Costs of pairs, instead of item costs.
    base : model or array-like, optional
        Where to start from: a model (one that is not fitted yet is fitted first), whose scores are
        added when predicting; or a score for each row of the training data, in which case `predict`
        gives what is to be added to such scores.
    n_estimators : int
        The most trees.
    learning_rate : float
        How much of each tree is taken.
    num_leaves : int
        The most leaves of a tree.
    min_child_samples : int
        The fewest rows of a leaf.
    early_stopping : int, optional
        Stop after so many rounds without a better value on the validation lists.
    validation : float or RankingData, optional
        The share of the queries to hold out and watch, or lists to watch.
    metric : str or Metric
        What is watched there; ``"tradeoff"`` is alpha NDCG@truncation - (1 - alpha) unfairness.
    categorical : list of str or int, optional
        Columns of X that hold categories as whole numbers >= 0. Columns of a data frame that hold
        text or categories are found and encoded by themselves.
    n_jobs : int, optional
        Threads; None and -1 take all cores. The number changes no result.
    random_state : int, optional
        Seed, for the validation split and what LightGBM draws where it is told to.
    **lightgbm
        Any other parameter of LightGBM.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The trees.
    best_iteration_ : int
        How many of them are used.
    validation_scores_ : ndarray
        What was watched, after each round.
    feature_importances_ : ndarray
        The share of each feature in the gain of all splits.

    References
    ----------
    Burges, From RankNet to LambdaRank to LambdaMART: an overview, MSR-TR-2010-82.
    Yang and Stoyanovich, Measuring fairness in ranked outputs, SSDBM 2017.

    Examples
    --------
    >>> from equirank import evaluate, query_train_test_split
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import FairLambdaMART
    >>> data = make_ranking(n_queries=60, n_items=30, feature_bias=1.0, random_state=0)
    >>> train, test = query_train_test_split(data, random_state=0)
    >>> def unfairness(alpha):
    ...     ranker = FairLambdaMART(alpha, step=5, n_estimators=20, n_jobs=1).fit(train)
    ...     return evaluate(ranker.rank(test), metrics="RND(step=5)")["RND(step=5)"]
    >>> bool(unfairness(0.3) < unfairness(1.0))
    True
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid", "sensitive_features"})
    params: ClassVar[Mapping[str, Constraint]] = {
        **Explaining.params,
        "alpha": Number(0, 1),
        "strategy": Choice(*STRATEGIES),
        "fairness": AnyOf(Choice(*FAIRNESS), Function()),
        "step": Integer(1),
        "cutoff": Optional(Integer(1)),
        "protected": Optional(Label()),
        "by": Optional(Label(many=True)),
        "over_groups": Choice("mean", "worst"),
        "steady": Flag(),
        "truncation": Integer(1),
        "sigma": Number(0, open_low=True),
        "normalize": Flag(),
        "gain": Choice("exp2", "linear"),
        "cost_combination": Choice("product", "sum", "mean"),
        "pair_cost": Optional(Costs()),
        "metric": MetricName(("tradeoff",)),
    }
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 10, "step": 3, "n_jobs": 1}

    def __init__(
        self,
        alpha: float = 0.5,
        strategy: Literal["swap", "fair_first", "relevance_first"] = "swap",
        fairness: str | Callable[..., Any] = "rnd",
        *,
        step: int = 10,
        cutoff: int | None = None,
        protected: Any = None,
        by: str | list[str] | None = None,
        over_groups: Literal["mean", "worst"] = "mean",
        steady: bool = True,
        truncation: int = 30,
        sigma: float = 1.0,
        normalize: bool = True,
        gain: Literal["exp2", "linear"] = "exp2",
        cost_combination: Literal["product", "sum", "mean"] = "product",
        pair_cost: PairCost | None = None,
        base: Any = None,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        early_stopping: int | None = None,
        validation: Any = None,
        metric: Any = "NDCG@10",
        categorical: list[str | int] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **lightgbm: Any,
    ) -> None:
        self.alpha = alpha
        self.strategy = strategy
        self.fairness = fairness
        self.step = step
        self.cutoff = cutoff
        self.protected = protected
        self.by = by
        self.over_groups = over_groups
        self.steady = steady
        self.truncation = truncation
        self.sigma = sigma
        self.normalize = normalize
        self.gain = gain
        self.cost_combination = cost_combination
        self.pair_cost = pair_cost
        self.base = base
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.early_stopping = early_stopping
        self.validation = validation
        self.metric = metric
        self.categorical = categorical
        self.n_jobs = n_jobs
        self.random_state = random_state
        self._pass_on(lightgbm)

    def _objective(self, data: RankingData, cost_mean: float | None = None) -> Objective:
        performance = performance_part(
            data,
            gain=self.gain,
            truncation=self.truncation,
            cost_combination=self.cost_combination,
            pair_cost=self.pair_cost,
            cost_mean=cost_mean,
        )
        fairness = fairness_part(
            data,
            fairness=self.fairness,
            strategy=self.strategy,
            step=self.step,
            cutoff=self.cutoff,
            by=self.by,
            protected=self.protected,
            over_groups=self.over_groups,
        )
        return Objective(
            data,
            performance,
            fairness,
            alpha=self.alpha,
            sigma=self.sigma,
            normalize=self.normalize,
            steady=self.steady,
            first_brake=_FIRST_BRAKE,
            n_threads=n_threads(self.n_jobs),
        )

    def tradeoff_path(
        self,
        alphas: Sequence[float],
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sensitive_features: Any = None,
        cost: Any = None,
        query_weight: Any = None,
        k: int | None = 10,
        unfairness: Any = None,
    ) -> TradeoffPath:
        """Fit one ranker per alpha on the same binned features and compare them.

        Each is what `fit` with that alpha gives. They are compared on the validation lists:
        ``validation``, or a quarter of the queries where it is None.

        Parameters
        ----------
        alphas : sequence of float
            From 0 to 1.
        X, y, qid, sensitive_features, cost, query_weight
            As in `fit`.
        k : int, optional
            Cutoff of NDCG.
        unfairness : str or Metric, optional
            How unfairness is measured; by default as ``fairness`` says.

        Returns
        -------
        TradeoffPath
        """
        values = [float(alpha) for alpha in alphas]
        model = clone(self).set_params(alpha=values[0] if values else None)
        if model.validation is None:
            model.set_params(validation=0.25)
        check_params("tradeoff_path", {"alphas": values}, {"alphas": Vector(low=0.0)})
        if max(values) > 1.0:
            raise DataError(f"alphas of tradeoff_path must be numbers in [0, 1], got {max(values)}")
        check_params(type(self).__name__, model.get_params(deep=False), self.params)
        data = model._training_data(X, y, qid, sensitive_features, cost, query_weight)
        if not data.sensitive:
            raise DataError("sensitive_features must be given: FairLambdaMART needs it to fit")
        model.groups_ = {name: list(a.categories) for name, a in data.sensitive.items()}
        model.data_fingerprint_ = data.fingerprint()
        good = NDCG(k=k, gain=self.gain)
        bad = self._unfairness_metric() if unfairness is None else one_metric(unfairness)
        prepared = model._prepare(data)
        objective = model._objective(prepared.train)
        if prepared.valid is None:
            raise DataError("validation of FairLambdaMART must leave lists to compare on")
        valid = replace(prepared.valid, score=None, position=None)
        rng = generator(0 if self.random_state is None else self.random_state, valid.n_rows)
        orders = [rng.random(valid.n_rows) for _ in range(N_RANDOM_ORDERS)]

        def worth(score: np.ndarray) -> tuple[float, float]:
            return metric_value(good, valid, score), _gap(bad, metric_value(bad, valid, score))

        rankers, found = [], []
        for alpha in progress(values, "alphas"):
            ranker = copy(model)
            ranker.alpha = objective.alpha = alpha
            ranker.validation = self.validation
            watched = prepared if self.early_stopping is not None else replace(prepared, valid=None)
            objective.reset()
            ranker._grow(watched, objective)
            ranker.is_fitted_ = True
            rankers.append(ranker)
            found.append(worth(ranker._scores(valid)))
        relevance, unfair = np.array(found).T
        chance = np.mean([worth(order) for order in orders], axis=0)
        names = (str(good), str(bad))
        return TradeoffPath(rankers, values, relevance, unfair, names, tuple(chance.tolist()))

    def _unfairness_metric(self) -> Metric:
        """Return the metric that measures what the fairness part works on."""
        by = tuple(self.by) if isinstance(self.by, list) else self.by
        of: dict[str, Any] = {"k": self.cutoff, "by": by, "protected": self.protected}
        if not isinstance(self.fairness, str):
            raise DataError(
                "a metric of unfairness must be named where fairness is a function: equirank "
                "cannot know which one measures it"
            )
        if self.fairness == "exposure":
            return ExposureGap(**of)
        if self.fairness == "treatment":
            return DisparateTreatment(**of)
        kind = {"rnd": RND, "rkl": RKL, "rrd": RRD}[self.fairness]
        return kind(step=self.step, **of)

    def _watched(
        self, valid: RankingData
    ) -> tuple[Callable[[RankingData, np.ndarray], float], str, bool]:
        if self.metric != "tradeoff":
            return super()._watched(valid)
        good = NDCG(k=self.truncation, gain=self.gain)
        bad = self._unfairness_metric()
        for metric in (good, bad):
            metric.check(valid)

        def value(data: RankingData, score: np.ndarray) -> float:
            gap = _gap(bad, metric_value(bad, data, score))
            return self.alpha * metric_value(good, data, score) - (1.0 - self.alpha) * gap

        return value, "tradeoff", True


def _gap(metric: Metric, value: float) -> float:
    """Turn a ratio, of which 1 is equal, into a gap, of which 0 is."""
    if metric.direction == "lower":
        return value
    return 1.0 - value if value <= 1.0 else 1.0 - 1.0 / value
