"""Validation while a ranker trains: which data is held out, and how good scores are on it."""

from typing import Any, Literal

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.metric import Metric
from ..core.names import parse_metrics
from ..core.ranking import Ranking
from ..core.splitting import query_train_test_split

__all__ = ["held_out", "metric_value", "one_metric"]


def one_metric(metric: Any) -> Metric:
    """Read the metric to watch."""
    found = parse_metrics(metric)
    if len(found) > 1:
        raise DataError(f"metric must be one metric, got {len(found)}")
    return found[0]


def metric_value(metric: Metric, data: RankingData, score: np.ndarray) -> float:
    """Give a metric's summary on stored rows ranked by these scores."""
    ranking = Ranking.from_scores(data, data.to_original(score))
    return float(metric.summarize(metric.per_query(ranking))[0])


def held_out(
    data: RankingData, validation: Any, random_state: Any, owner: str
) -> tuple[RankingData, RankingData | None]:
    """Give the data to train on and the data to watch, which a share takes from it.

    Whole queries are held out; of data that is one list, rows.
    """
    if validation is None:
        return data, None
    if isinstance(validation, RankingData):
        if validation.X is None or validation.y is None:
            raise DataError(f"validation of {owner} must have X and y")
        if validation.n_features != data.n_features:
            raise DataError(
                f"validation of {owner} must have the {data.n_features} features of the training "
                f"data, got {validation.n_features}"
            )
        return data, validation
    by: Literal["query", "item"] = "query" if data.n_queries > 1 else "item"
    train, watched = query_train_test_split(
        data, test_size=float(validation), by=by, random_state=random_state
    )
    return train, watched
