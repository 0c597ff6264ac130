"""Unfairness of a fitted ranker in training and on validation lists, and of random order."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.chance import chance_by_query, exceeds
from ...core.data import RankingData
from ...core.errors import FairnessOverfitWarning, NoHeadroomWarning
from ...core.metric import Metric, Values
from ...core.ranking import Ranking

__all__ = ["ChanceReference", "LastScores", "as_gap"]


def as_gap(metric: Metric, value: Any) -> Any:
    """Return values of a metric as gaps; a ratio r becomes ``1 - min(r, 1 / r)``."""
    if metric.direction == "lower":
        return value
    value = np.asarray(value, dtype=np.float64)
    over = np.divide(1.0, value, out=np.zeros_like(value), where=value > 1.0)
    return 1.0 - np.where(value > 1.0, over, value)


class LastScores:
    """Callback of LightGBM that adds up the training scores after the last round of each model."""

    order = 100
    before_iteration = False

    def __init__(self) -> None:
        self.total: Any = 0.0
        self.n_models = 0

    def __call__(self, env: Any) -> None:
        """Read the scores in the last round."""
        if env.iteration == env.end_iteration - 1:
            env.model.eval_train(self._add)

    def _add(self, score: np.ndarray, dataset: Any) -> tuple[str, float, bool]:
        self.total = self.total + np.asarray(score, dtype=np.float64)
        self.n_models += 1
        return "scores", 0.0, True

    def mean(self, n_models: int) -> np.ndarray | None:
        """Return the mean score per row; None if a model was stopped before its last round."""
        return self.total / n_models if self.n_models == n_models else None


class ChanceReference:
    """Unfairness of random orders of training and validation lists, for all fits on them.

    Parameters
    ----------
    metric : Metric
        The metric of unfairness.
    train, valid : RankingData
        The lists; without validation lists nothing is compared.
    random_state : int
        Seed of the random orders.
    """

    def __init__(
        self, metric: Metric, train: RankingData, valid: RankingData | None, random_state: int
    ) -> None:
        self.metric, self.random_state = metric, random_state
        self.train = replace(train, score=None, position=None)
        self.chance = float(np.nanmean(self._orders(self.train)[0]))
        self.valid = None if valid is None else replace(valid, score=None, position=None)
        if self.valid is not None:
            orders, self.valid_lists = self._orders(self.valid)
            self.valid_chance = float(np.nanmean(orders))

    def _orders(self, data: RankingData) -> tuple[np.ndarray, np.ndarray]:
        """Return the gap of each order, and the mean gap of each list."""
        found = chance_by_query(self.metric, data, self.random_state)
        whole = [float(self.metric.summarize(Values(values))[0]) for values in found]
        return as_gap(self.metric, np.array(whole)), as_gap(self.metric, found).mean(axis=0)

    def _gaps(self, data: RankingData, score: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the gap of scores of the stored rows, and that of each list."""
        values = self.metric.per_query(Ranking.from_scores(data, data.to_original(score)))
        whole = float(self.metric.summarize(values)[0])
        return float(as_gap(self.metric, whole)), as_gap(self.metric, values.value)

    def with_relevance(self, metric: Metric) -> tuple[float, float]:
        """Return a metric of relevance, and the unfairness, of random validation lists."""
        if self.valid is None:
            return float("nan"), float("nan")
        found = chance_by_query(metric, self.valid, self.random_state)
        means = [float(metric.summarize(Values(values))[0]) for values in found]
        return float(np.mean(means)), self.valid_chance

    def record(
        self,
        model: Any,
        train_score: np.ndarray,
        valid_score: np.ndarray | None,
        stacklevel: int | None,
    ) -> None:
        """Set the attributes of a fitted ranker, and warn if it is fair in training only.

        Without ``stacklevel``, that of `warnings.warn`, there is no warning.
        """
        model.unfairness_ = self._gaps(self.train, train_score)[0]
        model.chance_unfairness_ = self.chance
        if self.valid is None or valid_score is None:
            return
        model.validation_unfairness_, lists = self._gaps(self.valid, valid_score)
        memorised = model.unfairness_ < self.chance and exceeds(lists, self.valid_lists)
        if memorised and stacklevel is not None:
            warnings.warn(
                f"{self.metric} of {type(model).__name__} is {model.unfairness_:.3g} in training, "
                f"below the {self.chance:.3g} of random order, but "
                f"{model.validation_unfairness_:.3g} on the validation lists, two standard errors "
                f"above their random order ({self.valid_chance:.3g}): the value in "
                "training says nothing about new lists",
                FairnessOverfitWarning,
                stacklevel=stacklevel,
            )

    def warn_without_headroom(self, plain_score: np.ndarray, owner: str, stacklevel: int) -> None:
        """Warn if a ranker without fairness is not clearly less fair than random order."""
        if self.valid is None:
            return
        whole, lists = self._gaps(self.valid, plain_score)
        if not exceeds(lists, self.valid_lists):
            warnings.warn(
                f"{self.metric} of {owner} is {whole:.3g} without fairness, not two standard "
                f"errors above that of random order ({self.valid_chance:.3g}): fair "
                "training cannot show an effect on these lists",
                NoHeadroomWarning,
                stacklevel=stacklevel,
            )
