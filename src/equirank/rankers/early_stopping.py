"""Early stopping: a metric followed on validation data, round by round."""

from typing import Any, Literal

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.metric import Metric
from ..core.ranking import Ranking
from ..core.registry import parse_metrics
from ..core.splits import query_train_test_split

__all__ = ["Watch", "held_out", "metric_value", "one_metric"]


def one_metric(metric: Any) -> Metric:
    """Read the metric to watch."""
    found = parse_metrics(metric)
    if len(found) > 1:
        raise DataError(f"metric must be one metric, got {len(found)}")
    return found[0]


def metric_value(metric: Metric, data: RankingData, score: np.ndarray) -> float:
    """Return a metric's summary on stored rows ranked by these scores."""
    ranking = Ranking.from_scores(data, data.to_original(score))
    return float(metric.summarize(metric.per_query(ranking))[0])


def held_out(
    data: RankingData, validation: Any, random_state: Any, owner: str
) -> tuple[RankingData, RankingData | None]:
    """Return the data to train on and the data to watch, which a share takes from it.

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


class Watch:
    """Follows a metric on validation data and says when it has not improved for long enough."""

    def __init__(self, data: RankingData, metric: Metric, patience: int | None) -> None:
        metric.check(data)
        self.data, self.metric, self.patience = data, metric, patience
        self.scores = np.zeros(data.n_rows)
        self.values: list[float] = []
        self.best = 0

    def add(self, output: np.ndarray) -> bool:
        """Add a round's scores; say whether to stop."""
        self.scores += output
        self.values.append(metric_value(self.metric, self.data, self.scores))
        at, best = len(self.values) - 1, self.values[self.best]
        higher = self.metric.direction == "higher"
        better = self.values[at] > best if higher else self.values[at] < best
        if better or np.isnan(best):
            self.best = at
        return self.patience is not None and at - self.best >= self.patience
