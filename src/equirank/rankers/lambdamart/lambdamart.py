"""LambdaMART: boosted trees on RankNet gradients weighted by the change in NDCG."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ...core.data import RankingData
from ...core.environment import progress, require
from ...core.pair_cost import PairCost
from ...core.params import Choice, Flag, Integer, Number, Optional
from ...core.random import as_seed, generator
from ...kernels.swaps import Fairness
from .averaged_trees import averaged_text
from .fairness_terms import no_fairness
from .lightgbm_params import PAIR_COST, defaults_beside, n_threads
from .objective import FairObjective, performance_part
from .tree_ranker import AdditiveTreeRanker, Binned

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
    """

    truncation: Annotated[int, Integer(1)] = 30
    sigma: Annotated[float, Number(0, open_low=True)] = 1.0
    normalize: Annotated[bool | str, Flag()] = True
    gain: Annotated[Literal["exp2", "linear"], Choice("exp2", "linear")] = "exp2"
    cost_combination: Annotated[
        Literal["product", "sum", "mean"], Choice("product", "sum", "mean")
    ] = "product"
    pair_cost: Annotated[PairCost | None, Optional(PAIR_COST)] = None
    n_models: Annotated[int, Integer(1)] = 1

    def grow(
        self, binned: Binned, objective: Any, *, callbacks: Sequence[Any] = (), **params: Any
    ) -> None:
        """Grow the trees of each model, and store the mean of the models.

        `validation_scores_` of several models has one row per model, with NaN after its last round.
        """
        if self.n_models == 1:
            super().grow(binned, objective, callbacks=callbacks, **params)
            return
        seed = 0 if self.random_state is None else as_seed(self.random_state)
        given = defaults_beside(self.options, RANDOM_TREES)
        texts, scores = [], []
        for at in progress(range(self.n_models), "models"):
            objective.reset()
            own = {"seed": int(generator(seed, at).integers(2**31 - 1))}
            super().grow(binned, objective, callbacks=callbacks, **given, **own, **params)
            texts.append(self.booster_.model_to_string(num_iteration=self.best_iteration_))
            scores.append(getattr(self, "validation_scores_", np.zeros(0)))
        lightgbm = require("lightgbm", "lightgbm")
        self.booster_ = lightgbm.Booster(model_str=averaged_text(texts))
        self.best_iteration_ = self.booster_.current_iteration()
        if binned.valid is not None:
            longest = max(map(len, scores))
            self.validation_scores_ = np.full((self.n_models, longest), np.nan)
            for row, values in zip(self.validation_scores_, scores, strict=True):
                row[: len(values)] = values

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

    def objective(self, data: RankingData) -> FairObjective:
        """Return the gradient and Hessian of the lists as a function of the scores."""
        return self._lambda_objective(data, no_fairness(data.n_rows, data.n_queries), 1.0)
