"""Early stopping: a metric followed on validation data, epoch by epoch."""

import numpy as np

from ...core.data import RankingData
from ...core.metric import Metric
from ..validation import metric_value
from .network import Net
from .problem import Problem
from .scoring import run_rows
from .training import State

__all__ = ["Watch"]


class Watch:
    """Follows a metric on validation data after every epoch."""

    def __init__(
        self, problem: Problem, data: RankingData, metric: Metric, patience: int | None
    ) -> None:
        metric.check(data)
        self.problem, self.data, self.metric, self.patience = problem, data, metric, patience

    def __call__(self, state: State) -> bool:
        """Measure the weights after an epoch, note the best; say whether to stop."""
        weights = self.problem.named(state.weights)
        score = run_rows(self.problem.model, weights, self.data.X, Net.score)
        state.watched.append(metric_value(self.metric, self.data, score))
        if self.best(state.watched) == len(state.watched) - 1:
            state.best = state.weights.clone()
        return self.over(state.watched)

    def best(self, values: list[float]) -> int:
        """Give the first of the best epochs; NaN is worse than anything."""
        sign = 1.0 if self.metric.direction == "higher" else -1.0
        return int(np.argmax([-np.inf if np.isnan(v) else sign * v for v in values]))

    def over(self, values: list[float]) -> bool:
        """Say whether the metric has not improved for long enough."""
        if self.patience is None or not values:
            return False
        return len(values) - 1 - self.best(values) >= self.patience
