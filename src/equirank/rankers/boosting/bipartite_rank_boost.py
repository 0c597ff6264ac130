"""BipartiteRankBoost: RankBoost for two classes in one list."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.pair_cost import PairCost
from ...core.params import Constraint, Number, Optional
from .rank_boost import RankBoost

__all__ = ["BipartiteRankBoost"]


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
