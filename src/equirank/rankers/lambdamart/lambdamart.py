"""LambdaMART: boosted trees that learn to rank by the change of NDCG when two items swap."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ...core.data import RankingData
from ...core.pair_cost import PairCost
from ...core.params import Choice, Constraint, Flag, Integer, Number, Optional
from .fairness_terms import no_fairness
from .lightgbm_params import Costs, n_threads
from .objective import Objective, performance_part
from .tree_ranker import Explaining

__all__ = ["LambdaMART"]


class LambdaMART(Explaining):
    """Boosted trees that learn to rank by how much NDCG changes when two items swap.

    A pair of unequal relevance, one of them within the first ``truncation`` places, pulls its
    scores apart with ``sigma / (1 + exp(sigma (s_hi - s_lo))) Delta``, where ``Delta = |gain
    difference| |discount difference| / ideal DCG``. The objective follows LightGBM's own
    ``lambdarank``, takes relevance that is not whole, weighs pairs by cost, and is as fast.
    Equal scores keep the order of the rows while training. A list without relevant items, or of one
    item, teaches nothing.

    Parameters
    ----------
    truncation : int
        Pairs count where one of the two stands within so many places.
    sigma : float
        Steepness of the sigmoid.
    normalize : bool
        Damp pairs whose scores lie far apart and normalise the pull of each list, as LightGBM does.
    gain : {"exp2", "linear"}
        ``2**y - 1`` or the relevance itself.
    cost_combination : {"product", "sum", "mean"}
        How the ``cost`` of two items, where given to `fit`, makes the cost of their pair. Costs are
        divided by their mean over all pairs, so that only their proportions count.
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
        What is watched there.
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
        The watched metric after each round.
    feature_importances_ : ndarray
        The share of each feature in the gain of all splits.

    References
    ----------
    Burges, From RankNet to LambdaRank to LambdaMART: an overview, MSR-TR-2010-82.
    Ke et al., LightGBM: a highly efficient gradient boosting decision tree, NIPS 2017.

    Examples
    --------
    >>> from equirank import query_train_test_split
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import LambdaMART
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> train, test = query_train_test_split(data, random_state=0)
    >>> ranker = LambdaMART(n_estimators=20, n_jobs=1).fit(train)
    >>> ranker.score(test) > 0.7
    True
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        **Explaining.params,
        "truncation": Integer(1),
        "sigma": Number(0, open_low=True),
        "normalize": Flag(),
        "gain": Choice("exp2", "linear"),
        "cost_combination": Choice("product", "sum", "mean"),
        "pair_cost": Optional(Costs()),
    }
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 10, "n_jobs": 1}

    def __init__(
        self,
        *,
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

    def _objective(self, data: RankingData) -> Objective:
        performance = performance_part(
            data,
            gain=self.gain,
            truncation=self.truncation,
            cost_combination=self.cost_combination,
            pair_cost=self.pair_cost,
        )
        return Objective(
            data,
            performance,
            no_fairness(data.n_rows, data.n_queries),
            alpha=1.0,
            sigma=self.sigma,
            normalize=self.normalize,
            n_threads=n_threads(self.n_jobs),
        )
