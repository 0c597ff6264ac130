"""LambdaMART: boosted trees on RankNet gradients weighted by the change in NDCG."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self, Unpack

import numpy as np

from ...core.data import RankingData
from ...core.environment import progress, require
from ...core.keywords import FitKeywords, shared_keywords
from ...core.pair_cost import PairCost
from ...core.params import Choice, Flag, Integer, Number, Optional, check_params
from ...core.random import as_seed, generator
from ...kernels.swaps import Fairness
from .additive_tree_ranker import AdditiveTreeRanker
from .averaged_trees import averaged_text
from .fairness_terms import no_fairness
from .fit_inputs import FitInputs, TreeFitKeywords, item_positions
from .lightgbm_params import PAIR_COST, defaults_beside, n_threads
from .objective import FairObjective, performance_part
from .position_bias import PositionBias
from .tree_ranker import Binned

__all__ = ["LambdaMART", "LambdaTreeRanker"]


#: Options of LightGBM with which the models of a mean differ, unless others are given.
RANDOM_TREES = {"feature_fraction": 0.3, "bagging_fraction": 0.5, "bagging_freq": 1}


class LambdaTreeRanker(AdditiveTreeRanker):
    """Base of the tree rankers that are trained on lambda gradients of pairs.

    Parameters
    ----------
    truncation : int
        Pairs count towards NDCG if one of the two items is in the top ``truncation``.
    sigma : float
        Steepness of the sigmoid.
    normalize : bool
        Damp pairs with distant scores and normalise the gradients of each list, as LightGBM does.
    gain : {"exp2", "linear"}
        ``2**y - 1`` or the relevance itself.
    cost_combination : {"product", "sum", "mean"}
        How the ``cost`` of two items, if given to `fit`, makes the cost of their pair in the NDCG
        part. Costs are divided by their mean over all pairs, so only their ratios count.
    pair_cost : PairCost, optional
        Costs of pairs, instead of item costs.
    n_models : int
        Number of models whose mean is the score. With more than one, model i has the seed
        ``(random_state, i)``, ``feature_fraction=0.3``, ``bagging_fraction=0.5`` and
        ``bagging_freq=1`` unless these are given, and ``booster_`` contains the trees of all with
        outputs divided by their number. Features are binned once.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The trees.
    best_iteration_ : int
        Number of trees in use.
    validation_scores_ : ndarray
        The first metric after each round, on the validation lists or the first evaluation set.
    history_ : dict
        Every metric of every set after each round: ``history_["validation"]["NDCG@10"]``.
    feature_importances_ : ndarray
        Share of each feature in the gain of all splits.
    positions_, position_bias_ : ndarray
        The positions given to `fit`, and the bias of each after the last round.
    """

    weight_is_no_copy: ClassVar[str] = "pairs are multiplied by sqrt(w_i w_j)"

    truncation: Annotated[int, Integer(1)] = 30
    sigma: Annotated[float, Number(0, open_low=True)] = 1.0
    normalize: Annotated[bool | str, Flag()] = True
    gain: Annotated[Literal["exp2", "linear"], Choice("exp2", "linear")] = "exp2"
    cost_combination: Annotated[
        Literal["product", "sum", "mean"], Choice("product", "sum", "mean")
    ] = "product"
    pair_cost: Annotated[PairCost | None, Optional(PAIR_COST)] = None
    n_models: Annotated[int, Integer(1)] = 1

    @shared_keywords(FitKeywords, TreeFitKeywords)
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        position: Any = None,
        position_bias: str = "additive",
        **given: Unpack[TreeFitKeywords],
    ) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        sample_weight : array-like, optional
            Weight > 0 of each row; every pair is multiplied by ``sqrt(w_i w_j)``, in the NDCG part
            and the fairness part. Weight 2 is not the same as the row twice.
        position : array-like, optional
            The position >= 1 at which each row was shown when its relevance, such as a click, was
            recorded. The bias of each position is learned with the trees, stored in
            ``position_bias_``, and not used in prediction.
        position_bias : {"additive"}
            The model of the bias: the gradient is computed at ``score + bias[position]``, as in
            LightGBM's ``lambdarank``; its option ``lambdarank_position_bias_regularization``
            shrinks the biases.
        """
        check_params(
            f"{type(self).__name__}.fit",
            {"position_bias": position_bias},
            {"position_bias": Choice("additive")},
        )
        return self._fit_given(X, y, {**given, "position": position})

    def _inputs(self, data: RankingData, given: Mapping[str, Any]) -> FitInputs:
        shown = item_positions(given["position"], data)
        return replace(super()._inputs(data, given), position=shown)

    def objective(self, data: RankingData, **given: Any) -> FairObjective:
        """Return gradient and Hessian of the lists; ``given`` are options of `FairObjective`."""
        raise TypeError(
            f"{type(self).__name__} must define objective; LambdaTreeRanker is abstract"
        )

    def _objective_of(self, train: RankingData, given: FitInputs) -> Any:
        bias = None
        if given.position is not None:
            option = "lambdarank_position_bias_regularization"
            bias = PositionBias(given.position, self.learning_rate, self.options.get(option, 0.0))
        objective = self.objective(train, sample_weight=given.sample_weight, position_bias=bias)
        if self._continues():
            self._restore_state(objective, given.same_data)
        return objective

    def _restore_state(self, objective: FairObjective, same_data: bool) -> None:
        """Continue with the step control of the same lists, and with known biases of positions."""
        state, earlier = objective.state, getattr(self, "state_", None)
        if same_data and state is not None and earlier is not None and state.shape == earlier.shape:
            objective.restore(earlier)
        bias = objective.position_bias
        if bias is not None and hasattr(self, "positions_"):
            known = dict(zip(self.positions_.tolist(), self.position_bias_, strict=True))
            bias.values = np.array([known.get(each, 0.0) for each in bias.positions.tolist()])

    def grow(self, binned: Binned, objective: Any, **given: Any) -> None:
        """Grow the trees of each model, and store the mean of the models.

        `validation_scores_` of several models has one row per model, with NaN after its last round,
        and `history_` one list per model.
        """
        if self.n_models == 1:
            super().grow(binned, objective, **given)
            self._store_state(objective)
            return
        seed = 0 if self.random_state is None else as_seed(self.random_state)
        defaults = defaults_beside(self.options, RANDOM_TREES)
        texts, scores, records, biases = [], [], [], []
        for at in progress(range(self.n_models), "models"):
            objective.reset()
            own = {"seed": int(generator(seed, at).integers(2**31 - 1))}
            super().grow(binned, objective, **{**defaults, **own, **given})
            texts.append(self.booster_.model_to_string(num_iteration=self.best_iteration_))
            scores.append(getattr(self, "validation_scores_", np.zeros(0)))
            records.append(getattr(self, "history_", {}))
            self._store_state(objective)
            biases.append(getattr(self, "position_bias_", np.zeros(0)))
        lightgbm = require("lightgbm", "lightgbm")
        self.booster_ = lightgbm.Booster(model_str=averaged_text(texts))
        self.best_iteration_ = self.booster_.current_iteration()
        self.__dict__.pop("state_", None)
        if hasattr(self, "position_bias_"):
            self.position_bias_ = np.mean(biases, axis=0)
        if binned.watched:
            self.history_ = {
                name: {metric: [record[name][metric] for record in records] for metric in metrics}
                for name, metrics in records[0].items()
            }
            longest = max(map(len, scores))
            self.validation_scores_ = np.full((self.n_models, longest), np.nan)
            for row, values in zip(self.validation_scores_, scores, strict=True):
                row[: len(values)] = values

    def _store_state(self, objective: FairObjective) -> None:
        """Store the step control and the biases of positions after the last round."""
        if objective.state is not None:
            self.state_ = objective.state
        bias = objective.position_bias
        if bias is not None:
            self.positions_, self.position_bias_ = bias.positions, bias.values

    def _lambda_objective(
        self,
        data: RankingData,
        fairness: Fairness,
        alpha: float,
        *,
        cost_mean: float | None = None,
        rules: str = "equirank",
        **steps: Any,
    ) -> FairObjective:
        """Return the objective with these fairness terms and ``steps``, further options of it."""
        performance = performance_part(
            data,
            gain=self.gain,
            truncation=self.truncation,
            cost_combination=self.cost_combination,
            pair_cost=self.pair_cost,
            cost_mean=cost_mean,
            rules=rules,
        )
        return FairObjective(
            data,
            performance,
            fairness,
            alpha=alpha,
            sigma=self.sigma,
            normalize=self.normalize,
            tied_pairs=rules == "lambdafair",
            n_threads=n_threads(self.n_jobs),
            **steps,
        )


class LambdaMART(LambdaTreeRanker):
    """Boosted trees on RankNet gradients, each weighted by the change in NDCG from a swap.

    A pair of unequal relevance with one item in the top ``truncation`` has the gradient
    ``sigma / (1 + exp(sigma (s_hi - s_lo))) Delta``, where ``Delta = |gain difference|
    |discount difference| / ideal DCG``. The objective follows LightGBM's own ``lambdarank`` at the
    same speed, accepts relevance that is not an integer, and weighs pairs by cost. Tied scores are
    ordered by row during training. Lists without relevant items and lists of one item have no
    gradient.

    References
    ----------
    Burges, From RankNet to LambdaRank to LambdaMART: an overview, MSR-TR-2010-82.
    Ke et al., LightGBM: a highly efficient gradient boosting decision tree, NIPS 2017.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import LambdaMART
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> ranker = LambdaMART(n_estimators=20, n_jobs=1).fit(data)
    >>> ranker.score(data) > 0.7, ranker.best_iteration_
    (True, 20)
    """

    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 10, "n_jobs": 1}

    def objective(self, data: RankingData, **given: Any) -> FairObjective:
        """Return gradient and Hessian of the lists; ``given`` are options of `FairObjective`."""
        return self._lambda_objective(data, no_fairness(data.n_rows, data.n_queries), 1.0, **given)
