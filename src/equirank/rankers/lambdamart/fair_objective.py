"""The gradient of FairLambdaMART and a metric of equirank as functions for other trainers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.pair_cost import PairCost
from ...core.params import Choice, Constraint, check_params
from ..early_stopping import METRIC, metric_value, one_metric
from .fair_lambdamart import FairLambdaMART
from .lightgbm_params import RANKING_DATA
from .objective import FairObjective
from .tree_ranker import evaluator

__all__ = ["fair_metric", "fair_objective"]


def fair_objective(
    data: RankingData,
    alpha: float = 0.5,
    *,
    strategy: str = "swap",
    fairness: str | Callable[..., Any] = "rnd",
    step: int = 10,
    cutoff: int | None = None,
    by: str | list[str] | None = None,
    protected: Any = None,
    over_groups: str = "mean",
    steady: bool = True,
    truncation: int = 30,
    sigma: float = 1.0,
    normalize: bool | str = "mixed",
    discount: str = "paper",
    last_cut: bool = False,
    rules: str = "equirank",
    same_block: bool = False,
    gain: str = "exp2",
    cost_combination: str = "product",
    pair_cost: PairCost | None = None,
    n_jobs: int | None = None,
    device: str = "cpu",
) -> FairObjective:
    """Return the gradient of `FairLambdaMART` as an objective for any gradient boosting library.

    The result is called with one score per row and returns gradient and Hessian, in the caller's
    row order: it contains the lists, so the trainer needs neither lists nor sorted rows. It has a
    state (the damping of ``steady``): call ``reset()`` before a second training. A list of one
    group has no fairness part, a list without relevant items no NDCG part.

    LightGBM: ``params["objective"] = objective``; the trees equal those of `FairLambdaMART`.
    XGBoost: ``xgboost.train(..., obj=objective)``, with ``base_score=0`` and
    ``min_child_weight=1e-3``, because the default of 1 excludes leaves of small Hessians. CatBoost
    and regressors of scikit-learn: `fair_boost`.

    Parameters
    ----------
    data : RankingData
        The training lists, with relevance and groups.
    alpha, strategy, fairness, step, cutoff, by, protected, over_groups, steady
        As in `FairLambdaMART`.
    truncation, sigma, normalize, discount, last_cut, rules, same_block
        As in `FairLambdaMART`.
    gain, cost_combination, pair_cost
        As in `FairLambdaMART`; costs of items and weights of queries are those of the data.
    n_jobs : int, optional
        Number of threads; None and -1 use all cores. It does not change the result.
    device : {"cpu", "cuda"}
        ``"cuda"`` computes on a CUDA device (extra ``gpu``), for two groups, metrics of prefixes
        and no ``pair_cost``; anything else is a `DataError`. It agrees with the CPU to 1e-12, and
        pays off from about 100,000 rows.

    Returns
    -------
    FairObjective
        ``objective(score, dataset=None)`` returns ``(grad, hess)`` as float64. Scores of another
        length, and scores that are not finite, are a `DataError`.

    References
    ----------
    Burges, From RankNet to LambdaRank to LambdaMART: an overview, MSR-TR-2010-82.

    Examples
    --------
    >>> import lightgbm
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import fair_objective
    >>> data = make_ranking(n_queries=20, feature_bias=1.0, random_state=0)
    >>> objective = fair_objective(data, alpha=0.5, step=5, n_jobs=1)
    >>> params = {"objective": objective, "num_threads": 1, "verbosity": -1}
    >>> booster = lightgbm.train(params, lightgbm.Dataset(data.X), num_boost_round=5)
    >>> booster.num_trees()
    5
    """
    given = dict(locals())
    own: dict[str, Constraint] = {"data": RANKING_DATA, "device": Choice("cpu", "cuda")}
    check_params("fair_objective", given, {**FairLambdaMART.params, **own})
    options = {name: value for name, value in given.items() if name not in own}
    model = FairLambdaMART(**options)
    model.check_declared()  # warns of parameters without effect
    if data.y is None:
        raise DataError("data of fair_objective must have a relevance (y), and it has none")
    return model.objective(data, input_order=True, device=device)


def fair_metric(
    data: RankingData, metric: Any
) -> Callable[..., tuple[str, float, bool] | tuple[str, float]]:
    """Return a metric of equirank as an evaluation function of LightGBM and XGBoost.

    Called by LightGBM (``feval=``) it returns ``(name, value, higher is better)``, called by
    XGBoost (``custom_metric=``) ``(name, value)``. Early stopping of XGBoost must be told the
    direction (``maximize=``). Tied scores are ties, as in every metric.

    Parameters
    ----------
    data : RankingData
        The lists to evaluate, in the row order of the trainer's data set.
    metric : str or Metric
        The metric.

    Returns
    -------
    callable
        A function of ``(score, dataset)``. A value that is undefined in every list is a
        `DataError`.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.rankers import fair_metric
    >>> data = as_ranking_data(None, [0, 1, 2], qid=[1, 1, 1])
    >>> fair_metric(data, "NDCG@10")(np.array([0.0, 1.0, 2.0]))
    ('NDCG@10', 1.0, True)
    """
    check_params(
        "fair_metric", {"data": data, "metric": metric}, {"data": RANKING_DATA, "metric": METRIC}
    )
    found = one_metric(metric)
    plain = replace(data, score=None, position=None)
    found.check(plain)

    def value(lists: RankingData, score: np.ndarray) -> float:
        return metric_value(found, lists, score[lists.caller_rank])

    triple = evaluator(plain, value, str(found), found.direction == "higher")

    def evaluate(score: np.ndarray, dataset: Any = None) -> Any:
        values = np.asarray(score, dtype=np.float64).reshape(-1)
        if len(values) != plain.n_rows:
            raise DataError(
                f"score of fair_metric must have one number per row ({plain.n_rows}), got "
                f"{len(values)}"
            )
        result = triple(values, dataset)
        return result[:2] if type(dataset).__module__.split(".")[0] == "xgboost" else result

    return evaluate
