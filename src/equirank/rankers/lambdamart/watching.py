"""Watching a validation set while trees grow: any metric of equirank, and when to stop."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.metric import Metric
from ...core.ranking import Ranking
from ...core.splitting import query_train_test_split

__all__ = ["held_out", "metric_value", "watcher"]


def metric_value(metric: Metric, data: RankingData, score: np.ndarray) -> float:
    """Give a metric's summary on stored rows ranked by these scores."""
    ranking = Ranking.from_scores(data, data.to_original(score))
    return float(metric.summarize(metric.per_query(ranking))[0])


def held_out(
    data: RankingData, validation: Any, random_state: Any, owner: str
) -> tuple[RankingData, RankingData | None]:
    """Give the lists to learn from and those to watch."""
    if validation is None:
        return data, None
    if isinstance(validation, RankingData):
        if validation.X is None or validation.y is None:
            raise DataError(f"validation of {owner} must have X and y")
        if validation.n_features != data.n_features:
            raise DataError(
                f"validation of {owner} must have {data.n_features} features as the training data, "
                f"got {validation.n_features}"
            )
        return data, validation
    seed = 0 if random_state is None else random_state
    return query_train_test_split(data, test_size=float(validation), random_state=seed)


def watcher(
    data: RankingData, value: Callable[[RankingData, np.ndarray], float], name: str, higher: bool
) -> Callable[[np.ndarray, Any], tuple[str, float, bool]]:
    """Make what LightGBM calls after each round with the raw scores of the validation rows."""
    plain = replace(data, score=None, position=None)

    def watch(score: np.ndarray, dataset: Any) -> tuple[str, float, bool]:
        found = value(plain, np.asarray(score, dtype=np.float64))
        if np.isnan(found):
            raise DataError(f"metric {name} is undefined in every query of the validation data")
        return name, found, higher

    return watch
