"""FairLambdaMART: LambdaMART with fairness terms in the gradient."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self, Unpack

import numpy as np
from sklearn.base import clone

from ...core.data import RankingData
from ...core.declared import OnlyWith
from ...core.environment import progress
from ...core.errors import DataError, outer_stacklevel
from ...core.given_data import warn_of_one_list
from ...core.keywords import FitKeywords, shared_keywords
from ...core.label_probability import warn_of_little_information
from ...core.metric import Metric
from ...core.params import (
    AnyOf,
    Choice,
    Flag,
    Integer,
    Label,
    Number,
    Optional,
    Vector,
    check_params,
)
from ...core.random import as_seed
from ...metrics.fairness.exposure import ExposureGap
from ...metrics.fairness.merit import DisparateTreatment
from ...metrics.fairness.prefix_divergence import RKL, RND, RRD
from ...metrics.relevance.gain import NDCG
from ..early_stopping import metric_value, one_metric
from ..tradeoff_path import TradeoffPath, most_relevant, noise_line
from .fairness_record import ChanceReference, LastScores, as_gap
from .fairness_terms import FAIRNESS, STRATEGIES, fair_memberships, fairness_part
from .fit_inputs import FitInputs
from .lambdamart import LambdaTreeRanker
from .lightgbm_params import DISTANCE, metric_name
from .objective import FairObjective
from .tree_ranker import NO_INPUTS, Binned, Value

__all__ = ["FairLambdaMART"]


#: Initial divisor of the fairness gradient in "swap": at first scores are close to each other.
_INITIAL_DIVISOR = 20.0


class FairLambdaMART(LambdaTreeRanker):
    """LambdaMART that trades NDCG against fairness inside the gradient.

    The gradient of a pair has two parts: ``alpha`` times the change in NDCG from a swap, as in
    `LambdaMART`, and, for items of different groups, ``1 - alpha`` times the change in the
    unfairness of the list. Groups are needed to fit, not to predict. A list of one group has no
    fairness part, a list without relevant items no NDCG part.

    Groups may be uncertain: the count of a group in a prefix is then the sum of its probabilities.
    They are those of the data; a label that was recorded with errors becomes its posterior, and an
    unknown one has the shares of known people in the same tenth of the list by relevance, which
    assumes that labels are missing at random there. Fitting warns if the labels tell little.

    Use ``n_models=8`` if training lists are few. On 30 halves of the 86 lists of the MSLR sample
    one model takes at most 8% off the rND@50 of new lists at any alpha, at alpha 0.1 no more than
    noise on plain scores would; the mean of 8 models at alpha 0.5 takes 10% off, with a larger
    NDCG. On MQ2008, whose plain lists are far from fair, one model is enough. `tradeoff_path`
    compares rankers with noise and random mixtures. If the ranking may use groups, re-ranking gains
    more.

    Parameters
    ----------
    alpha : float
        1 is plain LambdaMART, 0 is fairness alone.
    strategy : {"swap", "fair_first", "relevance_first"}
        Which of two items should rank first for fairness. ``"swap"``: the one whose move makes the
        current list fairer. ``"fair_first"``: the earlier one in the fairest list, ties broken by
        NDCG. ``"relevance_first"``: the earlier one in the list of largest NDCG, ties broken by
        fairness. These target lists are optimal for two groups; with more groups they follow the
        largest-remainder apportionment, which is not claimed to be optimal.
    fairness : {"rnd", "rkl", "rrd", "exposure", "treatment"} or callable
        The unfairness: of shares in prefixes (`RND`, `RKL`, `RRD`), of exposure (`ExposureGap`), or
        of exposure per relevance (1 less the smaller of `DisparateTreatment` and its inverse). Or a
        function of arrays or a compiled one of numbers, ``(count, cut, n, size)`` to the distance
        of a prefix of ``cut`` items with ``count`` of a group that has ``size`` of n.
    step : int
        Prefix metrics use the first step, 2 step, ... items. Exposure uses every position.
    cutoff : int, optional
        Number of positions that count for fairness.
    protected : label, optional
        The group to compare with everyone else; without it all groups are compared.
    by : str or list of str, optional
        The attribute, or several to cross; may be omitted if there is only one.
    over_groups : {"mean", "worst"}
        How the unfairness of several groups is combined.
    steady : bool
        In strategy ``"swap"``, begin with small steps towards fairness, and shrink the step of a
        list if its gradient between groups changed sign with the last tree. Without it a whole
        group can jump above the other and back, tree by tree.
    normalize : {"mixed", "parts"} or bool
        Damp pairs with distant scores and normalise the gradients of each list, as LightGBM does:
        on the sum of both parts (``"mixed"``, also True), or on each apart, which can end far from
        fair without damping (``steady``). False does neither.
    discount : {"paper", "code"}
        Weight of a prefix of k items: ``1/log2(k)``, or ``1/log2(k + 1)``.
    last_cut : bool
        Whether the cutoff, or the end of the list, is a prefix too if it is not a multiple of the
        step; lists of at most one step then have no fairness part. The metric that is recorded has
        no such prefix.
    rules : {"equirank", "lambdafair"}
        Which pairs and target lists count. ``"lambdafair"`` follows the code of LambdaFair:
        positions after the truncation have no discount, tied items have a fairness gradient, and
        the target lists (of two groups) are found greedily.
    same_block : bool
        Whether, of two items in the same block of the target list, the lower one should move up, as
        in the code of LambdaFair.
    metric : str or Metric, or a list of them
        Metrics of the validation lists and evaluation sets; early stopping uses the first.
        ``"tradeoff"`` is alpha NDCG@truncation - (1 - alpha) unfairness.

    Attributes
    ----------
    booster_, best_iteration_, validation_scores_, history_, feature_importances_
        As in `LambdaMART`.
    positions_, position_bias_ : ndarray
        As in `LambdaMART`.
    state_ : ndarray
        The damping of each training list after the last round, with which ``warm_start`` continues.
    unfairness_ : float
        The unfairness of the training lists, by the metric that ``fairness`` names; not if it is a
        function or if groups are uncertain. A ratio r counts as ``1 - min(r, 1 / r)``.
    chance_unfairness_ : float
        That of random order: the mean over 20 random orders of the training lists. A score of
        single items can hardly be fairer on new lists.
    validation_unfairness_ : float
        The unfairness of the validation lists, if there are any. If training is fairer than random
        order and the validation lists are clearly less fair, `fit` warns
        (`FairnessOverfitWarning`).

    References
    ----------
    Burges, From RankNet to LambdaRank to LambdaMART: an overview, MSR-TR-2010-82.
    Yang and Stoyanovich, Measuring fairness in ranked outputs, SSDBM 2017.
    Marcuzzi, Lucchese and Orlando, LambdaFair for fair and effective ranking, ECIR 2025.

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
    only_with: ClassVar[OnlyWith] = {
        "steady": ("strategy", ("swap",)),
        "same_block": ("strategy", ("fair_first", "relevance_first")),
    }
    positional: ClassVar[tuple[str, ...]] = ("alpha", "strategy", "fairness")
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 10, "step": 3, "n_jobs": 1}

    alpha: Annotated[float, Number(0, 1)] = 0.5
    strategy: Annotated[Literal["swap", "fair_first", "relevance_first"], Choice(*STRATEGIES)] = (
        "swap"
    )
    fairness: Annotated[str | Callable[..., Any], AnyOf(Choice(*FAIRNESS), DISTANCE)] = "rnd"
    step: Annotated[int, Integer(1)] = 10
    cutoff: Annotated[int | None, Optional(Integer(1))] = None
    protected: Annotated[Any, Optional(Label())] = None
    by: Annotated[str | list[str] | None, Optional(Label(many=True))] = None
    over_groups: Annotated[Literal["mean", "worst"], Choice("mean", "worst")] = "mean"
    steady: Annotated[bool, Flag()] = True
    normalize: Annotated[bool | str, AnyOf(Choice("mixed", "parts"), Flag())] = "mixed"
    discount: Annotated[Literal["paper", "code"], Choice("paper", "code")] = "paper"
    last_cut: Annotated[bool, Flag()] = False
    rules: Annotated[Literal["equirank", "lambdafair"], Choice("equirank", "lambdafair")] = (
        "equirank"
    )
    same_block: Annotated[bool, Flag()] = False
    metric: Annotated[Any, metric_name("tradeoff")] = "NDCG@10"

    @classmethod
    def lambdafair(cls, alpha: float = 0.5, strategy: str = "swap", **params: Any) -> Self:
        """Return a ranker with the objective and the settings of LambdaFair's code.

        ``"swap"`` is its "Delta rND", ``"fair_first"`` "rND+", ``"relevance_first"`` "NDCG+". The
        cutoff is the truncation. Of its rules only one is left out: that of two items in one block
        of the target list the lower one should move up (``same_block=True``).

        Parameters
        ----------
        alpha, strategy
            As in the class.
        **params
            Other parameters of the class and of LightGBM; by default 2,000 trees at rate 0.01,
            ``step=5`` and ``truncation=20``.
        """
        settings = {
            "n_estimators": 2000, "learning_rate": 0.01, "step": 5, "truncation": 20,
            "normalize": "parts", "discount": "code", "last_cut": True, "rules": "lambdafair",
            "steady": strategy != "swap",
        }  # fmt: skip
        settings |= params
        return cls(alpha, strategy, **{"cutoff": settings["truncation"], **settings})

    def objective(
        self, data: RankingData, cost_mean: float | None = None, **given: Any
    ) -> FairObjective:
        """Return the gradient and Hessian of the lists as a function of the scores.

        ``cost_mean`` is the mean cost of the whole data if these lists are a part of it; ``given``
        are further options of `FairObjective`.
        """
        fairness = fairness_part(
            data,
            fairness=self.fairness,
            strategy=self.strategy,
            step=self.step,
            cutoff=self.cutoff,
            by=self.by,
            protected=self.protected,
            over_groups=self.over_groups,
            discount=self.discount,
            last_cut=self.last_cut,
            rules=self.rules,
            same_block=self.same_block,
        )
        return self._lambda_objective(
            data,
            fairness,
            self.alpha,
            cost_mean=cost_mean,
            rules=self.rules,
            steady=self.steady,
            initial_divisor=_INITIAL_DIVISOR,
            **given,
        )

    def _fit(self, data: RankingData, given: FitInputs = NO_INPUTS) -> None:
        binned, given = self._split_and_bin(data, given)
        reference, uncertain = None, binned.train.attribute(self.by).doubtful
        if uncertain:
            found = fair_memberships(binned.train, self.by)
            warn_of_little_information(type(self).__name__, found)
        elif isinstance(self.fairness, str):
            reference = self._reference(self._unfairness_metric(), binned)
        objective = self._objective_of(binned.train, given)
        self._grow_measured(binned, objective, reference, outer_stacklevel() + 2, given=given)

    def _reference(self, metric: Metric, binned: Binned) -> ChanceReference:
        """Return the unfairness of random orders of the lists."""
        seed = 0 if self.random_state is None else as_seed(self.random_state)
        return ChanceReference(metric, binned.train, binned.valid, seed)

    def _grow_measured(
        self,
        binned: Binned,
        objective: FairObjective,
        reference: ChanceReference | None,
        stacklevel: int | None = None,
        watched: Binned | None = None,
        given: FitInputs = NO_INPUTS,
    ) -> None:
        """Grow the trees, and record the unfairness of the result.

        ``watched`` are the same lists without those for validation if no metric is watched on them.
        """
        last = LastScores()
        callbacks = [*given.callbacks, *([] if reference is None else [last])]
        lists = binned if watched is None else watched
        self.grow(lists, objective, callbacks=callbacks, verbose=given.verbose)
        if reference is None:
            return
        train = last.mean(self.n_models)
        if train is None or self.early_stopping is not None or given.callbacks:
            train = self._started_scores(binned.train, binned.n_before)
        valid = None
        if binned.valid is not None:
            valid = self._started_scores(binned.valid, binned.n_before)
        reference.record(self, train, valid, stacklevel)

    def _started_scores(self, data: RankingData, n_before: int) -> np.ndarray:
        """Return the scores of lists whose score is what the trees after the first are added to."""
        raw = self._raw(data, start_iteration=n_before)
        return raw if data.score is None else raw + data.score

    @shared_keywords(FitKeywords)
    def tradeoff_path(
        self,
        alphas: Sequence[float],
        X: Any,
        y: Any = None,
        *,
        k: int | None = 10,
        unfairness: Any = None,
        **given: Unpack[FitKeywords],
    ) -> TradeoffPath:
        """Fit one ranker per alpha on the same binned features and compare them.

        Each ranker equals the result of `fit` with that alpha. The comparison uses the validation
        lists: ``validation``, or a quarter of the queries if it is None. If alpha 1 is on the path
        and is not clearly less fair there than random order, a `NoHeadroomWarning` says so.

        Parameters
        ----------
        alphas : sequence of float
            Values from 0 to 1.
        k : int, optional
            Cutoff of NDCG.
        unfairness : str or Metric, optional
            The metric of unfairness; by default the one that ``fairness`` names.

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
        data = model._training_data(X, y, **given)
        owner, level = "FairLambdaMART.tradeoff_path", outer_stacklevel() + 1
        warn_of_one_list(X, given["qid"], data.n_rows, owner, level)
        if not data.sensitive:
            raise DataError("sensitive_features must be given: FairLambdaMART needs it to fit")
        data.known_attribute(self.by, "FairLambdaMART.tradeoff_path")
        model.groups_ = {name: list(a.categories) for name, a in data.sensitive.items()}
        model.data_fingerprint_ = data.fingerprint()
        relevance_metric = NDCG(k=k, gain=self.gain)
        metric = self._unfairness_metric() if unfairness is None else one_metric(unfairness)
        binned, _ = model._split_and_bin(data)
        if binned.valid is None:
            raise DataError("validation of FairLambdaMART must leave lists to compare on, got none")
        return model._path(values, binned, relevance_metric, metric, self.validation)

    def _path(
        self,
        values: Sequence[float],
        binned: Binned,
        relevance_metric: Metric,
        metric: Metric,
        validation: Any,
    ) -> TradeoffPath:
        """Grow one ranker per alpha, and measure each on the validation lists."""
        objective = self.objective(binned.train)
        watched = binned if self.early_stopping is not None else replace(binned, valid=None)
        reference = self._reference(metric, binned)
        own = None
        if isinstance(self.fairness, str):
            named = self._unfairness_metric()
            own = reference if named == metric else self._reference(named, binned)
        valid: Any = reference.valid
        rankers, found = [], []
        for alpha in progress(values, "alphas"):
            ranker = copy(self)
            ranker.alpha = objective.alpha = alpha
            ranker.validation = validation
            objective.reset()
            ranker._grow_measured(binned, objective, own, watched=watched)
            ranker.is_fitted_ = True
            rankers.append(ranker)
            score = ranker._scores(valid)
            gap = as_gap(metric, metric_value(metric, valid, score))
            found.append((metric_value(relevance_metric, valid, score), float(gap)))
            if alpha == 1.0:
                level = outer_stacklevel() + 1
                reference.warn_without_headroom(score, "the path at alpha 1", level)
        relevance, gaps = np.array(found).T
        names = (str(relevance_metric), str(metric))
        chance = reference.with_relevance(relevance_metric)

        def measure(drawn: list[np.ndarray]) -> tuple[float, float]:
            good = [metric_value(relevance_metric, valid, score) for score in drawn]
            bad = [as_gap(metric, metric_value(metric, valid, score)) for score in drawn]
            return float(np.mean(good)), float(np.mean(bad))

        best = rankers[most_relevant(relevance, gaps)]
        noise = noise_line(best._scores(valid), valid.offsets, measure, reference.random_state)
        return TradeoffPath(rankers, values, relevance, gaps, names, chance, noise=noise)

    def _unfairness_metric(self) -> Metric:
        """Return the metric that corresponds to the fairness part."""
        by = tuple(self.by) if isinstance(self.by, list) else self.by
        options: dict[str, Any] = {"k": self.cutoff, "by": by, "protected": self.protected}
        if not isinstance(self.fairness, str):
            raise DataError(
                "a metric of unfairness must be named if fairness is a function: equirank "
                "cannot know which one measures it"
            )
        if self.fairness == "exposure":
            return ExposureGap(**options)
        if self.fairness == "treatment":
            return DisparateTreatment(**options)
        kind = {"rnd": RND, "rkl": RKL, "rrd": RRD}[self.fairness]
        return kind(step=self.step, discount=self.discount, **options)

    def _watch(self, given: Any, data: RankingData) -> tuple[Value, str, bool]:
        if given != "tradeoff":
            return super()._watch(given, data)
        ndcg = NDCG(k=self.truncation, gain=self.gain)
        unfairness = self._unfairness_metric()
        for metric in (ndcg, unfairness):
            metric.check(data)

        def value(data: RankingData, score: np.ndarray) -> float:
            gap = float(as_gap(unfairness, metric_value(unfairness, data, score)))
            return self.alpha * metric_value(ndcg, data, score) - (1.0 - self.alpha) * gap

        return value, "tradeoff", True
