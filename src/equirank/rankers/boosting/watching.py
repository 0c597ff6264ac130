"""Early stopping: a metric followed on validation data, round by round."""

import numpy as np

from ...core.data import RankingData
from ...core.metric import Metric
from ..validation import metric_value

__all__ = ["Watch"]


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
