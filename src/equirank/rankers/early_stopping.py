"""Early stopping: a metric that is computed on validation data after each round."""

from typing import Annotated, Any, Literal

import numpy as np

from ..core.data import RankingData
from ..core.declared import Declared
from ..core.encoding import Unseen, align
from ..core.errors import DataError
from ..core.metric import Metric
from ..core.params import AnyOf, Instance, Integer, Number, Optional
from ..core.ranking import Ranking
from ..core.registry import parse_metrics
from ..core.splits import query_train_test_split

__all__ = [
    "METRIC",
    "EarlyStopping",
    "Watch",
    "held_out",
    "metric_needs",
    "metric_value",
    "one_metric",
]

#: The constraint of a parameter that is one metric.
METRIC = AnyOf(Instance(str, "a metric's name"), Instance(Metric, "a metric"))


def one_metric(metric: Any) -> Metric:
    """Return the metric that a parameter names; more than one is an error."""
    found = parse_metrics(metric)
    if len(found) > 1:
        raise DataError(f"metric must be one metric, got {len(found)}")
    return found[0]


def metric_needs(metric: Any, validation: Any) -> frozenset[str]:
    """Return what a metric requires of the training data if validation data is held out of it."""
    if validation is None or isinstance(validation, RankingData):
        return frozenset()
    return frozenset({"sensitive_features"} if "sensitive" in one_metric(metric).needs else ())


def metric_value(metric: Metric, data: RankingData, score: np.ndarray) -> float:
    """Return the summary of a metric on stored rows ranked by these scores."""
    ranking = Ranking.from_scores(data, data.to_original(score))
    return float(metric.summarize(metric.per_query(ranking))[0])


def held_out(
    data: RankingData, validation: Any, random_state: Any, owner: str
) -> tuple[RankingData, RankingData | None]:
    """Return the training data and the validation data, which is encoded like it.

    A share holds out whole queries, or rows if the data is a single query.
    """
    if validation is None:
        return data, None
    if isinstance(validation, RankingData):
        if validation.X is None or validation.y is None:
            raise DataError(f"validation of {owner} must have X and y")
        unseen = Unseen(data.unseen)
        aligned = align(validation, data.encoding, unseen)
        unseen.warn()
        if aligned.n_features != data.n_features:
            raise DataError(
                f"validation of {owner} must have the {data.n_features} features of the training "
                f"data, got {validation.n_features}"
            )
        return data, aligned
    by: Literal["query", "item"] = "query" if data.n_queries > 1 else "item"
    train, watched = query_train_test_split(
        data, test_size=float(validation), by=by, random_state=random_state
    )
    return train, watched


class Watch:
    """A metric on validation data, computed after each round.

    Attributes
    ----------
    values : list of float
        The metric after each round.
    best : int
        The round with the best value, counted from 0; the first of equal ones.
    """

    def __init__(self, data: RankingData, metric: Metric, patience: int | None) -> None:
        metric.check(data)
        self.data, self.metric, self.patience = data, metric, patience
        self.scores = np.zeros(data.n_rows)
        self.values: list[float] = []
        self.best = 0

    def add(self, output: np.ndarray) -> bool:
        """Add the scores of a round and return whether to stop."""
        self.scores += output
        self.values.append(metric_value(self.metric, self.data, self.scores))
        at, best = len(self.values) - 1, self.values[self.best]
        higher = self.metric.direction == "higher"
        better = self.values[at] > best if higher else self.values[at] < best
        if better or np.isnan(best):
            self.best = at
        return self.patience is not None and at - self.best >= self.patience


class EarlyStopping(Declared):
    """Mixin of rankers that compute a metric on validation data after each round.

    Parameters
    ----------
    early_stopping : int, optional
        Stop after this many rounds without improvement on the validation data, and keep the rounds
        up to the best.
    validation : float or RankingData, optional
        The share of the queries to hold out (of the rows if there is one query), or other data.
    """

    early_stopping: Annotated[int | None, Optional(Integer(1))] = None
    validation: Annotated[
        Any,
        AnyOf(
            Number(0.0, 1.0, open_low=True, open_high=True),
            Optional(Instance(RankingData, "a RankingData")),
        ),
    ] = None
    random_state: Any = None

    def _split_validation(self, data: RankingData, metric: Any) -> tuple[RankingData, Watch | None]:
        """Return the training data, and the watch on the validation data if there is any."""
        train, watched = held_out(data, self.validation, self.random_state, type(self).__name__)
        if watched is not None:
            return train, Watch(watched, one_metric(metric), self.early_stopping)
        if self.early_stopping is not None:
            raise DataError(
                "validation must be a share of the queries or a RankingData if early_stopping "
                "is given, got None"
            )
        return train, None
